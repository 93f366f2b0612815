"""Sandbox cores: what waiting GPUs and idle cores cost by cores a GPU, and each CPU beside the others."""

from collections.abc import Hashable, Mapping

import plotly.graph_objects as go

from analysis.result import Result
from analysis.words import digits3, money, percent
from charts import theme
from charts.blocks import has
from charts.planned import bars, curves, diamond, in_order, marks
from charts.projection_style import known
from charts.synthetic import marked
from charts.theme import Mode

BY_CORES = "Dollars a step by sandbox cores for each GPU"
WIDE = 20
"""Counts further apart than this are drawn on a logarithmic axis."""
CPUS = "Dollars a rollout by CPU"


@marked
def by_cores(result: Result, mode: Mode = "light") -> go.Figure:
    """Draw idle-GPU, CPU and total dollars of a step against cores a GPU; the recommended count marked."""
    frame = result.tables.get("by_cores")
    if frame is None or not has(frame, "cores_per_gpu", "cpu_usd_per_step", "idle_usd_per_step"):
        return theme.empty(result.answer, title=BY_CORES, table="by_cores", mode=mode)
    data = frame.sort_values("cores_per_gpu", kind="stable")
    colours = theme.palette(mode)
    data = data.assign(sum_usd=data["cpu_usd_per_step"] + data["idle_usd_per_step"])
    wanted = (
        ("idle_usd_per_step", "GPUs that wait", colours.phases["waiting"], "dash", 2.2),
        ("cpu_usd_per_step", "sandboxes", colours.phases["sandbox"], "dot", 2.2),
        ("sum_usd", "both", colours.text, "solid", 3.0),
    )
    fig = go.Figure(curves(data, "cores_per_gpu", wanted, _core_words))
    here = ("cores_per_gpu", "sum_usd")
    star = {"symbol": "star", "color": colours.good}
    fig.add_traces(marks(data, "chosen", *here, "recommended", _core_words, diamond(mode)))
    fig.add_traces(marks(data, "cheapest", *here, "cheapest", _core_words, star))
    theme.apply(
        fig,
        title=BY_CORES,
        subtitle="Too few cores make GPUs wait, too many stand idle themselves",
        alt=f"Dollars a step against sandbox cores for each GPU at {len(data)} counts. {result.answer}",
        table="by_cores",
        mode=mode,
        x="cores a GPU",
        y="USD a step",
        height=400,
    )
    fig.update_yaxes(tickprefix="$", range=[0, 4 * float(data["sum_usd"].min())])
    few, most = float(data["cores_per_gpu"].min()), float(data["cores_per_gpu"].max())
    if most > WIDE * few > 0:
        fig.update_xaxes(type="log", tickformatstops=theme.TICKS, nticks=6)
    return fig


def _core_words(row: dict[str, object]) -> str:
    lines = [f"<b>{digits3(float(str(row['cores_per_gpu'])))} cores a GPU</b>"]
    for column, words, text in (
        ("cores", "cores", digits3),
        ("wait_p95_s", "s waiting, p95", digits3),
        ("idle_usd_per_step", "a step for GPUs that wait", money),
        ("cpu_usd_per_step", "a step for sandboxes", money),
        ("usd_per_rollout", "a rollout", money),
    ):
        if known(row.get(column)):
            lines.append(f"{text(float(str(row[column])))} {words}")
    if known(row.get("busy_frac")):
        lines.append(f"cores busy {percent(float(str(row['busy_frac'])))}")
    return "<br>".join(lines)


@marked
def cpus(result: Result, mode: Mode = "light") -> go.Figure:
    """Draw the dollars of a rollout on each CPU; a claimed speed is dotted, for it was never measured."""
    frame = result.tables.get("cpus")
    if frame is None or not has(frame, "name", "usd_per_rollout"):
        return theme.empty(result.answer, title=CPUS, table="cpus", mode=mode)
    data = frame.dropna(subset=["usd_per_rollout"])
    colours = theme.palette(mode)
    fig = go.Figure()
    for scenario, name, status in ((False, "measured or reference", "measured"), (True, "claim", "assumed")):
        part = data[data["scenario"].astype(bool) == scenario]
        if len(part):
            marker = theme.status_marker(colours.accent, status, mode)
            labels = [theme.escape(cpu) for cpu in part["name"]]
            fig.add_trace(bars(part, "usd_per_rollout", labels, marker, _cpu_words, name=name))
    lacking = frame[frame["usd_per_rollout"].isna()].to_dict("records")
    theme.apply(
        fig,
        title=CPUS,
        subtitle="Sandboxes and the GPUs that wait for them"
        + "".join(f"; {_lacking(row)}" for row in lacking),
        alt=f"Bars of the dollars of a rollout on {len(data)} CPUs: {', '.join(data['name'])}.",
        table="cpus",
        mode=mode,
        x="USD a rollout",
        height=120 + 46 * len(data),
    )
    return in_order(fig, [theme.escape(cpu) for cpu in data["name"]])


def _lacking(row: Mapping[Hashable, object]) -> str:
    what = "price of a core" if known(row.get("speedup")) else "speed"
    return f"{theme.escape(row['name'])}: no {what} is published"


def _cpu_words(row: dict[str, object]) -> str:
    lines = [f"<b>{theme.escape(row['name'])}</b>: {money(float(str(row['usd_per_rollout'])))} a rollout"]
    if known(row.get("cores_per_gpu")):
        lines.append(f"{digits3(float(str(row['cores_per_gpu'])))} cores a GPU")
    if known(row.get("speedup")):
        lines.append(f"{digits3(float(str(row['speedup'])))} x the speed of x86")
    if row.get("source"):
        lines.append(theme.short(row["source"], 70))
    return "<br>".join(lines)
