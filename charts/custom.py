"""A chart of the rows of a person's own SELECT, by type, x, y, colour and facet."""

import html
from collections.abc import Sequence
from typing import Any, Protocol

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from charts import custom_rows, theme
from charts.custom_marks import Marks
from charts.custom_rows import Ready, Wanted, fault, is_ratio, label
from charts.theme import Mode

__all__ = ["Wanted", "draw", "draw_cell", "fault", "fault_of"]
COLUMNS = 3
PANEL_PX, ONE_PX, NAME_PX = 260, 400, 16
PERCENT = ",.3~p"
MOST_NAMED, LETTER_PX, PHONE_PX = 60, 6, 300
"""Places on x whose names are all shown; the width of a letter, and of a plot on a phone."""
RUN = "run"
"""The column that names runs wherever the app has one."""


class Picked(Protocol):
    """A chart cell of a notebook, or whatever has its fields."""

    @property
    def chart(self) -> str: ...
    @property
    def x(self) -> str: ...
    @property
    def y(self) -> tuple[str, ...]: ...
    @property
    def colour(self) -> str: ...
    @property
    def facet(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def unit(self) -> str: ...
    @property
    def source(self) -> str: ...


def draw(
    rows: pd.DataFrame,
    *,
    chart: str,
    x: str = "",
    y: Sequence[str] = (),
    colour: str = "",
    facet: str = "",
    title: str = "",
    unit: str = "",
    source: str = "",
    mode: Mode = "light",
    runs: Sequence[str] = (),
    cut: bool = False,
) -> go.Figure:
    """Draw rows as one of line, area, bar, scatter, histogram, box, heat_map; words where that cannot be.

    `runs` are those of the home as they came: coloured by `run`, each has the colour it has everywhere.
    `cut`: the SELECT has more rows than these, which is said.

    At most 4,000 points, 8 colours and 6 panels are drawn; what is left out or summed stands under the title.
    A heat map has x and y as its sides and the numbers of `colour` as its tiles, else the count of rows.
    `layout.meta` tells `returned` and `drawn`: rows given, and rows seen as a mark or within one.
    """
    wanted = Wanted(chart, x, tuple(y), colour, facet, title, unit, source)
    why = fault(rows, wanted)
    heading = theme.escape(title) or _heading(wanted)
    table = theme.escape(source) or "rows"
    if why:
        fig = theme.empty(why, title=heading, table=table, mode=mode)
        return _counted(fig, len(rows), 0)
    ready = custom_rows.ready(rows, wanted)
    if ready.frame.empty:
        why = "No row has a value in every picked column. Pick others, or fill them in the SELECT."
        return _counted(theme.empty(why, title=heading, table=table, mode=mode), len(rows), 0)
    if cut:
        ready.notes.insert(0, f"only the first {len(rows):,} rows: the result was cut at the limit")
    if colour == RUN and len(y) < 2:
        ready.colours = theme.run_colours([*runs, *ready.series], mode)
    marks = Marks(ready, chart, mode)
    fig = _placed(marks, ready, mode)
    _dress(fig, wanted, ready, marks, heading, table, mode)
    return _counted(fig, len(rows), min(len(rows), marks.drawn))


def draw_cell(
    cell: Picked, rows: pd.DataFrame, mode: Mode = "light", runs: Sequence[str] = (), *, cut: bool = False
) -> tuple[go.Figure, int]:
    """Draw the rows as a chart cell says; also return how many of them are drawn."""
    fig = draw(
        rows,
        chart=cell.chart,
        x=cell.x,
        y=cell.y,
        colour=cell.colour,
        facet=cell.facet,
        title=cell.title,
        unit=cell.unit,
        source=cell.source,
        mode=mode,
        runs=runs,
        cut=cut,
    )
    return fig, int(fig.layout.meta["drawn"])


def fault_of(cell: Picked, rows: pd.DataFrame) -> str:
    """Return why a chart cell cannot draw these rows, and what to pick; '' when it can."""
    return fault(
        rows, Wanted(cell.chart, cell.x, cell.y, cell.colour, cell.facet, cell.title, cell.unit, cell.source)
    )


def _placed(marks: Marks, ready: Ready, mode: Mode) -> go.Figure:
    """One plot, or one a panel with shared axes."""
    if len(ready.panels) == 1:
        return go.Figure([trace for trace, _ in marks.traces])
    across = min(COLUMNS, len(ready.panels))
    down = -(-len(ready.panels) // across)
    fig = make_subplots(
        rows=down,
        cols=across,
        shared_xaxes="all",
        shared_yaxes="all",
        subplot_titles=[theme.short(name) for name in ready.panels],
        vertical_spacing=0.14 if down > 1 else 0.0,
        horizontal_spacing=0.04,
    )
    for trace, panel in marks.traces:
        place = ready.panels.index(panel)
        fig.add_trace(trace, row=place // across + 1, col=place % across + 1)
    theme.name_panels(fig, mode)
    for place, note in enumerate(fig.layout.annotations):
        axis = fig.get_subplot(place // across + 1, place % across + 1).xaxis
        note.x = axis.domain[0]
    return fig


def _dress(
    fig: go.Figure, wanted: Wanted, ready: Ready, marks: Marks, heading: str, table: str, mode: Mode
) -> None:
    x_words, y_words = _axes(wanted, marks)
    down = -(-len(ready.panels) // COLUMNS)
    note = "; ".join(ready.notes)
    alt = f"{wanted.chart.replace('_', ' ').capitalize()} of {y_words}"
    alt += f" by {x_words}" if x_words else ""
    alt += f", {len(ready.series)} series" if len(ready.series) > 1 else ""
    alt += f", {len(ready.panels)} panels" if len(ready.panels) > 1 else ""
    theme.apply(
        fig,
        title=heading,
        subtitle=note,
        alt=f"{alt}. {note}",
        table=table,
        mode=mode,
        x=x_words if len(ready.panels) == 1 else None,
        y=y_words if len(ready.panels) == 1 else None,
        height=ONE_PX if len(ready.panels) == 1 else PANEL_PX * down + theme.AXIS_PX,
    )
    if len(ready.panels) > 1:
        room = {"height": fig.layout.height + NAME_PX, "margin_t": fig.layout.margin.t + NAME_PX}
        fig.update_layout(**room)
        fig.update_xaxes(title_text=x_words, row=down, col=1)
        fig.update_yaxes(title_text=y_words, row=(down + 1) // 2, col=1)
    _name_places(fig)
    _dress_marks(fig, wanted, ready, marks)


def _dress_marks(fig: go.Figure, wanted: Wanted, ready: Ready, marks: Marks) -> None:
    """How marks of a type stand together, and ticks and scales with their units."""
    if wanted.chart == "bar":
        fig.update_layout(barmode="group" if len(ready.series) > 1 else "relative")
        if marks.named_x:
            fig.update_xaxes(type="category")
    elif wanted.chart == "histogram":
        fig.update_layout(barmode="overlay", bargap=0.02)
    elif wanted.chart == "box":
        fig.update_layout(boxmode="group")
    elif wanted.chart == "heat_map":
        words = theme.escape(_label(wanted.colour, wanted.unit, False)) if wanted.colour else "Rows"
        fig.update_traces(colorbar_title={"text": words, "side": "right", "font": {"size": 12}})
    if _x_in_percent(wanted, marks):
        fig.update_xaxes(tickformat=PERCENT)
    if not marks.y_words and custom_rows.in_percent(wanted):
        fig.update_yaxes(tickformat=PERCENT)
    elif wanted.chart != "heat_map":
        fig.update_yaxes(tickformatstops=theme.TICKS)


def _name_places(fig: go.Figure) -> None:
    """Texts along x are names, also where they look like dates; long ones get room to stand upright in."""
    names = list(dict.fromkeys(x for t in fig.data for x in (t.x if t.x is not None else ()) if _is_text(x)))
    if not names:
        return
    fig.update_xaxes(type="category")
    if len(names) > MOST_NAMED:
        return
    words = [theme.short(html.unescape(name)) for name in names]
    fig.update_xaxes(tickmode="array", tickvals=names, ticktext=words)
    longest = max(map(len, words))
    if len(names) * longest * LETTER_PX > PHONE_PX:
        fig.update_layout(height=fig.layout.height + longest * LETTER_PX)
        fig.update_layout(legend={"y": 0, "yref": "container", "yanchor": "bottom"})


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value)


def _x_in_percent(wanted: Wanted, marks: Marks) -> bool:
    """Whether x is a ratio on an axis of numbers: a place that has a name keeps the number of its row."""
    if wanted.chart == "histogram":
        return custom_rows.in_percent(wanted)
    return is_ratio(wanted.x) and not marks.named_x and wanted.chart != "box"


def _axes(wanted: Wanted, marks: Marks) -> tuple[str, str]:
    """Titles of x and y with their units."""
    typed = wanted.unit if wanted.chart == "histogram" else ""
    x = theme.escape(_label(wanted.x, typed, _x_in_percent(wanted, marks)))
    if marks.y_words:
        return x, marks.y_words
    percent = custom_rows.in_percent(wanted)
    if len(wanted.y) == 1:
        unit = "" if wanted.chart == "heat_map" else wanted.unit
        return x, theme.escape(_label(wanted.y[0], unit, percent))
    if wanted.unit:
        return x, theme.escape(f"Value ({wanted.unit})")
    if percent:
        return x, "Share (%)"
    units = {_unit(name) for name in wanted.y}
    told = next(iter(units)) if len(units) == 1 else "units differ: see the names"
    return x, theme.escape(f"Value ({told or 'no unit told'})")


def _label(name: str, unit: str, percent: bool) -> str:
    """The heading of a column; a unit that a person typed stands in the place of the one in its name."""
    words = label(name, percent=percent)
    if not unit:
        return words
    bare = words[: words.rindex("(")].strip() if words.endswith(")") and "(" in words else words
    return unit if bare.casefold() == unit.casefold() else f"{bare} ({unit})"


def _unit(name: str) -> str:
    words = label(name, percent=False)
    return words[words.rindex("(") + 1 : -1] if words.endswith(")") and "(" in words else ""


def _heading(wanted: Wanted) -> str:
    if wanted.chart == "histogram":
        return theme.escape(f"Rows by {_bare(wanted.x)}" if wanted.x else "Histogram")
    y = ", ".join(map(_bare, wanted.y)) or "Chart"
    by = f" by {_bare(wanted.x)}" if wanted.x else ""
    return theme.escape(f"{y}{by}")


def _bare(name: str) -> str:
    """A column in words; how a ratio is shown stands at its axis."""
    return label(name).removesuffix(" (%)")


def _counted(fig: go.Figure, returned: int, drawn: int) -> go.Figure:
    meta: dict[str, Any] = {**dict(fig.layout.meta), "returned": returned, "drawn": drawn}
    fig.update_layout(overwrite=True, meta=meta)
    return fig
