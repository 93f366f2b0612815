"""The long tail: by hand, against a plain step-by-step loop, and closed form against simulation."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from models.decode import DecodeFactors, DecodeLoad, decode_step
from models.lengths import Lengths, lengths_of
from models.machine import Rates
from models.rollout import (
    RolloutLoad,
    closed_form_occupancy,
    occupancy,
    replicas_of,
    rollout_closed_form,
    rollout_draws,
    rollout_time,
)
from tests.models.llms import DEEPSEEK_V3, DENSE, MOE, ROUND, TWICE, UNPUBLISHED


def linear(batch, context):
    return 6e-3 + batch * 4e-5 + batch * context * 2e-9


def mixture(batch, context):
    return 4e-3 + 6e-3 * (1 - (1 - 8 / 256) ** batch) + batch * context * 1e-8


def roofline(batch, context):
    return np.maximum(6e-3 + batch * context * 1e-8, batch * 5e-5) + 5e-3


def lognormal(sigma, median=2000, cap=16384):
    grid = norm.ppf((np.arange(2000) + 0.5) / 2000)
    return Lengths(np.minimum(median * np.exp(sigma * grid), cap), np.full(2000, 1 / 2000))


def step_by_step(lengths, slots, prompt):
    """The same engine, one token at a time: the oracle."""
    queue, active, seen = list(lengths), [], []
    while queue or active:
        while queue and len(active) < slots:
            active.append([queue.pop(0), 0])
        seen.append((len(active), prompt + np.mean([done for _, done in active]) + 0.5))
        for one in active:
            one[1] += 1
        active = [one for one in active if one[1] < one[0]]
    return np.array(seen, dtype=float)


def test_three_responses_in_two_slots_by_hand():
    got = occupancy([3, 1, 4], slots=2, prompt_tokens=10)
    # step 1: 3 and 1; steps 2-3: 3 and 4; steps 4-5: 4 alone
    assert got.steps.tolist() == [1, 2, 2] and got.batch.tolist() == [2, 2, 1]
    assert got.context.tolist() == [10.5, 10 + (2 + 1) / 2, 10 + 3]
    assert got.tokens == 8 and got.total_steps == 5


@given(st.lists(st.integers(1, 30), min_size=1, max_size=25), st.integers(1, 8))
def test_events_are_the_step_by_step_loop(lengths, slots):
    got, oracle = occupancy(lengths, slots, 7.0), step_by_step(lengths, slots, 7.0)
    assert got.total_steps == len(oracle) and got.tokens == sum(lengths)
    assert np.repeat(got.batch, got.steps.astype(int)).tolist() == oracle[:, 0].tolist()
    by_phase = float((got.steps * linear(got.batch, got.context)).sum())
    assert by_phase == pytest.approx(linear(oracle[:, 0], oracle[:, 1]).sum())


def test_parts_add_up_and_the_tail_is_what_the_emptying_batch_costs():
    got = rollout_time([occupancy([100] * 8, 8)], linear)
    assert got.tail_s == pytest.approx(0, abs=1e-9)  # equal lengths: no tail
    got = rollout_time([occupancy([100] * 7 + [1000], 8)], lambda b, c: 0.01 + 0 * b)
    assert got.total_s == pytest.approx(10.0)  # the longest alone decides
    assert got.work_s == pytest.approx(1700 / 8 * 0.01)


def test_the_slowest_replica_ends_the_phase():
    one, other = occupancy([10, 10], 2), occupancy([50, 10], 2)
    both = rollout_time([one, other], linear)
    assert both.total_s == rollout_time([other], linear).total_s
    dealt = replicas_of([10, 50, 10, 10], 2, 2, 0.0)
    assert [r.tokens for r in dealt] == [20, 60]


def test_draws_and_platforms_are_priced_at_once():
    busy = occupancy(lognormal(0.6).draw(64, 1), 16)
    speed = np.linspace(1, 2, 6).reshape(3, 2)
    got = np.asarray(rollout_time([busy], lambda b, c: linear(b, c) / speed, dims=2).total_s)
    assert got.shape == (3, 2)
    assert got[0, 0] == pytest.approx(rollout_time([busy], linear).total_s)
    assert got[2, 1] == pytest.approx(got[0, 0] / 2)


def test_draws_of_factors_give_the_same_seconds_as_step_by_step():
    rates, lengths = Rates.stack([ROUND, TWICE, UNPUBLISHED], "bf16"), lognormal(0.7)
    engine = DecodeLoad(1.0, 0.0, gpus=4, weight_bytes=2.0, kv_bytes=2.0, attention_tp=4)
    load = RolloutLoad(256, np.array([64.0, 300.0, 64.0]), 500.0, 2)
    eta = np.linspace(0.5, 1.0, 4)[:, None]
    for llm in (MOE, DENSE, DEEPSEEK_V3):
        factors = DecodeFactors(eta_bandwidth=eta, eta_flops=0.001 * eta[::-1], layer_s=1e-4 * eta)

        def step(batch, context, llm=llm, factors=factors):
            return decode_step(llm, replace(engine, batch=batch, context=context), rates, factors).total_s

        plain = rollout_closed_form(lengths, load, step)
        drawn = rollout_draws(llm, closed_form_occupancy(lengths, load), engine, rates, factors)
        assert np.asarray(drawn.total_s).shape == (4, 3)
        assert np.asarray(drawn.total_s) == pytest.approx(np.asarray(plain.total_s), nan_ok=True)
        assert np.asarray(drawn.work_s) == pytest.approx(np.asarray(plain.work_s), rel=0.01, nan_ok=True)
        assert np.isnan(np.asarray(drawn.total_s)).any(axis=0).tolist() == [False, False, True]


def test_an_unknown_step_time_makes_the_phase_unknown():
    busy = occupancy([5, 9], 2)
    got = rollout_time([busy], lambda b, c: b * np.array([1.0, np.nan]), dims=1)
    assert np.isnan(np.asarray(got.total_s)).tolist() == [False, True]


def test_fewer_phases_keep_steps_tokens_and_time():
    busy = occupancy(lognormal(0.8).draw(2000, 2), 256, 500.0)
    few = busy.compressed(16)
    assert len(few.steps) == 16
    assert few.total_steps == pytest.approx(busy.total_steps) and few.tokens == pytest.approx(busy.tokens)
    for step in (linear, mixture):
        assert rollout_time([few], step).total_s == pytest.approx(
            rollout_time([busy], step).total_s, rel=3e-3
        )


@pytest.mark.parametrize("sigma", [0.3, 0.6, 1.0])
@pytest.mark.parametrize(
    ("requests", "slots", "replicas"), [(64, 256, 4), (384, 256, 2), (512, 64, 4), (64, 16, 2)]
)
def test_closed_form_and_simulation_agree_within_nine_percent(sigma, requests, slots, replicas):
    lengths = lognormal(sigma)
    seeds = [replicas_of(lengths.draw(requests * replicas, s), replicas, slots, 1000.0) for s in range(10)]
    load = RolloutLoad(requests, slots, 1000.0, replicas)
    for step in (linear, mixture, roofline):
        simulated = np.mean([rollout_time(busy, step).total_s for busy in seeds])
        assert rollout_closed_form(lengths, load, step).total_s == pytest.approx(simulated, rel=0.09)


def test_one_wave_is_work_plus_longest_less_mean():
    """tokens / rate + (L_max - L_mean) x step of a small batch, where the step is linear in the batch."""
    lengths, batch = lengths_of([100, 200, 300, 1000]), 4
    got = rollout_closed_form(lengths, RolloutLoad(batch, 8), lambda b, c: 0.01 + 1e-4 * b)
    longest = lengths.expected_longest(batch)
    tail = (longest - lengths.mean) * 0.01
    work = batch * lengths.mean / batch * (0.01 + 1e-4 * batch)
    assert got.work_s == pytest.approx(work)
    assert got.tail_s == pytest.approx(tail, rel=0.03)


def test_more_gpus_shrink_the_work_and_not_the_tail():
    lengths = lognormal(0.8)
    few = rollout_closed_form(lengths, RolloutLoad(1024, 256, 500, 2), linear)
    many = rollout_closed_form(lengths, RolloutLoad(128, 256, 500, 16), linear)
    assert many.work_s < few.work_s / 2
    assert many.tail_frac > few.tail_frac
    assert many.total_s > few.total_s / 4  # eight times the engines, not a quarter of the time


def test_a_cap_bounds_the_steps():
    cut = lognormal(1.0).capped(4096)
    got = rollout_closed_form(cut, RolloutLoad(256, 256), lambda b, c: 1.0 + 0 * b)
    assert got.total_s == pytest.approx(4096, rel=1e-6)


@given(st.floats(0.1, 1.0), st.integers(1, 600), st.integers(1, 300), st.integers(1, 8))
def test_parts_are_never_negative_and_more_slots_never_slower(sigma, requests, slots, replicas):
    lengths = lognormal(sigma)
    got = rollout_closed_form(lengths, RolloutLoad(requests, slots, 0.0, replicas), lambda b, c: 1.0 + 0 * b)
    more = rollout_closed_form(
        lengths, RolloutLoad(requests, 2 * slots, 0.0, replicas), lambda b, c: 1.0 + 0 * b
    )
    assert got.work_s > 0 and got.tail_s >= -1e-6
    assert more.total_s <= got.total_s * 1.001


def test_a_model_that_does_not_fit_has_no_phase():
    got = rollout_closed_form(lognormal(0.5), RolloutLoad(64, np.array([16.0, 0.0, np.nan])), linear)
    assert np.isnan(np.asarray(got.total_s)).tolist() == [False, True, True]


def test_no_slot_and_no_response_are_refused():
    for lengths, slots in (([1, 2], 0), ([], 4), ([0, 3], 2)):
        with pytest.raises(ValueError, match="slot"):
            occupancy(lengths, slots)
    with pytest.raises(ValueError, match="dealt"):
        replicas_of([1, 2], 3, 1, 0.0)
