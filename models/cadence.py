"""A programme that comes back every period: campaigns of steps, what lies between, its fleet. Seconds."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from models.failures import Saving, lost_draws, saved
from models.shapes import Num, at_least, at_most, num, where

Floats = npt.NDArray[np.float64]
SIMPSON = (1 / 6, 4 / 6, 1 / 6)
"""Weights of the first, middle and last step of a campaign whose lengths grow in a straight line."""


@dataclass(frozen=True)
class StepLaw:
    """Seconds of a step on G GPUs: serial + work x G0 / G + growth x (G / G0 - 1), measured at `gpus` = G0.

    `serial_s`: tails, weight updates, tools, what no GPU shortens. `work_s`: what splits evenly. `growth_s`:
    coordination that grows with the count, as in the universal scalability law (Gunther 1993): with it more
    GPUs are slower beyond `fastest_gpus`.
    """

    gpus: float
    serial_s: Num
    work_s: Num
    growth_s: Num = 0.0

    def step_s(self, gpus: Num) -> Num:
        """Seconds of a step on `gpus` GPUs; fewer than G0 save no coordination."""
        times = num(gpus) / self.gpus
        more: Num = at_least(times - 1, 0.0)
        return self.serial_s + self.work_s / times + self.growth_s * more

    @property
    def fastest_gpus(self) -> float:
        """GPUs beyond which a step gets longer: G0 sqrt(work / growth); infinite without growth."""
        work, growth = float(num(self.work_s)), float(num(self.growth_s))
        return math.inf if growth <= 0 else self.gpus * max(1.0, math.sqrt(work / growth))


def growth_of(expected_s: float, measured_s: float, times: float) -> float:
    """Seconds of growth a step that took `measured_s` on `times` the GPUs shows over the `expected_s` there.

    (measured - expected) / (times - 1); negative where the step scaled better than expected. Raises
    ValueError unless the second size is the larger one.
    """
    if not (times > 1 and expected_s > 0 and measured_s > 0):
        raise ValueError(f"a second size has more GPUs and positive seconds: {times}, {measured_s}")
    return (measured_s - expected_s) / (times - 1)


def efficiency_frac(gpus: float, step_s: float, more_gpus: float, there_s: float) -> float:
    """Scaling efficiency between two sizes: GPU-seconds of a step at the first over those at the second."""
    return gpus * step_s / (more_gpus * there_s)


@dataclass(frozen=True)
class Rounded:
    """Working GPUs as they are held: spares, whole units, racks (NaN where not built in racks)."""

    gpus: Num
    fleet_gpus: Num
    racks: Num

    @property
    def spare_gpus(self) -> Num:
        """GPUs that are held and do not work."""
        return self.fleet_gpus - self.gpus


def usable_in(domain: int, group: int) -> int:
    """GPUs of a link domain that whole groups of `group` fill; all where no group must fit, or none does."""
    return domain // group * group if 0 < group <= domain else domain


def rounded(
    gpus: Num, spare_frac: Num, unit: int, rack_gpus: int | None, domain: int | None = None, group: int = 0
) -> Rounded:
    """GPUs to hold for `gpus` working ones: with spares, whole racks or units (node, tray).

    A rack holds groups that must not leave a link domain: 72 GPUs hold one group of 64, and a second group
    takes a second rack. Raises ValueError without a unit.
    """
    if unit < 1:
        raise ValueError(f"GPUs come in units: {unit}")
    size = rack_gpus or unit
    inside = min(domain or size, size)
    usable = size // inside * usable_in(inside, group)
    working = num(gpus)
    with_spares = np.ceil(working * (1 + num(spare_frac)) - 1e-9)
    units: Num = at_least(np.ceil(working / usable - 1e-12), np.ceil(with_spares / size - 1e-12))
    return Rounded(working, units * size, units if rack_gpus else units * math.nan)


def spans_domains(group: int, domain: int | None) -> bool:
    """True where a group that must talk over the scale-up link does not fit one domain."""
    return group > 0 and domain is not None and group > domain


@dataclass(frozen=True)
class Launches:
    """How a job starts: the first launch of a campaign cold, further jobs of the chain warm, after a queue.

    `walltime_s`: longest job of the scheduler; a campaign that runs longer is a chain of jobs.
    """

    cold_s: Num
    warm_s: Num
    queue_s: Num
    walltime_s: Num

    def start_up_s(self, running_s: Num) -> Num:
        """Seconds of all start-ups and queues for `running_s` seconds of work; NaN where jobs only start."""
        first = num(self.walltime_s) - self.cold_s
        later = num(self.walltime_s) - self.warm_s
        with np.errstate(invalid="ignore"):
            more = np.ceil(at_least(num(running_s) - first, 0.0) / later - 1e-12)
        total = self.cold_s + self.queue_s + more * (num(self.warm_s) + self.queue_s)
        return where((first > 0) & (later > 0), total, math.nan)

    def room_s(self, wall_s: Num) -> Num:
        """Seconds of work that end within `wall_s`, the inverse of work + `start_up_s`; below 0: no start."""
        first, later = num(self.walltime_s) - self.cold_s, num(self.walltime_s) - self.warm_s
        after = num(wall_s) - self.queue_s - self.walltime_s
        chained = np.floor(after / (num(self.queue_s) + self.walltime_s))
        rest = after - chained * (num(self.queue_s) + self.walltime_s) - self.queue_s - self.warm_s
        more = first + chained * later + at_least(rest, 0.0)
        room = where(after < 0, num(wall_s) - self.queue_s - self.cold_s, more)
        return where((first > 0) & (later > 0), room, math.nan)


@dataclass(frozen=True)
class Campaign:
    """Steps of one campaign on one fleet: mean seconds of a step over the campaign (number or draws).

    `evals` evaluations of `eval_s` seconds in which the fleet waits.
    """

    steps: int
    step_s: Num
    evals: float = 0.0
    eval_s: float = 0.0


@dataclass(frozen=True)
class Cycle:
    """Parts of a cycle's wall time in seconds, all of one shape; they add up to `total_s`."""

    steps_s: Num
    evals_s: Num
    saves_s: Num
    failures_s: Num
    start_up_s: Num
    maintenance_s: Num

    @property
    def total_s(self) -> Num:
        """Sum of the parts."""
        return sum(self.parts().values(), num(0.0))

    @property
    def goodput_frac(self) -> Num:
        """Share of the wall time that is steps kept."""
        return self.steps_s / self.total_s

    def parts(self) -> Mapping[str, Num]:
        """Parts by name."""
        return {name: num(value) for name, value in vars(self).items()}


@dataclass(frozen=True)
class Running:
    """What surrounds the steps: saving, time to failure, launches; `maintenance_s` planned in each period.

    `goodput`: a measured share of wall time that replaces saves, failures and start-ups.
    """

    saving: Saving
    mttf_s: Num
    launches: Launches
    maintenance_s: float = 0.0
    period_s: float = math.inf
    goodput: float | None = None


def grown_s(first_s: Num, middle_s: Num, last_s: Num) -> Num:
    """Mean seconds of a step over a campaign whose steps grow: Simpson's rule over its start, middle, end."""
    return SIMPSON[0] * num(first_s) + SIMPSON[1] * num(middle_s) + SIMPSON[2] * num(last_s)


def expected_cycle(campaigns: Sequence[Campaign], running: Running) -> Cycle:
    """Mean parts of a cycle in closed form (start-ups of the mean running time, which is no mean of a step
    function). Campaigns follow each other. Maintenance meets the cycle as often as the period is used.
    """
    parts = [_expected(one, running) for one in campaigns]
    return _with_maintenance(parts, running, None)


def cycle_draws(campaigns: Sequence[Campaign], running: Running, draws: int, seed: int) -> Cycle:
    """Draws (draws,) of a cycle: steps as drawn by the campaigns, failures by `models.failures.lost_draws`.

    Maintenance begins evenly over the period and stops what runs. Raises ValueError without a campaign.
    """
    if not campaigns:
        raise ValueError("a cycle needs a campaign")
    rng = np.random.default_rng(seed)
    parts = []
    for one in campaigns:
        step_s = np.broadcast_to(num(one.step_s), (draws,)).astype(np.float64)
        steps_s, evals_s = one.steps * step_s, np.full(draws, one.evals * one.eval_s)
        if running.goodput is not None:
            parts.append(_by_goodput(steps_s, evals_s, running.goodput))
            continue
        saves_s = _saves(one, running.saving) * num(running.saving.stall_s)
        lost_s = lost_draws(np.full(draws, float(one.steps)), step_s, running.saving, running.mttf_s, rng)
        run_s = steps_s + evals_s + saves_s + lost_s
        start_s = running.launches.start_up_s(run_s)
        parts.append(Cycle(steps_s, evals_s, num(saves_s), lost_s, start_s, num(0.0)))
    return _with_maintenance(parts, running, rng.random(draws))


def _expected(one: Campaign, running: Running) -> Cycle:
    steps_s, evals_s = one.steps * num(one.step_s), num(one.evals * one.eval_s)
    if running.goodput is not None:
        return _by_goodput(steps_s, evals_s, running.goodput)
    saves_s = _saves(one, running.saving) * num(running.saving.stall_s)
    whole = saved(one.steps, one.step_s, running.saving, running.mttf_s)
    lost_s = whole.failures * whole.lost_s
    start_s = running.launches.start_up_s(whole.mean_s + evals_s)
    return Cycle(steps_s, evals_s, saves_s, lost_s, start_s, num(0.0))


def _by_goodput(steps_s: Num, evals_s: Num, goodput: float) -> Cycle:
    """What a measured goodput loses stands under failures: it holds saves and start-ups too."""
    return Cycle(steps_s, evals_s, num(0.0), steps_s * (1 / goodput - 1), num(0.0), num(0.0))


def _saves(one: Campaign, saving: Saving) -> Num:
    return one.steps / at_most(num(saving.every_steps), float(one.steps))


def _with_maintenance(parts: Sequence[Cycle], running: Running, begins: Floats | None) -> Cycle:
    """Sum of campaigns; `begins`: draws 0..1 of when a period's maintenance begins, None for its mean."""
    summed = {name: sum((num(getattr(p, name)) for p in parts), num(0.0)) for name in vars(parts[0])}
    busy = sum(summed.values(), num(0.0))
    if not running.maintenance_s:
        return Cycle(**summed)
    used = at_most(busy / running.period_s, 1.0)
    met = used if begins is None else where(begins < used, 1.0, 0.0)
    return Cycle(**{**summed, "maintenance_s": met * running.maintenance_s})


def p_finish(total_s: Floats, deadline_s: float) -> float:
    """Share of draws that end by the deadline; NaN where a draw is unknown."""
    return math.nan if np.isnan(total_s).any() else float((total_s <= deadline_s).mean())
