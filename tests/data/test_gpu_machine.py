"""Logs of two machines that share a file name stay two machines."""

import io

import pytest

from data.gpu.machine import machine_of
from data.ingest import ingest_file, rebuild, undo_upload
from data.ingest_files import ingest_files
from data.readers.base import Choices
from data.store import Store
from tests.data.fakes import content
from tests.data.test_unpack import zipped
from tests.examples import in_turn


def smi(util: int, first: int = 0, n: int = 5, ms: int = 0) -> bytes:
    rows = [f"2026/05/31 04:00:{s:02d}.{ms:03d}, 0, {util} %\n" for s in range(first, first + n)]
    return ("timestamp, index, utilization.gpu [%]\n" + "".join(rows)).encode()


def load(store: Store, data: bytes, name: str = "gpu.csv", choices: Choices | None = None):
    return ingest_file(store, io.BytesIO(data), name, choices)


def means(store: Store) -> list[tuple]:
    with store.view() as view:
        return view.rows(
            f"SELECT gpu_id, count(*), round(avg(gpu_util), 3) FROM {view.gpu_parts_sql()} "
            "GROUP BY gpu_id ORDER BY gpu_id"
        )


@pytest.mark.parametrize(
    ("name", "machine"),
    [
        ("gpu.csv", "gpu"),
        ("node-a/gpu.csv", "node-a"),
        ("node-a/logs/nvidia-smi.csv", "node-a"),
        ("exp/node7.csv", "node7"),
        ("logs/gpu.csv", "gpu"),
    ],
)
def test_a_generic_stem_gives_way_to_its_folder(name: str, machine: str) -> None:
    assert machine_of(name) == machine


def test_folders_of_an_archive_are_machines(store: Store, tmp_path) -> None:
    path = tmp_path / "nodes.zip"
    path.write_bytes(zipped({"node-a/gpu.csv": smi(10), "node-b/gpu.csv": smi(90)}))
    intake = ingest_files(store, path)
    assert [r.rows_written["gpu_samples"] for r in intake.receipts] == [5, 5]
    assert means(store) == [("node-a:0", 5, 0.1), ("node-b:0", 5, 0.9)]


@pytest.mark.parametrize("ms", in_turn([0, 500], turn=1, of=2))
def test_samples_that_cannot_be_of_one_gpu_are_kept_as_another(store: Store, ms: int) -> None:
    first = load(store, smi(10))
    second = load(store, smi(90, ms=ms))
    assert second.rows_written["gpu_samples"] == 5
    assert means(store) == [("gpu:0", 5, 0.1), ("gpu~2:0", 5, 0.9)]
    assert any("another machine, gpu~2" in text and "host" in text for text in second.warnings)
    before = content(store)
    assert rebuild(store) == [] and content(store) == before
    undo_upload(store, first.upload_id)
    assert means(store) == [("gpu:0", 5, 0.9)]


def test_a_log_that_grows_stays_one_gpu(store: Store) -> None:
    load(store, smi(10))
    load(store, smi(10, 0, 8))
    receipt = load(store, smi(10, 8, 4))
    assert means(store) == [("gpu:0", 12, 0.1)]
    assert not any("another machine" in text for text in receipt.warnings)
    load(store, smi(90))
    grown = load(store, smi(90, 0, 9))
    assert grown.rows_written["gpu_samples"] == 4
    assert means(store) == [("gpu:0", 12, 0.1), ("gpu~2:0", 9, 0.9)]


def test_a_named_host_is_taken_at_its_word(store: Store) -> None:
    load(store, smi(10), choices=Choices(host="n1"))
    receipt = load(store, smi(90), choices=Choices(host="n1"))
    assert [row[0] for row in means(store)] == ["n1:0"]
    assert any("were there with other values" in text for text in receipt.warnings)
