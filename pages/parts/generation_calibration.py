"""What a run itself fixes of its projection: each factor with its spread, and what rests on a prior."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
import streamlit as st

from analysis.frames import records
from analysis.result import Result
from analysis.words import digits3
from charts.projection_style import phase_name
from pages.parts.download import csv_button
from pages.parts.tables import UNKNOWN
from pages.parts.words import md_escape

NAMES = {
    "eta_bandwidth": "Memory bandwidth achieved",
    "layer_s": "Constant of a layer",
    "in_flight": "Sequences in flight",
    "replica_gpus": "GPUs of a replica",
    "tail_frac": "Share of the tail",
    "longest_response": "Longest response",
    "eta_prefill": "FLOP/s achieved",
    "eta_train": "MFU",
    "eta_logprob": "FLOP/s achieved",
    "sync_rate": "Rate of all copies",
    "seconds": "Seconds, kept",
}
TITLE = "What the run itself fixes"
SPREAD = (
    "The projection uses the mean step. p10 – p90 of a measured factor is that of single steps, which "
    "scatter far more than their mean: some come out above the peak, and a rare long step can lift a mean "
    "above p90."
)


def show_calibration(result: Result) -> None:
    """List the factors as text: their sizes span seven orders of magnitude. The CSV has all digits."""
    frame = result.tables["calibration"]
    if frame.empty:
        st.caption("Only the whole step of this run is projected, so it sets no factor of a phase.")
        return
    rows = records(frame)
    priors = [f"{_name(r)} ({_lower(phase_name(str(r['phase'])))})" for r in rows if not r["identified"]]
    rest = f" These rest on a prior: {'; '.join(priors)}." if priors else ""
    st.caption(
        md_escape(f"{len(rows) - len(priors)} of {len(rows)} factors are identified by the run.{rest}")
    )
    st.caption(SPREAD)
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="bottom"):
        st.markdown(f"**{TITLE}**", width="content")
        csv_button(frame, "projection-calibration.csv", key="projection_calibration_csv")
    st.dataframe(
        _shown(rows), hide_index=True, key="projection_calibration", height="content", alt=f"Table: {TITLE}"
    )


def _shown(rows: list[dict[str, Any]]) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "Phase": [phase_name(str(r["phase"])) for r in rows],
            "Factor": [_name(r) for r in rows],
            "Mean": [_value(r["factor"]) for r in rows],
            "p10 – p90": [_ends(r) for r in rows],
            "Unit": [r["unit"] for r in rows],
            "Steps": [f"{r['n_steps']:.0f}" if r["n_steps"] else UNKNOWN for r in rows],
            "Identified": ["by the run" if r["identified"] else "no: a prior" for r in rows],
            "How": [r["words"] for r in rows],
        }
    )


def _name(row: Mapping[str, Any]) -> str:
    name = str(row["name"])
    words = name.replace("_", " ")
    return NAMES.get(name, words[:1].upper() + words[1:])


def _value(value: Any) -> str:
    return digits3(float(value)) if value is not None and value == value else UNKNOWN


def _ends(row: Mapping[str, Any]) -> str:
    if _value(row["low"]) == _value(row["high"]):
        return UNKNOWN
    return f"{_value(row['low'])} – {_value(row['high'])}"


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]
