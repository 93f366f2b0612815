"""Money: a month's bill beside what the runs explain of it, what became of it, and whose it was."""

from typing import Any

import streamlit as st

from analysis.bill import default_period
from analysis.moneyparams import AUTO, WITH
from analysis.month import Month, periods
from analysis.result import Result
from pages.parts import money_bill, money_campaigns, money_energy, money_rules, money_waste
from pages.parts.assumptions import show_how
from pages.parts.choose import segments
from pages.parts.compute import compute_or_stop
from pages.parts.frame import show_head, stop_when_empty
from pages.parts.money_cards import say_what_counts, show_cards
from pages.parts.money_open import (
    ALL,
    ALL_MONTHS,
    SECTIONS,
    forget_lines,
    pick_month,
    seek,
)
from pages.parts.share import share_bar
from pages.parts.state import current
from pages.parts.waste_settings import settings


def period_of(months: list[Month], newest: str) -> str:
    """The month picker: months that hold a bill or a run, newest first, and all of them together. It opens on
    the newest invoice of one's own.
    """
    mixed = len({one.is_example for one in months}) > 1
    names = {}
    for one in months:
        marks = ["example"] * (one.is_example and mixed) + ["no bill"] * (not one.has_bill)
        names[one.month] = f"{one.month} ({', '.join(marks)})" if marks else one.month
    names[ALL] = ALL_MONTHS
    return pick_month(names, newest if newest in names else next(iter(names)))


def show_section(section: str, period: dict[str, Any], bill: Result, waste: Result) -> list[Result]:
    """Draw one section; returns the results that only it needs."""
    if section == "Invoice":
        money_bill.show_invoice(bill)
        return []
    if section == "Waste":
        money_waste.show(waste)
        return []
    if section == "Energy":
        return [money_energy.show(period)]
    campaigns = compute_or_stop("campaigns", period)
    if section == "Campaigns":
        money_campaigns.show(campaigns, waste)
    else:
        money_rules.show(campaigns)
    return [campaigns]


state = current()
head = st.container()
with st.container(horizontal=True, vertical_alignment="bottom", key="money_controls"):
    with state.view() as view:
        months, newest = periods(view, state.example), default_period(view)
    period = {"period": period_of(months, newest), "example": WITH if state.example else AUTO}
    limits = settings("mo")
month = compute_or_stop("month", {**period, **limits})
with head:
    stop_when_empty("Money", month)
    place = show_head("Money", [month], bar=False, cards=show_cards)
    say_what_counts(month)
bill = compute_or_stop("reconciliation", period)
waste = compute_or_stop("waste", {**period, **limits})
money_bill.show_charts(month, bill, waste)
with st.container(key="money_details"):
    section = segments("mo_show", "Details", SECTIONS, SECTIONS[0], str)
    forget_lines(section)
    results = [month, bill, waste, *show_section(section, period, bill, waste)]
with place:
    share_bar(results, "Money")
show_how(results, "money")
seek()
