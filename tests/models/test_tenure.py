"""Rent, reserve or own: worked by hand, and what must follow from what."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.own_cost import HOURS_PER_YEAR, annuity_usd_per_year
from models.tenure import (
    Demand,
    Owned,
    Path,
    Terms,
    annuity_pv,
    best_base,
    break_even_months,
    break_even_utilisation,
    cost_of,
    lease_usd_per_gpu_h,
    present_value,
    unpaid_usd,
)

STILL = Path(months=36, wacc_frac=0.0)


def test_demand_by_hand() -> None:
    """Three days: 240, 0 and 480 GPU-hours = 10, 0 and 20 GPUs."""
    days = Demand.of_days([240, 0, 480])
    assert (days.mean_gpus, days.peak_gpus) == (pytest.approx(10), 20)
    assert days.within(10) == pytest.approx(20 / 3)
    assert days.above(10) == pytest.approx(10 / 3)
    assert Demand.flat(8, 0.5).mean_gpus == 4
    with pytest.raises(ValueError):
        Demand(((8, 0.5),))


def test_present_values_by_hand() -> None:
    """1 USD a year for two years at 10 %: 1/1.1 + 1/1.21; the payments of an annuity are worth its price."""
    assert annuity_pv(0.10, 0, 2) == pytest.approx(1 / 1.1 + 1 / 1.21)
    assert annuity_pv(0.0, 1, 3) == 2
    assert annuity_usd_per_year(1000, 0.1, 4, 0) * annuity_pv(0.1, 0, 4) == pytest.approx(1000)


def test_options_by_hand() -> None:
    """8 GPUs busy half the time for 3 years at no cost of capital: 105,120 GPU-hours of 210,240."""
    demand = Demand.flat(8, 0.5)
    rent = cost_of(demand, STILL, 0.8, 4.0)
    assert rent.total_usd == pytest.approx(105_120 * 4)
    assert rent.useful_gpu_h == pytest.approx(105_120 * 0.8)
    assert rent.usd_per_useful_gpu_h == pytest.approx(5.0)
    held = cost_of(demand, STILL, 0.8, 4.0, 8, Terms(2.2, 36))
    assert held.total_usd == pytest.approx(210_240 * 2.2)
    assert (held.utilisation_frac, held.usd_per_useful_gpu_h) == (0.5, pytest.approx(5.5))
    mixed = cost_of(demand, STILL, 0.8, 4.0, 4, Terms(2.2, 36))
    assert (mixed.committed_usd, mixed.burst_usd) == (pytest.approx(105_120 * 2.2), pytest.approx(52_560 * 4))


def test_a_falling_price_by_hand() -> None:
    """Rents halve a year: the second year's contract costs half; a 3-year one never moves."""
    path = Path(24, 0.0, 0.5)
    assert present_value(lambda m: Terms(2.0, 12).at(m, path), path) == pytest.approx(3.0)
    assert present_value(lambda m: Terms(2.0, 36).at(m, path), path) == pytest.approx(4.0)
    owned = Owned(1.0, 0.5, life_months=12)
    assert present_value(lambda m: owned.at(m, path), path) == pytest.approx(1.5 + 1.0)


def test_the_base_to_reserve() -> None:
    """Days of 10, 0 and 20 GPUs: the first ten are busy 2/3 of the time, the next ten 1/3."""
    days = Demand.of_days([240, 0, 480])
    assert best_base(days, 0.5, 1.0) == 10
    assert best_base(days, 0.3, 1.0) == 20
    assert best_base(days, 0.7, 1.0) == 0
    assert best_base(days, 0.5, 1.0, sold_by=8) == 8


def test_break_even_utilisation() -> None:
    assert break_even_utilisation(1.8, 4.0) == pytest.approx(0.45)
    assert break_even_utilisation(5.0, 4.0) > 1


def test_break_even_months_by_hand() -> None:
    """50,000 USD, 3.50 rent, 0.50 running: 3 x 730 = 2,190 a month at full use; half use saves 912.50."""
    assert break_even_months(50_000, lambda _: 3.5, 0.5, 1.0, 120) == pytest.approx(50_000 / 2190)
    assert break_even_months(50_000, lambda _: 3.5, 0.5, 0.5, 120) == pytest.approx(50_000 / 912.5)
    assert break_even_months(50_000, lambda _: 0.9, 0.5, 0.5, 120) is None
    falling = Path(120, 0.0, 0.6)
    assert break_even_months(50_000, lambda m: 3.5 * falling.price(m), 0.5, 1.0, 120) is None


def test_a_reservation_pays_a_purchase_back_at_the_price_of_its_terms() -> None:
    """50,000 USD against 3 years at 2.50: 50,000 / (2.36848 x 730) = 28.9 months, whatever prices do then.

    One year at 3.00, 20 % less a year: 12 x 2.86848 x 730 = 25,128, then 12 x 2.26848 x 730 = 19,872, and
    the rest of 5,000 at 1.78848 x 730 = 1,305.6 a month.
    """
    path = Path(48, 0.1, 0.2)
    three, one = Terms(2.5, 36), Terms(3.0, 12)
    found = break_even_months(50_000, lambda m: three.at(m, path), 0.13152, 1.0, 48)
    assert found == pytest.approx(28.92, abs=0.01)
    found = break_even_months(50_000, lambda m: one.at(m, path), 0.13152, 1.0, 48)
    assert found == pytest.approx(24 + 5000.26 / 1305.59, abs=0.001)


def test_what_the_annuity_has_not_paid() -> None:
    """100 over 4 years to a residual of 20: 40 after three; at 10 % it ends at the residual too."""
    assert unpaid_usd(100, 0.0, 4, 0.2, 3) == pytest.approx(40)
    assert unpaid_usd(100, 0.1, 4, 0.2, 0) == pytest.approx(100)
    assert unpaid_usd(100, 0.1, 4, 0.2, 4) == pytest.approx(20)
    yearly = annuity_usd_per_year(100, 0.1, 4, 0.2)
    assert unpaid_usd(100, 0.1, 4, 0.2, 1) == pytest.approx(110 - yearly)
    with pytest.raises(ValueError):
        unpaid_usd(100, 0.1, 4, 0.2, 5)


def test_a_lease_at_the_own_cost_of_capital_is_a_purchase() -> None:
    bought = annuity_usd_per_year(50_000, 0.1, 4, 0.2) / HOURS_PER_YEAR
    assert lease_usd_per_gpu_h(50_000, 0.25, 0.1, 3, 0.1, 4, 0.2) == pytest.approx(bought)
    assert lease_usd_per_gpu_h(50_000, 0.25, 0.14, 3, 0.1, 4, 0.2) > bought
    assert lease_usd_per_gpu_h(50_000, 1.0, 0.14, 3, 0.1, 4, 0.2) == pytest.approx(bought)


@pytest.mark.parametrize(
    ("demand", "goodput", "fleet"),
    [(Demand.flat(8, 0.5), 0.0, 0), (Demand.flat(8, 0.0), 1.0, 0), (Demand.flat(8, 0.5), 1.0, 8)],
)
def test_what_cannot_be_compared_is_refused(demand: Demand, goodput: float, fleet: int) -> None:
    with pytest.raises(ValueError):
        cost_of(demand, STILL, goodput, 4.0, fleet)


_rate = st.floats(0.1, 20)
_wacc = st.floats(0, 0.4)


@settings(max_examples=40)
@given(st.floats(0.2, 5), st.floats(0.01, 1), _wacc, st.integers(1, 72))
def test_at_the_break_even_owning_costs_what_renting_does(
    own: float, share: float, wacc: float, months: int
) -> None:
    """At constant prices, within the life, whatever the cost of capital and the goodput."""
    rent = own / share
    path = Path(months, wacc)
    demand = Demand.flat(8, break_even_utilisation(own, rent))
    held = cost_of(demand, path, 0.7, rent, 8, Owned(0.8 * own, 0.2 * own, 72))
    assert held.total_usd == pytest.approx(cost_of(demand, path, 0.7, rent).total_usd)


@settings(max_examples=40)
@given(_wacc, st.floats(-0.3, 0.6), st.integers(1, 40), st.integers(1, 40))
def test_horizons_add_up(wacc: float, decline: float, first: int, more: int) -> None:
    short, long = Path(first, wacc, decline), Path(first + more, wacc, decline)
    for terms in (Terms(2.0, 12), Owned(1.5, 0.4, 30)):
        whole = present_value(lambda m, t=terms: t.at(m, long), long)
        parts = present_value(lambda m, t=terms: t.at(m, long), short)
        parts += present_value(lambda m, t=terms: t.at(m, long), long, first)
        assert whole == pytest.approx(parts)


@settings(max_examples=40)
@given(_rate, st.integers(1, 72))
def test_without_decline_and_cost_of_capital_the_value_is_the_sum(rate: float, months: int) -> None:
    path = Path(months, 0.0)
    assert present_value(lambda _: rate, path) == pytest.approx(rate * months / 12)


@settings(max_examples=40)
@given(st.lists(st.floats(0, 2000), min_size=1, max_size=12), st.floats(0.05, 1.2), st.integers(1, 72))
def test_no_other_base_is_cheaper(days: list[float], committed: float, sold_by: int) -> None:
    demand = Demand.of_days(days)
    best = best_base(demand, committed, 1.0, sold_by)
    cost = best * committed + demand.above(best)
    for other in range(0, int(demand.peak_gpus) + 2 * sold_by, sold_by):
        assert cost <= other * committed + demand.above(other) + 1e-6
