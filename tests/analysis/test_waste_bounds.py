"""What samples do not prove stays open: bounds of productive work, and machines that jobs hold in part."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from analysis import month, waste
from analysis.ladder import productive_bounds
from tests.analysis.conftest import Home
from tests.analysis.test_waste import READ, hung_run, log, put_samples, view_of


@pytest.fixture
def blank() -> Iterator[Home]:
    home = Home()
    yield home
    home.con.close()


def test_what_nothing_proves_is_in_no_low_bound_of_productive_work(blank: Home, tmp_path: Path) -> None:
    hung_run(blank, logged=False)
    put_samples(blank, tmp_path, [row[:3] for row in log()], READ[:1])
    view = view_of(blank, tmp_path)
    split = waste.compute(view, waste.WasteParams())
    bar = split.tables["waterfall"].set_index("bar").loc["productive"]
    assert bar[["usd", "usd_low", "usd_high"]].to_list() == pytest.approx([96.0, 0.0, 96.0])
    assert "(0 % to 100 %: 100 % looks busy without proof of progress)" in split.answer
    assert split.answer.endswith("coverage 100 %, which is no proof of progress.")
    asked = month.compute(view, month.MonthParams())
    share = asked.figure("month_productive")
    assert (share.value, share.low, share.high) == pytest.approx((1.0, 0.0, 1.0))
    assert "(0 % to 100 %)" in asked.answer
    assert "util_alone" in {notice.code for notice in asked.warnings}


def test_unknown_time_may_be_productive(blank: Home, tmp_path: Path) -> None:
    hung_run(blank)
    put_samples(blank, tmp_path, log(gpus=8))
    view = view_of(blank, tmp_path)
    split = waste.compute(view, waste.WasteParams())
    bar = split.tables["waterfall"].set_index("bar").loc["productive"]
    assert bar[["usd", "usd_low", "usd_high"]].to_list() == pytest.approx([34.8, 34.8, 82.8])
    figure = split.figure("productive_usd")
    assert (figure.low, figure.high) == pytest.approx((34.8, 82.8))
    assert "(36 % to 86 %: 50 % is unknown)" in split.answer and "proof" not in split.answer
    assert "coverage_low" in {n.code for n in month.compute(view, month.MonthParams()).warnings}


def test_bubble_and_lost_work_are_in_no_bound_and_none_falls_below_nothing() -> None:
    # $50 worked, of which $10 waited or was lost, $45 is not proven; $7 is unknown
    assert productive_bounds(40.0, 7.0, 45.0) == (0.0, 47.0)
    assert productive_bounds(40.0, 7.0, 30.0) == (10.0, 47.0)
