"""Nominal 95 % intervals hold the truth of simulated campaigns as often as they say; noise is no gain."""

from pathlib import Path

import numpy as np
import pytest

from analysis.gainstats import CAMPAIGNS, COVERAGE_FRAC
from models.clustered import clustered_gain
from tests.examples import in_turn
from tests.validation.campaigns import (
    FEW,
    MEASURES,
    SEED,
    WORLDS,
    binomial_slack,
    cannot_tell,
    heading,
    line,
    measure,
    simulate,
)

LEAST_SILENT = 0.94
"""A world without a gain: `cannot tell` in at least this share of campaigns."""


def check(world, campaigns, slack):
    """Both asks on one world; `slack` 1 allows for the error of a share that is measured on few campaigns."""
    row, silent = measure(world, campaigns, SEED), cannot_tell(world, campaigns, SEED + 1)
    print(f"{heading()}\n{line(row, silent)}")
    for name in MEASURES:
        low = world.least - slack * binomial_slack(world.least, campaigns)
        high = world.most + slack * binomial_slack(world.most, campaigns)
        assert low <= row.held[name] <= high, line(row, silent)
    assert silent >= LEAST_SILENT - slack * binomial_slack(LEAST_SILENT, campaigns), line(row, silent)
    return row


@pytest.mark.parametrize(
    "world", in_turn([WORLDS[0], WORLDS[2], FEW[0], FEW[3]], of=2), ids=lambda world: world.name
)
def test_intervals_hold_the_truth(world):
    check(world, 250, slack=1.0)


@pytest.mark.full
@pytest.mark.parametrize("world", [*WORLDS, *FEW], ids=lambda world: world.name)
def test_intervals_hold_the_truth_in_2000_campaigns(world):
    row = check(world, CAMPAIGNS, slack=0.0)
    if world.name in COVERAGE_FRAC:  # the warning beside a gain quotes it
        assert row.held["gain"] == pytest.approx(COVERAGE_FRAC[world.name], abs=0.0025)


def test_the_coverage_that_warnings_quote_is_that_of_worlds_with_few():
    assert set(COVERAGE_FRAC) <= {world.name for world in FEW}


def test_the_documented_table_has_every_world_and_keeps_what_is_asked():
    """A row a world: gain, gain per dollar, log-odds per dollar, null; and the row that warnings quote."""
    lines = (Path(__file__).parents[2] / "docs" / "gains.md").read_text().splitlines()
    rows = {c[1]: [float(v.rstrip(" %")) / 100 for v in c[2:-1]] for c in map(cells, lines) if len(c) == 7}
    for world in (*WORLDS, *FEW):
        gain, *_, silent = rows[world.name]
        assert world.least <= gain <= world.most and silent >= LEAST_SILENT, world.name
        assert COVERAGE_FRAC.get(world.name, gain) == pytest.approx(gain)
    assert set(rows) == {world.name for world in (*WORLDS, *FEW)}


def cells(line):
    found = [cell.strip() for cell in line.split("|")]
    return found if found[-2:-1] and found[-2].endswith("%") else []


@pytest.mark.parametrize("world", [WORLDS[1], WORLDS[3]], ids=lambda world: world.name)
def test_the_truth_of_a_world_is_the_mean_of_its_campaigns(world):
    before, after = simulate(world, 1500, np.random.default_rng(SEED))
    change = (after - before).mean(axis=1)
    error = 4 * change.std() / np.sqrt(len(change))
    assert change.mean() == pytest.approx(world.gain, abs=error)
    assert before.mean() == pytest.approx(world.before, abs=4 * before.mean(axis=1).std() / np.sqrt(1500))
    null_before, null_after = simulate(world.null, 1500, np.random.default_rng(SEED))
    assert (null_after - null_before).mean() == pytest.approx(0, abs=error)


def test_the_simulation_catches_intervals_that_ignore_repositories():
    """The same campaigns with tasks taken as independent: an interval that is far too narrow must be seen."""
    world = FEW[1]
    before, after = simulate(world, 300, np.random.default_rng(SEED))
    held = 0
    for one in after - before:
        interval = clustered_gain(one, draws=100).interval
        held += interval.low <= world.gain <= interval.high
    assert held / 300 < 0.6
