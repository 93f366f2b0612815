"""What the page Intelligence per dollar is asked: the levers all its sections share, in the address."""

from dataclasses import dataclass
from typing import Any

import pandas as pd
import streamlit as st

from analysis.result import Result
from charts.theme import Mode
from pages.parts.choose import dropdown, segments

BEFORE = {"start": "Checkpoint the money started from", "first_logged": "First evaluation logged"}
AFTER = {"last": "Last checkpoint", "best": "Best checkpoint"}


@dataclass(frozen=True)
class Asked:
    """`benchmark` '' for all; `gain`: parameters of the question `gain`, the benchmark among them."""

    benchmark: str
    gain: dict[str, Any]
    theme: Mode


def controls(every: Result, theme: Mode) -> Asked:
    """Draw the shared levers; `every` is the gain on all benchmarks, which names those there are."""
    pairs = every.tables["gains"][["benchmark_id", "benchmark"]].drop_duplicates()
    benchmarks = {"": "All", **dict(zip(pairs["benchmark_id"], pairs["benchmark"], strict=True))}
    with st.container(horizontal=True, vertical_alignment="bottom", key="intelligence_controls"):
        benchmark = dropdown(
            "in_benchmark", "Benchmark", list(benchmarks), "", benchmarks.__getitem__, width=220
        )
        before = dropdown("in_before", "Compare with", list(BEFORE), "start", BEFORE.__getitem__, width=300)
        after = segments("in_after", "Measure at", list(AFTER), "last", AFTER.__getitem__)
    return Asked(benchmark, {"benchmark": benchmark, "before": before, "after": after}, theme)


def shares_of_tasks(frame: pd.DataFrame, mark: str, share: str, columns: tuple[str, ...]) -> tuple[str, ...]:
    """Return `columns`, to show in percent, when column `mark` says `share` of every score of the table."""
    return columns if set(frame.get(mark, pd.Series(dtype=object)).dropna()) == {share} else ()
