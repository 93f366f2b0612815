"""Joint draws of money: a price between its published quotes."""

import math

import numpy as np
import numpy.typing as npt

from models.stats import z_value

Floats = npt.NDArray[np.float64]
Pair = tuple[float, float]


def money_draws(value: float, low: float, high: float, size: int, seed: int, mass: float = 0.9) -> Floats:
    """Draws of a cost whose median is `value` and whose central `mass` lies between low and high.

    Two-piece log-normal, shape (size,): each side has its own spread. low = value = high gives a constant.
    Raises ValueError unless 0 < low <= value <= high.
    """
    if not 0 < low <= value <= high:
        raise ValueError(f"0 < low <= value <= high is needed: {low}, {value}, {high}")
    z = z_value(mass)
    normal = np.random.default_rng(seed).standard_normal(size)
    spread = np.where(normal < 0, math.log(value / low), math.log(high / value)) / z
    draws: Floats = value * np.exp(normal * spread)
    return draws


def money_ends(value: float, low: float, high: float, inner: float = 0.8, mass: float = 0.9) -> Pair:
    """Ends of the central `inner` of `money_draws`, p10 and p90 by default: each end is exact.

    Raises ValueError unless 0 < low <= value <= high.
    """
    if not 0 < low <= value <= high:
        raise ValueError(f"0 < low <= value <= high is needed: {low}, {value}, {high}")
    part = z_value(inner) / z_value(mass)
    return value * (low / value) ** part, value * (high / value) ** part
