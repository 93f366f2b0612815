"""TensorBoard event files: scalars of every writer, restarts, damage, folders of several files."""

import struct
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from data.arrival.bundle import pack
from data.arrival.names import run_name_of
from data.arrival.spool import spool_bytes
from data.errors import UnreadableFileError
from data.facts_base import blank_facts
from data.logs.tensorboard import forward
from data.logs.tensorboard_proto import ProtoError, decode
from data.readers import choose
from data.readers.base import Batch, Choices, Source
from tests.data.event_files import block, event, framed, opened, scalars, simple, summary, tensor, varint
from tests.examples import some

T0 = 1_700_000_000.0
NAME = "exp1/events.out.tfevents.1700000000.node7.12.0"


def read(tmp_path: Path, data: bytes, name: str = NAME) -> Batch:
    return _read(spool_bytes(data, name, tmp_path / "spool"), tmp_path)


def _read(source: Source, tmp_path: Path) -> Batch:
    scratch = tmp_path / "scratch"
    scratch.mkdir(exist_ok=True)
    batch = choose(source, Choices()).read(source, Choices(), scratch)
    batch.reconcile()
    assert set(batch.facts) >= set(blank_facts()) - {"gpus"}
    return batch


def raw(batch: Batch) -> list[tuple[int, int, str, float]]:
    frame = batch.tables["metric_raw"]
    return list(zip(frame["attempt"], frame["step"], frame["key"], frame["value"], strict=True))


def verl(wall_s: float, step: int, step_s: float = 10.0, reward: float = 0.5) -> bytes:
    return scalars(
        wall_s,
        step,
        timing_s__step=step_s,
        timing_s__gen=step_s / 2,
        actor__pg_loss=0.25,
        critic__rewards__mean=reward,
    )


def verl_run(first: int, last: int, start: float = T0, reward: float = 0.5) -> bytes:
    steps = b"".join(verl(start + 60 + 12 * (n - first), n, 10.0, reward) for n in range(first, last + 1))
    return opened(start) + steps


def test_a_run_of_verl_has_steps_phases_and_a_clock(tmp_path: Path) -> None:
    batch = read(tmp_path, verl_run(1, 5))
    assert (batch.format, batch.records, batch.stored) == ("tensorboard_events", 21, 20)
    assert dict(batch.ignored) == {"file version": 1}
    steps = batch.tables["steps"]
    assert list(steps["step"]) == [1, 2, 3, 4, 5] and list(steps["step_s"]) == [10.0] * 5
    assert list(steps["reward_mean"]) == [0.5] * 5
    assert list(steps["elapsed_s"]) == [60.0, 72.0, 84.0, 96.0, 108.0]
    assert steps["ts"].iloc[0].isoformat() == "2023-11-14T22:14:20"
    assert batch.tables["step_phases"]["seconds"].sum() == 25.0
    (attempt,) = batch.tables["attempts"].to_dict("records")
    assert (attempt["elapsed_s"], attempt["elapsed_basis"]) == (108.0, "clock")
    assert attempt["started_at"].isoformat() == "2023-11-14T22:13:20"
    (run,) = batch.tables["runs"].to_dict("records")
    assert (run["run"], run["framework"]) == ("exp1", "verl")
    assert batch.facts["physical_lines"] is None and batch.facts["step_seconds_sum"] == 50.0


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (simple("loss", 0.5), 0.5),
        (tensor("loss", 1, block(4, struct.pack("<f", 0.5))), 0.5),
        (tensor("loss", 1, block(5, struct.pack("<f", 0.5))), 0.5),
        (tensor("loss", 1, b"\x2d" + struct.pack("<f", 0.5)), 0.5),
        (tensor("loss", 2, block(6, struct.pack("<d", 0.1))), 0.1),
        (tensor("loss", 2, block(4, struct.pack("<d", 1e300))), 1e300),
        (tensor("loss", 3, block(7, varint(-7))), -7.0),
        (tensor("loss", 9, b"\x50" + varint(1 << 40)), float(1 << 40)),
        (tensor("loss", 1, block(5, struct.pack("<f", 0.5)), block(2, b"\x08\x01")), 0.5),
    ],
)
def test_the_ways_to_write_a_scalar(value: bytes, expected: float) -> None:
    found = decode(event(T0, 3, summary(value))[12:-4])
    assert (found.scalars, found.step, found.wall_s, found.others) == ((("loss", expected),), 3, T0, 0)


@pytest.mark.parametrize(
    "value",
    [
        tensor("text", 7, block(8, b"hello")),
        tensor("pr_curve", 1, block(5, struct.pack("<2f", 1, 2)), block(2, b"\x08\x02")),
        tensor("empty", 1, b"", block(2, b"\x08\x00")),
        block(1, block(1, b"picture") + block(4, b"\x89PNG")),
        block(1, block(1, b"histogram") + block(5, b"\x09" + bytes(8))),
    ],
)
def test_what_is_no_scalar_is_counted(tmp_path: Path, value: bytes) -> None:
    assert decode(event(T0, 1, summary(value))[12:-4]).others == 1
    batch = read(tmp_path, opened(T0) + event(T0, 1, summary(value)) + scalars(T0 + 1, 1, loss=1.0))
    assert batch.ignored["no number: picture, histogram, text, graph or session mark"] == 1
    assert raw(batch) == [(1, 1, "loss", 1.0)]


def test_a_large_graph_is_stepped_over(tmp_path: Path) -> None:
    graph = event(T0, 0, block(4, bytes(200_000)))
    assert raw(read(tmp_path, opened(T0) + graph + scalars(T0, 1, loss=2.0))) == [(1, 1, "loss", 2.0)]


def test_several_values_in_one_event_and_numbers_that_are_none(tmp_path: Path) -> None:
    body = summary(simple("a", 1.0), simple("b", float("nan")), simple("c", float("inf")))
    batch = read(tmp_path, opened(T0) + event(T0, 4, body))
    assert raw(batch) == [(1, 4, "a", 1.0)]
    assert (batch.records, batch.stored, batch.facts["missing_cells"]) == (2, 1, 2)


def test_a_cut_tail_is_dropped_and_said(tmp_path: Path) -> None:
    whole = verl_run(1, 3)
    batch = read(tmp_path, whole[:-30])
    assert batch.facts["partial_last_line"] == 1 and (batch.records, batch.stored) == (12, 11)
    assert any("cut off" in text and "bytes at the end" in text for text in batch.warnings)


def test_a_damaged_record_is_set_aside_and_the_rest_is_read(tmp_path: Path) -> None:
    good, bad = scalars(T0, 1, loss=1.0), bytearray(scalars(T0, 2, loss=2.0))
    bad[-8] ^= 1
    batch = read(tmp_path, opened(T0) + good + bytes(bad) + scalars(T0, 3, loss=3.0))
    assert [value for *_, value in raw(batch)] == [1.0, 3.0]
    assert [(item.line, "checksum" in item.reason) for item in batch.set_aside] == [(3, True)]
    assert (batch.records, batch.stored) == (4, 2)


def test_a_damaged_length_ends_the_file(tmp_path: Path) -> None:
    data = bytearray(opened(T0) + scalars(T0, 1, loss=1.0) + scalars(T0, 2, loss=2.0))
    data[len(opened(T0) + scalars(T0, 1, loss=1.0)) + 1] ^= 1
    batch = read(tmp_path, bytes(data))
    assert [value for *_, value in raw(batch)] == [1.0]
    assert any("wrong length" in text for text in batch.warnings)


def test_a_restart_inside_a_file_opens_an_attempt(tmp_path: Path) -> None:
    again = b"".join(verl(T0 + 900 + 12 * n, n, 11.0, 0.6) for n in range(3, 7))
    batch = read(tmp_path, verl_run(1, 4) + again)
    steps = batch.tables["steps"]
    assert list(zip(steps["attempt"], steps["step"], strict=True)) == [
        (1, 1), (1, 2), (1, 3), (1, 4), (2, 3), (2, 4), (2, 5), (2, 6),
    ]  # fmt: skip
    attempts = batch.tables["attempts"]
    assert list(attempts["resumed_from_step"].fillna(0)) == [0, 2]
    assert list(attempts["status"]) == ["failed", "unknown"]


def test_a_late_evaluation_is_no_restart_and_does_not_move_the_clock(tmp_path: Path) -> None:
    late = scalars(T0 + 60 + 12 * 4 + 1, 2, **{"val-core__gsm8k__reward__mean@1": 0.25})
    batch = read(tmp_path, verl_run(1, 5) + late)
    steps = batch.tables["steps"]
    assert set(steps["attempt"]) == {1}
    assert list(steps["elapsed_s"]) == [60.0, 72.0, 84.0, 96.0, 108.0]
    assert list(batch.tables["evals"]["step"]) == [2]


def test_an_own_axis_of_gpu_monitors_becomes_gpu_samples(tmp_path: Path) -> None:
    util = b"".join(
        scalars(T0 + 10 * n, n, **{"ray__node.0.gpu.1.util": 40.0 + n, "ray__node.0.gpu.1.mem_gb": 2.0})
        for n in range(6)
    )
    steps = b"".join(
        scalars(T0 + 30 * n, n, timing__train__total_step_time=30.0, timing__train__generation=12.0)
        for n in (1, 2)
    )
    batch = read(tmp_path, opened(T0) + steps + util)
    assert list(batch.tables["steps"]["step"]) == [1, 2]
    assert batch.tables["runs"]["framework"].tolist() == ["nemo-rl"]
    assert batch.facts["util_mean_by_row[gpu_util]"] == pytest.approx(0.425)
    assert batch.facts["memory_peak_bytes"] == 2 * 1024**3
    assert batch.facts["gpus"] == 1 and len(batch.gpu_parts) == 1
    axis = batch.tables["metric_raw"].query("key == 'ray/node.0.gpu.1.util'")
    assert axis["x_name"].unique().tolist() == ["sample"] and axis["x"].tolist() == [0, 1, 2, 3, 4, 5]


def test_a_file_without_scalars_is_not_ours(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFileError, match="TensorBoard event file"):
        read(tmp_path, opened(T0) + event(T0, 0, block(4, b"graph")))


def folder(tmp_path: Path, files: dict[str, bytes], name: str = "runs/exp1/") -> Batch:
    place = tmp_path / "files"
    place.mkdir()
    paths = {}
    for number, (member, data) in enumerate(files.items()):
        paths[member] = place / str(number)
        paths[member].write_bytes(data)
    return _read(pack(paths, name, tmp_path), tmp_path)


def test_files_of_a_resumed_run_that_goes_on_are_one_attempt(tmp_path: Path) -> None:
    later = verl_run(4, 6, T0 + 3_600)
    batch = folder(tmp_path, {"events.b": verl_run(1, 3), "events.a": later})
    assert batch.format == "tensorboard_folder" and run_name_of("runs/exp1/") == "exp1"
    steps = batch.tables["steps"]
    assert list(zip(steps["attempt"], steps["step"], strict=True)) == [(1, n) for n in range(1, 7)]
    assert steps["elapsed_s"].iloc[3] == 3_660.0
    assert any("1.0 h" in text for text in batch.warnings)


def test_files_of_a_resumed_run_that_repeats_steps_are_two_attempts(tmp_path: Path) -> None:
    batch = folder(tmp_path, {"a": verl_run(1, 5), "b": verl_run(4, 6, T0 + 3_600, 0.7), "c": opened(T0)})
    steps = batch.tables["steps"]
    assert list(zip(steps["attempt"], steps["step"], strict=True)) == [
        (1, 1), (1, 2), (1, 3), (1, 4), (1, 5), (2, 4), (2, 5), (2, 6),
    ]  # fmt: skip
    attempts = batch.tables["attempts"]
    assert list(attempts["elapsed_s"]) == [108.0, 84.0]
    assert attempts["started_at"].iloc[1].isoformat() == "2023-11-14T23:13:20"


def test_two_writers_of_one_run_are_one_attempt(tmp_path: Path) -> None:
    other = opened(T0 + 1) + b"".join(scalars(T0 + 70 + n, n, gpu_hours=float(n)) for n in range(1, 4))
    batch = folder(tmp_path, {"train": verl_run(1, 3), "other": other})
    assert set(batch.tables["metric_raw"]["attempt"]) == {1}
    assert (batch.records, batch.stored) == (17, 15)


def test_writers_that_the_run_opened_below_itself_belong_to_it(tmp_path: Path) -> None:
    name = "events.out.tfevents.1700000000.node7.12"
    files = {
        f"{name}.0": verl_run(1, 3),
        f"grp_a/{name}.1": opened(T0) + scalars(T0 + 70, 2, grp=1.0),
        f"1700000000.5/{name}.2": opened(T0) + scalars(T0 + 99, 0, hp_metric=0.5),
        "other/events.out.tfevents.1700000000.node7.13.0": verl_run(1, 9),
    }
    batch = folder(tmp_path, files)
    keys = {key for _, _, key, _ in raw(batch)}
    assert {"grp_a/grp", "hp_metric"} < keys and batch.records == 17
    steps = batch.tables["steps"]
    assert list(steps["elapsed_s"].dropna()) == [60.0, 72.0, 84.0]


def test_folders_of_other_processes_are_other_runs(tmp_path: Path) -> None:
    files = {
        "events.out.tfevents.1700000000.node7.12.0": verl_run(1, 3),
        "exp2/events.out.tfevents.1700000000.node7.13.0": verl_run(1, 9),
    }
    with pytest.raises(UnreadableFileError, match="a folder of files"):
        folder(tmp_path, files)


def test_times_out_of_order_are_left_out_of_the_clock() -> None:
    assert forward([5.0, 1.0, 2.0, None, 9.0, 3.0, 3.0]) == {1, 2, 5, 6}
    assert forward([]) == set() and forward([None]) == set()


def test_the_same_file_twice_counts_once(tmp_path: Path) -> None:
    batch = folder(tmp_path, {"a": verl_run(1, 3), "copy": verl_run(1, 3)})
    assert len(batch.tables["steps"]) == 3 and batch.facts["step_seconds_sum"] == 30.0


@settings(max_examples=some(25), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(at=st.integers(60, 2_000), bits=st.integers(1, 255), cut=st.booleans())
def test_damage_never_changes_a_number(tmp_path: Path, at: int, bits: int, cut: bool) -> None:
    data = bytearray(verl_run(1, 8))
    at = min(at, len(data) - 1)
    data[at] ^= bits
    try:
        batch = read(tmp_path, bytes(data[:at] if cut else data))
    except UnreadableFileError:
        return
    whole = {(1, n, k): v for n in range(1, 9) for k, v in (
        ("timing_s/step", 10.0), ("timing_s/gen", 5.0), ("actor/pg_loss", 0.25), ("critic/rewards/mean", 0.5)
    )}  # fmt: skip
    assert all(whole[(a, s, k)] == v for a, s, k, v in raw(batch))


@given(st.binary(max_size=80))
def test_any_bytes_are_an_event_or_a_proto_error(data: bytes) -> None:
    with suppress(ProtoError):
        decode(data)


def test_frames_are_those_of_the_format() -> None:
    assert framed(b"")[:8] == bytes(8) and len(framed(b"abc")) == 19
