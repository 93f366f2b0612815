"""GPU samples under tracker keys: which keys, whose GPU, which unit."""

from datetime import datetime, timedelta
from pathlib import Path

import pytest

from data.arrival.spool import spool_bytes
from data.gpu.keys import add_gpus, gpu_from_keys, gpu_key
from data.readers.base import Batch, Choices
from data.readers.wandb_history import WandbHistoryCsvReader
from tests.data.readers.gpu_files import samples

START = datetime(2026, 1, 1)
STAMPS = [START + timedelta(seconds=10 * k) for k in range(3)]


@pytest.mark.parametrize(
    ("name", "want"),
    [
        ("system.gpu.0.gpu", ("0", "gpu_util", None)),
        ("system/gpu.3.powerWatts", ("3", "power_w", None)),
        ("gpu.1.memoryAllocatedBytes/l:trainer", ("1", "mem_bytes", "trainer")),
        ("system.gpu.0.memory", ("0", "mem_util", None)),
        ("ray/node.2.gpu.7.util", ("7", "gpu_util", "node2")),
        ("ray/node.0.gpu.1.mem_gb", ("1", "mem_bytes", "node0")),
        ("ray/node.0.gpu.1.mem_used_gb", ("1", "mem_bytes", "node0")),
        ('ray_node_gpus_utilization{GpuIndex="4",ip="10.0.0.9"}', ("4", "gpu_util", "10.0.0.9")),
        ("system.gpu.0.memoryAllocated", None),
        ("system.gpu.0.powerPercent", None),
        ("system.gpu.process.0.gpu", None),
        ("ray/gpu.util.avg", None),
        ("ray/node.0.mem_gb", None),
        ("ray_node_gpus_utilization", None),
        ("system.cpu", None),
        ("reward", None),
    ],
)
def test_keys(name: str, want: tuple[str, str, str | None] | None) -> None:
    found = gpu_key(name)
    assert (None if found is None else (found.index, found.measure, found.node)) == want


def batch_of(columns: dict[str, list[float | None]], folder: Path, run: str | None = "r1") -> Batch:
    found = gpu_from_keys(columns, STAMPS)
    assert found is not None
    batch = Batch("history", facts={"gpus": None})
    source = spool_bytes(b"x\n", "export.csv", folder)
    add_gpus(batch, found, source, Choices(), folder, run)
    return batch


def test_nodes_of_ray_are_not_one_gpu(tmp_path: Path) -> None:
    columns: dict[str, list[float | None]] = {
        "ray/node.0.gpu.0.util": [50, 100, 0],
        "ray/node.1.gpu.0.util": [0, 0, None],
        "ray/node.1.gpu.0.mem_gb": [2, 4, 3],
        "reward": [1, 2, 3],
    }
    batch = batch_of(columns, tmp_path)
    frame = samples(batch)
    assert frame["gpu_id"].unique().tolist() == ["r1:node0:0", "r1:node1:0"]
    assert frame["mem_bytes"].max() == 4 * 2**30
    assert list(frame["dt_s"]) == [10, 10, 0, 10, 10, 0]
    assert (batch.facts["gpus"], batch.facts["hosts"], batch.stored) == (2, 2, 0)
    assert batch.facts["util_mean_by_row[gpu_util]"] == pytest.approx(0.3)
    assert batch.facts["util_mean_by_row[gpu_util|r1:node1:0]"] == 0
    gpus = batch.tables["gpus"]
    assert gpus["run"].tolist() == ["r1", "r1"]
    assert gpus["host"].isna().all() and gpus["gpu_index"].tolist() == [0, 0]
    assert batch.mapped["ray/node.1.gpu.0.mem_gb"] == "gpu_samples.mem_bytes"


def test_a_second_run_is_another_part(tmp_path: Path) -> None:
    source = spool_bytes(b"x\n", "export.csv", tmp_path)
    batch = Batch("history")
    for run in ("a", "b"):
        found = gpu_from_keys({"system/gpu.0.gpu": [1.0, 2.0, 3.0]}, STAMPS)
        assert found is not None
        add_gpus(batch, found, source, Choices(), tmp_path, run)
    assert len({part.name for part in batch.gpu_parts}) == 2
    assert batch.tables["gpus"]["gpu_id"].tolist() == ["a:0", "b:0"]


def test_two_runs_on_one_named_host_share_its_gpu(tmp_path: Path) -> None:
    source = spool_bytes(b"x\n", "export.csv", tmp_path)
    batch = Batch("history")
    for run in ("a", "b"):
        found = gpu_from_keys({"system/gpu.0.gpu": [1.0, 2.0, 3.0]}, STAMPS)
        assert found is not None
        add_gpus(batch, found, source, Choices(host="n1"), tmp_path, run)
    assert batch.tables["gpus"]["gpu_id"].tolist() == ["n1:0"]


def test_a_value_that_cannot_be_is_set_aside(tmp_path: Path) -> None:
    found = gpu_from_keys({"system.gpu.0.gpu": [50, 140, 9.3e18]}, STAMPS, [7, 8, 9])
    assert found is not None
    assert [(s.line, s.column) for s in found.set_aside] == [(8, "system.gpu.0.gpu")]
    assert found.frame["v0"].tolist() == [0.5]


def test_without_times_there_are_means_and_no_samples(tmp_path: Path) -> None:
    found = gpu_from_keys({"ray/node.0.gpu.0.util": [50.0, 100.0]}, [None, None])
    assert found is not None
    batch = Batch("history")
    add_gpus(batch, found, spool_bytes(b"x\n", "export.csv", tmp_path), Choices(), tmp_path)
    assert batch.facts["util_mean_by_row[gpu_util]"] == 0.75
    assert not batch.gpu_parts


def test_profiling_keys_need_a_value_that_tells_the_scale(tmp_path: Path) -> None:
    sure = gpu_from_keys({"gpu.0.smActive": [80.0, 0.5, 0.0], "gpu.1.smActive": [0.1, 0.2, 0.3]}, STAMPS)
    assert sure is not None
    assert sure.frame["v0"].tolist() == pytest.approx([0.8, 0.005, 0.0, 0.001, 0.002, 0.003])
    unsure = gpu_from_keys({"gpu.0.gpu": [1.0], "gpu.0.smActive": [0.5]}, STAMPS[:1])
    assert unsure is not None
    assert unsure.measures == ("gpu_util",)
    assert "may be a ratio" in unsure.warnings[0]


def test_a_run_history_brings_its_gpus(tmp_path: Path) -> None:
    text = (
        "_step,_timestamp,_runtime,train/reward,ray/node.0.gpu.0.util,ray/node.0.gpu.0.mem_gb\n"
        "1,1767225600,10,0.5,,\n2,1767225610,20,0.6,,\n"
        "3,1767225605,15,,50,2\n4,1767225615,25,,100,4\n"
    )
    source = spool_bytes(text.encode(), "history.csv", tmp_path)
    batch = WandbHistoryCsvReader().read(source, Choices(run="r9"), tmp_path)
    frame = samples(batch)
    assert frame["gpu_id"].unique().tolist() == ["r9:node0:0"]
    assert list(frame["gpu_util"]) == [0.5, 1.0]
    assert frame["mem_bytes"].max() == 4 * 2**30
    assert batch.tables["gpus"]["run"].tolist() == ["r9"]
    assert batch.facts["gpus"] == 1


def test_nothing_of_gpus_is_none() -> None:
    assert gpu_from_keys({"reward": [1.0]}, STAMPS[:1]) is None
