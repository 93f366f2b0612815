"""Where the time of each step went, and how long a step would be if one phase were free."""

import math

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from analysis.checks import CHECKS
from analysis.result import Result
from charts import theme
from charts.blocks import has
from charts.folding import FOLDED, fold, parts_told
from charts.synthetic import marked
from charts.theme import Mode

MOST_POOLS = 4
MOST_TICKS = 7
WAIT = "wait"


@marked
def step_stack(result: Result, mode: Mode = "light") -> go.Figure:
    """Draw seconds of each step by phase; a pool with its own clock gets its own panel."""
    return _stack(result, mode, dollars=False)


@marked
def step_stack_usd(result: Result, mode: Mode = "light") -> go.Figure:
    """Draw dollars of each step by phase: seconds at what the pools that they occupy cost a second."""
    return _stack(result, mode, dollars=True)


def _stack(result: Result, mode: Mode, dollars: bool) -> go.Figure:
    unit = "dollars" if dollars else "seconds"
    title = f"Each step by phase, in {unit}"
    frame = result.tables.get("steps")
    if not has(frame, "run", "bin", "phase", "seconds"):
        why = "No step is timed by phase: upload a training log that holds timers."
        return theme.empty(why, title=title, table="steps", mode=mode)
    run = main_run(result)
    data = with_dollars(frame[frame["run"] == run], result.tables.get("phases"))
    value = "usd" if dollars else "seconds"
    if not has(data, value):
        why = f"{run} has no dollars yet: fill in its pools, platform and price in the run details."
        return theme.empty(why, title=title, table="steps", mode=mode)
    data = data[data[value].notna()]
    pools = [str(p) for p in data.groupby("pool")["seconds"].sum().sort_values(ascending=False).index][
        :MOST_POOLS
    ]
    data, folded = fold(data[data["pool"].isin(pools)], value, "pool")
    names = [theme.short(f"pool {p}" if p else "whole job", 30) for p in pools]
    fig = make_subplots(
        rows=len(pools),
        cols=1,
        shared_xaxes=True,
        vertical_spacing=0.09,
        subplot_titles=names if len(pools) > 1 else None,
    )
    notes = _hover_notes(data, result.tables.get("flags"))
    seen: set[str] = set()
    for place, pool in enumerate(pools, 1):
        for trace in _pool_bars(data[data["pool"] == pool], value, notes, mode):
            trace.showlegend = trace.legendgroup not in seen
            seen.add(trace.legendgroup)
            fig.add_trace(trace, row=place, col=1)
    _dress(fig, data, title, run, dollars, folded, mode)
    return fig


def main_run(result: Result) -> str:
    """Return the run a figure of one run shows: the dearest, else the one with most step seconds."""
    steps = result.tables["steps"]
    phases = result.tables.get("phases")
    if has(phases, "usd"):
        spent = phases.groupby("run")["usd"].sum()
        spent = spent[spent.index.isin(steps["run"])]
        if len(spent):
            return str(spent.idxmax())
    return str(steps.groupby("run")["seconds"].sum().idxmax())


def with_dollars(steps: pd.DataFrame, phases: pd.DataFrame | None) -> pd.DataFrame:
    """Add `usd` to the stack: seconds times what a second of that phase costs in the phase table."""
    if not has(phases, "usd", "total_s"):
        return steps.assign(usd=float("nan"))
    keys = ["run", "pool", "phase", "kind"]
    priced = (
        phases[phases["total_s"].ne(0)].groupby(keys, as_index=False)[["usd", "total_s"]].sum(min_count=1)
    )
    priced["rate"] = priced["usd"] / priced["total_s"]
    out = steps.merge(priced[[*keys, "rate"]], on=keys, how="left")
    rest = priced[priced["kind"] == "rest"].set_index(["run", "pool"])["rate"]
    waits = out["kind"] == WAIT  # inside the rest of the pool's step, so it costs what that costs
    places = pd.MultiIndex.from_frame(out.loc[waits, ["run", "pool"]])
    out.loc[waits, "rate"] = rest[~rest.index.duplicated()].reindex(places).to_numpy()
    out["usd"] = out["seconds"] * out["rate"]
    return out.drop(columns="rate")


def _hover_notes(data: pd.DataFrame, flags: pd.DataFrame | None) -> dict[int, str]:
    """Return bin -> text that names the steps, the attempt, lost work and the checks that failed there."""
    notes = {}
    for row in data.drop_duplicates("bin").to_dict("records"):
        first, last = row["step_first"], row["step_last"]
        text = f"step {first:g}" if first == last else f"mean of steps {first:g}–{last:g}"
        text += f", attempt {row['attempt']:g}"
        if not bool(row.get("kept", True)):
            text += "<br>lost: no later work builds on it"
        for check in _failed(row, flags):
            text += f"<br>check failed: {theme.escape(CHECKS[check].title.lower())}"
        notes[int(row["bin"])] = text
    return notes


def _failed(row: dict[str, object], flags: pd.DataFrame | None) -> list[str]:
    if not has(flags, "run", "attempt", "step", "check_name"):
        return []
    mine = flags[(flags["run"] == row["run"]) & (flags["attempt"] == row["attempt"])]
    mine = mine[(mine["step"] >= row["step_first"]) & (mine["step"] <= row["step_last"])]
    return sorted(set(mine["check_name"].astype(str)))


def _pool_bars(data: pd.DataFrame, value: str, notes: dict[int, str], mode: Mode) -> list[go.Bar]:
    shown = "%{y:$,.3~r}" if value == "usd" else "%{y:,.3~r} s"
    amount = "${:,.3g}" if value == "usd" else "{:,.3g} s"
    traces = []
    for phase in theme.ordered_phases(data["phase"]):
        columns = {value: (value, "sum"), "kept": ("kept", "min")}
        rows = data[data["phase"] == phase]
        part = rows.groupby("bin", as_index=False).agg(**columns)
        label = theme.phase_label(phase)
        told: dict[int, str] = {}
        if phase == FOLDED:
            told = parts_told(rows, "bin", value, amount)
        faded = [1.0 if kept else 0.4 for kept in part["kept"].fillna(True)]
        traces.append(
            go.Bar(
                x=part["bin"],
                y=part[value],
                name=label,
                legendgroup=phase,
                marker={**theme.phase_marker(phase, mode), "opacity": faded},
                customdata=[notes[int(b)] + told.get(b, "") for b in part["bin"]],
                hovertemplate=f"<b>{label}</b> {shown}<br>%{{customdata}}<extra></extra>",
            )
        )
    return traces


def _dress(
    fig: go.Figure,
    data: pd.DataFrame,
    title: str,
    run: str,
    dollars: bool,
    folded: str,
    mode: Mode,
) -> None:
    pools = data["pool"].nunique()
    bins = data.drop_duplicates("bin").sort_values("bin")
    lost = "; pale: lost in a failed attempt" if not bins["kept"].fillna(True).all() else ""
    notes = f"{lost}{'; ' if folded else ''}{folded}"
    unit = "Spend a step (USD)" if dollars else "Seconds a step (s)"
    theme.apply(
        fig,
        title=title,
        subtitle=f"{theme.short(run, 24)}; hatched: in no phase{notes}",
        alt=f"Stacked bars of {unit.lower()} by phase over the steps of {run}.",
        table="steps",
        mode=mode,
        height=340 if pools == 1 else 190 * pools + 60,
    )
    ticks = step_ticks(bins)
    fig.update_layout(barmode="relative", bargap=0 if len(bins) > 40 else 0.1)
    fig.update_xaxes(tickvals=list(ticks), ticktext=[f"{s:,}" for s in ticks.values()], showgrid=False)
    fig.update_xaxes(title_text="Step", row=pools, col=1)
    fig.update_yaxes(title_text=unit if pools == 1 else unit.split(" ")[-1].strip("()"))
    if dollars:
        fig.update_yaxes(tickprefix="$")
    theme.name_panels(fig, mode)


def step_ticks(bins: pd.DataFrame) -> dict[int, int]:
    """Return {bin: step} for the axis of a stack: round steps, each at the first bin that holds it."""
    first, last = int(bins["step_first"].min()), int(bins["step_last"].max())
    apart = max(1.0, (last - first) / MOST_TICKS)
    scale = 10 ** math.floor(math.log10(apart))
    stride = next(round(scale * n) for n in (1, 2, 5, 10) if scale * n >= apart)
    ticks: dict[int, int] = {}
    for row in bins.itertuples():
        step = int(row.step_last) // stride * stride
        if row.step_first <= step and step not in ticks.values():
            ticks[int(row.bin)] = step
    return ticks


@marked
def if_free(result: Result, mode: Mode = "light") -> go.Figure:
    """Draw the step time if each phase were free, beside the step as it is."""
    title = "Step time if one phase were free, in seconds"
    frame = result.tables.get("phases")
    if not has(frame, "run", "phase", "step_if_free_s"):
        why = "No phase is timed in a way that says what a step would take without it."
        return theme.empty(why, title=title, table="phases", mode=mode)
    run = main_run(result) if has(result.tables.get("steps"), "run") else str(frame["run"].iloc[0])
    data = frame[(frame["run"] == run) & frame["step_if_free_s"].notna() & frame["mean_s"].gt(0)]
    if data.empty:
        notes = frame.loc[frame["run"] == run, "free_note"].dropna()
        why = next((str(n) for n in notes if n), "nothing is timed by phase")
        return theme.empty(f"{run}: {why}.", title=title, table="phases", mode=mode)
    data = data.sort_values("step_if_free_s", kind="stable").head(12).reset_index(drop=True)
    now = float(data["step_mean_s"].iloc[0])
    coloured, _ = fold(data, "mean_s")
    fig = go.Figure(_free_bars(data, list(coloured["phase"]), mode))
    theme.apply(
        fig,
        title=title,
        subtitle=f"{theme.short(run, 24)}; the line is the mean step as it is, {now:.3g} s",
        alt=f"Step time of {run} without each phase; without {data['phase'].iloc[0]} a step would take "
        f"{data['step_if_free_s'].iloc[0]:.3g} s instead of {now:.3g} s.",
        table="phases",
        mode=mode,
        x="Step time without that phase (s)",
        height=104 + 30 * len(data),
    )
    fig.add_vline(x=now, line={"color": theme.palette(mode).text, "width": 1.5})
    fig.update_layout(bargap=0.35, showlegend=False)
    fig.update_xaxes(range=[0, 1.08 * max(now, float(data["step_if_free_s"].max()))])
    fig.update_yaxes(autorange="reversed", showgrid=False)
    return fig


def _free_bars(data: pd.DataFrame, fills: list[str], mode: Mode) -> go.Bar:
    many = data["pool"].nunique() > 1
    waits = {"wait": "waiting for ", "exposed": "exposed "}
    labels = []
    for row in data.itertuples():
        label = theme.phase_label(row.phase)
        head = waits.get(str(row.kind), "")
        label = f"{head}{label.lower()}".capitalize() if head else label
        labels.append(f"{label} · {theme.short(row.pool, 12)}" if many and row.pool else label)
    saved = data["step_mean_s"] - data["step_if_free_s"]
    return go.Bar(
        x=data["step_if_free_s"],
        y=labels,
        orientation="h",
        marker={"color": [theme.phase_colour(p, mode) for p in fills]},
        customdata=list(zip(saved, data["free_note"].map(theme.escape), strict=True)),
        hovertemplate="<b>%{y}</b> free: %{x:,.3~r} s<br>saves %{customdata[0]:,.3~r} s a step"
        "<br>%{customdata[1]}<extra></extra>",
    )
