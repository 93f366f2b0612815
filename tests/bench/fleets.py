"""100,000 fleets, each with its own GPUs, saves, spares, deadline: cycle, P(finish), dollars for sliders."""

import statistics
import sys
import time

import numpy as np

from models.cadence import Launches, StepLaw, rounded
from models.failures import JobRates, Saving, spare_wait_h
from models.fleet import Chance, Steps, chances

FLEETS, REPEATS = 100_000, 7
LIMIT_S = 1.0
RATES = JobRates(1_024, (0.0125, 0.127, 0.133), 16_384, (0.2, 0.32, 0.56))


def evaluated(seed: int) -> tuple[Chance, np.ndarray]:
    """Chances and dollars of a cycle of fleets on whole racks of 72."""
    rng = np.random.default_rng(seed)
    gpus = 8.0 * rng.integers(1, 256, FLEETS)
    held = rounded(gpus, rng.uniform(0, 0.25, FLEETS), 4, 72, 72)
    _, failures, _ = RATES.per_h(gpus)
    down_h = 0.33 + spare_wait_h(failures * 0.2, 24.0, held.spare_gpus / 4)
    steps = Steps(rng.integers(200, 5_000, FLEETS), StepLaw(64, 60.0, 272.0, 4.0).step_s(gpus), 0.12, 0.18)
    saving = Saving(rng.integers(1, 50, FLEETS), 60.0, down_h * 3600)
    found = chances(
        steps, saving, 3600 / failures, Launches(2940.0, 1200.0, 446.0, 48 * 3600.0), 1800.0,
        rng.uniform(24, 168, FLEETS) * 3600,
    )  # fmt: skip
    return found, held.fleet_gpus * found.cycle_s / 3600 * 3.0


def check(found: Chance, usd: np.ndarray) -> None:
    """Every fleet has an answer, and they differ."""
    assert found.p_finish.shape == usd.shape == (FLEETS,)
    assert ((found.p_finish >= 0) & (found.p_finish <= 1)).all() and (usd > 0).all()
    assert 0.1 < (found.p_finish > 0.5).mean() < 0.95


def main() -> int:
    check(*evaluated(0))
    taken = []
    for seed in range(REPEATS):
        start = time.perf_counter()
        evaluated(seed)
        taken.append(time.perf_counter() - start)
    median = statistics.median(taken)
    print(
        f"fleets: {FLEETS:,} configurations, median {median:.3f} s of {REPEATS} (limit {LIMIT_S} s), "
        f"{FLEETS / median:,.0f} a second"
    )
    return int(median > LIMIT_S)


if __name__ == "__main__":
    sys.exit(main())
