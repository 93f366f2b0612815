"""Published RL runs by platform generation, the user's own laid over them: the second part of the page."""

from typing import Any

import streamlit as st

from analysis import generations as question
from analysis.result import Result
from charts import generations as charts
from pages.parts.answer import show_answer
from pages.parts.choose import dropdown
from pages.parts.compute import compute_or_stop
from pages.parts.download import csv_button, show_chart
from pages.parts.figures import show_figures
from pages.parts.notices import show_warnings
from pages.parts.pictures import picture
from pages.parts.state import PageState
from pages.parts.tables import UNKNOWN, as_shown, column_config, show_table

METRIC = "tokens_per_s_per_gpu"
ALL_MODELS = "all models"
ALL_MODES = "all"
WIDE = ("tokens_per_s_per_gpu", "step_time_s")
REFERENCE = [
    "family",
    "platform",
    "model",
    "mode",
    "n_gpus",
    "precision",
    "seq_len_max",
    "tokens_per_s_per_gpu",
    "step_time_s",
    "usd_per_mtok",
    "usd_per_step",
    "usd_per_rollout",
    "framework",
    "framework_version",
    "algo",
    "badge",
    "usd_missing",
    "identity_ratio",
    "source",
    "note",
    "row_id",
]
RUNS = [
    "run",
    "family",
    "platform",
    "model",
    "mode",
    "n_gpus",
    "steps",
    "tokens_per_s_per_gpu",
    "step_time_s",
    "usd_per_mtok",
    "usd_per_step",
    "usd_per_rollout",
    "framework",
    "framework_version",
    "throughput_basis",
    "identity_ratio",
    "missing",
    "synthetic",
]
LABELS = {
    "n_gpus": "GPUs",
    "seq_len_max": "Longest sequence",
    "tokens_per_s_per_gpu": "Tokens/s/GPU",
    "step_time_s": "Step time (s)",
    "usd_per_mtok": "USD per million tokens",
    "usd_per_step": "USD a step",
    "usd_per_rollout": "USD a rollout",
    "framework_version": "Version",
    "algo": "Algorithm",
    "badge": "Basis",
    "usd_missing": "Why no dollars",
    "identity_ratio": "Token check (1 = exact)",
    "row_id": "Row",
    "ratio_b_over_a": "Newer / older",
    "throughput_basis": "Tokens counted",
    "missing": "Missing",
}


def filters(known: dict[str, list[str]]) -> tuple[dict[str, Any], str]:
    """Draw the filters; returns parameters of the question and the measure to draw."""
    tip = "Compare only inside one framework version: a release alone moves these numbers."
    modes = {ALL_MODES: "all modes", **question.MODE_WORDS}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        stack = dropdown(
            "gen_stack", "Framework and version", known["stack"], question.DEFAULT_STACK, tip=tip
        )
        model = dropdown("gen_model", "Model", [ALL_MODELS, *known["model"]], ALL_MODELS)
        mode = dropdown("gen_mode", "Mode", list(modes), ALL_MODES, modes.__getitem__)
        metric = dropdown("gen_metric", "Measure", list(charts.METRICS), METRIC, _title)
    asked = {
        "stack": stack,
        "model": "" if model == ALL_MODELS else model,
        "mode": "" if mode == ALL_MODES else mode,
    }
    return asked, metric


def _title(metric: str) -> str:
    return charts.METRICS[metric].title


def show_runs(found: Result, name: str, title: str, columns: list[str]) -> None:
    """Draw a table of runs; rates span five orders of magnitude, so their decimals follow each number."""
    frame = found.tables[name][columns]
    if frame.empty:
        return
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="bottom"):
        st.markdown(f"**{title}**", width="content")
        csv_button(frame, f"generations-{name}.csv", key=f"gen_csv_{name}")
    config = column_config(frame, LABELS)
    for wide in WIDE:
        config[wide] = st.column_config.NumberColumn(LABELS[wide], format="localized")
    digits3 = {wide: frame[wide].map(lambda v: float(f"{v:.3g}")) for wide in WIDE}
    st.dataframe(
        as_shown(frame.assign(**digits3)),
        hide_index=True,
        column_config=config,
        key=f"gen_table_{name}",
        placeholder=UNKNOWN,
        alt=f"Table: {title}",
    )


def published(state: PageState) -> Result:
    """Draw the section: filters, answer, dots, ratios, tables. Returns its result."""
    with state.view() as view:
        known = question.choices(view.catalogue)
    st.subheader("Published runs", anchor=False)
    place = st.container()
    asked, metric = filters(known)
    result = compute_or_stop("generations", asked)
    with place:
        show_answer(result)
    show_chart(picture(charts.dots, result, state.theme, metric), key="gen_dots")
    show_warnings(result)
    told = [f.name for f in result.headline if f.interval == "ci95"]
    if told:
        show_figures(result, told)
    pair_metric = metric if metric in charts.PAIR_METRICS else METRIC
    show_chart(picture(charts.ratios, result, state.theme, pair_metric), key="gen_ratios")
    if result.tables["runs"].empty:
        st.caption(
            "No timed run of yours matches these filters. Load a log on the Telemetry page to lay it over."
        )
    show_runs(result, "runs", "Your runs", RUNS)
    show_runs(result, "reference", "Published runs", REFERENCE)
    with st.expander("Pairs behind the ratios", icon=":material/compare_arrows:", key="gen_pairs"):
        show_table(result, "pairs", title="Like-for-like pairs", labels=LABELS)
        show_table(result, "blends", title="Means", labels=LABELS)
    return result
