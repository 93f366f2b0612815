"""A fitted learning curve with money along it: score, marginal point, and the same curve by platform."""

import math

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from analysis.result import Result
from analysis.words import money
from charts import theme
from charts.axes import log_usd, named_rows, usd
from charts.blocks import band, colours_of, error_bars, has, score_axis
from charts.learning import X_AXES
from charts.synthetic import marked
from charts.theme import Mode

MEASURED, PROJECTED = "measured", "projected"


@marked
def fitted(result: Result, mode: Mode = "light") -> go.Figure:
    """Draw the evaluations of one run, its fitted curve with the 95 % band, the target and the budget."""
    kind = str(result.params.get("x", "usd"))
    words, axis, hover = X_AXES.get(kind, X_AXES["usd"])
    title = f"Fitted learning curve against {words}"
    curve, points = result.tables.get("band"), result.tables.get("points")
    if curve is None or points is None or not has(curve, "x", "score"):
        return theme.empty(result.answer, title=title, table="band", mode=mode)
    run = str(curve["run"].iloc[0])
    colour = colours_of(result, mode).get(run, theme.palette(mode).accent)
    label, tasks = score_axis(points)
    fig = go.Figure(band(list(curve["x"]), _pct(curve["low"]), _pct(curve["high"]), colour, "95 % band"))
    for seen, dash, name in ((True, "solid", "fitted"), (False, "dot", "beyond the last evaluation")):
        part = curve[curve["seen"] == seen]
        if not seen:
            part = pd.concat([curve[curve["seen"]].tail(1), part])
        fig.add_trace(_line(part["x"], _pct(part["score"]), colour, dash, name, hover))
    for used, symbol, name in ((True, "circle", "evaluations"), (False, "circle-open", "start or left out")):
        part = points[points["used"] == used]
        if len(part):
            fig.add_trace(_dots(part, colour, symbol, name, hover))
    theme.apply(
        fig, title=title, subtitle=f"{theme.short(run, 24)}; {tasks}; dotted: beyond what was measured",
        alt=f"{label} of {run} against {words} with its fitted curve and 95 % band. {result.answer}",
        table="band", mode=mode, x=axis, y=label, height=420,
    )  # fmt: skip
    fig.update_xaxes(tickformatstops=theme.TICKS, **({"tickprefix": "$"} if kind == "usd" else {}))
    return _goals(fig, result, kind, mode)


def _pct(values: pd.Series) -> list[float]:
    return [100 * float(v) for v in values]


def _line(x: pd.Series, y: list[float], colour: str, dash: str, name: str, hover: str) -> go.Scatter:
    return go.Scatter(
        x=list(x), y=y, mode="lines", name=name, line={"color": colour, "width": 2.5, "dash": dash},
        hovertemplate=f"{hover}<br>%{{y:.1f}} %<extra>{name}</extra>",
    )  # fmt: skip


def _dots(part: pd.DataFrame, colour: str, symbol: str, name: str, hover: str) -> go.Scatter:
    scaled = 100 * part[["score", "low", "high"]].astype("float64")
    return go.Scatter(
        x=list(part["x"]), y=list(scaled["score"]), mode="markers", name=name,
        marker={"color": colour, "size": 8, "symbol": symbol},
        error_y=error_bars(scaled["score"], scaled["low"], scaled["high"], theme.fade(colour, 0.5)),
        hovertemplate=f"{hover}<br>%{{y:.1f}} %<extra>{name}</extra>",
    )  # fmt: skip


def _goals(fig: go.Figure, result: Result, kind: str, mode: Mode) -> go.Figure:
    """The target as a level, and on the dollar axis the budget and the stop line."""
    quiet = theme.palette(mode).quiet
    style = {"line": {"color": quiet, "width": 1, "dash": "dash"}}
    target = float(result.tables["targets"]["score"].iloc[0])
    fig.add_hline(
        y=100 * target,
        **style,
        annotation_text=f"target {100 * target:.1f} %",
        annotation_position="top left",
    )
    if kind != "usd":
        return fig
    reach = float(result.tables["band"]["x"].max())
    budget, stop = result.tables["budget"], result.tables["stop"]
    for row, (frame, column, name) in enumerate(
        ((budget, "budget_usd", "budget"), (stop, "usd", "stop line"))
    ):
        if len(frame) and math.isfinite(at := float(frame[column].iloc[0])) and 0 < at <= reach:
            fig.add_vline(x=at, **style)
            # at the foot, towards the middle: a rising curve is never there; each label on a line of its own
            fig.add_annotation(
                x=at, y=0, yref="y domain", text=f"{name} {money(at)}", showarrow=False, yanchor="bottom",
                xanchor="left" if at < reach / 2 else "right", yshift=2 + 18 * row,
            )  # fmt: skip
    return fig


@marked
def marginal(result: Result, mode: Mode = "light") -> go.Figure:
    """Draw the marginal dollars of a point against the spend, log scale, with the worth that was typed."""
    title = "Marginal cost of a point, in dollars"
    frame = result.tables.get("marginal")
    if frame is None or not has(frame, "usd", "usd_per_point"):
        return theme.empty(result.answer, title=title, table="marginal", mode=mode)
    data = frame[np.isfinite(frame["usd_per_point"])]
    if data.empty:
        return theme.empty(
            "The curve is flat: no point is left to buy.", title=title, table="marginal", mode=mode
        )
    run = str(data["run"].iloc[0])
    colour = colours_of(result, mode).get(run, theme.palette(mode).accent)
    top = 10 * float(data["usd_per_point"].max())
    high = data["usd_per_point_high"].clip(upper=top)
    fig = go.Figure(band(list(data["usd"]), list(data["usd_per_point_low"]), list(high), colour, "95 % band"))
    fig.add_traces(_points_bought(data, colour))
    worth = result.params.get("worth_usd")
    if worth:
        # a trace: text at a line across a log axis is placed at the power of its value
        fig.add_trace(go.Scatter(
            x=[float(data["usd"].min()), float(data["usd"].max())], y=[float(worth)] * 2, mode="lines",
            name=f"worth {money(float(worth))}", hoverinfo="skip",
            line={"color": theme.palette(mode).text, "width": 1.5, "dash": "dash"},
        ))  # fmt: skip
    last = data[data["seen"]].iloc[-1] if data["seen"].any() else data.iloc[0]
    theme.apply(
        fig, title=title, subtitle=f"{theme.short(run, 24)}; log scale; band cut at ten times the top",
        alt=f"Marginal dollars of a point of {run}, last measured {money(float(last['usd_per_point']))}.",
        table="marginal", mode=mode, x="Cumulative spend (USD)", y="USD per percentage point", height=360,
    )  # fmt: skip
    usd(fig)
    log_usd(fig, [*data["usd_per_point_low"], *high])
    return fig


def _points_bought(data: pd.DataFrame, colour: str) -> list[go.Scatter]:
    kinds = ((True, "solid", "measured range"), (False, "dot", "beyond the last evaluation"))
    parts = [(data[data["seen"] == seen], dash, name) for seen, dash, name in kinds]
    return [
        go.Scatter(
            x=list(part["usd"]), y=list(part["usd_per_point"]), mode="lines", name=name,
            line={"color": colour, "width": 2.5, "dash": dash},
            hovertemplate="%{x:$,.3~r} spent<br>%{y:$,.3~r} per point<extra></extra>",
        )
        for part, dash, name in parts
    ]  # fmt: skip


@marked
def by_platform(result: Result, mode: Mode = "light") -> go.Figure:
    """Draw score against dollars of the same curve on every platform, measured solid, projected dotted."""
    title = "The same learning curve by platform, in dollars"
    frame = result.tables.get("lines")
    if frame is None or not has(frame, "usd", "score"):
        return theme.empty(result.answer, title=title, table="lines", mode=mode)
    colours = theme.palette(mode).runs
    names = list(dict.fromkeys(frame["target"]))
    fig = go.Figure()
    for place, target in enumerate(names):
        part = frame[frame["target"] == target]
        colour, name = colours[place % len(colours)], str(part["platform"].iloc[0])
        dash = "solid" if part["kind"].iloc[0] == MEASURED else "dash"
        if place in (0, len(names) - 1):
            ends = _pct(part["low"]), _pct(part["high"])
            fig.add_traces(band(list(part["usd"]), *ends, colour, f"95 %, {name}"))
        fig.add_trace(_line(part["usd"], _pct(part["score"]), colour, dash, name, "%{x:$,.3~r}"))
    theme.apply(
        fig, title=title, subtitle="equal GPUs, the same steps; dashed: projected; bands: first and last",
        alt=f"Score against dollars on {len(names)} platforms. {result.answer}",
        table="lines", mode=mode, x="Cumulative spend (USD)", y="Score (%)", height=420,
    )  # fmt: skip
    usd(fig)
    return fig


@marked
def platform_costs(result: Result, mode: Mode = "light") -> go.Figure:
    """Draw dollars to the target by platform with 95 % whiskers; an open end is an arrow."""
    title = "Dollars to the target by platform"
    frame = result.tables.get("platforms")
    if frame is None or not has(frame, "usd") or not np.isfinite(frame["usd"].dropna()).any():
        return theme.empty(result.answer, title=title, table="platforms", mode=mode)
    data = frame[np.isfinite(frame["usd"].astype("float64"))].reset_index(drop=True)
    ends = data["usd_high"].astype("float64")
    reach = 1.3 * float(max(data["usd"].max(), ends[np.isfinite(ends)].max(), data["usd"].max() * 1.2))
    high, open_end = ends.clip(upper=reach), ~np.isfinite(ends)
    colours = theme.palette(mode)
    fig = go.Figure(go.Scatter(
        x=data["usd"], y=list(range(len(data))), mode="markers", showlegend=False,
        marker={"size": 11, "color": colours.accent,
                "symbol": ["circle" if k == MEASURED else "circle-open" for k in data["kind"]]},
        error_x=error_bars(data["usd"], data["usd_low"], high, colours.text),
        customdata=[[theme.escape(p), *_ends(low, top)] for p, low, top in
                    zip(data["platform"], data["usd_low"], ends, strict=True)],
        hovertemplate="<b>%{customdata[0]}</b><br>%{x:$,.3~r}<br>%{customdata[1]} to %{customdata[2]}"
        "<extra></extra>",
    ))  # fmt: skip
    arrows = {"symbol": "triangle-right", "size": 9, "color": colours.text}
    fig.add_trace(go.Scatter(
        x=[reach] * int(open_end.sum()), y=[n for n, o in enumerate(open_end) if o], mode="markers",
        marker=arrows, hoverinfo="skip", name="no upper end",
        showlegend=bool(open_end.any()),
    ))  # fmt: skip
    best = data.loc[data["usd"].idxmin()]
    theme.apply(
        fig, title=title, subtitle="95 % interval; open circle: projected; arrow: without an upper end",
        alt=f"Dollars to the target; {best['platform']} is lowest at {money(float(best['usd']))}.",
        table="platforms", mode=mode, x="USD to the target", height=120 + 44 * len(data),
    )  # fmt: skip
    named_rows(fig, [theme.short(p, 22) for p in data["platform"]])
    usd(fig, rangemode="tozero")
    return fig


def _ends(low: float, high: float) -> list[str]:
    return [money(low), money(high) if math.isfinite(high) else "no upper end"]
