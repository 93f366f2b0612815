"""Results by task that say whose checkpoint they measured: columns run and step, or a person's word."""

import io

import pytest

from data.errors import UserError
from data.ingest import ingest_file
from data.readers.base import Choices
from data.store import Store

HEAD = "task_id,passed,benchmark,run,step\n"
STEPS = "run,step,step_s\n" + "".join(f"nova,{n},900\n" for n in range(1, 25))


def load(store: Store, text: str, name: str = "after.csv", **choices: object):
    return ingest_file(store, io.BytesIO(text.encode()), name, Choices(**choices))  # type: ignore[arg-type]


def tasks(step: object, passed: int, of: int, run: str = "nova") -> str:
    return "".join(f"q{n},{int(n < passed)},math,{run},{step}\n" for n in range(of))


def said(receipt) -> list[str]:
    """Warnings about the scores."""
    return [text for text in receipt.warnings if "benchmark" in text or "checkpoint" in text]


def scores(store: Store) -> list[tuple[object, ...]]:
    sql = "SELECT checkpoint, run, step, benchmark, score, n_tasks FROM evals ORDER BY step, checkpoint"
    with store.view() as view:
        return view.rows(sql)


def test_columns_run_and_step_key_the_scores_to_their_checkpoints(store: Store) -> None:
    load(store, STEPS, "steps.csv")
    receipt = load(store, HEAD + tasks(12, 2, 8) + tasks(24, 6, 8))
    assert (receipt.format, receipt.stored, said(receipt)) == ("task_results", 16, [])
    assert scores(store) == [
        ("nova@12", "nova", 12, "math", 0.25, 8), ("nova@24", "nova", 24, "math", 0.75, 8),
    ]  # fmt: skip
    with store.view() as view:
        assert view.rows("SELECT DISTINCT run FROM runs") == [("nova",)]


def test_a_cell_without_a_step_is_no_run_and_one_that_is_no_step_is_set_aside(store: Store) -> None:
    receipt = load(store, HEAD + tasks("", 1, 4) + tasks("late", 1, 2) + tasks(2.5, 1, 3))
    assert receipt.quarantined == 5
    assert scores(store) == [("after", None, None, "math", 0.25, 4)]


def test_a_lone_run_or_step_column_says_no_checkpoint(store: Store) -> None:
    """Such columns number repeats, or the steps of an agent."""
    text = "task_id,passed,benchmark,run\n" + "".join(f"q1,{n},math,{n}\n" for n in (0, 1))
    load(store, text)
    assert scores(store) == [("after", None, None, "math", 0.5, 1)]


def test_a_training_log_with_a_task_column_is_no_evaluation(store: Store) -> None:
    with pytest.raises(UserError):
        load(store, "run,step,task,reward,loss,lr\n" + "".join(f"a,{n},t,0,1.5,0.1\n" for n in range(9)))


def test_a_benchmark_that_no_column_names_can_be_named_and_the_hint_says_so(store: Store) -> None:
    load(store, STEPS, "steps.csv")
    bare = "task_id,passed\nq0,1\nq1,0\n"
    (hint, owner) = load(store, bare, "before.csv").warnings
    assert "another name is another benchmark" in hint and "'Read it differently'" in hint
    assert "give run and step, under 'Read it differently'" in owner
    receipt = load(store, bare + "q2,0\n", "later.csv", run="nova", step=24, benchmark="math")
    assert said(receipt) == []
    assert ("nova@24", "nova", 24, "math", pytest.approx(1 / 3), 3) in scores(store)
