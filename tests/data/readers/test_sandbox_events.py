"""Sandbox events under the names and units that people use."""

from datetime import datetime
from pathlib import Path

import pytest

from data.errors import UnreadableFileError
from data.readers import choose
from data.readers.base import Batch, Choices
from data.readers.sandbox_events import SandboxEventsReader
from data.sandbox_fields import amount, ok_of, split_unit
from tests.data.verl_files import spooled

CSV = (
    "sandbox,step,start_time,queue_ms,cold_start_ms,duration_ms,cpus,memory_mib,status,node\n"
    "py,1,2026-01-05T08:00:00Z,250,1500,4000,2,512,ok,n1\n"
    "py,1,2026-01-05T08:00:01Z,0,,125,2,512,timeout,n1\n"
    "py,2,2026-01-05T08:00:09Z,-,-,-,2,512,error,n1\n"
)
JSONL = (
    '{"env": "js", "queued_at": 1767600000.5, "started_at": 1767600001.0, "ready_at": 1767600003,'
    ' "ended_at": 1767600013, "resources": {"cpu": "500m", "memory": "256Mi"}, "exit_code": 0}\n'
    '{"env": "js", "queued_at": 1767600000, "started_at": 1767600002, "ready_at": null,'
    ' "ended_at": 1767600004, "resources": {"cpu": "1"}, "exit_code": 137}\n'
    '{"env": "js", "queued_at": 17676'
)


def read(tmp_path: Path, text: str, name: str, choices: Choices | None = None) -> Batch:
    return SandboxEventsReader().read(spooled(text, tmp_path, name), choices or Choices(), tmp_path)


def test_milliseconds_and_mebibytes(tmp_path: Path) -> None:
    batch = read(tmp_path, CSV, "calls.csv", Choices(run="mine"))
    events = batch.tables["env_events"]
    assert events["queued_s"].tolist() == [0.25, 0.0]
    assert events["cold_s"].fillna(-1).tolist() == [1.5, -1]
    assert events["busy_s"].tolist() == [4.0, 0.125]
    assert events["mem_bytes"][0] == 512 * 2**20
    assert events["ok"].tolist() == [True, False]
    assert events["run"].tolist() == ["mine", "mine"]
    assert events["started_at"][0] == datetime(2026, 1, 5, 8)
    assert [(s.line, s.reason) for s in batch.set_aside] == [(4, "no time of the call")]
    assert batch.unmapped == ["node"]
    assert (batch.facts["steps_count"], batch.facts["span_s"], batch.facts["columns"]) == (1, 1.0, 10)
    assert not any("unit" in text for text in batch.warnings)


def test_times_between_stamps(tmp_path: Path) -> None:
    batch = read(tmp_path, JSONL, "calls.jsonl")
    events = batch.tables["env_events"]
    assert events["queued_s"].tolist() == [0.5, 2.0]
    assert events["cold_s"].fillna(-1).tolist() == [2.0, -1]
    assert events["busy_s"].tolist() == [10.0, 2.0]
    assert events["cores"].tolist() == [0.5, 1.0]
    assert events["mem_bytes"][0] == 256 * 2**20
    assert events["ok"].tolist() == [True, False]
    assert (batch.records, batch.facts["partial_last_line"]) == (2, 1)


def test_numbers_without_a_unit_are_seconds_and_it_says_so(tmp_path: Path) -> None:
    batch = read(tmp_path, "env,queued,duration,start\npy,1,2.5,2026-01-05 08:00:00\n", "c.csv")
    assert batch.tables["env_events"]["busy_s"].tolist() == [2.5]
    assert any("taken as seconds" in text for text in batch.warnings)
    assert batch.timezone_assumed


def test_a_bad_cell_is_set_aside_alone(tmp_path: Path) -> None:
    batch = read(tmp_path, "env,queue_s,duration_s,cold_start\npy,soon,2,true\n", "c.csv")
    assert [(s.column, s.text) for s in batch.set_aside] == [("queue_s", "soon")]
    assert batch.stored == 1
    with pytest.raises(UnreadableFileError, match="No call with a time"):
        read(tmp_path, "env,queue_s,duration_s\npy,,\n", "c.csv")


@pytest.mark.parametrize(
    ("text", "taken"),
    [
        (CSV, True),
        (JSONL, True),
        ('{"ts": 1.7e9, "path": "/v1/chat", "status": 200, "latency_ms": 812.5}\n', False),
        ("step,time,duration\n1,2,3\n", False),
        ("JobID,State,Elapsed,Start,End\n1,a,2,3,4\n", False),
    ],
)
def test_what_is_taken(text: str, taken: bool, tmp_path: Path) -> None:
    confidence = SandboxEventsReader().sniff(spooled(text, tmp_path)).confidence
    assert confidence > 0.7 if taken else confidence < 0.2
    if taken:
        assert choose(spooled(text, tmp_path), Choices()).format == "sandbox_events"


def test_units_and_words() -> None:
    assert split_unit("cold_start_ms") == ("cold_start", "ms")
    assert split_unit("Memory [MiB]") == ("memory", "MiB")
    assert amount("3 min", "s") == (180.0, "")
    assert amount(-1, "s") == (None, "a negative amount")
    assert amount(None, "s") == (None, "")
    assert ok_of("error", "") == (True, "")
    assert ok_of("error", "boom") == (False, "")
    assert ok_of("status", "strange")[0] is None
