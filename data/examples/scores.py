"""Made-up evaluations: the same tasks at every checkpoint, so that before and after can be paired.

Every task has a difficulty; ability is set so that the expected share of passes equals the learning curve,
and what a benchmark shows is a binomial draw around it.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from data.examples.steps import sigmoid

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Bench:
    """A benchmark as the example evaluates it; low, ceiling, middle, slope shape its learning curve."""

    benchmark: str
    tasks: int
    repeats: int
    low: float
    ceiling: float
    middle: float
    slope: float
    mean_tokens: float
    hardness: float


MATH = Bench("math-500", 500, 1, 0.574, 0.815, 2.3e8, 1.45, 940, 1.5)
AIME = Bench("aime-2024", 30, 8, 0.112, 0.262, 3.1e8, 1.5, 3_100, 1.9)
BENCHES = (MATH, AIME)


@dataclass(frozen=True)
class Outcome:
    """Results of one evaluation: passes (0 or 1) and tokens, both of shape (tasks, repeats)."""

    bench: Bench
    passed: NDArray[np.int64]
    tokens: NDArray[np.int64]

    @property
    def score(self) -> float:
        """Share of passes, 0..1."""
        return float(self.passed.mean())


class Examiner:
    """Holds the tasks, so that every checkpoint sits the same exam."""

    def __init__(self, bench: Bench, rng: np.random.Generator) -> None:
        """Draw the tasks' difficulties."""
        self.bench = bench
        self._hardness = rng.normal(0.0, bench.hardness, bench.tasks)
        self._tokens = rng.lognormal(0.0, 0.45, bench.tasks)

    def sit(self, tokens_trained: float, rng: np.random.Generator) -> Outcome:
        """Evaluate a checkpoint that has trained on so many tokens."""
        bench = self.bench
        want = sigmoid(tokens_trained, bench.low, bench.ceiling, bench.middle, bench.slope)
        chance = self._chances(want)
        passed = rng.binomial(1, np.repeat(chance[:, None], bench.repeats, axis=1))
        longer = 1.0 + 0.9 * tokens_trained / (tokens_trained + 4e8)
        size = bench.mean_tokens * longer * self._tokens[:, None]
        drawn = size * rng.lognormal(0.0, 0.2, passed.shape)
        return Outcome(bench, passed.astype(np.int64), np.rint(drawn).astype(np.int64))

    def _chances(self, want: float) -> Floats:
        low, high = -20.0, 20.0
        for _ in range(60):
            middle = (low + high) / 2
            if _logistic(middle - self._hardness).mean() < want:
                low = middle
            else:
                high = middle
        return _logistic((low + high) / 2 - self._hardness)


def _logistic(x: Floats | float) -> Floats:
    return np.asarray(1.0 / (1.0 + np.exp(-2.2 * np.asarray(x))))
