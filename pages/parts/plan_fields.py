"""Inputs of plans: a field a number with its unit, its limits, and what counts while it is empty.

An empty field keeps the default; its placeholder shows that default and its help says where it is from.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from analysis.frames import records
from analysis.params import Params
from analysis.result import Result
from analysis.words import digits3
from pages.parts.generation_address import number
from pages.parts.state import note, settle
from pages.parts.urlcheck import UrlNotice
from pages.parts.words import md_escape, status_label

WIDE = 420
"""Wider than the column of inputs, so that a field fills it."""


PERCENT = 100.0


@dataclass(frozen=True)
class Field:
    """One number: parameter, label with its unit, least and most and step as typed.

    `scale`: how many typed units make 1 of the parameter, 100 for a percent. `whole`: a count.
    """

    name: str
    label: str
    low: float
    high: float
    step: float = 1.0
    scale: float = 1.0
    whole: bool = False
    tip: str = ""

    @property
    def in_address(self) -> str:
        """Its name in the address, which says so where it is typed in percent."""
        if self.scale != PERCENT:
            return self.name
        return self.name.replace("_frac", "_pct") if "_frac" in self.name else f"{self.name}_pct"


@dataclass(frozen=True)
class Known:
    """What counts while a field is empty: as its placeholder, and where that is from."""

    shown: str = ""
    source: str = ""


def percent(name: str, label: str, low: float = 0.0, high: float = 100.0, step: float = 5.0) -> Field:
    """Return the field of a share, typed as 0..100."""
    return Field(name, f"{label} (%)", low, high, step, PERCENT)


def count(name: str, label: str, low: float, high: float, step: float = 1.0, tip: str = "") -> Field:
    """Return the field of a whole number."""
    return Field(name, label, low, high, step, 1.0, whole=True, tip=tip)


def fields(prefix: str, wanted: Sequence[Field], known: Mapping[str, Known]) -> dict[str, Any]:
    """Draw the fields under `prefix` in the address; returns those that hold a number, as parameters."""
    out: dict[str, Any] = {}
    for one in wanted:
        told = known.get(one.name, Known())
        held = number(
            one.label, f"{prefix}_{one.in_address}", one.low, one.high, step=float(one.step),
            what=f"{one.label.split(' (')[0].lower()} of", instead=told.shown or "the default",
            placeholder=told.shown or "as measured or published",
            tip=md_escape("; ".join(t for t in (one.tip, told.source) if t)) or None, width=WIDE,
            whole=one.whole,
        )  # fmt: skip
        if held is not None:
            out[one.name] = int(held) if one.whole and held == int(held) else held / one.scale
    return out


def settings_of(result: Result, kind: type[Params], wanted: Sequence[Field]) -> dict[str, Known]:
    """Return what counts for empty fields by the table `settings` of an answer to no input at all, else by
    the defaults of the parameters.
    """
    frame = result.tables.get("settings")
    by_name = {one.name: one for one in wanted}
    out = {}
    for one in wanted:
        default = kind.model_fields[one.name].default
        out[one.name] = Known(_shown(default, one) if _is_number(default) else "")
    for row in records(frame) if frame is not None else []:
        if row["name"] in by_name:
            out[row["name"]] = _known(row, by_name[row["name"]])
    return out


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value == value


def _shown(value: Any, one: Field) -> str:
    typed = float(value) * one.scale
    return f"{typed:,.0f}" if typed == int(typed) else digits3(typed)


def _known(row: Mapping[str, Any], one: Field) -> Known:
    value, low, high = row.get("value"), row.get("low"), row.get("high")
    shown = _shown(value, one) if _is_number(value) else "not published"
    ends = ""
    if _is_number(low) and _is_number(high) and float(str(low)) < float(str(high)):
        ends = f"range {_shown(low, one)} to {_shown(high, one)}"
    badge = status_label(str(row.get("status") or ""))
    parts = (badge, ends, row.get("source"), row.get("date"), row.get("note"))
    return Known(shown, "; ".join(str(p) for p in parts if p and p == p))


def defaults_of(
    result: Result, model: Mapping[str, Any], wanted: Sequence[Field], names: Mapping[str, str]
) -> dict[str, Known]:
    """Return what counts for empty fields by the defaults of the parameters, with the sources that an answer
    to no input names; `names`: parameter -> name of its assumption.
    """
    held = {item.name: item for item in result.assumptions}
    out = {}
    for one in wanted:
        value, item = model.get(one.name), held.get(names.get(one.name, ""))
        told = (status_label(item.status), item.source, item.date) if item else ()
        out[one.name] = Known(
            _shown(value, one) if _is_number(value) else "", "; ".join(t for t in told if t)
        )
    return out


def lines(param: str, label: str, *, what: str, placeholder: str, tip: str, most: int) -> list[str]:
    """Draw a box with one entry a line; returns the entries. The text itself stands in the address."""
    asked = st.query_params.get_all(param)
    if len(asked) > 1:
        note(UrlNotice(param, f"The address gives {what} {len(asked)} times; showing the last."))
        st.query_params[param] = asked[-1]
        st.rerun()
    text = st.text_area(
        label, key=param, bind="query-params", placeholder=placeholder, help=tip, height=68,
        max_chars=120 * most, on_change=settle, args=(param,),
    )  # fmt: skip
    return [line.strip() for line in (text or "").splitlines() if line.strip()]
