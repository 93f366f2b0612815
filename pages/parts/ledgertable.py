"""The ledger on screen: a row a run, columns chosen by the reader, a filter, selected rows side by side."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from charts import theme
from charts.blocks import score_scale
from charts.text import short_number
from pages.parts.download import csv_button
from pages.parts.state import note, platform_names, settle
from pages.parts.tables import UNKNOWN, as_shown, column_config, table_height
from pages.parts.urlcheck import UrlNotice, quote
from pages.parts.words import column_label, md_escape

DEFAULT = (
    "run", "synthetic", "status", "platforms", "gpu_hours", "usd", "basis", "phase_bar", "score_line",
    "last_benchmark", "last_score", "last_points", "gain", "gain_units", "usd_per_point", "steps", "rollouts",
    "usd_per_rollout", "goodput_frac", "warnings",
)  # fmt: skip
STATUS_COLOURS = {
    "completed": "#35A47C",
    "running": "#4E8FD6",
    "failed": "#D9663A",
    "cancelled": "#9A8060",
    "unknown": "#8A919C",
}
LABELS = {
    "run": "Run",
    "gpu_hours": "GPU-hours",
    "usd": "Spend (USD)",
    "basis": "Paid as",
    "usd_low": "Spend, low quote (USD)",
    "usd_high": "Spend, high quote (USD)",
    "phase_bar": "$ by phase",
    "usd_per_rollout": "USD per rollout",
    "last_benchmark": "Benchmark",
    "last_score": "Last score (%)",
    "last_points": "Last score (as logged)",
    "last_score_n": "Tasks of last score",
    "score_line": "Score against $",
    "gain": "Gain (points)",
    "gain_units": "Gain (score units)",
    "gain_low": "Gain, low (points)",
    "gain_high": "Gain, high (points)",
    "usd_per_point": "USD per point",
    "usd_per_point_low": "USD per point, low",
    "usd_per_point_high": "USD per point, high",
    "goodput_frac": "Goodput (%)",
    "lineage_frac": "Kept work (%)",
    "lost_usd": "Lost work (USD)",
    "llm": "LLM",
    "warnings": "Warnings",
    "synthetic": "Data",
}
SYNTHETIC_COLOUR = "#7A5BD0"
HIDDEN = {"usd_by_phase", "scores", "last_kind"}
COLUMNS_KEY, FILTER_KEY = "ov_columns", "ov_filter"
TRACE_POINTS = 40


def prepare(ledger: pd.DataFrame, scores: pd.DataFrame) -> pd.DataFrame:
    """Return the ledger as drawn: dollars by phase in one order for all rows, scores evenly over dollars."""
    out = ledger.copy()
    phases = theme.ordered_phases({p["phase"] for row in out["usd_by_phase"] for p in row})
    out["phase_bar"] = [_bar(row, phases) for row in out["usd_by_phase"]]
    lines = {run: _even(part) for run, part in scores.groupby("run")} if len(scores) else {}
    out["score_line"] = [lines.get(run, []) for run in out["run"]]
    out = _by_kind(out)
    names = platform_names()
    out["platforms"] = [", ".join(names.get(p, p) for p in held) for held in out["platforms"]]
    out["warnings"] = [[f"{n} to read"] if n else [] for n in out["warnings"]]
    out["status"] = [[s] for s in out["status"]]
    if "synthetic" in out.columns:
        if not out["synthetic"].any():
            return out.drop(columns=[c for c in (*HIDDEN, "synthetic") if c in out.columns])
        out["synthetic"] = [["synthetic"] if made_up else [] for made_up in out["synthetic"]]
    return out.drop(columns=[c for c in HIDDEN if c in out.columns])


def _by_kind(ledger: pd.DataFrame) -> pd.DataFrame:
    """Scores that are shares of tasks in percent; rewards and other points as logged, apart."""
    if "last_kind" not in ledger.columns:
        return ledger.assign(last_score=100 * ledger["last_score"].astype("float64"))
    share = ledger["last_kind"] == "fraction"
    for name, other, scale in (("last_score", "last_points", 100), ("gain", "gain_units", 1)):
        values = ledger[name].astype("float64")
        ledger[name] = scale * values.where(share)
        if values[~share].notna().any():
            ledger.insert(ledger.columns.get_loc(name) + 1, other, values.mask(share))
    return ledger


def phase_order(ledger: pd.DataFrame) -> list[str]:
    """Return the phases behind the bars of `prepare`, left to right."""
    return theme.ordered_phases({p["phase"] for row in ledger["usd_by_phase"] for p in row})


def _bar(rows: Sequence[dict[str, Any]], phases: Sequence[str]) -> list[float | None]:
    usd = {row["phase"]: row["usd"] for row in rows}
    return [None if pd.isna(usd.get(p)) else float(usd[p]) for p in phases]


def _drawn(bar: Sequence[float | None]) -> list[float]:
    """A bar as the table draws it: a phase that a run does not tell keeps its place and has no height."""
    return [v or 0.0 for v in bar] if any(v is not None for v in bar) else []


def with_phase_columns(frame: pd.DataFrame, phases: Sequence[str]) -> pd.DataFrame:
    """Return the ledger for a file: a column of dollars a phase, empty where a run does not tell it."""
    if "phase_bar" not in frame.columns:
        return frame
    place = list(frame.columns).index("phase_bar")
    names = [f"usd_{p}" for p in phases]
    bars = pd.DataFrame(list(frame["phase_bar"]), columns=names, index=frame.index).astype("float64")
    rest = frame.drop(columns="phase_bar")
    return pd.concat([rest.iloc[:, :place], bars, rest.iloc[:, place:]], axis=1)


def _even(part: pd.DataFrame) -> list[float]:
    """Score at evenly spaced dollars, the last known score held: a sparkline has no x axis.

    In percent where all are shares of tasks, else as logged.
    """
    data = part.dropna(subset=["x", "score"]).sort_values("x", kind="stable")
    scale = score_scale(data)
    if len(data) < 2:
        return [scale * float(v) for v in data["score"]]
    ends = float(data["x"].iloc[0]), float(data["x"].iloc[-1])
    at = pd.Series([ends[0] + (ends[1] - ends[0]) * i / (TRACE_POINTS - 1) for i in range(TRACE_POINTS)])
    place = data["x"].searchsorted(at, side="right") - 1
    return [scale * float(v) for v in data["score"].iloc[place.clip(min=0)]]


def controls(columns: Sequence[str]) -> tuple[str, list[str]]:
    """Draw filter and column picker; return the filter text and the chosen columns in ledger order."""
    _check_columns(columns)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        text = st.text_input(
            "Filter",
            key=FILTER_KEY,
            bind="query-params",
            placeholder="Run, campaign, platform, status or model",
            on_change=settle,
            args=(FILTER_KEY,),
            width=340,
        )
        with st.popover("Columns", icon=":material/view_column:"):
            chosen = st.pills(
                "Columns shown",
                list(columns),
                default=[c for c in DEFAULT if c in columns],
                selection_mode="multi",
                format_func=_column_name,
                key=COLUMNS_KEY,
                bind="query-params",
                on_change=settle,
                args=(COLUMNS_KEY,),
            )
    order = [*[c for c in DEFAULT if c in columns], *[c for c in columns if c not in DEFAULT]]
    picked = set(chosen or DEFAULT) | {"run"}
    return text or "", [c for c in order if c in picked]


def _column_name(column: str) -> str:
    return LABELS.get(column, column_label(column))


def _check_columns(columns: Sequence[str]) -> None:
    known = {_column_name(c) for c in columns}
    lost = [c for c in dict.fromkeys(st.query_params.get_all(COLUMNS_KEY)) if c not in known]
    if lost:
        text = f"The address asks for column {quote(lost)}, which the ledger does not have; it is left out."
        note(UrlNotice(COLUMNS_KEY, text))


def matching(frame: pd.DataFrame, text: str) -> pd.DataFrame:
    """Keep rows any of whose words holds every word of the filter, whatever its case and hyphens."""
    columns = [
        c
        for c in ("run", "campaign", "platforms", "status", "llm", "mode", "algorithm")
        if c in frame.columns
    ]
    hay = frame[columns].fillna("").astype(str).agg(" ".join, axis=1).map(_plain)
    keep = pd.Series(True, index=frame.index)
    for word in text.split():
        keep &= hay.str.contains(_plain(word), regex=False)
    return frame[keep]


def _plain(text: str) -> str:
    return text.lower().replace("-", " ")


def show_ledger(frame: pd.DataFrame, phases: Sequence[str]) -> list[str]:
    """Draw the ledger and its CSV; return the runs whose rows are selected."""
    shown = as_shown(frame)
    if "phase_bar" in shown.columns:
        shown["phase_bar"] = [_drawn(bar) for bar in shown["phase_bar"]]
    event = st.dataframe(
        shown,
        hide_index=True,
        column_config=column_config(shown, LABELS) | _special_columns(shown, phases),
        key="ov_ledger",
        on_select="rerun",
        selection_mode="multi-row",
        height=table_height(len(shown)),
        placeholder=UNKNOWN,
        alt="The ledger: one row a run with spend, rollouts, score and gain",
    )
    csv_button(with_phase_columns(frame, phases), "ledger.csv", key="ov_csv", label="CSV of these rows")
    rows = event.selection.rows if event else []
    return [str(frame["run"].iloc[i]) for i in rows if i < len(frame)]


def _special_columns(shown: pd.DataFrame, phases: Sequence[str]) -> dict[str, Any]:
    """Columns that are more than a number or a text, of those that are shown."""
    names = ", ".join(theme.PHASE_LABELS.get(p, p) for p in phases)
    special = {
        "run": st.column_config.TextColumn("Run", pinned=True),
        "phase_bar": st.column_config.BarChartColumn(
            "$ by phase", width=110, y_min=0, help=f"Left to right: {names}"
        ),
        "score_line": st.column_config.LineChartColumn(
            "Score against $", width=110, help="Evenly spaced in dollars; each line has its own scale."
        ),
        "status": st.column_config.MultiselectColumn(
            "Status", options=list(STATUS_COLOURS), color=list(STATUS_COLOURS.values())
        ),
        "synthetic": st.column_config.MultiselectColumn(
            "Data",
            options=["synthetic"],
            color=SYNTHETIC_COLOUR,
            help="Synthetic: made up, nothing was measured.",
            width=90,
        ),
        "warnings": st.column_config.MultiselectColumn(
            "Warnings",
            options=sorted({w for row in shown.get("warnings", []) for w in row}),
            color="#C98A2B",
            help="Listed under *How was this computed?*",
        ),
    }
    return {name: column for name, column in special.items() if name in shown.columns}


def side_by_side(frame: pd.DataFrame, runs: Sequence[str]) -> pd.DataFrame:
    """Return the rows of `runs` as columns of text, one line a ledger column, without bars and sparklines."""
    plain = [c for c in frame.columns if c not in {"run", "phase_bar", "score_line", "warnings"}]
    part = as_shown(frame[frame["run"].isin(runs)])
    cells = {_column_name(c): [_cell(v) for v in part[c]] for c in plain}
    return pd.DataFrame(cells, index=[md_escape(r) for r in part["run"]]).T


def show_comparison(frame: pd.DataFrame, runs: Sequence[str]) -> None:
    """Draw the selected runs side by side, one column a run."""
    st.markdown(f"**{len(runs)} runs side by side**")
    st.table(side_by_side(frame, runs))
    st.button(
        "Show only these runs on every page",
        key="ov_keep",
        icon=":material/filter_alt:",
        on_click=_keep,
        args=(list(runs),),
    )


def _cell(value: Any) -> str:
    if isinstance(value, list | tuple | np.ndarray):
        return ", ".join(md_escape(str(v)) for v in value) or "none"
    if isinstance(value, str):
        return md_escape(value) or "not stated"
    if value is None or pd.isna(value):
        return "not known"
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    return short_number(float(value))


def _keep(runs: list[str]) -> None:
    st.session_state["runs"] = runs
