"""Tables on screen: headings with units, three significant digits, and a CSV of the same rows."""

import math
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Any, Literal

import numpy as np
import pandas as pd
import streamlit as st

from analysis.result import Result
from pages.parts.download import csv_button
from pages.parts.state import platform_names
from pages.parts.words import column_label, has_value_labels, value_label

HEIGHT_ROWS = 12
TALL_PX = 440
UNKNOWN = "–"
PLATFORMS = frozenset({"platform", "platforms", "platform_id", "baseline_platform_id", "target_platform_id"})


def table_height(rows: int) -> Literal["content"] | int:
    """Return the height of a table: all rows when they are few, else as many as a screen holds well."""
    return "content" if rows <= HEIGHT_ROWS else TALL_PX


def number_format(name: str, values: pd.Series) -> str:
    """Return a printf format that shows three significant digits of a column's typical value."""
    numbers = values.astype("float64").to_numpy()
    finite = np.abs(numbers)
    finite = finite[np.isfinite(finite) & (finite > 0)]
    typical = float(np.median(finite)) if len(finite) else 1.0
    whole = pd.api.types.is_integer_dtype(values) or typical >= 100 or bool((finite % 1 == 0).all())
    places = 0 if whole else min(6, max(0, 2 - math.floor(math.log10(typical))))
    below = bool((numbers < 0).any())  # the sign would stand behind the dollar: $-5
    dollars = "$" if _is_dollars(name) and not below else ""
    return f"{dollars}%,.{places}f"


def _is_dollars(name: str) -> bool:
    return "usd" in name.split("_") and not name.endswith("_frac") and "per_1000_usd" not in name


def as_shown(frame: pd.DataFrame, percent: Sequence[str] = ()) -> pd.DataFrame:
    """Return the frame with ratios (…_frac and those named in `percent`) as percent; the rest as it is."""
    out = frame.copy()
    for name in out.columns:
        if (str(name).endswith("_frac") or name in percent) and pd.api.types.is_numeric_dtype(out[name]):
            out[name] = 100 * out[name]
        elif has_value_labels(str(name)):
            out[name] = [value_label(str(name), v) for v in out[name]]
        elif str(name) in PLATFORMS:
            out[name] = [_platform_name(v) for v in out[name]]
    return out


def in_percent(labels: Mapping[str, str], percent: Sequence[str]) -> dict[str, str]:
    """Return the headings with the unit of the columns that `as_shown` turns into percent."""
    told = {name: labels.get(name, column_label(name)) for name in percent}
    return {**labels, **{name: text if "%" in text else f"{text} (%)" for name, text in told.items()}}


def _platform_name(value: Any) -> Any:
    names = platform_names()
    if isinstance(value, list | tuple):
        return [names.get(v, v) for v in value]
    if isinstance(value, str) and " -> " in value:
        return " to ".join(names.get(one, one) for one in value.split(" -> "))
    return names.get(value, value) if isinstance(value, str) else value


def column_config(frame: pd.DataFrame, labels: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Return headings and formats by column name and type."""
    labels = labels or {}
    config: dict[str, Any] = {}
    for name in frame.columns:
        label = labels.get(str(name), column_label(str(name)))
        values = frame[name]
        if pd.api.types.is_bool_dtype(values):
            config[name] = st.column_config.CheckboxColumn(label, width="small")
        elif pd.api.types.is_numeric_dtype(values):
            shown = number_format(str(name), values)
            bare = _is_dollars(str(name)) and not shown.startswith("$") and "USD" not in label
            told = f"{label} (USD)" if bare else label
            config[name] = st.column_config.NumberColumn(told, format=shown)
        elif any(isinstance(v, date) and not isinstance(v, datetime) for v in values.tolist()):
            config[name] = st.column_config.DateColumn(label, format="YYYY-MM-DD")
        elif pd.api.types.is_datetime64_any_dtype(values):
            config[name] = st.column_config.DatetimeColumn(f"{label} (UTC)", format="YYYY-MM-DD HH:mm")
        elif any(isinstance(v, list | tuple) for v in values.tolist()):
            config[name] = st.column_config.ListColumn(label)
        else:
            config[name] = st.column_config.TextColumn(label)
    return config


def show_table(
    result: Result,
    name: str,
    *,
    title: str,
    columns: Sequence[str] | None = None,
    labels: Mapping[str, str] | None = None,
    percent: Sequence[str] = (),
    cents: Sequence[str] = (),
    blank: Mapping[str, str] | None = None,
    optional: Sequence[str] = (),
    select: str = "",
) -> int | None:
    """Draw one result table with its CSV button; an absent or empty one is skipped.

    Columns in `cents` are bills: they show every cent, where others show three digits. `blank` says in words
    what an empty cell of a column means; `optional` columns are left out when they hold nothing or only 0.
    With `select`, the key of the widget, rows can be picked: returns the place of the picked row.
    """
    whole = result.tables.get(name)
    if whole is None or whole.empty:
        return None
    frame = in_words(_chosen(whole, columns, optional), blank or {})
    shown, words = as_shown(frame, percent), in_percent(labels or {}, percent)
    _show_heading(title, frame, f"{result.analysis}-{name}.csv", f"csvtable_{result.analysis}_{name}")
    picked = st.dataframe(
        shown,
        hide_index=True,
        column_config=column_config(shown, words) | _to_the_cent(shown, words, cents),
        key=select or f"table_{result.analysis}_{name}",
        height=table_height(len(shown)),
        placeholder=UNKNOWN,
        alt=f"Table: {title}",
        on_select="rerun" if select else "ignore",
        selection_mode="single-row",
    )
    rows = picked.selection.rows if select else []
    return int(rows[0]) if rows and rows[0] < len(shown) else None


def _show_heading(title: str, frame: pd.DataFrame, file_name: str, key: str) -> None:
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="bottom"):
        st.markdown(f"**{title}**", width="content")
        csv_button(frame, file_name, key=key)


def _chosen(frame: pd.DataFrame, columns: Sequence[str] | None, optional: Sequence[str]) -> pd.DataFrame:
    """The wanted columns that are there, without optional ones that hold nothing."""
    names = [c for c in columns or frame.columns if c in frame.columns]
    return frame[[c for c in names if c not in optional or holds_something(frame[c])]]


def holds_something(values: pd.Series) -> bool:
    """Whether a column has any value that is not missing, empty or 0."""
    return any(not _is_empty(value) and value != 0 for value in values.tolist())


def in_words(frame: pd.DataFrame, blank: Mapping[str, str]) -> pd.DataFrame:
    """Return the frame with the empty cells of the columns in `blank` in words."""
    out = frame.copy()
    for name, word in blank.items():
        if name in out.columns:
            out[name] = [word if _is_empty(value) else value for value in out[name].tolist()]
    return out


def _is_empty(value: Any) -> bool:
    missing = value is None or value is pd.NA or value is pd.NaT or value == ""
    return missing or (isinstance(value, float) and math.isnan(value))


def _to_the_cent(frame: pd.DataFrame, labels: Mapping[str, str], names: Sequence[str]) -> dict[str, Any]:
    return {
        name: st.column_config.NumberColumn(labels.get(name, column_label(name)), format="dollar")
        for name in names
        if name in frame.columns
    }
