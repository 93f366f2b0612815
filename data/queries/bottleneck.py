"""Seconds by phase: totals and medians by run, a stack by step, and the checks that a step fails."""

import pandas as pd

from data.queries.filters import LINEAGE, ONE_STEP, PICKED, STEP_CLOCK, Filters
from data.queries.sums import mean, total
from data.view import View

_BASE = f"with recursive {PICKED}, {LINEAGE}, {ONE_STEP}, {STEP_CLOCK}"

_STEP_TIMES = f"""
{_BASE}
select run, count(*) as steps, {mean("seconds")} as step_mean_s, median(seconds) as step_median_s,
       {total("seconds")} as step_total_s
  from span where seconds is not null group by run order by run
"""

_PHASE_TIMES = f"""
{_BASE},
each as (select run, attempt, pool, step, phase, kind, {total("seconds")} as seconds from timer group by all),
named as (select distinct run, pool, phase, kind from each),
filled as (
  select n.run, n.pool, n.phase, n.kind, coalesce(e.seconds, 0) as seconds, e.seconds is not null as present
    from span s join named n using (run)
    left join each e on e.run = n.run and e.attempt = s.attempt and e.step = s.step and e.pool = n.pool
                    and e.phase = n.phase and e.kind = n.kind
   where s.seconds is not null
)
select run, pool, phase, kind, {total("seconds")} as total_s, {mean("seconds")} as mean_s,
       median(seconds) as median_s, max(seconds) as max_s, count(*) filter (where present) as steps_with
  from filled group by all order by all
"""

_STACK = f"""
{_BASE},
placed as (
  select s.run, s.attempt, s.step, s.seconds, coalesce(k.keep_step >= s.step, true) as kept,
         ((row_number() over w - 1) * least($bins, n.n)) // n.n as bin
    from span s left join kept k using (run, attempt)
    join (select run, count(*) as n from span where seconds is not null group by run) n using (run)
   where s.seconds is not null
  window w as (partition by s.run order by s.attempt, s.step)
),
bins as (
  select run, bin, min(attempt) as attempt, max(attempt) as attempt_last, arg_min(step, (attempt, step)) as
    step_first,
         arg_max(step, (attempt, step)) as step_last, count(*) as steps, bool_and(kept) as kept,
         {mean("seconds")} as step_s, min(seconds) as step_s_min, max(seconds) as step_s_max
    from placed group by run, bin
),
waits as (
  select run, attempt, step, pool, {total("seconds")} as wait_s from timer where kind = 'wait' group by all
),
rests as (
  select p.run, p.bin, c.pool, p.step, p.attempt, p.seconds - c.phase_s as rest_s,
         least(coalesce(w.wait_s, 0), greatest(p.seconds - c.phase_s, 0)) as wait_s
    from pool_clock c join placed p using (run, attempt, step)
    left join waits w using (run, attempt, step, pool)
),
parts as (
  select p.run, p.bin, t.pool, t.step, t.attempt, t.phase, t.kind, {total("t.seconds")} as seconds
    from timer t join placed p using (run, attempt, step) where t.kind in ('wall', 'exposed') group by all
  union all
  select run, bin, pool, step, attempt, 'waiting', 'wait', wait_s from rests where wait_s > 0
  union all
  select run, bin, pool, step, attempt, 'unattributed', 'rest', rest_s - wait_s from rests
  union all
  select p.run, p.bin, '', p.step, p.attempt, 'unattributed', 'rest', p.seconds
    from placed p anti join pool_clock c using (run, attempt, step)
)
select b.*, q.pool, q.phase, q.kind, {total("q.seconds")} / any_value(b.steps) as seconds,
       min(q.seconds) as seconds_min, max(q.seconds) as seconds_max
  from parts q join bins b using (run, bin) group by all order by b.run, b.bin, q.pool, q.phase, q.kind
"""


def step_times(view: View, filters: Filters) -> pd.DataFrame:
    """One row a run: steps, step_mean_s, step_median_s, step_total_s."""
    return view.frame(_STEP_TIMES, filters.parameters())


def phase_times(view: View, filters: Filters) -> pd.DataFrame:
    """Seconds by run, pool (as the file names it), phase and kind over all steps; a step without the phase
    has 0.
    """
    return view.frame(_PHASE_TIMES, filters.parameters())


def stack(view: View, filters: Filters, bins: int) -> pd.DataFrame:
    """Mean seconds a step by run, bin of consecutive steps, pool and phase, with the least and the most; at
    most `bins` bins a run. `waiting` (kind wait) is what a pool says it waited, as far as the rest of its
    step holds it; `unattributed` is what then remains. `kept` is false where a failure lost the steps.
    """
    return view.frame(_STACK, {**filters.parameters(), "bins": bins})
