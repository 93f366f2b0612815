"""Warnings beside the numbers they touch, and errors a person can act on."""

from collections import OrderedDict
from urllib.parse import quote

import streamlit as st

from analysis.checks import CHECKS
from analysis.result import Notice, Result
from data.errors import UserError
from pages.parts.words import md_escape


def grouped(warnings: tuple[Notice, ...]) -> list[tuple[str, list[str]]]:
    """Return [(sentence, places)] with equal sentences joined, in order of first appearance."""
    groups: OrderedDict[str, list[str]] = OrderedDict()
    for item in warnings:
        places = groups.setdefault(item.text, [])
        if item.where and item.where not in places:
            places.append(item.where)
    return list(groups.items())


def show_warnings(result: Result) -> None:
    """Say how many things qualify the numbers above, with the sentences one click away."""
    items = grouped(result.warnings)
    if not items:
        return
    head = "1 warning" if len(items) == 1 else f"{len(items)} warnings"
    with st.expander(f"{head} about these numbers", icon=":material/warning:", key=f"warn_{result.analysis}"):
        list_warnings(result)


def list_warnings(result: Result) -> None:
    """List every notice of a result with its places."""
    codes = {item.text: item.code for item in result.warnings}
    lines = [f"- {_sentence(text, places)}{_more(codes[text])}" for text, places in grouped(result.warnings)]
    if lines:
        st.markdown("\n".join(lines))


def show_error(error: UserError) -> None:
    """Say what happened, where, and what to do."""
    place = f" ({md_escape(error.where)})" if error.where else ""
    advice = f"\n\n{md_escape(error.remedy)}" if error.remedy else ""
    st.error(f"{md_escape(error.what)}{place}.{advice}", icon=":material/error:")


def _more(code: str) -> str:
    """A link to what a failed check means."""
    check = CHECKS.get(code)
    return f" [{check.title}]({docs_address('Checks', code)})" if check else ""


def docs_address(title: str, check: str = "") -> str:
    """Return the address of a page of the documentation inside the app, named by its heading.

    `check`: the code of a check whose section the page of checks shows first.
    """
    return f"/docs?topic={quote(title)}{f'&check={quote(check)}' if check else ''}"


def _sentence(text: str, places: list[str]) -> str:
    places = [p for place in places for p in place.split("; ") if p not in text]
    if not places:
        return md_escape(text)
    names = ", ".join(places[:4]) + (f" and {len(places) - 4} more" if len(places) > 4 else "")
    return f"{md_escape(text)} :small[{md_escape(names)}]"
