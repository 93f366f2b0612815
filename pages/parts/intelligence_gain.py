"""The verdict first: better, worse or cannot tell by benchmark, the forest plot, and gain per dollar."""

import streamlit as st

from analysis.formulas import FORMULAS
from analysis.result import Result
from charts import gain as charts
from pages.parts.choose import segments
from pages.parts.compute import compute_or_stop
from pages.parts.download import show_chart
from pages.parts.intelligence_controls import Asked, shares_of_tasks
from pages.parts.pictures import picture
from pages.parts.tables import show_table
from pages.parts.verdicts import show_verdicts
from pages.parts.words import md_escape

RATES = {
    "points_per_1000_usd": ("Points per $1k", "gain_per_usd"),
    "nats_per_1000_usd": ("Log-odds per $1k", "odds_per_usd"),
    "points_per_mwh": ("Points per MWh", "gain_per_energy"),
}
"""Column of the rates: name on the button, formula."""
COMPARISON = (
    "run", "benchmark", "verdict", "before", "before_label", "before_score", "after", "after_score", "gain",
    "low", "high", "n", "mdd", "n_clusters", "effective_clusters", "method", "won", "lost", "reason",
    "error_cut", "odds", "seen_gain", "inflation", "usd", "usd_per_point", "usd_per_point_low",
    "usd_per_point_high", "metric", "k", "n_source",
)  # fmt: skip
LABELS = {
    "low": "Gain, low (points)",
    "high": "Gain, high (points)",
    "mdd": "Smallest detectable (points)",
    "effective_clusters": "Weigh as equal clusters",
    "error_cut": "Errors cut",
    "odds": "Log-odds gain (nats)",
    "seen_gain": "Gain as seen, before correction (points)",
    "inflation": "Lowered for the choice (points)",
}
RATE_COLUMNS = (
    "run", "benchmark", "verdict", "points_per_1000_usd", "points_per_1000_usd_low",
    "points_per_1000_usd_high", "nats_per_1000_usd", "nats_per_1000_usd_low", "nats_per_1000_usd_high",
    "points_per_mwh", "points_per_mwh_low", "points_per_mwh_high", "n", "boundary", "price_date", "formulas",
    "reason",
)  # fmt: skip
RATE_LABELS = {
    f"{name}{end}": f"{label}{words}"
    for name, (label, _) in RATES.items()
    for end, words in (("", ""), ("_low", ", low"), ("_high", ", high"))
} | {"price_date": "Price of", "formulas": "Formulas"}
WEIGHTED = ("run", "name", "verdict", "gain", "low", "high", "n", "points_per_1000_usd", "reason")


def show(asked: Asked) -> list[Result]:
    """Draw verdicts, forest plot and gain per dollar or energy."""
    place = st.container()
    rate = segments("in_rate", "Per", list(RATES), "points_per_1000_usd", lambda name: RATES[name][0])
    gain = compute_or_stop("gain", {**asked.gain, "rate": rate})
    with place:
        show_verdicts(gain.tables["verdicts"])
        show_chart(picture(charts.forest, gain, asked.theme), key="intelligence-forest")
    formula = FORMULAS[RATES[rate][1]]
    st.caption(md_escape(f"{formula.name}: {formula.formula}. {formula.interval}."))
    show_chart(picture(charts.rates, gain, asked.theme), key="intelligence-rates")
    if not gain.tables["weighted"].empty:
        show_table(gain, "weighted", title="Weighted gain by run", columns=WEIGHTED, labels=RATE_LABELS)
    return [gain]


def show_numbers(gain: Result) -> None:
    """Draw the tables behind the forest plots."""
    show_table(
        gain,
        "gains",
        title="Comparisons, with the refused ones and why",
        columns=COMPARISON,
        percent=(
            *shares_of_tasks(gain.tables["gains"], "unit", "points", ("before_score", "after_score")),
            "error_cut",
        ),
        labels=LABELS,
        optional=("n_clusters", "effective_clusters", "seen_gain", "inflation", "odds", "error_cut"),
    )
    show_table(
        gain, "rates", title="Gain per dollar and energy", columns=RATE_COLUMNS, labels=RATE_LABELS,
        optional=("points_per_mwh", "points_per_mwh_low", "points_per_mwh_high", "reason"),
    )  # fmt: skip
