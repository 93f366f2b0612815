"""Sandboxes: Erlang C against a simulation, a closed set of rollouts, and what waits cost a phase."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.sandbox_pool import (
    RolloutLoop,
    closed_pool,
    full_batch_decode_s,
    log_normal_seconds,
    phase,
    servers_for_tail,
    simulated_waits,
    variable_wait_s,
    wait_quantile,
)
from models.sandbox_time import queue


def simulated(servers, load, calls=4000, copies=2500, seed=1):
    """Waits of `copies` M/M/c queues side by side, (calls, copies), without the first calls."""
    rng = np.random.default_rng(seed)
    now, free = np.zeros(copies), np.zeros((copies, servers))
    rows, out = np.arange(copies), []
    for _ in range(calls):
        now += rng.exponential(1 / (servers * load), copies)
        first = free.argmin(axis=1)
        start = np.maximum(now, free[rows, first])
        out.append(start - now)
        free[rows, first] = start + rng.exponential(1.0, copies)
    return np.array(out[1000:])


@pytest.mark.parametrize(("servers", "load"), [(4, 0.8), pytest.param(16, 0.8, marks=pytest.mark.full)])
def test_erlang_c_waits_within_two_percent_of_a_simulated_queue(servers, load):
    seen = simulated(servers, load)
    found = queue(servers, servers * load, 1.0)
    assert found.wait_s == pytest.approx(seen.mean(), rel=0.02)
    assert found.wait_frac == pytest.approx((seen > 0).mean(), rel=0.02)
    p95 = np.quantile(seen, 0.95)
    assert wait_quantile(servers, servers * load, 1.0, 0.95) == pytest.approx(p95, rel=0.02)


def test_the_simulation_by_hand():
    # two sandboxes: the third call waits for the first to end at 5, the fourth for the second at 6
    assert simulated_waits([0, 1, 2, 3], [5, 5, 1, 1], 2).tolist() == [0, 0, 3, 3]


def test_a_tail_by_hand():
    # one server, load 0.8: P(W > t) = 0.8 e^(-0.2 t), 0.05 at ln(16) / 0.2
    assert wait_quantile(1, 0.8, 1.0, 0.95) == pytest.approx(math.log(16) / 0.2)
    assert wait_quantile(10, 0.8, 1.0, 0.95) == 0
    assert wait_quantile(4, 4.0, 1.0, 0.95) == math.inf


def test_waits_of_variable_calls_are_those_of_pollaczek_and_khinchine_at_one_server():
    rng = np.random.default_rng(3)
    arrive = np.cumsum(rng.exponential(1.0, 400_000))
    seen = simulated_waits(arrive, log_normal_seconds(0.5, 2.0, arrive.size, rng), 1).mean()
    exact = 1.0 * 0.25 * (1 + 4) / (2 * (1 - 0.5))  # rate x E[S^2] / 2 (1 - load)
    assert variable_wait_s(queue(1, 1.0, 0.5).wait_s, 2.0) == pytest.approx(exact)
    assert seen == pytest.approx(exact, rel=0.1)


@given(st.floats(0.1, 300), st.floats(0.05, 10), st.floats(0.01, 20))
def test_the_count_is_enough_and_one_fewer_is_not(rate, busy, longest):
    count = servers_for_tail(rate, busy, longest)
    assert wait_quantile(count, rate, busy, 0.95) <= longest
    assert count == int(rate * busy) + 1 or wait_quantile(count - 1, rate, busy, 0.95) > longest


def simulated_closed(servers, rollouts, between, busy, calls=5000, copies=800):
    """Waits in `copies` closed loops, (calls, copies), the first ones left out."""
    rng = np.random.default_rng(7)
    asks, free = rng.exponential(between, (copies, rollouts)), np.zeros((copies, servers))
    rows, out = np.arange(copies), []
    for _ in range(calls):
        who, first = asks.argmin(axis=1), free.argmin(axis=1)
        now = asks[rows, who]
        start = np.maximum(now, free[rows, first])
        out.append(start - now)
        free[rows, first] = start + rng.exponential(busy, copies)
        asks[rows, who] = free[rows, first] + rng.exponential(between, copies)
    return np.array(out[1000:])


@pytest.mark.parametrize(
    ("servers", "rollouts", "between"), [(6, 24, 3.0), pytest.param(10, 64, 6.0, marks=pytest.mark.full)]
)
def test_a_closed_pool_agrees_with_its_simulation(servers, rollouts, between):
    got = closed_pool(servers, rollouts, between, 1.0)
    seen = simulated_closed(servers, rollouts, between, 1.0)
    assert got.wait_s == pytest.approx(seen.mean(), rel=0.02)
    assert got.wait_frac == pytest.approx((seen > 0).mean(), rel=0.02)
    assert got.wait_p95_s == pytest.approx(np.quantile(seen, 0.95), rel=0.02)
    assert got.calls_per_s == pytest.approx(rollouts / (between + 1.0 + seen.mean()), rel=0.01)


def test_a_closed_pool_by_hand():
    # one sandbox, two rollouts, both times 1: p = 1/5, 2/5, 2/5; 4/5 calls a second, 6/5 there, wait 1/2
    got = closed_pool(1, 2, 1.0, 1.0)
    assert (got.calls_per_s, got.wait_s, got.wait_frac) == pytest.approx((0.8, 0.5, 0.5))
    none = closed_pool(3, 2, 1.0, 1.0)
    assert (none.calls_per_s, none.wait_s, none.wait_p95_s) == (1.0, 0.0, 0.0)
    always = closed_pool(2, 6, 0.0, 1.0)
    assert (always.calls_per_s, always.wait_s) == pytest.approx((2.0, 2.0))


@given(st.integers(2, 200), st.floats(0.1, 50), st.floats(0.05, 20))
def test_more_sandboxes_never_wait_longer(rollouts, between, busy):
    found = [closed_pool(n, rollouts, between, busy) for n in range(1, rollouts + 1, max(1, rollouts // 9))]
    for fewer, more in pairwise(found):
        assert more.wait_s <= fewer.wait_s + 1e-9 and more.wait_p95_s <= fewer.wait_p95_s + 1e-6
        assert more.calls_per_s >= fewer.calls_per_s - 1e-9


def test_a_crowd_of_callers_is_an_open_queue():
    # 20,000 rollouts of 2,499 s: 8 calls a second into 10 sandboxes of 1 s
    found = closed_pool(10, 20_000, 2499.0, 1.0)
    assert found.wait_s == pytest.approx(queue(10, found.calls_per_s, 1.0).wait_s, rel=0.01)


def test_the_decode_time_at_the_full_batch_by_hand():
    # 100 s, 20 outside: the batch is 80 % full; of each step half shrinks: 80 / (0.5 + 0.5 x 0.8)
    assert full_batch_decode_s(100.0, 20.0, 0.5) == pytest.approx(80 / 0.9)
    with pytest.raises(ValueError, match="do not fit"):
        full_batch_decode_s(10.0, 10.0, 0.5)


@settings(max_examples=25)
@given(
    st.floats(1, 1e4), st.floats(1, 200), st.floats(0.001, 20), st.floats(0, 60), st.floats(0.2, 1),
    st.integers(2, 60), st.booleans(),
)  # fmt: skip
def test_a_phase_by_any_number_of_sandboxes(decode, calls, busy, cold, latency, flying, per_rollout):
    loop = RolloutLoop(2.0 * flying, flying, decode, calls, busy, cold, latency)
    found = [phase(loop, n, per_rollout) for n in (max(1, flying // 4), max(1, flying // 2), flying)]
    for fewer, more in pairwise(found):
        assert more.total_s <= fewer.total_s * (1 + 1e-6) and more.wait_s <= fewer.wait_s + 1e-6
    full = found[-1]
    assert full.wait_s == pytest.approx(0, abs=1e-6) and full.lost_s >= -1e-6
    # what was measured comes back: the wall time of the loop gives its decode seconds again
    wall = full.total_s * flying / loop.rollouts
    again = full_batch_decode_s(wall, calls * busy + cold, latency)
    assert again == pytest.approx(decode, rel=1e-4)


def test_half_the_sandboxes_for_whole_rollouts_double_a_phase_that_is_all_latency():
    loop = RolloutLoop(512, 512, 1000.0, 50, 0.4, 0.0, latency_frac=1.0)
    assert phase(loop, 512, True).total_s == pytest.approx(1020)
    assert phase(loop, 256, True).total_s == pytest.approx(2040)
    assert phase(loop, 256, True).wait_s == pytest.approx(1020)
