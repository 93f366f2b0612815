"""GPU roll-ups by measure: totals by GPU, a map of GPU against time, a timeline, power."""

import pandas as pd

from data.queries.filters import PICKED, Filters
from data.queries.gpu_pools import POOL_OF_GPU
from data.queries.sums import total
from data.view import View

_GPUS = f"""
with {PICKED},
{POOL_OF_GPU},
gpu as (
  select g.gpu_id, coalesce(g.host, '') as host,
         coalesce(g.role, if(g.pool is null, o.role, null), '') as role,
         coalesce(g.pool, o.pool, '') as pool, g.gpu_index, g.platform, g.model, g.run, g.attempt
    from gpus g left join own_pool o using (gpu_id)
   where g.run in (select run from picked)
      or (g.run is null and len($runs::varchar[]) = 0
          and (len($platforms::varchar[]) = 0 or list_contains($platforms::varchar[], g.platform)))
)"""

_PER_GPU = f"""
{_GPUS},
seen as (select gpu_id, {total("known_s")} as k, {total("unknown_s")} as u,
                min(minute) as first_minute, max(minute) as last_minute
           from gpu_coverage join gpu using (gpu_id) group by gpu_id),
measured as (
  select gpu_id, {total("known_s")} as known_s, {total("weighted_sum")} as weighted_sum,
         min(v_min) as v_min, max(v_max) as v_max, sum(n) as samples
    from gpu_minutes join gpu using (gpu_id) where measure = $measure group by gpu_id
)
select g.*, coalesce(m.known_s, 0) as known_s, m.weighted_sum, m.v_min, m.v_max, coalesce(m.samples, 0) as
  samples,
       coalesce(s.k + s.u, m.known_s, 0) as span_s, s.first_minute, s.last_minute
  from gpu g left join seen s using (gpu_id) left join measured m using (gpu_id)
 order by g.host, g.role, g.gpu_index, g.gpu_id
"""

_BINNED = f"""
{_GPUS},
minutes as (
  select g.gpu_id, g.host, g.role, m.minute, m.known_s, m.weighted_sum, m.v_min, m.v_max
    from gpu_minutes m join gpu g using (gpu_id) where m.measure = $measure
),
spans as (select c.gpu_id, c.minute, c.known_s + c.unknown_s as span_s from gpu_coverage c join gpu using
  (gpu_id)),
frame as (
  select min(minute) as t0, greatest(1, ceil((date_diff('minute', min(minute), max(minute)) + 1) /
    $bins))::bigint
         as width from (select minute from minutes union all select minute from spans)
),
both_sides as (
  select gpu_id, minute, known_s, weighted_sum, v_min, v_max, null::double as span_s from minutes
  union all
  select gpu_id, minute, null, null, null, null, span_s from spans
),
binned as (
  select b.*, g.host, g.role, f.t0 + to_minutes((date_diff('minute', f.t0, b.minute) // f.width) * f.width)
    as bin,
         f.width as bin_minutes
    from both_sides b join gpu g using (gpu_id) cross join frame f
)
"""

_HEAT = f"""
{_BINNED}
select {{row}} as gpu, min(host) as host, min(role) as role, bin, any_value(bin_minutes) as bin_minutes,
       {total("weighted_sum")} / nullif({total("known_s")}, 0) as value, min(v_min) as v_min,
       max(v_max) as v_max,
       least(1, coalesce({total("known_s")}, 0) / nullif({total("span_s")}, 0)) as coverage_frac
  from binned group by 1, bin order by host, role, gpu, bin
"""

_TIMELINE = f"""
{_BINNED}
select bin, any_value(bin_minutes) as bin_minutes,
       {total("weighted_sum")} / nullif({total("known_s")}, 0) as value,
       min(v_min) as v_min, max(v_max) as v_max, count(distinct gpu_id) filter (where known_s > 0) as gpus,
       least(1, coalesce({total("known_s")}, 0) / nullif({total("span_s")}, 0)) as coverage_frac
  from binned group by bin order by bin
"""

_MEASURES = f"""
{_GPUS}
select m.measure, count(distinct m.gpu_id) as gpus, {total("m.known_s")} as known_s,
       {total("m.weighted_sum")} as weighted_sum, min(m.v_min) as v_min, max(m.v_max) as v_max
  from gpu_minutes m join gpu using (gpu_id) group by m.measure order by m.measure
"""

_SAMPLED = f"""
{_GPUS},
clocked as (select run from attempts group by run having bool_and(started_at is not null)),
spans as (
  select run, started_at, ended_at from attempts
  union all select run, started_at, ended_at from allocations where started_at is not null
),
moments as (select distinct g.run, m.minute from gpu_minutes m join gpu g using (gpu_id)
             where g.run in (select run from clocked)),
outside as (
  select run, minute from moments o
   where not exists (select 1 from spans s
                      where s.run = o.run and o.minute + interval 1 minute > s.started_at
                        and o.minute < coalesce(s.ended_at, 'infinity'::timestamp))
),
judged as (
  select g.run, m.measure, m.known_s, m.weighted_sum, o.minute is null as inside
    from gpu_minutes m join gpu g using (gpu_id)
    left join outside o on o.run = g.run and o.minute = m.minute
)
select run, measure, {total("case when inside then known_s else 0 end")} as known_s,
       {total("case when inside then weighted_sum else 0 end")} as weighted_sum,
       {total("case when inside then 0 else known_s end")} as outside_s
  from judged group by run, measure order by run nulls last, measure
"""

_BILLED = f"""
with {PICKED}
select {total("coalesce(c.effective_cost, c.billed_cost)")} as usd, count(*) as rows
  from costs c
 where c.bucket = 'gpu' and upper(coalesce(c.currency, 'USD')) = 'USD'
   and (c.run in (select run from picked)
        or (c.run is null and c.campaign in (select campaign from runs join picked using (run))))
"""


def per_gpu(view: View, filters: Filters, measure: str) -> pd.DataFrame:
    """One row a GPU: host, role, run, known_s, weighted_sum (measure x s), v_min, v_max, samples, span_s
    (known and unknown seconds between its first and last sample). A GPU without the measure has known_s 0.
    """
    return view.frame(_PER_GPU, {**filters.parameters(), "measure": measure})


def heat(view: View, filters: Filters, measure: str, bins: int, by_host: bool) -> pd.DataFrame:
    """Time-weighted mean, least and most by GPU (or host and role) and time bin, with the known share of the
    time.
    """
    row = "host || ' ' || role" if by_host else "gpu_id"
    return view.frame(_HEAT.format(row=row), {**filters.parameters(), "measure": measure, "bins": bins})


def timeline(view: View, filters: Filters, measure: str, bins: int) -> pd.DataFrame:
    """Time-weighted mean, least and most over all GPUs by time bin."""
    return view.frame(_TIMELINE, {**filters.parameters(), "measure": measure, "bins": bins})


def measures(view: View, filters: Filters) -> pd.DataFrame:
    """What was measured: measure, gpus, known_s, weighted_sum, v_min, v_max."""
    return view.frame(_MEASURES, filters.parameters())


def sampled(view: View, filters: Filters) -> pd.DataFrame:
    """One row a run and measure: known_s, weighted_sum (measure x s) of the minutes inside the run's
    attempts and allocations, outside_s of the others. Without the start of every attempt all are inside.
    """
    return view.frame(_SAMPLED, filters.parameters())


def billed(view: View, filters: Filters) -> float | None:
    """Dollars of GPU rows on bills booked to these runs or their campaigns; None without such a row."""
    row = view.frame(_BILLED, filters.parameters()).iloc[0]
    return float(row["usd"]) if row["rows"] else None
