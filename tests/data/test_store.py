"""One connection, pinned views, one writer, clear refusals."""

import subprocess
import sys
import threading
from datetime import datetime
from pathlib import Path

import duckdb
import pytest

from data.errors import UserError
from data.store import Store, get_store
from data.view import View


def test_a_home_is_opened_once_per_process(tmp_path):
    first = get_store(tmp_path / "home")
    assert get_store(tmp_path / "x" / ".." / "home") is first
    first.close()
    second = get_store(tmp_path / "home")
    assert second is not first
    second.close()


def test_many_threads_open_one_store(tmp_path):
    found = []
    threads = [threading.Thread(target=lambda: found.append(get_store(tmp_path))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(s) for s in found}) == 1 and len(found) == 8
    found[0].close()


def test_a_view_sees_one_version_and_its_name_changes_with_every_write(store):
    with store.view() as before:
        with store.transaction() as con:
            con.execute("INSERT INTO campaigns VALUES ('a', NULL, NULL, NULL)")
        assert before.rows("SELECT count(*) FROM campaigns") == [(0,)]
        with store.view() as after:
            assert after.rows("SELECT count(*) FROM campaigns") == [(1,)]
            assert after.data_version != before.data_version
    with store.view() as again:
        assert again.data_version == after.data_version


def test_a_failed_write_leaves_nothing_and_no_new_version(store):
    with store.view() as view:
        version = view.data_version
    with pytest.raises(ZeroDivisionError), store.transaction() as con:
        con.execute("INSERT INTO campaigns VALUES ('a', NULL, NULL, NULL)")
        raise ZeroDivisionError
    with store.view() as view:
        assert view.rows("SELECT count(*) FROM campaigns") == [(0,)]
        assert view.data_version == version


def test_versions_of_two_databases_never_meet(tmp_path):
    names = set()
    for home in ("a", "b"):
        store = Store.open(tmp_path / home)
        with store.view() as view:
            names.add(view.data_version)
        store.close()
    assert len(names) == 2


def test_a_view_cannot_write(store):
    with store.view() as view, pytest.raises(duckdb.TransactionException):
        view.rows("INSERT INTO campaigns VALUES ('a', NULL, NULL, NULL)")


def test_a_view_binds_parameters_and_gives_frames(store):
    with store.view() as view:
        assert isinstance(view, View)
        assert view.frame("SELECT ? AS a, ? AS b", [1, "x"]).to_dict("records") == [{"a": 1, "b": "x"}]
        assert view.frame("SELECT $n AS n", {"n": 2})["n"].tolist() == [2]
        assert view.data_cutoff is None
        assert view.home_is_synthetic is False


def test_files_outside_the_home_are_out_of_reach(store, tmp_path):
    outside = tmp_path / "secret.csv"
    outside.write_text("a\n1\n")
    with store.view() as view, pytest.raises(duckdb.PermissionException):
        view.rows(f"SELECT * FROM read_csv('{outside}')")


def test_the_newest_stamp_is_the_cutoff(store):
    with store.transaction() as con:
        con.execute("INSERT INTO meta VALUES ('telemetry_end', '2026-02-03 04:05:06')")
    with store.view() as view:
        assert view.data_cutoff == datetime(2026, 2, 3, 4, 5, 6)


def test_eight_readers_beside_a_writer_get_only_whole_transactions(store):
    """Every transaction adds 1000 rows that sum to zero; any other count or sum is a torn read."""
    stop, wrong, answers = threading.Event(), [], []

    def read():
        while not stop.is_set():
            with store.view() as view:
                first = view.rows("SELECT count(*), coalesce(sum(value), 0) FROM metric_raw")[0]
                again = view.rows("SELECT count(*), coalesce(sum(value), 0) FROM metric_raw")[0]
                answers.append(first)
                if first != again or first[0] % 1000 or first[1] != 0:
                    wrong.append((first, again))

    readers = [threading.Thread(target=read) for _ in range(8)]
    for thread in readers:
        thread.start()
    for n in range(20):
        with store.transaction() as con:
            con.execute(
                "INSERT INTO metric_raw BY NAME SELECT 'r' AS run, 1 AS attempt, i AS step, ? AS key, "
                "CASE WHEN i % 2 = 0 THEN 1.0 ELSE -1.0 END AS value, 'u' AS upload_id FROM range(1000) t(i)",
                [f"k{n}"],
            )
    stop.set()
    for thread in readers:
        thread.join()
    assert not wrong
    assert len(answers) > 8
    with store.view() as view:
        assert view.rows("SELECT count(*) FROM metric_raw") == [(20_000,)]


def test_writers_wait_for_each_other(store):
    def add(name):
        with store.transaction() as con:
            con.execute("INSERT INTO meta SELECT ?, count(*)::VARCHAR FROM meta WHERE key LIKE 'n%'", [name])

    threads = [threading.Thread(target=add, args=(f"n{i}",)) for i in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with store.view() as view:
        values = view.rows("SELECT value FROM meta WHERE key LIKE 'n%'")
    assert sorted(int(v) for (v,) in values) == list(range(10))


def test_unnamed_parts_and_spool_leftovers_are_swept_when_a_home_opens(tmp_path):
    store = Store.open(tmp_path)
    store.close()
    (tmp_path / "spool" / "dead").mkdir()
    (tmp_path / "spool" / "dead" / "x.part").write_bytes(b"half")
    (tmp_path / "spool" / "y.part").write_bytes(b"half")
    (tmp_path / "parts" / "orphan.parquet").write_bytes(b"half")
    (tmp_path / "rebuild-dead.duckdb").write_bytes(b"half")
    store = Store.open(tmp_path)
    assert list((tmp_path / "spool").iterdir()) == []
    assert list((tmp_path / "parts").iterdir()) == []
    assert not (tmp_path / "rebuild-dead.duckdb").exists()
    store.close()


def test_a_newer_schema_is_refused_with_a_remedy(tmp_path):
    store = Store.open(tmp_path)
    with store.transaction() as con:
        con.execute("INSERT INTO schema_migrations VALUES (99, 'later', '2030-01-01')")
    store.close()
    script = f"from pathlib import Path; from data.store import Store; Store.open(Path({str(tmp_path)!r}))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert "schema version 99" in done.stderr and "Update the app" in done.stderr


@pytest.mark.parametrize(("said", "threads"), [("1", 1), ("3", 3)])
def test_the_database_uses_as_many_threads_as_are_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str, threads: int
) -> None:
    monkeypatch.setenv("IPD_THREADS", said)
    store = get_store(tmp_path)
    with store.view() as view:
        assert view.rows("SELECT current_setting('threads')") == [(threads,)]
    store.close()


def test_threads_that_are_no_number_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IPD_THREADS", "many")
    with pytest.raises(UserError, match="IPD_THREADS"):
        get_store(tmp_path)
