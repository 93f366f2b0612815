"""The same question on the same home has the same bytes, whatever order and however many threads."""

import math
import shutil
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import analysis
from analysis.kept import forget
from data.queries.sums import mean, total
from data.store import Store, get_store
from tests.examples import in_turn

THREADS = (1, 4)
EVERYTHING = {"boundary": "full"}
CON = duckdb.connect()


@pytest.fixture(scope="module")
def example(example_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    place = tmp_path_factory.mktemp("same") / "home"
    shutil.copytree(example_home, place)
    store = get_store(place)
    yield store
    store.close()


@pytest.mark.parametrize("question", in_turn(sorted(analysis.QUESTIONS), of=4))
def test_every_question_on_the_example(example: Store, question: str) -> None:
    found = set()
    asked = EVERYTHING | (
        {"targets": ["b300-hgx"]} if question == "learning_platforms" else {}
    )  # one will do
    for threads in THREADS:
        forget()
        with example.view() as view:
            view.cursor.execute(f"SET threads = {threads}")
            found.add(analysis.run(question, view, asked).to_json())
    assert len(found) == 1


@settings(deadline=None)
@given(st.lists(st.one_of(st.none(), st.floats(-1e12, 1e12)), max_size=30), st.randoms())
def test_a_sum_is_that_of_its_rows_in_any_order(values: list[float | None], random: object) -> None:
    select = f"select {total('x')}, {mean('x')} from (select unnest(?::double[]) as x)"
    first = CON.execute(select, [values]).fetchone()
    random.shuffle(values)  # type: ignore[attr-defined]
    assert CON.execute(select, [values]).fetchone() == first
    known = [v for v in values if v is not None]
    if not known:
        assert first == (None, None)
        return
    assert first == pytest.approx((math.fsum(known), math.fsum(known) / len(known)), rel=1e-9, abs=1e-3)
