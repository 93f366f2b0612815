"""Histories through the store: overlapping exports, two processes of a run, Parquet beside CSV."""

import io
from pathlib import Path

import pytest

from data.ingest import ingest_file
from data.readers.base import Choices
from data.store import Store
from tests.data.readers.flat_files import Records, clocked, history_csv
from tests.data.readers.test_parquet_metrics import parquet

RUN = Choices(run="prime")


def trainer(last: int) -> Records:
    return clocked(
        [
            {"step": n, "time/step": 10.0 + n / 7, "time/forward_backward": 6.0 + n / 9,
             "time/wait_for_batch": 3.0, "time/broadcast_weights": 1.0, "perf/mfu": 20.0 + n / 11}
            for n in range(last)
        ]
    )  # fmt: skip


def orchestrator(last: int) -> Records:
    return clocked(
        [
            {"step": n, "time/step": 10.5 + n / 7, "progress/tokens": 5000 + n, "progress/rollouts": 64,
             "off_policy/mean": 1.0, "time/pack": 0.5}
            for n in range(last)
        ]
    )  # fmt: skip


def store_with(folder: Path, *files: tuple[str, bytes]) -> Store:
    store = Store.open(folder)
    for name, data in files:
        ingest_file(store, io.BytesIO(data), name, RUN)
    return store


def test_a_longer_export_and_parquet_of_a_run_count_once(tmp_path: Path) -> None:
    store = store_with(
        tmp_path / "home",
        ("a.csv", history_csv(trainer(5)).encode()),
        ("b.csv", history_csv(trainer(9)).encode()),
        ("c.parquet", parquet(trainer(9))),
    )
    with store.view() as view:
        assert view.rows("SELECT count(*), count(DISTINCT step) FROM steps") == [(9, 9)]
        assert view.rows("SELECT count(*) FROM attempts") == [(1,)]
        assert view.rows("SELECT sum(seconds) FROM step_phases WHERE phase = 'rollout'") == [(27.0,)]
        assert view.rows("SELECT elapsed_s FROM attempts") == [(pytest.approx(95.0),)]
    store.close()


def test_trainer_and_orchestrator_are_one_attempt(tmp_path: Path) -> None:
    store = store_with(
        tmp_path / "home",
        ("trainer.csv", history_csv(trainer(6)).encode()),
        ("orchestrator.csv", history_csv(orchestrator(6)).encode()),
    )
    with store.view() as view:
        assert view.rows("SELECT DISTINCT run, attempt FROM steps") == [("prime", 1)]
        assert view.rows("SELECT sum(tok_total) FROM steps") == [(6 * 5000 + 15.0,)]
        assert view.rows("SELECT DISTINCT pool FROM step_phases ORDER BY pool") == [("rollout",), ("train",)]
    store.close()
