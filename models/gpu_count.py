"""How many GPUs of a target a wanted step time takes, or the serial floor that no count of them beats."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from models.calibration import Calibration
from models.moves import Target
from models.projection import Projection, project
from models.workload import Measured, Workload

LOW, MEDIAN, HIGH = 0, 1, 2
END_FRAC = 0.02
UNLIMITED = 10**9
"""GPUs beyond which nothing shrinks: one replica a response, training only its fixed share."""


@dataclass(frozen=True)
class GpuCount:
    """Smallest count whose median step is at most `wanted_s`; None: no count up to the limit is.

    `gpus_low`, `gpus_high`: the counts at the p10 and the p90 of the step, to 2 % above 50 units. `step_s`:
    p10, p50, p90 at `gpus`, NaN without one. `floor_s`: median step with unlimited GPUs: tail, weight sync,
    sandboxes and what else does not scale. `unknown` as in a projection: then nothing is known.
    """

    wanted_s: float
    gpus: int | None
    gpus_low: int | None
    gpus_high: int | None
    engines: int | None
    trainer: int | None
    step_s: tuple[float, float, float]
    floor_s: float
    unknown: tuple[str, ...]

    @property
    def reachable(self) -> bool:
        """True when enough GPUs would do, whether or not within the limit."""
        return self.floor_s <= self.wanted_s


def gpus_for_step_time(
    workload: Workload,
    measured: Measured,
    calibration: Calibration,
    target: Target,
    wanted_s: float,
    *,
    unit: int = 8,
    most: int = 65_536,
    draws: int = 1_000,
    seed: int = 0,
) -> GpuCount:
    """GPUs of `target` for a step of `wanted_s` seconds, in whole `unit`s (node, tray or rack), up to `most`.

    Two pools keep the ratio of the target's, each at least a unit. A step never gets longer with more GPUs,
    so counts are bisected, all with the same draws. Raises ValueError without a unit or a positive time.
    """
    if unit < 1 or not wanted_s > 0:
        raise ValueError(f"a unit of GPUs and a step time above 0 are needed: {unit}, {wanted_s}")
    search = _Search(workload, measured, calibration, target, unit, draws, seed, {})
    whole = search.projected((UNLIMITED, UNLIMITED))
    floor_s = float(np.median(whole.step_s[:, 0]))
    limit = most // unit
    found = search.fewest(MEDIAN, wanted_s, limit)
    low, high = (search.fewest(which, wanted_s, limit, found) for which in (LOW, HIGH))
    engines, trainer = (None, None) if found is None else search.pools(found)
    return GpuCount(
        wanted_s=wanted_s,
        gpus=None if found is None else found * unit,
        gpus_low=None if low is None else low * unit,
        gpus_high=None if high is None else high * unit,
        engines=engines,
        trainer=trainer,
        step_s=(math.nan, math.nan, math.nan) if found is None else search.step(found),
        floor_s=floor_s,
        unknown=whole.unknown[0] if math.isnan(floor_s) else (),
    )


@dataclass(frozen=True)
class _Search:
    """Steps of a target by count of units, each projected once."""

    workload: Workload
    measured: Measured
    calibration: Calibration
    target: Target
    unit: int
    draws: int
    seed: int
    known: dict[int, tuple[float, float, float]]

    @property
    def one_pool(self) -> bool:
        target = self.target
        return self.workload.gpus(target.engines, target.trainer) == target.engines.gpus

    def pools(self, units: int) -> tuple[int, int]:
        """GPUs of engines and trainer; the same ones where one pool does both."""
        if self.one_pool:
            return units * self.unit, units * self.unit
        engines, trainer = self.target.engines.gpus, self.target.trainer.gpus
        made = min(max(round(units * engines / (engines + trainer)), 1), units - 1)
        return made * self.unit, (units - made) * self.unit

    def projected(self, gpus: tuple[int, int]) -> Projection:
        engines = replace(self.target.engines, gpus=gpus[0])
        trainer = replace(self.target.trainer, gpus=gpus[1])
        sized = replace(self.target, engines=engines, trainer=trainer)
        return project(self.workload, self.measured, self.calibration, [sized], self.draws, self.seed)

    def step(self, units: int) -> tuple[float, float, float]:
        """p10, p50, p90 of the step."""
        if units not in self.known:
            draws = self.projected(self.pools(units)).step_s[:, 0]
            low, middle, high = (float(value) for value in np.percentile(draws, [10, 50, 90]))
            self.known[units] = (low, middle, high)
        return self.known[units]

    def fewest(self, which: int, wanted_s: float, limit: int, start: int | None = None) -> int | None:
        """Fewest units whose p10, p50 or p90 is short enough; the own count, which has no band, is asked."""
        least = 1 if self.one_pool else 2

        def enough(units: int) -> bool:
            return self.step(units)[which] <= wanted_s

        units = start or self.workload.gpus(self.workload.engines, self.workload.trainer) // self.unit
        found = _bisected(enough, least, limit, units, 0.0 if which == MEDIAN else END_FRAC)
        own = self._own
        if own is not None and least <= own <= limit and (found is None or own < found) and enough(own):
            return own
        return found

    @property
    def _own(self) -> int | None:
        if self.target.engines.machine != self.workload.engines.machine:
            return None
        gpus = self.workload.gpus(self.workload.engines, self.workload.trainer)
        return gpus // self.unit if gpus % self.unit == 0 else None


def _bisected(enough: Callable[[int], bool], least: int, limit: int, start: int, close: float) -> int | None:
    """Smallest count in least..limit that is enough, where more is never worse; None without one.

    Doubled or halved from `start`, then bisected, to a share `close` of it.
    """
    if limit < least or not enough(limit):
        return None
    high = min(max(start, least), limit)
    if enough(high):
        low = high // 2
        while low >= least and enough(low):
            low, high = low // 2, low
        low = max(low, least - 1)
    else:
        low = high
        while not enough(high):
            low, high = high, min(2 * high, limit)
    while high - low > max(1, int(high * close)):
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
