"""Templates: each runs on the bundled example without a failed cell, and says what an empty home lacks."""

import shutil

import pytest

from charts.custom import fault_of
from data.store import get_store
from reports.notebook.document import AnalysisCell, ChartCell, MetricCell, ParameterCell, TextCell
from reports.notebook.graph import dependents, problems
from reports.notebook.run import run_stale, runs
from reports.notebook.templates import TEMPLATES, make
from tests.examples import in_turn

KEYS = [template.key for template in TEMPLATES]


@pytest.fixture(scope="module")
def example(example_home, tmp_path_factory):
    place = tmp_path_factory.mktemp("templates") / "home"
    shutil.copytree(example_home, place)
    store = get_store(place)
    yield store
    store.close()


def test_there_is_one_for_each_question_and_a_worked_one():
    assert [template.question_number for template in TEMPLATES] == list(range(1, 14))
    assert len(set(KEYS)) == 13


@pytest.mark.parametrize("key", KEYS)
def test_a_template_has_words_a_parameter_that_is_used_and_a_metric(key):
    doc = make(key)
    kinds = {type(cell) for cell in doc.cells}
    assert {TextCell, AnalysisCell, ParameterCell, MetricCell} <= kinds
    assert problems(doc) == {}
    for cell in doc.cells:
        if isinstance(cell, ParameterCell):
            assert dependents(doc, cell.id), f"nothing uses {cell.name}"
    assert not {cell.id for cell in doc.cells} & {cell.id for cell in make(key).cells}


@pytest.mark.parametrize("key", in_turn(KEYS, turn=6, of=13))
def test_a_template_runs_on_the_example_without_a_failed_cell(key, example):
    doc = make(key)
    found = run_stale(example, doc, {})
    assert set(found) == {cell.id for cell in doc.cells if runs(cell)}
    for cell in doc.cells:
        if cell.id in found:
            one = found[cell.id]
            assert one.state == "done", f"{cell.name}: {one.error}"
            assert one.value is None or one.value.value is not None, f"{cell.name}: {one.value.missing}"
            if isinstance(cell, ChartCell):
                assert fault_of(cell, one.table.to_pandas()) == ""


@pytest.mark.parametrize("key", in_turn(KEYS, turn=3, of=13))
def test_an_empty_home_says_in_words_what_is_missing(key, tmp_path):
    store = get_store(tmp_path / "home")
    try:
        found = run_stale(store, make(key), {})
    finally:
        store.close()
    for one in found.values():
        said = str(one.error) if one.error else ""
        assert "defect" not in said
        if one.state != "done":
            assert len(said) > 30
        elif one.value is not None and one.value.value is None:
            assert one.value.missing
