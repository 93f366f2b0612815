"""The worked example: published scores of Nemotron 3 Ultra, an assumed cost, and what a stage bought."""

import streamlit as st

from analysis.nemotron_params import MOST_TASKS, STAGES
from analysis.result import Result
from charts import nemotron as charts
from pages.parts.answer import flowing
from pages.parts.choose import dropdown
from pages.parts.compute import compute_or_stop
from pages.parts.download import show_chart
from pages.parts.figures import show_figures
from pages.parts.generation_address import number, several
from pages.parts.intelligence_controls import Asked, typed
from pages.parts.notices import show_warnings
from pages.parts.open_ends import in_units
from pages.parts.pictures import picture
from pages.parts.tables import show_table
from pages.parts.words import md_escape

FIELDS = (
    ("step_minutes", "Minutes a step (assumed)", "nm_step_min", 0.1, 1440, 1.0, "7"),
    ("goodput", "Goodput (%, assumed)", "nm_goodput", 1, 100, 5.0, "75"),
    ("usd_per_gpu_h", "USD a GPU-hour (assumed)", "nm_gpu_h", 0.01, 1000, 0.25, "2.75"),
    ("campaign_usd", "Or the stages cost (USD)", "nm_stage_usd", 1, 1e12, 10_000.0, "worked out"),
    ("spread", "Price within a factor of", "nm_spread", 1, 10, 0.05, "1"),
    ("correlation", "Correlation of results", "nm_rho", -1, 1, 0.1, "0.5"),
)
GAINS = (
    "benchmark", "before_score", "after_score", "gain", "low", "high", "n", "n_source", "mdd", "per_10k",
    "per_10k_low", "per_10k_high", "log_odds", "error_cut_frac", "verdict",
)  # fmt: skip
TASKS = (
    "Without a number of tasks a benchmark has no interval. Offered are those whose number the published "
    "table does not print."
)
LABELS = {
    "low": "Gain, low (points)",
    "high": "Gain, high (points)",
    "per_10k": "Points per $10k",
    "per_10k_low": "95 %, low",
    "per_10k_high": "95 %, high",
    "log_odds": "Log-odds gained (nat)",
    "error_cut_frac": "Errors cut (%)",
    "n_source": "Tasks known from",
}


def show(asked: Asked) -> list[Result]:
    """Draw points per $10,000 by benchmark with the parts of the cost."""
    with st.container(horizontal=True, vertical_alignment="bottom", key="intelligence_example_stages"):
        before = dropdown("nm_stage0", "From", list(STAGES)[:-1], "sft", STAGES.__getitem__, width=160)
        after = dropdown("nm_stage1", "To", list(STAGES)[1:], "rlvr", STAGES.__getitem__, width=160)
    levers: dict[str, object] = {"before": before, "after": after}
    with st.container(horizontal=True, vertical_alignment="bottom", key="intelligence_example_cost"):
        levers |= typed(FIELDS, percents=("goodput",))
    levers["tasks"] = _tasks(before, after)
    found = compute_or_stop("nemotron", levers)
    st.markdown(md_escape(flowing(found.answer)))
    show_figures(found)
    show_warnings(found)
    show_chart(picture(charts.rates, found, asked.theme), key="intelligence-nemotron")
    show_table(
        found, "gains", title="What the stage bought", columns=GAINS, labels=LABELS,
        percent=("before_score", "after_score"), blank={"verdict": "number of tasks not published"},
    )  # fmt: skip
    show_table(
        in_units(found, "cost", ("value",)), "cost", title="The cost and what it rests on",
        columns=("part", "value", "status", "source"), labels={"part": "Part", "value": "Value"},
    )  # fmt: skip
    return [found]


def _tasks(before: str, after: str) -> list[str]:
    """Draw a number of tasks for each benchmark without a published one; returns the parameter `tasks`."""
    rows = compute_or_stop("nemotron", {"before": before, "after": after}).tables["gains"]
    open_ones = rows[rows["n_source"] != "catalogue"]
    names = dict(zip(open_ones["benchmark_id"], open_ones["benchmark"], strict=True))
    picked = several(
        "Numbers of tasks that you know", "nm_tasks", names, noun="benchmark", most=len(names),
        instead="none", placeholder="none: assumed numbers, or no interval", tip=TASKS,
    )  # fmt: skip
    out = []
    with st.container(horizontal=True, vertical_alignment="bottom"):
        for name in picked:
            held = number(
                f"Tasks of {names[name]}", f"nm_n_{name}", 2, MOST_TASKS, what="a number of tasks",
                instead="not known", step=1.0, placeholder="not known",
            )  # fmt: skip
            if held is not None:
                out.append(f"{name}:{int(held) if held.is_integer() else held}")
    return out
