"""The bill on the Money page: what explains it, what became of it, and its lines."""

from typing import Any

import streamlit as st

from analysis.frames import records
from analysis.result import Result
from charts import reconciliation as bill_charts
from charts import waste as waste_charts
from charts.named_bars import dollars
from pages.parts.choose import segments
from pages.parts.download import show_chart
from pages.parts.money_campaigns import HOW
from pages.parts.state import current
from pages.parts.tables import show_table
from pages.parts.words import md_escape

BARS = {
    "not_allocated": "Not allocated",
    "idle": "Idle",
    "stalled": "Stalled",
    "unknown": "Unknown",
    "bubble": "Waiting",
    "lost": "Lost",
    "productive": "Productive",
}
NOBODY = "nobody"
GROUPS = {"open": "Not explained", "idle": "Paid and idle", "matched": "Matched", "all": "All lines"}
LINES = (
    "line", "from_day", "to_day", "service", "resource", "description", "kind", "effective_usd",
    "matched_usd", "unmatched_usd", "runs", "why", "billed_usd", "gpu_hours", "status", "how", "provider",
)  # fmt: skip
CENTS = ("effective_usd", "billed_usd", "matched_usd", "unmatched_usd", "usd")
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
MOST_UNKNOWN = 0.2


def show_charts(bill: Result, waste: Result) -> None:
    """Invoice on the left, what became of the dollars on the right; a click on a bar opens what is behind."""
    theme = current().theme
    left, right = st.columns(2, gap="medium")
    with left:
        if bill.tables["by_how"].empty:
            _offer_bill(bill)
        else:
            show_chart(
                bill_charts.explained(bill, theme), "money-explained", lambda at: _open_group(bill, at)
            )
        show_chart(waste_charts.ladder(waste, theme), "money-ladder")
    with right:
        show_chart(waste_charts.waterfall(waste, theme), "money-waterfall", lambda at: _open_bar(waste, at))
        _why_unknown(waste)
        _show_behind(waste)


def _offer_bill(bill: Result) -> None:
    with st.container(border=True, gap="small", key="money_no_bill"):
        st.markdown("**No bill in this period**")
        st.caption(
            f"{md_escape(bill.answer)} Until then every dollar here is GPU-hours that runs and jobs held x "
            "the price chosen in the sidebar: an estimate of rent, and no invoice."
        )
        st.page_link("telemetry.py", label="Upload a bill", icon=":material/upload_file:")


def _open_group(bill: Result, at: dict[str, Any]) -> None:
    data = bill_charts.bars_of(bill.tables["by_how"])
    st.session_state["mo_lines"] = str(data.iloc[round(float(at["y"]))]["group"])
    st.session_state["mo_show"] = "Invoice"


def _open_bar(waste: Result, at: dict[str, Any]) -> None:
    bar = str(waste.tables["waterfall"].iloc[round(float(at["y"]))]["bar"])
    if bar in bars_behind(waste):
        st.session_state["mo_bar"] = bar
    else:
        st.session_state["mo_show"], st.session_state["mo_lines"] = "Invoice", "all"


def bars_behind(waste: Result) -> list[str]:
    """Bars of the waterfall that somebody, or nobody, is behind."""
    behind = set(waste.tables["behind"]["bar"])
    return [bar for bar in BARS if bar in behind]


def _why_unknown(waste: Result) -> None:
    """What would make a large unknown part known."""
    rows = {row["part"]: row for row in records(waste.tables["identity"])}
    paid = sum(row["usd"] for row in rows.values())
    unknown = rows["unknown"]["usd"] if rows else 0.0
    if paid > 0 and unknown / paid > MOST_UNKNOWN:
        st.caption(
            f"Unknown: {md_escape(dollars(unknown))} of GPU time has no usable GPU sample. It becomes known "
            "when the samples of all GPUs (nvidia-smi, DCGM or Prometheus) are loaded for all the time they "
            "were held."
        )


def _show_behind(waste: Result) -> None:
    bars = bars_behind(waste)
    if not bars:
        return
    behind = waste.tables["behind"]
    first = max(bars, key=lambda bar: float(behind.loc[behind["bar"] == bar, "usd"].sum()))
    bar = segments("mo_bar", "Runs behind the bar", bars, first, BARS.__getitem__)
    picked = behind[behind["bar"] == bar].drop(columns="bar").reset_index(drop=True)
    shown = Result("waste", waste.params, "", tables={f"behind {bar}": picked})
    show_table(
        shown, f"behind {bar}", title=f"{BARS[bar]}: who is behind it", columns=("who", "usd"),
        labels={"who": "Run or job", "usd": "Cost (USD)"}, cents=("usd",), blank={"who": NOBODY},
    )  # fmt: skip


def show_invoice(bill: Result) -> None:
    """Lines by what explains them; a picked line opens who bears it."""
    lines = bill.tables["lines"]
    if lines.empty:
        st.caption("No bill is loaded for this period, so there is no line to show.")
        return
    unknown = set(bill.tables["open"]["line"])
    is_open = lines["line"].isin(unknown) | lines["line"].isna()
    rest = lines["unmatched_usd"] != 0
    picked = {
        "open": lines[is_open],
        "idle": lines[rest & ~is_open],
        "matched": lines[lines["matched_usd"] != 0],
        "all": lines,
    }
    names = [name for name in GROUPS if len(picked[name])]
    group = segments("mo_lines", "Lines of the bill", list(GROUPS), "open", GROUPS.__getitem__)
    if group not in names:
        st.caption(f"{GROUPS[group]}: no line of this bill.")
    else:
        frame = picked[group].reset_index(drop=True)
        _show_lines(bill, group, frame)
    show_table(
        _named(bill, "by_run"), "by_run", title="Dollars by who bears them", labels=LABELS, cents=CENTS,
        columns=("who", "campaign", "team", "usd", "gpu_hours", "lines", "days"),
        optional=("campaign", "team", "gpu_hours"),
    )  # fmt: skip
    show_chart(bill_charts.by_day(bill, current().theme), "money-by-day")
    if (bill.tables["totals"]["kind"] == "change").any():
        show_chart(bill_charts.bridge(bill, current().theme), "money-bridge")
    show_table(bill, "other_side", title="Held by runs and jobs, and paid by no line", labels=LABELS)
    show_table(
        bill, "foreign", title="Lines without a rate into US dollars: outside every sum", labels=LABELS
    )


def _show_lines(bill: Result, group: str, frame: Any) -> None:
    total = float(frame["unmatched_usd" if group in ("open", "idle") else "effective_usd"].sum())
    count = f"{len(frame):,} line{'' if len(frame) == 1 else 's'}"
    shown = Result(bill.analysis, bill.params, "", tables={f"lines {group}": frame})
    place = show_table(
        shown, f"lines {group}", title=f"{GROUPS[group]}: {md_escape(dollars(total))} in {count}",
        columns=LINES, labels=LABELS, cents=CENTS, blank={"runs": NOBODY}, select=f"mo_lines_{group}",
        optional=("resource", "description", "billed_usd", "gpu_hours", "matched_usd", "unmatched_usd", "why",
                  "status", "how", "provider"),
    )  # fmt: skip
    if place is None:
        st.caption("Select a line to see who bears it.")
        return
    number = frame["line"].iloc[place]
    found = _named(bill, "bearers")
    rows = found.tables["bearers"]
    mine = Result(bill.analysis, bill.params, "", tables={"line": rows[rows["line"] == number]})
    show_table(
        mine, "line", title=f"Line {number:.0f}: who bears it", labels=LABELS, cents=CENTS,
        columns=("who", "attempt", "campaign", "team", "how", "gpu_hours", "usd"),
        optional=("attempt", "campaign", "team", "gpu_hours"),
    )  # fmt: skip


def _named(bill: Result, name: str) -> Result:
    """The table with a column `who`: the run, else the job, campaign or team, else nobody."""
    frame = bill.tables[name]
    who = [
        run
        or (
            f"job {job}"
            if job
            else f"campaign {campaign}"
            if campaign
            else f"team {team}"
            if team
            else NOBODY
        )
        for run, job, campaign, team in zip(
            frame["run"], frame["job"], frame["campaign"], frame["team"], strict=True
        )
    ]
    how = {"how": [HOW.get(how, how) for how in frame["how"]]} if "how" in frame else {}
    return Result(bill.analysis, bill.params, "", tables={name: frame.assign(who=who, **how)})
