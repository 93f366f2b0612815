"""How far an attempt had come at the end of each of its evaluated steps."""

import pandas as pd

from data.queries.filters import LINEAGE, ONE_STEP, PICKED, Filters
from data.queries.sums import total
from data.view import View

_PROGRESS = f"""
with recursive {PICKED}, {LINEAGE}, {ONE_STEP},
asked as (
  select distinct coalesce(e.run, c.run) as run, coalesce(e.attempt, c.attempt) as attempt,
         coalesce(e.step, c.step) as step
    from evals e left join checkpoints c using (checkpoint)
   where coalesce(e.run, c.run) in (select run from picked)
)
select a.run, a.attempt, a.step,
       coalesce({total("o.step_s", "o.step <= a.step")}, 0) / nullif({total("o.step_s")}, 0) as time_frac,
       {total("o.step_s", "o.step <= a.step")} as step_s,
       {total("o.tok_gen", "o.step <= a.step")} as tok_gen,
       {total("o.rollouts", "o.step <= a.step")} as rollouts,
       count(*) filter (where o.step <= a.step) as steps, max(o.step) as last_step
  from asked a join one_step o using (run, attempt)
 where a.step is not null group by a.run, a.attempt, a.step order by a.run, a.attempt, a.step
"""


def progress(view: View, filters: Filters) -> pd.DataFrame:
    """One row an evaluated (run, attempt, step): sums over the attempt's steps up to and with that step, and
    `time_frac`, their share of the attempt's step seconds (null without step times).
    """
    return view.frame(_PROGRESS, filters.parameters())
