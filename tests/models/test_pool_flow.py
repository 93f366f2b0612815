"""Pools over a buffer: closed forms, a simulation of single rollouts, and what must always hold."""

import heapq
from itertools import islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.pool_flow import (
    PoolWork,
    Stages,
    bound_s,
    exponential_rate,
    flow,
    noise,
    splits,
    stages,
)
from models.step_time import Phases, best_split, step_time

EVEN = np.ones(300)
SECONDS = st.floats(0.1, 1000)


def test_without_lag_a_step_is_the_sum():
    one = Stages(engine_s=60.0, late_s=15.0, judge_s=0.0, trainer_s=40.0, stop_s=5.0)
    assert bound_s(one, 0, streaming=False) == 120
    got = flow(one, 0, False, EVEN, EVEN)
    assert got.step_s == pytest.approx(120) and got.age == 0
    assert got.starved_frac == pytest.approx(75 / 120) and got.blocked_frac == pytest.approx(40 / 120)


def test_one_step_off_takes_the_longer_pool():
    one = Stages(engine_s=60.0, late_s=15.0, judge_s=0.0, trainer_s=40.0, stop_s=5.0)
    told = step_time(Phases(work_s=60, tail_s=15, logprob_s=0, train_s=40, sync_s=5), "one_step_off")
    assert bound_s(one, 1, streaming=False) == told.total_s == 80
    got = flow(one, 1, False, EVEN, EVEN)
    assert got.step_s == pytest.approx(80) and got.age == 1
    assert got.starved_frac == pytest.approx(35 / 80) and got.blocked_frac == 0


def test_streaming_hides_the_tail_once_batches_may_be_old_enough():
    one = Stages(engine_s=60.0, late_s=90.0, judge_s=0.0, trainer_s=50.0)
    # lag 1: (60 + 90 + 50) / 2 = 100; lag 3: 50 through, 60 of the engines
    assert [bound_s(one, lag, streaming=True) for lag in (0, 1, 3)] == [200, 100, 60]
    for lag in (0, 1, 3):
        assert flow(one, lag, True, EVEN, EVEN).step_s == pytest.approx(bound_s(one, lag, True), rel=1e-3)


def test_a_slow_judge_sets_the_pace():
    one = Stages(engine_s=30.0, late_s=2.0, judge_s=70.0, trainer_s=40.0)
    assert bound_s(one, 4, streaming=True) == 70
    assert flow(one, 4, True, EVEN, EVEN).step_s == pytest.approx(70)


@pytest.mark.parametrize("lag", [0, 1, 3, 8])
def test_exponential_pools_are_a_queue_with_a_full_waiting_room(lag):
    rng = np.random.default_rng(11)
    made, trained = rng.exponential(1.0, (2, 400, 400))
    one = Stages(engine_s=1.0, late_s=0.0, judge_s=0.0, trainer_s=0.8)
    got = flow(one, lag, True, made, trained)
    rate, starved, blocked = exponential_rate(1.0, 1 / 0.8, lag)
    assert 1 / np.mean(got.step_s) == pytest.approx(rate, rel=0.01)
    assert (np.mean(got.starved_frac), np.mean(got.blocked_frac)) == pytest.approx(
        (starved, blocked), abs=0.01
    )


def simulated(gpus, split, seconds, slots, batch, lag, trainer_gpu_s, steps=150, warm=30):
    """Single rollouts on `slots` a GPU; one starts when a slot is free and no rule on age forbids it.

    The oldest batch is trained once all of its rollouts are there. Returns seconds a step and the share of
    time in which the trainer waits. Knows nothing of stages, tails or recursions over batches.
    """
    engines, trainers = split
    assert engines + trainers == gpus
    free = [0.0] * (engines * slots)
    heapq.heapify(free)
    ends, waits, last = [], [], 0.0
    for update in range(steps):
        finish = 0.0
        for _ in range(batch):
            opened = ends[update - 1 - lag] if update > lag else 0.0
            start = max(heapq.heappop(free), opened)
            done = start + next(seconds)
            heapq.heappush(free, done)
            finish = max(finish, done)
        taken = max(last, finish)
        waits.append(taken - last)
        last = taken + trainer_gpu_s / trainers
        ends.append(last)
    total = ends[-1] - ends[warm - 1]
    return total / (steps - warm), sum(waits[warm:]) / total


def rollout_seconds(mean, sigma, longest, seed):
    rng = np.random.default_rng(seed)
    while True:
        for one in np.minimum(mean * np.exp(sigma * rng.standard_normal(4096) - sigma**2 / 2), longest):
            yield float(one)


@pytest.mark.parametrize("trainer_gpu_s", [400.0, 1200.0])
def test_the_balanced_split_agrees_with_a_simulation_of_single_rollouts(trainer_gpu_s):
    gpus, slots, batch, lag = 32, 8, 512, 4
    mean = float(np.mean(list(islice(rollout_seconds(20.0, 0.6, 120.0, 1), 50_000))))
    work = PoolWork(engine_gpu_s=batch * mean / slots, trainer_gpu_s=trainer_gpu_s, tail_s=100.0)
    told = splits(work, gpus, (1, 1, 1), lag, streaming=True)
    at = int(told.bound_s.argmin())
    found = {}
    for engines in range(int(told.engine_gpus[at]) - 2, int(told.engine_gpus[at]) + 3):
        seconds = rollout_seconds(20.0, 0.6, 120.0, engines)
        found[engines] = simulated(
            gpus, (engines, gpus - engines), seconds, slots, batch, lag, trainer_gpu_s, 45, 10
        )
    best = min(found, key=lambda n: found[n][0])
    assert abs(int(told.engine_gpus[at]) - best) <= 1
    simulated_s, starved = found[int(told.engine_gpus[at])]
    assert told.bound_s[at] == pytest.approx(simulated_s, rel=0.03)
    assert simulated_s <= 1.03 * found[best][0]
    got = flow(
        stages(work, told.engine_gpus[at], told.trainer_gpus[at]),
        lag,
        True,
        noise(400, 0.03, 1),
        np.ones(400),
    )
    assert got.step_s == pytest.approx(simulated_s, rel=0.03)
    assert got.starved_frac == pytest.approx(starved, abs=0.03)


@given(SECONDS, SECONDS, SECONDS, st.integers(0, 6), st.booleans(), st.floats(0, 0.8))
def test_no_flow_beats_its_bound_and_age_keeps_its_limit(engine, late, trainer, lag, streaming, cv):
    one = Stages(engine, late, 0.0, trainer)
    got = flow(one, lag, streaming, np.ones(80), np.ones(80), warm=30)
    # batches may come in turns of lag + 1, of which 50 steps need not hold whole ones
    assert got.step_s >= bound_s(one, lag, streaming) * (1 - (lag + 1) / 50)
    made, trained = noise(120, cv, 1), noise(120, cv, 2)
    by_lag = [flow(one, more, streaming, made, trained, warm=20) for more in (lag, lag + 1)]
    assert all(0 <= flown.age <= lag + n for n, flown in enumerate(by_lag))
    # until the same update end, a larger buffer is never later
    assert by_lag[1].path[-1, 0] <= by_lag[0].path[-1, 0] * (1 + 1e-9)
    assert (by_lag[0].path[:, 3] >= 1).all()


@given(SECONDS, SECONDS, SECONDS, SECONDS, st.integers(1, 6))
def test_stricter_than_the_bound_of_the_step_model_by_the_trainers_own_step_at_most(
    work, tail, train, sync, lag
):
    one = Stages(work, tail, 0.0, train, sync)
    told = step_time(Phases(work, tail, 0.0, train, sync), "async", lag).total_s
    assert told - 1e-9 <= bound_s(one, lag, streaming=True) <= told + train / (lag + 1) + 1e-9


@given(
    st.integers(3, 400), st.integers(1, 8), st.integers(1, 8), st.floats(1, 1e5), st.floats(1, 1e5),
    st.floats(0, 1e4),
)  # fmt: skip
def test_a_split_adds_up_to_the_total(total, engine_unit, trainer_unit, engine, trainer, judge):
    work = PoolWork(engine, trainer, judge)
    least = engine_unit + trainer_unit + (1 if judge > 0 else 0)
    if total < least:
        with pytest.raises(ValueError, match="no unit of each pool"):
            splits(work, total, (engine_unit, trainer_unit, 1), 1, streaming=True)
        return
    got = splits(work, total, (engine_unit, trainer_unit, 1), 1, streaming=True)
    assert (got.engine_gpus + got.trainer_gpus + got.judge_gpus == total).all()
    assert (got.trainer_gpus % trainer_unit == 0).all() and (np.diff(got.engine_gpus) > 0).all()
    assert ((got.judge_gpus > 0) == (judge > 0)).all()


def test_the_best_split_is_that_of_the_step_model_and_of_brute_force():
    work = PoolWork(5376.0, 2944.0, tail_s=0.0)
    told = splits(work, 64, (8, 8, 8), 8, streaming=True)
    old = best_split(64, 5376.0, 2944.0)
    assert told.engine_gpus[told.bound_s.argmin()] == old.engine_gpus
    judged = PoolWork(900.0, 500.0, 300.0, tail_s=3.0)
    best = min(
        (float(bound_s(stages(judged, r, 40 - r - j, j), 2, True)), r, j)
        for r in range(1, 39) for j in range(1, 40 - r)
    )  # fmt: skip
    found = splits(judged, 40, (1, 1, 1), 2, streaming=True)
    assert found.bound_s.min() == pytest.approx(best[0])


def test_refusals():
    with pytest.raises(ValueError, match="negative"):
        bound_s(Stages(1, 0, 0, 1), -1, True)
    with pytest.raises(ValueError, match="left out"):
        flow(Stages(1, 0, 0, 1), 1, True, EVEN, EVEN, warm=300)
