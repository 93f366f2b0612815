"""Controls of Rent or own: every input as a field with the published value, its badge and its source."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd
import streamlit as st

from analysis.frames import records
from analysis.result import Result
from analysis.words import digits3
from pages.parts.download import csv_button
from pages.parts.percent import address_name
from pages.parts.tables import table_height
from pages.parts.words import md_escape, status_label


@dataclass(frozen=True)
class Field:
    """One number: parameter, label, unit after it, and how many of its unit make 1 of the parameter."""

    name: str
    label: str
    unit: str
    scale: float = 1.0
    step: float = 1.0
    most: float | None = None


PERCENT = 100.0
BUY = (
    Field("unit_usd", "Price of one rack or server", "USD", step=10_000.0),
    Field("network_frac", "Network on top", "% of hardware", PERCENT, 1.0, 100.0),
    Field("network_usd_per_unit", "Network and optics a unit", "USD", step=10_000.0),
    Field("storage_usd", "Storage, once", "USD", step=10_000.0),
    Field("install_usd", "Set-up, once", "USD", step=10_000.0),
    Field("residual_frac", "Left at the end of life", "% of purchase", PERCENT, 5.0, 100.0),
)
HOUSE = {
    "colo": (Field("colo_usd_per_kw_month", "Colocation", "USD a kW-month", step=10.0),),
    "building": (
        Field("building_usd_per_mw", "Building", "USD a MW", step=500_000.0),
        Field("building_life_years", "Life of the building", "years", step=1.0, most=60.0),
    ),
    "none": (),
}
POWER = {
    "it": (
        Field("it_kw", "IT power a GPU", "kW", step=0.1),
        Field("pue", "PUE", "x", step=0.05, most=4.0),
    ),
    "utility": (Field("utility_kw", "Utility power a GPU", "kW", step=0.1),),
}
ELECTRICITY = (
    Field("usd_per_kwh", "Electricity", "USD a kWh", step=0.01),
    Field("load_frac", "Mean power of rated", "%", PERCENT, 5.0, 100.0),
)
RUN = (
    Field("staff_per_1000_gpus", "Operations staff for 1,000 GPUs", "people"),
    Field("usd_per_person", "Cost of one person", "USD a year", step=10_000.0),
    Field("support_frac", "Support", "% of hardware a year", PERCENT, 0.5, 100.0),
    Field("spares_frac", "Spares and returns", "% of hardware a year", PERCENT, 0.5, 100.0),
    Field("insurance_frac", "Insurance", "% of hardware a year", PERCENT, 0.5, 100.0),
    Field("software_usd_per_gpu_year", "Software", "USD a GPU-year", step=100.0),
)
RENT = (
    Field("on_demand_usd", "On demand", "USD a GPU-hour", step=0.1),
    Field("reserve_1y_usd", "1-year reservation", "USD a GPU-hour", step=0.1),
    Field("reserve_3y_usd", "3-year reservation", "USD a GPU-hour", step=0.1),
)
QUOTED = {"on_demand_usd": "on_demand", "reserve_1y_usd": "reserved_1y", "reserve_3y_usd": "reserved_3y"}
"""Field -> its row of the settings table."""
LEASE = (
    Field("lease_rate_frac", "Rate of the lessor", "% a year", PERCENT, 0.5, 100.0),
    Field("lease_upfront_frac", "Paid upfront", "%", PERCENT, 5.0, 100.0),
    Field("lease_term_years", "Term", "years", step=1.0, most=15.0),
)
PATH = tuple(
    Field(f"decline_{end}", f"Prices fall, {word}", "% a year", PERCENT, 1.0, 95.0)
    for end, word in (("low", "least"), ("mid", "middle"), ("high", "most"))
)


def fields(wanted: tuple[Field, ...], settings: pd.DataFrame) -> dict[str, float]:
    """Draw the fields; returns the values that a person gave, in the units of the parameters."""
    known: dict[str, dict[str, Any]] = {row["name"]: row for row in records(settings)}
    out = {}
    for one in wanted:
        value = number(one, known.get(QUOTED.get(one.name, one.name), {}))
        if value is not None:
            out[one.name] = value
    return out


def number(one: Field, row: Mapping[str, Any]) -> float | None:
    """One field: empty means the published value, which its placeholder shows."""
    published = row.get("value") if row.get("status") != "user" else None
    there = published is not None and published == published
    badge = f" :gray-badge[{status_label(str(row['status']))}]" if there else ""
    held = st.number_input(
        f"{one.label} ({one.unit}){badge}",
        value=None,
        min_value=-100.0 if one in PATH else 0.0,
        max_value=one.most,
        step=one.step,
        key=f"own_{address_name(one.name)}",
        bind="query-params",
        placeholder=_shown(one, published) if there else "not published",
        help=_help(row) or None,
    )
    return None if held is None else float(held) / one.scale


def _shown(one: Field, value: Any) -> str:
    return digits3(float(value) * one.scale)


def _help(row: Mapping[str, Any]) -> str:
    parts = [str(row.get("source") or ""), str(row.get("date") or ""), str(row.get("note") or "")]
    low, high = row.get("low"), row.get("high")
    if low is not None and low == low and high == high:
        parts.append(f"range {digits3(float(low))} to {digits3(float(high or 0.0))} {row.get('unit')}")
    return md_escape("; ".join(p for p in parts if p))


def show_settings(result: Result) -> None:
    """Draw every setting with its range as text: their sizes span eight orders of magnitude."""
    frame = result.tables["settings"]
    rows = records(frame)
    shown = pd.DataFrame(
        {
            "Setting": [r["label"] for r in rows],
            "Value": [_amount(r["value"], r["unit"]) for r in rows],
            "Range": [_ends(r) for r in rows],
            "Unit": [r["unit"].replace("fraction", "%") for r in rows],
            "Badge": [status_label(str(r["status"])) for r in rows],
            "Source": [r["source"] for r in rows],
            "Date": [r["date"] for r in rows],
            "Note": [r["note"] for r in rows],
        }
    )
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="bottom"):
        st.markdown("**Every setting**", width="content")
        csv_button(frame, "tenure-settings.csv", key="own_settings_csv")
    st.dataframe(shown, hide_index=True, key="own_settings", height=table_height(len(shown)))


def _amount(value: float, unit: str) -> str:
    if value is None or value != value:
        return "not given"
    return digits3(100 * value if unit.startswith("fraction") else value)


def _ends(row: Mapping[str, Any]) -> str:
    if row["low"] is None or row["low"] != row["low"]:
        return ""
    return f"{_amount(row['low'], row['unit'])} – {_amount(row['high'], row['unit'])}"
