"""Restricted wild cluster bootstrap-t of a weighted mean, inverted over the mean that is tested."""

import math

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

WEBB = np.array([-math.sqrt(1.5), -1.0, -math.sqrt(0.5), math.sqrt(0.5), 1.0, math.sqrt(1.5)])
"""Weights of mean 0 and variance 1 (Webb 2023, CJE 56:839): 6^G resamples where signs of +-1 give 2^G."""
DRAWS = 4999
POINTS = 81


def wild_curve(parts: Floats, weights: Floats, se: float, seed: int) -> tuple[Floats, Floats]:
    """Tested means, rising, and at each the share of bootstrap t below the observed t, never rising.

    `parts`: w_g m_g of every cluster, `weights`: w_g, both (clusters,); `se`: CR2 standard error, above 0. At
    a tested mean c the clusters' w_g (m_g - c) are multiplied by Webb weights and t is formed anew, with CR2
    standard errors: Cameron, Gelbach and Miller 2008 (REStat 90:414), the null imposed. The mean at which the
    share is 0.975 is the lower end of a 95 % interval; where the share does not get there, nothing bounds it.
    """
    mean = float(parts.sum())
    means = mean + se * np.sinh(np.linspace(-6.0, 6.0, POINTS))  # out to 200 standard errors
    signs = WEBB[np.random.default_rng((seed, 1)).integers(0, len(WEBB), (DRAWS, len(weights)))]
    total, slope = signs @ parts, signs @ weights
    # Residuals are (v_g parts_g - w_g total) - c (v_g w_g - w_g slope), so the variance is a square in c.
    one = signs * parts - weights * total[:, None]
    two = signs * weights - weights * slope[:, None]
    over = 1 / (1 - weights)
    square, cross, flat = (one * one) @ over, (one * two) @ over, (two * two) @ over
    below = np.empty(POINTS)
    for place, tested in enumerate(means):  # a row at a time stays in the cache
        spread = np.sqrt(np.maximum(square - tested * (2 * cross - tested * flat), 0.0))
        # t below the seen one, both times the spread: no division where a resample has none. Weights are as
        # likely with all signs turned, and t turns with them: every resample counts for both.
        seen, drawn = spread * ((mean - tested) / se), total - tested * slope
        sides = (drawn < seen, drawn <= seen, drawn > -seen, drawn >= -seen)
        below[place] = sum(np.count_nonzero(side) for side in sides) / (4 * DRAWS)
    return means, np.minimum.accumulate(below)
