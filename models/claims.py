"""What a claim about one phase leaves of a whole step: implied speed, Amdahl, and what else must be true."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from models.shapes import Num, num

LIMITS = {
    "throughput_ratio": (0.1, 100.0),
    "latency_ratio": (0.1, 100.0),
    "interactivity_ratio": (0.1, 100.0),
    "gpu_count_ratio": (0.01, 2.0),
    "cost_per_token_ratio": (0.01, 2.0),
    "tokens_per_dollar_ratio": (0.1, 100.0),
    "tokens_per_mw_ratio": (0.1, 100.0),
    "seconds": (0.001, 3600.0),
}
"""Values a person may try, by quantity; a quantity that is not here changes the seconds of no phase."""
MOST = 1e6
"""Speed-up of the rest of a step beyond which nothing is left of it."""

Compose = Callable[[Mapping[str, Num]], Num]
"""Seconds of a step out of the seconds of its phases, in the mode of the run."""


@dataclass(frozen=True)
class Step:
    """A step on one platform: seconds by phase (numbers, or arrays of draws) and how they add up.

    Phases that are missing take no time. `compose` must not fall when a phase takes longer.
    """

    seconds: Mapping[str, Num]
    compose: Compose

    @property
    def step_s(self) -> Num:
        """Seconds of the whole step, one a draw."""
        return num(self.compose(self.seconds))

    def of(self, phases: Iterable[str]) -> Num:
        """Seconds of some phases together."""
        total = num(0.0)
        for name in phases:
            total = total + num(self.seconds.get(name, 0.0))
        return total

    def changed(self, seconds: Mapping[str, Num]) -> "Step":
        """The same step with other seconds in some phases."""
        return replace(self, seconds={**self.seconds, **seconds})

    def middle(self) -> "Step":
        """The same step with the median of every phase in place of its draws."""
        return replace(self, seconds={name: num(np.median(value)) for name, value in self.seconds.items()})


def implied_speed(
    quantity: str, value: float, price_ratio: float = math.nan, power_ratio: float = math.nan
) -> float:
    """Speed of a phase, target over baseline at equal GPUs, that a claim implies; NaN without its prices.

    Ratios of throughput, interactivity and latency (baseline time / target time) are that speed. A share r
    of the GPUs in the same time is 1 / r if the work divides evenly. A token costs price / rate, so a cost
    ratio r means price ratio / r, and v times the tokens a dollar mean v x price ratio; v times the tokens a
    MW mean v x ratio of power a GPU. `price_ratio`, `power_ratio`: target over baseline. Raises ValueError
    for a quantity that is no speed or a value outside `LIMITS`.
    """
    check_value(quantity, value)
    if quantity in ("throughput_ratio", "latency_ratio", "interactivity_ratio"):
        return value
    if quantity == "gpu_count_ratio":
        return 1 / value
    if quantity == "cost_per_token_ratio":
        return price_ratio / value
    if quantity == "tokens_per_dollar_ratio":
        return price_ratio * value
    if quantity == "tokens_per_mw_ratio":
        return power_ratio * value
    raise ValueError(f"{quantity} is no speed of a phase")


def check_value(quantity: str, value: float) -> None:
    """Raise ValueError unless `value` is one that a person may try for `quantity`."""
    if quantity not in LIMITS:
        raise ValueError(f"{quantity} changes the seconds of no phase")
    low, high = LIMITS[quantity]
    if not low <= value <= high:
        raise ValueError(f"a value between {low:g} and {high:g} is needed: {value:g}")


def scaled_seconds(claimed_s: float, claimed_bytes: float, moved_bytes: Num) -> Num:
    """Seconds of a transfer at the rate of a claim: seconds x bytes / bytes of the claim.

    The rate is that of all links together: how many GPUs share it must be checked apart.
    """
    return claimed_s * num(moved_bytes) / claimed_bytes


def at_speed(target: Step, baseline: Step, phases: Iterable[str], speed: float) -> Step:
    """The step on the target with `phases` at the baseline's seconds / `speed`, all others as projected.

    Every phase of either step changed this way gives the baseline's step / `speed`.
    """
    changed: dict[str, Num] = {name: num(baseline.seconds.get(name, 0.0)) / speed for name in phases}
    return target.changed(changed)


@dataclass(frozen=True)
class Outcome:
    """A step in seconds without and with a claim, one a draw, and without any time in the claimed phases."""

    without_s: Num
    with_s: Num
    ceiling_s: Num

    def middle(self) -> "Outcome":
        """Medians over the draws, so that shares and speed-ups are those of the seconds shown."""
        parts = (self.without_s, self.with_s, self.ceiling_s)
        return Outcome(*(num(np.median(part)) for part in parts))

    @property
    def left(self) -> Num:
        """Speed-up of the whole step: without / with (Amdahl 1967)."""
        return self.without_s / self.with_s

    @property
    def exposed_frac(self) -> Num:
        """Share of the step that would go if the phases took no time; 0 when other work hides them."""
        return 1 - self.ceiling_s / self.without_s


def outcome(without: Step, claimed: Step, phases: Iterable[str]) -> Outcome:
    """Compare a step with the one a claim gives; `phases` are those the claim speaks of."""
    none: dict[str, Num] = dict.fromkeys(phases, 0.0)
    return Outcome(without.step_s, claimed.step_s, without.changed(none).step_s)


def needed_elsewhere(claimed: Step, phases: Iterable[str], wanted_s: float) -> float:
    """How many times faster all other phases must be for the step to take `wanted_s` seconds.

    1 when it does already, infinite when the claimed phases alone take longer, NaN where seconds are unknown.
    Found by bisection on the medians, because pools that work side by side do not add up.
    """
    middle, kept = claimed.middle(), frozenset(phases)
    rest = {name: value for name, value in middle.seconds.items() if name not in kept}

    def step_s(factor: float) -> float:
        faster: dict[str, Num] = {name: value / factor for name, value in rest.items()}
        return float(middle.changed(faster).step_s)

    if math.isnan(step_s(1.0)) or math.isnan(wanted_s):
        return math.nan
    if step_s(1.0) <= wanted_s:
        return 1.0
    if step_s(MOST) > wanted_s:
        return math.inf
    low, high = 0.0, math.log(MOST)
    for _ in range(60):
        half = (low + high) / 2
        low, high = (half, high) if step_s(math.exp(half)) > wanted_s else (low, half)
    return math.exp(high)
