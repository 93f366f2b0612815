"""What an attempt at a task took: tokens and dollars of evaluations, by evaluation."""

from collections.abc import Sequence

import pandas as pd

from data.queries.sums import total
from data.view import View

_ATTEMPTS = f"""
with asked as (select * from evals where list_contains($ids::varchar[], eval_id)),
each as (
  select t.eval_id, count(*) filter (where t.tokens is not null) as attempts, {total("t.tokens")} as tokens,
         count(*) filter (where t.usd is not null) as paid_attempts, {total("t.usd")} as usd
    from eval_tasks t where list_contains($ids::varchar[], t.eval_id) group by t.eval_id
)
select a.eval_id, e.tokens as task_tokens, e.attempts as task_attempts, e.usd as task_usd,
       e.paid_attempts as task_paid_attempts, a.tokens as eval_tokens, a.usd as eval_usd,
       a.n_tasks * coalesce(a.k, 1) as eval_attempts
  from asked a left join each e using (eval_id) order by a.eval_id
"""


def attempts(view: View, eval_ids: Sequence[str]) -> pd.DataFrame:
    """One row an evaluation: tokens and USD summed over attempts that say them, and those of the whole
    evaluation with its n_tasks x k attempts; null where nobody counted.
    """
    return view.frame(_ATTEMPTS, {"ids": list(eval_ids)})
