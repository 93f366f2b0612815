"""Scenarios side by side on the page: what leads, the figures and inputs with what differs marked."""

import pandas as pd
import streamlit as st

from analysis.result import Result
from charts import scenarios as charts
from charts.theme import Mode, fade, palette
from pages.parts.answer import show_answer
from pages.parts.choose import segments
from pages.parts.download import csv_button, show_chart
from pages.parts.notices import show_warnings
from pages.parts.pictures import picture
from pages.parts.tables import table_height

HEADS = {"figure": "Figure", "input": "Input", "unit": "Unit", "differs": "Differs"}
ALL, DIFFERENT = "All", "What differs"


def show_comparison(result: Result, mode: Mode) -> None:
    """Draw a comparison under its own heading."""
    st.subheader("Side by side", anchor=False)
    show_answer(result)
    show_warnings(result)
    show_chart(picture(charts.side_by_side, result, mode), key="scenarios_chart")
    which = segments("sc_rows", "Rows", [ALL, DIFFERENT], ALL, str)
    for name, title in (("figures", "Figures"), ("inputs", "Inputs that were given, or differ")):
        frame = result.tables[name]
        if which == DIFFERENT:
            frame = frame[frame["differs"] != ""]
        _show(frame, name, title, mode)


def _show(frame: pd.DataFrame, name: str, title: str, mode: Mode) -> None:
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="bottom"):
        st.markdown(f"**{title}**", width="content")
        csv_button(frame, f"scenarios-{name}.csv", key=f"sc_csv_{name}")
    if frame.empty:
        st.caption("None." if name == "figures" else "All inputs are the defaults of the page.")
        return
    colour = fade(palette(mode).accent, 0.18)

    def tint(row: pd.Series) -> list[str]:
        return [f"background-color: {colour}" if row["differs"] else ""] * len(row)

    hidden = [c for c in ("unit",) if name == "figures" or not frame["unit"].astype(bool).any()]
    shown = frame.drop(columns=hidden)
    st.dataframe(
        shown.style.apply(tint, axis=1),
        hide_index=True,
        column_config={c: HEADS.get(str(c), str(c)) for c in shown.columns},
        key=f"sc_table_{name}",
        height=table_height(len(shown)),
        alt=f"Table: {title}",
    )
