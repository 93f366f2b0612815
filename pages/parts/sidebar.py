"""The shared controls: which runs, at which price, with which cost boundary, on which platforms."""

import html
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from analysis.madeup import default_runs, lies_beside
from analysis.params import DEFAULT_PRICE, CommonParams
from analysis.words import plural
from charts import theme as chart_theme
from charts.palette import SYMBOL_SIGNS
from data.catalogue import Catalogue
from data.catalogue_types import price_words
from data.queries import frame as frame_queries
from data.queries.known import runs_by_arrival
from data.version import APP_VERSION
from data.view import View
from pages.parts import state
from pages.parts.state import platform_names
from pages.parts.urlcheck import UrlNotice, check_many, check_one

BOUNDARIES = {
    "compute": "only the GPU time that led to the shipped weights",
    "campaign": "compute plus failed, cancelled and repeated work",
    "full": "campaign plus evaluations and booked data and staff costs",
}
DEFAULT_BOUNDARY = "campaign"
CHIPS_SHOWN = 12
Asked = tuple[CommonParams, tuple[str, ...]]
SWITCH, SWITCH_WORDS = ("false", "true"), "is neither true nor false"


@dataclass(frozen=True)
class Known:
    """What exists and may be asked for."""

    runs: pd.DataFrame
    platforms: list[str]
    prices: list[str]
    arrival: list[str]
    """All runs, the one uploaded first in front: their colours go by it."""
    default: tuple[str, ...] = ()
    """One's own runs, where the example lies beside them; empty: all."""
    beside: bool = False
    """The example lies beside a run or a bill of one's own, so a switch says which of them count."""


def known(view: View) -> Known:
    """Read the choices that the controls offer."""
    return Known(
        runs=frame_queries.runs(view),
        platforms=frame_queries.platforms(view),
        prices=[f"{kind}.{tier}" for kind, tier in view.catalogue.price_menu()],
        arrival=runs_by_arrival(view),
        default=default_runs(view),
        beside=lies_beside(view),
    )


def check_address(choices: Known) -> None:
    """Hold every shared URL value, and every remembered one, against what exists; note the bad ones."""
    boundary = check_one(
        "boundary",
        _asked("boundary"),
        list(BOUNDARIES),
        DEFAULT_BOUNDARY,
        "cost boundary",
        "is none of " + ", ".join(BOUNDARIES),
    )
    checks: list[tuple[object, UrlNotice | None]] = [
        check_many("runs", _asked("runs"), list(choices.runs["run"]), "run"),
        check_many(
            "platforms",
            _asked("platforms"),
            choices.platforms,
            "platform",
            "no run of this home was allocated on",
        ),
        _check_price(choices.prices),
        boundary,
    ]
    if choices.beside:
        checks.append(check_one("example", _asked("example"), SWITCH, SWITCH[0], "example", SWITCH_WORDS))
    else:
        st.query_params.pop("example", None)  # nothing is left out: the whole home is shown
    for _, notice in checks:
        if notice:
            state.note(notice)
    state.one_value("boundary", boundary[0], DEFAULT_BOUNDARY)


def _check_price(prices: list[str]) -> tuple[str, UrlNotice | None]:
    value, notice = check_one(
        "price", _asked("price"), prices, DEFAULT_PRICE, "price", "the price book does not hold"
    )
    st.session_state["price"] = value
    return value, notice


def _asked(param: str) -> list[str]:
    """What the address asks for when it is new, else what the session remembers (its run may be gone)."""
    seen: dict[str, list[str]] = st.session_state.setdefault("_address_seen", {})
    in_address = st.query_params.get_all(param)
    if in_address and seen.get(param) != in_address:
        seen[param] = in_address
        return in_address
    remembered = st.session_state.get(param)
    if remembered is None:
        return []
    if isinstance(remembered, bool):
        return [str(remembered).lower()]
    return list(remembered) if isinstance(remembered, list | tuple) else [str(remembered)]


def defaults(choices: Known) -> Asked:
    """Return what `controls` returns where nobody has asked for anything."""
    price = str(st.session_state["price"])
    return CommonParams(runs=choices.default, price=price, boundary=DEFAULT_BOUNDARY, platforms=()), ()


def controls(choices: Known, catalogue: Catalogue, theme: state.Theme) -> Asked:
    """Draw the shared controls in the sidebar; returns what they say, and the runs that were picked."""
    runs, picked = _run_picker(choices, theme)
    price = _price_picker(choices, catalogue)
    boundary = _bound(
        st.segmented_control,
        "boundary",
        "Cost boundary",
        list(BOUNDARIES),
        default=DEFAULT_BOUNDARY,
        required=True,
        width="stretch",
        help="\n".join(f"- **{name}**: {text}" for name, text in BOUNDARIES.items()),
    )
    platforms = _bound(
        st.multiselect,
        "platforms",
        "Platforms",
        choices.platforms,
        placeholder="All platforms" if choices.platforms else "No platform named yet",
        disabled=not choices.platforms,
        help="Keeps runs that have a pool on one of these platforms.",
    )
    common = CommonParams(runs=tuple(runs), price=price, boundary=boundary, platforms=tuple(platforms))
    return common, tuple(picked)


def _price_picker(choices: Known, catalogue: Catalogue) -> str:
    """The list shows words and the address keeps the id: a bound widget would write its words there."""
    price = str(
        st.selectbox(
            "Price (kind · tier)",
            choices.prices,
            format_func=lambda price: price_words(*price.split(".", 1)),
            key="price",
            on_change=state.settle,
            args=("price",),
            help="A price is picked by kind and tier together. A platform without a quote in that kind and "
            "tier has no dollars: the page says so and takes no other price.",
        )
    )
    seen = st.session_state.setdefault("_address_seen", {})
    if price != DEFAULT_PRICE and st.query_params.get_all("price") != [price]:
        st.query_params["price"] = price
    elif price == DEFAULT_PRICE and "price" in st.query_params:
        del st.query_params["price"]
    seen["price"] = st.query_params.get_all("price")
    if choices.platforms:
        st.caption(price_line(catalogue, price, choices.platforms))
    return price


def _run_picker(choices: Known, theme: state.Theme) -> tuple[list[str], list[str]]:
    """Runs that the pages are about, none for all, and those of them that were picked."""
    names, place = list(choices.runs["run"]), st.container()
    switched_on = st.session_state.get("example", st.query_params.get("example") == "true")
    left_out = bool(choices.default) and not switched_on
    count = len(choices.default) if left_out else len(names)
    everything = f"{'Your' if left_out else 'All'} {count} {plural('run', count)}"
    with place:
        picked: list[str] = _bound(
            st.multiselect,
            "runs",
            "Runs",
            names,
            placeholder=everything if names else "No runs yet",
            disabled=not names,
            help="Type to search. Nothing picked means all runs, without the example's where yours are "
            "loaded. A run keeps its colour on every page.",
        )
    if choices.beside:
        left_out = not _example_switch(bool(picked), bool(choices.default)) and bool(choices.default)
    runs = picked or (list(choices.default) if left_out else [])
    shown = choices.runs[choices.runs["run"].isin(runs)] if runs else choices.runs
    if not shown.empty:
        colours = chart_theme.run_colours(choices.arrival, theme)
        st.html(_chips(shown, chart_theme.run_styles(colours, theme, colours)))
    return runs, picked


def _example_switch(picked: bool, own_runs: bool) -> bool:
    """One line that says what becomes of the example's runs and bill; returns whether they are shown."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="example_line"):
        said = st.empty()
        shown: bool = st.toggle(
            "show",
            key="example",
            bind="query-params",
            disabled=picked,
            on_change=state.settle,
            args=("example",),
            help="The example's runs and bill are made up, so every page, Money too, leaves them out beside "
            "yours. Its runs stay in the list: picking one shows it, and counts its bill on Money.",
        )
    alone = "Example left out" if own_runs else "Example's bill left out"
    words = "Only the picked runs" if picked else "Example shown beside yours" if shown else alone
    said.caption(words, width="content")
    return shown


def _bound(widget: Any, param: str, label: str, options: list[str], **more: Any) -> Any:
    return widget(
        label, options, key=param, bind="query-params", on_change=state.settle, args=(param,), **more
    )


def _chips(runs: pd.DataFrame, styles: Mapping[str, Mapping[str, Any]]) -> str:
    lines = []
    for campaign, group in runs.head(CHIPS_SHOWN).groupby("campaign", sort=False):
        lines.append(
            f"<div style='opacity:.7;margin-top:2px'>{html.escape(str(campaign) or 'no campaign')}</div>"
        )
        lines.extend(_chip(row, styles[row.run]) for row in group.itertuples())
    rest = len(runs) - CHIPS_SHOWN
    if rest > 0:
        lines.append(f"<div style='opacity:.7'>and {rest} more</div>")
    return f"<div style='font-size:.8rem;line-height:1.45'>{''.join(lines)}</div>"


def _chip(row: Any, style: Mapping[str, Any]) -> str:
    names = platform_names()
    tail = " · ".join(names.get(p, p) for p in row.platforms)
    return (
        "<div style='display:flex;gap:.45rem;align-items:baseline'>"
        f"<span aria-hidden='true' style='flex:none;width:.8rem;color:{style['colour']}'>"
        f"{SYMBOL_SIGNS[style['symbol']]}</span><span style='overflow-wrap:anywhere'>{html.escape(row.run)}"
        f"<span style='opacity:.65'> {html.escape(tail)}</span></span></div>"
    )


def foot(place: DeltaGenerator, view: View) -> None:
    """Draw data cut-off, price-book date and version at the foot of the sidebar."""
    cutoff = f"Data until {view.data_cutoff:%d %b %Y, %H:%M} UTC" if view.data_cutoff else "No data yet"
    with place:
        st.caption(f"{cutoff}  \nPrice book {view.catalogue.price_book_date}  \nVersion {APP_VERSION}")


def price_line(catalogue: Catalogue, price: str, platforms: list[str]) -> str:
    """Say what the picked price means for the platforms of this home."""
    kind, _, tier = price.partition(".")
    names = platform_names()
    parts = []
    for platform in platforms[:4]:
        choice = catalogue.price(platform, kind, tier)
        shown = f"${choice.usd_per_gpu_h:.2f}" if choice else "not quoted"
        parts.append(f"{names.get(platform, platform)} {shown}".replace(" ", "\u00a0"))
    return state.escape(f"{' · '.join(parts)} per\u00a0GPU-hour")
