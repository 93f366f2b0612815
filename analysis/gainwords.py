"""What is said beside gains: choices among checkpoints, weights, and the figure of a weighted gain."""

from collections.abc import Sequence

import pandas as pd

from analysis.common import figure
from analysis.frames import records
from analysis.result import Figure, Notice
from analysis.words import listing


def best_of_notices(after: str, table: pd.DataFrame) -> list[Notice]:
    """Say which gains are those of a chosen checkpoint, and by how much choosing lowers them."""
    if after != "best":
        return []
    many = table[(table["candidates"] > 1) & table["gain"].notna()]
    out: list[Notice] = []
    for row in records(many):
        corrected = pd.notna(row["inflation"])
        words = f"{row['run']}: best of {row['candidates']:.0f} checkpoints on the same evaluation"
        if corrected:
            words += (
                f", so its gain of {row['seen_gain']:.1f} points is lowered by {row['inflation']:.2g} for "
                f"the choice ({row['selection']})"
            )
        else:
            words += ", which inflates the gain by an amount that is not known"
        tail = "; charge every candidate and confirm on a held-out benchmark."
        out.append(Notice("best_of_many", words + tail, str(row["run"])))
    return out


def weight_notices(weighted: pd.DataFrame) -> list[Notice]:
    """Runs without a weighted gain, and why."""
    lacking = weighted[weighted["gain"].isna()]
    out = []
    for reason, group in lacking.groupby("reason", sort=True):
        runs = [str(run) for run in group["run"]]
        out.append(
            Notice("weights_not_met", f"No weighted gain of {listing(runs)}: {reason}.", "; ".join(runs))
        )
    return out


def weighted_figure(weighted: pd.DataFrame, runs: Sequence[str]) -> list[Figure]:
    """The weighted gain of the best run of the headline's campaign; none without weights."""
    mine = weighted[weighted["run"].isin(list(runs))]
    if mine.empty:
        return []
    usable = mine[mine["gain"].notna()]
    if usable.empty:
        return [
            figure(
                "gain_weighted", None, label=str(mine.iloc[0]["name"]), missing=str(mine.iloc[0]["reason"])
            )
        ]
    if len(usable) > 1:
        return []
    row = usable.iloc[0]
    return [
        figure(
            "gain_weighted", row["gain"], label=str(row["name"]), low=row["low"], high=row["high"],
            interval="ci95", n=int(row["n"]),
        )
    ]  # fmt: skip
