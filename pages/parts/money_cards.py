"""The cards at the top of the Money page, each with the button that opens the lines or runs behind it."""

from collections.abc import Callable
from functools import partial

import streamlit as st

from analysis.madeup import LEFT_OUT
from analysis.result import Result
from analysis.resumed import CODE
from pages.parts.figures import card_html
from pages.parts.money_open import open_lines, open_runs
from pages.parts.words import md_escape

Opens = tuple[str, Callable[[], None]]
OPENS: dict[str, Opens] = {
    "bill_billed": ("All lines", partial(open_lines, "all")),
    "bill_effective": ("All lines", partial(open_lines, "all")),
    "bill_explained": ("Explained lines", partial(open_lines, "explained")),
    "bill_idle": ("Lines held by nobody", partial(open_lines, "idle")),
    "bill_credits": ("Credit lines", partial(open_lines, "credits")),
    "bill_open": ("Lines not explained", partial(open_lines, "open")),
    "month_productive": ("Runs behind it", partial(open_runs, "productive")),
}


SAID = (LEFT_OUT, "bill_is_whole", "bill_without_rate", CODE)


def say_what_counts(month: Result) -> None:
    """Sentences that change what the totals mean, in sight and not among the warnings."""
    for notice in month.warnings:
        if notice.code in SAID:
            st.caption(f":material/info: {md_escape(notice.text)}")


def show_cards(month: Result) -> None:
    """Draw the headline figures; what is not known opens nothing."""
    with st.container(key="money_cards"):
        for figure in month.headline:
            with st.container(key=f"money_card_{figure.name}", gap=None):
                st.html(f'<dl class="ipd-figures">{card_html(figure)}</dl>')
                if figure.value is not None:
                    label, opens = OPENS[figure.name]
                    st.button(
                        label, key=f"open_{figure.name}", type="tertiary", on_click=opens,
                        icon=":material/arrow_downward:",
                    )  # fmt: skip
