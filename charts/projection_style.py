"""How projections look: phases of a step, measured solid, projected hatched, names above their bars."""

import html
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from analysis.words import digits3
from charts import theme
from charts.theme import Mode

PHASES = {
    "rollout_work": "Rollout: full batch",
    "rollout_tail": "Rollout: tail",
    "prefill": "Prefill",
    "logprob": "Log-probs",
    "train": "Train",
    "weight_sync": "Weight sync",
    "env": "Environment",
    "other": "Other",
    "unattributed": "Unattributed",
}
"""Phases of a projected step in the order of a step, with their names on screen."""
SOFTWARE = {"software": "Software of the platform"}
"""What blurs every phase alike: a driver of the answer, no phase of the step."""
AROUND_PX, BAR_PX = 66, 17
ROW_PX, TALL_ROW_PX = 54, 70
"""Height of a row whose head takes one line, or two where one would not fit a phone."""
LINE_WIDE, WORDS_WIDE, MOST_LINES = 46, 50, 2
MEASURED = "measured"


def phase_name(phase: str) -> str:
    """Return the name of a projected phase; an unknown one is named like phases elsewhere."""
    return {**PHASES, **SOFTWARE}.get(phase) or theme.phase_label(phase)


def phase_colour(phase: str, mode: Mode) -> str:
    """Return the colour of a phase: as on other pages, the parts of a rollout apart from each other."""
    colours = theme.palette(mode)
    own = {
        "rollout_work": colours.phases["rollout"],
        "rollout_tail": colours.scale[2 if mode == "dark" else 4],
        "prefill": colours.phases["advantage"],
    }
    return own.get(phase) or theme.phase_colour(phase, mode)


def phase_marker(phase: str, kind: str, mode: Mode) -> dict[str, Any]:
    """Return the marker of one phase: time that nobody attributed is crossed, whoever counted it."""
    colour = phase_colour(phase, mode)
    if phase != "unattributed":
        marker = theme.status_marker(colour, kind, mode)
        dense = {"size": 5, "solidity": 0.5} if "pattern" in marker else {}
        return {**marker, **({"pattern": {**marker["pattern"], **dense}} if dense else {})}
    surface = theme.palette(mode).surface
    pattern = {"shape": "x", "fgcolor": colour, "bgcolor": surface, "size": 6, "solidity": 0.35}
    return {"color": surface, "line": {"width": 1, "color": colour}, "pattern": pattern}


def known(value: object) -> bool:
    """Say whether a cell holds a number."""
    return isinstance(value, int | float) and value == value and abs(value) != float("inf")


def ends(low: object, high: object, words: Any = digits3) -> str:
    """Return ' (35 – 49)', or '' where an end is not known or both read alike."""
    if not (known(low) and known(high)) or words(low) == words(high):
        return ""
    return f" ({words(low)} – {words(high)})"


def rows_dressed(
    fig: go.Figure,
    names: Sequence[str],
    heads: Sequence[tuple[str, str]],
    *,
    title: str,
    note: str,
    alt: str,
    table: str,
    mode: Mode,
    x: str,
    unknown: Mapping[str, str] | None = None,
) -> go.Figure:
    """Give each of `names`, the categories of the vertical axis, a row with its head above the bar.

    `heads`: a name and what stands beside it in quiet letters, or under it where one is too long for a phone;
    the caller has escaped both. `unknown`: row -> why it has no bar, in words.
    """
    row_px = _row_px(heads)
    theme.apply(
        fig, title=title, subtitle=note, alt=alt, table=table, mode=mode, x=x,
        height=AROUND_PX + row_px * len(names),
    )  # fmt: skip
    above = (BAR_PX / 2 + 3) / row_px
    for place, (name, head) in enumerate(zip(names, heads, strict=True)):
        _head(fig, head, (unknown or {}).get(name, ""), place - above, row_px, mode)
    fig.update_traces(width=BAR_PX / row_px, selector={"type": "bar"})
    fig.update_yaxes(
        type="category",
        categoryorder="array",
        categoryarray=list(names),
        range=[len(names) - 0.62, -0.5 - above],
        showticklabels=False,
        ticks="",
        showgrid=False,
        zeroline=False,
        fixedrange=True,
    )
    return fig


def _row_px(heads: Sequence[tuple[str, str]]) -> float:
    tall = any(len(html.unescape(f"{name} {tail}")) > LINE_WIDE for name, tail in heads)
    return TALL_ROW_PX if tall else ROW_PX


def _head(fig: go.Figure, head: tuple[str, str], why: str, y: float, row_px: float, mode: Mode) -> None:
    """Name and tail over a row at `y`, and below them why it has no bar."""
    colours = theme.palette(mode)
    name, tail = head
    between = "<br>" if row_px == TALL_ROW_PX else "  "
    text = f"<b>{name}</b>{between}{small(tail, mode)}" if tail else f"<b>{name}</b>"
    _text(fig, text, y, colours.text, 12, "bottom")
    if why:
        _text(fig, _folded(why), y + 1 / row_px, colours.quiet, 11, "top")


def _text(fig: go.Figure, text: str, y: float, colour: str, size: int, anchor: str) -> None:
    fig.add_annotation(
        x=0, xref="paper", xanchor="left", y=y, yanchor=anchor, text=text, showarrow=False, align="left",
        font={"size": size, "color": colour}, borderpad=0,
    )  # fmt: skip


def _folded(text: str) -> str:
    lines = textwrap.wrap(text, WORDS_WIDE)
    if len(lines) > MOST_LINES:
        lines = [*lines[: MOST_LINES - 1], f"{lines[MOST_LINES - 1][: WORDS_WIDE - 1]}…"]
    return "<br>".join(theme.escape(line) for line in lines)


def small(text: str, mode: Mode) -> str:
    """Return quiet text to stand beside a name; the text is escaped already."""
    return f'<span style="font-size:11px;color:{theme.palette(mode).quiet}">{text}</span>'
