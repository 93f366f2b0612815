"""Campaigns on the Money page: spend by week, what failed, and the runs and attempts behind each figure."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from analysis.frames import records
from analysis.lost import KIND_WORDS
from analysis.result import Result
from charts import campaigns as charts
from charts.named_bars import dollars
from pages.parts.choose import dropdown, segments
from pages.parts.download import show_chart
from pages.parts.pictures import picture
from pages.parts.state import current
from pages.parts.tables import show_table
from pages.parts.words import md_escape

ALL, NONE = "*", ""
LINES = ("gpus", "judge", "sandbox", "evals", "storage", "data", "staff", "unused", "credits", "other")
CENTS = (
    "usd_net", "usd_full", "usd_campaign", "usd_compute", *(f"usd_{line}" for line in LINES), "usd_shared_in",
    "usd_failed", "usd_cancelled", "usd_restarted", "usd_lost", "usd", "usd_low", "usd_high",
)  # fmt: skip
COLUMNS = (
    "campaign", "team", "runs", "usd_net", "usd_full", "share_frac", "usd_campaign", "usd_compute",
    "usd_lost", "usd_failed", "usd_cancelled", "usd_restarted", *(f"usd_{line}" for line in LINES),
    "usd_shared_in", "gpu_h", "shipped_checkpoint",
)  # fmt: skip
NEEDED = ("campaign", "runs", "usd_net", "usd_full", "share_frac", "usd_campaign", "usd_compute")
AMOUNTS_USD = ("billed_usd", "rent_usd", "campaign_usd", "full_usd")
AMOUNT_WORDS = {
    "billed_usd": "GPUs billed in this period",
    "rent_usd": "GPUs at list rent",
    "campaign_usd": "with sandboxes and tokens (campaign boundary)",
    "full_usd": "with costs and evaluations booked to runs (full boundary)",
}
AMOUNT_LABELS = {
    "billed_usd": "GPUs billed (USD)",
    "rent_usd": "GPUs at list rent (USD)",
    "campaign_usd": "At list rent, campaign boundary (USD)",
    "full_usd": "At list rent, full boundary (USD)",
    "billed_gpu_h": "Billed GPU-hours",
    "rent_gpu_h": "Held GPU-hours",
}
WHY_THEY_DIFFER = (
    "They differ in price (the bill's, or that of the sidebar), in time (this period, or all of it) "
    "and in what is counted: sandbox cores that a bill charges are booked costs (full boundary) here, and "
    "in the campaign boundary of the bill above. Overview shows the last three, by the sidebar's boundary, "
    "and adds what is booked to a campaign, and to no run of it, to the campaign's full boundary."
)
LABELS = {
    "usd_net": "After credits (USD)",
    "usd_full": "Full boundary, before credits (USD)",
    "usd_credits": "Credits (USD)",
    "usd_campaign": "Campaign boundary (USD)",
    "usd_compute": "Compute boundary (USD)",
    "usd_gpus": "GPUs (USD)",
    "usd_judge": "Judge GPUs (USD)",
    "usd_sandbox": "Sandbox cores (USD)",
    "usd_evals": "Evaluations (USD)",
    "usd_storage": "Storage (USD)",
    "usd_data": "Data (USD)",
    "usd_staff": "Staff (USD)",
    "usd_unused": "Unused commitments and reservations (USD)",
    "usd_other": "Other and tax (USD)",
    "usd_shared_in": "Of it by sharing rules (USD)",
    "usd_failed": "Failed attempts (USD)",
    "usd_cancelled": "Cancelled (USD)",
    "usd_restarted": "Restarted (USD)",
    "usd_lost": "Bought nothing (USD)",
    "shipped_checkpoint": "Checkpoint shipped",
    "share_frac": "Share of charges (%)",
    "usd": "Cost (USD)",
    "usd_low": "Lost for sure (USD)",
    "wall_h": "Clock (h)",
    "job": "Scheduler job",
    "what": "Line",
    "how": "Matched by",
    "owner": "Known owner",
    "status": "Ended as",
    "resumption": "Resumption",
}
HOW = {
    "tag": "tag", "booked": "by hand", "resource": "machine", "job": "scheduler job",
    "time": "model and time", "allocation": "held GPUs", "none": "nobody",
}  # fmt: skip


def show(result: Result, waste: Result) -> None:
    """Spend by campaign or team and week, the campaigns, what bought nothing, what nobody bears."""
    theme = current().theme
    by = segments("mo_by", "Weeks by", ["campaign", "team"], "campaign", str.capitalize)
    show_chart(
        picture(charts.spend_by_week, result, theme, by), "money-weeks", lambda at: _open_week(result, at)
    )
    show_table(
        result, "campaigns", title="Campaigns, failed and shared work included", cents=CENTS, labels=LABELS,
        columns=COLUMNS, blank={"campaign": "no campaign"},
        optional=tuple(name for name in COLUMNS if name not in NEEDED),
    )  # fmt: skip
    if by == "team" and (result.tables["teams"]["team"] != "").any():
        show_table(
            result, "teams", title="Teams", cents=CENTS, labels=LABELS, blank={"team": "no team"},
            columns=("team", "campaigns", "usd", "share_frac"),
        )  # fmt: skip
    _show_amounts(result)
    _show_runs(result)
    _show_lost(result)
    _how_lost_agrees(result, waste)
    unallocated = result.tables["unallocated"]
    words = unallocated.assign(how=[HOW.get(how, how) for how in unallocated["how"]])
    show_table(
        Result(result.analysis, result.params, "", tables={"unallocated": words}), "unallocated",
        title="Borne by no campaign", cents=CENTS, labels=LABELS, blank={"owner": "nobody"},
    )  # fmt: skip


def _open_week(result: Result, at: dict[str, Any]) -> None:
    week = str(at["x"])
    if week in set(result.tables["behind"]["week"]):
        st.session_state["mo_week"] = week


def _show_runs(result: Result) -> None:
    """Runs and attempts behind a campaign and a week."""
    behind = result.tables["behind"]
    if behind.empty:
        return
    campaigns = list(dict.fromkeys(behind["campaign"]))
    weeks = sorted({week for week in behind["week"] if week})
    with st.container(horizontal=True, vertical_alignment="bottom"):
        named = [c for c in campaigns if c]
        names = {ALL: "All campaigns", **{c: c for c in named}, NONE: "No campaign"}
        picked = dropdown("mo_campaign", "Runs behind", list(names), ALL, names.__getitem__, width=240)
        times = {ALL: "All weeks", **{w: w for w in weeks}}
        week = dropdown("mo_week", "Week", list(times), ALL, times.__getitem__, width=160)
    rows = behind[
        ((behind["campaign"] == picked) | (picked == ALL)) & ((behind["week"] == week) | (week == ALL))
    ]
    shown = Result(result.analysis, result.params, "", tables={"behind": summed(rows)})
    show_table(
        shown, "behind", title="Runs and attempts behind it", cents=("usd",), labels=LABELS,
        blank={"run": "no run", "campaign": "no campaign"},
        optional=("attempt", "job", "status", "gpu_h"),
    )  # fmt: skip


def _show_amounts(result: Result) -> None:
    """One line that ties the amounts which a run has on this page and on Overview, and each run's own."""
    rows = records(result.tables["amounts"])
    if not rows:
        return
    st.caption(md_escape(amounts_words(rows)))
    show_table(
        result, "amounts", title="One run, several amounts", cents=AMOUNTS_USD, labels=LABELS | AMOUNT_LABELS,
        columns=("run", "billed_usd", "rent_usd", "campaign_usd", "full_usd", "billed_gpu_h", "rent_gpu_h"),
        optional=("billed_usd", "billed_gpu_h"),
    )  # fmt: skip


def amounts_words(rows: Sequence[Mapping[str, Any]]) -> str:
    """'GPUs billed $1.00 · at list rent $2.00 · with sandboxes $3.00 · full $4.00' and why they differ."""
    known = {name: [row[name] for row in rows if pd.notna(row[name])] for name in AMOUNTS_USD}
    sums = {name: sum(found) for name, found in known.items() if len(found) == len(rows)}
    who = rows[0]["run"] if len(rows) == 1 else f"{len(rows)} runs together"
    told = [f"{words} {dollars(sums[name])}" for name, words in AMOUNT_WORDS.items() if name in sums]
    return f"{who}: {' · '.join(told)}. {WHY_THEY_DIFFER}"


def summed(rows: pd.DataFrame) -> pd.DataFrame:
    """Dollars by run, attempt, job and line, the dearest first; in cents, so sums are exact."""
    keys = ["campaign", "run", "attempt", "job", "status", "what"]
    sums = rows.groupby(keys, dropna=False, sort=False, as_index=False)[["gpu_h", "usd"]].sum()
    sums["usd"] = sums["usd"].round(2)
    sums["attempt"] = pd.to_numeric(sums["attempt"]).astype("Int64")
    return sums.sort_values("usd", ascending=False, kind="stable").reset_index(drop=True)


def _how_lost_agrees(result: Result, waste: Result) -> None:
    """One line from the lost work of Overview to what bought nothing, and to the bar of the waterfall."""
    rows = records(result.tables["lost_bridge"])
    if not rows:
        return
    first, *steps, last = rows
    told = [f"Lost work by three measures: {dollars(first['usd'])} {first['label']}"]
    told += [f"{'−' if r['usd'] < 0 else '+'} {dollars(abs(r['usd']))} {r['label']}" for r in steps]
    bars = {row["bar"]: row["usd"] for row in records(waste.tables["waterfall"])}
    lost = dollars(bars.get("lost", 0.0))
    told[-1:] = [f"{told[-1]} = {dollars(last['usd'])} {last['label']}."]
    told += [
        "Overview counts the first one, at the price of the sidebar and over all months.",
        f"The bar Lost of the waterfall, {lost}, is the part of it in which GPU samples show work:",
        "the rest is in the bars of idle, stalled, waiting and unknown time, or is no GPU time.",
    ]
    st.caption(md_escape(" ".join(told)))


def _show_lost(result: Result) -> None:
    lost = result.tables["lost"]
    causes = list(dict.fromkeys(lost[lost["usd"] > 0].sort_values("usd", ascending=False)["cause"]))

    def opened(at: dict[str, Any]) -> None:
        if at["y"] in causes:
            st.session_state["mo_cause"] = at["y"]

    show_chart(picture(charts.lost_by_cause, result, current().theme), "money-lost", opened)
    if not causes:
        return
    names = {ALL: "All causes", **{c: c or "not stated" for c in causes}}
    cause = dropdown("mo_cause", "Attempts behind the cause", list(names), ALL, names.__getitem__, width=280)
    rows = lost[(lost["usd"] > 0) & ((lost["cause"] == cause) | (cause == ALL))]
    rows = rows.sort_values("usd", ascending=False, kind="stable").reset_index(drop=True)
    rows = rows.assign(kind=[KIND_WORDS.get(kind, kind) for kind in rows["kind"]])
    show_table(
        Result(result.analysis, result.params, "", tables={"lost": rows}), "lost",
        title="Attempts whose dollars bought nothing", cents=CENTS, labels=LABELS | {"kind": "What was lost"},
        columns=("run", "attempt", "campaign", "team", "status", "kind", "cause", "usd", "usd_low", "gpu_h",
                 "wall_h", "weeks", "why", "resumption"),
        optional=("team", "wall_h", "resumption"),
    )  # fmt: skip
