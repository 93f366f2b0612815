"""Copies of the telemetry for SQL: one a state of the data, whole, gone when nobody needs them."""

import errno
import os
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import duckdb
import pytest

import data.snapshot
from data.catalogue import load_catalogue
from data.catalogue_tables import TABLES, as_arrow
from data.snapshot import FOLDER, SnapshotError, held, snapshot
from data.store import Store
from data.workspace import utc_now


@pytest.fixture(autouse=True)
def bare(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """No catalogue in the copies of tests that are not about it: it takes most of their time."""
    if "catalogue" not in request.node.name and "price" not in request.node.name:
        monkeypatch.setattr(data.snapshot, "write_catalogue", lambda con, catalogue: None)


def ask(database: Path, sql: str) -> list[tuple]:
    with duckdb.connect(str(database), read_only=True, config={"threads": 1}) as con:
        return con.execute(sql).fetchall()


def write(store: Store, run: str) -> None:
    with store.transaction() as cursor:
        cursor.execute("INSERT INTO campaigns (campaign) VALUES (?)", [run])


def folders(store: Store) -> list[Path]:
    return sorted((store.home / FOLDER).iterdir())


def test_a_copy_holds_what_was_committed_and_nothing_later(store):
    write(store, "first")
    before = snapshot(store)
    write(store, "second")
    after = snapshot(store)
    assert ask(before, "SELECT campaign FROM campaigns") == [("first",)]
    assert ask(after, "SELECT campaign FROM campaigns ORDER BY 1") == [("first",), ("second",)]
    assert snapshot(store) == after


def test_threads_that_ask_at_once_share_one_copy(store, monkeypatch):
    made = []
    own = data.snapshot._copy

    def counted(*args):
        made.append(threading.get_ident())
        return own(*args)

    monkeypatch.setattr(data.snapshot, "_copy", counted)
    with ThreadPoolExecutor(4) as pool:
        found = {one.result() for one in [pool.submit(snapshot, store) for _ in range(4)]}
    assert len(found) == len(made) == len(folders(store)) == 1


def test_a_copy_is_made_while_views_are_open_and_others_write(store):
    stop = threading.Event()

    def keep_writing() -> int:
        count = 0
        while not stop.is_set() and count < 200:
            write(store, f"w{count}")
            count += 1
        return count

    with ThreadPoolExecutor(1) as pool, store.view():
        writing = pool.submit(keep_writing)
        seen = [
            ask(snapshot(store), "SELECT count(*), count(DISTINCT campaign) FROM campaigns")[0]
            for _ in range(3)
        ]
        stop.set()
        writing.result()
    assert all(rows == distinct for rows, distinct in seen)
    assert [rows for rows, _ in seen] == sorted(rows for rows, _ in seen)


def test_old_copies_go_but_one_in_use_stays(store):
    first = snapshot(store)
    with held(first):
        for name in "abc":
            write(store, name)
            newest = snapshot(store)
        assert first.exists()
        assert len(folders(store)) == 3  # in use, the one before, the newest
    write(store, "d")
    newest = snapshot(store)
    assert not first.exists()
    assert newest.parent in folders(store)
    assert len(folders(store)) == 2
    with pytest.raises(SnapshotError, match="Run it again"), held(first):
        pass


def test_what_a_crash_left_is_swept_at_the_next_start(store):
    place = snapshot(store).parent
    (store.home / FOLDER / "making-half").mkdir()
    (store.home / FOLDER / "making-half" / "telemetry.duckdb").write_bytes(b"half a copy")
    home = store.home
    store.close()
    opened = Store.open(home)
    assert not place.exists()
    assert snapshot(opened).exists()
    assert len(folders(opened)) == 1
    opened.close()


def test_a_copy_that_somebody_deleted_is_made_again(store):
    shutil.rmtree(snapshot(store).parent)
    assert snapshot(store).exists()


def test_a_full_disk_is_said_and_leaves_nothing(store, monkeypatch):
    class Full:
        free = 10 << 20

    monkeypatch.setattr(data.snapshot.shutil, "disk_usage", lambda _: Full)
    with pytest.raises(SnapshotError, match=r"needs \d+ MB, 10 MB are free.*Free some space"):
        snapshot(store)
    monkeypatch.undo()

    def refuse(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(data.snapshot.shutil, "copyfile", refuse)
    with pytest.raises(SnapshotError, match="disk is full"):
        snapshot(store)
    assert folders(store) == []
    monkeypatch.undo()
    assert snapshot(store).exists()


def test_a_folder_that_cannot_be_written_is_said_without_its_path(store, monkeypatch):
    def refuse(*_):
        raise PermissionError(errno.EACCES, "Permission denied", str(store.home))

    monkeypatch.setattr(data.snapshot.shutil, "copyfile", refuse)
    with pytest.raises(SnapshotError, match="Permission denied") as caught:
        snapshot(store)
    assert str(store.home) not in str(caught.value)


def test_people_may_read_a_copy_of_nobody_elses_files(store):
    assert snapshot(store).parent.stat().st_mode & 0o777 == 0o700


def test_parts_are_there_also_where_files_have_one_name_only(store, monkeypatch):
    (store.parts / "x.parquet").write_bytes(b"samples")
    with store.transaction() as cursor:
        cursor.execute(
            "INSERT INTO gpu_parts (part_id, file, upload_id, rows, gpu_ids) "
            "VALUES ('x', 'x.parquet', 'u', 1, ['g'])"
        )

    def no_links(*_):
        raise OSError(errno.EPERM, "no second names here")

    linked = snapshot(store).parent / data.snapshot.PARTS / "x.parquet"
    assert linked.samefile(store.parts / "x.parquet")
    write(store, "next")
    monkeypatch.setattr(data.snapshot.os, "link", no_links)
    copied = snapshot(store).parent / data.snapshot.PARTS / "x.parquet"
    assert copied.read_bytes() == b"samples"
    assert not copied.samefile(store.parts / "x.parquet")


def test_the_catalogue_lies_beside_the_telemetry(store):
    database = snapshot(store)
    book = load_catalogue().pinned((), utc_now().date())
    for name, table in TABLES.items():
        rows = list(table.rows(book))
        assert ask(database, f"SELECT count(*) FROM catalogue.{name}") == [(len(rows),)], name
    price = next(p for p in book.prices() if p.value is not None)
    assert ask(
        database, f"SELECT value, unit, source FROM catalogue.prices WHERE price_id = '{price.price_id}'"
    ) == [(price.value, price.unit, price.source)]
    unpublished = sum(1 for p in book.prices() if p.value is None)
    assert ask(database, "SELECT count(*) FROM catalogue.prices WHERE value IS NULL") == [(unpublished,)]
    text = next(f for f in book.facts() if isinstance(f.value, str))
    assert ask(
        database,
        "SELECT value, value_text FROM catalogue.platform_facts WHERE value_text IS NOT NULL "
        f"AND platform_id = '{text.platform_id}' AND field = '{text.field}' LIMIT 1",
    ) == [(None, text.value)]


def test_a_price_of_a_person_is_in_the_next_copy(store):
    first = snapshot(store)
    store.workspace.decide(
        "price",
        {
            "action": "set", "price_id": "mine", "platform_id": "h100-sxm", "kind": "on_demand",
            "tier": "neocloud", "provider": "us", "region": "", "value": 1.25, "unit": "USD per GPU-hour",
            "currency": "USD", "as_of": "2026-01-01", "source": "our contract", "who": "me", "note": "",
        },
    )  # fmt: skip
    second = snapshot(store)
    assert second != first
    asked = (
        "SELECT value, status, entered_at > TIMESTAMP '2026-01-01' FROM catalogue.prices "
        "WHERE price_id = 'mine'"
    )
    assert ask(second, asked) == [(1.25, "user", True)]


def test_lists_and_times_of_a_row_keep_their_types():
    rows = [t for t in load_catalogue().llms() if t.aliases][:1]
    table = as_arrow(type(rows[0]), rows)
    assert table.column("aliases").to_pylist() == [list(rows[0].aliases)]
    empty = as_arrow(TABLES["prices"].kind, [])
    assert str(empty.schema.field("entered_at").type) == "timestamp[us]"
    assert empty.num_rows == 0
