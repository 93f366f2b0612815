"""What tests of several rooms share."""

import fcntl
import gc
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings
from xdist.scheduler.loadfile import LoadFileScheduling

from data.examples.generate import load_example
from data.ingest import ingest_file
from data.readers.base import Choices
from data.store import Store, get_store
from tests import money_month
from tests.examples import PROFILE

settings.register_profile("ci", max_examples=15, deadline=None)
settings.register_profile("full", max_examples=250, deadline=None)
settings.load_profile(PROFILE)

ROOT = Path(__file__).resolve().parents[1]
DEAR = ("tests/browser", "tests/test_app_routes.py", "tests/data/test_ingest.py", "tests/pages")
"""Started first, so that no worker is left alone with them at the end. The two in the middle need no example:
they run while a third worker loads it."""


class ByFile(LoadFileScheduling):
    """What stays on one worker: a file; all of the browser, which share a server and a Chromium.

    Marks of a group do not reach xdist 3.8 under pytest 9.2: node ids can no longer be renamed.
    """

    def _split_scope(self, nodeid: str) -> str:
        file: str = super()._split_scope(nodeid)
        return DEAR[0] if file.startswith(DEAR[0]) else file


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> ByFile:
    return ByFile(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=_place)


def pytest_collection_finish() -> None:
    """What is collected stays to the end: no garbage is looked for in it, and less often in the rest."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


def _place(item: pytest.Item) -> int:
    return next((place for place, start in enumerate(DEAR) if item.nodeid.startswith(start)), len(DEAR))


@pytest.fixture(scope="session")
def example_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A closed home that holds the bundled example, loaded once for all workers; copy it, do not use it."""
    return _once(tmp_path_factory, "example-home", load_example)


@pytest.fixture(scope="session")
def closed_month(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A closed home that holds the made-up month, loaded once for all workers; copy it, do not use it."""

    def fill(store: Store) -> None:
        for name, path in money_month.write(tmp_path_factory.mktemp("month-files")).items():
            ingest_file(store, path, name, Choices(timezone="UTC") if name == "jobs.txt" else Choices())

    return _once(tmp_path_factory, "month-home", fill)


def _once(factory: pytest.TempPathFactory, name: str, fill: Callable[[Store], object]) -> Path:
    own = factory.getbasetemp()
    shared = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own
    place = shared / name
    with (shared / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not place.exists():
            loading = shared / f"{name}.loading"
            shutil.rmtree(loading, ignore_errors=True)
            opened = get_store(loading)
            fill(opened)
            opened.close()
            loading.rename(place)
    return place
