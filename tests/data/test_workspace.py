"""Decisions are append-only; undoing marks, never deletes."""

import sqlite3
import threading
from datetime import datetime

import pytest

from data.errors import UserError
from data.workspace import Workspace


@pytest.fixture
def workspace(tmp_path):
    return Workspace(tmp_path / "workspace.sqlite")


def test_decisions_come_back_in_order_as_they_were_made(workspace):
    at = datetime(2026, 1, 2, 3, 4, 5, 678901)
    workspace.decide("upload", {"sha256": "a", "n": 1}, upload_sha256="a", at=at)
    workspace.decide("run_details", {"run": "r"}, run="r")
    first, second = workspace.decisions()
    assert (first.kind, first.upload_sha256, first.at, first.payload) == (
        "upload",
        "a",
        at,
        {"sha256": "a", "n": 1},
    )
    assert (second.kind, second.run, second.undone_by) == ("run_details", "r", None)
    assert workspace.last_decision_id() == second.id


def test_undo_marks_the_live_upload_only(workspace):
    first = workspace.decide("upload", {}, upload_sha256="a")
    undo = workspace.decide("undo_upload", {}, upload_sha256="a")
    again = workspace.decide("upload", {}, upload_sha256="a")
    other = workspace.decide("upload", {}, upload_sha256="b")
    marks = {d.id: d.undone_by for d in workspace.decisions()}
    assert marks == {first.id: undo.id, undo.id: None, again.id: None, other.id: None}
    live = [d.id for d in workspace.decisions(live_only=True) if d.kind == "upload"]
    assert live == [again.id, other.id]


def test_removing_the_example_undoes_synthetic_uploads_only(workspace):
    made_up = workspace.decide("upload", {"choices": {"synthetic": True}}, upload_sha256="a")
    own = workspace.decide("upload", {"choices": {}}, upload_sha256="b")
    removal = workspace.decide("remove_example", {})
    marks = {d.id: d.undone_by for d in workspace.decisions()}
    assert marks[made_up.id] == removal.id and marks[own.id] is None


@pytest.mark.parametrize(
    "sql", ["DELETE FROM decisions", "UPDATE decisions SET payload = '{}'", "UPDATE decisions SET run = 'x'"]
)
def test_nothing_rewrites_a_decision(workspace, sql):
    workspace.decide("upload", {"a": 1}, upload_sha256="a")
    with pytest.raises(sqlite3.IntegrityError, match="append-only"), workspace.connect() as con:
        con.execute(sql)
    assert workspace.decisions()[0].payload == {"a": 1}


def test_an_unknown_kind_is_refused(workspace):
    with pytest.raises(ValueError, match="unknown kind"):
        workspace.decide("forget", {})
    assert workspace.decisions() == []


def test_a_failing_block_writes_nothing(workspace):
    with pytest.raises(ZeroDivisionError), workspace.connect() as con:
        con.execute("INSERT INTO notebooks (title, document, updated_at) VALUES ('t', '{}', 'now')")
        raise ZeroDivisionError
    with workspace.reading() as con:
        assert con.execute("SELECT count(*) FROM notebooks").fetchone()[0] == 0


def test_reading_connections_cannot_write(workspace):
    with workspace.reading() as con, pytest.raises(sqlite3.OperationalError):
        con.execute("INSERT INTO decisions (at, kind, payload) VALUES ('', 'upload', '{}')")


def test_threads_decide_side_by_side(workspace):
    threads = [threading.Thread(target=lambda: workspace.decide("upload", {})) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [d.id for d in workspace.decisions()] == list(range(1, 21))


def test_all_tables_of_later_features_exist(workspace):
    with workspace.reading() as con:
        names = {row[0] for row in con.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    assert {"decisions", "links", "notebooks", "scenarios", "price_overrides", "tokens"} <= names


def test_a_newer_workspace_is_refused_with_a_remedy(workspace):
    with sqlite3.connect(workspace.path) as con:
        con.execute("PRAGMA user_version = 99")
    con.close()
    with pytest.raises(UserError, match="Update the app"):
        Workspace(workspace.path)


def test_an_older_workspace_is_upgraded_once_and_keeps_what_it_holds(tmp_path, monkeypatch):
    path = tmp_path / "workspace.sqlite"
    with monkeypatch.context() as then:
        then.setattr("data.workspace._UPGRADES", ())
        then.setattr("data.workspace._VERSION", 1)
        Workspace(path).decide("upload", {"a": 1}, upload_sha256="a")
    for _ in range(2):
        again = Workspace(path)
        with again.reading() as con:
            columns = {row["name"] for row in con.execute("PRAGMA table_info(tokens)")}
            assert con.execute("SELECT count(*) FROM mappings").fetchone()[0] == 0
        assert "last_used_at" in columns
        assert again.decisions()[0].payload == {"a": 1}
