"""Crashes, broken files, a full disk, a second process: nothing half-loaded, nothing lost, and it is said."""

import os
import re
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

import data.readers
from data.errors import HomeBusyError
from data.ingest import ingest_file
from data.readers.base import Choices
from data.store import Store
from tests.data.fakes import choose_fake, content, gpu_csv, gpu_tables, steps_csv
from tests.examples import in_turn

ROOT = Path(__file__).parents[2]
GPUS = Choices(gpus=8, platform="h100-sxm")
PRELUDE = """
import sys
from pathlib import Path
import data.readers
from tests.data.fakes import *
data.readers.choose = choose_fake
from data.ingest import ingest_file
from data.readers.base import Choices
from data.store import Store
home = Path(sys.argv[1])
"""


@pytest.fixture(autouse=True)
def fake_readers(monkeypatch):
    monkeypatch.setattr(data.readers, "choose", choose_fake, raising=False)


def rows(first, last, jitter=0.0):
    return [(n, 1.0 + n / 7 + jitter, 100.0 * n) for n in range(first, last + 1)]


def child(home, body):
    code = PRELUDE + textwrap.dedent(body)
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(
        [sys.executable, "-c", code, str(home)],
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def kill_at(home, place):
    """Start an upload in another process and kill -9 it when it reaches `place`."""
    process = child(
        home,
        f"""
        import os, signal
        store = Store.open(home)
        ingest_file(store, steps_csv([(n, 1.0 + n / 7, 100.0 * n) for n in range(1, 11)]), "a.csv",
                    Choices(gpus=8, platform="h100-sxm"))
        def die(*_, **__):
            os.kill(os.getpid(), signal.SIGKILL)
        def progress(stage, done, total):
            if stage == {place!r}:
                die()
        import data.ingest, data.load, data.gpu.store
        if {place!r} == "before commit":
            data.load.add_upload = die
        if {place!r} == "after the part was moved":
            data.gpu.store._list_part = die
        if {place!r} == "after commit":
            store.workspace.decide = die
        if {place!r} == "after commit" or {place!r} == "before commit":
            ingest_file(store, steps_csv([(n, 1.0 + n / 7, 100.0 * n) for n in range(1, 21)]), "a.csv")
        else:
            ingest_file(store, gpu_csv(0, 60), "gpu.csv", None, progress)
        """,
    )
    _, errors = process.communicate(timeout=120)
    assert process.returncode == -signal.SIGKILL, errors


@pytest.mark.parametrize(
    "place", in_turn(["spool", "samples", "after the part was moved", "before commit"], turn=1, of=2)
)
def test_a_kill_during_an_upload_leaves_the_state_before_it(tmp_path, place):
    kill_at(tmp_path, place)
    store = Store.open(tmp_path)
    with store.view() as view:
        assert view.rows("SELECT max(step), count(*) FROM steps") == [(10, 10)]
        assert view.rows("SELECT count(*) FROM uploads") == [(1,)]
        assert view.rows("SELECT count(*) FROM gpu_minutes") == [(0,)]
    assert list((tmp_path / "spool").iterdir()) == []
    assert list((tmp_path / "parts").iterdir()) == []
    receipt = ingest_file(store, gpu_csv(0, 60), "gpu.csv")
    assert receipt.duplicate_of is None and receipt.rows_written["gpu_samples"] == 118
    store.close()


def test_a_kill_between_commit_and_decision_loses_nothing(tmp_path):
    kill_at(tmp_path, "after commit")
    store = Store.open(tmp_path)
    with store.view() as view:
        assert view.rows("SELECT count(*) FROM steps") == [(20,)]
    assert [d.kind for d in store.workspace.decisions()] == ["upload", "upload"]
    before = content(store)
    store.close()
    (tmp_path / "telemetry.duckdb").unlink()
    store = Store.open(tmp_path)
    assert content(store) == before
    store.close()


@pytest.mark.full
def test_kills_at_random_moments_are_all_or_nothing(tmp_path):
    """Each upload adds 50 steps of its own run; after a kill at any moment whole uploads are there."""
    for attempt in range(3):
        process = child(
            tmp_path,
            f"""
            store = Store.open(home)
            print("open", flush=True)
            for n in range(1000):
                rows = [(i, {attempt} + n + i / 7, 1.0) for i in range(50)]
                ingest_file(store, steps_csv(rows), f"run {attempt} {{n}}.csv")
                print(n, flush=True)
            """,
        )
        assert process.stdout.readline() == "open\n"
        acknowledged = process.stdout.readline()
        time.sleep(0.05 * attempt)
        process.kill()
        rest, _ = process.communicate()
        assert acknowledged, "no upload finished"
        done = 1 + len(re.findall(r"^\d+$", rest, re.MULTILINE))
        store = Store.open(tmp_path)
        with store.view() as view:
            counts = view.rows(
                f"SELECT run, count(*) FROM steps WHERE run LIKE 'run {attempt} %' GROUP BY run"
            )
            assert all(n == 50 for _, n in counts)
            assert len(counts) >= done
            uploads = view.rows("SELECT count(*) FROM uploads")[0][0]
            runs = view.rows("SELECT count(*) FROM runs")[0][0]
        assert uploads == runs == len(store.workspace.decisions())
        store.close()


@pytest.mark.parametrize("damage", ["database", "wal"])
def test_a_broken_database_is_moved_aside_and_rebuilt(tmp_path, damage):
    if damage == "wal":
        process = child(
            tmp_path,
            """
            import os
            store = Store.open(home)
            ingest_file(store, steps_csv([(n, 1.0 + n / 7, 100.0 * n) for n in range(1, 11)]), "a.csv",
                        Choices(gpus=8, platform="h100-sxm"))
            os._exit(0)
            """,
        )
        _, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
        path = tmp_path / "telemetry.duckdb.wal"
        noise = bytearray(path.read_bytes())
        for place in range(60, len(noise), max(1, len(noise) // 40)):
            noise[place] ^= 0xFF
        path.write_bytes(noise)
    else:
        store = Store.open(tmp_path)
        ingest_file(store, steps_csv(rows(1, 10)), "a.csv", GPUS)
        store.close()
        (tmp_path / "telemetry.duckdb").write_bytes(b"this is not a database" * 1000)
    store = Store.open(tmp_path)
    with store.view() as view:
        assert view.rows("SELECT count(*) FROM steps") == [(10,)]
        assert view.rows("SELECT gpus FROM allocations") == [(8.0,)]
    assert any("could not be read" in n for n in store.notices)
    assert any("rebuilt from 1 original" in n for n in store.notices)
    assert len(list(tmp_path.glob("telemetry.duckdb.broken-*"))) >= 1
    store.close()


def test_a_second_process_is_told_who_holds_the_home(tmp_path):
    store = Store.open(tmp_path)
    process = child(tmp_path, "Store.open(home)")
    _, errors = process.communicate(timeout=120)
    assert process.returncode != 0
    assert "HomeBusyError" in errors and f"process {os.getpid()}" in errors and "--home" in errors
    store.close()


def test_the_refusal_is_a_user_error_here_too(tmp_path):
    process = child(
        tmp_path, "store = Store.open(home); print('open', flush=True); import time; time.sleep(60)"
    )
    try:
        assert process.stdout.readline() == "open\n"
        with pytest.raises(HomeBusyError, match=f"process {process.pid}") as caught:
            Store.open(tmp_path)
        assert "IPD_HOME" in caught.value.remedy
        assert not list(tmp_path.glob("*.broken-*"))
    finally:
        process.kill()
        process.communicate()
    Store.open(tmp_path).close()


def test_a_full_disk_rolls_back_and_the_next_upload_works(tmp_path, monkeypatch):
    store = Store.open(tmp_path)
    ingest_file(store, steps_csv(rows(1, 10)), "a.csv", GPUS)
    ingest_file(store, gpu_csv(0, 60), "gpu.csv")
    before, samples = content(store), gpu_tables(store)
    import data.gpu.store

    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(data.gpu.store, "_list_part", full)
        with pytest.raises(OSError, match="No space left"):
            ingest_file(store, gpu_csv(0, 90), "gpu longer.csv")
    with monkeypatch.context() as patch:
        patch.setattr(data.ingest, "flush", full)
        with pytest.raises(OSError, match="No space left"):
            ingest_file(store, steps_csv(rows(1, 20)), "a.csv")
    assert content(store) == before
    assert gpu_tables(store) == samples
    assert list(store.spool.iterdir()) == []
    assert len([p for p in store.originals.rglob("*") if p.is_file()]) == 2
    assert ingest_file(store, gpu_csv(0, 90), "gpu longer.csv").rows_written["gpu_samples"] == 60
    assert len(list(store.parts.iterdir())) == 1
    store.close()
