"""What a claim about a phase leaves of a step, worked by hand and by property."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.claims import (
    LIMITS,
    Step,
    at_speed,
    check_value,
    implied_speed,
    needed_elsewhere,
    outcome,
    scaled_seconds,
)
from models.projection import PHASES
from models.step_time import Phases, step_time

SECONDS = {"rollout_work": 40.0, "rollout_tail": 20.0, "train": 30.0, "weight_sync": 2.0, "env": 8.0}


def compose(mode):
    def step_s(seconds):
        got = {name: seconds.get(name, 0.0) for name in PHASES}
        parts = Phases(
            work_s=got["rollout_work"] + got["prefill"],
            tail_s=got["rollout_tail"],
            logprob_s=got["logprob"],
            train_s=got["train"],
            sync_s=got["weight_sync"],
            other_s=got["env"] + got["other"] + got["unattributed"],
        )
        return step_time(parts, mode).total_s

    return step_s


SYNC = Step(SECONDS, compose("sync_colocated"))
APART = Step(SECONDS, compose("one_step_off"))


def test_four_times_the_training_leaves_a_step_of_775():
    fast = at_speed(SYNC, SYNC, ("train",), 4.0)
    found = outcome(SYNC, fast, ("train",))
    assert found.without_s == 100 and found.with_s == 77.5 and found.ceiling_s == 70
    assert found.left == pytest.approx(100 / 77.5) and found.exposed_frac == pytest.approx(0.3)
    assert needed_elsewhere(fast, ("train",), 25.0) == pytest.approx(70 / 17.5)


def test_training_beside_longer_rollouts_is_hidden():
    fast = at_speed(APART, APART, ("train",), 4.0)
    found = outcome(APART, fast, ("train",))
    assert APART.step_s == 60 + 2 + 8 and found.with_s == 70 and found.left == 1 and found.exposed_frac == 0
    assert needed_elsewhere(fast, ("train",), 17.5) == pytest.approx(4.0)


def test_pools_side_by_side_do_not_add_up():
    both = Step({"rollout_work": 40.0, "train": 50.0}, compose("one_step_off"))
    fast = at_speed(both, both, ("train",), 5.0)
    assert fast.step_s == 40 and needed_elsewhere(fast, ("train",), 10.0) == pytest.approx(4.0)
    assert needed_elsewhere(fast, ("train",), 45.0) == 1.0
    assert needed_elsewhere(fast, ("train",), 9.9) == math.inf


def test_what_is_unknown_stays_unknown():
    blind = Step({**SECONDS, "train": math.nan}, compose("sync_colocated"))
    assert math.isnan(needed_elsewhere(blind, ("rollout_work",), 20.0))
    known = at_speed(blind, SYNC, ("train",), 3.0)
    assert known.step_s == 80 and math.isnan(outcome(blind, known, ("train",)).left)


def test_a_claim_acts_on_the_seconds_of_its_baseline():
    target = SYNC.changed({"train": 12.0, "rollout_work": 15.0})
    fast = at_speed(target, SYNC, ("train",), 4.0)
    assert fast.seconds["train"] == 7.5 and fast.seconds["rollout_work"] == 15.0
    assert at_speed(target, SYNC, PHASES, 4.0).step_s == 25


def test_draws_stay_draws():
    draws = Step({"train": np.array([10.0, 20.0, 30.0]), "env": 5.0}, compose("sync_colocated"))
    fast = at_speed(draws, draws, ("train",), 10.0)
    assert list(fast.step_s) == [6.0, 7.0, 8.0]
    assert draws.middle().step_s == 25 and list(draws.of(("train", "env", "logprob"))) == [15, 25, 35]


@pytest.mark.parametrize(
    ("quantity", "value", "speed"),
    [
        ("throughput_ratio", 2.6, 2.6),
        ("latency_ratio", 1.58, 1.58),
        ("interactivity_ratio", 1.61, 1.61),
        ("gpu_count_ratio", 0.25, 4.0),
        ("cost_per_token_ratio", 0.1, 21.25),
        ("tokens_per_dollar_ratio", 1.62, 3.4425),
        ("tokens_per_mw_ratio", 2.0, 3.0),
    ],
)
def test_the_speed_a_claim_means(quantity, value, speed):
    assert implied_speed(quantity, value, price_ratio=8.5 / 4, power_ratio=1.5) == pytest.approx(speed)


@pytest.mark.parametrize(
    "quantity", ["cost_per_token_ratio", "tokens_per_dollar_ratio", "tokens_per_mw_ratio"]
)
def test_money_and_power_without_a_price_mean_nothing(quantity):
    assert math.isnan(implied_speed(quantity, 0.5))


@given(
    rate=st.floats(1.0, 1e6),
    price=st.floats(0.1, 50.0),
    new_price=st.floats(0.1, 50.0),
    ratio=st.floats(0.01, 2.0),
)
def test_a_cost_a_token_is_price_over_rate(rate, price, new_price, ratio):
    speed = implied_speed("cost_per_token_ratio", ratio, price_ratio=new_price / price)
    assert (new_price / (rate * speed)) / (price / rate) == pytest.approx(ratio)


@given(st.sampled_from(PHASES), st.floats(1.0, 100.0), st.sampled_from(["sync_colocated", "one_step_off"]))
def test_no_claim_beats_its_ceiling(phase, speed, mode):
    step = Step(SECONDS, compose(mode))
    found = outcome(step, at_speed(step, step, (phase,), speed), (phase,))
    assert found.ceiling_s - 1e-9 <= found.with_s <= found.without_s + 1e-9


@given(st.floats(1.01, 50.0), st.sampled_from(["sync_colocated", "one_step_off"]))
def test_the_rest_at_the_speed_of_the_claim_gives_the_whole_step(speed, mode):
    step = Step(SECONDS, compose(mode))
    fast = at_speed(step, step, ("rollout_work", "rollout_tail"), speed)
    factor = needed_elsewhere(fast, ("rollout_work", "rollout_tail"), float(step.step_s) / speed)
    rest = {n: v / factor for n, v in fast.seconds.items() if n not in ("rollout_work", "rollout_tail")}
    assert float(fast.changed(rest).step_s) <= float(step.step_s) / speed * (1 + 1e-9)
    assert factor == pytest.approx(speed, rel=1e-6)


def test_a_transfer_scales_with_its_bytes():
    assert scaled_seconds(1.3, 1e12, 550e9 * 2) == pytest.approx(1.43)
    assert scaled_seconds(1.3, 1e12, 1e12) == pytest.approx(1.3)


def test_wild_values_are_refused():
    for quantity, (low, high) in LIMITS.items():
        check_value(quantity, low)
        check_value(quantity, high)
        for value in (low / 2, high * 2, math.nan):
            with pytest.raises(ValueError, match="between"):
                check_value(quantity, value)
    with pytest.raises(ValueError, match="no phase"):
        check_value("score", 71.7)
    with pytest.raises(ValueError, match="no speed"):
        implied_speed("seconds", 1.3)
