"""Commitments on the page: the mix with the lowest expected cost, its risk, one more unit, and regret."""

from typing import Any

from analysis.commitments import CommitmentsParams
from analysis.result import Result
from charts import commitments as charts
from charts.theme import Mode
from charts.tornado import tornado
from pages.parts.choose import segments
from pages.parts.compute import compute_or_stop
from pages.parts.download import show_chart
from pages.parts.figures import show_other
from pages.parts.forecast_controls import commitment_inputs
from pages.parts.own_decision import offer_capital
from pages.parts.own_details import show_details
from pages.parts.pictures import picture
from pages.parts.state import PageState
from pages.parts.tables import show_table

BEHIND = ("Regret", "Each unit", "Demand", "What moves it")
LABELS = {
    "part": "Part",
    "label": "What",
    "units": "Units",
    "gpus": "GPUs",
    "usd": "Expected (USD)",
    "gpu_h_frac": "Of the GPU-hours (%)",
    "note": "Note",
    "own_units": "Owned units",
    "reserved_3y_gpus": "3-year reserved GPUs",
    "reserved_1y_gpus": "1-year reserved GPUs",
    "expected_usd": "Expected (USD)",
    "p10_usd": "p10 (USD)",
    "p90_usd": "p90 (USD)",
    "worst_usd": "Expected in the worst world (USD)",
    "worst_tenth_usd": "Mean of the worst tenth (USD)",
    "regret_usd": "Regret (USD)",
    "regret_frac": "Regret (%)",
    "missing": "Why no cost",
    "prob_frac": "Likely (%)",
    "cost_usd": "This mix (USD)",
    "best_usd": "Best in hindsight (USD)",
    "best_mix": "Best mix in hindsight",
    "later_1y": "1-year reservations added later",
}
HIDDEN = frozenset({"option", "world", "case", "part"})


def asked_of(state: PageState) -> dict[str, Any]:
    """Draw the inputs; returns the parameters of the question."""
    with state.view() as view:
        names = {p.platform_id: p.name for p in view.catalogue.platforms() if p.kind != "cpu"}
    asked = commitment_inputs(names, CommitmentsParams().model_dump())
    published = compute_or_stop("commitments", {"buy": asked["buy"]})
    return asked | show_details(published.tables["settings"], lease=False)


def show(result: Result, mode: Mode) -> None:
    """Draw the mixes, and the section that is picked behind them."""
    if any("cost of capital" in (one.missing or "") for one in result.headline):
        offer_capital()
    show_chart(picture(charts.options, result, mode), key="commitments_options")
    show_other(result)
    section = segments("cm_show", "Behind it", BEHIND, BEHIND[0], str)
    draws = {
        "Regret": charts.regret,
        "Each unit": charts.racks,
        "Demand": charts.demand,
        "What moves it": tornado,
    }
    drawn = draws[section]
    show_chart(picture(drawn, result, mode), key=f"commitments_{drawn.__name__}")


def show_tables(result: Result) -> None:
    """Draw the mix, the options beside it, and the worlds."""
    for name, title in (
        ("mix", "The mix"),
        ("options", "Mixes side by side"),
        ("regret", "If it comes otherwise"),
        ("worlds", "Worlds"),
    ):
        frame = result.tables[name]
        columns = [c for c in frame.columns if c not in HIDDEN]
        show_table(result, name, title=title, columns=columns, labels=LABELS, optional=("missing", "note"))
