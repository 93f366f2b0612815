"""Six published sigmoid fits (ScaleRL, arXiv 2510.13786, Table 1) recovered from evaluations like theirs."""

import numpy as np
import pytest

from models.curve import Sigmoid
from models.curve_fit import Levels, fit_many, sigmoid_family
from tests.validation.published import rows

HOURS = np.linspace(1500, 16000, 27)
NOISE = 0.008
START = 0.3
"""The table does not give R0; the fit is told the one that the scores were made with."""
SEEDS = 200


def fits() -> list[tuple[str, Sigmoid]]:
    """(run, published curve) of every row with a complete sigmoid."""
    return [
        (
            row["run"],
            Sigmoid(START, float(row["ceiling_a"]), float(row["c_mid_gpu_hours"]), float(row["exponent_b"])),
        )
        for row in rows("learning")
        if row["kind"] == "sigmoid_fit"
    ]


def test_there_are_six():
    assert len({run for run, _ in fits()}) == 6


@pytest.mark.parametrize(("run", "truth"), fits())
def test_the_top_is_recovered(run, truth):
    """R0 known, 27 evaluations over 1.5k-16k GPU-hours, 0.8-point noise: A within 0.015 in 95 % of seeds."""
    noise = [np.random.default_rng(seed).normal(0, NOISE, 27) for seed in range(SEEDS)]
    seen = truth.score(HOURS) + np.stack(noise)
    found = fit_many(HOURS, seen, np.ones(27), sigmoid_family(HOURS), Levels(START, None))
    near = np.abs(found.upper - truth.top) <= 0.015
    assert near.mean() >= 0.95, f"{run}: {near.mean():.3f}"
    # and no systematic error: the mean lies within four of its standard errors and a tenth of a point
    assert abs(found.upper.mean() - truth.top) < 4 * found.upper.std() / np.sqrt(SEEDS) + 0.001
    assert np.median(np.exp(found.shape[:, 0])) == pytest.approx(truth.mid, rel=0.03)
    assert np.median(np.exp(found.shape[:, 1])) == pytest.approx(truth.exponent, rel=0.04)
