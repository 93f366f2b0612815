"""Waste on the Money page: each run's dollars by what became of them, stalls and idle spells."""

import streamlit as st

from analysis.result import Result
from pages.parts.answer import flowing
from pages.parts.tables import show_table
from pages.parts.waste_settings import SPELL
from pages.parts.words import md_escape

PARTS = ("not_allocated", "idle", "stalled", "unknown", "bubble", "lost", "productive")
LABELS = {
    "who": "Run or job",
    "usd": "Cost (USD)",
    "not_allocated_usd": "Not allocated (USD)",
    "idle_usd": "Idle (USD)",
    "stalled_usd": "Stalled (USD)",
    "unknown_usd": "Unknown (USD)",
    "bubble_usd": "Waiting for the other pool (USD)",
    "lost_usd": "Lost to failures (USD)",
    "productive_usd": "Productive (USD)",
    "coverage_frac": "Known (%)",
    "length_min": "Length (min)",
    "evidence": "What says so",
    "job": "Scheduler job",
    "gpus": "GPUs",
    "hosts": "Hosts",
}
COLUMNS = ("who", "usd", *(f"{part}_usd" for part in PARTS), "gpu_hours", "coverage_frac")
CENTS = tuple(name for name in COLUMNS if name.endswith("usd"))


def show(waste: Result) -> None:
    """Draw the section."""
    st.markdown(md_escape(flowing(waste.answer)))
    show_table(
        waste, "runs", title="What became of each run's dollars", columns=COLUMNS, labels=LABELS,
        cents=CENTS, blank={"who": "nobody"}, optional=tuple(f"{part}_usd" for part in PARTS),
    )  # fmt: skip
    for name, title in (("stalls", "Stalls"), ("idle", "Idle spells")):
        show_table(
            waste, name, title=title, columns=SPELL, labels=LABELS, cents=("usd",),
            blank={"run": "no run"}, optional=("job", "attempt", "pool", "hosts"),
        )  # fmt: skip
