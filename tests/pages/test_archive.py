"""An archive on the telemetry page: a card for each file in it, and one that says what was left out."""

from collections.abc import Callable

from streamlit.testing.v1 import AppTest

from data.queries import uploads as queries
from data.store import Store
from pages.parts.upload_actions import landed
from tests.data.test_unpack import zipped
from tests.pages.test_telemetry import _text, _upload, verl_log


def test_a_zip_gives_a_card_a_file_and_a_summary(app: Callable[..., AppTest], store: Store) -> None:
    files = {
        "exp1/metrics.jsonl": verl_log(),
        "exp2/metrics.jsonl": verl_log(9),
        "exp2/a.png": b"\x89PNG\r\n",
    }
    at = _upload(app, "runs.zip", zipped(files))
    assert not at.exception
    text = _text(at)
    assert "2 of its files were loaded" in text
    assert "exp1/metrics.jsonl" in text and "exp2/metrics.jsonl" in text
    with store.view() as view:
        assert sorted(queries.listing(view)["name"]) == ["exp1/metrics.jsonl", "exp2/metrics.jsonl"]


def test_a_zip_with_nothing_to_read_is_one_refusal(app: Callable[..., AppTest]) -> None:
    at = _upload(app, "runs.zip", zipped({"a.png": b"\x89PNG\r\n", "b.bin": b"\0\1"}))
    assert not at.exception
    assert "No file in it can be read" in _text(at) and "a.png: a picture" in _text(at)


def test_the_cards_of_an_archive_stand_below_its_summary() -> None:
    receipt = {"file": "a/m.jsonl", "upload_id": "u1", "duplicate_of": "u1", "warnings": ["was here"]}
    error = {"file": "b.csv", "kind": "AmbiguousFormatError", "what": "w", "where": "", "remedy": "r"}
    cards = landed("id", "x.zip", {"receipts": [receipt], "passed_over": [], "errors": [error]})
    assert [(card.name, card.upload_id) for card in cards] == [
        ("b.csv", None),
        ("a/m.jsonl", "u1"),
        ("x.zip", None),
    ]
    assert cards[1].again and cards[1].note == "was here"
    assert cards[0].error is not None and cards[0].error["kind"] == "UserError"
    assert len({card.id for card in cards}) == 3 and cards[2].summary is not None
