"""A run on other platforms: charts, details by choice, tables; and what to do where none can be projected."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from analysis.frames import records
from analysis.result import Result
from charts import projection as charts
from charts import projection_bars as bars
from charts import projection_breakeven as even
from charts import projection_drivers as drivers
from charts.projection_style import phase_name
from charts.theme import Mode
from pages.parts.choose import dropdown, segments
from pages.parts.download import show_chart
from pages.parts.empty import show_empty
from pages.parts.generation_calibration import show_calibration
from pages.parts.pictures import picture
from pages.parts.state import PageState, go_to
from pages.parts.tables import show_table
from pages.parts.words import md_escape

DOLLARS = (
    "Dollars are by the GPU-hour of the GPUs named, not rounded up to whole nodes or racks; a count of racks "
    "is rounded up. Low and high are p10 and p90 of the phases; where the rule for whole steps disagrees, "
    "they reach to its far end. So dollars a point of the run have p10 to p90 here and their wider 95 % "
    "interval on Overview. GPUs for the same step time: fewer engines take bigger batches, which lengthen a "
    "decode step by the bytes and FLOP that they add alone, so rollouts grow less than in proportion."
)
HOW_WRONG = "How wrong has this model been?"
NOTHING = {"empty_home", "no_runs", "no_match"}
SECTIONS = ("Dollars", "GPUs and rates", "Break-even slope", "What drives it", "Calibration")
PLATFORMS = (
    "platform", "kind", "basis", "gpus", "racks", "step_s", "step_s_low", "step_s_high", "speedup",
    "tokens_per_s_per_gpu", "usd_per_gpu_h", "usd_per_step", "usd_per_step_low", "usd_per_step_high",
    "usd_per_rollout", "usd_per_point", "gpus_same_cycle", "verdict", "missing", "price_id",
)  # fmt: skip
EVEN = (
    "platform", "usd_per_gpu_h", "usd_per_gpu_h_low", "usd_per_gpu_h_high", "quote_usd_per_gpu_h",
    "quote_label", "verdict", "words",
    "quote_source", "quote_price_id",
)  # fmt: skip
LABELS = {
    "kind": "How known",
    "basis": "Basis",
    "gpus": "GPUs",
    "step_s": "Step, p50 (s)",
    "step_s_low": "Low (s)",
    "step_s_high": "High (s)",
    "speedup": "As fast (x)",
    "tokens_per_s_per_gpu": "Tokens/s/GPU",
    "usd_per_gpu_h": "USD a GPU-hour",
    "usd_per_step": "USD a step",
    "usd_per_step_low": "USD a step, low",
    "usd_per_step_high": "USD a step, high",
    "usd_per_rollout": "USD a rollout",
    "usd_per_point": "USD a point",
    "gpus_same_cycle": "GPUs for the same step time",
    "verdict": "Verdict",
    "price_id": "Price",
    "quote_usd_per_gpu_h": "Quote (USD a GPU-hour)",
    "quote_label": "Quote of",
    "words": "In words",
    "quote_source": "Source of the quote",
    "quote_price_id": "Price row",
    "usd_per_gpu_h_low": "Low",
    "usd_per_gpu_h_high": "High",
}
BASIS = {"left-out platforms": "no published pair: errors on platforms left out"}
EVEN_LABELS = LABELS | {"usd_per_gpu_h": "Break-even, p50 (USD a GPU-hour)"}


def can_be_shown(result: Result) -> bool:
    """Whether a run could be projected at all."""
    return not result.tables["platforms"].empty


def show_lacking(state: PageState, result: Result) -> None:
    """Say what is missing and offer the clicks that supply it."""
    if any(notice.code in NOTHING for notice in result.warnings):
        show_empty(state.store, result.answer, "projection")
        return
    with st.container(border=True, key="lacking_projection"):
        st.markdown("**No run can be projected yet**")
        st.markdown(md_escape(result.answer))
        with st.container(horizontal=True):
            if st.button("Fill in run details", key="fill_projection", icon=":material/edit_note:"):
                st.session_state["open_tab"] = "Run details"
                go_to("telemetry.py")
            st.page_link("telemetry.py", label="Upload a file", icon=":material/upload_file:")
    if not result.tables["calibration"].empty:
        show_calibration(result)


def show_main(result: Result, mode: Mode) -> None:
    """Draw the two charts that carry the answer side by side: seconds by phase, and the break-even price."""
    left, right = st.columns(2, gap="large")
    with left:
        show_chart(picture(charts.by_phase, result, mode), key="projection_phases")
    with right:
        show_chart(picture(even.breakeven, result, mode), key="projection_breakeven")


def show_details(result: Result, mode: Mode) -> None:
    """Draw the section that is picked, and no other."""
    section = segments("pr_show", "Details", SECTIONS, SECTIONS[0], str)
    if section == "Dollars":
        _pair(
            picture(bars.dollars, result, mode), picture(bars.per_point, result, mode), "dollars", "per_point"
        )
    elif section == "GPUs and rates":
        _pair(picture(bars.gpus, result, mode), picture(bars.rates, result, mode), "gpus", "rates")
    elif section == "Calibration":
        show_calibration(result)
    else:
        draw: Callable[..., go.Figure] = even.slope if section == "Break-even slope" else drivers.drivers
        show_chart(picture(draw, result, mode, looked_at(result)), key=f"projection_{draw.__name__}")


def _pair(left: go.Figure, right: go.Figure, *names: str) -> None:
    for place, fig, name in zip(st.columns(2, gap="large"), (left, right), names, strict=True):
        with place:
            show_chart(fig, key=f"projection_{name}")


def looked_at(result: Result) -> str:
    """Draw the choice of one projected platform; returns its target, '' where there is none."""
    rows = [r for r in records(result.tables["platforms"]) if r["kind"] != "measured"]
    rows = [r for r in rows if r["step_s"] == r["step_s"]]
    if not rows:
        return ""
    names = {str(r["target"]): str(r["platform"]) for r in rows}
    return dropdown("pr_look", "Closer look at", list(names), list(names)[-1], names.__getitem__)


def show_tables(result: Result) -> None:
    """Draw the numbers behind the charts."""
    said = worded(result)
    show_table(
        said, "platforms", title="Platforms", columns=PLATFORMS, labels=LABELS,
        optional=("usd_per_point", "racks", "missing", "verdict", "usd_per_rollout"),
    )  # fmt: skip
    show_table(
        said, "breakeven", title="Break-even price and quotes", columns=EVEN, labels=EVEN_LABELS,
        blank={"quote_label": "no quote of this kind"}, optional=("words", "quote_price_id"),
    )  # fmt: skip


def worded(result: Result) -> Result:
    """Return the result with phases and platforms by name in its tables."""
    names = {str(r["target"]): str(r["platform"]) for r in records(result.tables["platforms"])}
    return replace(result, tables={n: _worded(f, names) for n, f in result.tables.items()})


def _worded(frame: pd.DataFrame, names: dict[str, str]) -> pd.DataFrame:
    changed: dict[str, Any] = {}
    if "basis" in frame.columns:
        changed["basis"] = [BASIS.get(str(b), b) for b in frame["basis"]]
    if "phase" in frame.columns:
        changed["phase"] = [phase_name(str(p)) for p in frame["phase"]]
    if "target" in frame.columns:
        changed["target"] = [names.get(str(t), t) for t in frame["target"]]
    return frame.assign(**changed)
