"""How many rollouts were judged correct and how many groups carried a signal, on the surviving lineage."""

import pandas as pd

from data.queries.filters import LINEAGE, ONE_STEP, PICKED, Filters
from data.queries.sums import total
from data.view import View

_JUDGED = f"""
with recursive {PICKED}, {LINEAGE}, {ONE_STEP},
lineage as (
  select o.*, o.step <= k.keep_step as kept, bool_or(o.step <= k.keep_step) over (partition by o.run) as
    survived
    from one_step o join kept k using (run, attempt)
)
select run, {total("correct", "rollouts is not null")} as correct,
       {total("rollouts", "correct is not null")} as correct_n,
       {total("groups - groups_all_right - groups_all_wrong")} as informative,
       {total("groups", "groups_all_right is not null and groups_all_wrong is not null")} as groups_n,
       {total("dropped", "rollouts is not null")} as dropped,
       {total("rollouts", "dropped is not null")} as dropped_n,
       {total("tok_trained")} as tok_trained, count(tok_trained) / count(*) as tok_trained_frac
  from lineage where kept or not survived group by run order by run
"""


def judged(view: View, filters: Filters) -> pd.DataFrame:
    """One row a run: correct of correct_n rollouts, informative of groups_n groups, dropped of
    dropped_n rollouts, trained tokens and the share of steps that report them; null where nobody counted.
    """
    return view.frame(_JUDGED, filters.parameters())
