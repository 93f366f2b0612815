"""Lines of the bill on the Money page: by group or by bar of its chart, and who bears each of them."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
import streamlit as st

from analysis.frames import records
from analysis.parts import WHY
from analysis.result import Result
from charts.named_bars import dollars
from pages.parts.money_campaigns import HOW
from pages.parts.money_open import BY_HOW, BY_WHY, LINES, pick_lines
from pages.parts.tables import show_table
from pages.parts.words import counted, md_escape

NOBODY = "nobody"
COLUMNS = (
    "line", "from_day", "to_day", "service", "resource", "description", "kind", "usd", "effective_usd",
    "matched_usd", "unmatched_usd", "runs", "why", "billed_usd", "gpu_hours", "status", "how", "provider",
)  # fmt: skip
CENTS = ("effective_usd", "billed_usd", "matched_usd", "unmatched_usd", "usd")
NEEDED = ("line", "from_day", "to_day", "service", "kind", "effective_usd", "runs")
LABELS = {
    "line": "Line",
    "from_day": "First day",
    "to_day": "Last day",
    "effective_usd": "Effective cost (USD)",
    "billed_usd": "Billed (USD)",
    "matched_usd": "Matched (USD)",
    "unmatched_usd": "Not matched (USD)",
    "runs": "Borne by",
    "why": "Why the rest is not matched",
    "how": "Matched by",
    "usd": "Cost (USD)",
    "who": "Run or job",
    "lines": "Lines of the bill",
    "days": "Days",
}
GPU_KINDS = ("gpu", "unused")
KINDS = {
    "gpu": "GPU time",
    "unused": "unused commitment or reservation",
    "cpu": "CPU cores",
    "evals": "evaluations",
    "tokens": "tokens of services",
}


def show_lines(bill: Result) -> None:
    """The choice of lines, the table of those picked, and who bears a selected one."""
    pick = pick_lines()
    frame, amount = lines_of(bill, pick)
    if frame.empty:
        st.caption(f"{LINES[pick]}: no line of this bill.")
        return
    name = f"lines {pick.replace(':', ' ')}"
    total = f"{dollars(float(frame[amount].sum()))} in {counted(len(frame), 'line')}"
    shown = frame.assign(kind=[KINDS.get(kind, kind) for kind in frame["kind"]])
    place = show_table(
        Result(bill.analysis, bill.params, "", tables={name: shown}), name, columns=COLUMNS, cents=CENTS,
        title=md_escape(f"{LINES[pick]}: {total}"), labels=LABELS | {"usd": "In this bar (USD)"},
        blank={"runs": NOBODY}, optional=tuple(c for c in COLUMNS if c not in NEEDED),
        select=f"mo_lines_{pick.replace(':', '_')}",
    )  # fmt: skip
    if place is None:
        st.caption("Select a line to see who bears it.")
    else:
        _show_bearers(bill, frame["line"].iloc[place])


def lines_of(bill: Result, pick: str) -> tuple[pd.DataFrame, str]:
    """The lines of a group or a bar, and the column whose sum is its dollars."""
    lines = bill.tables["lines"]
    is_open = lines["line"].isin(set(bill.tables["open"]["line"])) | lines["line"].isna()
    credit = lines["kind"] == "credit"
    rest = (lines["unmatched_usd"] != 0) & ~credit
    if pick in BY_HOW:
        return _matched_by(bill, pick.partition(":")[2]), "usd"
    if pick in BY_WHY:
        group, _, reason = pick.partition(":")
        wanted = is_open if group == "open" else ~is_open
        if group == "credits":
            return _kept(lines, credit), "effective_usd"
        return _kept(lines, rest & wanted & (lines["why"] == WHY[reason])), "unmatched_usd"
    groups = {
        "open": (rest & is_open, "unmatched_usd"),
        "idle": (rest & ~is_open, "unmatched_usd"),
        "explained": ((lines["matched_usd"] != 0) & ~credit, "matched_usd"),
        "matched": ((lines["matched_usd"] != 0) & ~credit, "matched_usd"),
        "credits": (credit, "effective_usd"),
        "other": (~lines["kind"].isin(GPU_KINDS), "effective_usd"),
        "all": (lines["line"].notna() | lines["line"].isna(), "effective_usd"),
    }
    chosen, amount = groups[pick]
    return _kept(lines, chosen), amount


def _matched_by(bill: Result, how: str) -> pd.DataFrame:
    """Lines of which something was matched that way, with those dollars as `usd`."""
    lines = bill.tables["lines"]
    shares = bill.tables["bearers"].merge(lines[["line", "how"]], on="line", suffixes=("", "_of_line"))
    borne = shares[["run", "job", "campaign", "team"]].notna().any(axis=1)
    by = shares["how"].where(shares["how"] != "none", shares["how_of_line"])
    mine = shares[borne & (by == how)].groupby("line", as_index=False)["usd"].sum()
    found = lines[lines["kind"] != "credit"].merge(mine[mine["usd"] != 0], on="line")
    return found.sort_values(["usd", "line"], ascending=[False, True], kind="stable").reset_index(drop=True)


def _kept(lines: pd.DataFrame, chosen: pd.Series) -> pd.DataFrame:
    return lines[chosen].reset_index(drop=True)


def _show_bearers(bill: Result, number: float) -> None:
    found = named(bill, "bearers")
    rows = found.tables["bearers"]
    mine = Result(bill.analysis, bill.params, "", tables={"line": rows[rows["line"] == number]})
    show_table(
        mine, "line", title=f"Line {number:.0f}: who bears it", labels=LABELS, cents=CENTS,
        columns=("who", "attempt", "campaign", "team", "how", "gpu_hours", "usd"),
        optional=("attempt", "campaign", "team", "gpu_hours"),
    )  # fmt: skip


def named(bill: Result, name: str) -> Result:
    """The table with a column `who`: the run, else the job, campaign or team, else nobody."""
    frame = bill.tables[name]
    who = [bearer(row) or NOBODY for row in records(frame)]
    how = {"how": [HOW.get(how, how) for how in frame["how"]]} if "how" in frame else {}
    return Result(bill.analysis, bill.params, "", tables={name: frame.assign(who=who, **how)})


def bearer(row: Mapping[str, Any]) -> str:
    """Who bears a row: the run, else the job, campaign or team, '' for nobody. A missing name may be NaN."""
    marks = {"run": "", "job": "job ", "campaign": "campaign ", "team": "team "}
    return next(
        (f"{mark}{row[key]}" for key, mark in marks.items() if isinstance(row[key], str) and row[key]), ""
    )
