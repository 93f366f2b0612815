"""Scenarios side by side: the figure that they share, with its range, one bar a scenario."""

from typing import Any

import plotly.graph_objects as go

from analysis.result import Result
from charts import theme
from charts.blocks import error_bars, has
from charts.planned import bars, in_order
from charts.synthetic import marked
from charts.text import quantity
from charts.theme import Mode

TITLE = "Side by side"


@marked
def side_by_side(result: Result, mode: Mode = "light", name: str = "") -> go.Figure:
    """Draw the figure called `name`, else the first in dollars that all scenarios know, for each of them."""
    frame = result.tables.get("values")
    chosen = name or _shared(result)
    if frame is None or not chosen or not has(frame[frame["name"] == chosen], "scenario", "value"):
        why = "No figure is known in all scenarios."
        return theme.empty(why, title=TITLE, table="values", mode=mode)
    data = frame[frame["name"] == chosen].dropna(subset=["value"])
    colours = theme.palette(mode)
    first = data.iloc[0]
    labels = [theme.short(scenario, 34) for scenario in data["scenario"]]
    scale = 100.0 if first["unit"] == "frac" else 1.0
    shown = data.assign(x=scale * data["value"].astype(float))
    ends = (scale * data["low"].astype(float), scale * data["high"].astype(float))
    whiskers = error_bars(shown["x"], *ends, colours.text)
    marker = theme.status_marker(colours.accent, "projected", mode)
    fig = go.Figure(bars(shown, "x", labels, marker, _words, whiskers=whiskers))
    money = str(first["unit"]).lower().startswith("usd")
    unit = "%" if scale == 100 else "USD" if money else str(first["unit"]).replace("_", " ")
    theme.apply(
        fig,
        title=str(first["label"]),
        subtitle="Each answered with today's data and prices; whiskers: its range",
        alt=f"Bars of {first['label']} in {len(labels)} scenarios: "
        + ", ".join(f"{row['scenario']} {quantity(row['value'], row['unit'])}" for row in _rows(data)),
        table="values",
        mode=mode,
        x=unit,
        height=110 + 38 * len(labels),
    )
    fig.update_layout(showlegend=False)
    return in_order(fig, labels, dollars=money)


def _rows(data: Any) -> list[dict[str, Any]]:
    return [{str(k): v for k, v in row.items()} for row in data.to_dict("records")]


def _words(row: dict[str, Any]) -> str:
    text = f"<b>{theme.escape(row['scenario'])}</b>: {quantity(row['value'], row['unit'])}"
    if row["low"] == row["low"] and row["low"] is not None and row["low"] < (row["high"] or row["low"]):
        text += f" ({quantity(row['low'], row['unit'])} – {quantity(row['high'], row['unit'])})"
    return text


def _shared(result: Result) -> str:
    """The first figure, dollars before others, that more than one scenario knows."""
    frame = result.tables.get("values")
    if frame is None or frame.empty:
        return ""
    known = frame.dropna(subset=["value"])
    counts = known.groupby("name", sort=False)["scenario"].nunique()
    names = [str(n) for n in counts[counts == counts.max()].index]
    units = dict(zip(known["name"], known["unit"], strict=True))
    dollars = [n for n in names if str(units[n]).lower().startswith("usd")]
    return (dollars or names or [""])[0]
