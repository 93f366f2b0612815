"""Small phases drawn as one, so that a stack has few colours."""

from typing import Any

import pandas as pd

from charts import theme

FOLDED = "other_phases"
SMALL_FRAC = 0.03
MOST_ENTRIES = 8


def fold(data: pd.DataFrame, value: str, panel: str | None = None) -> tuple[pd.DataFrame, str]:
    """Return the rows with small phases under the name FOLDED, and what the subtitle says about it.

    A phase is small when it is under SMALL_FRAC of all that is drawn, in every panel when there are several;
    the smallest of more than MOST_ENTRIES join them. Time in no phase is never folded. Adds `part`, the phase
    that a row was before. One small phase alone keeps its name.
    """
    out = data.assign(part=data["phase"])
    shares = _shares(out, value, panel)
    free = shares[~shares.index.isin(theme.HATCHED_PHASES)].sort_values(kind="stable")
    small = list(free.index[free < SMALL_FRAC])
    room = MOST_ENTRIES - (len(shares) - len(free))
    words = f"phases under {100 * SMALL_FRAC:.0f} % are together"
    kept = len(free) - len(small)
    if len(free) > room and kept > room - 1:
        small = list(free.index[: len(free) - room + 1])
        words = "the smallest phases are together"
    if len(small) < 2:
        return out, ""
    if "other" in free.index and "other" not in small:
        small.append("other")
    out["phase"] = out["phase"].where(~out["phase"].isin(small), FOLDED)
    return out, words


def _shares(data: pd.DataFrame, value: str, panel: str | None) -> pd.Series:
    if panel is None:
        sums = data.groupby("phase")[value].sum().abs()
        return sums / sums.sum() if sums.sum() else sums
    each = data.groupby([panel, "phase"])[value].sum().abs()
    total = each.groupby(level=0).transform("sum")
    return (each / total.where(total > 0)).fillna(0.0).groupby(level=1).max()


def parts_told(rows: pd.DataFrame, by: str, value: str, shown: str) -> dict[Any, str]:
    """Return, for each bar named in `by`, a line for each phase folded into it, largest first; `shown`
    formats one amount.
    """
    sums = rows.groupby([by, "part"])[value].sum().sort_values(ascending=False, kind="stable")
    told: dict[Any, str] = {}
    for (bar, part), amount in sums.items():
        told[bar] = f"{told.get(bar, '')}<br>{theme.phase_label(part)}: {shown.format(amount)}"
    return told
