"""Counters that wrap, restart and jump; facility factors; the published powers of one platform."""

import math

import numpy as np
import pytest

from models.energy import (
    WRAP_J,
    PlatformPower,
    counter_energy,
    counter_move,
    emissions_kg,
    facility_kwh,
    figure_kwh,
    kwh,
)

H100 = PlatformPower(gpu_kw=0.7, it_kw=1.37, utility_kw=1.73)


def test_a_counter_that_rises_is_counted_over_gaps():
    got = counter_energy([0, 60, 120, 3720], [1000, 43000, math.nan, 2521000])
    assert got.joules == 2520000  # 700 W for an hour and two minutes, less what was before
    assert (got.counted_s, got.unknown_s, got.resets) == (3720, 0, 0)


def test_a_restart_loses_its_interval_and_nothing_else():
    got = counter_energy([0, 60, 120, 180], [9e6, 9.03e6, 100.0, 30100.0])
    assert (got.joules, got.counted_s, got.unknown_s, got.resets) == (60000.0, 120, 60, 1)


def test_a_wrap_is_counted_through_only_when_the_counter_never_read_more():
    near = WRAP_J - 10000
    assert counter_move(near, 20000, 60, most_j=near) == (pytest.approx(30000), "wrapped")
    assert counter_move(near, 20000, 60, most_j=WRAP_J + 1)[1] == "reset"
    assert counter_move(near, 20000, 3600, most_j=near)[1] == "reset"
    assert counter_move(near - 4e6, 20000, 60, most_j=near)[1] == "reset"


def test_a_jump_beyond_any_gpu_is_not_energy():
    moved, how = counter_move(0, 1e9, 60)
    assert math.isnan(moved) and how == "jumped"


def test_a_frozen_counter_has_measured_nothing():
    assert counter_energy([0, 60, 120], [5.0, 5.0, 5.0]).counted_s == 0


def test_readings_need_rising_times():
    with pytest.raises(ValueError):
        counter_energy([0, 0], [1, 2])
    with pytest.raises(ValueError):
        counter_move(1, 2, 0)


def test_splitting_a_series_where_it_was_read_changes_nothing():
    rng = np.random.default_rng(7)
    ts = np.cumsum(rng.uniform(1, 30, 50))
    energy = np.cumsum(rng.uniform(0, 700, 50))
    whole = counter_energy(ts, energy)
    for cut in (1, 17, 49):
        a, b = counter_energy(ts[: cut + 1], energy[: cut + 1]), counter_energy(ts[cut:], energy[cut:])
        assert a.joules + b.joules == pytest.approx(whole.joules)
        assert a.counted_s + b.counted_s == pytest.approx(whole.counted_s)


def test_pue_multiplies_it_power_and_never_the_utility_figure():
    assert H100.host_kw == pytest.approx(0.67)
    assert figure_kwh(H100, 10, 1.2) == pytest.approx(16.44)
    for pue in (1.0, 1.2, 1.58):
        assert figure_kwh(H100, 10, pue, at_meter=True) == pytest.approx(17.3)
    assert figure_kwh(PlatformPower(0.7, None, 1.73), 10, 1.58) == pytest.approx(17.3)
    assert figure_kwh(PlatformPower(gpu_kw=0.7), 10, 1.2) is None
    assert PlatformPower(gpu_kw=0.7).host_kw is None


def test_factors_refuse_what_cannot_be():
    with pytest.raises(ValueError):
        facility_kwh(1, 0.99)
    with pytest.raises(ValueError):
        emissions_kg(1, -0.1)
    assert emissions_kg(kwh(7.2e6), 0.4) == pytest.approx(0.8)
