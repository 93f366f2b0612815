"""Money: a month's bill beside what the runs explain of it, what became of it, and whose it was."""

from typing import Any

import streamlit as st

from analysis.month import periods
from analysis.result import Result
from charts import campaigns as campaign_charts
from charts import energy as energy_charts
from charts import reconciliation as bill_charts
from charts import waste as waste_charts
from pages.parts.assumptions import show_how
from pages.parts.choose import dropdown, segments
from pages.parts.compute import compute_or_stop
from pages.parts.download import show_chart
from pages.parts.frame import show_head, stop_when_empty
from pages.parts.state import current
from pages.parts.tables import show_table
from pages.parts.waste_settings import settings

ALL = "all"
BARS = {
    "other": "Other lines of the bill",
    "not_allocated": "Not allocated",
    "idle": "Idle",
    "stalled": "Stalled",
    "unknown": "Unknown",
    "bubble": "Waiting for the other pool",
    "lost": "Lost work",
    "productive": "Productive work",
}
LINES = (
    "line", "from_day", "to_day", "provider", "service", "resource", "description", "kind", "status", "how",
    "runs", "effective_usd", "billed_usd", "matched_usd", "unmatched_usd", "why",
)  # fmt: skip
BILL_CENTS = ("effective_usd", "billed_usd", "matched_usd", "unmatched_usd", "usd")
CAMPAIGN_CENTS = ("usd_full", "usd_campaign", "usd_compute", "usd_failed", "usd_cancelled", "usd_restarted",
                  "usd_lost", "usd_shared_in")  # fmt: skip


def period_of(months: list[tuple[str, bool]]) -> str:
    """The month picker: months that hold a bill or a run, newest first, and all of them together."""
    billed = {month for month, has_bill in months if has_bill}
    names = {m: m if m in billed else f"{m} (no bill)" for m, _ in months} | {ALL: "All months"}
    first = next((m for m, _ in months if m in billed), next(iter(names)))
    return dropdown("mo_month", "Month (UTC)", list(names), first, names.__getitem__, width=220)


def show_behind(waste: Result) -> None:
    """The runs behind one bar of the waterfall."""
    behind = waste.tables["behind"]
    bars = [bar for bar in BARS if (behind["bar"] == bar).any()]
    if not bars:
        return
    first = max(bars, key=lambda bar: float(behind.loc[behind["bar"] == bar, "usd"].sum()))
    bar = segments("mo_bar", "Runs behind the bar", bars, first, BARS.__getitem__)
    picked = behind[behind["bar"] == bar].drop(columns="bar")
    shown = Result("waste", waste.params, "", tables={f"behind {bar}": picked})
    show_table(
        shown, f"behind {bar}", title=f"{BARS[bar]}: who is behind it", columns=("who", "usd"),
        labels={"who": "Run or job", "usd": "US dollars"}, cents=("usd",),
    )  # fmt: skip


def show_bill(bill: Result, waste: Result) -> None:
    """Invoice on the left, what became of the GPU dollars on the right."""
    left, right = st.columns(2, gap="medium")
    with left:
        show_chart(bill_charts.explained(bill, state.theme), key="money-explained")
    with right:
        show_chart(waste_charts.waterfall(waste, state.theme), key="money-waterfall")
        show_behind(waste)
    show_chart(waste_charts.ladder(waste, state.theme), key="money-ladder")


def show_campaigns(result: Result) -> None:
    """Spend by campaign or team and week, what failed, and what nobody owns."""
    st.subheader("Campaigns", anchor=False)
    by = segments("mo_by", "Weeks by", ["campaign", "team"], "campaign", str.capitalize)
    show_chart(campaign_charts.spend_by_week(result, state.theme, by), key="money-weeks")
    show_table(result, "campaigns", title="Campaigns, failed and shared work included", cents=CAMPAIGN_CENTS)
    show_chart(campaign_charts.lost_by_cause(result, state.theme), key="money-lost")
    show_table(result, "top", title="The ten dearest losses", cents=("usd", "usd_low", "usd_high"))
    show_table(result, "unallocated", title="Borne by no campaign", cents=("usd",))


def show_energy(params: dict[str, Any]) -> Result:
    """Energy beside dollars, with the two figures that nobody can look up for a person."""
    st.subheader("Energy", anchor=False)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        grid = st.number_input(
            "Grid intensity (kgCO2e a kWh)", value=None, min_value=0.0, step=0.01, key="mo_grid",
            bind="query-params", placeholder="yours: none is assumed", width=240,
        )  # fmt: skip
        price = st.number_input(
            "Electricity (USD a kWh)", value=None, min_value=0.0, step=0.01, key="mo_kwh",
            bind="query-params", placeholder="yours, if you pay it", width=240,
        )  # fmt: skip
    result = compute_or_stop("energy", {**params, "grid_kg_per_kwh": grid, "usd_per_kwh": price})
    show_chart(energy_charts.energy_by_run(result, state.theme), key="money-energy")
    show_table(result, "runs", title="Energy by run, of all its time")
    return result


state = current()
head = st.container()
with st.container(horizontal=True, vertical_alignment="bottom", key="money_controls"):
    with state.view() as view:
        months = periods(view)
    period = {"period": period_of(months)}
    limits = settings("mo")
month = compute_or_stop("month", {**period, **limits})
with head:
    stop_when_empty("Money", month)
bill = compute_or_stop("reconciliation", period)
waste = compute_or_stop("waste", {**period, **limits})
campaigns = compute_or_stop("campaigns", period)

show_bill(bill, waste)
st.subheader("Invoice", anchor=False)
show_table(bill, "unmatched", title="Lines that nothing explains", cents=BILL_CENTS)
show_table(bill, "by_run", title="Matched dollars by run and job", cents=BILL_CENTS)
with st.expander("Every line of the bill", icon=":material/receipt_long:"):
    show_table(bill, "lines", title="Lines", columns=LINES, cents=BILL_CENTS)
    show_table(bill, "by_how", title="How lines were matched", cents=BILL_CENTS)
show_campaigns(campaigns)
energy = show_energy({})
with head:
    show_head("Money", [month, bill, waste, campaigns, energy])
show_how([month, bill, waste, campaigns, energy], "money")
