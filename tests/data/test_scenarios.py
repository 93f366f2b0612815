"""Scenarios in the workspace: what was ever saved stays, names differ, a deletion is undone."""

import sqlite3
from datetime import datetime
from pathlib import Path

import pytest

from data.errors import UserError
from data.scenarios import Asked, Content, Scenarios
from data.workspace import Workspace

WEEKLY = Content(
    (Asked("cadence", {"period_h": 168.0, "platforms": ["h100-sxm"]}, 2), Asked("sandboxes", {})),
    "capacity.py",
    {"ca_gpus": ["64"], "ca_on": ["a", "b"]},
    "64 GPUs finish in 95 %.",
)
DAILY = Content((Asked("cadence", {"period_h": 24.0}),))


@pytest.fixture
def scenarios(tmp_path: Path) -> Scenarios:
    return Scenarios(Workspace(tmp_path / "workspace.sqlite"))


def names(found: Scenarios, *, deleted: bool = False) -> list[str]:
    return [one.name for one in found.all(deleted=deleted)]


def test_what_was_saved_comes_back_whole(scenarios: Scenarios, tmp_path: Path) -> None:
    at = datetime(2026, 3, 1, 12)
    kept = scenarios.save("  Weekly \n 8B ", WEEKLY, at=at)
    again = Scenarios(Workspace(tmp_path / "workspace.sqlite")).get(kept.id)
    assert again == kept
    assert (again.name, again.created, again.changed) == ("Weekly 8B", at, at)
    assert again.content == WEEKLY


def test_replacing_keeps_what_it_was(scenarios: Scenarios) -> None:
    first = scenarios.save("plan", WEEKLY, at=datetime(2026, 3, 1))
    second = scenarios.replace(first.id, DAILY, at=datetime(2026, 3, 2))
    assert (second.id, second.content) == (first.id, DAILY)
    assert (second.created, second.changed) == (datetime(2026, 3, 1), datetime(2026, 3, 2))
    assert [one.content for one in scenarios.history(first.id)] == [WEEKLY, DAILY]
    back = scenarios.restore(first.id, first.entry)
    assert back.content == WEEKLY and names(scenarios) == ["plan"]
    assert [one.change for one in scenarios.history(first.id)] == ["saved", "saved", "restored"]


def test_nothing_can_be_taken_from_the_history(scenarios: Scenarios) -> None:
    scenarios.save("plan", WEEKLY)
    for statement in ("DELETE FROM scenario_history", "UPDATE scenario_history SET name = 'x'"):
        with (
            pytest.raises(sqlite3.IntegrityError, match="append-only"),
            scenarios._workspace.connect() as con,
        ):
            con.execute(statement)
    assert names(scenarios) == ["plan"]


def test_names_of_live_ones_differ_by_more_than_case(scenarios: Scenarios) -> None:
    first, other = scenarios.save("Plan", WEEKLY), scenarios.save("other", DAILY)
    for taken in ("plan", " PLAN "):
        with pytest.raises(UserError, match="already"):
            scenarios.save(taken, DAILY)
        with pytest.raises(UserError, match="already"):
            scenarios.rename(other.id, taken)
    assert scenarios.rename(first.id, "plan").name == "plan"
    for bad in ("", "  ", "x" * 81):
        with pytest.raises(UserError, match="name"):
            scenarios.save(bad, DAILY)
    with pytest.raises(UserError, match="question"):
        scenarios.save("empty", Content(()))
    assert names(scenarios) == ["plan", "other"]


def test_copies_are_numbered_and_independent(scenarios: Scenarios) -> None:
    first = scenarios.save("y" * 80, WEEKLY)
    copies = [scenarios.copy(first.id) for _ in range(2)]
    assert [one.name for one in copies] == ["y" * 73 + " (copy)", "y" * 71 + " (copy 2)"]
    scenarios.replace(first.id, DAILY)
    assert scenarios.get(copies[0].id).content == WEEKLY


def test_a_deletion_is_undone_even_when_the_name_was_taken(scenarios: Scenarios) -> None:
    first = scenarios.save("plan", WEEKLY)
    scenarios.delete(first.id)
    assert names(scenarios) == [] and names(scenarios, deleted=True) == ["plan"]
    with pytest.raises(UserError, match="deleted"):
        scenarios.rename(first.id, "b")
    second = scenarios.save("plan", DAILY)
    assert second.id != first.id
    back = scenarios.restore(first.id)
    assert (back.name, back.content, back.deleted) == ("plan (copy)", WEEKLY, False)
    assert names(scenarios) == ["plan (copy)", "plan"]


def test_an_unknown_one_is_named(scenarios: Scenarios) -> None:
    scenarios.save("plan", WEEKLY)
    other = scenarios.save("b", DAILY)
    for act in (scenarios.get, scenarios.history, scenarios.copy, scenarios.delete, scenarios.restore):
        with pytest.raises(UserError, match="no scenario 7"):
            act(7)
    with pytest.raises(UserError, match="no version"):
        scenarios.restore(1, other.entry)


def test_a_workspace_made_before_scenarios_gets_their_table(tmp_path: Path) -> None:
    path = tmp_path / "workspace.sqlite"
    with Workspace(path).connect() as con:
        con.execute("DROP TABLE scenario_history")
    assert Scenarios(Workspace(path)).save("plan", WEEKLY).id == 1
