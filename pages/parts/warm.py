"""Work that the first visitor would wait for, done right after the start."""

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

MODULES = ("charts.ledger", "pages.parts.ledgertable", "pages.parts.share", "plotly.io")
WAITS = 100
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
    """Import what pages draw with, answer each page's first questions, then import what else may be asked."""
    for _ in range(WAITS):  # caches made before the runtime make Streamlit complain
        if runtime.exists():
            break
        time.sleep(0.1)
    for name in MODULES:
        importlib.import_module(name)
    _answer_first(store)
    for module in pkgutil.iter_modules(charts.__path__, "charts."):
        importlib.import_module(module.name)
    for question in analysis.QUESTIONS:
        importlib.import_module(f"analysis.{question}")


def _answer_first(store: Store) -> None:
    from pages.parts.compute import answer_in

    for question in FIRST:
        try:
            with store.view() as view:
                asked = CommonParams(runs=default_runs(view))
                answer_in(view, store, question, asked.model_dump(mode="json"))
        except UserError:
            return  # the page says it to whoever opens it
