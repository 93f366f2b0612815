"""A user's runs in the terms of the published ones: seconds a step, tokens, rollouts, GPUs by pool."""

import pandas as pd

from data.queries.filters import ONE_STEP, PICKED, Filters
from data.queries.sums import total
from data.view import View

_PER_STEP = f"""
with {PICKED}, {ONE_STEP},
pools as (
  select a.run, a.attempt, a.pool, max(a.gpus) as gpus
    from allocations a join picked using (run)
   where coalesce(a.role, 'colocated') <> 'sandbox' and a.gpus > 0 group by a.run, a.attempt, a.pool
),
gpus as (select run, attempt, {total("gpus")} as gpus from pools group by run, attempt),
reported as (
  select s.run, s.attempt, s.step, max(s.throughput) as throughput, min(s.throughput_basis) as basis
    from steps s join picked using (run) where s.step is not null and s.throughput is not null
   group by s.run, s.attempt, s.step having count(distinct s.throughput_basis) <= 1
),
each as (
  select o.run, o.attempt, o.step, o.step_s, g.gpus, o.rollouts, r.throughput, r.basis,
         coalesce(o.tok_total, o.tok_prompt + o.tok_gen) as tok_all, o.tok_gen
    from one_step o left join gpus g using (run, attempt) left join reported r using (run, attempt, step)
   where o.step_s > 0
)
select run, attempt, step, step_s, gpus, rollouts, tok_all, tok_gen, throughput, basis from each
 order by run, attempt, step
"""

_RUNS = f"""
with {PICKED}
select r.run, r.framework, r.framework_version, r.mode, r.llm, r.algorithm,
       coalesce(r.synthetic, false) as synthetic
  from runs r join picked using (run) order by r.run
"""


def steps(view: View, filters: Filters) -> pd.DataFrame:
    """One row a timed step: step_s, gpus (all pools but sandboxes), rollouts, tok_all (prompt and generated),
    tok_gen, reported throughput and its basis; what a file does not hold is null.
    """
    return view.frame(_PER_STEP, filters.parameters())


def runs(view: View, filters: Filters) -> pd.DataFrame:
    """One row a run: framework, framework_version, mode, llm, algorithm, synthetic."""
    return view.frame(_RUNS, filters.parameters())
