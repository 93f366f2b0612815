"""Calls of environments and sandboxes: how many, how many went well, and where their seconds went."""

import pandas as pd

from data.queries.filters import PICKED, Filters
from data.queries.sums import total
from data.view import View

_PARTS = ("queued", "cold", "busy")
_QUANTILES = ",\n       ".join(
    f"quantile_cont({part}_s, {q}) as {part}_p{100 * q:.0f}_s" for part in _PARTS for q in (0.5, 0.95)
)
_BY_ENV = f"""
with {PICKED}
select e.env, count(*) as calls, count(e.ok) as calls_judged, count(*) filter (where e.ok) as calls_ok,
       {_QUANTILES},
       {total("e.cores * e.busy_s")} / 3600 as core_hours_busy,
       count(*) filter (where e.cores * e.busy_s is not null) as calls_with_cores
  from env_events e
 where e.run in (select run from picked)
    or (e.run is null and len($runs::varchar[]) = 0 and len($platforms::varchar[]) = 0)
 group by e.env order by e.env
"""

_LENGTHS = f"""
with {PICKED}
select h.run, h.bucket_low, h.bucket_high, {total("h.n")} as n
  from length_hist h join picked using (run) group by all order by all
"""


def by_env(view: View, filters: Filters) -> pd.DataFrame:
    """One row an environment: calls, those with a verdict and those that went well, median and 95th
    percentile of seconds queued, starting cold and busy, core-hours busy where cores are known.
    """
    return view.frame(_BY_ENV, filters.parameters())


def lengths(view: View, filters: Filters) -> pd.DataFrame:
    """Responses by run and bucket of length, over all logged steps: bucket_low, bucket_high, n."""
    return view.frame(_LENGTHS, filters.parameters())


_LOAD = f"""
with {PICKED},
calls as (
  select e.* from env_events e join picked using (run)
),
ends as (
  select started_at as moment, 1 as change from calls where started_at is not null and busy_s is not null
  union all
  select started_at + to_microseconds(
           cast(1e6 * (coalesce(queued_s, 0) + coalesce(cold_s, 0) + busy_s) as bigint)), -1
    from calls where started_at is not null and busy_s is not null
),
level as (
  select sum(change) over (order by moment, change rows unbounded preceding) as open from ends
)
select count(*) as calls, count(distinct step) as steps, avg(busy_s) as busy_mean_s,
       stddev_samp(busy_s) as busy_sd_s, avg(queued_s) as queued_mean_s, avg(cold_s) as cold_mean_s,
       quantile_cont(cold_s, 0.95) as cold_p95_s,
       avg(cast(cold_s > 0 as integer)) as cold_frac, avg(cores) as cores_mean,
       quantile_cont(mem_bytes, 0.95) as mem_p95_bytes, (select max(open) from level) as most_at_once
  from calls having count(*) > 0
"""


def load(view: View, filters: Filters) -> pd.DataFrame:
    """One row, none without calls: sandbox calls of the runs, the steps they name, mean and spread of their
    seconds, share that started cold, cores, the 95th percentile of memory, and the most at one time (those
    with a clock).
    """
    return view.frame(_LOAD, filters.parameters())
