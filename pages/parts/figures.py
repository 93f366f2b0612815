"""Headline figures as cards: value, unit and interval in one glance, or in words what is missing.

Drawn as one list: `st.metric` cuts an interval that does not fit, and has no place for the reason why a
figure is missing.
"""

import html
from collections.abc import Sequence
from typing import get_args

import streamlit as st

from analysis.params import Boundary
from analysis.result import Figure, Result
from charts.text import counted, instead_of_value, interval_parts, split_figure, unit_tail

SAME_REASON = "for the same reason"
LEADING = 6
"""Figures above the chart of a plan: two rows, so that the chart stands on the first screen."""


def show_figures(result: Result, names: Sequence[str] | None = None) -> None:
    """Draw the headline figures called `names` (all when None), in that order; unknown names are skipped."""
    known = {f.name: f for f in result.headline}
    chosen = [known[n] for n in names if n in known] if names else list(result.headline)
    if not chosen:
        return
    cards = "".join(card_html(f, same=_same_reason(chosen[:n], f)) for n, f in enumerate(chosen))
    st.html(f'<dl class="ipd-figures">{cards}</dl>')


def show_leading(result: Result) -> None:
    """Draw the figures that lead a plan; the others follow its chart."""
    show_figures(result, [one.name for one in result.headline[:LEADING]])


def show_other(result: Result) -> None:
    """Draw the figures that `show_leading` left for below the chart."""
    names = [one.name for one in result.headline[LEADING:]]
    if names:
        with st.container(key="other_figures"):
            show_figures(result, names)


def _same_reason(before: Sequence[Figure], figure: Figure) -> bool:
    """Whether the figure before it is missing for the same reason, which then need not be read twice."""
    last = before[-1] if before else None
    return last is not None and last.value is None and bool(figure.missing) and last.missing == figure.missing


def card_html(figure: Figure, *, same: bool = False) -> str:
    """Return one figure as a group of a description list; what it is made of opens with its name.

    `same`: it is missing for the reason that the card before it gives.
    """
    label = html.escape(figure.label or figure.name.replace("_", " "))
    tip = _tip(figure)
    if tip:
        label = f"<details><summary>{label}</summary><p>{html.escape(tip)}</p></details>"
    lines = [f"<dt>{label}</dt>"]
    if figure.value is None:
        reason = SAME_REASON if same else (figure.missing or "the data on hand does not say").rstrip(".")
        lines.append(f'<dd class="unknown">{instead_of_value(figure)}</dd>')
        lines.append(f"<dd>{html.escape(_sentence(reason))}.</dd>")
        return f"<div>{''.join(lines)}</div>"
    number, unit = split_figure(figure)
    unit = unit or unit_tail(figure.unit)
    small = f" <small>{html.escape(unit)}</small>" if unit else ""
    ends, kind = interval_parts(figure)
    lines.append(f'<dd class="value">{html.escape(number)}{small}</dd>')
    if ends:
        lines.append(f'<dd class="range">{html.escape(ends)}</dd>')
    rests_on = counted(figure).replace(" ", "\u00a0")
    bound = f"{figure.boundary} boundary" if _is_bounded(figure) else ""
    note = " · ".join(part for part in (kind if ends else "", rests_on, bound) if part)
    if note:
        lines.append(f"<dd>{html.escape(note)}</dd>")
    return f"<div>{''.join(lines)}</div>"


def _is_bounded(figure: Figure) -> bool:
    """Whether the number is another within another cost boundary: dollars and shares, no seconds."""
    counts = "usd" in figure.unit.lower() or figure.unit == "frac"
    return counts and figure.boundary in get_args(Boundary)


def _sentence(text: str) -> str:
    """Start with a capital, unless the first word is a name such as grpo-a."""
    return text[:1].upper() + text[1:] if text.split(" ")[0].isalpha() else text


def _tip(figure: Figure) -> str:
    bound = f"Cost boundary: {figure.boundary}." if figure.boundary else ""
    return " ".join(part for part in (figure.formula, bound) if part)
