"""Tokens of runs by attempt, whole and on the surviving lineage: what a metered service charges for."""

import pandas as pd

from data.queries.filters import ALL_STEPS, LINEAGE, PICKED, Filters
from data.queries.sums import total
from data.view import View

_TOKENS = ("tok_prompt", "tok_gen", "tok_cached", "tok_trained", "tok_total")
_SUMS = ", ".join(
    f"{total(f'o.{name}')} as {name}, "
    f"case when k.keep_step = -{ALL_STEPS} then 0.0 else {total(f'o.{name}', 'o.step <= k.keep_step')} end "
    f"as {name}_kept"
    for name in _TOKENS
)
_ONE_STEP = ", ".join(f"max(s.{name}) as {name}" for name in _TOKENS)
_BY_ATTEMPT = f"""
with recursive {PICKED}, {LINEAGE},
tokens as (
  select s.run, s.attempt, s.step, {_ONE_STEP}
    from steps s join picked using (run) where s.step is not null group by s.run, s.attempt, s.step
)
select k.run, k.attempt, coalesce(any_value(r.algorithm) in ('sft', 'distill'), false) as supervised, {_SUMS}
  from kept k join runs r on r.run = k.run left join tokens o on o.run = k.run and o.attempt = k.attempt
 group by k.run, k.attempt, k.keep_step order by k.run, k.attempt
"""


def tokens(view: View, filters: Filters) -> pd.DataFrame:
    """One row an attempt: run, attempt, supervised, sums of tokens over its steps; `_kept` on the lineage.

    NULL where no step tells a kind of token.
    """
    return view.frame(_BY_ATTEMPT, filters.parameters())
