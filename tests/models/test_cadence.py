"""A cycle by hand, draws against a simulation, and fleets that get slower with more GPUs."""

import math

import numpy as np
import pytest

from models.cadence import (
    Campaign,
    Launches,
    Running,
    StepLaw,
    cycle_draws,
    efficiency_frac,
    expected_cycle,
    grown_s,
    growth_of,
    p_finish,
    rounded,
    spans_domains,
    usable_in,
)
from models.failures import Saving
from tests.models.test_failures import one_job

HOUR = 3600.0
NONE = Launches(0.0, 0.0, 0.0, math.inf)


def test_the_weekly_235b_cycle_by_hand():
    # 200 steps of 332 s on 64 GB200 = 66,400 s = 18.44 h; at a goodput of 75 % 24.6 h, in one rack of 72
    running = Running(Saving(10, 60.0, 1200.0), math.inf, NONE, goodput=0.75)
    cycle = expected_cycle([Campaign(200, 332.0)], running)
    assert cycle.steps_s / HOUR == pytest.approx(18.4, abs=0.05)
    assert cycle.total_s / HOUR == pytest.approx(24.6, abs=0.05)
    assert rounded(64, 0.125, 4, 72, 72).racks == 1
    # SWE steps of 20 minutes: 66.7 h, at 75 % 88.9 h
    swe = expected_cycle([Campaign(200, 1200.0)], running)
    assert (swe.steps_s / HOUR, swe.total_s / HOUR) == pytest.approx((66.7, 88.9), abs=0.05)
    # the shape of 512 GPUs: 7.1 racks are 8
    assert rounded(512, 0.0, 4, 72, 72).racks == 8
    assert rounded(512, 0.125, 4, 72, 72).racks == 8


def test_parts_of_a_cycle_by_hand():
    # 2 campaigns of 20 steps of 600 s, saves of 60 s every 10 steps, 2 evaluations of 900 s, jobs of 2 h
    launches = Launches(cold_s=1800.0, warm_s=600.0, queue_s=300.0, walltime_s=2 * HOUR)
    running = Running(Saving(10, 60.0, 1200.0), math.inf, launches, maintenance_s=HOUR, period_s=20 * HOUR)
    cycle = expected_cycle([Campaign(20, 600.0, 2, 900.0)] * 2, running)
    assert cycle.steps_s == 2 * 20 * 600
    assert cycle.saves_s == 2 * 2 * 60
    assert cycle.evals_s == 2 * 2 * 900
    assert cycle.failures_s == 0
    # 13,920 s a campaign: 5,400 in the first job, 6,600 and 1,920 in two more: 2,100 + 2 x 900 s each
    assert cycle.start_up_s == 2 * (2100 + 2 * 900)
    busy = 2 * (13_920 + 3_900)
    assert cycle.maintenance_s == pytest.approx(HOUR * busy / (20 * HOUR))
    assert cycle.total_s == pytest.approx(busy + HOUR * busy / (20 * HOUR))
    assert cycle.goodput_frac == pytest.approx(24_000 / cycle.total_s)


def test_room_is_the_inverse_of_start_up():
    launches = Launches(cold_s=1800.0, warm_s=600.0, queue_s=300.0, walltime_s=2 * HOUR)
    work = np.linspace(60, 90_000, 997)
    assert launches.room_s(work + launches.start_up_s(work)) == pytest.approx(work)
    assert launches.room_s(1000.0) < 0
    assert math.isnan(Launches(7200.0, 600.0, 0.0, 7200.0).start_up_s(10.0))


def test_more_gpus_are_slower_beyond_the_fastest():
    law = StepLaw(64, 60.0, 272.0, 17.0)
    assert law.step_s(64) == 332
    assert law.fastest_gpus == pytest.approx(64 * 4)
    assert law.step_s(128) == pytest.approx(60 + 136 + 17)
    assert law.step_s(256) < law.step_s(252) and law.step_s(256) < law.step_s(260) < law.step_s(1024)
    assert StepLaw(64, 60.0, 272.0).fastest_gpus == math.inf


def test_growth_from_two_sizes():
    # published: 332 s on 64 GB200 in sync, 268 s on 128 one step off: 0.62 of even scaling
    assert efficiency_frac(64, 332, 128, 268) == pytest.approx(0.619, abs=0.001)
    # 60 s serial: 60 + 136 = 196 s would be expected, 268 were measured
    assert growth_of(196, 268, 2) == 72
    assert StepLaw(64, 60.0, 272.0, 72.0).step_s(128) == 268
    with pytest.raises(ValueError, match="more GPUs"):
        growth_of(196, 268, 1)


def test_racks_hold_whole_groups_and_spares():
    assert usable_in(72, 64) == 64 and usable_in(72, 8) == 72 and usable_in(72, 0) == 72
    assert rounded(128, 0.0, 4, 72, 72, 64).racks == 2
    assert rounded(144, 0.0, 4, 72, 72, 64).racks == 3  # 144 would fill two racks, but not in groups of 64
    assert rounded(144, 0.0, 4, 72, 72).racks == 2
    node = rounded(64, 0.125, 8, None, 8)
    assert node.fleet_gpus == 72 and node.spare_gpus == 8 and math.isnan(node.racks)
    assert spans_domains(64, 8) and not spans_domains(64, 72) and not spans_domains(0, 8)


def test_growing_lengths_are_followed():
    # 100 s that grow in a straight line to 300 s are 200 s on average; a square law is exact too
    assert grown_s(100, 200, 300) == pytest.approx(200)
    at = np.linspace(1, 3, 100_001)
    assert grown_s(1, 4, 9) == pytest.approx((at**2).mean(), rel=1e-4)


def test_p_finish_against_every_event():
    """Steps of uncertain speed, failures, saves, a chain of jobs: draws against a walk through the events."""
    rng = np.random.default_rng(3)
    saving, mttf = Saving(10, 60.0, 1200.0), 6 * HOUR
    launches = Launches(2940.0, 1200.0, 446.0, 24 * HOUR)
    walked = []
    for factor in np.exp(0.1 * rng.standard_normal(10_000)):
        busy = one_job(rng, 100, 300 * factor, saving, mttf)
        clock, left, start = 0.0, busy, 2940.0
        while True:  # one job of the chain after the other
            clock += 446.0 + start
            ran = min(left, 24 * HOUR - start)
            clock, left, start = clock + ran, left - ran, 1200.0
            if left <= 0:
                break
        walked.append(clock)
    step_s = 300 * np.exp(0.1 * np.random.default_rng(4).standard_normal(10_000))
    drawn = cycle_draws([Campaign(100, step_s)], Running(saving, mttf, launches), 10_000, 5).total_s
    for deadline in np.quantile(walked, (0.1, 0.4, 0.7, 0.95)):
        assert p_finish(drawn, deadline) == pytest.approx(np.mean(walked <= deadline), abs=0.02)


def test_maintenance_meets_a_cycle_as_often_as_it_runs():
    running = Running(Saving(10, 0.0, 0.0), math.inf, NONE, maintenance_s=HOUR, period_s=10 * HOUR)
    drawn = cycle_draws([Campaign(10, 1800.0)], running, 10_000, 1)
    assert drawn.maintenance_s.mean() == pytest.approx(0.5 * HOUR, rel=0.05)
    assert set(np.unique(drawn.total_s)) == {5 * HOUR, 6 * HOUR}


def test_unknown_steps_stay_unknown():
    running = Running(Saving(10, 60.0, 1200.0), 8 * HOUR, NONE)
    drawn = cycle_draws([Campaign(10, np.full(100, np.nan))], running, 100, 1)
    assert math.isnan(p_finish(drawn.total_s, 1e9))
    with pytest.raises(ValueError, match="campaign"):
        cycle_draws([], running, 100, 1)
