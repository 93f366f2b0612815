"""What a projection reads of a run: its steps, its timers, its response lengths, each step once."""

import pandas as pd

from data.queries.filters import LINEAGE, ONE_STEP, PICKED, STEP_CLOCK, Filters
from data.queries.sums import total
from data.view import View

_LAST = f"""
with recursive {PICKED}, {LINEAGE}, {ONE_STEP}, {STEP_CLOCK},
judged as (
  select s.run, s.attempt, s.step, s.seconds, coalesce(s.step <= k.keep_step, true) as kept
    from span s left join kept k using (run, attempt) where s.seconds > 0 and s.step is not null
),
lineage as (select *, bool_or(kept) over (partition by run) as survived from judged),
last as (
  select run, step, max(attempt) as attempt from lineage where kept or not survived group by run, step
)"""

_STEPS = f"""
{_LAST},
more as (
  select s.run, s.attempt, s.step, max(s.tok_trained) as tok_trained, max(s.len_mean) as len_mean,
         max(s.len_p50) as len_p50, max(s.len_p95) as len_p95, max(s.len_max) as len_max,
         max(s.truncated_frac) as truncated_frac, max(s.staleness) as staleness
    from steps s join last using (run, attempt, step) group by all
)
select l.run, l.attempt, l.step, j.seconds, o.tok_prompt, o.tok_gen, o.tok_total, o.rollouts, o.groups,
       m.* exclude (run, attempt, step)
  from last l join lineage j using (run, attempt, step) left join one_step o using (run, attempt, step)
  left join more m using (run, attempt, step)
 order by l.run, l.attempt, l.step
"""

_TIMERS = f"""
{_LAST}
select t.run, t.attempt, t.step, t.pool, t.phase, t.kind, t.source_key, {total("t.seconds")} as seconds
  from timer t join last using (run, attempt, step) group by all order by all
"""

_LENGTHS = f"""
{_LAST}
select h.run, h.attempt, h.bucket_low, h.bucket_high, {total("h.n")} as n
  from length_hist h join last using (run, attempt, step) where h.n > 0 group by all order by all
"""

_RUNS = f"""
with {PICKED}
select r.run, coalesce(r.mode, '') as mode, r.llm, coalesce(r.synthetic, false) as synthetic
  from runs r join picked using (run) order by r.run
"""


def runs(view: View, filters: Filters) -> pd.DataFrame:
    """One row a run: run, mode ('' when nobody said), llm, synthetic."""
    return view.frame(_RUNS, filters.parameters())


def steps(view: View, filters: Filters) -> pd.DataFrame:
    """One row a step of the surviving lineage, of the last attempt that made it: `seconds` (step timer, else
    the longest pool clock), tokens, rollouts, groups, lengths in tokens, truncated_frac, staleness.
    """
    return view.frame(_STEPS, filters.parameters())


def timers(view: View, filters: Filters) -> pd.DataFrame:
    """Seconds of the same steps by pool (as the file names it), phase, kind and key of the log."""
    return view.frame(_TIMERS, filters.parameters())


def lengths(view: View, filters: Filters) -> pd.DataFrame:
    """Responses of the same steps by attempt and bucket of length: bucket_low, bucket_high (tokens), n."""
    return view.frame(_LENGTHS, filters.parameters())
