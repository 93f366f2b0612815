"""Every input of Rent or own beside the decision, grouped and folded."""

from typing import Any

import pandas as pd
import streamlit as st

from pages.parts import own_controls as controls
from pages.parts.choose import segments

HOUSING = {"colo": "Colocation", "building": "Own building", "none": "Left out"}
BASES = {"it": "IT power and PUE", "utility": "Utility power, facility inside"}
TIERS = {"neocloud": "Neocloud", "hyperscaler": "Hyperscaler", "marketplace": "Marketplace"}
KINDS = {"auto": "As published", "yes": "All in", "no": "Hardware only"}


def show_details(settings: pd.DataFrame, *, lease: bool = True) -> dict[str, Any]:
    """Draw the boxes, that of a lease where one is asked about; returns the parameters that a person gave, in
    the units of the parameters.
    """
    asked: dict[str, Any] = {}
    with st.expander("What you buy", key="own_box_buy"):
        asked |= _bought(settings)
    with st.expander("Housing and power", key="own_box_house"):
        asked |= _housed(settings)
    with st.expander("People, support, spares", key="own_box_run"):
        asked |= controls.fields(controls.RUN, settings)
    with st.expander("What you would rent", key="own_box_rent"):
        asked["tier"] = segments("own_tier", "Provider", list(TIERS), "neocloud", TIERS.__getitem__)
        asked |= controls.fields(controls.RENT, settings)
    if lease:
        with st.expander("Lease", key="own_box_lease"):
            asked |= controls.fields(controls.LEASE, settings)
    with st.expander("Prices over time", key="own_box_path"):
        asked |= controls.fields(controls.PATH, settings)
    with st.expander("Goodput and ranges", key="own_box_more"):
        asked |= _ranged()
    return asked


def _bought(settings: pd.DataFrame) -> dict[str, Any]:
    asked: dict[str, Any] = dict(controls.fields(controls.BUY, settings))
    all_in = segments("own_all_in", "The price holds", list(KINDS), "auto", KINDS.__getitem__)
    return asked if all_in == "auto" else asked | {"all_in": all_in == "yes"}


def _housed(settings: pd.DataFrame) -> dict[str, Any]:
    housing = segments("own_housing", "Housing", list(HOUSING), "colo", HOUSING.__getitem__)
    asked: dict[str, Any] = {"housing": housing, **controls.fields(controls.HOUSE[housing], settings)}
    if housing == "colo":
        asked["colo_with_power"] = st.checkbox(
            "Power is in the colocation price", key="own_with_power", bind="query-params"
        )
    basis = segments("own_power", "Power", list(BASES), "it", BASES.__getitem__)
    asked["power_basis"] = basis
    return asked | controls.fields((*controls.POWER[basis], *controls.ELECTRICITY), settings)


def _ranged() -> dict[str, Any]:
    share = st.number_input(
        "Goodput (%; empty: that of your runs)", value=None, min_value=1.0, max_value=100.0, step=5.0,
        key="own_goodput", bind="query-params",
    )  # fmt: skip
    width = st.slider(
        "Range of inputs without a published one (± %)", 0, 50, 20, 5, key="own_range", bind="query-params"
    )
    return ({"goodput_frac": share / 100} if share else {}) | {"range_frac": width / 100}
