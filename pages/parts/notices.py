"""Warnings beside the numbers they touch, and errors a person can act on."""

from collections import OrderedDict

import streamlit as st

from analysis.result import Notice, Result
from data.errors import UserError
from pages.parts.words import md_escape

SHOWN = 3


def grouped(warnings: tuple[Notice, ...]) -> list[tuple[str, list[str]]]:
    """Return [(sentence, places)] with equal sentences joined, in order of first appearance."""
    groups: OrderedDict[str, list[str]] = OrderedDict()
    for item in warnings:
        places = groups.setdefault(item.text, [])
        if item.where and item.where not in places:
            places.append(item.where)
    return list(groups.items())


def show_warnings(result: Result, limit: int | None = SHOWN) -> None:
    """List the notices of a result, at most `limit` of them with the rest counted."""
    items = grouped(result.warnings)
    if not items:
        return
    shown = items if limit is None else items[:limit]
    lines = [f"- {_sentence(text, places)}" for text, places in shown]
    if len(shown) < len(items):
        lines.append(f"- and {len(items) - len(shown)} more under *How was this computed?*")
    st.warning("\n".join(lines), icon=":material/info:")


def show_error(error: UserError) -> None:
    """Say what happened, where, and what to do."""
    place = f" ({md_escape(error.where)})" if error.where else ""
    advice = f"\n\n{md_escape(error.remedy)}" if error.remedy else ""
    st.error(f"{md_escape(error.what)}{place}.{advice}", icon=":material/error:")


def _sentence(text: str, places: list[str]) -> str:
    if not places:
        return md_escape(text)
    names = ", ".join(places[:4]) + (f" and {len(places) - 4} more" if len(places) > 4 else "")
    return f"{md_escape(text)} :small[{md_escape(names)}]"
