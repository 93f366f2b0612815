"""Inputs of forecast and commitments in the user's words, in the address."""

from collections.abc import Mapping
from typing import Any

import streamlit as st

from pages.parts.choose import dropdown, segments
from pages.parts.generation_address import several
from pages.parts.own_decision import demand_and_capital
from pages.parts.plan_fields import WIDE, Field, Known, count, fields, lines, percent

BASES = {"auto": "Bill, else runs", "bill": "Bill", "runs": "Runs"}
HORIZONS = {"12": "1 year", "24": "2 years", "36": "3 years", "48": "4 years", "60": "5 years"}
MOST_PLANNED, MOST_STOPPED = 20, 12
PLAN_TIP = (
    "One line for each thing planned: name, first to last month, GPU-hours a day, then what is known of it: "
    "`math-v4 2026-04..2026-09 480 team=RL usd=2.75 low=300 high=700`. Without a price: what the history "
    "paid, else the book's."
)
FORECAST = (
    count("months", "Months ahead", 1, 24),
    Field("budget_usd_month", "Budget a month (USD)", 0, 1e12, 10_000),
    percent("growth_frac_month", "Growth a month", -50, 100, 1),
)
UNSURE = (
    percent("growth_low", "Growth a month, low", -50, 100, 1),
    percent("growth_high", "Growth a month, high", -50, 100, 1),
    percent("level_change_frac", "The level changes by, a month", 0, 200, 5),
    percent("decline_low", "Prices fall a year by, least", -100, 95),
    percent("decline_mid", "Prices fall a year by", -100, 95),
    percent("decline_high", "Prices fall a year by, most", -100, 95),
    count("window_days", "Days of history that count (empty: all)", 7, 1095, 30),
    percent("range_frac", "Range of your own inputs, ±", 0, 90),
)
DEMAND = (
    percent("growth_frac_month", "Growth of the demand a month", -50, 100, 1),
    count("held_gpus", "GPUs committed already", 0, 1_000_000, 8),
    count("racks_max", "Units that can be placed, at most", 0, 100_000),
    count("burst_max_gpus", "GPUs to be had on demand at once, at most", 0, 10_000_000, 64),
)
WORLDS = (
    percent("down_frac", "Demand lower by", 0, 100),
    percent("down_prob", "… likely", 0, 100),
    percent("up_frac", "Demand higher by", 0, 500),
    percent("up_prob", "… likely", 0, 100),
    count("next_months", "Months until the next generation", 1, 60),
    percent("next_prob", "… likely by then", 0, 100),
    percent("next_drop_frac", "The same work is cheaper then by", 0, 95),
)
Values = Mapping[str, Any]


def usual(wanted: tuple[Field, ...], defaults: Values) -> dict[str, Known]:
    """Return what counts for empty fields: the defaults of the parameters, as they are typed."""
    out = {}
    for one in wanted:
        value = defaults.get(one.name)
        if isinstance(value, int | float) and not isinstance(value, bool):
            out[one.name] = Known(f"{value * one.scale:g}")
    return out


def forecast_inputs(defaults: Values, campaigns: list[str]) -> dict[str, Any]:
    """Draw the inputs of the forecast; returns the parameters that a person gave."""
    asked = fields("fo", FORECAST, usual(FORECAST, defaults) | {"budget_usd_month": Known("no budget")})
    asked["plan"] = _plan("fo_plan")
    if campaigns:
        asked["stop"] = several(
            "Campaigns that end", "fo_stop", {name: name for name in campaigns}, noun="campaign",
            most=MOST_STOPPED, instead="none", placeholder="none",
        )  # fmt: skip
    asked["basis"] = segments("fo_basis", "History from", list(BASES), "auto", BASES.__getitem__)
    with st.expander("How unsure it is", key="fo_box_unsure"):
        measured = {"level_change_frac": Known("measured from the history, else 25")}
        asked |= fields("fo", UNSURE, usual(UNSURE, defaults) | measured)
    return asked


def commitment_inputs(platforms: dict[str, str], defaults: Values) -> dict[str, Any]:
    """Draw demand, capital and what may happen; returns the parameters that a person gave."""
    asked = demand_and_capital(platforms)
    horizon = dropdown("cm_horizon", "Horizon", list(HORIZONS), "36", HORIZONS.__getitem__, width=WIDE)
    asked["horizon_months"] = int(horizon)
    limits = {name: Known("no limit") for name in ("racks_max", "burst_max_gpus")}
    asked |= fields("cm", DEMAND, usual(DEMAND, defaults) | limits)
    asked["plan"] = _plan("cm_plan")
    with st.expander("What may happen", key="cm_box_worlds"):
        asked |= fields("cm", WORLDS, usual(WORLDS, defaults))
    return asked


def _plan(param: str) -> list[str]:
    return lines(
        param, "Plan", what="plan", placeholder="math-v4 2026-04..2026-09 480 team=RL", tip=PLAN_TIP,
        most=MOST_PLANNED,
    )  # fmt: skip
