"""Horizontal bars of exact dollars with name and amount above each bar, where a phone has room for them."""

from collections.abc import Sequence

import plotly.graph_objects as go

from charts import theme
from charts.theme import Mode

ROW_PX, AROUND_PX, BAR_WIDTH = 50, 60, 0.3
LABEL_ABOVE = 0.35


def dollars(value: float) -> str:
    """Return an amount to the cent: bars of a bill are exact."""
    return f"{'-' if value < 0 else ''}${abs(value):,.2f}"


def bar(x: object, y: object, hover: Sequence[str], marker: object, name: str) -> go.Bar:
    """Return bars at the places `y` with their hover texts."""
    return go.Bar(
        x=x, y=list(y), orientation="h", width=BAR_WIDTH, marker=marker, name=name, customdata=list(hover),
        hovertemplate="%{customdata}<extra></extra>",
    )  # fmt: skip


def dressed(
    fig: go.Figure,
    names: Sequence[str],
    *,
    title: str,
    note: str,
    alt: str,
    table: str,
    mode: Mode,
    zero: bool = False,
    legend: bool = False,
) -> go.Figure:
    """Write `names[place]` over the bar at each place; the axis holds both ends of every bar.

    `zero`: draw the line at 0, for bars on both sides of it. `legend`: name the traces below.
    """
    fig.update_traces(showlegend=legend)
    theme.apply(
        fig, title=title, subtitle=note, alt=alt, table=table, mode=mode, x="USD",
        height=AROUND_PX + ROW_PX * len(names),
    )  # fmt: skip
    _write(fig, names, mode)
    reach = [float(end) for one in fig.data for end in _ends(one)]
    room = 0.03 * (max(reach) - min(0.0, *reach))
    fig.update_xaxes(range=[min(reach) - room if min(reach) < 0 else 0.0, max(reach) + room])
    fig.update_layout(barmode="overlay", showlegend=legend)
    fig.update_xaxes(tickformatstops=theme.TICKS, tickprefix="$", nticks=5, zeroline=zero)
    fig.update_yaxes(
        showticklabels=False,
        ticks="",
        showgrid=False,
        zeroline=False,
        range=[len(names) - 0.6, -0.6],
        fixedrange=True,
    )
    return fig


def _write(fig: go.Figure, names: Sequence[str], mode: Mode) -> None:
    colours = theme.palette(mode)
    for place, name in enumerate(names):
        fig.add_annotation(
            x=0, xref="paper", xanchor="left", y=place - LABEL_ABOVE, yanchor="middle", text=name,
            showarrow=False, font={"size": 12, "color": colours.text}, bgcolor=colours.surface, borderpad=0,
        )  # fmt: skip


def _ends(one: go.Bar) -> list[float]:
    """Both ends of each bar; one without a base begins at 0."""
    base = [0.0] * len(one.x) if one.base is None else list(one.base)
    return [*base, *(b + x for b, x in zip(base, one.x, strict=True))]
