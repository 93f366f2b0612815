"""What the waste identity reads: GPU minutes side by side, samples of single minutes, clocks, waits."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import numpy as np
import pandas as pd

from data.gpu.rollup import MINUTE_US
from data.queries.filters import LINEAGE, ONE_STEP, PICKED, STEP_CLOCK, Filters
from data.queries.gpu_pools import POOL_OF_GPU
from data.queries.sums import total
from data.view import View

PRESENCE = ("gpu_util", "gr_engine_active", "gfx_activity")
_FAR = 1 << 40
"""More minutes than any stamp has."""
READ = ("sm_active", "tensor_active", "dram_active", "power_w", "power_limit_w", "mem_bytes", *PRESENCE)

_GPUS = f"""
with {PICKED},
{POOL_OF_GPU},
held as (select gpu_id, count(*) as minutes from gpu_coverage where minute >= $start and minute < $end
          group by gpu_id)
select g.gpu_id, g.upload_id, coalesce(g.host, '') as host, g.run, coalesce(g.pool, o.pool) as pool,
       coalesce(g.role, if(g.pool is null, o.role, null), l.role) as role, g.platform, h.minutes,
       contains(upper(concat_ws(' ', g.gpu_id, g.uuid, g.model)), 'MIG') as mig
  from gpus g join held h using (gpu_id) left join own_pool o using (gpu_id)
  left join (select run, pool, min(role) as role from allocations group by run, pool) l
    on l.run = g.run and l.pool = g.pool
 where g.run in (select run from picked)
    or (g.run is null and len($platforms::varchar[]) = 0)
 order by g.gpu_id
"""

_IDS = """
ids as (select unnest($ids::varchar[]) as gpu_id, generate_subscripts($ids::varchar[], 1) - 1 as gpu)"""

_SEEN = f"""
with {_IDS}
select gpu, epoch_us(minute) as us, known_s from gpu_coverage join ids using (gpu_id)
 where minute >= $start and minute < $end order by gpu, us
"""

_PLACES = " ".join(f"when '{m}' then {place}" for place, m in enumerate(READ))
_MEASURED = f"""
with {_IDS}
select gpu, epoch_us(minute) as us, (case measure {_PLACES} end)::tinyint as place, known_s, weighted_sum
  from gpu_minutes join ids using (gpu_id)
 where minute >= $start and minute < $end and measure in ({", ".join(f"'{m}'" for m in READ)})
"""

_SAMPLES = f"""
with {_IDS},
wanted as (select unnest($gpus::varchar[]) as gpu_id, unnest($minutes::bigint[]) as m),
near as (
  select w.gpu_id, w.m, greatest(epoch_us(s.ts), w.m * {MINUTE_US}) as a,
         least(epoch_us(s.ts) + (s.dt_s * 1e6)::bigint, (w.m + 1) * {MINUTE_US}) as b, {", ".join(READ)}
    from {{parts}} s join wanted w on s.gpu_id = w.gpu_id
     and epoch_us(s.ts) < (w.m + 1) * {MINUTE_US}
     and epoch_us(s.ts) + (s.dt_s * 1e6)::bigint > w.m * {MINUTE_US}
)
select gpu, m, a / 1e6 as start_s, b / 1e6 as end_s, (b - a) / 1e6 as known_s, {", ".join(READ)}
  from near join ids using (gpu_id) where b > a order by gpu, a
"""

_WINDOWS = f"""
with {PICKED},
spans as (
  select run, attempt, started_at, ended_at, status from attempts join picked using (run)
  union all
  select run, attempt, started_at, ended_at, null from allocations join picked using (run)
   where started_at is not null
)
select run, attempt, min(started_at) as started_at,
       case when count(started_at) = count(ended_at) then max(ended_at) end as ended_at,
       coalesce(max(status), 'unknown') as status
  from spans group by run, attempt having count(started_at) > 0 order by run, started_at, attempt
"""

_STEP_ENDS = f"""
with {PICKED}, {ONE_STEP},
excused as (
  select run, attempt, step, {total("seconds")} as excused_s from step_phases join picked using (run)
   where phase in ('eval', 'checkpoint') group by run, attempt, step
)
select o.run, o.attempt, o.step,
       epoch(coalesce(o.ts, t.started_at + to_microseconds((o.elapsed_s * 1e6)::bigint))) as end_s,
       coalesce(x.excused_s, 0) as excused_s
  from one_step o left join attempts t using (run, attempt) left join excused x using (run, attempt, step)
 where o.ts is not null or (o.elapsed_s is not null and t.started_at is not null)
 order by o.run, o.attempt, end_s, o.step
"""

_WAITS = f"""
with recursive {PICKED}, {LINEAGE}, {ONE_STEP}, {STEP_CLOCK}
select run, attempt, pool, phase,
       coalesce({total("seconds", "seconds < $idle_s")}, 0) as short_s,
       coalesce({total("seconds", "seconds >= $idle_s")}, 0) as long_s
  from timer where kind = 'wait' group by all order by all
"""

_PHASED = f"""
with {PICKED}
select run, bool_or(phase = 'rollout') as decodes from step_phases join picked using (run)
 group by run order by run
"""

_TRACK = f"""
with recursive {PICKED}, {ONE_STEP}, {STEP_CLOCK},
placed as (
  select o.run, o.attempt, o.step, s.seconds,
         coalesce(o.ts, t.started_at + to_microseconds((o.elapsed_s * 1e6)::bigint)) as ended,
         ((row_number() over w - 1) * least($bins, count(*) over ())) // count(*) over () as bin
    from one_step o join span s using (run, attempt, step) left join attempts t using (run, attempt)
   where s.seconds > 0 and (o.ts is not null or (o.elapsed_s is not null and t.started_at is not null))
  window w as (order by o.attempt, o.step)
),
bins as (
  select bin, attempt, min(ended - to_microseconds((seconds * 1e6)::bigint)) as start, max(ended) as "end",
         min(step) as step_first, max(step) as step_last, {total("seconds")} as span_s
    from placed group by bin, attempt
),
parts as (
  select p.bin, p.attempt, c.pool, c.phase, {total("c.seconds")} as seconds
    from timer c join placed p using (run, attempt, step) where c.kind in ('wall', 'exposed') group by all
  union all
  select p.bin, p.attempt, c.pool, 'unattributed', {total("greatest(0, p.seconds - c.phase_s)")}
    from pool_clock c join placed p using (run, attempt, step) group by all
)
select b.start, b."end", b.step_first, b.step_last, p.pool, p.phase, p.seconds,
       p.seconds / sum(p.seconds) over (partition by b.bin, b.attempt, p.pool) as frac
  from parts p join bins b using (bin, attempt) where p.seconds > 0
 order by b.start, p.pool, p.phase
"""

_TRACK_GAPS = f"""
with {PICKED}, {ONE_STEP}
select count(*), count(*) filter (step_s > 0),
       count(*) filter (ts is not null or (elapsed_s is not null and started_at is not null)),
       (select count(*) from step_phases join picked using (run) where kind in ('wall', 'exposed'))
  from one_step left join (select run, attempt, started_at from attempts) using (run, attempt)
"""


def gpus(view: View, filters: Filters, start: datetime, end: datetime) -> pd.DataFrame:
    """Sampled GPUs of [start, end): gpu_id, upload_id, host, run, pool, role, platform, minutes,
    mig. GPUs without a run
    only when no platform is picked.
    """
    return view.frame(_GPUS, {**filters.parameters(), "start": start, "end": end})


def minutes(view: View, gpu_ids: Sequence[str], start: datetime, end: datetime) -> pd.DataFrame:
    """One row a GPU (`gpu`: its place in `gpu_ids`) and minute: start_s, end_s (seconds since 1970), known_s
    of coverage, and for each measure of READ that has any w_<measure> (value x seconds) and k_<measure>
    (seconds with one).
    """
    bound = {"ids": list(gpu_ids), "start": start, "end": end}
    seen = _columns(view, _SEEN, bound)
    out = {"gpu": seen["gpu"], "start_s": seen["us"] / 1e6, "end_s": seen["us"] / 1e6 + 60}
    out["known_s"] = seen["known_s"]
    key, rows = _keys(seen), len(seen["us"])
    long = _columns(view, _MEASURED, bound)
    own = _keys(long)
    at = np.minimum(np.searchsorted(key, own), rows - 1)
    there = key[at] == own if rows else np.zeros(len(own), bool)
    for place, name in enumerate(READ):
        mine = np.flatnonzero(there & (long["place"] == place))
        if len(mine):
            for column, said in (("k", "known_s"), ("w", "weighted_sum")):
                out[f"{column}_{name}"] = np.full(rows, np.nan)
                out[f"{column}_{name}"][at[mine]] = long[said][mine]
    return pd.DataFrame(out)


def _columns(view: View, sql: str, bound: dict[str, object]) -> dict[str, Any]:
    """Columns of a SELECT; NULL is NaN."""
    found = view.arrays(sql, bound)
    return {
        name: np.ma.filled(column, np.nan) if column.dtype == np.float64 else np.ma.getdata(column)
        for name, column in found.items()
    }


def _keys(found: Mapping[str, Any]) -> Any:
    """One number for a GPU and minute, in the order of both."""
    return found["gpu"].astype(np.int64) * _FAR + found["us"] // MINUTE_US


def samples(view: View, gpu_ids: Sequence[str], wanted: Sequence[tuple[str, int]]) -> pd.DataFrame:
    """Samples inside single minutes (GPU, minutes since 1970), cut at their ends: gpu (place in `gpu_ids`),
    m, start_s, end_s, known_s and the measures of READ.
    """
    parts = view.gpu_parts_sql(sorted({gpu for gpu, _ in wanted}))
    bound = {"ids": list(gpu_ids), "gpus": [g for g, _ in wanted], "minutes": [m for _, m in wanted]}
    return view.frame(_SAMPLES.format(parts=parts), bound)


def windows(view: View, filters: Filters) -> pd.DataFrame:
    """Start and end of each attempt, its allocations included: run, attempt, started_at, ended_at (null:
    open), status.
    """
    return view.frame(_WINDOWS, filters.parameters())


def step_ends(view: View, filters: Filters) -> pd.DataFrame:
    """End of each step that has a clock: run, attempt, step, end_s (seconds since 1970), excused_s
    (evaluation and checkpoint timers of the step).
    """
    return view.frame(_STEP_ENDS, filters.parameters())


def waits(view: View, filters: Filters, idle_s: float) -> pd.DataFrame:
    """Seconds of waiting by run, attempt, pool and phase: short_s of single waits below `idle_s`, long_s of
    the others.
    """
    return view.frame(_WAITS, {**filters.parameters(), "idle_s": idle_s})


def decoding(view: View, filters: Filters) -> dict[str, bool]:
    """Whether the log of a run times a rollout phase; runs whose log times no phase are left out."""
    return dict(view.rows(_PHASED, filters.parameters()))


def track(view: View, run: str, bins: int) -> pd.DataFrame:
    """Phases of one run over time: start, end (UTC) of at most `bins` stretches of steps, step_first,
    step_last, pool (as the file names it), phase, seconds and frac of the pool's clock in the stretch.
    """
    return view.frame(_TRACK, {**Filters(runs=(run,)).parameters(), "bins": bins})


def track_gaps(view: View, run: str) -> dict[str, int]:
    """What there is to lay a run's phases over time: counts of `steps`, of those that are `timed` and those
    `placed` at a time of day, and of `phases` (timers on the clock of a step).
    """
    names = ("steps", "timed", "placed", "phases")
    return dict(zip(names, view.rows(_TRACK_GAPS, Filters(runs=(run,)).parameters())[0], strict=True))
