"""What the run-details forms show: the details in force, the pools known, the attempts."""

import pandas as pd

from data.resumption import ASSUMED
from data.view import View

_TABLE = """
select r.run, r.campaign, r.llm, r.algorithm, r.mode, c.team, r.note, r.synthetic
  from runs r left join campaigns c using (campaign) order by r.campaign nulls last, r.run
"""
_POOLS = """
select pool, min(role) as role, min(platform) as platform, max(gpus) as gpus, max(cores) as cores,
       min(price_id) as price_id
  from allocations where run = ? group by pool order by pool
"""
_ATTEMPTS = f"""
select t.attempt, t.status, t.elapsed_s, t.elapsed_basis, t.resumed_from_step,
       coalesce({ASSUMED}, false) as resumed_assumed
  from attempts t where t.run = ? order by t.attempt
"""


def table(view: View) -> pd.DataFrame:
    """One row a run: run, campaign, llm, algorithm, mode, team, note, synthetic."""
    return view.frame(_TABLE)


def pools(view: View, run: str) -> pd.DataFrame:
    """Pools known of a run: pool, role, platform, gpus, cores, price_id."""
    return view.frame(_POOLS, [run])


def attempts(view: View, run: str) -> pd.DataFrame:
    """Attempts of a run: attempt, status, elapsed_s, elapsed_basis, resumed_from_step, resumed_assumed."""
    return view.frame(_ATTEMPTS, [run])


def campaigns(view: View) -> list[str]:
    """Names of all campaigns, sorted."""
    return [str(c) for (c,) in view.rows("select campaign from campaigns order by campaign")]


def heads(view: View, run: str) -> dict[str, str | None]:
    """Campaign, llm, algorithm and mode in force for a run; empty when there is no such run."""
    names = ("campaign", "llm", "algorithm", "mode")
    rows = view.rows(f"select {', '.join(names)} from runs where run = ?", [run])
    return dict(zip(names, rows[0], strict=True)) if rows else {}
