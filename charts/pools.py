"""Rollout, training and judge pools: where the split balances, and what each mode costs."""

from collections.abc import Mapping
from typing import Any

import plotly.graph_objects as go

from analysis.result import Result
from analysis.words import digits3, money, percent
from charts import theme
from charts.blocks import error_bars, has
from charts.planned import bars, curves, diamond, in_order, marks
from charts.projection_style import known
from charts.synthetic import marked
from charts.theme import Mode

SPLITS = "Step time by split of the GPUs, seconds"
MODES = "Dollars a step by mode"
MODE_WORDS = {"sync": "Synchronous", "one_step_off": "One step off", "async": "Asynchronous"}


@marked
def splits(result: Result, mode: Mode = "light") -> go.Figure:
    """Draw what rollouts and training need by the GPUs given to rollouts, and the step that results."""
    frame = result.tables.get("splits")
    if frame is None or not has(frame, "rollout_gpus", "rollout_s", "train_s", "step_s"):
        return theme.empty(result.answer, title=SPLITS, table="splits", mode=mode)
    data = frame.sort_values("rollout_gpus", kind="stable")
    colours = theme.palette(mode)
    wanted = (
        ("rollout_s", "rollouts alone", colours.roles["rollout"], "dash", 2.0),
        ("train_s", "training alone", colours.roles["train"], "dot", 2.0),
        ("step_s", "step", colours.text, "solid", 3.0),
    )
    fig = go.Figure(curves(data, "rollout_gpus", wanted, _split_words))
    here = ("rollout_gpus", "step_s")
    fig.add_traces(marks(data, "current", *here, "as it is", _split_words, diamond(mode, plain=True)))
    fig.add_traces(marks(data, "chosen", *here, "balanced", _split_words, diamond(mode)))
    theme.apply(
        fig,
        title=SPLITS,
        subtitle="Left of the crossing trainers starve, right of it rollouts wait for room in the buffer",
        alt=f"Step time against the GPUs of the rollout pool for {len(data)} splits. {result.answer}",
        table="splits",
        mode=mode,
        x="GPUs that generate",
        y="seconds a step",
        height=400,
    )
    fig.update_yaxes(range=[0, min(4 * float(data["step_s"].min()), 1.05 * float(data["step_s"].max()))])
    return fig


def _split_words(row: Mapping[str, Any]) -> str:
    judge = f" : {row['judge_gpus']:,.0f}" if known(row.get("judge_gpus")) and row["judge_gpus"] else ""
    lines = [
        f"<b>{row['rollout_gpus']:,.0f} : {row['train_gpus']:,.0f}{judge}</b> GPUs",
        f"step {digits3(row['step_s'])} s",
    ]
    for column, words in (("starved_frac", "trainers starved"), ("blocked_frac", "rollouts blocked")):
        if known(row.get(column)):
            lines.append(f"{words} {percent(row[column])}")
    if known(row.get("usd_per_step")):
        lines.append(f"{money(row['usd_per_step'])} a step")
    return "<br>".join(lines)


@marked
def modes(result: Result, mode: Mode = "light") -> go.Figure:
    """Draw the dollars of a step in each mode with their interval; a mode whose rollouts would be older than
    allowed is dotted.
    """
    frame = result.tables.get("modes")
    if frame is None or not has(frame, "mode", "usd_per_step"):
        return theme.empty(result.answer, title=MODES, table="modes", mode=mode)
    data = frame.dropna(subset=["usd_per_step"])
    labels = [MODE_WORDS.get(str(m), str(m)) for m in data["mode"]]
    colours = theme.palette(mode)
    fig = go.Figure()
    for allowed, name, status in ((True, "allowed", "projected"), (False, "rollouts too old", "assumed")):
        part = data[data["allowed"].astype(bool) == allowed]
        if part.empty:
            continue
        marker = theme.status_marker(colours.accent if allowed else colours.quiet, status, mode)
        ends = (part["usd_per_step"], part["usd_per_step_low"], part["usd_per_step_high"])
        names = [MODE_WORDS.get(str(m), str(m)) for m in part["mode"]]
        whiskers = error_bars(*ends, colours.text)
        fig.add_trace(bars(part, "usd_per_step", names, marker, _mode_words, name=name, whiskers=whiskers))
    theme.apply(
        fig,
        title=MODES,
        subtitle="Same GPUs; whiskers: p10–p90",
        alt=f"Bars of the dollars of a step in {len(labels)} modes: {', '.join(labels)}.",
        table="modes",
        mode=mode,
        x="USD a step",
        height=120 + 46 * len(labels),
    )
    return in_order(fig, labels)


def _mode_words(row: Mapping[str, Any]) -> str:
    lines = [
        f"<b>{MODE_WORDS.get(str(row['mode']), str(row['mode']))}</b>: {money(row['usd_per_step'])} a step",
        f"step {digits3(row['step_s'])} s",
    ]
    if known(row.get("steps_for_budget")):
        lines.append(f"{row['steps_for_budget']:,.0f} steps for the budget")
    if known(row.get("age_updates")):
        lines.append(f"rollouts {digits3(row['age_updates'])} updates old")
    return "<br>".join(lines)
