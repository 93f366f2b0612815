"""What the next point costs: the fitted curve of one run, and the same curve on other platforms."""

from typing import Any

import streamlit as st

from analysis.result import Result
from charts import learning_curve as charts
from pages.parts.answer import flowing
from pages.parts.choose import dropdown, segments
from pages.parts.compute import compute_or_stop
from pages.parts.download import show_chart
from pages.parts.figures import show_figures
from pages.parts.generation_address import number, several
from pages.parts.intelligence_controls import Asked
from pages.parts.notices import show_warnings
from pages.parts.open_ends import in_units, open_ended
from pages.parts.pictures import picture
from pages.parts.state import platform_names
from pages.parts.tables import show_table
from pages.parts.words import md_escape

FIT_IN = {"auto": "Tokens or steps", "tokens": "Tokens", "steps": "Steps", "gpu_hours": "GPU-hours"}
WARM_UP = {"rule": "Left out by rule", "none": "Kept"}
MOST_SCORED = "the one with most evaluations"
TIPS = {
    "fit_in": "The amount that buys the score. Tokens or steps: tokens where they are logged, else steps.",
    "worth": "What a point is worth to you. The stop line lies where the marginal point costs more.",
    "target": "Empty: one point above the curve at its last evaluation.",
}

FIT_LABELS = {"value": "Value", "words": "Meaning", "low": "95 %, low", "high": "95 %, high"}
NO_END = "{} (– no upper end)"
TARGET_LABELS = {
    "score": "Target",
    "usd_high": NO_END.format("USD, high"),
    "amount": "Amount to reach it",
    "amount_high": NO_END.format("Amount, high"),
    "reachable_frac": "Reached in draws (%)",
    "beyond": "Times the last amount seen",
    "held_usd": "First seen and held at (USD)",
    "words": "In words",
}
PLATFORMS = (
    "platform", "kind", "gpus", "usd_per_gpu_h", "usd", "usd_low", "usd_high", "cheaper_frac", "verdict",
    "hours", "hours_low", "hours_high", "usd_per_point", "usd_per_point_low", "usd_per_point_high", "missing",
)  # fmt: skip
PLATFORM_LABELS = {
    "kind": "How known",
    "usd_high": NO_END.format("USD, high"),
    "hours_high": NO_END.format("Hours, high"),
    "usd": "USD to the target",
    "hours": "Hours to the target",
    "usd_per_point": "USD of the next point",
    "cheaper_frac": "Probability cheaper (%)",
}


def show_curve(asked: Asked) -> list[Result]:
    """Draw the curve of one run with target and budget, and the marginal point with the stop line."""
    levers = _shared(asked) | _money()
    levers["x"] = st.session_state.get("in_x") or "usd"
    found = compute_or_stop("learning_curve", levers)
    st.markdown(md_escape(flowing(found.answer)))
    if found.tables["band"].empty:  # the answer says why there is no curve
        show_warnings(found)
        return [found]
    show_figures(found)
    show_warnings(found)
    show_chart(picture(charts.fitted, found, asked.theme), key=f"intelligence-fitted-{levers['x']}")
    show_chart(picture(charts.marginal, found, asked.theme), key="intelligence-marginal")
    show_table(open_ended(found), "targets", title="The target", labels=TARGET_LABELS, percent=("score",))
    show_table(
        in_units(found, "fits", ("value", "low", "high")),
        "fits",
        title="The fitted curve",
        columns=("words", "value", "low", "high"),
        labels=FIT_LABELS,
    )
    show_table(found, "rivals", title="Other shapes on held-out evaluations")
    return [found]


def show_platforms(asked: Asked) -> list[Result]:
    """Draw the same curve re-priced on other platforms."""
    names = platform_names()
    levers = _shared(asked)
    with st.container(horizontal=True, vertical_alignment="bottom", key="intelligence_platform_levers"):
        levers["target"] = _target()
        levers["targets"] = several(
            "Platforms", "lc_on", names, noun="platform", most=8, instead="the newer ones of the same maker",
            placeholder="Newer ones of the same maker",
        )  # fmt: skip
    with st.spinner("Projecting the run"):
        found = compute_or_stop("learning_platforms", levers)
    st.markdown(md_escape(flowing(found.answer)))
    show_warnings(found)
    show_chart(picture(charts.by_platform, found, asked.theme), key="intelligence-by-platform")
    show_chart(picture(charts.platform_costs, found, asked.theme), key="intelligence-platform-costs")
    show_table(
        open_ended(found), "platforms", title="The target by platform", columns=PLATFORMS,
        labels=PLATFORM_LABELS, optional=("missing",),
    )  # fmt: skip
    return [found]


def _shared(asked: Asked) -> dict[str, Any]:
    """Run, amount and warm-up of the fit."""
    runs = _runs()
    with st.container(horizontal=True, vertical_alignment="bottom", key="intelligence_curve_levers"):
        run = dropdown("lc_run", "Run", ["", *runs], "", lambda r: r or MOST_SCORED, width=260)
        fit_in = segments("lc_fit", "Fitted in", list(FIT_IN), "auto", FIT_IN.__getitem__, TIPS["fit_in"])
        warm = segments("lc_warm", "Warm-up", list(WARM_UP), "rule", WARM_UP.__getitem__)
    return {"benchmark": asked.benchmark, "run": run, "fit_in": fit_in, "warm_up": warm}


def _runs() -> list[str]:
    """Runs of the sidebar that have a score."""
    scored = compute_or_stop("learning").tables["points"]
    return list(dict.fromkeys(str(r) for r in scored["run"])) if len(scored) else []


def _target() -> float | None:
    held = number(
        "Target score (%)", "lc_target", 0.1, 100, what="a target of", instead="one point more", step=1.0,
        placeholder="one point more", tip=TIPS["target"],
    )  # fmt: skip
    return None if held is None else held / 100


def _money() -> dict[str, Any]:
    """Target, budget and the worth of a point."""
    with st.container(horizontal=True, vertical_alignment="bottom", key="intelligence_money_levers"):
        target = _target()
        budget = number(
            "Budget in all (USD)", "lc_budget", 1, 1e12, what="a budget of", instead="twice the spend",
            step=1000.0, placeholder="twice the spend",
        )  # fmt: skip
        worth = number(
            "A point is worth (USD)", "lc_worth", 0.01, 1e12, what="a worth of", instead="no stop line",
            step=100.0, placeholder="no stop line", tip=TIPS["worth"],
        )  # fmt: skip
    return {"target": target, "budget_usd": budget, "worth_usd": worth}
