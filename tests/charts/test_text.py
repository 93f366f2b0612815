"""Numbers on cards: a unit beside each, an interval in words, nothing made of what is not known."""

import pytest

from analysis.result import Figure
from charts.text import counted, figure_quantity, interval, interval_parts, quantity, unit_tail


def test_quantity_speaks_the_readers_units() -> None:
    assert quantity(0.312, "frac") == "31.2 %"
    assert quantity(5.94, "pp") == "5.94 points"
    assert quantity(1234, "GPU-h") == "1,234 GPU-hours"
    assert quantity(1234.56, "s") == "1,230 s"
    assert quantity(41234.5, "USD") == "$41.2k"
    assert quantity(0.0123, "USD") == "$0.0123"
    assert quantity(3_000_000, "count") == "3.00M"


def test_what_is_not_all_of_it_never_reads_as_100() -> None:
    # Wilson by hand: 10,000 of 10,000 leave 10,000 / (10,000 + 1.96^2) = 0.99962
    assert quantity(10_000 / (10_000 + 1.96**2), "frac") == "99.96 %"
    assert quantity(0.9999963, "frac") == "99.9996 %" and quantity(0.9994, "frac") == "99.9 %"
    assert quantity(1.0, "frac") == "100 %" == quantity(1 - 1e-12, "frac")


@pytest.mark.parametrize(
    ("share", "n", "told"),
    [(1.0, 10_000, "> 99.9 %"), (0.0, 1000, "< 0.300 %"), (1.0, 100, "> 97.0 %"), (0.97, 10_000, "97.0 %")],
)
def test_no_number_of_draws_makes_a_chance_certain(share: float, n: int, told: str) -> None:
    chance = Figure("cadence_p_finish", "P", share, "fraction", low=0.0, high=1.0, interval="ci95", n=n)
    assert figure_quantity(chance) == told
    score = Figure("best_frac", "Best", 1.0, "frac", low=0.96, high=1.0, interval="ci95", n=100)
    assert figure_quantity(score) == "100 %", "a share that was counted is a fact"


def test_one_of_a_thing_has_no_plural() -> None:
    assert [quantity(n, "racks") for n in (1, 2)] == ["1 rack", "2 racks"]


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
    assert interval(figure(value=20.6, low=16.59, high=24.61)) == "± 4.0 points (95 % interval)"
    assert interval(figure(value=20.6, low=20.56, high=20.64)) == "± 0.0400 points (95 % interval)"
    assert interval(figure(value=20.0, low=15.99, high=24.01)) == "± 4.01 points (95 % interval)"
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
