"""A home of its own for each test of a page."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from data.store import Store, get_store

ROUTER = Path(__file__).resolve().parents[2] / "pages" / "router.py"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty home that the pages use."""
    place = tmp_path / "home"
    monkeypatch.setenv("IPD_HOME", str(place))
    yield place
    get_store(place).close()


@pytest.fixture
def loaded(example_home: Path, home: Path) -> Store:
    """The open store of a home that holds the bundled example."""
    shutil.copytree(example_home, home)
    return get_store(home)


@pytest.fixture
def store(home: Path) -> Store:
    """The open store of the home."""
    return get_store(home)


@pytest.fixture
def app(home: Path) -> Callable[..., AppTest]:
    """Start the router, optionally with URL parameters: app(runs=['a', 'b'], price='x')."""

    def start(**query: str | list[str]) -> AppTest:
        at = AppTest.from_file(str(ROUTER), default_timeout=60)
        for name, value in query.items():
            at.query_params[name] = value
        return at.run()

    return start
