"""Who is behind a rung of the ladder or a bar of the waterfall, and their lines of the bill."""

from typing import Any

import pandas as pd
import streamlit as st

from analysis.frames import records
from analysis.result import Result
from charts.named_bars import dollars
from pages.parts.choose import dropdown
from pages.parts.money_lines import NOBODY, bearer
from pages.parts.money_open import BARS, RUNGS, open_campaigns, open_lines, open_runs
from pages.parts.tables import show_table
from pages.parts.words import counted, md_escape

FIGURES = RUNGS | BARS
LABELS = {
    "who": "Run or job",
    "usd": "Cost (USD)",
    "share_frac": "Share (%)",
    "line": "Line",
    "from_day": "First day",
    "effective_usd": "Whole line (USD)",
}
LINES = ("line", "from_day", "service", "resource", "description", "usd", "effective_usd")


def open_rung(waste: Result, at: dict[str, Any]) -> None:
    """A click on the ladder."""
    open_runs(str(waste.tables["ladder"].iloc[round(float(at["y"]))]["rung"]))


def open_bar(waste: Result, bill: Result, at: dict[str, Any]) -> None:
    """A click on the waterfall: what is no GPU time has lines, or campaigns without a bill."""
    bar = str(waste.tables["waterfall"].iloc[round(float(at["y"]))]["bar"])
    if bar in BARS:
        open_runs(bar)
    elif bill.tables["lines"].empty:
        open_campaigns()
    else:
        open_lines("all" if bar == "bill" else "other")


def behind(waste: Result, figure: str) -> pd.DataFrame:
    """Rows (who, usd, share_frac) of a rung or a bar; they add up to it."""
    name, column = ("on_rungs", "rung") if figure in RUNGS else ("behind", "bar")
    frame = waste.tables[name]
    rows = frame[frame[column] == figure].drop(columns=column).reset_index(drop=True)
    whole = float(rows["usd"].sum())
    return rows.assign(share_frac=rows["usd"] / whole if whole else None)


def show_behind(waste: Result, bill: Result) -> None:
    """Runs and jobs behind the picked figure; a picked row opens its lines of the bill."""
    with st.container(key="money_behind"):
        figure = dropdown(
            "mo_bar", "Runs behind a bar", list(FIGURES), "paid", FIGURES.__getitem__, width=240
        )
        rows = behind(waste, figure)
        if rows.empty:
            st.caption(f"{FIGURES[figure]}: no dollars.")
            return
        total = md_escape(dollars(float(rows["usd"].sum())))
        shown = Result("waste", waste.params, "", tables={f"behind {figure}": rows})
        place = show_table(
            shown, f"behind {figure}", title=f"{FIGURES[figure]}: {total}, who is behind it", labels=LABELS,
            columns=("who", "usd", "share_frac"), cents=("usd",), blank={"who": NOBODY},
            select=f"mo_behind_{figure}",
        )  # fmt: skip
        if bill.tables["lines"].empty:
            return
        if place is None:
            st.caption("Select a row to see its lines of the bill.")
        else:
            _show_lines(bill, figure, str(rows["who"].iloc[place] or ""))


def _show_lines(bill: Result, figure: str, who: str) -> None:
    frame = lines_of(bill, figure, who)
    if frame.empty:
        st.caption("No line of this bill is listed for it.")
        return
    name = who or NOBODY
    total = f"{dollars(float(frame['usd'].sum()))} in {counted(len(frame), 'line')}"
    shown = Result(bill.analysis, bill.params, "", tables={f"lines of {name}": frame})
    show_table(
        shown, f"lines of {name}", title=md_escape(f"GPU lines that {name} bears: {total}"), columns=LINES,
        labels=LABELS, cents=("usd", "effective_usd"), optional=("service", "resource", "description"),
    )  # fmt: skip
    if who and figure != "paid":
        st.caption(
            "A line is what was bought; the bar holds the part of it that was "
            f"{FIGURES[figure].lower()}, by the GPU samples of each day."
        )


def lines_of(bill: Result, figure: str, who: str) -> pd.DataFrame:
    """GPU lines of a run, job or nobody with its dollars of each; nobody's are those of the bar."""
    lines = bill.tables["lines"].dropna(subset=["line"])
    lines = lines[lines["kind"].isin(("gpu", "unused"))]
    shares = bill.tables["bearers"]
    nobody = {"campaign": None, "team": None}
    names = [bearer(row | nobody) for row in records(shares)]
    mine = shares[[name == who for name in names]].groupby("line", as_index=False)["usd"].sum()
    found = lines.merge(mine, on="line", suffixes=("", "_own"))
    if not who and figure in ("not_allocated", "unknown"):
        is_open = found["line"].isin(set(bill.tables["open"]["line"]))
        found = found[is_open if figure == "unknown" else ~is_open]
    found = found[found["usd"] != 0]
    return found.sort_values(["usd", "line"], ascending=[False, True], kind="stable").reset_index(drop=True)
