"""Rent or own: the same demand served in every way, and what decides between them."""

from dataclasses import replace
from typing import Any

import streamlit as st

from analysis.result import Result
from charts import own_cost as own_charts
from charts import services as service_charts
from charts import tenure as charts
from charts.synthetic import is_synthetic
from pages.parts import own_controls as controls
from pages.parts.answer import show_answer
from pages.parts.assumptions import show_how
from pages.parts.compute import compute_beside, compute_or_stop
from pages.parts.download import show_chart
from pages.parts.figures import show_figures
from pages.parts.frame import show_title
from pages.parts.notices import show_warnings
from pages.parts.own_decision import demand_and_capital, offer_capital
from pages.parts.own_details import show_details
from pages.parts.own_price import offer
from pages.parts.percent import refuse_fractions
from pages.parts.pictures import picture
from pages.parts.scenario_bar import scenario_bar
from pages.parts.scenario_compare import show_comparison
from pages.parts.share import share_bar
from pages.parts.state import current
from pages.parts.tables import show_table

TITLE = "Rent or own"
LIFE, HORIZON = 4.0, 36
OPTIONS = (
    "label", "usd_per_useful_gpu_h", "low_usd", "high_usd", "cheapest_frac", "total_usd", "saves_usd",
    "fleet_gpus", "busy_frac", "burst_usd", "missing",
)  # fmt: skip
EVEN = (
    "label", "own_usd_per_gpu_h", "rent_usd_per_gpu_h", "break_even_path_frac", "low", "high",
    "break_even_frac", "expected_frac", "months", "verdict",
)  # fmt: skip
SERVICES = (
    "run", "offer", "comparable", "why_not", "basis", "tuning", "usd", "usd_low", "usd_high", "ratio_to_run",
    "breakeven_usd_per_gpu_h", "breakeven_tok_per_gpu_h", "failed_jobs_billed",
    "as_of", "conditions", "status", "source", "prefill_usd", "sample_usd", "train_usd",
)  # fmt: skip
LABELS = {
    "label": "Option",
    "usd_per_useful_gpu_h": "Useful GPU-hour (USD)",
    "low_usd": "p10 (USD)",
    "high_usd": "p90 (USD)",
    "cheapest_frac": "Cheapest in draws (%)",
    "total_usd": "Present value (USD)",
    "saves_usd": "Saved against on demand (USD)",
    "fleet_gpus": "GPUs held",
    "busy_frac": "Of them busy (%)",
    "burst_usd": "Of it on demand (USD)",
    "missing": "Why no cost",
    "own_usd_per_gpu_h": "Owned GPU-hour, busy or not (USD)",
    "rent_usd_per_gpu_h": "Rented GPU-hour (USD)",
    "break_even_frac": "Break-even use at today's prices (%)",
    "low": "Low",
    "high": "High",
    "break_even_path_frac": "Break-even use over the price path (%)",
    "expected_frac": "Your use (%)",
    "months": "Months to pay back",
    "verdict": "A GPU-hour for a GPU-hour",
    "status": "Badge",
    "offer": "Offer",
    "ratio_to_run": "Against the run (x)",
    "breakeven_usd_per_gpu_h": "Equal at USD a GPU-hour",
    "breakeven_tok_per_gpu_h": "Equal at tokens a GPU-hour",
    "comparable": "Comparable",
    "why_not": "Why not",
    "failed_jobs_billed": "Failed jobs billed",
    "as_of": "Date",
    "prefill_usd": "Prompt (USD)",
    "sample_usd": "Sampled (USD)",
    "train_usd": "Trained (USD)",
}


def decision(platforms: dict[str, str]) -> dict[str, Any]:
    """The questions that nobody else can answer, first."""
    asked = demand_and_capital(platforms)
    life = st.slider("Life of the hardware (years)", 1.0, 8.0, LIFE, 0.5, key="own_life", bind="query-params")
    months = st.slider("Horizon (months)", 6, 96, HORIZON, 6, key="own_months", bind="query-params")
    asked["horizon_months"] = int(months)
    return asked | ({"life_years": life} if life != LIFE else {})


def show_options(result: Result) -> None:
    """Costs by option first; what is behind them in tabs."""
    mode = state.theme
    show_chart(picture(charts.options, result, mode), key="own_options")
    behind = st.tabs(["By use", "What moves it", "Present value", "Owned GPU-hour", "Demand"])
    with behind[0]:
        show_chart(picture(charts.crossing, result, mode), key="own_crossing")
    with behind[1]:
        show_chart(picture(charts.tornado, result, mode), key="own_tornado")
    with behind[2]:
        show_chart(picture(charts.npv, result, mode), key="own_npv")
    with behind[3]:
        show_chart(picture(own_charts.parts, result, mode), key="own_parts")
        show_chart(picture(own_charts.by_life, result, mode), key="own_by_life")
        offer(state.store, result, str(result.tables["bought"].iloc[0]["platform"]))
    with behind[4]:
        show_chart(picture(charts.duration, result, mode), key="own_duration")


state = current()
with state.view() as view:
    names = {p.platform_id: p.name for p in view.catalogue.platforms() if p.kind != "cpu"}
head = st.container()
with st.container(key="planner_tenure"):
    left, right = st.columns([1, 2.2], gap="large")
with left:
    refuse_fractions("own_")
    asked = decision(names)
    published = compute_or_stop("tenure", {"buy": asked["buy"]})
    asked |= show_details(published.tables["settings"])
result = compute_beside("tenure", asked, head, TITLE, right)
owned = not result.tables["options"].empty
with head:
    place = show_title(TITLE, synthetic=is_synthetic(result), bar=False)
    show_answer(result)
with right:
    if not owned and "cost of capital" in result.answer:
        offer_capital()
    else:
        show_figures(result)
    show_warnings(result)
    if owned:
        show_options(result)
    else:
        show_chart(picture(charts.duration, result, state.theme), key="own_duration")
results = [result]
compared = scenario_bar(state, "tenure.py", [result]) if owned else None
if compared is not None:
    show_comparison(compared, state.theme)
    results.append(compared)
with place:
    share_bar(results, TITLE)
show_table(result, "options", title="Options", columns=OPTIONS, labels=LABELS)
show_table(result, "break_even", title="Break-even", columns=EVEN, labels=LABELS, percent=("low", "high"))
with st.expander("Every setting, and owning costs that others published", icon=":material/tune:"):
    show_table(result, "published", title="Owning costs that others published", labels=LABELS)
    controls.show_settings(result)
st.subheader("Hosted services instead of GPUs", anchor=False)
services = compute_or_stop("services")
show_answer(services)
if not services.tables["runs"].empty:
    show_chart(picture(service_charts.side_by_side, services, state.theme), key="own_services")
    show_warnings(services)
    first = services.tables["side_by_side"].sort_values("comparable", ascending=False, kind="stable")
    show_table(
        replace(services, tables={**services.tables, "side_by_side": first}),
        "side_by_side",
        title="Each run and what services would bill",
        columns=SERVICES,
        labels=LABELS,
        optional=("basis", "tuning", "usd_low", "usd_high", "breakeven_tok_per_gpu_h", "prefill_usd"),
    )
with st.expander(
    "All prices and billing rules of services", icon=":material/list:", key="own_service_prices"
):
    show_table(services, "prices", title="Prices of hosted training services", labels=LABELS)
show_how([*results, services], key="tenure")
