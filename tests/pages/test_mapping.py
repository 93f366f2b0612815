"""The mapping screen: a made-up table that no reader knows becomes steps, and the next one is offered it."""

from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from data.queries import uploads as queries
from data.rebuild import rebuild
from data.store import Store

App = Callable[..., AppTest]
ODD = (
    "it;dur ms;gen ms;toks so far;R;trunc;when;note\n"
    + "".join(
        f"{i};{2000 + 10 * i};{1500 + i};{1000 * i * i};{0.1 + i / 100:.2f};{30 + i};"
        f"03.02.2026 10:{i:02d}:00;x\n"
        for i in range(1, 21)
    )
).encode()


def _text(at: AppTest) -> str:
    parts = [e.value for kind in ("markdown", "caption", "error", "warning", "info") for e in at.get(kind)]
    return "\n".join(str(p).replace("\\", "") for p in parts)


def _drop(app: App, name: str, content: bytes) -> AppTest:
    at = app("telemetry.py")
    at.file_uploader[0].upload(name, content)
    return at.run()


def _press(at: AppTest, label: str) -> AppTest:
    next(b for b in at.button if b.label == label).click()
    return at.run()


def _box(at: AppTest, label: str):  # type: ignore[no-untyped-def]
    return next(box for box in at.selectbox if box.label == label)


def _steps(store: Store) -> list[tuple[object, ...]]:
    with store.view() as view:
        return view.rows("SELECT run, step, step_s, tok_total, truncated_frac, ts FROM steps ORDER BY step")


def test_nothing_is_preselected_where_the_header_does_not_tell(app: App, store: Store) -> None:
    rows = "".join(f"2026-02-03 10:{i:02d}:00,{i},5\n" for i in range(9))
    at = _press(_drop(app, "meter.csv", f"timestamp,power,level\n{rows}".encode()), "Map its columns")
    assert not at.exception
    assert _box(at, "One row is").value is None
    assert "Choose what one row of this table is" in _text(at)
    assert not any(b.label == "Read it with this mapping" for b in at.button)
    _box(at, "One row is").select("gpu_samples")
    at = at.run()
    assert _box(at, "power becomes").value == "gpu_samples.power_w"
    assert any(b.label == "Read it with this mapping" for b in at.button)


def test_a_table_that_nobody_knows_is_mapped_read_and_replayed(app: App, store: Store) -> None:
    at = _drop(app, "odd.csv", ODD)
    assert not at.exception
    assert "not loaded" in _text(at)
    at = _press(at, "Map its columns")
    assert not at.exception
    assert _box(at, "One row is").value == "steps"
    assert _box(at, "it becomes").value == "steps.step"
    assert _box(at, "dur ms becomes").value == "steps.step_s"
    assert _box(at, "Unit of dur ms").value == "ms"
    assert _box(at, "toks so far is counted").value == "cumulative"
    assert _box(at, "Unit of when").value in ("day/month/year", "ISO or epoch")
    text = _text(at)
    assert "2.01 to 2.2 s · 0 of 20 missing" in text
    assert "100 % of the values are above 1: percent?" in text
    assert "The times name no zone" in text or "pick how the dates" in text
    _box(at, "Unit of trunc").select("%")
    _box(at, "Unit of when").select("day/month/year")
    at = at.run()
    assert "percent?" not in _text(at)
    assert "20 of the first 20 rows" in _text(at)
    next(t for t in at.text_input if t.label == "Run" and "map_" in str(t.key)).set_value("mine")
    at = _press(at.run(), "Read it with this mapping")
    assert not at.exception
    text = _text(at)
    assert "**20 records** = 20 stored" in text
    assert "table with mapped columns" in text
    rows = _steps(store)
    assert [row[:2] for row in rows[:2]] == [("mine", 1), ("mine", 2)]
    assert rows[0][2:5] == pytest.approx((2.01, 1000.0, 0.31))
    assert rows[1][2:5] == pytest.approx((2.02, 3000.0, 0.32))
    assert rows[0][5].isoformat() == "2026-02-03T10:01:00"
    assert rebuild(store) == []
    assert _steps(store) == rows


def test_the_same_columns_are_offered_the_mapping_again(app: App, store: Store) -> None:
    at = _drop(app, "odd.csv", ODD)
    at = _press(_press(at, "Map its columns"), "Read it with this mapping")
    assert not at.exception
    more = ODD.replace(b";0.", b";1.")
    at = _drop(app, "other.csv", more)
    offered = [b.label for b in at.button if b.label.startswith("Use the mapping of")]
    assert len(offered) == 1
    at = _press(at, offered[0])
    assert not at.exception
    with store.view() as view:
        assert set(queries.listing(view)["name"]) == {"odd.csv", "other.csv"}
        assert view.rows("SELECT DISTINCT run FROM steps ORDER BY run") == [("odd",), ("other",)]


def test_what_is_still_needed_is_said_and_nothing_can_be_read_before(app: App) -> None:
    at = _press(_drop(app, "odd.csv", b"alpha,beta\n1,2\n3,4\n5,6\n"), "Map its columns")
    assert not at.exception
    _box(at, "One row is").select("steps")
    at = at.run()
    assert next(b for b in at.button if b.label == "Read it with this mapping").disabled
    assert "Still needed for a training step: step" in _text(at)
    _box(at, "alpha becomes").select("steps.step")
    at = at.run()
    assert not next(b for b in at.button if b.label == "Read it with this mapping").disabled


@pytest.mark.parametrize("content", [b"just some words\nand more words\n", b"%PDF-1.4 nothing"])
def test_what_is_no_table_is_not_offered_a_mapping(app: App, content: bytes) -> None:
    at = _drop(app, "words.txt", content)
    assert not at.exception
    assert not [b for b in at.button if b.label == "Map its columns"]


def test_a_stored_upload_can_be_mapped_without_a_new_upload(app: App, store: Store) -> None:
    lines = "".join(
        f'{{"step": {i}, "loss": 0.5, "R": {i / 10}, "took_ms": {900 + i}}}\n' for i in range(1, 9)
    )
    at = _drop(app, "own.jsonl", lines.encode())
    assert not at.exception
    with store.view() as view:
        assert view.rows("SELECT count(*) FROM steps WHERE step_s IS NOT NULL") == [(0,)]
    at = _press(at, "Map its columns")
    assert not at.exception
    assert _box(at, "took_ms becomes").value == "steps.step_s"
    at = _press(at, "Read it with this mapping")
    assert not at.exception
    with store.view() as view:
        found = view.rows("SELECT step, step_s, reward_mean FROM steps ORDER BY step LIMIT 1")
        assert view.rows("SELECT format FROM uploads") == [("mapped_table",)]
    assert found[0] == pytest.approx((1, 0.901, 0.1))


def test_costs_ask_for_a_run_before_they_can_be_read(app: App, store: Store) -> None:
    at = _press(_drop(app, "bill.csv", b"paid on,sum\n2026-02-01,12.5\n2026-02-02,8\n"), "Map its columns")
    _box(at, "One row is").select("costs")
    at = at.run()
    _box(at, "paid on becomes").select("costs.day")
    _box(at, "sum becomes").select("costs.billed_cost")
    at = at.run()
    assert not at.exception
    assert "neither a run nor a campaign" in _text(at)
    assert next(b for b in at.button if b.label == "Read it with this mapping").disabled
    next(t for t in at.text_input if t.label == "Campaign of all rows").set_value("spring")
    next(t for t in at.text_input if t.label == "Currency of all rows").set_value("EUR")
    at = _press(at.run(), "Read it with this mapping")
    assert not at.exception
    with store.view() as view:
        rows = view.rows("SELECT billed_cost, currency, campaign FROM costs ORDER BY billed_cost")
    assert rows == [(8.0, "EUR", "spring"), (12.5, "EUR", "spring")]
