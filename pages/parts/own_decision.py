"""What only a person can say before owning is priced: the demand, how busy it is, and what money costs."""

from typing import Any

import streamlit as st

from pages.parts.choose import dropdown

MOST_USED = "the one your runs used most"
WACC = "own_wacc_pct"
TRIED_PCT = (8.0, 10.0, 15.0)
"""Costs of capital to try with one click: yours to replace, for nobody published one."""


def offer_capital() -> None:
    """Offer the one number without which owning has no cost, one click each; it then stands in its input."""
    st.markdown("**Try a cost of capital** :small[yours, not a published number: type yours in the inputs]")
    with st.container(horizontal=True):
        for pct in TRIED_PCT:
            st.button(f"{pct:g} % a year", key=f"own_try_{pct:g}", on_click=_take, args=(pct,))


def _take(pct: float) -> None:
    st.session_state[WACC] = pct


def demand_and_capital(platforms: dict[str, str]) -> dict[str, Any]:
    """Draw platform, GPUs, busy share and cost of capital; returns the parameters that a person gave."""
    names = {"": MOST_USED, **platforms}
    asked: dict[str, Any] = {"buy": dropdown("own_buy", "Platform", list(names), "", lambda p: names[p])}
    gpus = st.number_input(
        "GPUs you need (empty: the peak of your runs)", value=None, min_value=1, step=8, key="own_gpus",
        bind="query-params",
    )  # fmt: skip
    used = st.number_input(
        "Busy share of the hours (%; empty: your runs day by day)", value=None, min_value=1.0,
        max_value=100.0, step=5.0, key="own_used", bind="query-params",
    )  # fmt: skip
    wacc = st.number_input(
        "Cost of capital, a year (%)", value=None, min_value=0.0, max_value=100.0, step=0.5,
        key=WACC, bind="query-params", placeholder="yours: nobody published one",
        help="WACC: what money costs your company. No published number was found, so it must be given.",
    )  # fmt: skip
    asked |= {"gpus": int(gpus or 0)}
    asked |= {"utilisation_frac": used / 100} if used else {}
    return asked | ({"wacc_frac": wacc / 100} if wacc is not None else {})
