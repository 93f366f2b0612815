"""Ratios typed in percent: their names in the address say so, and names that said otherwise are refused."""

import streamlit as st

from pages.parts.state import note
from pages.parts.urlcheck import UrlNotice, quote

FRACTION, PERCENT = "_frac", "_pct"


def address_name(name: str) -> str:
    """Name in the address of a field that a person types in percent: `wacc_pct` for `wacc_frac`."""
    return f"{name.removesuffix(FRACTION)}{PERCENT}" if name.endswith(FRACTION) else name


def refuse_fractions(prefix: str) -> None:
    """Say that older addresses called percents fractions, and take nothing from them: neither the number as
    percent nor as fraction is certain to be what was meant. Call it before the fields are drawn.
    """
    old = [p for p in st.query_params if p.startswith(prefix) and p.endswith(FRACTION)]
    if not old:
        return
    told = [f"{p}={st.query_params[p]}" for p in old]
    for param in old:
        del st.query_params[param]
    new = quote([address_name(name) for name in old])
    text = (
        f"The address gives {quote(told)}. These fields are in percent and are called {new} now; "
        "the old names said fraction, so nothing is taken from them: type the values again."
    )
    note(UrlNotice(f"{prefix}*{FRACTION}", text))
