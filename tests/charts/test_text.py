"""Numbers on cards: a unit beside each, an interval in words, nothing made of what is not known."""

import pytest

from analysis.result import Figure
from charts.text import counted, interval, interval_parts, quantity, unit_tail


def test_quantity_speaks_the_readers_units() -> None:
    assert quantity(0.312, "frac") == "31.2 %"
    assert quantity(5.94, "pp") == "5.94 points"
    assert quantity(1234, "GPU-h") == "1,234 GPU-hours"
    assert quantity(1234.56, "s") == "1,230 s"
    assert quantity(41234.5, "USD") == "$41.2k"
    assert quantity(0.0123, "USD") == "$0.0123"
    assert quantity(3_000_000, "count") == "3.00M"


@pytest.mark.parametrize("value", [None, float("nan"), float("inf")])
def test_what_is_not_known_is_said(value: float | None) -> None:
    assert quantity(value, "USD") == "not known"


def test_the_denominator_follows_the_dollars() -> None:
    assert unit_tail("USD/pp") == "per point"
    assert unit_tail("USD/Mtok") == "per million tokens"
    assert unit_tail("usd_per_informative") == "per informative rollout"
    assert unit_tail("USD") == "" and unit_tail("s") == ""


def figure(unit: str = "pp", **more: object) -> Figure:
    return Figure(name="x", label="X", unit=unit, interval="ci95", **more)  # type: ignore[arg-type]


def test_symmetric_intervals_read_plus_minus_others_low_to_high() -> None:
    assert interval(figure(value=5.9, low=4.1, high=7.7)) == "± 1.80 points (95 % interval)"
    assert interval(figure(value=5.9, low=4.1, high=9.7)) == "4.10 – 9.70 points (95 % interval)"
    assert interval(figure("USD", value=10, low=9, high=11)) == "$9.00 – $11.0 (95 % interval)"
    assert interval(figure(value=5.9)) == ""


def test_an_interval_of_no_width_adds_nothing() -> None:
    assert interval(figure(value=5.9, low=5.9, high=5.9)) == ""


def test_what_a_figure_rests_on_is_named() -> None:
    assert counted(Figure(name="step_mean_s", label="", value=1.0, unit="s", n=1257)) == "n = 1,257 steps"
    assert counted(Figure(name="gain", label="", value=1.0, unit="pp", n=1)) == "n = 1 task"
    assert counted(Figure(name="step_time_s", label="", value=1.0, unit="x", n=9)) == "n = 9 pairs"
    assert counted(Figure(name="other", label="", value=1.0, unit="s", n=9)) == "n = 9"
    assert counted(Figure(name="gain", label="", value=1.0, unit="pp")) == ""


def test_a_count_that_no_number_reaches_in_the_worst_tenth_keeps_its_low_end() -> None:
    told = Figure("gpus_same_cycle", "GPUs", 40.0, "GPUs", low=20.0, high=None, interval="p10_p90")
    ends, kind = interval_parts(told)
    assert ends == "20 GPUs or more, no upper end" and kind.startswith("p10")
