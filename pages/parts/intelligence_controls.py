"""What the page Intelligence per dollar is asked: the levers all its sections share, in the address."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd
import streamlit as st

from analysis.result import Result
from charts.theme import Mode
from pages.parts.choose import dropdown, segments
from pages.parts.generation_address import number, several

BEFORE = {"start": "Checkpoint the money started from", "first_logged": "First evaluation logged"}
AFTER = {"last": "Last checkpoint", "best": "Best checkpoint"}
ESTIMANDS = {"tasks": "Mean over tasks", "clusters": "Mean over clusters"}
MOST_WEIGHED = 8
CORRELATION = (
    "Where only totals are known, how alike a task's results before and after are taken to be (published "
    "pairs: 0.3 to 0.7). Empty: as if independent, which is wider. It is an assumption and marked as one."
)
ESTIMAND = "Where tasks come in clusters, such as repositories: whether a large cluster counts for more."
WEIGH = "Off by default: no single number is blended. The weights stand in the name of the figure."


@dataclass(frozen=True)
class Asked:
    """`benchmark` '' for all; `gain`: parameters of the question `gain`, the benchmark among them; `runs`:
    those with an evaluation.
    """

    benchmark: str
    gain: dict[str, Any]
    theme: Mode
    runs: tuple[str, ...] = ()


def controls(every: Result, theme: Mode) -> Asked:
    """Draw the shared levers; `every` is the gain on all benchmarks, which names those there are."""
    pairs = every.tables["gains"][["benchmark_id", "benchmark"]].drop_duplicates()
    known = dict(zip(pairs["benchmark_id"], pairs["benchmark"], strict=True))
    names = {"": "All", **known}
    with st.container(horizontal=True, vertical_alignment="bottom", key="intelligence_controls"):
        benchmark = dropdown("in_benchmark", "Benchmark", list(names), "", names.__getitem__, width=220)
        before = dropdown("in_before", "Compare with", list(BEFORE), "start", BEFORE.__getitem__, width=300)
        after = segments("in_after", "Measure at", list(AFTER), "last", AFTER.__getitem__)
    with st.expander("How the gain is estimated", icon=":material/tune:"):
        how = _how(known)
    runs = tuple(dict.fromkeys(str(run) for run in every.tables["gains"]["run"]))
    return Asked(benchmark, {"benchmark": benchmark, "before": before, "after": after, **how}, theme, runs)


def _how(benchmarks: Mapping[str, str]) -> dict[str, Any]:
    """Draw correlation, estimand and weights; values left alone are not asked for."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        correlation = number(
            "Assumed correlation (totals only)", "in_correlation", -1, 1, what="a correlation",
            instead="none", step=0.1, placeholder="none: independent", tip=CORRELATION, width=240,
        )  # fmt: skip
        estimand = segments(
            "in_estimand", "Clusters", list(ESTIMANDS), "tasks", ESTIMANDS.__getitem__, ESTIMAND
        )
    weighed = several(
        "Weigh benchmarks together", "in_weigh", dict(benchmarks), noun="benchmark", most=MOST_WEIGHED,
        instead="none", placeholder="none: every benchmark on its own", tip=WEIGH,
    )  # fmt: skip
    out: dict[str, Any] = {"estimand": estimand}
    if correlation is not None:
        out["correlation"] = correlation
    if weighed:
        out["weights"] = _weights(weighed, benchmarks)
    return out


def _weights(weighed: list[str], benchmarks: Mapping[str, str]) -> list[str]:
    """Draw a number for each weighed benchmark; returns the parameter `weights`."""
    out = []
    with st.container(horizontal=True):
        for name in weighed:
            weight = number(
                f"Weight of {benchmarks[name]}", f"in_weight_{name}", 0.001, 1000, what="a weight",
                instead="1", step=0.5, placeholder="1",
            )  # fmt: skip
            out.append(f"{name}:{1.0 if weight is None else weight:g}")
    return out


def shares_of_tasks(frame: pd.DataFrame, mark: str, share: str, columns: tuple[str, ...]) -> tuple[str, ...]:
    """Return `columns`, to show in percent, when column `mark` says `share` of every score of the table."""
    return columns if set(frame.get(mark, pd.Series(dtype=object)).dropna()) == {share} else ()


Field = tuple[str, str, str, float, float, float, str]
"""A number to type: parameter, label, name in the address, least, most, step, what empty means."""


def typed(
    fields: tuple[Field, ...], *, percents: tuple[str, ...] = (), width: int = 200
) -> dict[str, object]:
    """Draw the fields and return those that hold a number; `percents` are typed as 0..100, given as 0..1."""
    out: dict[str, object] = {}
    for name, label, param, low, high, step, empty in fields:
        held = number(
            label, param, low, high, what=f"{label.lower()} of", instead=empty, step=step,
            placeholder=empty, width=width,
        )  # fmt: skip
        if held is not None:
            out[name] = held / 100 if name in percents else held
    return out
