"""What was found for a run and for each of its targets, as draws: what the tables of a projection show."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from analysis.frames import NAN, Row
from analysis.projection_money import Floats, PointCost, Rent
from analysis.projection_run import SourceRun
from analysis.projection_targets import Aim, Count, Factors
from analysis.words import digits3
from models.gpu_count import GpuCount

LOW_MIDDLE_HIGH = (0.1, 0.5, 0.9)


@dataclass(frozen=True)
class Cause:
    """What makes most of the difference: seconds of one part of the step by the rule, and by the phases."""

    part: str
    whole_s: float
    phases_s: float

    @property
    def words(self) -> str:
        """In a clause."""
        whole, phases = digits3(self.whole_s), digits3(self.phases_s)
        if self.part == "kept":
            return (
                f"by the rule {whole} s of this step would follow neither chip nor GPUs, as in published "
                "whole steps; no timer of this run shows such a part"
            )
        name = {"rollout": "rollouts", "compute": "training and log-probs", "rest": "the rest"}[self.part]
        return f"{name} take {whole} s by the rule, whose mix of phases is assumed, {phases} s by the phases"


@dataclass(frozen=True)
class Seen:
    """A target with what was found for it; `same`: the run's own pools, nothing moves.

    Draws (draws,) of seconds; empty `phases` where only the whole step is projected; NaN draws and a sentence
    in `missing` where it cannot be. `phases_step_s`: draws of the sum of the phases; the band of `step_s` is
    stretched to the rule for whole steps where the two lie `apart`; `cause`: most of that difference.
    `half_ratio`: `whole_ratio` on half the run's GPUs.
    """

    aim: Aim
    count: Count
    rent: Rent
    factors: Factors
    step_s: Floats
    whole_step_s: Floats
    whole_ratio: float = NAN
    half_ratio: float = NAN
    phases_step_s: Floats = field(default_factory=lambda: np.empty(0))
    apart: bool = False
    cause: Cause | None = None
    phases: Mapping[str, Floats] = field(default_factory=dict)
    exposed: Mapping[str, Floats] = field(default_factory=dict)
    drivers: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    cycle: GpuCount | None = None
    missing: tuple[str, ...] = ()
    cautions: tuple[str, ...] = ()
    same: bool = False

    @property
    def middle_s(self) -> float:
        """Median seconds of a step."""
        return float(np.median(self.step_s))

    @property
    def usd_per_h(self) -> float:
        """Dollars an hour of its GPUs."""
        return self.count.gpus * self.rent.usd


@dataclass(frozen=True)
class Base:
    """The measured run that targets stand beside: its draws are those of the mean of its steps."""

    source: SourceRun
    target: str
    step_s: Floats
    phases: Mapping[str, Floats]
    exposed: Mapping[str, Floats]
    rent: Rent
    point: PointCost

    @property
    def usd_per_h(self) -> float:
        """Dollars an hour of its GPUs."""
        return self.source.usd_per_h


def spread(draws: Floats) -> tuple[float, float, float]:
    """p10, p50, p90; NaN where a draw is unknown."""
    if not draws.size or np.isnan(draws).any():
        return NAN, NAN, NAN
    low, middle, high = (float(v) for v in np.quantile(draws, LOW_MIDDLE_HIGH))
    return low, middle, high


def spread_row(name: str, draws: Floats) -> Row:
    """p50 under `name`, p10 and p90 under its _low and _high."""
    low, middle, high = spread(draws)
    return {name: middle, f"{name}_low": low, f"{name}_high": high}


def joined(*sentences: str) -> str:
    """Sentences once each, in a row, each with its capital and its full stop."""
    told = dict.fromkeys(s.strip().rstrip(".") for s in sentences if s.strip())
    return " ".join(f"{s[:1].upper()}{s[1:]}." for s in told)


def price_times(base: Base, one: Seen) -> tuple[float, float, float]:
    """p10, p50, p90 of the price ratio, target over run, below which moving pays on GPUs alone."""
    if not one.count.gpus:
        return NAN, NAN, NAN
    return spread(base.source.gpus * base.source.step_s / (one.count.gpus * one.step_s))
