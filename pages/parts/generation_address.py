"""Numbers, switches and lists of the address: one that a control cannot take is named before it is built."""

import math
from collections.abc import Mapping, Sequence

import streamlit as st

from pages.parts.state import note, settle
from pages.parts.urlcheck import UrlNotice, quote

SWITCH = ("true", "false")


def number(
    label: str,
    param: str,
    low: float,
    high: float,
    *,
    what: str,
    instead: str,
    step: float,
    placeholder: str,
    tip: str | None = None,
    width: int = 210,
    whole: bool = False,
) -> float | None:
    """Draw a number that may stay empty; `instead` says what counts then. `whole` ones show no decimals."""
    _check_number(param, low, high, what, instead)
    held = st.number_input(
        label,
        value=None,
        min_value=float(low),
        max_value=float(high),
        step=step,
        key=param,
        bind="query-params",
        placeholder=placeholder,
        help=tip,
        on_change=settle,
        args=(param,),
        width=width,
        format="%.0f" if whole else None,
    )
    return None if held is None else float(held)


def switch(label: str, param: str, what: str, tip: str | None = None) -> bool:
    """Draw a switch that is off unless the address or a person turns it on."""
    asked = st.query_params.get_all(param)
    if asked and (len(asked) > 1 or asked[0] not in SWITCH):
        _keep(param, [a for a in asked[-1:] if a in SWITCH], f"{what} {quote(asked[-1:])}", "off")
    return bool(
        st.toggle(label, key=param, bind="query-params", help=tip, on_change=settle, args=(param,), wrap=True)
    )


def several(
    label: str, param: str, names: Mapping[str, str], *, noun: str, most: int, instead: str, placeholder: str,
    tip: str | None = None,
) -> list[str]:  # fmt: skip
    """Draw a list of at most `most` choices, id -> name; `instead` says what an empty one stands for."""
    _check_several(param, names, noun, most, instead)
    picked: Sequence[str] = st.multiselect(
        label,
        list(names),
        format_func=names.__getitem__,
        max_selections=most,
        key=param,
        bind="query-params",
        placeholder=placeholder,
        help=tip,
        on_change=settle,
        args=(param,),
    )
    return list(picked)


def _check_number(param: str, low: float, high: float, what: str, instead: str) -> None:
    asked = st.query_params.get_all(param)
    if not asked or (len(asked) == 1 and _fits(asked[0], low, high)):
        return
    last = asked[-1]
    if _fits(last, low, high):
        note(UrlNotice(param, f"The address gives {what} {len(asked)} times; showing {quote([last])}."))
        st.query_params[param] = last
        st.rerun()
    _keep(param, [], f"{what} {quote([last])}, which is no number from {low:g} to {high:g}", instead)


def _fits(text: str, low: float, high: float) -> bool:
    try:
        value = float(text)
    except ValueError:
        return False
    return math.isfinite(value) and low <= value <= high


def _check_several(param: str, names: Mapping[str, str], noun: str, most: int, instead: str) -> None:
    given = st.query_params.get_all(param)
    asked = list(dict.fromkeys(names.get(v, v) for v in given if v))
    known = [v for v in asked if v in names.values()]
    kept = known[:most]
    if kept == given:
        return
    lost = [v for v in asked if v not in known]
    if lost:
        words = f"{noun}{'s' if len(lost) > 1 else ''} {quote(lost)}, which this page does not know"
        _keep(param, kept, words, quote(kept) if kept else instead)
    elif len(known) > len(kept):
        _keep(param, kept, f"{len(known)} {noun}s", quote(kept))
    else:
        _set(param, kept)
        st.rerun()


def _keep(param: str, kept: list[str], asked: str, instead: str) -> None:
    """Say what the address asked for in vain, leave `kept` in it, and start the page again."""
    note(UrlNotice(param, f"The address asks for {asked}; showing {instead} instead."))
    _set(param, kept)
    st.rerun()


def _set(param: str, kept: list[str]) -> None:
    if kept:
        st.query_params[param] = kept
    else:
        del st.query_params[param]
