"""What the frame around every page needs to know: which runs, campaigns and platforms the home holds."""

import pandas as pd

from data.view import View

_RUNS = """
select r.run, coalesce(r.campaign, '') as campaign, coalesce(r.synthetic, false) as synthetic,
       coalesce(r.mode, '') as mode,
       coalesce((select list(distinct a.platform order by a.platform) from allocations a
                  where a.run = r.run and a.platform is not null and coalesce(a.role, '') <> 'sandbox'),
                []::varchar[]) as platforms
  from runs r
 order by campaign = '', campaign, r.run
"""


def runs(view: View) -> pd.DataFrame:
    """One row a run, grouped by campaign: run, campaign ('' when none), synthetic, mode, platforms (list)."""
    frame = view.frame(_RUNS)
    frame["platforms"] = [list(p) for p in frame["platforms"]]
    return frame


def platforms(view: View) -> list[str]:
    """GPU platforms that any allocation of the home names, sorted."""
    rows = view.frame(
        "select distinct platform from allocations "
        "where platform is not null and coalesce(role, '') <> 'sandbox' order by platform"
    )
    return [str(p) for p in rows["platform"]]
