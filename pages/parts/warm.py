"""Work that the first visitor would wait for, done right after the start."""

import gc
import importlib
import pkgutil
import time

from streamlit import runtime

import analysis
import charts
from analysis.madeup import default_runs
from analysis.params import CommonParams
from data.errors import UserError
from data.store import Store
from pages.parts.visits import VISITS

MODULES = ("charts.ledger", "pages.parts.ledgertable", "pages.parts.share", "plotly.io")
WAITS = 100
QUIET_S, PATIENCE_S = 2.0, 20.0
FIRST = (
    "ledger",
    "bottleneck",
    "rollouts",
    "unit_economics",
    "utilisation",
    "gain",
    "learning",
    "projection",
    "learning_curve",
    "frontier",
    "buckets",
    "generations",
)


def warm(store: Store) -> None:
    """Import what pages draw with, answer each page's first questions, then import what else may be asked.

    The first question is what the first visitor asks; the rest is done while nobody waits for a page.
    """
    for _ in range(WAITS):  # caches made before the runtime make Streamlit complain
        if runtime.exists():
            break
        time.sleep(0.1)
    for name in MODULES:
        importlib.import_module(name)
    _answer_first(store)
    for module in pkgutil.iter_modules(charts.__path__, "charts."):
        _import(module.name)
    for question in analysis.QUESTIONS:
        _import(f"analysis.{question}")
    VISITS.wait_until_quiet(QUIET_S, PATIENCE_S)
    importlib.import_module("reports.page_bytes").warm()
    _spare_collector()


def _import(name: str) -> None:
    VISITS.wait_until_quiet(QUIET_S, PATIENCE_S)
    importlib.import_module(name)


def _answer_first(store: Store) -> None:
    from pages.parts.compute import answer_in

    for place, question in enumerate(FIRST):
        if place:
            VISITS.wait_until_quiet(QUIET_S, PATIENCE_S)
        try:
            with store.view() as view:
                asked = CommonParams(runs=default_runs(view))
                answer_in(view, store, question, asked.model_dump(mode="json"))
        except UserError:
            return  # the page says it to whoever opens it
        if not place:
            _spare_collector()


def _spare_collector() -> None:
    """Take what is loaded for good out of the garbage collector's sight.

    Streamlit collects after every run of a script, and all else stands still while a million objects that
    never go are looked at.
    """
    gc.collect()
    gc.freeze()
