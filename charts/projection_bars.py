"""One number a platform: dollars a step and a point, GPUs for the same cycle, tokens/s a GPU."""

from dataclasses import dataclass
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from analysis.result import Result
from analysis.words import count, digits3, money
from charts import theme
from charts.blocks import error_bars, has
from charts.projection import row_names
from charts.projection_style import MEASURED, ends, known, rows_dressed
from charts.synthetic import marked
from charts.theme import Mode


@dataclass(frozen=True)
class Measure:
    """A column of the platform table: title, axis with unit, and what an empty cell means."""

    title: str
    axis: str
    unknown: str
    usd: bool = False
    whole: bool = False
    note: str = ""


NO_PRICE = "no price of this kind: see the break-even price"
SIDE = ". GPUs, judges and sandboxes"
MEASURES = {
    "usd_per_step": Measure("Dollars a step by platform", "USD a step", NO_PRICE, True, note=SIDE),
    "usd_per_rollout": Measure("Dollars a rollout by platform", "USD a rollout", NO_PRICE, True, note=SIDE),
    "usd_per_point": Measure("Dollars a point gained by platform", "USD a point", NO_PRICE, True),
    "gpus_same_cycle": Measure(
        "GPUs for the same step time, by platform",
        "GPUs",
        "no number of GPUs reaches this step time",
        whole=True,
    ),
    "tokens_per_s_per_gpu": Measure("Tokens/s a GPU by platform", "tokens/s/GPU", "not known"),
}


@marked
def dollars(result: Result, mode: Mode = "light") -> go.Figure:
    """Draw dollars a step with p10-p90."""
    return bars(result, "usd_per_step", mode)


@marked
def per_point(result: Result, mode: Mode = "light") -> go.Figure:
    """Draw dollars a point gained, for a run whose gain is known."""
    return bars(result, "usd_per_point", mode)


@marked
def gpus(result: Result, mode: Mode = "light") -> go.Figure:
    """Draw the GPUs that take no longer a step than the measured run."""
    return bars(result, "gpus_same_cycle", mode)


@marked
def rates(result: Result, mode: Mode = "light") -> go.Figure:
    """Draw tokens/s a GPU with p10-p90."""
    return bars(result, "tokens_per_s_per_gpu", mode)


def bars(result: Result, column: str, mode: Mode) -> go.Figure:
    """Draw one column of the platform table: measured solid, projected hatched, whiskers p10-p90."""
    info = MEASURES[column]
    table = result.tables.get("platforms")
    if not has(table, column):
        return theme.empty(_why(table, column, info), title=info.title, table="platforms", mode=mode)
    names = dict(zip(table["target"], row_names(table), strict=True))
    fig = go.Figure()
    for kind in (MEASURED, "projected"):
        part = table[(table["kind"] == kind) & table[column].notna()]
        if len(part):
            fig.add_trace(_bar(part, column, kind, names, mode))
    rows = table.to_dict("records")
    lost = {names[r["target"]]: _lacking(r, info) for r in rows if not known(r[column])}
    told = ", ".join(f"{r['platform']} {_value(r[column], info)}" for r in rows if known(r[column]))
    rows_dressed(
        fig,
        list(names.values()),
        [_head(r, names[r["target"]], column, info) for r in rows],
        title=info.title,
        note=f"Solid: measured. Hatched: projected. Whiskers: p10–p90 (measured: of the mean){info.note}",
        alt=f"Bars of {info.axis}: {told}.",
        table="platforms",
        mode=mode,
        x=info.axis,
        unknown=lost,
    )
    fig.update_layout(showlegend=False)
    fig.update_xaxes(
        rangemode="tozero", tickprefix="$" if info.usd else "", tickformatstops=theme.TICKS, nticks=6
    )
    return fig


def _bar(part: pd.DataFrame, column: str, kind: str, names: dict[str, str], mode: Mode) -> go.Bar:
    colours, info = theme.palette(mode), MEASURES[column]
    whiskers = error_bars(part[column], part[f"{column}_low"], part[f"{column}_high"], colours.text)
    hover = [
        f"{theme.escape(r['platform'])}: {_value(r[column], info)}{_ends(r, column, info)}<br>"
        f"{kind}{_price_words(r) if info.usd else ''}"
        for r in part.to_dict("records")
    ]
    return go.Bar(
        x=part[column],
        y=[names[t] for t in part["target"]],
        orientation="h",
        name=kind,
        marker=theme.status_marker(colours.accent, kind, mode),
        error_x=whiskers,
        customdata=hover,
        hovertemplate="%{customdata}<extra></extra>",
    )


def _value(value: float, info: Measure) -> str:
    return money(value) if info.usd else count(round(value)) if info.whole else digits3(value)


def _ends(row: dict[str, Any], column: str, info: Measure) -> str:
    return ends(row[f"{column}_low"], row[f"{column}_high"], lambda v: _value(v, info))


def _price_words(row: dict[str, Any]) -> str:
    rate = row["usd_per_gpu_h"]
    name = f" ({theme.escape(row['price_id'])})" if row["price_id"] else ""
    return f", at {money(rate)} a GPU-hour{name}" if known(rate) else ""


def _head(row: dict[str, Any], name: str, column: str, info: Measure) -> tuple[str, str]:
    told = f"{_value(row[column], info)}{_ends(row, column, info)}" if known(row[column]) else ""
    return name, told


def _lacking(row: dict[str, Any], info: Measure) -> str:
    """Why a row has no bar: a missing price is said by name, other gaps by what the row lacks."""
    if not known(row["step_s"]):
        return str(row["missing"] or "step time not known")
    if info.usd and not known(row["usd_per_gpu_h"]):
        return NO_PRICE
    return "not known" if info.usd else info.unknown


def _why(table: pd.DataFrame | None, column: str, info: Measure) -> str:
    if table is None or table.empty:
        return "No run can be projected yet."
    if column == "usd_per_point":
        return (
            "The gain of this run is not known: evaluate its first and last checkpoint, or it did not gain."
        )
    if info.usd:
        return (
            "None of these platforms has a price of the kind picked in the sidebar. Pick another kind there."
        )
    return f"{info.axis} is not known on any of these platforms."
