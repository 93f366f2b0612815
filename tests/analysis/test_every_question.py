"""What holds of every question: an answer on any home, in JSON, of few points, whatever the order of rows."""

import json
from collections.abc import Callable

import pytest

import analysis
from analysis.result import Result
from tests.analysis.conftest import Home, gpu_minutes
from tests.examples import in_turn

ALL = sorted(analysis.QUESTIONS)
MISSING = [
    ["steps", "step_phases"],
    ["allocations"],
    ["evals", "checkpoints"],
    ["step_phases"],
    ["allocations", "steps", "step_phases", "evals", "checkpoints"],
    ["attempts", "allocations", "steps", "step_phases", "evals", "checkpoints", "campaigns"],
]
CASES = [
    pytest.param(
        question, strip, marks=() if (q - s) % len(MISSING) == 0 else pytest.mark.full,
        id=f"{question}-{'+'.join(strip)}",
    )
    for q, question in enumerate(ALL)
    for s, strip in enumerate(MISSING)
]  # fmt: skip
"""Each question without something; without each of these in the long tests."""

Ask = Callable[[Home, str], Result]


@pytest.fixture(scope="module")
def uneven() -> Ask:
    """The answer of a question on the home with sums that no float holds exactly; asked once."""
    answers: dict[str, Result] = {}

    def ask(home: Home, question: str) -> Result:
        gpu_minutes(home)
        home.con.execute(
            "UPDATE steps SET step_s = step_s * (1 + step / 7.0), tok_gen = tok_gen / (step + 0.3)"
        )
        home.con.execute("UPDATE step_phases SET seconds = seconds / (step + 0.7)")
        if question not in answers:
            answers[question] = analysis.run(question, home.view(), {"boundary": "full"})
        return answers[question]

    return ask


@pytest.mark.parametrize("question", ALL)
def test_an_answer_is_json_with_its_version_and_few_points(home: Home, uneven: Ask, question: str) -> None:
    result = uneven(home, question)
    assert json.loads(result.to_json())["answer"] == result.answer
    assert result.versions["data_version"] == "7-test"
    for frame in result.tables.values():
        assert len(frame) <= 4200


@pytest.mark.parametrize("question", in_turn(ALL, turn=1))
def test_row_order_is_irrelevant(home: Home, uneven: Ask, question: str) -> None:
    before = uneven(home, question).to_json()
    home.shuffle()
    assert analysis.run(question, home.view(), {"boundary": "full"}).to_json() == before


@pytest.mark.parametrize("question", ALL)
def test_an_empty_home_has_an_answer_and_the_same_tables(
    home: Home, uneven: Ask, empty_home: Home, question: str
) -> None:
    result = analysis.run(question, empty_home.view(), {})
    assert result.answer
    assert set(result.tables) == set(uneven(home, question).tables)
    assert json.loads(result.to_json())["analysis"] == question


@pytest.mark.parametrize(("question", "strip"), CASES)
def test_missing_tables_leave_an_answer(home: Home, question: str, strip: list[str]) -> None:
    for table in strip:
        home.con.execute(f"DELETE FROM {table}")
    result = analysis.run(question, home.view(), {})
    assert result.answer
    for figure in result.headline:
        assert figure.value is not None or figure.missing, figure
