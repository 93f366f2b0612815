"""One look for every figure: titles, legends, sizes, fonts; colours come from `charts.palette`.

Pages and charts import everything from here.
"""

import html
import textwrap
from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from charts.palette import (
    DARK,
    HATCHED_PHASES,
    LIGHT,
    PHASE_LABELS,
    PHASE_ORDER,
    Mode,
    Palette,
    fade,
    ordered_phases,
    palette,
    phase_colour,
    phase_label,
    phase_marker,
    run_colours,
    run_styles,
    status_dash,
    status_marker,
)

__all__ = [
    "DARK",
    "HATCHED_PHASES",
    "LIGHT",
    "PHASE_LABELS",
    "PHASE_ORDER",
    "Mode",
    "Palette",
    "add_note",
    "apply",
    "empty",
    "escape",
    "fade",
    "heading_px",
    "mode_of",
    "name_panels",
    "ordered_phases",
    "palette",
    "phase_colour",
    "phase_label",
    "phase_marker",
    "points",
    "run_colours",
    "run_styles",
    "short",
    "status_dash",
    "status_marker",
    "thin",
]

MAX_POINTS = 4_000
MAX_COLOURED_RUNS = 8
TICKS: list[dict[str, Any]] = [
    {"dtickrange": [None, 0.009], "value": ",.6~r"},
    {"dtickrange": [0.009, 0.9], "value": ",.2f"},
    {"dtickrange": [0.9, None], "value": "~s"},
]
"""Formats of an axis by the distance of its ticks: thousands as k, cents as 0.45 and never as 450m."""
FONT = '"Source Sans", "Source Sans Pro", system-ui, -apple-system, "Segoe UI", Roboto, sans-serif'
AXIS_PX, LEGEND_LINE_PX, LEGEND_ROWS_HANGING = 56, 20, 2
LEGEND_ITEM_PX, LEGEND_ROW_PX = 62, 400
PANEL_NAME_PX = 20
UNDER_TITLE_PX = 8
"""What is left under a title that has no subtitle."""
TITLE_WRAP = 44
SUBTITLE_WRAP = 54
PLOTLY_CONFIG: dict[str, Any] = {
    "displaylogo": False,
    "responsive": True,
    "modeBarButtonsToRemove": [
        "select2d",
        "lasso2d",
        "autoScale2d",
        "zoomIn2d",
        "zoomOut2d",
        "sendChartToCloud",
    ],
    "toImageButtonOptions": {"format": "png", "scale": 2, "filename": "chart"},
}


def escape(text: object) -> str:
    """Return text that Plotly shows as it is: it renders <b>, <a> and the like otherwise."""
    return html.escape(str(text), quote=False)


def short(text: object, limit: int = 28) -> str:
    """Return an escaped name cut in the middle to `limit` characters, keeping head and tail."""
    raw = str(text)
    if len(raw) > limit:
        keep = limit - 1
        raw = f"{raw[: keep - keep // 2]}…{raw[len(raw) - keep // 2 :]}"
    return escape(raw)


def apply(
    fig: go.Figure,
    *,
    title: str,
    alt: str,
    table: str,
    mode: Mode = "light",
    subtitle: str = "",
    x: str | None = None,
    y: str | None = None,
    height: int = 380,
) -> go.Figure:
    """Dress a figure and return it.

    `title` says subject and unit; `x`, `y` are axis titles with units; `table` is the result table drawn;
    `alt` is one sentence for a screen reader. Title and subtitle are wrapped for a 390 px screen and the
    legend lies below the plot, for which the height grows.
    """
    if not alt.strip():
        raise ValueError("a chart needs an alternative text")
    colours = palette(mode)
    head, lines = _heading(title, subtitle, colours)
    rows, top, plot = _legend_rows(fig), _top_px(lines), height - AXIS_PX
    fig.update_layout(
        overwrite=True,  # a figure has none of these before; merging them costs four times as long
        **_frame(colours),
        title=_title(head, colours),
        margin={"l": 8, "r": 12, "t": top, "b": AXIS_PX + LEGEND_LINE_PX * rows},
        height=plot + top + AXIS_PX + LEGEND_LINE_PX * rows,
        legend=_legend(rows, plot),
        meta=_meta(alt, table, mode, title, subtitle),
    )
    _axes(fig, colours, x, y)
    return fig


def _meta(alt: str, table: str, mode: Mode, title: str, subtitle: str) -> dict[str, str]:
    said = " ".join(alt.split())
    return {"alt": said, "table": table, "mode": mode, "title": title, "subtitle": subtitle}


def _axes(fig: go.Figure, colours: Palette, x: str | None, y: str | None) -> None:
    font = {"font": {"color": colours.quiet}}
    axis = {"gridcolor": colours.grid, "linecolor": colours.axis, "zerolinecolor": colours.axis}
    axis |= {"tickcolor": colours.axis, "automargin": True}
    named_x, named_y = ({} if text is None else {"text": text} for text in (x, y))
    fig.update_xaxes(**axis, zeroline=False, title={**font, **named_x, "standoff": 6})
    fig.update_yaxes(**axis, title={**font, **named_y})


def add_note(fig: go.Figure, note: str) -> go.Figure:
    """Put `note` before the subtitle of a dressed figure and into its `alt`; return the figure."""
    meta = dict(fig.layout.meta)
    under = str(meta["subtitle"])
    between = ". " if under[:1].isupper() else "; "
    meta["subtitle"] = between.join(part for part in (note, under) if part)
    meta["alt"] = f"{meta['alt']} {note}."
    colours = palette(meta["mode"])
    head, lines = _heading(str(meta["title"]), meta["subtitle"], colours)
    grown = _top_px(lines) - int(fig.layout.margin.t)
    fig.update_layout(
        overwrite=True,  # title and meta are set whole by `apply` and here; merging costs four times as long
        title=_title(head, colours),
        margin_t=_top_px(lines),
        height=int(fig.layout.height) + grown,
        meta=meta,
    )
    return fig


def name_panels(fig: go.Figure, mode: Mode) -> None:
    """Set the titles of subplots small, quiet and flush left."""
    style = {"size": 12, "color": palette(mode).quiet}
    for note in fig.layout.annotations:
        note.update(x=0, xanchor="left", font=style)


def empty(reason: str, *, title: str, table: str, mode: Mode = "light", height: int = 220) -> go.Figure:
    """Return a figure that says in words why there is nothing to draw."""
    colours = palette(mode)
    fig = go.Figure()
    text = "<br>".join(textwrap.wrap(escape(reason), SUBTITLE_WRAP - 8)) or "Nothing to draw yet."
    fig.add_annotation(
        text=text,
        x=0.5,
        y=0.5,
        xref="paper",
        yref="paper",
        showarrow=False,
        font={"size": 13, "color": colours.quiet},
    )
    apply(fig, title=title, alt=f"{title}: {reason}", table=table, mode=mode, height=height)
    fig.update_xaxes(visible=False)
    fig.update_yaxes(visible=False)
    return fig


def thin(rows: int, limit: int) -> int:
    """Return the stride that brings `rows` to at most `limit`; 1 when they fit."""
    return max(1, -(-rows // max(1, limit)))


def points(fig: go.Figure) -> int:
    """Return how many points a figure draws: cells for a heat map, else the longest side of each trace."""
    total = 0
    for trace in fig.data:
        grid = getattr(trace, "z", None)
        if grid is not None:
            total += sum(len(row) for row in grid)
            continue
        sides: Sequence[Any] = [getattr(trace, side, None) for side in ("x", "y")]
        total += max((len(side) for side in sides if side is not None), default=0)
    return total


def _top_px(lines: int) -> int:
    return (16 if lines == 1 else 24) + 19 * lines


def heading_px(fig: go.Figure) -> int:
    """Pixels of title and subtitle of a dressed figure; names of panels stand below them."""
    text = str(fig.layout.title.text or "")
    lines = text.count("<br>") + 1
    return _top_px(lines) - (UNDER_TITLE_PX if lines == 1 else PANEL_NAME_PX) if text else 0


def _wrapped(text: str, width: int) -> list[str]:
    """Wrap; where the last line would be a lone word or two, make all lines about equally long."""
    lines = textwrap.wrap(text, width, break_on_hyphens=False)
    if len(lines) < 2 or len(lines[-1]) > width // 3:
        return lines
    for narrow in range(-(-len(text) // len(lines)), width):
        found = textwrap.wrap(text, narrow, break_on_hyphens=False)
        if len(found) == len(lines):
            return found
    return lines


def _heading(title: str, subtitle: str, colours: Palette) -> tuple[str, int]:
    head = _wrapped(title, TITLE_WRAP) or [""]
    small = _wrapped(subtitle, SUBTITLE_WRAP)
    text = "<br>".join(f"<b>{line}</b>" for line in head)
    for line in small:
        text += f'<br><span style="font-size:12px;color:{colours.quiet}">{line}</span>'
    return text, len(head) + len(small)


def _legend_rows(fig: go.Figure) -> int:
    seen: set[str] = set()
    for trace in fig.data:
        if trace.showlegend is not False and trace.name:
            seen.add(str(trace.name))
    if len(fig.data) < 2 and not any(trace.showlegend for trace in fig.data):
        return 0
    width = sum(LEGEND_ITEM_PX + 7 * min(len(name), 32) for name in seen)
    return -(-width // LEGEND_ROW_PX)


def mode_of(value: object) -> Mode:
    """Return 'dark' for 'dark', else 'light'."""
    return "dark" if value == "dark" else "light"


def _frame(colours: Palette) -> dict[str, Any]:
    hover_font = {"family": FONT, "color": colours.text}
    return {
        "font": {"family": FONT, "size": 12, "color": colours.text},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "colorway": list(colours.runs),
        "hoverlabel": {
            "bgcolor": colours.surface,
            "bordercolor": colours.axis,
            "font": hover_font,
            "align": "left",
        },
        "dragmode": False,
        "modebar": {
            "bgcolor": "rgba(0,0,0,0)",
            "color": colours.quiet,
            "activecolor": colours.accent,
        },
    }


def _legend(rows: int, plot_px: int) -> dict[str, Any]:
    """A short legend hangs under the axis; a long one stands on the bottom, where it may grow on a phone."""
    shared = {"orientation": "h", "x": 0, "xanchor": "left", "font": {"size": 12}, "bgcolor": "rgba(0,0,0,0)"}
    if rows <= LEGEND_ROWS_HANGING:
        return shared | {"y": -AXIS_PX / plot_px, "yanchor": "top"}
    return shared | {"y": 0, "yref": "container", "yanchor": "bottom"}


def _title(text: str, colours: Palette) -> dict[str, Any]:
    return {
        "text": text,
        "x": 0,
        "xref": "container",
        "y": 1,
        "yref": "container",
        "yanchor": "top",
        "pad": {"l": 4, "t": 8 if "<br>" not in text else 16},
        "font": {"size": 15, "color": colours.text},
    }
