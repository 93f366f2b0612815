"""W&B system events: one object a moment, all GPUs of a node in it."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data.errors import UnreadableFileError
from data.readers.wandb_events import NO_GPU, WandbEventsReader
from tests.data.readers.gpu_files import check_real, read, real_files, samples, sureness
from tests.examples import some

READER = WandbEventsReader()
T0 = 1767225600


def event(second: float, **more: Any) -> str:
    row = {"system.gpu.0.gpu": 50.0, "system.gpu.1.gpu": 0.0, "system.cpu": 3.0, "_timestamp": T0 + second}
    return json.dumps(row | {name.replace("__", "."): value for name, value in more.items()}) + "\n"


def test_rows_become_samples_of_each_gpu(tmp_path: Path) -> None:
    text = event(0) + event(15.5, _runtime=20) + event(30, _runtime=40)
    batch = read(READER, text, tmp_path, host="n1", run="r1")
    frame = samples(batch)
    assert (batch.records, batch.stored, len(frame)) == (3, 3, 6)
    assert frame["gpu_id"].unique().tolist() == ["n1:0", "n1:1"]
    assert list(frame["gpu_util"]) == [0.5] * 3 + [0.0] * 3
    assert batch.facts["time_first_epoch_s"] == T0
    assert (batch.facts["gap_max_s"], batch.facts["run_seconds"]) == (15.5, 40)
    assert batch.facts["util_mean_by_time[gpu_util]"] == pytest.approx(0.25)
    assert batch.tables["gpus"]["run"].tolist() == ["r1", "r1"]
    assert batch.unmapped == ["system.cpu"]


def test_slashes_node_labels_and_bytes(tmp_path: Path) -> None:
    rows = [
        {
            "system/gpu.0.gpu/l:trainer": 10,
            "system/gpu.0.memoryAllocatedBytes/l:trainer": 5,
            "_timestamp": T0,
        },
        {"system/gpu.0.gpu/l:rollout": 90, "_timestamp": T0 + 1},
    ]
    batch = read(READER, "\n".join(map(json.dumps, rows)), tmp_path, name="e.jsonl")
    assert samples(batch)["gpu_id"].tolist() == ["e:rollout:0", "e:trainer:0"]
    assert (batch.facts["gpus"], batch.facts["hosts"]) == (2, 2)
    assert batch.facts["memory_peak_bytes"] == 5


def test_what_is_not_stored_is_counted(tmp_path: Path) -> None:
    text = (
        event(0)
        + "SIGTERM received\n"
        + '{"system.cpu": 4, "_timestamp": 1}\n'
        + event(0)
        + json.dumps({"system.gpu.0.gpu": None, "_timestamp": T0 + 2})
        + "\n"
        + json.dumps({"system.gpu.0.gpu": 5, "_timestamp": "soon"})
        + "\n\n"
        + event(3, system__gpu__0__gpu=130)
        + event(4)[:20]
    )
    batch = read(READER, text, tmp_path)
    assert batch.stored == 2
    assert batch.ignored == {NO_GPU: 1, "duplicate sample": 1, "row without a number of a GPU": 1}
    assert [(s.line, s.reason, s.column) for s in batch.set_aside] == [
        (2, "not a JSON object", None),
        (6, "no time stamp", None),
        (8, "a percentage outside 0..100", "system.gpu.0.gpu"),
    ]
    assert batch.facts["partial_last_line"] == 1
    assert batch.facts["missing_cells[system.gpu.0.gpu]"] == 1


def test_missing_is_never_zero(tmp_path: Path) -> None:
    text = event(0) + json.dumps(
        {"system.gpu.0.gpu": float("nan"), "system.gpu.1.gpu": 100, "_timestamp": T0 + 5}
    )
    batch = read(READER, text + "\n", tmp_path)
    assert batch.facts["util_mean_by_row[gpu_util|0]"] == 0.5
    assert batch.facts["util_mean_by_row[gpu_util|1]"] == 0.5


def test_a_stream_saved_as_a_table(tmp_path: Path) -> None:
    text = (
        ",system.gpu.0.gpu,system.gpu.0.memoryAllocatedBytes,system.cpu,_timestamp,_runtime\n"
        f"0,50.0,1024.0,3,{T0}.25,1\n1,,2048.0,3,{T0 + 15}.25,16\n2,x,1.0,3,{T0 + 30}.25,31\n"
        "3,1.0,1.0,3,soon,46\n"
    )
    batch = read(READER, text, tmp_path)
    frame = samples(batch)
    assert (batch.records, batch.stored) == (4, 3)
    assert frame["gpu_util"].isna().tolist() == [False, True, True]
    assert frame["mem_bytes"].max() == 2048
    assert [(s.line, s.column) for s in batch.set_aside] == [(4, "system.gpu.0.gpu"), (5, None)]
    assert batch.facts["time_first_epoch_s"] == T0 + 0.25
    assert sureness(READER, text, tmp_path) > 0.9
    assert sureness(READER, "_step,loss,system.gpu.0.gpu,_timestamp\n1,2,3,4\n", tmp_path) < 0.5


def test_refusal_and_sniff(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFileError, match="GPU measure"):
        read(READER, '{"system.cpu": 1, "_timestamp": 2}\n', tmp_path)
    assert sureness(READER, event(0), tmp_path) > 0.9
    many = {f"train/loss{k}": 1 for k in range(9)} | {"system.gpu.0.gpu": 1}
    assert sureness(READER, json.dumps(many) + "\n", tmp_path) < 0.5
    assert sureness(READER, '{"reward": 1}\n', tmp_path) == 0


LINES = st.lists(
    st.one_of(
        st.builds(lambda s, u: event(s, system__gpu__0__gpu=u), st.integers(0, 9), st.floats(0, 200)),
        st.sampled_from(
            ["[]\n", "{}\n", "\n", "x\n", '{"system.gpu.0.gpu": "a"}\n', '{"system.gpu.2.temp": -5}\n']
        ),
    ),
    max_size=12,
)


@given(lines=LINES, cut=st.integers(0, 30))
@settings(deadline=None, max_examples=some(14))
def test_records_always_balance(tmp_path_factory: pytest.TempPathFactory, lines: list[str], cut: int) -> None:
    text = event(0) + "".join(lines) + event(11)[: -cut or None]
    read(READER, text, tmp_path_factory.mktemp("events"))


@pytest.mark.parametrize("name", real_files("gpu/wandb_events"))
def test_real_files(name: str, tmp_path: Path) -> None:
    check_real(READER, name, tmp_path)
