"""Fleets by the hundred thousand: cycle and P(finish) in closed form; programmes sharing one by priority."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri

from models.cadence import Launches
from models.failures import Saving, saved
from models.shapes import Num, at_most, num, where

Floats = npt.NDArray[np.float64]
NODES = 10
"""Equally likely values that stand for the spread of what failures take."""


@dataclass(frozen=True)
class Chance:
    """What a fleet gives: median seconds of a cycle, P(finish by the deadline), share of it in kept steps."""

    cycle_s: Floats
    p_finish: Floats
    goodput_frac: Floats


@dataclass(frozen=True)
class Steps:
    """Steps of a cycle: how many, median seconds of one, and its log spread below and above the median."""

    count: Num
    median_s: Num
    sigma_below: Num = 0.0
    sigma_above: Num = 0.0


def chances(
    steps: Steps, saving: Saving, mttf_s: Num, launches: Launches, fixed_s: Num, deadline_s: Num
) -> Chance:
    """Cycle and chance of fleets; every number may be an array (fleets,).

    Work = saves + factor of the step x (steps + lost), lost 0 with the chance of no failure, else gamma
    with the mean and variance of all stretches (both at the median step), by equally likely values; exact in
    the factor. `fixed_s`: evaluations and what else follows no step. Start-ups: the work that ends
    by the deadline is known exactly (`Launches.room_s`).
    """
    whole = saved(steps.count, steps.median_s, saving, mttf_s)
    hopeless = np.isinf(whole.mean_s)
    lost = num(where(hopeless, 0.0, num(whole.failures) * whole.lost_s))
    least = num(steps.count) * steps.median_s
    saves = num(steps.count) / at_most(num(saving.every_steps), num(steps.count)) * saving.stall_s
    room = launches.room_s(deadline_s) - fixed_s - saves
    within = num(whole.through) * _upto(room, least, steps)
    for part in lost_nodes(lost, where(hopeless, 0.0, whole.var), whole.through):
        within = within + (1 - num(whole.through)) / NODES * _upto(room, least + part, steps)
    running = whole.mean_s + fixed_s
    cycle = running + launches.start_up_s(running)
    kept = num(steps.count) * steps.median_s / cycle
    return Chance(
        np.asarray(cycle), np.where(hopeless, 0.0, np.minimum(within, 1.0)), np.where(hopeless, 0.0, kept)
    )


def lost_nodes(mean_s: Num, var: Num, none: Num) -> Floats:
    """Seconds lost when anything is, NODES equally likely values along the first axis.

    Gamma of mean m / (1 - none) and second moment (var + m^2) / (1 - none), so that mean and variance of all,
    the chance `none` of losing nothing included, are kept; its quantiles by Wilson and Hilferty (1931):
    mean x (1 - u + z sqrt(u))^3 with u = (variance / mean^2) / 9.
    """
    some = np.maximum(1 - num(none), 1e-300)
    lost = num(mean_s) / some
    with np.errstate(divide="ignore", invalid="ignore"):
        ninth = np.maximum((num(var) + num(mean_s) ** 2) / some / lost**2 - 1, 0.0) / 9
    ninth = np.where(np.isfinite(ninth), ninth, 0.0)
    normal = ndtri((np.arange(NODES) + 0.5) / NODES)
    root, shape = np.sqrt(ninth), (NODES,) + (1,) * np.ndim(ninth)
    found: Floats = lost * np.maximum(1 - ninth + normal.reshape(shape) * root, 0.0) ** 3
    return found


def _upto(room_s: Num, work_s: Num, steps: Steps) -> Num:
    """P(factor x work <= room) of a two-sided log-normal factor; a step without spread either fits or not."""
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(np.maximum(room_s, 1e-300) / num(work_s))
        sigma = np.where(logs < 0, steps.sigma_below, steps.sigma_above)
        at = np.where(sigma > 0, logs / np.where(sigma > 0, sigma, 1.0), np.where(logs < 0, -np.inf, np.inf))
    fits: Num = np.where(num(room_s) <= 0, 0.0, ndtr(at))
    return np.where(np.isnan(room_s), np.nan, fits)


def smallest(gpus: npt.ArrayLike, p_finish: npt.ArrayLike, wanted: float) -> int | None:
    """Place of the fewest GPUs whose chance is at least `wanted`; None when no fleet's is.

    More GPUs can be slower, so every fleet is looked at and none is passed over.
    """
    counts, chance = np.asarray(gpus, dtype=np.float64), np.asarray(p_finish, dtype=np.float64)
    enough = np.flatnonzero(chance >= wanted)
    return None if not enough.size else int(enough[np.argmin(counts[enough])])


@dataclass(frozen=True)
class Sharer:
    """A programme on a shared fleet: GPUs it needs at once and draws (draws,) of the seconds it runs.

    Priority 1 goes first; of equals the first named. All are ready when the period begins.
    """

    name: str
    gpus: int
    run_s: Floats
    priority: int = 1


@dataclass(frozen=True)
class Turn:
    """When a sharer starts and ends, draws (draws,) in seconds after the period began; infinite: never."""

    name: str
    start_s: Floats
    finish_s: Floats


def shared(programmes: Sequence[Sharer], fleet_gpus: int) -> tuple[Turn, ...]:
    """Turns of programmes on `fleet_gpus` GPUs, in the order given.

    In order of priority each starts at the earliest moment from which its GPUs stay free for all it runs,
    beside those before it, and is not interrupted: a lower one never delays a higher one. A programme larger
    than the fleet never starts.
    """
    order = sorted(range(len(programmes)), key=lambda at: (programmes[at].priority, at))
    placed: list[tuple[Sharer, Turn]] = []
    turns: dict[int, Turn] = {}
    for at in order:
        one = programmes[at]
        start = _earliest(one, placed, fleet_gpus)
        turns[at] = Turn(one.name, start, start + one.run_s)
        if one.gpus <= fleet_gpus:
            placed.append((one, turns[at]))
    return tuple(turns[at] for at in range(len(programmes)))


def _earliest(one: Sharer, placed: Sequence[tuple[Sharer, Turn]], fleet_gpus: int) -> Floats:
    """Earliest start (draws,): the beginning or an end of those before, from which enough GPUs stay free."""
    best = np.full_like(one.run_s, np.inf)
    if one.gpus > fleet_gpus:
        return best
    for begin in [np.zeros_like(one.run_s), *(turn.finish_s for _, turn in placed)]:
        free = np.ones_like(best, dtype=bool)
        for moment in [begin, *(turn.start_s for _, turn in placed)]:
            inside = (moment >= begin) & (moment < begin + one.run_s)
            held = sum(
                (other.gpus * ((t.start_s <= moment) & (moment < t.finish_s)) for other, t in placed),
                np.zeros_like(best),
            )
            free &= ~inside | (held + one.gpus <= fleet_gpus)
        best = np.where(free & (begin < best), begin, best)
    return best
