"""Downloads: CSV of exactly what is drawn, safe to open in a spreadsheet; PNG through the chart's own bar.

Contents are made when they are asked for: a file made beforehand is gone after the next run of the script,
and the browser, which looks for it, reports 404.
"""

import html
import re
from collections.abc import Callable
from functools import partial
from typing import Any

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from charts.drawn import drawn
from charts.theme import PLOTLY_CONFIG, heading_px
from pages.parts.notebook_menu import notebook_menu
from pages.parts.words import md_escape

_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n")


def safe_cell(value: Any) -> Any:
    """Return text that a spreadsheet will not run as a formula: a quote goes before = + - @ and controls."""
    if isinstance(value, str) and value.startswith(_FORMULA_STARTS):
        return "'" + value
    if isinstance(value, list | tuple):
        return safe_cell("; ".join(str(v) for v in value))
    return value


def csv_text(frame: pd.DataFrame) -> str:
    """Return the frame as CSV with full precision, UTC times in ISO form and harmless text cells."""
    out = frame.copy()
    for name in out.columns:
        if not pd.api.types.is_numeric_dtype(out[name]) and not pd.api.types.is_datetime64_any_dtype(
            out[name]
        ):
            out[name] = out[name].map(safe_cell)
    out.columns = [safe_cell(str(c)) for c in out.columns]
    text: str = out.to_csv(index=False, date_format="%Y-%m-%dT%H:%M:%SZ", lineterminator="\r\n")
    return text


def csv_button(frame: pd.DataFrame, file_name: str, *, key: str, label: str = "CSV") -> None:
    """Offer the frame as a CSV file."""
    st.download_button(
        label,
        lambda: csv_text(frame).encode("utf-8"),
        file_name=file_name,
        mime="text/csv",
        key=key,
        icon=":material/download:",
        type="tertiary",
        on_click="ignore",
        help="The rows and columns shown, with full precision.",
    )


def show_chart(fig: go.Figure, key: str, on_pick: Callable[[dict[str, Any]], None] | None = None) -> None:
    """Draw a figure with its alternative text; the camera button saves it as PNG under its own name.

    A figure without data is its title and the reason, in words and in less room. `on_pick` is called with the
    point (x, y, curve_number) that a person clicks, before the page runs again.
    """
    if not fig.data:
        _show_reason(fig)
        return
    kept = fig
    name = re.sub(r"[^a-z0-9]+", "-", key.lower()).strip("-")
    image = {**PLOTLY_CONFIG["toImageButtonOptions"], "filename": name}
    if on_pick is not None:
        fig = _clickable(fig)
    with st.container(key=f"chart_{name}", gap=None):
        st.html(heading_html(fig, f"chart_{name}"))
        st.plotly_chart(
            fig,
            theme=None,
            key=key,
            on_select="ignore" if on_pick is None else partial(_picked, key, on_pick),
            selection_mode="points",
            config={**PLOTLY_CONFIG, "toImageButtonOptions": image},
            alt=str((fig.layout.meta or {}).get("alt", "")) or None,
        )
    with st.container(horizontal=True, horizontal_alignment="right", key=f"below_{key}"):
        st.download_button(
            "Chart data",
            lambda: csv_text(drawn(fig)).encode("utf-8"),
            file_name=f"{name}.csv",
            mime="text/csv",
            key=f"csv_{key}",
            icon=":material/download:",
            type="tertiary",
            on_click="ignore",
            help="CSV of the points drawn. The camera below the chart saves it as PNG.",
        )
        notebook_menu(kept, key)


def _clickable(fig: go.Figure) -> go.Figure:
    """A copy whose points can be clicked, and look no other for it."""
    fig = go.Figure(fig)
    fig.update_layout(clickmode="event+select", dragmode=False)
    return fig.update_traces(selected={"marker": {"opacity": 1}}, unselected={"marker": {"opacity": 1}})


def heading_html(fig: go.Figure, place: str) -> str:
    """Return title and subtitle of a figure as text, which wraps by its width as Plotly's own does not.

    `frame.css` lays it over the room of the figure's own title, whose pixels `place` (the key of the
    container) is told: a picture that is saved, and the full screen, show that one.
    """
    meta = fig.layout.meta or {}
    title, under = (html.escape(html.unescape(str(meta.get(part, "")))) for part in ("title", "subtitle"))
    small = f"<small>{under}</small>" if under else ""
    room = f"<style>.st-key-{place} {{ --ipd-title: {heading_px(fig)}px }}</style>"
    return f'{room}<div class="ipd-heading"><strong>{title}</strong>{small}</div>'


def _picked(key: str, on_pick: Callable[[dict[str, Any]], None]) -> None:
    points = st.session_state[key].selection.points
    if points:
        on_pick(points[0])


def _show_reason(fig: go.Figure) -> None:
    title = html.unescape(re.sub(r"<[^>]+>", " ", str(fig.layout.title.text or "")))
    reason = " ".join(html.unescape(str(a.text).replace("<br>", " ")) for a in fig.layout.annotations)
    with st.container(border=True, gap="xxsmall"):
        st.markdown(f"**{md_escape(' '.join(title.split()))}**")
        st.caption(md_escape(reason))
