"""A calibrated factor with its spread, and the refusal of one that cannot be."""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from models.workload import Floats

Basis = Literal["measured", "prior"]


@dataclass(frozen=True)
class Factor:
    """One factor of a phase. `low`, `high`: p10 and p90 over steps, NaN where one step cannot tell.

    `basis` measured: solved from the run; prior: a usual value that this run does not show, with its usual
    range. `identified`: the run alone fixes it. `words` say given what.
    """

    phase: str
    name: str
    value: float
    low: float
    high: float
    unit: str
    n_steps: int
    identified: bool
    basis: Basis
    words: str


@dataclass(frozen=True)
class Refusal:
    """A phase whose facts contradict physics: `value` of what is possible (above 1), and what may be wrong.

    Nothing is clipped: a refused phase is not projected.
    """

    phase: str
    factor: str
    value: float
    causes: tuple[str, ...]


def over_steps(
    phase: str, name: str, unit: str, values: Floats, value: float, words: str, *, identified: bool = True
) -> Factor:
    """A measured factor: `value` for the mean step, p10 and p90 of `values` (steps,)."""
    low, high = np.quantile(values, [0.1, 0.9]) if len(values) > 1 else (math.nan, math.nan)
    return Factor(
        phase, name, value, float(low), float(high), unit, len(values), identified, "measured", words
    )


def prior(phase: str, name: str, unit: str, low_value_high: tuple[float, float, float], words: str) -> Factor:
    """A factor that the run does not show: low, usual and high value."""
    low, value, high = low_value_high
    return Factor(phase, name, value, low, high, unit, 0, False, "prior", words)
