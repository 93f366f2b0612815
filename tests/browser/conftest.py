"""Fixtures of the browser tests: one Chromium a session, one fresh server a module."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser import chromium
from tests.browser.server import Server, serve


@pytest.fixture(scope="session")
def browser() -> Iterator[object]:
    from playwright.sync_api import sync_playwright

    path = chromium.find()
    if path is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(chromium.MESSAGE)
    with sync_playwright() as tool:
        instance = tool.chromium.launch(executable_path=path, args=chromium.ARGS)
        yield instance
        instance.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    home: Path = tmp_path_factory.mktemp("browser") / "home"
    with serve(home) as running:
        yield running
