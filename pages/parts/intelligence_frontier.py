"""The front of cost and score, how sure it is, and two runs at equal dollars and at equal score."""

from typing import Any

import streamlit as st

from analysis.result import Result
from charts import buckets as bucket_charts
from charts import frontier as charts
from pages.parts.answer import flowing
from pages.parts.choose import segments
from pages.parts.compute import compute_or_stop
from pages.parts.download import show_chart
from pages.parts.generation_address import number, several
from pages.parts.intelligence_controls import Asked
from pages.parts.notices import show_warnings
from pages.parts.pictures import picture
from pages.parts.tables import show_table
from pages.parts.words import md_escape

AFTER = {"last": "Last checkpoint", "best": "Best checkpoint", "all": "Every checkpoint"}
BY = {"run": "Run", "llm": "Model", "generation": "Platform", "mode": "Mode"}
CANDIDATES = (
    "run", "checkpoint", "benchmark", "llm", "generation", "mode", "usd", "usd_low", "usd_high", "score",
    "low", "high", "n", "on_front", "front_frac", "best_frac", "within_frac", "beaten_by", "beaten_frac",
)  # fmt: skip
LABELS = {
    "llm": "Model",
    "generation": "Platform",
    "low": "Score, low",
    "high": "Score, high",
    "on_front": "On the front",
    "front_frac": "Probability on the front",
    "best_frac": "Probability best",
    "within_frac": "Probability best within the budget",
    "beaten_by": "Beaten most often by",
    "beaten_frac": "Probability of that",
    "group": "Group",
    "runs": "Runs",
}
VERSUS = (
    "question", "verdict", "words", "at_usd", "at_score", "points", "points_low", "points_high", "usd_more",
    "usd_more_low", "usd_more_high", "a_above_frac", "known_frac",
    "a", "b",
)  # fmt: skip
VERSUS_LABELS = {
    "at_usd": "At dollars (USD)",
    "at_score": "At score",
    "points": "First - second (points)",
    "usd_more": "First - second (USD)",
    "a_above_frac": "Probability that the first is above",
    "known_frac": "Measured in draws",
    "words": "In words",
    "a": "First",
    "b": "Second",
}


def show(asked: Asked) -> list[Result]:
    """Draw the front with its levers, two runs side by side, and dollars by bucket."""
    st.subheader("Cost and score", anchor=False)
    front = compute_or_stop("frontier", {"benchmark": asked.benchmark, **_levers(asked)})
    st.markdown(md_escape(flowing(front.answer)))
    show_warnings(front)
    left, right = st.columns([3, 2], gap="large")
    with left:
        show_chart(picture(charts.pareto, front, asked.theme), key="intelligence-pareto")
    with right:
        show_chart(picture(charts.probabilities, front, asked.theme), key="intelligence-probabilities")
    if not front.tables["versus"].empty:
        show_table(
            front, "versus", title="Two runs at equal dollars and at equal score", columns=VERSUS,
            percent=("at_score",), labels=VERSUS_LABELS,
        )  # fmt: skip
    buckets = compute_or_stop("buckets")
    st.markdown(md_escape(flowing(buckets.answer)))
    show_chart(picture(bucket_charts.buckets, buckets, asked.theme), key="intelligence-buckets")
    return [front, buckets]


def _levers(asked: Asked) -> dict[str, Any]:
    """Draw the levers of the front; values left alone are not asked for."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        after = segments("in_front", "Candidates", list(AFTER), "last", AFTER.__getitem__)
        by = segments("in_by", "Colour by", list(BY), "run", BY.__getitem__)
        found: dict[str, Any] = {
            "budget_usd": number(
                "Budget (USD)", "in_budget", 0.01, 1e12, what="a budget", instead="none", step=1000.0,
                placeholder="none",
            ),
            "at_usd": number(
                "Compare two runs at (USD)", "in_at_usd", 0.01, 1e12, what="a spend",
                instead="what both reached", step=1000.0, placeholder="what both reached",
            ),
        }  # fmt: skip
        percent = number(
            "Compare two runs at score (%)", "in_at_score_pct", 0.1, 99.9, what="a score",
            instead="what both reached", step=1.0, placeholder="what both reached",
        )  # fmt: skip
    found["at_score"] = None if percent is None else percent / 100
    pair = several(
        "Two runs to compare", "in_versus", {run: run for run in asked.runs}, noun="run", most=2,
        instead="a synchronous and another one", placeholder="a synchronous and another one",
    )  # fmt: skip
    found |= dict(zip("ab", pair, strict=False))
    return {"after": after, "by": by, **{name: v for name, v in found.items() if v is not None}}


def show_numbers(front: Result) -> None:
    """Draw the candidates behind the front."""
    show_table(
        front, "candidates", title="Candidates, with their chances of being on the front and best",
        columns=CANDIDATES, labels=LABELS, percent=("score", "low", "high"),
        optional=("llm", "mode", "within_frac", "beaten_by", "beaten_frac"),
    )  # fmt: skip
