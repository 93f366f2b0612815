"""Slurm accounting: what is a job, how many GPUs it held and for how long."""

from datetime import datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from data.errors import UnreadableFileError
from data.readers.base import Batch, Choices
from data.readers.sacct import SacctReader
from data.readers.sacct_lines import JOB_ID
from data.slurm_fields import elapsed_seconds, gpus_of, nodes_of
from tests.data.verl_files import spooled

HEADER = "JobID|JobName|User|Cluster|State|Start|End|Elapsed|AllocTRES|NodeList"
JOB = (
    "71|rl|ann|c1|COMPLETED|2026-01-05T08:00:00|2026-01-06T10:00:00|1-02:00:00"
    "|billing=64,cpu=64,gres/gpu:mi300x=16,gres/gpu=16,mem=1T,node=2|n[01-02]"
)
STEPS = [JOB.replace("71|rl", f"71.{name}|{name}") for name in ("batch", "extern", "0")]
TIMES = Choices(timezone="UTC")


def read(tmp_path: Path, *lines: str, choices: Choices = TIMES, end: str = "\n") -> Batch:
    return SacctReader().read(spooled("\n".join(lines) + end, tmp_path, "jobs.txt"), choices, tmp_path)


def test_steps_and_typed_gpus_are_not_counted_again(tmp_path: Path) -> None:
    batch = read(tmp_path, HEADER, JOB, *STEPS)
    facts = batch.facts
    assert (facts["records"], facts["jobs"], facts["gpus"], facts["hosts"]) == (4, 1, 16.0, 2)
    assert facts["gpu_hours"] == facts["gpu_hours[c1]"] == 16 * 26
    assert facts["gpu_model"] == "mi300x"
    assert (batch.stored, sum(batch.ignored.values())) == (1, 3)
    job = batch.tables["scheduler_jobs"].iloc[0]
    assert (job["elapsed_s"], job["state"], job["user_name"]) == (93600.0, "COMPLETED", "ann")
    assert batch.mapped["AllocTRES"] == "scheduler_jobs.gpus"


@pytest.mark.parametrize("bar", ["", "|"])
def test_a_command_line_at_the_end_may_hold_bars_quotes_and_commas(bar: str, tmp_path: Path) -> None:
    command = '|sbatch --export=A="x,y" --wrap "python t.py | tee log || true"'
    batch = read(tmp_path, f"{HEADER}|SubmitLine{bar}", f"{JOB}{command}{bar}", f"{JOB[1:]}|sbatch a{bar}")
    assert not batch.set_aside
    assert (batch.facts["jobs"], batch.facts["gpu_hours"]) == (2, 2 * 16 * 26)
    shifted = JOB.replace("|rl|", "|r|l|")
    batch = read(tmp_path, f"{HEADER}|SubmitLine{bar}", f"{JOB}|sbatch a{bar}", f"{shifted}|sbatch b{bar}")
    assert [one.line for one in batch.set_aside] == [3]
    assert batch.facts["gpu_hours"] == 16 * 26


def test_a_last_line_without_its_end_may_be_cut_in_its_last_field(tmp_path: Path) -> None:
    """`gres/gpu=16` cut to `gres/gpu=1` would be a sixteenth of the GPU-hours."""
    bare = HEADER.removesuffix("|NodeList")
    jobs = [f"{n}{JOB[2:].rpartition('|')[0]}" for n in (71, 72)]
    cut = read(tmp_path, bare, *jobs, end="")
    assert (cut.records, cut.facts["gpu_hours"], cut.facts["partial_last_line"]) == (1, 16 * 26, 1)
    assert [text for text in cut.warnings if text.startswith("Line 3, the last, has no line end")]
    with pytest.raises(UnreadableFileError, match="no other record"):
        read(tmp_path, bare, jobs[0], end="")
    barred = read(tmp_path, f"{bare}|", *(f"{job}|" for job in jobs), end="")
    assert (barred.records, barred.facts["gpu_hours"]) == (2, 2 * 16 * 26)


def test_local_time_needs_a_zone(tmp_path: Path) -> None:
    batch = read(tmp_path, HEADER, JOB, choices=Choices(timezone="America/New_York"))
    assert batch.tables["scheduler_jobs"]["started_at"][0] == datetime(2026, 1, 5, 13)
    assert batch.facts["time_first_epoch_s"] == 1767618000.0
    bare = read(tmp_path, HEADER, JOB, choices=Choices())
    assert bare.timezone_assumed
    assert bare.facts.get("time_first_epoch_s") is None
    assert bare.facts["span_s"] == 93600.0


@pytest.mark.parametrize(
    ("start", "end", "elapsed", "utc"),
    [
        ("01:30:00", "02:30:00", "01:00:00", ((24, 23, 30), (25, 0, 30))),
        ("01:30:00", "02:30:00", "02:00:00", ((24, 23, 30), (25, 1, 30))),
        ("02:30:00", "03:30:00", "02:00:00", ((25, 0, 30), (25, 2, 30))),
        ("02:30:00", "03:30:00", "01:00:00", ((25, 1, 30), (25, 2, 30))),
        ("04:30:00", "05:30:00", "00:30:00", ((25, 3, 30), (25, 4, 30))),
    ],
)
def test_the_hour_that_occurs_twice_is_told_by_the_elapsed_time(
    start: str, end: str, elapsed: str, utc: tuple[tuple[int, int, int], ...], tmp_path: Path
) -> None:
    line = f"5|a|u||COMPLETED|2026-10-25T{start}|2026-10-25T{end}|{elapsed}|gres/gpu=4|n1"
    job = read(tmp_path, HEADER, line, choices=Choices(timezone="Europe/Berlin")).tables["scheduler_jobs"]
    assert (job["started_at"][0], job["ended_at"][0]) == tuple(datetime(2026, 10, *at) for at in utc)


def test_running_pending_and_cancelled_jobs(tmp_path: Path) -> None:
    batch = read(
        tmp_path,
        HEADER,
        "5|a|u||RUNNING|2026-01-05T08:00:00|Unknown|00:30:00|cpu=8,gres/gpu=4|n1",
        "6_[4-9]|b|u||PENDING|Unknown|Unknown|00:00:00||None assigned",
        "7_3|c|u||CANCELLED by 1001|2026-01-05T08:00:00|2026-01-05T08:15:00|00:15:00|cpu=1,gres/gpu=0.5|n2",
    )
    jobs = batch.tables["scheduler_jobs"].set_index("job_id")
    assert jobs["state"].tolist() == ["RUNNING", "PENDING", "CANCELLED"]
    assert jobs["ended_at"].isna().tolist() == [True, True, False]
    assert jobs["gpus"].isna().tolist() == [False, True, False]
    assert batch.facts["gpu_hours"] == 2.125
    assert (batch.facts["jobs"], batch.set_aside) == (3, [])


def test_a_bar_at_the_end_of_lines_is_no_field(tmp_path: Path) -> None:
    batch = read(tmp_path, f"{HEADER}|", f"{JOB}|")
    assert (batch.facts["columns"], batch.facts["ragged_rows"], batch.facts["gpu_hours"]) == (10, 0, 416.0)


def test_a_requeued_job_counts_each_start(tmp_path: Path) -> None:
    first = JOB.replace("COMPLETED|2026-01-05T08:00:00|2026-01-06T10:00:00|1-02:00:00", "PREEMPTED")
    first = first.replace("PREEMPTED|", "PREEMPTED|2026-01-04T08:00:00|2026-01-04T09:00:00|01:00:00|")
    batch = read(tmp_path, HEADER, first, JOB, JOB)
    assert batch.tables["scheduler_jobs"]["job_id"].tolist() == ["71#1", "71"]
    assert (batch.facts["jobs"], batch.facts["gpu_hours"]) == (1, 16 * 27)
    assert batch.ignored == {"duplicate row": 1}


@pytest.mark.parametrize(
    ("line", "columns", "hours"),
    [
        ("71|rl|p|a|8|COMPLETED|0:0", {}, None),
        (JOB, {}, 416.0),
        (
            "71|rl|COMPLETED|3600|cpu=4,gres/gpu=2",
            {"1": "JobID", "3": "State", "4": "ElapsedRaw", "5": "AllocTRES"},
            2.0,
        ),
    ],
)
def test_without_a_header(line: str, columns: dict[str, str], hours: float | None, tmp_path: Path) -> None:
    choices = Choices(timezone="UTC", columns=columns)
    if not columns:
        assert SacctReader().sniff(spooled(line + "\n", tmp_path)).confidence > 0.9
    batch = read(tmp_path, line, line.replace("71|", "71.batch|"), choices=choices)
    assert batch.facts.get("gpu_hours") == hours
    assert (batch.facts["records"], batch.facts["jobs"]) == (2, 1)
    assert any("no header" in text for text in batch.warnings)


def test_fields_that_nothing_proves_are_asked_for(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFileError, match="No header says which field") as caught:
        read(tmp_path, "71|rl|COMPLETED|3600|cpu=4,gres/gpu=2")
    assert "1=JobID" in caught.value.remedy


def test_broken_lines(tmp_path: Path) -> None:
    wrapped = JOB.replace("|rl|", "|one\ntwo|").replace("71|", "72|")
    barred = JOB.replace("|rl|", "|a|b|").replace("71|", "73|")
    batch = read(
        tmp_path, "sacct: loading", HEADER, JOB, HEADER, "", wrapped, barred, "74|rl|ann", JOB[:30], end=""
    )
    assert batch.facts["header_repeated"] == 1
    assert batch.facts["partial_last_line"] == 1
    assert (batch.records, batch.stored) == (4, 3)
    assert [s.line for s in batch.set_aside] == [8]
    assert batch.facts["ragged_rows"] == 2
    assert batch.tables["scheduler_jobs"]["name"].tolist() == ["rl", "one\ntwo", "rl"]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("00:12:58", 778.0), ("2-00:00:01", 172801.0), ("12:53.010", 773.01), ("Partition_Limit", None)],
)
def test_elapsed(text: str, seconds: float | None) -> None:
    assert elapsed_seconds(text) == (pytest.approx(seconds) if seconds else None)


@given(st.integers(0, 40), st.integers(0, 23), st.integers(0, 59), st.integers(0, 59))
def test_elapsed_of_any_length(days: int, hours: int, minutes: int, seconds: int) -> None:
    text = f"{hours:02}:{minutes:02}:{seconds:02}"
    text = f"{days}-{text}" if days else text
    assert elapsed_seconds(text) == ((days * 24 + hours) * 60 + minutes) * 60 + seconds


@pytest.mark.parametrize(
    ("text", "gpus", "model"),
    [
        ("cpu=2,gres/gpu:a100=4,gres/gpu:h100=2", 6.0, "a100;h100"),
        ("gpu:a100:4", 4.0, "a100"),
        ("gpu:2", 2.0, None),
        ("cpu=1,mem=1000M,node=1", 0.0, None),
        ("gres/gpumem=80G,gres/gpu=1", 1.0, None),
        ("", None, None),
    ],
)
def test_gpus(text: str, gpus: float | None, model: str | None) -> None:
    assert gpus_of(text) == (gpus, model)


def test_nodes_and_ids() -> None:
    assert nodes_of("gpu[08-10,12],login1,r[1-2]s[1-2]") == [
        *("gpu08", "gpu09", "gpu10", "gpu12", "login1"),
        *("r1s1", "r1s2", "r2s1", "r2s2"),
    ]
    assert nodes_of("None assigned") == []
    assert all(JOB_ID.match(text) for text in ("1", "1_2", "1_[4-9%2]", "12+0", "1.batch", "1_2.0"))
    assert not JOB_ID.match("total")


def test_letters_of_a_node_list_are_a_range_too() -> None:
    """Slurm ranges are numbers; sites that name nodes by a letter write theirs the same way."""
    assert nodes_of("node-[a-b]") == ["node-a", "node-b"]
    assert nodes_of("r[A-C,X]") == ["rA", "rB", "rC", "rX"]
    assert nodes_of("n[a-9]") == ["na-9"]
