"""Money and lineage, against numbers worked by hand."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models import cost
from models.cost import AttemptTime, lineage

positive = st.floats(0.01, 1e6)


def test_worked_example_of_one_stage() -> None:
    productive = cost.gpu_hours(1024, 178 * 7 * 60)
    assert productive == pytest.approx(21_265, abs=1)
    billed = productive / 0.75
    assert billed == pytest.approx(28_353, abs=1)
    assert cost.rent_usd(billed, 2.75) == pytest.approx(77_972, abs=1)
    assert cost.goodput_frac(productive, billed) == pytest.approx(0.75)


def test_a_quarter_of_the_gpus_breaks_even_at_four_times_the_price() -> None:
    assert cost.break_even_usd_per_gpu_h(2.75, 4) == 11.0
    assert cost.break_even_usd_per_gpu_h(2.75, 2.5) == pytest.approx(6.88, abs=0.005)


def test_cost_of_a_million_tokens() -> None:
    # 1562 tokens/s on a GPU of 2 USD an hour: 5.6232 M tokens an hour
    assert cost.usd_per_million_tokens(2.0, 1562) == pytest.approx(2 / 5.6232)
    assert cost.usd_per_step(2.0, 16, 97.7) == pytest.approx(16 * 97.7 / 3600 * 2)


def test_useful_price() -> None:
    assert cost.useful_usd_per_gpu_h(2.0, 0.8, 0.5) == pytest.approx(5.0)
    with pytest.raises(ValueError, match="goodput_frac"):
        cost.useful_usd_per_gpu_h(2.0, 0.8, 0.0)


@pytest.mark.parametrize("bad", [(-1, 10), (1, -10), (math.nan, 1), (1, math.inf)])
def test_impossible_allocations_are_refused(bad: tuple[float, float]) -> None:
    with pytest.raises(ValueError):
        cost.gpu_hours(*bad)


@pytest.mark.parametrize("price", [0.0, -1.0, math.nan])
def test_a_price_of_nothing_is_refused(price: float) -> None:
    with pytest.raises(ValueError, match="price"):
        cost.rent_usd(1, price)


def test_failed_and_resumed_counts_up_to_the_checkpoint() -> None:
    first = AttemptTime(1, "failed", {1: 10, 2: 20, 3: 30, 4: 40})
    second = AttemptTime(2, "completed", {3: 30, 4: 40, 5: 50}, 1, 2)
    out = lineage([second, first])
    assert out[1].kept_frac == pytest.approx(30 / 100) and out[1].through_step == 2
    assert out[2].kept_frac == 1.0


def test_a_failure_nobody_resumed_is_lost() -> None:
    out = lineage([AttemptTime(1, "failed", {1: 10}), AttemptTime(2, "completed", {1: 10})])
    assert (out[1].kept_frac, out[2].kept_frac) == (0.0, 1.0)


def test_a_chain_of_failures_that_ends_in_nothing_saves_nothing() -> None:
    steps = dict.fromkeys(range(1, 11), 1.0)
    chain = [AttemptTime(1, "failed", steps), AttemptTime(2, "cancelled", {6: 1.0}, 1, 5)]
    assert [x.kept_frac for x in lineage(chain).values()] == [0.0, 0.0]


def test_the_later_resumption_decides() -> None:
    steps = dict.fromkeys(range(1, 11), 1.0)
    out = lineage(
        [
            AttemptTime(1, "failed", steps),
            AttemptTime(2, "failed", {9: 1.0, 10: 1.0}, 1, 8),
            AttemptTime(3, "running", {5: 1.0}, 1, 4),
        ]
    )
    assert [out[i].kept_frac for i in (1, 2, 3)] == [pytest.approx(0.4), 0.0, 1.0]


def test_unknown_end_counts_whole_unless_somebody_resumed() -> None:
    assert lineage([AttemptTime(1, "unknown", {})])[1].kept_frac == 1.0
    out = lineage([AttemptTime(1, "unknown", {1: 1, 2: 1}), AttemptTime(2, "unknown", {2: 1}, 1, 1)])
    assert (out[1].kept_frac, out[2].kept_frac) == (0.5, 1.0)


def test_what_the_file_cannot_tell_is_not_guessed() -> None:
    no_times = lineage([AttemptTime(1, "failed"), AttemptTime(2, "completed", {}, 1, 7)])
    assert no_times[1].kept_frac is None and "step times" in no_times[1].why
    no_step = lineage([AttemptTime(1, "failed", {1: 1}), AttemptTime(2, "completed", {}, 1, None)])
    assert no_step[1].kept_frac is None


def test_a_resumption_that_names_no_attempt_continues_the_one_before() -> None:
    steps = dict.fromkeys(range(1, 11), 1.0)
    chain = [
        AttemptTime(2, "failed", steps),
        AttemptTime(7, "completed", {}, None, 4),
        AttemptTime(1, "failed", steps),
    ]
    assert [x.kept_frac for x in lineage(chain).values()] == [0.0, pytest.approx(0.4), 1.0]
    assert lineage([AttemptTime(1, "failed", steps, None, 3)])[1].kept_frac == 0.0


def test_a_resumption_from_the_future_is_refused() -> None:
    with pytest.raises(ValueError, match="earlier"):
        lineage([AttemptTime(1, "failed", {}, 2, 1), AttemptTime(2, "completed")])


@given(
    st.lists(
        st.sampled_from(["completed", "failed", "cancelled", "running", "unknown"]), min_size=1, max_size=6
    ),
    st.data(),
)
def test_lineage_is_a_share_of_time(statuses: list[cost.AttemptStatus], data: st.DataObject) -> None:
    attempts = []
    for number, status in enumerate(statuses, 1):
        parent = data.draw(st.one_of(st.none(), st.integers(1, number - 1))) if number > 1 else None
        step = data.draw(st.integers(1, 8)) if parent else None
        times = data.draw(st.dictionaries(st.integers(1, 8), positive, min_size=1))
        attempts.append(AttemptTime(number, status, times, parent, step))
    found = lineage(attempts)
    assert len(found) == len(statuses)
    for item in found.values():
        assert item.kept_frac is not None and 0 <= item.kept_frac <= 1
        if statuses[item.attempt - 1] in ("completed", "running"):
            assert item.kept_frac == 1.0


@given(positive, positive, st.floats(0, 1e6), st.dictionaries(st.sampled_from("abcd"), st.floats(0, 1e5)))
def test_phases_and_remainders_add_up_to_what_was_paid(
    usd: float, allocated: float, steps: float, phases: dict[str, float]
) -> None:
    split = cost.split_by_phase(usd, allocated, steps, phases)
    assert split.total == pytest.approx(
        usd, rel=1e-6, abs=1e-6 * usd * (1 + (steps + sum(phases.values())) / allocated)
    )
    for name, seconds in phases.items():
        assert split.by_phase[name] == pytest.approx(usd * seconds / allocated)


def test_overlapping_phases_show_as_a_negative_remainder() -> None:
    split = cost.split_by_phase(100.0, 100.0, 50.0, {"rollout": 40.0, "train": 30.0})
    assert (split.by_phase["rollout"], split.unattributed, split.outside_steps) == (40.0, -20.0, 50.0)


def test_an_interrupted_attempt_keeps_what_a_used_checkpoint_stands_on():
    """Ten steps of 60 s: the checkpoint of step 8 shipped, the resumption from step 4 came to nothing."""
    steps = dict.fromkeys(range(1, 11), 60.0)
    first = AttemptTime(1, "cancelled", steps, used_step=8)
    second = AttemptTime(2, "failed", steps, 1, 4)
    got = lineage([first, second])
    assert got[1].kept_frac == pytest.approx(0.8) and got[1].through_step == 8
    assert got[2].kept_frac == 0.0
    assert lineage([AttemptTime(1, "cancelled", steps)])[1].kept_frac == 0.0
