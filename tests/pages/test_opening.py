"""The first answer goes before the shared controls, and other work waits while a page is drawn."""

import threading
import time
from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from data.store import Store
from pages.parts import frame, sidebar
from pages.parts.visits import Visits

App = Callable[..., AppTest]


@pytest.fixture
def order(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What a run of the script draws, in turn: the answer, the shared controls, the share bar."""
    drawn: list[str] = []

    def noting(name: str, draw: Callable[..., object]) -> Callable[..., object]:
        def noted(*given: object) -> object:
            drawn.append(name)
            return draw(*given)

        return noted

    monkeypatch.setattr(frame, "show_answer", noting("answer", frame.show_answer))
    monkeypatch.setattr(sidebar, "controls", noting("controls", sidebar.controls))
    monkeypatch.setattr(frame, "share_bar", noting("bar", frame.share_bar))
    return drawn


def test_a_plain_first_visit_gets_its_answer_first_and_the_same_page(
    app: App, example: Store, order: list[str]
) -> None:
    at = app()
    assert order == ["answer", "controls", "bar"]
    first = at.session_state["_page_state"].common
    at.run()
    assert order[3:] == ["controls", "answer", "bar"]
    assert not at.exception
    assert at.session_state["_page_state"].common == first
    at.multiselect(key="runs").select("h100-sync").run()
    assert at.session_state["_page_state"].common.runs == ("h100-sync",)


def test_an_address_that_asks_for_something_is_read_by_the_controls_first(
    app: App, example: Store, order: list[str]
) -> None:
    at = app(boundary="compute")
    assert order == ["controls", "answer", "bar"]
    assert at.session_state["_page_state"].common.boundary == "compute"


def test_work_waits_while_a_page_is_drawn() -> None:
    visits, drawn = Visits(), threading.Event()
    assert visits.wait_until_quiet(60, 0)  # nobody has come yet

    def draw() -> None:
        with visits.visit():
            drawn.set()
            time.sleep(0.2)

    page = threading.Thread(target=draw)
    page.start()
    drawn.wait(10)
    assert not visits.wait_until_quiet(0, 0.01)
    begin = time.monotonic()
    assert visits.wait_until_quiet(0.1, 60)
    assert time.monotonic() - begin >= 0.1
    page.join()


def test_a_page_that_fails_is_drawn_no_longer() -> None:
    visits = Visits()
    with pytest.raises(ZeroDivisionError), visits.visit():
        _ = 1 / 0
    assert visits.wait_until_quiet(0, 0)
    assert not visits.wait_until_quiet(60, 0)
