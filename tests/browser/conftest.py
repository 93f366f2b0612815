"""Fixtures of the browser tests: one Chromium and one server with the example for all files of a process."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser import chromium
from tests.browser.server import Server, serve
from tests.browser.steps import LOAD_MS

SLOWEST_S = 420
"""A test on a machine that does other things too: it passes late rather than fails early."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.timeout(SLOWEST_S))


@pytest.fixture(scope="session")
def browser() -> Iterator[object]:
    from playwright.sync_api import expect, sync_playwright

    path = chromium.find()
    if path is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(chromium.MESSAGE)
    expect.set_options(timeout=LOAD_MS)
    with sync_playwright() as tool:
        instance = tool.chromium.launch(executable_path=path, args=chromium.ARGS)
        yield instance
        instance.close()


@pytest.fixture(scope="session")
def server(example_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The app on a home that holds the example; tests load runs of their own names into it."""
    home: Path = tmp_path_factory.mktemp("browser") / "home"
    shutil.copytree(example_home, home)
    with serve(home, IPD_EXAMPLE="off") as running:
        yield running
