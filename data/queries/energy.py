"""Energy of GPUs inside the attempts that held them: counter differences, else power by minute."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import pandas as pd

from data.queries.filters import PICKED, Filters
from data.queries.sums import total
from data.view import View
from models.energy import MAX_GPU_W, WRAP_GAP_S, WRAP_J

_GPUS = f"""
{PICKED},
job_held as (
  select unnest($w_gpu::varchar[]) as gpu_id, unnest($w_run::varchar[]) as run,
         unnest($w_attempt::integer[]) as attempt, unnest($w_start::timestamp[]) as w0,
         unnest($w_end::timestamp[]) as w1
),
gpu as (
  select gpu_id, run, attempt, platform from gpus
   where run in (select run from picked) or (run is null and (
          gpu_id in (select gpu_id from job_held) or (len($runs::varchar[]) = 0
          and (len($platforms::varchar[]) = 0 or list_contains($platforms::varchar[], platform)))))
),
dated as (select run from attempts group by run having bool_and(started_at is not null)),
held as (
  select run, attempt, started_at as w0,
         least(coalesce(ended_at, 'infinity'::timestamp),
               coalesce(lead(started_at) over (partition by run order by started_at, attempt),
                        'infinity'::timestamp)) as w1
    from attempts where run in (select run from dated)
),
undated as (
  select t.run, case when count(*) = 1 then min(t.attempt) end as attempt
    from attempts t where t.run not in (select run from dated) group by t.run
)"""

_PLACED = f"""
cut as (
  select gpu_id, how, j, s, greatest(t0, $from) as t0, least(t1, $to) as t1, epoch_us(t1) - epoch_us(t0) as us
    from loose where t1 > t0
),
pieces as (
  select gpu_id, how, t0, t1, j * ((epoch_us(t1) - epoch_us(t0)) / us) as j,
         s * ((epoch_us(t1) - epoch_us(t0)) / us) as s, (epoch_us(t1) - epoch_us(t0)) / 1e6 as span_s
    from cut where t1 > t0
),
inside as (
  select p.gpu_id, g.run, g.platform, h.attempt, p.j, p.s, p.how,
         (epoch_us(least(p.t1, h.w1)) - epoch_us(greatest(p.t0, h.w0))) / 1e6 / p.span_s as part
    from pieces p join gpu g using (gpu_id)
    join held h on h.run = g.run and (g.attempt is null or g.attempt = h.attempt)
                and p.t1 > h.w0 and p.t0 < h.w1
  union all
  select p.gpu_id, h.run, g.platform, h.attempt, p.j, p.s, p.how,
         (epoch_us(least(p.t1, h.w1)) - epoch_us(greatest(p.t0, h.w0))) / 1e6 / p.span_s
    from pieces p join gpu g using (gpu_id)
    join job_held h on h.gpu_id = p.gpu_id and h.run in (select run from picked)
                    and p.t1 > h.w0 and p.t0 < h.w1
   where g.run is null
),
placed as (
  select * from inside
  union all
  select p.gpu_id, g.run, g.platform, coalesce(g.attempt, u.attempt), p.j, p.s, p.how, 1.0
    from pieces p join gpu g using (gpu_id) left join undated u on u.run = g.run
   where g.run is null or g.run not in (select run from dated)
)
select gpu_id, run, attempt, platform, how, {total("j * part")} as joules, {total("s * part")} as seconds
  from placed group by all having {total("s * part")} > 0 order by all
"""

_READ = """
select gpu_id, count(energy_j) as readings, max(energy_j) > min(energy_j) as moved
  from {parts} group by gpu_id having count(energy_j) > 1
"""

_COUNTED = f"""
with {_GPUS},
marked as (
  select gpu_id, ts, dt_s, energy_j, power_w,
         count(energy_j) over (partition by gpu_id order by ts) as reading
    from {{parts}} where gpu_id in (select gpu_id from gpu)
),
spans as (
  select gpu_id, reading, min(ts) as t0, max(energy_j) as e0 from marked group by all
),
moves as (
  select *, lead(t0) over w as t1, lead(e0) over w - e0 as rise, max(e0) over (partition by gpu_id) as most
    from spans window w as (partition by gpu_id order by reading)
),
judged as (
  select *, {MAX_GPU_W} * (epoch_us(t1) - epoch_us(t0)) / 1e6 as possible,
         most <= {WRAP_J} and epoch_us(t1) - epoch_us(t0) <= {WRAP_GAP_S * 1e6} as may_wrap
    from moves
),
told as (
  select *, case when rise between 0 and possible then rise
                 when rise < 0 and may_wrap and rise + {WRAP_J} <= possible then rise + {WRAP_J} end as j,
         case when rise is null then 'end' when rise > possible then 'jumped' when rise >= 0 then 'counted'
              when may_wrap and rise + {WRAP_J} <= possible then 'wrapped' else 'reset' end as how
    from judged
)"""

_BY_COUNTER = f"""
{_COUNTED},
loose as (
  select gpu_id, t0, t1, j, (epoch_us(t1) - epoch_us(t0)) / 1e6 as s, 'counter' as how
    from told where j is not null
  union all
  select m.gpu_id, m.ts, m.ts + to_microseconds((m.dt_s * 1e6)::bigint), m.power_w * m.dt_s, m.dt_s, 'power'
    from marked m join told t using (gpu_id, reading)
   where t.j is null and m.power_w is not null and m.dt_s > 0
),
{_PLACED}"""

_RESETS = f"""
{_COUNTED}
select gpu_id, t0, t1, e0, rise, how from told where how in ('reset', 'wrapped', 'jumped') order by all
"""

_BY_POWER = f"""
with {_GPUS},
loose as (
  select gpu_id, minute as t0, minute + interval 1 minute as t1, weighted_sum as j, known_s as s,
         'power' as how
    from gpu_minutes
   where measure = 'power_w' and gpu_id in (select gpu_id from gpu)
     and not list_contains($counted::varchar[], gpu_id)
),
{_PLACED}"""

_SCHEDULED = f"""
with {PICKED}
select run, count(*) as jobs, {total("energy_j")} as joules
  from scheduler_jobs
 where run in (select run from picked) and energy_j > 0
   and energy_j not in (4294967294, 4294967295, 18446744073709551614, 18446744073709551615)
 group by run order by run
"""

_LOOSE = "select gpu_id, host from gpus where run is null and host is not null order by gpu_id"

_ATTEMPTS = """
select run, attempt, started_at, ended_at from attempts where started_at is not null
 order by run, started_at, attempt
"""

_JOBS = """
select job_id, run, started_at, ended_at, node_list
  from scheduler_jobs
 where started_at is not null and node_list is not null order by started_at, job_id
"""

_TEAMS = "select campaign, team, shipped_checkpoint from campaigns order by campaign"


def counters(view: View) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """GPUs whose energy counter moved, and GPUs whose counter never did (it has measured nothing)."""
    rows = view.rows(_READ.format(parts=view.gpu_parts_sql()))
    moved = tuple(sorted(str(gpu) for gpu, _, has in rows if has))
    return moved, tuple(sorted(str(gpu) for gpu, _, has in rows if not has))


Span = tuple[datetime, datetime]
EVER: Span = (datetime(1, 1, 1), datetime(9999, 12, 31))
"""All time."""


@dataclass(frozen=True)
class Held:
    """Half-open time in which a GPU that names no run was held by one, by its host's scheduler job."""

    gpu_id: str
    run: str
    attempt: int | None
    start: datetime
    end: datetime


def _bound(filters: Filters, held: Sequence[Held]) -> dict[str, object]:
    names = {"gpu_id": "w_gpu", "run": "w_run", "attempt": "w_attempt", "start": "w_start", "end": "w_end"}
    lists: dict[str, object] = {to: [getattr(h, name) for h in held] for name, to in names.items()}
    return filters.parameters() | lists


def measured(
    view: View, filters: Filters, counted: Sequence[str], held: Sequence[Held] = (), span: Span = EVER
) -> pd.DataFrame:
    """One row a GPU, run, attempt and `how` (counter, power): platform, joules, seconds inside the attempt.

    A span that crosses the border of an attempt, or of `span`, is split by time. A run without the
    start of every attempt takes all samples of its GPUs. A GPU that names no run has a row with all it
    measured and no run, and besides a row for each of its windows in `held`.
    """
    names = {**_bound(filters, held), "from": span[0], "to": span[1]}
    parts = [view.frame(_BY_POWER, {**names, "counted": list(counted)})]
    if counted:
        sql = _BY_COUNTER.format(parts=view.gpu_parts_sql(counted))
        parts.insert(0, view.frame(sql, names))
    filled = [part for part in parts if len(part)]
    return pd.concat(filled, ignore_index=True) if filled else parts[0]


def restarts(view: View, filters: Filters, counted: Sequence[str]) -> pd.DataFrame:
    """Falls and jumps of energy counters: gpu_id, t0, t1, e0, rise, how (reset, wrapped, jumped)."""
    return view.frame(_RESETS.format(parts=view.gpu_parts_sql(counted)), _bound(filters, ()))


def unnamed(view: View) -> pd.DataFrame:
    """GPUs that name no run but a host: gpu_id, host."""
    return view.frame(_LOOSE)


def jobs(view: View) -> pd.DataFrame:
    """Scheduler jobs with a start and nodes: job_id, run, started_at, ended_at, node_list."""
    return view.frame(_JOBS)


def attempts(view: View) -> pd.DataFrame:
    """Attempts with a start: run, attempt, started_at, ended_at."""
    return view.frame(_ATTEMPTS)


def scheduled(view: View, filters: Filters) -> pd.DataFrame:
    """Energy that the scheduler measured, by run: jobs, joules. Its words for 'no value' count as missing."""
    return view.frame(_SCHEDULED, filters.parameters())


def campaigns(view: View) -> pd.DataFrame:
    """Team and shipped checkpoint by campaign."""
    return view.frame(_TEAMS)
