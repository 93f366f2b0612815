"""A measured run projected to 20 platforms with 10,000 draws, beside one numpy product of that shape.

Every target's replica, batch, tail and ratios, nine phases with their spread, composition and the rule for
whole steps: `models.projection.project` as the page calls it. Percentiles are timed apart.
"""

import statistics
import sys
import time

import numpy as np

from data.catalogue import load_catalogue
from data.shapes import llm_of, machine_of
from models.calibration import Calibration, calibrate
from models.lengths import lengths_of_quantiles
from models.machine import Machine
from models.projection import PHASES, Band, Projection, Target, project
from models.workload import Measured, Pool, Workload

DRAWS, PLATFORMS, REPEATS, GPUS, ROLLOUTS = 10_000, 20, 9, 64, 2048
LIMIT_S = 0.3


def measured_run(model: str = "deepseek-v3") -> tuple[Workload, Measured, Calibration]:
    """A synthetic run of twenty steps on 64 H200, engines in FP8 and trainer in BF16."""
    catalogue, rng = load_catalogue(), np.random.default_rng(0)
    machine = machine_of(catalogue, "h200-sxm")
    lengths = lengths_of_quantiles({0.5: 2000, 0.95: 8000, 1.0: 16384})
    workload = Workload(
        llm=llm_of(catalogue, model),
        mode="sync_disaggregated",
        lag=1.0,
        rollouts=ROLLOUTS,
        group=16,
        prompt_tokens=500,
        lengths=lengths,
        trained_tokens=ROLLOUTS * (500 + lengths.mean),
        updates=4,
        engines=Pool(machine, GPUS, "fp8"),
        trainer=Pool(machine, 4 * GPUS, "bf16"),
        replica_gpus=16,
    )
    usual = {
        "rollout_s": 900.0,
        "logprob_s": 40.0,
        "train_s": 130.0,
        "sync_s": 12.0,
        "env_s": 5.0,
        "step_s": 1100.0,
    }
    measured = Measured(**{name: value * rng.lognormal(0, 0.05, 20) for name, value in usual.items()})
    return workload, measured, calibrate(workload, measured)


def targets(run: tuple[Workload, Measured, Calibration]) -> list[Target]:
    """Twenty targets: every platform whose facts are published, then again with more GPUs."""
    catalogue = load_catalogue()
    machines = [machine_of(catalogue, one.platform_id) for one in catalogue.platforms()]
    known = [one for one in machines if not any(project(*run, [_target(one, 1)], 100).unknown)]
    return [_target(known[at % len(known)], 1 + at // len(known)) for at in range(PLATFORMS)]


def _target(machine: Machine, times: int) -> Target:
    engines, trainer = Pool(machine, GPUS * times, "fp8"), Pool(machine, 4 * GPUS * times, "bf16")
    decode, training = Band(1.0, 0.85, 1.2), Band(0.95, 0.85, 1.1)
    return Target(engines, trainer, decode, training, training, training, "published pairs", fixed_frac=0.1)


def check(found: Projection) -> None:
    """Every target is projected, and every phase of it was drawn."""
    assert found.step_s.shape == (DRAWS, PLATFORMS) and len(found.phases) == len(PHASES)
    assert np.isfinite(found.step_s).all() and not any(found.unknown)
    assert (found.step_s.std(axis=0) > 0).sum() >= PLATFORMS - 1


def main() -> int:
    run = measured_run()
    asked = targets(run)
    check(project(*run, asked, DRAWS))
    taken, read, plain = [], [], []
    for seed in range(REPEATS):
        start = time.perf_counter()
        found = project(*run, asked, DRAWS, seed)
        taken.append(time.perf_counter() - start)
        start = time.perf_counter()
        found.breakdown()
        read.append(time.perf_counter() - start)
        start = time.perf_counter()
        np.ones((DRAWS, 1)) * np.ones(PLATFORMS)
        plain.append(time.perf_counter() - start)
    median, product = statistics.median(taken), statistics.median(plain)
    print(
        f"projection: {DRAWS:,} draws x {PLATFORMS} platforms, median {median:.3f} s of {REPEATS} "
        f"(limit {LIMIT_S} s), {DRAWS * PLATFORMS / median:,.0f} model evaluations (whole steps) a second, "
        f"{DRAWS * PLATFORMS * len(PHASES) / median:,.0f} phases a second; {median / product:,.0f} times one "
        f"product of that shape ({product * 1e3:.2f} ms); percentiles {statistics.median(read):.3f} s"
    )
    return int(median > LIMIT_S)


if __name__ == "__main__":
    sys.exit(main())
