"""A home of its own for each test of a page."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import plotly.graph_objects as go
import pytest
from streamlit.components.v2 import manifest_scanner
from streamlit.testing.v1 import AppTest

from data import store as stores
from data.store import Store, get_store
from pages.parts import download, opening, pictures
from pages.parts.notebook_menu import notebook_menu

ROUTER = Path(__file__).resolve().parents[2] / "pages" / "router.py"
START = "overview.py"
"""The page of an address without one."""


@pytest.fixture(scope="session", autouse=True)
def components() -> Iterator[None]:
    """Streamlit looks once for installed components, not before each page: they do not change meanwhile."""
    found = manifest_scanner.scan_component_manifests()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(manifest_scanner, "scan_component_manifests", lambda *_: found)
        patch.setattr(opening, "PAINT_S", 0.0)  # there is no browser that paints
        patch.setattr(download, "notebook_menu", _checked)
        yield


CHARTS: dict[str, tuple[go.Figure, pictures.Source]] = {}
"""The charts that pages have drawn last, by their keys, each with what it was made from."""


def _checked(fig: go.Figure, key: str) -> None:
    """Wherever a test draws a page, each chart outside of a notebook has a name by which it is made again."""
    source = pictures.source_of(fig)
    if source is None:
        assert key.startswith("nb_"), f"chart {key} does not know what it was made from"
    else:
        assert source.figure
        CHARTS[key] = fig, source
    notebook_menu(fig, key)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty home that the pages use."""
    place = tmp_path / "home"
    monkeypatch.setenv("IPD_HOME", str(place))
    yield place
    opened = stores._open_stores.get(place.resolve())
    if opened is not None:
        opened.close()


@pytest.fixture
def loaded(example_home: Path, home: Path) -> Store:
    """The open store of a home of the test's own that holds the bundled example."""
    shutil.copytree(example_home, home)
    return get_store(home)


@pytest.fixture(scope="session")
def read_only_home(example_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A home with the bundled example for all tests of pages that write nothing."""
    place = tmp_path_factory.mktemp("read-only") / "home"
    shutil.copytree(example_home, place)
    yield place
    get_store(place).close()


@pytest.fixture
def example(read_only_home: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    """The open store of the home that tests share: answers are computed once. Only for reading."""
    monkeypatch.setenv("IPD_HOME", str(read_only_home))
    return get_store(read_only_home)


@pytest.fixture(scope="session")
def drawn() -> dict[str, AppTest]:
    """Pages of the example that have been drawn, by page and address."""
    return {}


@pytest.fixture
def seen(app: Callable[..., AppTest], example: Store, drawn: dict[str, AppTest]) -> Callable[..., AppTest]:
    """A page of the example, drawn once for all tests that only read it: neither click nor type there."""

    def look(page: str = "", /, **query: str | list[str]) -> AppTest:
        key = repr((page, sorted(query.items())))
        if key not in drawn:
            drawn[key] = app(page, **query)
        assert not drawn[key].exception
        return drawn[key]

    return look


@pytest.fixture(scope="session")
def empty_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A closed home without a file, made once: a copy opens in half the time that a new one takes."""
    place = tmp_path_factory.mktemp("empty") / "home"
    get_store(place).close()
    return place


@pytest.fixture
def store(empty_home: Path, home: Path) -> Store:
    """The open store of the home."""
    if not home.exists():
        shutil.copytree(empty_home, home)
    return get_store(home)


@pytest.fixture
def app(home: Path) -> Callable[..., AppTest]:
    """Start the router on a page, optionally with URL parameters: app("money.py", runs=["a"], price="x").

    A page that is named is opened straight, as from a bookmark; Overview is not drawn before it.
    """

    def start(page: str = "", /, **query: str | list[str]) -> AppTest:
        at = AppTest.from_file(str(ROUTER), default_timeout=60)
        if page not in ("", START):
            at.switch_page(page)
        for name, value in query.items():
            at.query_params[name] = value
        return at.run()

    return start
