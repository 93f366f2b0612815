"""The front of cost and score: error boxes, the staircase of the front, and how sure each place on it is."""

import math

import pandas as pd
import plotly.graph_objects as go

from analysis.result import Result
from analysis.words import money, percent
from charts import theme
from charts.axes import log_usd, named_rows
from charts.blocks import colours_of, has
from charts.synthetic import marked
from charts.theme import Mode

MOST = 40


@marked
def pareto(result: Result, mode: Mode = "light") -> go.Figure:
    """Draw score against dollars, a point a candidate with the box of both 95 % intervals, and the front."""
    title = "Score against cost, with the Pareto front"
    frame = result.tables.get("candidates")
    if not has(frame, "run", "usd", "score"):
        why = result.answer or "No run has both a score and dollars."
        return theme.empty(why, title=title, table="candidates", mode=mode)
    data = frame.head(MOST).reset_index(drop=True)
    colours = _colours(result, data, mode)
    fig = go.Figure([_front(data, mode)])
    for group, part in data.groupby("group", sort=False):
        fig.add_traces([_box(row, colours[str(group)]) for row in part.to_dict("records")])
        fig.add_trace(_points(part, str(group), colours[str(group)]))
    where = theme.short(data["benchmark"].iloc[0], 24)
    theme.apply(
        fig, title=title,
        subtitle="boxes: quotes by the 95 % interval of the score; hollow: below the front",
        alt=f"Score against dollars of {len(data)} candidates; {int(data['on_front'].sum())} on the front.",
        table="candidates", mode=mode, x="Spend (USD, log scale)", y=f"Score on {where} (%)", height=420,
    )  # fmt: skip
    ends = [math.log10(data["usd_low"].min()), math.log10(data["usd_high"].max())]
    room = 0.06 * max(0.1, ends[1] - ends[0])
    log_usd(fig, [*data["usd_low"], *data["usd_high"]], "x", range=[ends[0] - room, ends[1] + room])
    return fig


def _colours(result: Result, data: pd.DataFrame, mode: Mode) -> dict[str, str]:
    groups = [str(group) for group in dict.fromkeys(data["group"])]
    return colours_of(result, mode) if result.params.get("by") == "run" else theme.run_colours(groups, mode)


def _front(data: pd.DataFrame, mode: Mode) -> go.Scatter:
    on = data[data["on_front"]].sort_values("usd", kind="stable")
    return go.Scatter(
        x=on["usd"], y=100 * on["score"], mode="lines", name="Front", hoverinfo="skip",
        line={"color": theme.palette(mode).quiet, "width": 1.5, "dash": "dot", "shape": "hv"},
    )  # fmt: skip


def _box(row: dict[str, object], colour: str) -> go.Scatter:
    """Along the high side of the box and back along its low one."""
    low, high = (100 * float(row[name]) for name in ("low", "high"))  # type: ignore[arg-type]
    return go.Scatter(
        x=[row["usd_low"], row["usd_high"], row["usd_high"], row["usd_low"]], y=[high, high, low, low],
        fill="toself", mode="lines", line={"width": 1, "color": theme.fade(colour, 0.6)},
        fillcolor=theme.fade(colour, 0.15), name=theme.escape(f"{row['run']}, interval"), showlegend=False,
        hoverinfo="skip",
    )  # fmt: skip


def _points(part: pd.DataFrame, group: str, colour: str) -> go.Scatter:
    symbols = ["circle" if on else "circle-open" for on in part["on_front"]]
    return go.Scatter(
        x=part["usd"], y=100 * part["score"], mode="markers", name=theme.short(group, 24),
        marker={"size": 11, "color": colour, "symbol": symbols, "line": {"width": 2, "color": colour}},
        customdata=[_told(row) for row in part.to_dict("records")],
        hovertemplate="%{customdata}<extra></extra>",
    )  # fmt: skip


def _told(row: dict[str, object]) -> str:
    lines = [f"<b>{theme.escape(row['run'])}</b> {theme.escape(row['checkpoint'] or '')}"]
    lines.append(f"{percent(float(row['score']))} for {money(float(row['usd']))}")  # type: ignore[arg-type]
    lines.append(f"on the front with probability {percent(float(row['front_frac']))}")  # type: ignore[arg-type]
    lines.append(f"best with probability {percent(float(row['best_frac']))}")  # type: ignore[arg-type]
    return "<br>".join(lines)


@marked
def probabilities(result: Result, mode: Mode = "light") -> go.Figure:
    """Draw for each candidate the probability of being on the front and of being best."""
    title = "How sure the front and the best are"
    frame = result.tables.get("candidates")
    if not has(frame, "run", "front_frac"):
        return theme.empty(result.answer or "No run has a place.", title=title, table="candidates", mode=mode)
    data = frame.head(MOST).reset_index(drop=True)
    many = data["run"].duplicated().any()
    names = [theme.short(n, 22) for n in (data["checkpoint"] if many else data["run"])]
    colours = theme.palette(mode)
    told = (("front_frac", "On the front", colours.accent), ("best_frac", "Best score", colours.good))
    fig = go.Figure([_bars(data, names, column, name, colour) for column, name, colour in told])
    theme.apply(
        fig, title=title, subtitle="share of joint draws of score and price",
        alt=f"Probabilities of {len(data)} candidates to be on the front and to be best.",
        table="candidates", mode=mode, x="Probability (%)", height=110 + 44 * len(data),
    )  # fmt: skip
    fig.update_layout(barmode="group", bargap=0.35)
    fig.update_xaxes(range=[0, 100])
    named_rows(fig, names)
    return fig


def _bars(data: pd.DataFrame, names: list[str], column: str, name: str, colour: str) -> go.Bar:
    return go.Bar(
        x=100 * data[column], y=list(range(len(data))), orientation="h", name=name, marker={"color": colour},
        customdata=names, hovertemplate="%{customdata}: %{x:.3g} %<extra>%{fullData.name}</extra>",
    )  # fmt: skip
