"""A cadence against the fleet that carries it: probability and cycle time by GPUs; where the hours go."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from analysis.result import Result
from analysis.words import digits3, money, percent
from charts import theme
from charts.blocks import band, has
from charts.planned import curves, diamond, marks
from charts.projection_style import known
from charts.synthetic import marked
from charts.theme import Mode

LINE_PX = 2.5
"""Where all lines lie on each other, those beneath the last are wider, so that all are seen."""
PROBABILITY = "Probability to finish by the deadline, by GPUs"
CYCLE = "Cycle time by GPUs, hours"
SAVES = "Goodput of a job by steps between saves"
PARTS = "Where the hours of a cycle go"
PHASE_OF = {
    "steps that more": "train", "steps that none": "rollout", "steps": "train", "start-up": "data",
    "evaluation": "eval", "checkpoint": "checkpoint", "failure": "env", "maintenance": "booked",
    "waiting": "waiting",
}  # fmt: skip
"""How the name of a part begins -> the phase whose colour it has."""


def platform_styles(frame: pd.DataFrame, mode: Mode) -> dict[str, dict[str, Any]]:
    """Return target -> colour and dash; the order of the table decides, so that all charts agree."""
    names = [str(name) for name in dict.fromkeys(frame["target"])]
    return {n: dict(s) for n, s in theme.run_styles(names, mode, theme.run_colours(names, mode)).items()}


@marked
def probability(result: Result, mode: Mode = "light") -> go.Figure:
    """Draw P(finish) against working GPUs, a line a platform, with the wanted level and the chosen fleets."""
    frame = result.tables.get("curve")
    if frame is None or not has(frame, "target", "gpus", "p_finish"):
        return theme.empty(result.answer, title=PROBABILITY, table="curve", mode=mode)
    styles = platform_styles(frame, mode)
    fig = go.Figure()
    groups, sure = _by_target(frame), _all_sure(result, frame)
    for place, (target, part) in enumerate(groups):
        wide = {**styles[target], "width": LINE_PX + (3 * (len(groups) - 1 - place) if sure else 0)}
        fig.add_trace(_line(part, 100 * part["p_finish"], target, wide))
        for trace in _chosen(part, 100 * part["p_finish"], target, styles[target], mode):
            fig.add_trace(trace)
    _level(fig, result, mode)
    theme.apply(
        fig,
        title=PROBABILITY,
        subtitle=f"Diamonds: the fleets of the answer. {_shape(result, frame)}",
        alt=f"Probability to finish by the deadline against GPUs on {frame['target'].nunique()} platforms. "
        f"{result.answer}",
        table="curve",
        mode=mode,
        x="working GPUs",
        y="probability (%)",
        height=400,
    )
    fig.update_yaxes(range=[-3, 103])
    return _gpu_axis(fig, frame)


def _shape(result: Result, frame: pd.DataFrame) -> str:
    """What the curves show: where every fleet is sure enough they lie on each other at the top."""
    if _all_sure(result, frame):
        least = float(frame["gpus"].min())
        return f"Each fleet from {least:,.0f} GPUs on is sure enough: whole racks decide, not the deadline"
    return "Past its best size a fleet gets slower, not faster"


def _all_sure(result: Result, frame: pd.DataFrame) -> bool:
    wanted = float(result.params.get("wanted") or 0.0)
    return bool(wanted) and bool((frame["p_finish"] >= wanted).all())


def _level(fig: go.Figure, result: Result, mode: Mode) -> None:
    wanted = float(result.params.get("wanted") or 0.0)
    if not wanted:
        return
    quiet = theme.palette(mode).quiet
    fig.add_hline(
        y=100 * wanted,
        line={"color": quiet, "width": 1.2, "dash": "dash"},
        annotation_text=f"wanted {percent(wanted)}",
        annotation_position="bottom right",
        annotation_font={"color": quiet, "size": 11},
    )


@marked
def cycle_band(result: Result, mode: Mode = "light", target: str = "") -> go.Figure:
    """Draw the p10-p90 of the cycle time against GPUs on one platform with the deadline: where it turns up,
    more GPUs are slower.
    """
    frame = result.tables.get("curve")
    if frame is None or not has(frame, "target", "gpus", "cycle_h"):
        return theme.empty(result.answer, title=CYCLE, table="curve", mode=mode)
    names = [str(n) for n in dict.fromkeys(frame["target"])]
    shown = target if target in names else str(_focus(frame))
    part = frame[frame["target"] == shown].sort_values("gpus", kind="stable")
    style = platform_styles(frame, mode)[shown]
    colour = style["colour"]
    x = list(part["gpus"])
    fig = go.Figure(band(x, list(part["cycle_h_low"]), list(part["cycle_h_high"]), colour, "p10–p90"))
    fig.add_trace(_line(part, part["cycle_h"], "p50", {**style, "dash": "solid"}, _cycle_words(part)))
    for trace in _chosen(part, part["cycle_h"], "fleet of the answer", style, mode):
        trace.showlegend = True
        fig.add_trace(trace)
    _deadline(fig, result, mode)
    best = part.loc[part["cycle_h"].idxmin()]
    name = theme.escape(part["platform"].iloc[0])
    theme.apply(
        fig,
        title=CYCLE,
        subtitle=f"{name}; {_fastest(part, best)}",
        alt=f"Cycle time against GPUs on {name} with its p10-p90 and the deadline; fastest at "
        f"{best['gpus']:,.0f} GPUs with {digits3(float(best['cycle_h']))} hours.",
        table="curve",
        mode=mode,
        x="working GPUs",
        y="hours",
        height=400,
    )
    top = 3 * max(float(part["cycle_h"].min()), float(result.params.get("deadline_h") or 0.0))
    fig.update_yaxes(range=[0, min(top, 1.05 * float(part["cycle_h_high"].max()))])
    return _gpu_axis(fig, part)


def _fastest(part: pd.DataFrame, best: pd.Series) -> str:
    slower = bool((part["gpus"] > best["gpus"]).any())
    tail = ": beyond that more GPUs are slower" if slower else ", the most that were looked at"
    return f"fastest at {best['gpus']:,.0f} GPUs{tail}"


def _by_target(frame: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    names = [str(n) for n in dict.fromkeys(frame["target"])]
    return [(n, frame[frame["target"] == n].sort_values("gpus", kind="stable")) for n in names]


def _focus(frame: pd.DataFrame) -> object:
    """The platform of which the answer speaks; results of before did not say it."""
    flag = "answered" if "answered" in frame.columns else "chosen"
    chosen = frame[frame[flag].astype(bool)]
    return (chosen if len(chosen) else frame)["target"].iloc[0]


def _line(
    part: pd.DataFrame, y: pd.Series, name: str, style: Mapping[str, Any], words: list[str] | None = None
) -> go.Scatter:
    label = str(part["platform"].iloc[0]) if name == str(part["target"].iloc[0]) else name
    return go.Scatter(
        x=list(part["gpus"]),
        y=list(y),
        name=theme.short(label),
        legendgroup=label,
        mode="lines",
        line={"color": style["colour"], "width": style.get("width", LINE_PX), "dash": style["dash"]},
        customdata=words or [_fleet_words(row) for row in part.to_dict("records")],
        hovertemplate="%{customdata}<extra></extra>",
    )


def _chosen(
    part: pd.DataFrame, y: pd.Series, name: str, style: Mapping[str, Any], mode: Mode
) -> list[go.Scatter]:
    mask = part["chosen"].astype(bool)
    if not mask.any():
        return []
    rows = part[mask]
    return [
        go.Scatter(
            x=list(rows["gpus"]),
            y=list(y[mask]),
            name=theme.short(name),
            legendgroup=str(part["platform"].iloc[0]),
            showlegend=False,
            mode="markers",
            marker={
                "symbol": "diamond",
                "size": 13,
                "color": style["colour"],
                "line": {"width": 1.8, "color": theme.palette(mode).surface},
            },
            customdata=[_fleet_words(row) for row in rows.to_dict("records")],
            hovertemplate="%{customdata}<extra></extra>",
        )
    ]


def _fleet_words(row: Mapping[str, Any]) -> str:
    racks = f", {digits3(row['racks'])} racks" if known(row.get("racks")) else ""
    lines = [
        f"<b>{theme.escape(row['platform'])}</b>: {row['gpus']:,.0f} GPUs at work{racks}",
        f"draws in time: {percent(row['p_finish'])}",
    ]
    if known(row.get("cycle_h")):
        lines.append(f"cycle {digits3(row['cycle_h'])} h")
    if known(row.get("usd_per_cycle")):
        lines.append(f"{money(row['usd_per_cycle'])} a cycle")
    return "<br>".join(lines)


def _cycle_words(part: pd.DataFrame) -> list[str]:
    return [
        f"{_fleet_words(row)}<br>p10–p90: {digits3(row['cycle_h_low'])} – {digits3(row['cycle_h_high'])} h"
        for row in part.to_dict("records")
    ]


def _deadline(fig: go.Figure, result: Result, mode: Mode) -> None:
    deadline = result.params.get("deadline_h")
    if not deadline:
        return
    colours = theme.palette(mode)
    fig.add_hline(
        y=float(deadline),
        line={"color": colours.bad, "width": 1.5, "dash": "dash"},
        annotation_text=f"deadline {digits3(float(deadline))} h",
        annotation_position="top right",
        annotation_font={"color": colours.bad, "size": 11},
    )


def _gpu_axis(fig: go.Figure, frame: pd.DataFrame) -> go.Figure:
    """Doublings are what a fleet grows by: a logarithmic axis with powers of two."""
    low, high = float(frame["gpus"].min()), float(frame["gpus"].max())
    powers = [2**n for n in range(18) if low <= 2**n <= high]
    step = max(1, -(-len(powers) // 8))
    shown = powers[::step]
    fig.update_xaxes(type="log", tickvals=shown or [low], ticktext=[f"{n:,.0f}" for n in shown or [low]])
    return fig


@marked
def parts(result: Result, mode: Mode = "light") -> go.Figure:
    """Draw the mean hours of a cycle by part, a stacked bar a platform, at the fleet of the answer."""
    frame = result.tables.get("parts")
    if frame is None or not has(frame, "target", "part", "hours"):
        return theme.empty(result.answer, title=PARTS, table="parts", mode=mode)
    names = _platform_names(result)
    data = frame.dropna(subset=["hours"])
    data = data[data["hours"] > 0]
    order = [str(t) for t in dict.fromkeys(data["target"])]
    fig = go.Figure()
    for part in dict.fromkeys(data["part"]):
        rows = data[data["part"] == part]
        fig.add_trace(_part_bar(rows, str(part), [names.get(str(t), str(t)) for t in rows["target"]], mode))
    theme.apply(
        fig,
        title=PARTS,
        subtitle="Mean of the draws from p10 to p90 of the cycle, at the fleet of the answer",
        alt=f"Stacked hours of a cycle by part on {len(order)} platforms.",
        table="parts",
        mode=mode,
        x="hours",
        height=120 + 46 * len(order),
    )
    fig.update_layout(barmode="stack")
    fig.update_yaxes(
        categoryorder="array", categoryarray=[names.get(t, t) for t in order], autorange="reversed"
    )
    return fig


def _part_bar(rows: pd.DataFrame, part: str, labels: list[str], mode: Mode) -> go.Bar:
    label = theme.escape(part[:1].upper() + part[1:])
    return go.Bar(
        x=list(rows["hours"]),
        y=labels,
        orientation="h",
        name=label,
        marker={"color": theme.phase_colour(_phase(part), mode)},
        hovertemplate=f"%{{y}}<br>{label}: %{{x:,.3~r}} h<extra></extra>",
    )


def _phase(part: str) -> str:
    return next((phase for start, phase in PHASE_OF.items() if part.startswith(start)), "other")


def _platform_names(result: Result) -> dict[str, str]:
    frame = result.tables.get("platforms")
    if frame is None or frame.empty:
        return {}
    return {str(t): theme.escape(p) for t, p in zip(frame["target"], frame["platform"], strict=True)}


@marked
def saves(result: Result, mode: Mode = "light") -> go.Figure:
    """Draw the goodput of a job by steps between saves: as asked, the best, Young and Daly in words."""
    frame = result.tables.get("checkpoint")
    if frame is None or not has(frame, "checkpoint_steps", "goodput_frac"):
        why = "A measured goodput stands for saves and failures, or no fleet is known."
        return theme.empty(why, title=SAVES, table="checkpoint", mode=mode)
    data = frame.assign(percent=100 * frame["goodput_frac"]).sort_values("checkpoint_steps", kind="stable")
    colours, at = theme.palette(mode), ("checkpoint_steps", "percent")
    fig = go.Figure(curves(data, at[0], [(at[1], "goodput", colours.accent, "solid", LINE_PX)], _save_words))
    fig.add_traces(marks(data, "chosen", *at, "as asked", _save_words, diamond(mode, plain=True)))
    fig.add_traces(marks(data, "best", *at, "best", _save_words, diamond(mode)))
    theme.apply(
        fig,
        title=SAVES,
        subtitle=_ideal(data),
        alt=f"Goodput by steps between saves, {len(data)} periods; {_ideal(data)}.",
        table="checkpoint",
        mode=mode,
        x="steps between saves",
        y="goodput (%)",
        height=340,
    )
    steps = [int(n) for n in data["checkpoint_steps"] if int(n) in (1, 2, 5, 10, 20, 50, 100, 200)]
    fig.update_xaxes(type="log", tickvals=steps, ticktext=[f"{n}" for n in steps])
    return fig


def _ideal(data: pd.DataFrame) -> str:
    """Where the formulas put the best period; results of before did not say it."""
    ends = [float(data[name].iloc[0]) for name in ("young_s", "daly_s") if name in data.columns]
    if len(ends) < 2 or not all(known(one) for one in ends):
        return "Saves fall between steps"
    young, daly = (digits3(one / 60) for one in ends)
    return f"Saves fall between steps. Young: one every {young} min of work, Daly: {daly} min"


def _save_words(row: Mapping[str, Any]) -> str:
    return f"a save every {row['checkpoint_steps']:,.0f} steps<br>goodput {percent(row['goodput_frac'])}"
