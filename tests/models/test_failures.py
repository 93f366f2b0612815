"""Failures against hand values and a simulation that walks through every event."""

import math

import numpy as np
import pytest

from models.failures import (
    JobRates,
    Saving,
    best_steps,
    daly_s,
    goodput_frac,
    lost_draws,
    saved,
    spare_wait_h,
    stretch,
    young_s,
)

RATES = JobRates(1_000, (0.01, 0.1, 0.2), 16_000, (0.2, 0.4, 0.8))


def one_job(rng, steps, step_s, saving, mttf_s):
    """Wall seconds of a job, event by event: a failure takes it back to its last save."""
    clock, done, failure = 0.0, 0, rng.exponential(mttf_s)
    while done < steps:
        some = min(saving.every_steps, steps - done)
        end = clock + some * step_s + saving.stall_s
        if end <= failure:
            clock, done = end, done + some
            continue
        clock = failure
        failure = clock + rng.exponential(mttf_s)
        while clock + saving.down_s > failure:
            clock = failure
            failure = clock + rng.exponential(mttf_s)
        clock += saving.down_s
    return clock


def test_young_and_daly_by_hand():
    # one failure in 8 h, saves of 60 s: sqrt(2 x 60 x 28,800) = sqrt(3,456,000) = 1,859.0 s
    assert young_s(60, 8 * 3600) == pytest.approx(1859.03, abs=0.01)
    # d / 2M = 0.00104167, its root 0.0322749: 1,859.03 x (1 + 0.0107583 + 0.00011574) - 60 = 1,819.25 s
    assert daly_s(60, 8 * 3600) == pytest.approx(1819.25, abs=0.02)
    # a save that takes longer than two mean lives: the mean life itself
    assert daly_s(7200, 3600) == 3600
    assert daly_s(7199, 3600) != 3600


def test_a_stretch_by_hand():
    # W = M = 1 h, R = 0: e - 1 failures, each after M - W / (e - 1) = 0.41802 h: e - 1 = 1.71828 h in all
    one = stretch(3600.0, 3600.0, 0.0)
    assert one.mean_s == pytest.approx(3600 * (math.e - 1))
    assert one.failures == pytest.approx(math.e - 1)
    assert one.lost_s == pytest.approx(3600 * 0.418023, abs=0.01)
    # with half an hour to come back, in which failures strike too: x e^0.5
    assert stretch(3600.0, 3600.0, 1800.0).mean_s == pytest.approx(3600 * math.exp(0.5) * (math.e - 1))
    assert stretch(3600.0, math.inf, 1800.0).mean_s == 3600.0
    assert stretch(3600.0 * 50, 3600.0, 0.0).mean_s == math.inf


def test_rare_failures_do_not_lose_digits():
    one = stretch(60.0, 1e12, 1200.0)
    assert one.lost_s == pytest.approx(30 + 1200)  # half of the work, and coming back
    assert one.lost_var == pytest.approx(60**2 / 12, rel=1e-3)


@pytest.mark.parametrize(("every", "mttf_h"), [(10, 4.0), (1, 1.5), (40, 8.0)])
def test_closed_form_against_every_event(every, mttf_h):
    rng = np.random.default_rng(1)
    saving = Saving(every, 60.0, 1200.0)
    walked = np.array([one_job(rng, 40, 300.0, saving, mttf_h * 3600) for _ in range(10_000)])
    whole = saved(40, 300.0, saving, mttf_h * 3600)
    assert whole.mean_s == pytest.approx(walked.mean(), rel=4 * walked.std() / walked.mean() / 100)
    assert math.sqrt(whole.var) == pytest.approx(walked.std(), rel=0.06)
    bare = 40 * 300 + 40 / every * 60
    assert whole.through == pytest.approx((walked <= bare + 1e-6).mean(), abs=0.015)
    drawn = bare + lost_draws(40, np.full(10_000, 300.0), saving, mttf_h * 3600, rng)
    for within in np.quantile(walked, (0.3, 0.5, 0.8, 0.95)):
        assert (drawn <= within).mean() == pytest.approx((walked <= within).mean(), abs=0.02)


def test_best_period_is_the_best_of_all():
    for step_s, stall_s, mttf_h in ((300, 60, 4), (20, 60, 8), (1200, 7, 2), (3600, 1, 1)):
        every = best_steps(step_s, stall_s, 1200, mttf_h * 3600, 500)
        all_of = [goodput_frac(step_s, Saving(k, stall_s, 1200), mttf_h * 3600) for k in range(1, 501)]
        assert goodput_frac(step_s, Saving(every, stall_s, 1200), mttf_h * 3600) == pytest.approx(
            max(all_of), rel=1e-4
        )
    assert best_steps(300, 60, 1200, math.inf, 77) == 77
    assert best_steps(300, 0, 1200, 3600, 77) == 1


def test_rates_have_two_regimes():
    low, usual, high = RATES.per_h(np.array([10, 1_000, 16_000, 32_000]))
    assert usual == pytest.approx([0.001, 0.1, 0.4, 0.8])
    # a huge job's 2.5e-05 a GPU-hour would give 0.00025 an hour for 10 GPUs: four times too few
    assert usual[0] == pytest.approx(4 * 10 * 0.4 / 16_000)
    assert high[0] == 0.2  # what is not hardware need not shrink with the job
    assert low[0] == pytest.approx(0.0001)
    assert RATES.per_h(4_000)[1] == pytest.approx(0.2)  # half way in the logarithm: sqrt(0.1 x 0.4)
    sizes = np.geomspace(1, 1e5, 200)
    assert (np.diff(RATES.per_h(sizes)[1]) > 0).all()
    with pytest.raises(ValueError, match="two sizes"):
        JobRates(10, (1, 1, 1), 10, (1, 1, 1))


def test_waiting_for_a_node_by_hand():
    # 0.01 failures an hour x 100 h: one node in repair on average. No spare: all failures wait 100 h
    assert spare_wait_h(0.01, 100.0, 0) == pytest.approx(100)
    # one spare: P(another one is in repair) = 1 - e^-1 = 0.632, and the first of two repairs takes 50 h
    assert spare_wait_h(0.01, 100.0, 1) == pytest.approx(50 * (1 - math.exp(-1)))
    # two spares: P(two others) = 1 - 2 e^-1 = 0.264, a third of 100 h
    assert spare_wait_h(0.01, 100.0, 2) == pytest.approx(100 / 3 * (1 - 2 * math.exp(-1)))
    assert spare_wait_h(0.0, 100.0, 1) == 0
