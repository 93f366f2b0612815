"""Entry script: page frame, navigation, shared controls, and the check of the address."""

import streamlit as st

from data.store import Store
from pages.parts import example, home_notices, live, logo, opening, sidebar, signin, state
from pages.parts.urlcheck import UrlNotice, quote
from pages.parts.visits import VISITS

ROOT = state.ROOT / "pages"
SECTIONS = {
    "Start": [
        ("overview.py", "Overview", ":material/dashboard:", "What each run cost and what it bought."),
        ("telemetry.py", "Telemetry", ":material/upload_file:", "Load files, fill in run details, undo."),
    ],
    "Measure": [
        ("rollouts.py", "Rollouts", ":material/cycle:", "Phases, throughput and lengths, step by step."),
        (
            "utilisation.py",
            "GPU utilisation",
            ":material/memory:",
            "What the GPUs did while they were paid for.",
        ),
        (
            "intelligence.py",
            "Intelligence per dollar",
            ":material/trending_up:",
            "Gain with its interval, and its price.",
        ),
    ],
    "Decide": [
        (
            "money.py",
            "Money",
            ":material/payments:",
            "The month's bill: explained, productive, wasted, and whose it was.",
        ),
        (
            "generations.py",
            "Platform generations",
            ":material/stacks:",
            "A measured run on other platforms, with its break-even price; published runs.",
        ),
        (
            "backtest.py",
            "How wrong?",
            ":material/rule:",
            "Projections of published pairs, beside what was published.",
        ),
        (
            "capacity.py",
            "Capacity",
            ":material/factory:",
            "Racks and dollars for a cadence; pools, sandboxes, weight sync; scenarios side by side.",
        ),
        ("tenure.py", "Rent or own", ":material/balance:", "Rent, reserve or own the same demand."),
        (
            "forecast.py",
            "Forecast",
            ":material/query_stats:",
            "Spend by month against a budget, kept forecasts and their score, commitments.",
        ),
    ],
    "Share": [
        (
            "notebook.py",
            "Notebook",
            ":material/menu_book:",
            "A plan as a short paper: words, analyses, SQL, charts; it re-runs where you change it.",
        ),
        ("links.py", "Links", ":material/link:", "Every shared report: last opened, expiry, revoke."),
    ],
    "Reference": [
        (
            "hardware.py",
            "Hardware and prices",
            ":material/developer_board:",
            "Platforms side by side, every number sourced.",
        ),
        (
            "prices.py",
            "Price book",
            ":material/sell:",
            "Every price with its versions; yours, currencies, imports, re-pricing.",
        ),
        ("docs.py", "Documentation", ":material/menu_book:", "How files are read and numbers are computed."),
    ],
}

SHOWN_PAGES = sum(len(rows) for section, rows in SECTIONS.items() if section != "Reference")


def pages() -> dict[str, list[st.Page]]:
    """Build the navigation; the first page is the default one."""
    first = "overview.py"
    return {
        section: [
            st.Page(str(ROOT / file), title=title, icon=icon, help=text, default=file == first)
            for file, title, icon, text in rows
            if (ROOT / file).exists()
        ]
        for section, rows in SECTIONS.items()
    }


def leftovers() -> None:
    """Name URL parameters that no control of this page has taken."""
    unused = [p for p in st.query_params if p not in st.session_state]
    if unused:
        state.note(UrlNotice("?", f"The address has {quote(unused)}, which no control on this page uses."))
    else:
        state.settle("?")


def draw_sidebar(store: Store, choices: sidebar.Known, theme: state.Theme) -> sidebar.Asked:
    """Draw the shared controls with what stands below them; returns what they say."""
    with store.view() as view, st.sidebar:
        asked = sidebar.controls(choices, view.catalogue, theme)
        foot = st.container()
        sidebar.foot(foot, view)
    with foot:
        example.remove_note(store)
    return asked


def expect(drawn: sidebar.Asked, said: sidebar.Asked) -> None:
    """Draw the page again when the controls say something else than what it was drawn for."""
    if said != drawn:
        st.rerun()


st.set_page_config(
    page_title="Intelligence per Dollar",
    page_icon=logo.mark("light"),
    layout="wide",
    initial_sidebar_state="auto",
)
st.html(state.ROOT / "pages/parts/frame.css")
signin.require()
state.close_banner()
theme = state.theme()
st.logo(logo.wordmark(theme), icon_image=logo.mark(theme), size="large")
page = st.navigation({k: v for k, v in pages().items() if v}, expanded=SHOWN_PAGES)
store = state.open_store()
answer_first = opening.is_plain_first_run() and page.url_path == ""
with VISITS.visit():
    with store.view() as view:
        choices, version = sidebar.known(view), view.data_version
        sidebar.check_address(choices)
    asked = sidebar.defaults(choices) if answer_first else draw_sidebar(store, choices, theme)
    state.publish(state.PageState(store=store, common=asked[0], theme=theme, picked=asked[1]))
    if answer_first:
        opening.after_answer(lambda: expect(asked, draw_sidebar(store, choices, theme)))
    state.open_banner()
    home_notices.show(store)
    live.follow(store, version)
    try:
        page.run()
    finally:
        opening.answered()  # a page that failed before its answer has a sidebar all the same
    leftovers()
