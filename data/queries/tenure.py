"""Demand for GPUs as it was: GPU-hours by UTC day and platform, from allocations."""

import pandas as pd

from data.queries.filters import PICKED, Filters
from data.queries.sums import total
from data.view import View

_HELD = f"""
with {PICKED},
held as (
  select l.platform, l.gpus, l.seconds,
         coalesce(l.started_at, t.started_at) as started_at,
         coalesce(coalesce(l.started_at, t.started_at) + to_microseconds((l.seconds * 1e6)::bigint),
                  l.ended_at, t.ended_at) as ended_at
    from allocations l join picked using (run) left join attempts t using (run, attempt)
   where coalesce(l.role, '') <> 'sandbox' and l.gpus > 0 and l.platform is not null
)"""
_DAYS = f"""
{_HELD},
timed as (
  select *, unnest(generate_series(date_trunc('day', started_at)::timestamp,
                                   ended_at - interval 1 microsecond, interval 1 day)) as day
    from held where started_at is not null and ended_at > started_at
),
parts as (
  select platform, day::date as day,
         gpus * epoch_us(least(ended_at, day + interval 1 day) - greatest(started_at, day)) / 3.6e9 as gpu_h
    from timed
)
select platform, day, {total("gpu_h")} as gpu_h from parts group by all order by platform, day
"""
_TOTALS = f"""
{_HELD}
select platform, {total("gpus * seconds / 3600")} as gpu_h,
       {total("gpus * seconds / 3600", "started_at is null")} as undated_gpu_h
  from held group by platform order by platform
"""


def gpu_hours_by_day(view: View, filters: Filters) -> pd.DataFrame:
    """One row a platform and UTC day with work: platform, day, gpu_h. Allocations without a clock are not in
    it.
    """
    return view.frame(_DAYS, filters.parameters())


def gpu_hours(view: View, filters: Filters) -> pd.DataFrame:
    """One row a platform: gpu_h (NULL when no allocation tells its seconds) and undated_gpu_h of it."""
    return view.frame(_TOTALS, filters.parameters())
