"""What a GPU second counts as, by hand: idle, stalled, working, unknown; and parts that add up."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.stalls import FROZEN, LOW_POWER, NO_TRAFFIC, Segments, Thresholds, inside, signals, step_spans
from models.waste import (
    IDLE,
    STALLED,
    UNKNOWN,
    WORKING,
    Measured,
    Split,
    classify,
    edges,
    fits,
    shares,
)

LIMITS = Thresholds()


def minutes(count: int, **changed: Any) -> Segments:
    """A training GPU at work, one row a minute; scalars and arrays replace its measures."""
    base: dict[str, Any] = {"known_s": 60.0, "sm": 0.8, "util": 1.0, "tensor": 0.3, "dram": 0.3, "power": 0.9}
    full = {n: np.broadcast_to(np.asarray(changed.get(n, v), float), count).copy() for n, v in base.items()}
    flags = {n: np.full(count, changed.get(n, False)) for n in ("decodes", "frozen", "advancing")}
    at = np.arange(count) * 60.0
    gpu = np.asarray(changed.get("gpu", np.zeros(count)), dtype=np.int64)
    return Segments(gpu=gpu, start_s=at, end_s=at + 60, **full, **flags)


def states(seg: Segments, limits: Thresholds = LIMITS) -> list[int]:
    return classify(seg, limits).state.tolist()


def spell(count: int, first: int, last: int, inner: float, outer: float) -> np.ndarray:
    out = np.full(count, outer)
    out[first:last] = inner
    return out


def test_full_gpu_util_without_traffic_is_a_stall() -> None:
    still = spell(60, 10, 43, 0.0, 0.3)
    found = classify(minutes(60, tensor=still, dram=still, power=spell(60, 10, 43, 0.38, 0.9)), LIMITS)
    assert np.flatnonzero(found.state == STALLED).tolist() == list(range(10, 43))
    assert set(found.signal[10:43]) == {NO_TRAFFIC}
    assert (found.state == WORKING).sum() == 27


def test_decoding_leaves_tensor_cores_idle_and_works() -> None:
    seg = minutes(60, tensor=0.0, dram=0.6, sm=0.03, power=0.3, decodes=True)
    assert set(states(seg)) == {WORKING}


def test_a_training_gpu_with_memory_traffic_alone_is_idle_and_a_decoding_one_is_not() -> None:
    seg = minutes(20, util=0.5, sm=0.02, tensor=0.0, dram=0.3)
    assert set(states(seg)) == {IDLE}
    assert set(states(replace(seg, decodes=np.ones(20, dtype=bool)))) == {WORKING}


@pytest.mark.parametrize(("quiet_min", "state"), [(4, WORKING), (5, IDLE), (9, IDLE)])
def test_idle_needs_the_minutes_that_the_setting_says(quiet_min: int, state: int) -> None:
    seg = minutes(20, util=spell(20, 3, 3 + quiet_min, 0.0, 1.0), sm=spell(20, 3, 3 + quiet_min, 0.0, 0.8))
    assert set(states(seg)[3 : 3 + quiet_min]) == {state}
    assert states(seg, replace(LIMITS, idle_s=600.0)) == [WORKING] * 20


def test_without_sm_activity_only_gpu_util_0_is_idle() -> None:
    nothing = np.nan
    base = minutes(10, sm=nothing, tensor=nothing, dram=nothing, power=nothing)
    assert set(states(replace(base, util=np.zeros(10)))) == {IDLE}
    assert set(states(replace(base, util=np.full(10, 0.02)))) == {WORKING}
    assert set(states(replace(base, util=np.full(10, nothing)))) == {UNKNOWN}


def test_low_power_is_a_stall_only_where_nothing_proves_work() -> None:
    seg = minutes(10, tensor=np.nan, dram=np.nan, power=0.2)
    assert set(states(seg)) == {STALLED} and set(signals(seg, LIMITS)) == {LOW_POWER}
    assert set(states(replace(seg, tensor=np.full(10, 0.2)))) == {WORKING}
    assert set(states(replace(seg, power=np.full(10, 0.38)))) == {WORKING}


def test_a_frozen_step_counter_shows_the_hang_that_gpu_util_hides() -> None:
    bare = minutes(10, sm=np.nan, tensor=np.nan, dram=np.nan, power=np.nan)
    assert set(states(replace(bare, frozen=np.ones(10, dtype=bool)))) == {STALLED}
    assert set(signals(replace(bare, frozen=np.ones(10, dtype=bool)), LIMITS)) == {FROZEN}
    assert set(states(bare)) == {WORKING} and classify(bare, LIMITS).unproven.all()
    moves = classify(replace(bare, advancing=np.ones(10, dtype=bool)), LIMITS)
    assert not moves.unproven.any()
    evaluation = classify(minutes(10, frozen=True), LIMITS)
    assert set(evaluation.state) == {WORKING} and evaluation.unproven.all()


def test_holes_end_a_spell_when_they_are_longer_than_it_must_last() -> None:
    known = np.full(20, 60.0)
    known[4:6] = 0.0
    seg = minutes(20, util=0.0, sm=0.0, known_s=known)
    assert states(seg) == [IDLE] * 4 + [UNKNOWN] * 2 + [IDLE] * 14
    known[4:10] = 0.0
    assert states(replace(seg, known_s=known))[:4] == [WORKING] * 4


def test_edges_are_the_minutes_that_may_mix_two_states() -> None:
    seg = minutes(20, util=spell(20, 5, 15, 0.0, 1.0), sm=spell(20, 5, 15, 0.0, 0.8))
    assert np.flatnonzero(edges(seg, classify(seg, LIMITS))).tolist() == [4, 5, 14, 15]


def test_frozen_steps_by_hand() -> None:
    ends = [100.0 * n for n in range(1, 11)]
    # median 100 s, so frozen after max(600, 5 x 100) s: the next step ends 2,000 s later
    frozen, moving = step_spans([*ends, 3000.0], [0.0] * 11, None, LIMITS)
    assert frozen == [(1100.0, 2900.0)]
    assert moving[-1] == (900.0, 1000.0)
    excused = [0.0] * 10 + [1500.0]
    assert step_spans([*ends, 3000.0], excused, None, LIMITS)[0] == []
    assert step_spans(ends, [0.0] * 10, 2500.0, LIMITS)[0] == [(1100.0, 2500.0)]
    assert step_spans(ends, [0.0] * 10, None, LIMITS)[0] == []
    assert inside(np.array([1099.0, 1100.0, 2899.0, 2900.0]), frozen).tolist() == [False, True, True, False]


def test_shares_of_an_allocation_and_their_bounds() -> None:
    split = shares(1000.0, Measured(idle=100, stalled=50, working=650, unproven=50)).times(1000.0)
    assert (split.idle, split.stalled, split.working, split.unknown) == pytest.approx((100, 50, 650, 200))
    assert (split.waste, split.waste_high, split.coverage) == pytest.approx((150, 400, 0.8))
    assert split.bounds("working") == pytest.approx((600, 850))
    assert split.bounds("stalled") == pytest.approx((50, 300))
    assert split.bounds("idle") == pytest.approx((100, 300))


def test_more_samples_than_allocation_say_nothing() -> None:
    assert fits(1000.0, Measured(working=1019)) and not fits(1000.0, Measured(working=1021))
    assert shares(1000.0, Measured(working=1010)) == Split(working=1.0)
    assert shares(1000.0, Measured(working=1100)) == Split(unknown=1.0)


measures = st.one_of(st.just(float("nan")), st.floats(0, 1))


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_every_known_second_has_exactly_one_state(data: st.DataObject) -> None:
    count = data.draw(st.integers(1, 40))
    names = ("sm", "util", "tensor", "dram", "power")
    drawn = {n: np.array(data.draw(st.lists(measures, min_size=count, max_size=count))) for n in names}
    known = np.array(data.draw(st.lists(st.floats(0, 60), min_size=count, max_size=count)))
    found = classify(minutes(count, known_s=known, **drawn), LIMITS)
    sums = [known[found.state == state].sum() for state in (IDLE, STALLED, WORKING, UNKNOWN)]
    assert sum(sums) == pytest.approx(known.sum())
    assert set(found.state) <= {UNKNOWN, IDLE, STALLED, WORKING}
    one = Measured(idle=sums[0], stalled=sums[1], working=sums[2])
    paid = data.draw(st.floats(0, 3000))
    assert shares(paid, one).times(paid).paid == pytest.approx(paid)
