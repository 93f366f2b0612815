"""What the answer rests on: phases that fill the step, phases that blur it, and claims that would move it."""

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from analysis.result import Result
from analysis.words import digits3, percent
from charts import theme
from charts.blocks import error_bars, has
from charts.projection_style import ends, known, phase_name, rows_dressed
from charts.synthetic import marked
from charts.theme import Mode

DRIVERS = "Which phase drives the answer, percent"
CLAIMS = "Step time with each claim, seconds"
MOST_LETTERS, LEAST_SHARE = 54, 0.01
SECONDS, VARIANCE = "Share of the seconds", "Share of the uncertainty"


@marked
def drivers(result: Result, mode: Mode = "light", target: str = "") -> go.Figure:
    """Draw each phase's share of the projected seconds and of the variance of their logarithm."""
    table = result.tables.get("drivers")
    if not has(table, "seconds_frac") or not table["seconds_frac"].gt(0).any():
        why = "No projection by phase: the run's phases are not timed, or a fact is not published."
        return theme.empty(why, title=DRIVERS, table="drivers", mode=mode)
    moved = table[table["seconds_frac"].gt(0) | table["variance_frac"].gt(0)]
    names = list(dict.fromkeys(moved["target"]))
    chosen = target if target in names else names[-1]
    rows = moved[moved["target"] == chosen]
    rows = rows.sort_values("seconds_frac", ascending=False, kind="stable")
    labels = [phase_name(p) for p in rows["phase"]]
    colours = theme.palette(mode)
    fig = go.Figure(
        [
            _dots(rows["seconds_frac"], labels, SECONDS, colours.accent, False),
            _dots(rows["variance_frac"], labels, VARIANCE, colours.text, True),
        ]
    )
    first = rows.to_dict("records")[0]
    rows_dressed(
        fig,
        labels,
        [_head(r) for r in rows.to_dict("records")],
        title=DRIVERS,
        note=f"{_platform(result, chosen)}. A phase far right is worth measuring before money is spent",
        alt=f"Dots by phase; {phase_name(first['phase'])} takes {percent(first['seconds_frac'])} of the "
        "seconds.",
        table="drivers",
        mode=mode,
        x="% of the step, % of the uncertainty",
    )
    fig.update_xaxes(range=[-3, 103], ticksuffix=" %")
    return fig


def _dots(values: pd.Series, labels: list[str], name: str, colour: str, hollow: bool) -> go.Scatter:
    return go.Scatter(
        x=100 * values,
        y=labels,
        mode="markers",
        name=name,
        marker={
            "color": colour,
            "size": 13,
            "symbol": "diamond-open" if hollow else "circle",
            "line": {"width": 2.2, "color": colour},
        },
        hovertemplate=f"%{{y}}<br>{name.lower()}: %{{x:.1f}} %<extra></extra>",
    )


def _head(row: dict[str, Any]) -> tuple[str, str]:
    parts = [f"{_share(row['seconds_frac'])} of the step"] if known(row["seconds_frac"]) else []
    parts += [f"{_share(row['variance_frac'])} of the uncertainty"] if known(row["variance_frac"]) else []
    return phase_name(row["phase"]), ", ".join(parts)


def _share(frac: float) -> str:
    """Whole percents: below one a share of draws is noise."""
    return "0 %" if frac == 0 else f"{100 * frac:.0f} %" if frac >= LEAST_SHARE else "under 1 %"


def _platform(result: Result, target: str) -> str:
    table = result.tables.get("platforms")
    if table is None or table.empty:
        return target
    names = dict(zip(table["target"], table["platform"], strict=True))
    return str(names.get(target, target))


@marked
def claims(result: Result, mode: Mode = "light") -> go.Figure:
    """Draw the step without and with each claim that applies: what is left of it after Amdahl."""
    table = result.tables.get("claims")
    rows = table[table["applies"].astype(bool)] if has(table, "claim_id") else pd.DataFrame()
    if not has(rows, "step_s_with"):
        why = "No claim is switched on that speaks of these platforms and phases."
        return theme.empty(why, title=CLAIMS, table="claims", mode=mode)
    rows = rows.dropna(subset=["step_s_with"])
    labels = [f"{r['claim_id']} · {r['target']}" for r in rows.to_dict("records")]
    colours = theme.palette(mode)
    fig = go.Figure()
    fig.add_trace(_change(rows, labels, theme.status_marker(colours.accent, "assumed", mode)))
    fig.add_trace(_step(rows, "step_s_without", labels, "without the claim", "circle", colours.quiet))
    held = _step(rows, "step_s_with", labels, "with the claim", "diamond-open", colours.accent)
    held.error_x = error_bars(rows["step_s_with"], rows["step_s_low"], rows["step_s_high"], colours.accent)
    fig.add_trace(held)
    rows_dressed(
        fig,
        labels,
        [_claim_head(r, _platform(result, r["target"])) for r in rows.to_dict("records")],
        title=CLAIMS,
        note="Each acts on the phase it speaks of alone. Claims are scenarios, never measurements",
        alt=f"Step time without and with {len(rows)} claims.",
        table="claims",
        mode=mode,
        x="seconds a step",
    )
    fig.update_layout(barmode="overlay")
    fig.update_xaxes(rangemode="tozero", tickformatstops=theme.TICKS, nticks=6)
    return fig


def _change(rows: pd.DataFrame, labels: Sequence[str], marker: Mapping[str, Any]) -> go.Bar:
    return go.Bar(
        x=rows["step_s_with"] - rows["step_s_without"],
        base=rows["step_s_without"],
        y=labels,
        orientation="h",
        name="what the claim changes",
        marker=marker,
        hoverinfo="skip",
    )


def _step(
    rows: pd.DataFrame, column: str, labels: list[str], name: str, symbol: str, colour: str
) -> go.Scatter:
    hover = [
        f"{theme.escape(r['statement'][:80])}<br>{name}: {digits3(r[column])} s"
        + (ends(r["step_s_low"], r["step_s_high"]) if column == "step_s_with" else "")
        for r in rows.to_dict("records")
    ]
    return go.Scatter(
        x=rows[column],
        y=labels,
        mode="markers",
        name=name,
        marker={"color": colour, "symbol": symbol, "size": 12, "line": {"width": 2.2, "color": colour}},
        customdata=hover,
        hovertemplate="%{customdata}<extra></extra>",
    )


def _claim_head(row: dict[str, Any], platform: str) -> tuple[str, str]:
    left = f"x {digits3(row['left_after'])} of the whole step" if known(row["left_after"]) else ""
    words = theme.escape(" · ".join(t for t in (platform, left) if t))
    return theme.escape(textwrap.shorten(str(row["statement"]), MOST_LETTERS, placeholder=" …")), words
