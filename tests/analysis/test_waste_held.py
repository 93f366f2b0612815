"""GPU-hours beyond the end of a bill are named with their month, and are in no share of dollars."""

from datetime import datetime, timedelta
from pathlib import Path

import pytest

from analysis import run
from analysis.result import Result
from tests.analysis.bills import charge, hold, load
from tests.analysis.conftest import Home

LAST = datetime(2026, 3, 31)
NIGHT = datetime(2026, 3, 31, 21)


@pytest.fixture
def across(empty_home: Home, tmp_path: Path) -> Home:
    """8 GPUs of a run from 21:00 on 31 March for 6 hours; March is billed at $24 an hour, April is not."""
    hold(empty_home, "r", NIGHT, 6, hosts={"n1": 8}, started_at=NIGHT)
    load(empty_home, tmp_path, [charge("576", LAST, gpu_h=192, node="n1")])
    return empty_home


def asked(home: Home, **params: str) -> Result:
    return run("waste", home.view(), params)


def said(result: Result) -> list[str]:
    return [notice.text for notice in result.warnings if notice.code == "held_not_billed"]


def test_hours_after_the_bill_are_named_and_not_called_all_months(across: Home) -> None:
    """3 of 6 hours are billed: 24 of 48 GPU-hours, $72.00."""
    found = asked(across, run="r", period="all")
    assert found.answer.startswith("Of $72.0 billed for 24 of the 48 GPU-hours that r held in all months, ")
    assert "of these dollars" in found.answer
    (text,) = said(found)
    assert "The other 24 are in no dollar" in text and "no bill of April 2026 is loaded" in text


def test_a_month_whose_hours_are_all_billed_lacks_nothing(across: Home) -> None:
    found = asked(across, run="r", period="2026-03")
    assert found.answer.startswith("Of $72.0 paid for r's GPUs in March 2026, ") and not said(found)


def test_hours_that_no_line_covers_inside_a_billed_month(empty_home: Home, tmp_path: Path) -> None:
    hold(empty_home, "r", LAST - timedelta(days=1), 48, hosts={"n1": 8}, started_at=LAST - timedelta(days=1))
    load(empty_home, tmp_path, [charge("576", LAST, gpu_h=192, node="n1")])
    (text,) = said(asked(empty_home, run="r", period="2026-03"))
    assert "192 of the 384 GPU-hours" in text and "no line of a loaded bill covers them" in text
