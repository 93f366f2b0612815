"""Tornado: how far each input alone moves the answer from one end of its range to the other."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from analysis.result import Result
from analysis.words import count, digits3, money, percent
from charts import theme
from charts.blocks import has
from charts.projection_style import known, rows_dressed
from charts.synthetic import marked
from charts.theme import Mode

TITLE = "What moves the answer"
FIVE, YOURS = 5, "yours to set"
LOW, HIGH = "input at its low end", "input at its high end"
MEASURED = frozenset({"measured", "published range", "published", "second_hand", "vendor_spec", "analyst"})
"""Where a range comes from runs or publications its bar is solid, else dotted as every assumption."""


@dataclass(frozen=True)
class Outcome:
    """What a tornado is about: columns with the answer at both ends, its name on the axis, and its unit."""

    low: str
    high: str
    words: str
    unit: str


RULES = {
    "cadence": "One input at a time: what is drawn from p10 to p90, settings over the range named beside",
}
RULE = "One input at a time, from one end of its range to the other"
OUTCOMES = {
    "cadence": Outcome("cycle_h_low", "cycle_h_high", "Cycle time (h)", "h"),
    "forecast": Outcome("at_low_usd", "at_high_usd", "Spend over the horizon (USD)", "usd"),
    "commitments": Outcome("at_low_usd", "at_high_usd", "Expected cost, present value (USD)", "usd"),
}
"""Question -> its outcome; a table with columns `outcome` and `outcome_unit` says it itself."""


@marked
def tornado(result: Result, mode: Mode = "light", most: int = FIVE) -> go.Figure:
    """Draw the `most` inputs that matter most, the widest on top, with the answer as a line."""
    frame = result.tables.get("tornado")
    about = outcome_of(result)
    if frame is None or about is None or not has(frame, "label", about.low, about.high):
        why = "No input has a range, or there is no answer that it could move."
        return theme.empty(why, title=TITLE, table="tornado", mode=mode)
    data = frame.dropna(subset=[about.low, about.high]).head(most)
    names = [f"{place}" for place in range(len(data))]
    rows = [dict(row, place=name) for row, name in zip(data.to_dict("records"), names, strict=True)]
    middle = _middle(result, frame, about)
    fig = go.Figure(_bars(rows, about, middle, mode))
    if middle is not None:
        fig.add_trace(_answer(middle, names, about, mode))
    rows_dressed(
        fig,
        names,
        [(theme.escape(row["label"]), _range(row)) for row in rows],
        title=_title(about),
        note=f"{RULES.get(result.analysis, RULE)}; solid: range measured or published, dotted: assumed",
        alt=f"Tornado of {len(rows)} inputs; {rows[0]['label']} moves the answer most.",
        table="tornado",
        mode=mode,
        x=about.words,
    )
    fig.update_layout(barmode="overlay")
    fig.update_xaxes(tickformatstops=theme.TICKS, nticks=6, **_axis(about.unit))
    return fig


def _title(about: Outcome) -> str:
    """'What moves the cycle time (h)'; a name such as 'GPU dollars' keeps its capitals."""
    words = about.words[:1].lower() + about.words[1:] if about.words[1:2].islower() else about.words
    return f"What moves the {words}"


def outcome_of(result: Result) -> Outcome | None:
    """Return what the tornado of a result is about, None where nothing says it."""
    frame = result.tables.get("tornado")
    if frame is not None and {"outcome", "outcome_unit"} <= set(frame.columns) and len(frame):
        first = frame.iloc[0]
        words = str(first["outcome"])
        return Outcome("at_low", "at_high", words[:1].upper() + words[1:], str(first["outcome_unit"]))
    return OUTCOMES.get(result.analysis)


def _axis(unit: str) -> dict[str, Any]:
    if unit.startswith("usd"):
        return {"tickprefix": "$"}
    return {"ticksuffix": " %"} if unit == "frac" else {}


def _scaled(value: float, unit: str) -> float:
    return 100 * value if unit == "frac" else value


def _middle(result: Result, frame: pd.DataFrame, about: Outcome) -> float | None:
    """The answer itself: of the table, else of the headline, else where all inputs agree that it is."""
    for column in ("at_value", "cycle_h"):
        if column in frame.columns and known(frame[column].iloc[0]):
            return float(frame[column].iloc[0])
    names = {"cadence": "cadence_cycle_h", "forecast": "forecast_usd", "commitments": "commitments_cost"}
    wanted = names.get(result.analysis)
    found = next((f.value for f in result.headline if f.name == wanted), None)
    inside = [
        min(row[about.low], row[about.high]) <= found <= max(row[about.low], row[about.high])
        for row in frame.to_dict("records")
        if found is not None and known(row[about.low]) and known(row[about.high])
    ]
    return found if inside and all(inside) else None


def _bars(rows: list[dict[str, Any]], about: Outcome, middle: float | None, mode: Mode) -> list[go.Bar]:
    """From the answer to each end; without an answer one bar from end to end."""
    colours = theme.palette(mode)
    ends = [(about.low, LOW, colours.runs[0]), (about.high, HIGH, colours.runs[1])]
    traces = []
    for column, name, colour in ends:
        for solid in (True, False):
            part = [row for row in rows if _is_solid(row) == solid]
            if part:
                traces.append(_bar(part, column, name, colour, solid, about, middle, mode))
    seen: set[str] = set()
    for trace in traces:
        trace.showlegend = trace.name not in seen
        seen.add(str(trace.name))
    return traces


def _answer(middle: float, names: list[str], about: Outcome, mode: Mode) -> go.Scatter:
    """The answer with nothing moved, on each bar: a line over all would run through the names above them."""
    colour = theme.palette(mode).text
    return go.Scatter(
        x=[_scaled(middle, about.unit)] * len(names),
        y=names,
        mode="markers",
        name=f"the answer, {in_unit(middle, about.unit)}",
        marker={"symbol": "line-ns", "size": 20, "line": {"width": 2.2, "color": colour}, "color": colour},
        hoverinfo="skip",
    )


def _is_solid(row: Mapping[str, Any]) -> bool:
    said = str(row.get("status") or row.get("basis") or "")
    return said in MEASURED if said else not str(row.get("source") or YOURS).endswith(YOURS)


def _bar(
    rows: list[dict[str, Any]],
    column: str,
    name: str,
    colour: str,
    solid: bool,
    about: Outcome,
    middle: float | None,
    mode: Mode,
) -> go.Bar:
    starts = [_start(row, about, middle) for row in rows]
    reach = [_scaled(row[column] - start, about.unit) for row, start in zip(rows, starts, strict=True)]
    return go.Bar(
        x=reach,
        base=[_scaled(start, about.unit) for start in starts],
        y=[row["place"] for row in rows],
        orientation="h",
        name=name,
        legendgroup=name,
        marker=theme.status_marker(colour, "measured" if solid else "assumed", mode),
        customdata=[_hover(row, about, column == about.low) for row in rows],
        hovertemplate="%{customdata}<extra></extra>",
    )


def _start(row: Mapping[str, Any], about: Outcome, middle: float | None) -> float:
    return float((row[about.low] + row[about.high]) / 2 if middle is None else middle)


def _hover(row: Mapping[str, Any], about: Outcome, low: bool) -> str:
    at = _end(row, "low" if low else "high")
    lines = [
        f"<b>{theme.escape(row['label'])}</b> at {in_unit(at, str(row.get('unit') or ''))}",
        in_unit(row[about.low if low else about.high], about.unit),
        theme.short(row.get("source") or "", 70),
    ]
    return "<br>".join(line for line in lines if line)


def _end(row: Mapping[str, Any], end: str) -> object:
    return row.get(f"{end}_value") if f"{end}_value" in row else row.get(end)


def _range(row: Mapping[str, Any]) -> str:
    """The ends of the input, quiet beside its name."""
    unit = str(row.get("unit") or "")
    ends = [_end(row, "low"), _end(row, "high")]
    if not all(known(end) for end in ends):
        return theme.escape(" – ".join(str(end) for end in ends if end not in (None, "") and end == end))
    told = list(dict.fromkeys(in_unit(end, unit) for end in ends))
    tails = {text.partition(" ")[2] for text in told}
    if len(told) == 2 and len(tails) == 1 and "$" not in told[0]:
        told[0] = told[0].partition(" ")[0]
    return theme.escape(" – ".join(told))


def in_unit(value: object, unit: str) -> str:
    """Return a number as text in its unit: percents for fractions, dollars with their sign."""
    if not known(value):
        return "" if value is None or value != value else str(value)
    number, low = float(str(value)), unit.lower()
    if low.startswith("frac"):
        return percent(number) + (low.removeprefix("fraction").removeprefix("frac") or "").rstrip()
    if low.startswith("usd"):
        return money(number)
    shown = count(number) if number == int(number) else digits3(number)
    return f"{shown} {'' if low in ('', 'count', 'ratio') else unit}".strip()
