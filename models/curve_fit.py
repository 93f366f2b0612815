"""Batched least squares of curves y = lower + (upper - lower) g(x): many noisy copies of one curve at once.

The rise g runs from 0 to 1 and depends on one or two shape parameters; the two levels are linear and solved
exactly inside their bounds (variable projection, Golub and Pereyra 1973). The copies share the amounts x, so
one grid over the shapes starts them all; Levenberg-Marquardt steps (Marquardt 1963) finish each of them.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import expit

Floats = npt.NDArray[np.float64]
_STEPS = 60
_DIFFERENCE = 1e-5
_CHUNK = 1000


@dataclass(frozen=True)
class Points:
    """Scores (n,) after the amounts x (n,): tokens, steps or GPU-hours; `se` (n,) of each score, if known.

    Sorted by x on entry. Raises ValueError on unequal shapes, amounts that are not above 0, unknown scores,
    or standard errors that are not above 0.
    """

    x: Floats
    score: Floats
    se: Floats | None = None

    def __post_init__(self) -> None:
        x, score = (np.asarray(v, dtype=np.float64) for v in (self.x, self.score))
        if x.ndim != 1 or x.shape != score.shape:
            raise ValueError(f"amounts and scores need one shape (n,): {x.shape}, {score.shape}")
        if not (np.isfinite(x).all() and (x > 0).all()):
            raise ValueError("amounts must be above 0: the score at 0 is the start of the curve")
        if not np.isfinite(score).all():
            raise ValueError("scores must be known numbers")
        order = np.argsort(x, kind="stable")
        object.__setattr__(self, "x", x[order])
        object.__setattr__(self, "score", score[order])
        if self.se is not None:
            se = np.asarray(self.se, dtype=np.float64)
            if se.shape != x.shape or not (np.isfinite(se).all() and (se > 0).all()):
                raise ValueError("standard errors must be above 0, one a score")
            object.__setattr__(self, "se", se[order])

    def part(self, first: int, last: int | None = None) -> "Points":
        """The points first..last (exclusive) in the order of x."""
        rows = slice(first, last)
        return Points(self.x[rows], self.score[rows], None if self.se is None else self.se[rows])

    @property
    def weights(self) -> Floats:
        """1 / variance up to a common factor: of the stated standard errors, else equal."""
        if self.se is None:
            return np.ones(len(self.x))
        weights: Floats = np.exp(2 * (np.log(self.se).mean() - np.log(self.se)))
        return weights


@dataclass(frozen=True)
class Family:
    """A rise g(x, shape) with the box (free, 2) of its free shape parameters and their grid sizes."""

    name: str
    rise: Callable[[Floats, Floats], Floats]
    box: Floats
    grid: tuple[int, ...]
    free: int

    @property
    def shapes(self) -> Floats:
        """All grid points of the shape parameters, (points, k)."""
        axes = [np.linspace(low, high, count) for (low, high), count in zip(self.box, self.grid, strict=True)]
        return np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1)


@dataclass(frozen=True)
class Levels:
    """Which level is known: `lower` and `upper` are a number, an array (copies,) or None where it is fitted.

    Fitted levels stay in floor <= lower <= upper <= ceiling.
    """

    lower: float | Floats | None
    upper: float | Floats | None
    floor: float = 0.0
    ceiling: float = 1.0

    @property
    def free(self) -> int:
        """Number of fitted levels."""
        return (self.lower is None) + (self.upper is None)


@dataclass(frozen=True)
class Fits:
    """Fitted copies: levels (copies,), shapes (copies, k), weighted sum of squares (copies,)."""

    lower: Floats
    upper: Floats
    shape: Floats
    rss: Floats


def sigmoid_rise(x: Floats, shape: Floats) -> Floats:
    """1 / (1 + (mid/x)^exponent) with shape = (ln mid, ln exponent); x (n,), shape (m, 2) -> (m, n)."""
    rise: Floats = expit(np.exp(shape[:, 1:2]) * (np.log(x) - shape[:, 0:1]))
    return rise


def sigmoid_family(x: Floats) -> Family:
    """The sigmoid in log amount of Khatri et al. 2025 (arXiv 2510.13786), with room around the amounts seen.

    Midpoint from a hundredth of the least to a hundred times the largest amount; exponent 0.1 to 12.
    """
    box = np.array([[math.log(x.min() / 100), math.log(x.max() * 100)], [math.log(0.1), math.log(12.0)]])
    return Family("sigmoid", sigmoid_rise, box, (48, 24), 2)


def power_family(x: Floats) -> Family:
    """Distance to the top as a power law: 1 - (x / x_first)^-k, k from 0.001 to 10 (arXiv 2509.25300)."""
    first = math.log(x.min())

    def rise(x: Floats, shape: Floats) -> Floats:
        g: Floats = -np.expm1(-np.exp(shape) * (np.log(x) - first))
        return g

    return Family("power law", rise, np.array([[math.log(1e-3), math.log(10.0)]]), (120,), 1)


def fit_many(x: Floats, scores: Floats, weights: Floats, family: Family, levels: Levels) -> Fits:
    """Weighted least squares of every row of `scores` (copies, n) at the amounts x (n,)."""
    found = []
    for begin in range(0, len(scores), _CHUNK):
        rows = slice(begin, begin + _CHUNK)
        found.append(_fit_chunk(x, scores[rows], weights, family, _rows_of(levels, rows, len(scores))))
    return Fits(
        np.concatenate([f.lower for f in found]),
        np.concatenate([f.upper for f in found]),
        np.concatenate([f.shape for f in found]),
        np.concatenate([f.rss for f in found]),
    )


def _rows_of(levels: Levels, rows: slice | npt.NDArray[np.intp], copies: int) -> Levels:
    def cut(level: float | Floats | None) -> Floats | None:
        return None if level is None else np.broadcast_to(np.asarray(level, np.float64), (copies,))[rows]

    return Levels(cut(levels.lower), cut(levels.upper), levels.floor, levels.ceiling)


def _fit_chunk(x: Floats, y: Floats, w: Floats, family: Family, levels: Levels) -> Fits:
    return polish(x, y, w, family, levels, _start(x, y, w, family, levels))


def polish(x: Floats, y: Floats, w: Floats, family: Family, levels: Levels, start: Floats) -> Fits:
    """Levenberg-Marquardt from the shapes `start` (copies, k); columns beyond `family.free` do not move."""
    shape = start.copy()
    lower, upper, rss = _solve(family.rise(x, shape), y, w, levels)
    damping, live = np.full(len(y), 1e-3), np.arange(len(y))
    for _ in range(_STEPS):
        mine = _rows_of(levels, live, len(y))
        trial = _marquardt(x, y[live], w, family, mine, shape[live], damping[live])
        new_lower, new_upper, new_rss = _solve(family.rise(x, trial), y[live], w, mine)
        better = new_rss < rss[live]
        settled = np.where(better, rss[live] - new_rss < 1e-9 * rss[live] + 1e-300, damping[live] > 1e8)
        kept = live[better]
        shape[kept], rss[kept] = trial[better], new_rss[better]
        lower[kept], upper[kept] = new_lower[better], new_upper[better]
        damping[live] = np.where(better, damping[live] / 5, damping[live] * 8)
        live = live[~settled]
        if not live.size:
            break
    return Fits(lower, upper, shape, rss)


def _start(x: Floats, y: Floats, w: Floats, family: Family, levels: Levels) -> Floats:
    """The best grid shape of every copy."""
    shapes = family.shapes
    rises = family.rise(x, shapes)
    best, best_rss = np.zeros(len(y), dtype=np.intp), np.full(len(y), np.inf)
    for index in range(0, len(rises), 64):
        block = rises[index : index + 64]
        rss = grid_rss(block, y, w, levels)
        found = rss.argmin(axis=1)
        value = rss[np.arange(len(y)), found]
        better = value < best_rss
        best[better], best_rss[better] = index + found[better], value[better]
    return shapes[best]


def grid_rss(rises: Floats, y: Floats, w: Floats, levels: Levels) -> Floats:
    """Sums of squares (copies, rises) of every copy (copies, n) against every rise (rises, n)."""
    return _solve_sums(_sums(rises, y, w), levels)[2]


def _marquardt(
    x: Floats, y: Floats, w: Floats, family: Family, levels: Levels, shape: Floats, damping: Floats
) -> Floats:
    """One damped Gauss-Newton step on the shape, the levels following it."""

    def curve(shape: Floats) -> Floats:
        rise = family.rise(x, shape)
        lower, upper, _ = _solve(rise, y, w, levels)
        values: Floats = lower[:, None] + (upper - lower)[:, None] * rise
        return values

    columns, moving = [], family.free
    for k in range(moving):
        nudge = np.zeros(shape.shape[1])
        nudge[k] = _DIFFERENCE
        columns.append((curve(shape + nudge) - curve(shape - nudge)) / (2 * _DIFFERENCE))
    jacobian = np.stack(columns, axis=2)
    off = (y - curve(shape)) * w
    normal = np.einsum("bnk,n,bnl->bkl", jacobian, w, jacobian)
    pull = np.einsum("bnk,bn->bk", jacobian, off)
    diagonal = np.einsum("bkk->bk", normal)
    extra = damping[:, None] * diagonal + 1e-14 * (1 + diagonal.max(axis=1, keepdims=True))
    step = np.linalg.solve(normal + extra[:, :, None] * np.eye(moving), pull[:, :, None])[:, :, 0]
    moved = shape.copy()
    inside = np.clip(step, -1.0, 1.0) + shape[:, :moving]
    moved[:, :moving] = np.clip(inside, family.box[:, 0], family.box[:, 1])
    return moved


@dataclass(frozen=True)
class _Sums:
    """Weighted sums of 1, g, g^2, y, g y and y^2, of any common shape."""

    one: Floats
    g: Floats
    gg: Floats
    y: Floats
    gy: Floats
    yy: Floats


def _sums(rises: Floats, y: Floats, w: Floats) -> _Sums:
    """Every copy (b) against every rise (m): sums of shape (b, m)."""
    return _Sums(
        np.asarray(w.sum()), (rises @ w)[None], ((rises * rises) @ w)[None],
        (y @ w)[:, None], (y * w) @ rises.T, ((y * y) @ w)[:, None],
    )  # fmt: skip


def _solve(rise: Floats, y: Floats, w: Floats, levels: Levels) -> tuple[Floats, Floats, Floats]:
    """Levels and sum of squares of copy i against its own rise i, all (b,)."""
    sums = _Sums(
        np.asarray(w.sum()), rise @ w, (rise * rise) @ w,
        y @ w, np.einsum("bn,bn,n->b", rise, y, w), (y * y) @ w,
    )  # fmt: skip
    lower, upper, _ = _solve_sums(sums, levels)
    off = y - lower[:, None] - (upper - lower)[:, None] * rise
    rss: Floats = (off * off) @ w
    return lower.copy(), upper.copy(), rss


def _solve_sums(s: _Sums, levels: Levels) -> tuple[Floats, Floats, Floats]:
    """Least squares of the free levels within their bounds, from sums alone."""
    shape = np.broadcast_shapes(s.gy.shape, s.y.shape)
    lower, upper = (_level(v, shape) for v in (levels.lower, levels.upper))
    if lower is not None and upper is not None:
        return lower, upper, _rss(s, lower, upper)
    if lower is not None:
        upper = _best_upper(s, lower, levels.ceiling)
        return lower, upper, _rss(s, lower, upper)
    if upper is not None:
        lower = _best_lower(s, upper, levels.floor)
        return lower, upper, _rss(s, lower, upper)
    return _both(s, levels, shape)


def _level(value: float | Floats | None, shape: tuple[int, ...]) -> Floats | None:
    if value is None:
        return None
    array = np.asarray(value, dtype=np.float64)
    wide: Floats = array[:, None] if array.ndim == 1 and len(shape) == 2 else array
    return np.broadcast_to(wide, shape)


def _rss(s: _Sums, lower: Floats, upper: Floats) -> Floats:
    rise = upper - lower
    total: Floats = (
        s.yy - 2 * lower * s.y - 2 * rise * s.gy + lower**2 * s.one + 2 * lower * rise * s.g + rise**2 * s.gg
    )
    return total


def _best_upper(s: _Sums, lower: Floats, ceiling: float) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        rise = (s.gy - lower * s.g) / s.gg
    best: Floats = np.clip(lower + np.where(s.gg > 0, rise, 0.0), lower, np.maximum(ceiling, lower))
    return best


def _best_lower(s: _Sums, upper: Floats, floor: float) -> Floats:
    rest, rest_sq, rest_y = s.one - s.g, s.one - 2 * s.g + s.gg, s.y - s.gy
    with np.errstate(divide="ignore", invalid="ignore"):
        drop = (upper * rest - rest_y) / rest_sq
    best: Floats = np.clip(upper - np.where(rest_sq > 0, drop, 0.0), np.minimum(floor, upper), upper)
    return best


def _both(s: _Sums, levels: Levels, shape: tuple[int, ...]) -> tuple[Floats, Floats, Floats]:
    """The inner solution where it lies within the bounds, else the best of the triangle's three edges."""
    spread = s.one * s.gg - s.g * s.g
    with np.errstate(divide="ignore", invalid="ignore"):
        rise = (s.one * s.gy - s.g * s.y) / spread
        lower = (s.y - rise * s.g) / s.one
        upper = lower + rise
    inside = (
        (spread > 1e-12 * s.one * s.one) & (rise >= 0) & (lower >= levels.floor) & (upper <= levels.ceiling)
    )
    flat = np.broadcast_to(np.clip(s.y / s.one, levels.floor, levels.ceiling), shape)
    at_floor, at_ceiling = np.full(shape, levels.floor), np.full(shape, levels.ceiling)
    if not math.isfinite(levels.floor):
        at_floor = flat
    if not math.isfinite(levels.ceiling):
        at_ceiling = flat
    edges = [
        (flat, flat),
        (at_floor, _best_upper(s, at_floor, levels.ceiling)),
        (_best_lower(s, at_ceiling, levels.floor), at_ceiling),
    ]
    best_lower, best_upper = edges[0]
    best_rss = _rss(s, best_lower, best_upper)
    for low, high in edges[1:]:
        rss = _rss(s, low, high)
        better = rss < best_rss
        best_lower, best_upper = np.where(better, low, best_lower), np.where(better, high, best_upper)
        best_rss = np.where(better, rss, best_rss)
    lower, upper = np.where(inside, lower, best_lower), np.where(inside, upper, best_upper)
    return lower, upper, _rss(s, lower, upper)
