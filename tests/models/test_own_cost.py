"""The cost of an owned GPU-hour: edges worked by hand, published figures, and what must follow from what."""

import dataclasses

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.own_cost import (
    HOURS_PER_YEAR,
    Building,
    Capital,
    Colocation,
    OwnInputs,
    Power,
    Purchase,
    Running,
    annuity_usd_per_year,
    own_cost,
    units_for,
    useful_usd_per_gpu_h,
    with_life,
)


def test_the_annuity_by_hand() -> None:
    """1,000 at 10 % over 2 years: two payments of 576.19; with 210 left, 476.19."""
    assert annuity_usd_per_year(1000, 0.10, 2, 0) == pytest.approx(576.190476)
    assert annuity_usd_per_year(1000, 0.10, 2, 0.21) == pytest.approx(476.190476)


def test_the_edges_of_the_annuity() -> None:
    assert annuity_usd_per_year(1000, 0.0, 4, 0.2) == 200.0
    assert annuity_usd_per_year(1000, 0.10, 1, 0) == pytest.approx(1100)
    assert annuity_usd_per_year(1000, 0.10, 1, 1) == pytest.approx(100)
    assert annuity_usd_per_year(0, 0.10, 4, 0.3) == 0
    assert annuity_usd_per_year(1000, 1e-13, 4, 0.2) == pytest.approx(200.0, rel=1e-9)


@pytest.mark.parametrize(
    "args",
    [(-1, 0.1, 4, 0), (1, -0.1, 4, 0), (1, 0.1, 0, 0), (1, 0.1, 4, 1.1), (1, float("nan"), 4, 0)],
)
def test_an_impossible_annuity_is_refused(args: tuple[float, float, float, float]) -> None:
    with pytest.raises(ValueError):
        annuity_usd_per_year(*args)


@pytest.mark.parametrize(
    ("usd", "gpus", "life", "straight", "at_10_percent"),
    [
        (50_000, 1, 4, 1.43, 1.80),  # H100, all in
        (5.0e6, 72, 4, 1.98, 2.50),  # GB200 rack, all in
        (4.0e6, 72, 4, 1.59, 2.00),  # GB300 rack alone
        (7.8e6, 72, 4, 3.09, 3.90),  # Vera Rubin rack alone
        (7.8e6, 72, 6, 2.06, 2.84),
        (7.8e6, 72, 3, 4.12, 4.97),
    ],
)
def test_published_capital_costs(
    usd: float, gpus: int, life: float, straight: float, at_10_percent: float
) -> None:
    """Capital part, USD a GPU-hour at full use, without residual; 10 % is an illustration."""
    for wacc, wanted in ((0.0, straight), (0.10, at_10_percent)):
        found = own_cost(OwnInputs(Purchase(gpus, gpus, usd), Capital(wacc, life), None, None))
        assert round(found.capital, 2) == wanted


@pytest.mark.parametrize(("utility_kw", "usd"), [(1.73, 0.14), (2.65, 0.21)])
def test_published_power(utility_kw: float, usd: float) -> None:
    """H100 and MI355X at USD 0.08 a kWh, facility inside the kW."""
    assert round(Power(0.08, 1.0, utility_kw=utility_kw).usd_per_gpu_h(), 2) == usd


def test_it_and_utility_power_are_never_mixed() -> None:
    assert Power(0.10, 1.2, it_kw=1.5, load_frac=0.8).usd_per_gpu_h() == pytest.approx(0.144)
    for wrong in (
        Power(0.08, 1.2, utility_kw=1.73),
        Power(0.08, 1.2, it_kw=1.37, utility_kw=1.73),
        Power(0.08, 1.2),
        Power(0.08, 0.9, it_kw=1.37),
        Power(0.08, 1.2, it_kw=1.37, load_frac=1.1),
    ):
        with pytest.raises(ValueError):
            wrong.usd_per_gpu_h()


def test_housing_by_hand() -> None:
    """1.37 kW at 200 USD a kW-month; 2 kW of a building at 12 M USD a MW over 15 years, straight line."""
    assert Colocation(1.37, 200).usd_per_gpu_h(0.1) == pytest.approx(1.37 * 200 * 12 / 8760)
    assert Building(2.0, 12e6, 15).usd_per_gpu_h(0.0) == pytest.approx(2 * 12e6 / 15 / 1000 / 8760)


FULL = OwnInputs(
    Purchase(100, 72, 4e6, network_frac=0.1, network_usd_per_unit=5e5, storage_usd=1e6, install_usd=2e5),
    Capital(0.12, 4, 0.2),
    Colocation(2.0, 180),
    Power(0.08, 1.2, it_kw=2.0, load_frac=0.7),
    Running(5, 250_000, 0.03, 0.02, 0.005, 300),
)


def test_racks_are_whole() -> None:
    assert (FULL.purchase.units, FULL.purchase.bought_gpus) == (2, 144)
    assert FULL.purchase.capex_usd == pytest.approx(8e6 + 0.8e6 + 1e6 + 1e6 + 2e5)
    assert units_for(72, 72) == 1
    with pytest.raises(ValueError):
        units_for(0, 72)


def test_a_whole_breakdown_by_hand() -> None:
    found = own_cost(FULL)
    crf = annuity_usd_per_year(1.0, 0.12, 4, 0.2)
    hours = 144 * HOURS_PER_YEAR
    assert found.hardware == pytest.approx(8e6 * crf / hours)
    assert found.network == pytest.approx(1.8e6 * crf / hours)
    assert found.power == pytest.approx(2.0 * 0.7 * 1.2 * 0.08)
    assert found.staff == pytest.approx(5 * 250_000 / 1000 / 8760)
    assert found.support == pytest.approx(0.03 * 8e6 / hours)
    assert found.software == pytest.approx(300 / 8760)
    assert found.total == pytest.approx(found.capital + found.running)
    assert found.missing == ()


def test_what_is_not_given_is_left_out_and_named() -> None:
    bare = own_cost(dataclasses.replace(FULL, housing=None, power=None, running=Running(support_frac=0.03)))
    assert bare.missing == ("housing", "power", "staff", "spares", "insurance", "software")
    assert bare.total == pytest.approx(bare.capital + 0.03 * 8e6 / (144 * HOURS_PER_YEAR))


def test_power_inside_the_colocation_price_is_not_paid_twice() -> None:
    inside = own_cost(dataclasses.replace(FULL, housing=Colocation(2.0, 180, power_included=True)))
    assert inside.power == 0.0
    assert inside.total == pytest.approx(own_cost(FULL).total - (own_cost(FULL).power or 0))


def test_useful_hours() -> None:
    assert useful_usd_per_gpu_h(1.8, 0.6, 0.75) == pytest.approx(4.0)
    for allocated, goodput in ((0, 1), (1, 0), (1.01, 1)):
        with pytest.raises(ValueError):
            useful_usd_per_gpu_h(1.8, allocated, goodput)


@settings(max_examples=30)
@given(st.floats(1e4, 1e7), st.floats(0, 0.4), st.floats(0.5, 10), st.floats(0, 0.9))
def test_doubling_the_purchase_doubles_capital_and_nothing_else(
    usd: float, wacc: float, life: float, left: float
) -> None:
    one = dataclasses.replace(
        FULL, purchase=Purchase(8, 8, usd), capital=Capital(wacc, life, left), running=Running(5, 250_000)
    )
    two = own_cost(dataclasses.replace(one, purchase=Purchase(8, 8, 2 * usd)))
    assert two.capital == pytest.approx(2 * own_cost(one).capital)
    assert two.running == pytest.approx(own_cost(one).running)


@settings(max_examples=30)
@given(st.floats(0, 0.3), st.floats(1, 9))
def test_a_longer_life_and_a_higher_residual_cost_less(wacc: float, life: float) -> None:
    here = own_cost(with_life(dataclasses.replace(FULL, capital=Capital(wacc, life)), life))
    longer = own_cost(with_life(dataclasses.replace(FULL, capital=Capital(wacc, life)), life + 1))
    left = own_cost(dataclasses.replace(FULL, capital=Capital(wacc, life, 0.3)))
    assert longer.capital < here.capital
    assert left.capital < here.capital
