"""A measured step and what it would be on other platforms: seconds by phase, platform by platform."""

from typing import Any

import pandas as pd
import plotly.graph_objects as go

from analysis.result import Result
from analysis.words import digits3, percent
from charts import theme
from charts.blocks import error_bars, has
from charts.projection_style import (
    MEASURED,
    PHASES,
    ends,
    known,
    phase_marker,
    phase_name,
    rows_dressed,
)
from charts.synthetic import marked
from charts.theme import Mode

TITLE = "Step time by phase and platform, seconds"
EITHER, LEAST_EITHER = "Either pool, uncertain which", 0.02
WHOLE, TOTAL, RULE = "Whole step, not by phase", "Total with its band", "Check: rule for whole steps"


@marked
def by_phase(result: Result, mode: Mode = "light") -> go.Figure:
    """Draw the exposed seconds of each phase, a row a platform, with the total and its p10-p90.

    The open diamond is the rule that looks at whole steps alone: where it lies apart from the phases, the
    band of the total reaches to the far end of the rule's.
    """
    table = result.tables.get("platforms")
    if not has(table, "step_s"):
        return theme.empty(result.answer, title=TITLE, table="phases", mode=mode)
    phases = result.tables["phases"]
    shown = phases[phases["exposed"].astype(bool)] if len(phases) else phases
    names = dict(zip(table["target"], row_names(table), strict=True))
    fig = go.Figure(_phase_bars(shown, table, names, mode))
    whole = table[table["step_s"].notna() & ~table["target"].isin(set(shown["target"]))]
    for kind, part in whole.groupby("kind", sort=False):
        fig.add_trace(_whole(part, str(kind), names, mode))
    totals = _totals(table.dropna(subset=["step_s"]), names, mode)
    marks = (_either(shown, table, names, mode), totals, _rule(result, names, mode))
    fig.add_traces([mark for mark in marks if mark is not None])
    hidden = len(phases) - len(shown)
    overlap = "; time that overlaps other work is left out" if hidden else ""
    rows_dressed(
        fig,
        list(names.values()),
        [_head(row, names[row["target"]]) for row in table.to_dict("records")],
        title=TITLE,
        note=f"Solid: measured. Hatched: projected. Crossed: nobody attributed it{overlap}",
        alt=_alt(table),
        table="phases",
        mode=mode,
        x="seconds a step",
        unknown=_unknown(table, names),
    )
    fig.update_layout(barmode="relative")
    fig.update_xaxes(rangemode="tozero", tickformatstops=theme.TICKS, nticks=6)
    return fig


def row_names(table: pd.DataFrame) -> list[str]:
    """Return a name for each platform row, each of its own: the target stands in where a name repeats."""
    twice = table["platform"].duplicated(keep=False)
    return [
        theme.escape(t if again else p)
        for p, t, again in zip(table["platform"], table["target"], twice, strict=True)
    ]


def _phase_bars(shown: pd.DataFrame, table: pd.DataFrame, names: dict[str, str], mode: Mode) -> list[go.Bar]:
    total = dict(zip(table["target"], table["step_s"], strict=True))
    found = set(shown["phase"]) if len(shown) else set()
    order = [p for p in PHASES if p in found] + sorted(found - set(PHASES))
    traces: list[go.Bar] = []
    for phase in order:
        for kind in (MEASURED, "projected"):
            part = shown[(shown["phase"] == phase) & (shown["kind"] == kind) & shown["seconds"].notna()]
            if len(part):
                first = all(t.legendgroup != phase for t in traces)
                traces.append(_bar(part, phase, kind, names, total, first, mode))
    return traces


def _bar(
    part: pd.DataFrame,
    phase: str,
    kind: str,
    names: dict[str, str],
    total: dict[str, float],
    first: bool,
    mode: Mode,
) -> go.Bar:
    return go.Bar(
        x=part["seconds"],
        y=[names[t] for t in part["target"]],
        orientation="h",
        name=phase_name(phase),
        legendgroup=phase,
        showlegend=first,
        marker=phase_marker(phase, kind, mode),
        customdata=[_phase_words(row, total) for row in part.to_dict("records")],
        hovertemplate="%{customdata}<extra></extra>",
    )


def _phase_words(row: dict[str, Any], total: dict[str, float]) -> str:
    whole = total.get(row["target"], float("nan"))
    share = f", {percent(row['seconds'] / whole)} of the step" if known(whole) and whole > 0 else ""
    lines = [
        f"{phase_name(row['phase'])}: {digits3(row['seconds'])} s"
        f"{ends(row['seconds_low'], row['seconds_high'])}{share}",
        f"{row['platform']}, {row['kind']}",
        f"scales with {row['scales_with']}" if row["scales_with"] else "",
        str(row["basis"] or "") if row["kind"] != MEASURED else "",
    ]
    return "<br>".join(theme.escape(line) for line in lines if line)


def _either(shown: pd.DataFrame, table: pd.DataFrame, names: dict[str, str], mode: Mode) -> go.Bar | None:
    """Return what medians of exposed phases leave of the median step, where that is more than noise.

    Of two pools that work side by side the longer one makes the step: where draws disagree on which, the
    time belongs to either and to the median of neither.
    """
    told = shown.groupby("target")["seconds"].sum().astype("float64")
    rows = table[table["target"].isin(told.index)].assign(
        rest=lambda t: t["step_s"] - t["target"].map(told).astype("float64")
    )
    rows = rows[rows["rest"] > LEAST_EITHER * rows["step_s"]]
    if rows.empty:
        return None
    return go.Bar(
        x=rows["rest"],
        y=[names[t] for t in rows["target"]],
        orientation="h",
        name=EITHER,
        legendgroup="either",
        marker=theme.status_marker(theme.palette(mode).quiet, "assumed", mode),
        hovertemplate=f"{EITHER}: %{{x:,.3~r}} s<extra></extra>",
    )


def _whole(part: pd.DataFrame, kind: str, names: dict[str, str], mode: Mode) -> go.Bar:
    return go.Bar(
        x=part["step_s"],
        y=[names[t] for t in part["target"]],
        orientation="h",
        name=WHOLE,
        legendgroup="whole",
        marker=theme.status_marker(theme.palette(mode).quiet, kind, mode),
        hovertemplate=f"{WHOLE}: %{{x:,.3~r}} s<extra></extra>",
    )


def _totals(rows: pd.DataFrame, names: dict[str, str], mode: Mode) -> go.Scatter:
    colour = theme.palette(mode).text
    return go.Scatter(
        x=rows["step_s"],
        y=[names[t] for t in rows["target"]],
        mode="markers",
        name=TOTAL,
        marker={"color": colour, "symbol": "line-ns", "size": 16, "line": {"width": 2, "color": colour}},
        error_x=error_bars(rows["step_s"], rows["step_s_low"], rows["step_s_high"], colour),
        customdata=[_total_words(row) for row in rows.to_dict("records")],
        hovertemplate="%{customdata}<extra></extra>",
    )


def _total_words(row: dict[str, Any]) -> str:
    faster = row["speedup"]
    lines = [
        f"{row['platform']}: {digits3(row['step_s'])} s a step{ends(row['step_s_low'], row['step_s_high'])}",
        f"{row['kind']}, basis: {row['basis']}" if row["kind"] != MEASURED else MEASURED,
        f"x {digits3(faster)} as fast" if known(faster) and row["kind"] != MEASURED else "",
        str(row["missing"] or ""),
    ]
    return "<br>".join(theme.escape(line) for line in lines if line)


def _rule(result: Result, names: dict[str, str], mode: Mode) -> go.Scatter | None:
    table = result.tables.get("whole_step")
    if not has(table, "step_s"):
        return None
    rows = table[table["step_s"].notna() & table["target"].isin(names)]
    colours = theme.palette(mode)
    return go.Scatter(
        x=rows["step_s"],
        y=[names[t] for t in rows["target"]],
        mode="markers",
        name=RULE,
        marker={
            "color": colours.surface,
            "symbol": "diamond",
            "size": 9,
            "line": {"width": 1.8, "color": colours.text},
        },
        customdata=[
            f"{RULE}: {digits3(r['step_s'])} s{ends(r['low'], r['high'])}" for r in rows.to_dict("records")
        ],
        hovertemplate="%{customdata}<extra></extra>",
    )


def _head(row: dict[str, Any], name: str) -> tuple[str, str]:
    gpus = f"{row['gpus']:,.0f} GPUs" if known(row["gpus"]) else ""
    seconds = (
        f"{digits3(row['step_s'])} s{ends(row['step_s_low'], row['step_s_high'])}"
        if known(row["step_s"])
        else ""
    )
    return name, " · ".join(t for t in (gpus, seconds) if t)


def _unknown(table: pd.DataFrame, names: dict[str, str]) -> dict[str, str]:
    rows = table[table["step_s"].isna()]
    return {names[r["target"]]: str(r["missing"] or "not known") for r in rows.to_dict("records")}


def _alt(table: pd.DataFrame) -> str:
    rows = [r for r in table.to_dict("records") if known(r["step_s"])]
    told = ", ".join(f"{r['platform']} {digits3(r['step_s'])} s {r['kind']}" for r in rows[:8])
    return f"Stacked bars of seconds a step by phase: {told}."
