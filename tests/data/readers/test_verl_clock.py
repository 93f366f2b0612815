"""Stamps on the step lines of a verl console are its clock."""

import json
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from data.readers.base import Batch, Choices
from data.readers.registry import choose
from tests.data.verl_files import spooled

BODY = "timing_s/step:118.0 - timing_s/gen:60.0 - perf/total_num_tokens:100000 - critic/score/mean:0.5"


def log(form: str, steps: range = range(1, 11)) -> str:
    """Steps that end 200 s apart, the first at 10:03:20."""
    stamps = ((n, datetime(2026, 6, 1, 10) + timedelta(seconds=200 * n)) for n in steps)
    return "".join(f"{at.strftime(form)} step:{n} - {BODY}\n" for n, at in stamps)


def read(text: str, folder: Path, timezone: str | None = None, name: str = "run.log") -> Batch:
    source = spooled(text, folder, name)
    choices = Choices(timezone=timezone)
    return choose(source, choices).read(source, choices, folder)


@pytest.mark.parametrize(
    ("form", "zone", "start"),
    [
        ("(TaskRunner pid=12) [%Y-%m-%d %H:%M:%S,000]", "UTC", datetime(2026, 6, 1, 10, 1, 22)),
        ("(TaskRunner pid=12) [%Y-%m-%d %H:%M:%S,000]", None, None),
        ("%Y-%m-%dT%H:%M:%SZ", None, datetime(2026, 6, 1, 10, 1, 22)),
    ],
)
def test_ten_stamped_steps(form: str, zone: str | None, start: datetime | None, tmp_path: Path) -> None:
    """9 x 200 s between the stamps and the 118 s of step 1; instants only where a zone is known."""
    batch = read(log(form), tmp_path, zone)
    attempt = batch.tables["attempts"].iloc[0]
    assert (attempt["elapsed_s"], attempt["elapsed_basis"]) == (1918.0, "clock")
    assert attempt["started_at"] == start
    assert batch.tables["steps"]["elapsed_s"].tolist()[::9] == [118.0, 1918.0]
    assert not [text for text in batch.warnings if "no clock" in text]


def test_an_earlier_stamp_is_the_start(tmp_path: Path) -> None:
    batch = read("2026-06-01 09:50:00 INFO loading\n" + log("%Y-%m-%d %H:%M:%S"), tmp_path, "UTC")
    attempt = batch.tables["attempts"].iloc[0]
    # 09:50:00 to 10:33:20
    assert (attempt["elapsed_s"], attempt["started_at"]) == (2600.0, datetime(2026, 6, 1, 9, 50))


def test_the_file_logger_says_that_it_has_no_clock(tmp_path: Path) -> None:
    rows = [{"step": n, "data": {"timing_s/step": 118.0, "perf/total_num_tokens": 10}} for n in (1, 2)]
    batch = read("".join(json.dumps(row) + "\n" for row in rows), tmp_path, name="run.jsonl")
    assert batch.tables["attempts"].iloc[0]["elapsed_s"] == 236.0
    assert any("The file has no clock" in text for text in batch.warnings)
