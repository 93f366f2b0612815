"""Fleets in closed form against draws; shared fleets against a walk through all moments."""

import math

import numpy as np
import pytest

from models.cadence import Campaign, Launches, Running, cycle_draws, p_finish
from models.failures import Saving
from models.fleet import Sharer, Steps, chances, lost_nodes, shared, smallest

HOUR = 3600.0
LAUNCHES = Launches(2940.0, 1200.0, 446.0, 24 * HOUR)


@pytest.mark.parametrize(
    ("every", "mttf_h", "below", "above"),
    [(10, 6.0, 0.1, 0.1), (10, 60.0, 0.15, 0.3), (1, 1.0, 0.05, 0.05), (10, 400.0, 0.02, 0.02)],
)
def test_closed_form_against_draws(every, mttf_h, below, above):
    rng = np.random.default_rng(2)
    normal = rng.standard_normal(10_000)
    step_s = 300 * np.exp(normal * np.where(normal < 0, below, above))
    saving = Saving(every, 60.0, 1200.0)
    running = Running(saving, mttf_h * HOUR, LAUNCHES)
    drawn = cycle_draws([Campaign(100, step_s, 2, 900.0)], running, 10_000, 5).total_s
    deadlines = np.quantile(drawn, (0.1, 0.3, 0.5, 0.7, 0.9, 0.98))
    found = chances(Steps(100, 300.0, below, above), saving, mttf_h * HOUR, LAUNCHES, 1800.0, deadlines)
    for deadline, chance in zip(deadlines, found.p_finish, strict=True):
        assert chance == pytest.approx(p_finish(drawn, deadline), abs=0.02)
    assert float(found.cycle_s) == pytest.approx(np.median(drawn), rel=0.03)


def test_a_fleet_without_doubt_makes_it_or_not():
    saving = Saving(10, 60.0, 1200.0)
    exact = 100 * 300 + 10 * 60 + 2940 + 446
    found = chances(Steps(100, 300.0), saving, math.inf, LAUNCHES, 0.0, np.array([exact - 1, exact + 1]))
    assert list(found.p_finish) == [0, 1]
    assert float(found.cycle_s) == exact


def test_nodes_keep_the_mean():
    # half lose nothing; the mean of 10 is then one of 20 for the others
    nodes = lost_nodes(10.0, 60.0, 0.5)
    assert 0.5 * nodes.mean() == pytest.approx(10, rel=0.05)


def test_a_hopeless_fleet_never_finishes():
    found = chances(Steps(100, 3600.0), Saving(100, 60.0, 1200.0), HOUR, LAUNCHES, 0.0, 1e12)
    assert (float(found.p_finish), float(found.goodput_frac)) == (0, 0)


def test_smallest_looks_past_a_dip():
    gpus, chance = [8, 16, 32, 64, 128], [0.1, 0.96, 0.94, 0.99, 0.5]
    assert smallest(gpus, chance, 0.95) == 1
    assert smallest(gpus, chance, 0.97) == 3
    assert smallest(gpus, chance, 0.995) is None
    assert smallest([64, 8], [0.99, 0.99], 0.95) == 1


def test_priorities_by_hand():
    def hours(*values):
        return np.array(values) * HOUR

    sharers = [
        Sharer("c", 72, hours(10.0), 3),
        Sharer("a", 64, hours(20.0), 1),
        Sharer("b", 64, hours(30.0), 2),
        Sharer("d", 16, hours(40.0), 4),
        Sharer("e", 500, hours(1.0), 5),
    ]
    c, a, b, d, e = shared(sharers, 144)
    # a and b fill 128 of 144; c needs 72 and waits for a, when 80 are free; d takes the 16 left at once and
    # stays 40 h: beside b and c 64 + 72 + 16 = 152 would be too many from 20 h on, so d waits for b or c
    assert (a.start_s / HOUR, b.start_s / HOUR) == ([0], [0])
    assert c.start_s / HOUR == [20]
    assert d.start_s / HOUR == [30]
    assert e.finish_s == [math.inf]


def test_sharing_against_a_walk_through_every_minute():
    rng = np.random.default_rng(6)
    for _ in range(20):
        sizes, runs = rng.integers(8, 73, 5), rng.integers(1, 30, 5)
        turns = shared(
            [
                Sharer(str(i), int(g), np.array([float(r)]), i)
                for i, (g, r) in enumerate(zip(sizes, runs, strict=True))
            ],
            100,
        )
        held = np.zeros(400)
        for turn, gpus, run in zip(turns, sizes, runs, strict=True):
            start = next(t for t in range(400) if (held[t : t + run] + gpus <= 100).all())
            held[start : start + run] += gpus
            assert turn.start_s[0] == start
