"""Best of many checkpoints: expected maxima by table, corrections by simulated races with known truth."""

import math

import numpy as np
import pytest

from models.clustered import clustered_gain
from models.selection import best_of, expected_maximum, most_inflation


@pytest.mark.parametrize(
    ("count", "known"),
    # Two and three: 1/sqrt(pi), 3/(2 sqrt(pi)); the rest from tables of normal order statistics.
    [(1, 0.0), (2, 1 / math.sqrt(math.pi)), (3, 1.5 / math.sqrt(math.pi)), (5, 1.16296), (10, 1.53875),
     (20, 1.86748)],
)  # fmt: skip
def test_expected_maximum(count, known):
    assert expected_maximum(count) == pytest.approx(known, abs=1e-5)


def test_most_inflation_of_totals_by_hand():
    """Ten checkpoints near 70 % on 500 tasks, correlation 0.5: 2.049 pp x sqrt(0.5) x 1.539 = 2.23 pp."""
    assert most_inflation(10, 0.7, 500, 0.5) == pytest.approx(0.0223, abs=5e-5)
    assert most_inflation(1, 0.7, 500, 0.5) == pytest.approx(0, abs=1e-12)
    assert most_inflation(10, 0.7, 500, 1.0) == 0


def race(rng, count, tasks, spread):
    """Scores before and after: every candidate passes a task with the same chance plus its own true gain."""
    easy = rng.random(tasks) < 0.5
    base = np.where(easy, 0.75, 0.25)
    gains = spread * np.linspace(-1, 1, count) if count > 1 else np.zeros(1)
    before = (rng.random(tasks) < base).astype(float)
    after = (rng.random((count, tasks)) < base + gains[:, None]).astype(float)
    return gains, before, after


def run_races(count, spread, races=200, tasks=150):
    rng = np.random.default_rng(11)
    rows = []
    for seed in range(races):
        gains, before, after = race(rng, count, tasks, spread)
        got = best_of(before, after, seed=seed, draws=2000)
        truth = gains[got.chosen]
        # What all candidates share has mean 0: without it the means below settle on fewer races.
        shared = float((after.mean(axis=1) - before.mean() - gains).mean())
        inside = got.corrected.low <= truth <= got.corrected.high
        errors = (got.seen.value - truth - shared, got.corrected.value - truth - shared)
        rows.append((*errors, inside, got.verdict == "better", got.seen.low > 0))
    return np.array(rows, float).mean(axis=0)


def test_eight_equal_checkpoints_gain_nothing():
    """No candidate is better: choosing alone adds 1.42 se x sqrt(1/2); corrected, next to nothing is left."""
    naive, corrected, inside, better, naive_better = run_races(8, 0.0)
    expected = math.sqrt(2 * 0.1875 / 150) * math.sqrt(0.5) * expected_maximum(8)
    assert naive == pytest.approx(expected, abs=0.008)
    assert abs(corrected) < 0.25 * naive
    assert naive_better > 0.06
    assert better <= 0.025 + 2.6 * math.sqrt(0.025 * 0.975 / 200)
    assert inside > 0.95 - 2.6 * math.sqrt(0.05 * 0.95 / 200)


@pytest.mark.parametrize("spread", [0.05, 0.2])
def test_true_differences_are_not_corrected_away(spread):
    naive, corrected, inside, better, _ = run_races(8, spread)
    assert abs(corrected) < max(0.4 * naive, 0.006)
    assert inside > 0.95 - 2.6 * math.sqrt(0.05 * 0.95 / 200)
    if spread == 0.2:
        assert better > 0.9


def test_one_candidate_is_not_a_choice():
    rng = np.random.default_rng(12)
    _, before, after = race(rng, 1, 60, 0.0)
    got, plain = best_of(before, after), clustered_gain(after[0] - before)
    assert not got.flagged and got.inflation == 0
    assert (got.corrected.low, got.corrected.value, got.corrected.high) == pytest.approx(
        (plain.interval.low, plain.interval.value, plain.interval.high)
    )


def test_copies_of_one_checkpoint_are_one_checkpoint():
    """Candidates with the same results share all noise: nothing to choose, nothing to correct."""
    rng = np.random.default_rng(13)
    _, before, after = race(rng, 1, 60, 0.0)
    got, one = best_of(before, np.repeat(after, 6, axis=0)), best_of(before, after)
    assert got.flagged and got.inflation == pytest.approx(0, abs=1e-12)
    assert got.corrected.low == pytest.approx(one.corrected.low, rel=0.05)


def test_the_best_is_chosen_and_clusters_widen_it():
    rng = np.random.default_rng(14)
    clusters = np.repeat(np.arange(12), 10)
    pull = rng.normal(0, 0.15, 12)[clusters]
    before = np.full(120, 0.5)
    after = np.clip(0.5 + pull + np.array([[0.05], [0.2], [0.1]]) + rng.normal(0, 0.02, (3, 120)), 0, 1)
    alone, grouped = best_of(before, after), best_of(before, after, clusters)
    assert alone.chosen == grouped.chosen == 1
    assert grouped.corrected.high - grouped.corrected.low > 2 * (alone.corrected.high - alone.corrected.low)


def test_nothing_changed_keeps_its_exact_bound():
    got = best_of(np.ones(30), np.ones((3, 30)))
    assert (got.corrected.low, got.corrected.high) == pytest.approx((-2 * 0.0950 + 0, 0.0950), abs=0.1)
    assert got.verdict == "cannot tell"


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: best_of([0.5, 0.5], [0.5, 0.5]), "candidates"),
        (lambda: best_of([0.5, 0.5], [[0.5, 0.5, 0.5]]), "tasks"),
        (lambda: best_of([0.5, 0.5], [[0.5, math.nan]]), "0..1"),
        (lambda: expected_maximum(0), "at least one"),
        (lambda: most_inflation(3, 0.5, 100, -0.5), "correlation"),
    ],
)
def test_bad_input_is_named(call, said):
    with pytest.raises(ValueError, match=said):
        call()
