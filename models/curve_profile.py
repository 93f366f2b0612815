"""Profile interval of the amount at which a learning curve reaches a score.

Refits are a little too sure where the top is hardly seen. For every amount c the curve is fitted again under
the condition R(c) = target; F(c) = (RSS_c - RSS) / s^2 tells how badly that fits (Bates and Watts 1988,
section 6.1). The signed root of F against Student's t is a confidence distribution (Schweder and Hjort 2002):
its draws have the profile interval as percentiles and combine with draws of a price.
"""

import math

import numpy as np
from scipy.special import ndtri, stdtrit

from models.curve import Curve
from models.curve_fit import Family, Floats, Levels, fit_many, grid_rss, polish, sigmoid_family

FAR = 1e4
"""A target not reached within this many times the last amount seen counts as not reachable."""
_COARSE, _FINE = 72, 64
_CERTAIN = 6.0


def amount_draws(curve: Curve, target: float) -> Floats:
    """Draws (as many as the curve has) of the amount to a score; infinite: not reachable, 0: at the start.

    The top may exceed the end of the scale under the condition, which can only widen the interval.
    """
    size, origin = len(np.atleast_1d(curve.draws.top)), curve.origin
    if origin.start is not None and origin.start_se == 0 and target <= origin.start:
        return np.zeros(size)
    profile = _Profile(curve, target)
    if profile.variance <= 0:
        return np.full(size, profile.best)
    order = np.random.default_rng([origin.seed, 1]).permutation(size)
    share = (order + 0.5) / size
    wanted = ndtri(share) if math.isinf(profile.dof) else stdtrit(profile.dof, share)
    amounts, roots = profile.curve_of_roots()
    drawn: Floats = np.exp(np.interp(wanted, roots, np.log(amounts)))
    return np.where(wanted < roots[0], 0.0, np.where(wanted > roots[-1], math.inf, drawn))


class _Profile:
    """Constrained fits of one curve to one target."""

    def __init__(self, curve: Curve, target: float) -> None:
        origin = curve.origin
        points = origin.points
        self.family, self.target = sigmoid_family(points.x), target
        self.x, self.y, self.w = points.x, points.score, points.weights
        self.start = origin.start
        if origin.start is not None and origin.start_se > 0 and curve.noise_sd > 0:
            # a start that was measured is one more evaluation, at no amount, with its own weight
            self.x = np.append(1e-300, self.x)
            self.y = np.append(origin.start, self.y)
            self.w = np.append((curve.noise_sd / origin.start_se) ** 2, self.w)
            self.start = None
        self.levels = Levels(self.start, target, origin.floor, curve.ceiling)
        free = Levels(self.start, None, origin.floor, curve.ceiling)
        fits = fit_many(self.x, self.y[None], self.w, self.family, free)
        self.rss = float(fits.rss[0])
        stated = origin.noise == "stated"
        self.dof = math.inf if stated else float(len(self.x) - self.family.free - free.free)
        self.variance = curve.noise_sd**2 if stated else self.rss / self.dof
        self.best = _reached(fits.lower[0], fits.upper[0], fits.shape[0], target)
        self.span = (points.x[0] / 1e3, points.x[-1] * FAR)

    def curve_of_roots(self) -> tuple[Floats, Floats]:
        """Amounts and the signed roots of F there, both rising; finer where chance leaves the target open."""
        coarse = np.geomspace(*self.span, _COARSE)
        roots = self.roots(coarse)
        below, above = np.flatnonzero(roots < -_CERTAIN), np.flatnonzero(roots > _CERTAIN)
        low = coarse[below[-1]] if below.size else coarse[0]
        high = coarse[above[0]] if above.size else coarse[-1]
        fine = np.geomspace(low, high, _FINE)
        amounts = np.concatenate([coarse, fine])
        order = np.argsort(amounts, kind="stable")
        joined = np.concatenate([roots, self.roots(fine)])[order]
        return amounts[order], np.maximum.accumulate(joined)

    def roots(self, amounts: Floats) -> Floats:
        """Signed root of F at every amount: negative below the best one."""
        shapes = self.family.shapes[::3]
        starts = np.empty((len(amounts), 3))
        for index, amount in enumerate(amounts):
            tied = np.column_stack([shapes, np.full(len(shapes), math.log(amount))])
            found = grid_rss(_tied_rise(self.x, tied), self.y[None], self.w, self.levels)[0].argmin()
            starts[index] = tied[found]
        family = Family("through a target", _tied_rise, self.family.box, self.family.grid, 2)
        copies = np.broadcast_to(self.y, (len(amounts), len(self.y)))
        rss = polish(self.x, copies, self.w, family, self._levels(len(amounts)), starts).rss
        missed = np.sqrt(np.maximum(rss - self.rss, 0.0) / self.variance)
        roots: Floats = np.sign(amounts - self.best) * missed
        return roots

    def _levels(self, copies: int) -> Levels:
        lower = None if self.start is None else np.full(copies, self.start)
        return Levels(lower, np.full(copies, self.target), self.levels.floor, self.levels.ceiling)


def _tied_rise(x: Floats, shape: Floats) -> Floats:
    """g(x) / g(c) with shape = (ln mid, ln exponent, ln c): 1 at c, where the upper level is the target."""
    exponent, mid = np.exp(shape[:, 1:2]), shape[:, 0:1]
    log_x = -np.logaddexp(0.0, -exponent * (np.log(x) - mid))
    log_c = -np.logaddexp(0.0, -exponent * (shape[:, 2:3] - mid))
    rise: Floats = np.exp(np.minimum(log_x - log_c, 100.0))
    return rise


def _reached(lower: float, upper: float, shape: Floats, target: float) -> float:
    if target >= upper:
        return math.inf
    if target <= lower:
        return 0.0
    return math.exp(shape[0] + math.log((target - lower) / (upper - target)) * math.exp(-shape[1]))
