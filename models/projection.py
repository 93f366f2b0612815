"""A measured run carried to other platforms: seconds of a phase x transfer ratio x pair factor x draws."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
import numpy.typing as npt

from models.calibration import Calibration
from models.moves import PHASES, Band, Move, Target, move
from models.operating import Operating
from models.shapes import Num
from models.stats import z_value
from models.step_time import Mode, Phases, step_time
from models.workload import Floats, Measured, Workload

__all__ = ["FLOOR_FRAC", "PHASES", "SCALES_WITH", "Band", "Projection", "Target", "composed", "project"]

FLOOR_FRAC = 0.15
"""Nothing on another platform is known better than this from p10 to p90: the same recipe on the same GPUs
differs by 1.15x between versions of a framework (median of ten published pairs), 1.08x between containers.
"""
LOPSIDED = 1e-3
FLOOR_SIGMA = -math.log(1 - FLOOR_FRAC) / z_value(0.8)
SCALES_WITH: Mapping[str, str] = {
    "rollout_work": "HBM bandwidth, memory (batch), replicas",
    "rollout_tail": "HBM bandwidth of one replica; not the count of GPUs",
    "prefill": "FLOP/s and GPUs",
    "logprob": "FLOP/s and GPUs",
    "train": "FLOP/s and GPUs",
    "weight_sync": "bytes and copies, at the measured GB/s",
    "env": "nothing: CPUs stay",
    "other": "nothing",
    "unattributed": "nothing",
}
ENGINE_SIDE = ("rollout_work", "rollout_tail", "prefill", "env")
TRAINER_SIDE = ("logprob", "train")
COLUMNS = {
    "rollout_work": "rollout_s",
    "rollout_tail": "rollout_s",
    "prefill": "rollout_s",
    "logprob": "logprob_s",
    "train": "train_s",
    "weight_sync": "sync_s",
    "env": "env_s",
    "other": "other_s",
}


@dataclass(frozen=True, eq=False)
class Projection:
    """Draws of a step on every target; arrays have shape (draws, targets), NaN where something is unknown.

    `phases`: seconds of a phase itself. `exposed`: what it adds to the step, 0 while the other pool hides it;
    they add up to `step_s`. `whole_step_s`: the rule for steps as a whole, beside the phases; where the run
    has no phases (`basis` "whole step") it is the step. `software`: the factor of the shared noise floor.
    `moves` has one entry a target.
    """

    phases: Mapping[str, Floats]
    exposed: Mapping[str, Floats]
    step_s: Floats
    tokens_per_s_per_gpu: Floats
    whole_step_s: Floats
    software: Floats
    moves: tuple[Move, ...]
    basis: Literal["phases", "whole step"]
    mode: Mode
    lag: float
    overlap: float

    @property
    def gpus(self) -> Floats:
        """GPUs of every target (targets,)."""
        return np.array([one.gpus for one in self.moves], dtype=np.float64)

    @property
    def whole_step_ratio(self) -> Floats:
        """Central ratio of the rule for whole steps (targets,)."""
        return np.array([one.whole_ratio for one in self.moves])

    @property
    def unknown(self) -> tuple[tuple[str, ...], ...]:
        """Names of what is not published, or why a phase cannot be projected, a target."""
        return tuple(one.unknown for one in self.moves)

    @property
    def cautions(self) -> tuple[tuple[str, ...], ...]:
        """Assumptions of each move in words."""
        return tuple(one.cautions for one in self.moves)

    @property
    def operating(self) -> tuple[Operating | None, ...]:
        """Where the engines operate on every target; None when unknown."""
        return tuple(one.operating for one in self.moves)

    @property
    def same(self) -> tuple[bool, ...]:
        """True for a target that is the run itself."""
        return tuple(one.same for one in self.moves)

    def breakdown(self) -> dict[str, Floats]:
        """p10, p50, p90 along the first axis (3, targets), of every phase and of the totals."""
        totals = {
            "step_s": self.step_s,
            "tokens_per_s_per_gpu": self.tokens_per_s_per_gpu,
            "whole_step_s": self.whole_step_s,
        }
        return {name: percentiles(draws) for name, draws in {**self.phases, **totals}.items()}

    def drivers(self) -> dict[str, tuple[Floats, Floats]]:
        """Shares (targets,) of a phase in the variance of the log step and in its mean seconds.

        Covariance of the exposed seconds with the step over its variance, before the noise floor, which all
        phases share and which stands as `software`; shares add up to 1. Variance shares are NaN for the run
        itself, which has none.
        """
        total = self.step_s / self.software
        spread, floor = np.log(total).var(axis=0), np.log(self.software).var(axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            own = spread / (spread + floor)
            found = {}
            for phase, exposed in self.exposed.items():
                part = exposed / self.software
                moved = ((part - part.mean(axis=0)) * (total - total.mean(axis=0))).mean(axis=0)
                variance = np.where(spread > 0, own * moved / total.var(axis=0), 0.0 * own)
                found[phase] = (variance, part.mean(axis=0) / total.mean(axis=0))
            found["software"] = (floor / (spread + floor), 0.0 * floor)
        return found

    def recomposed(self, scale: Mapping[str, Num]) -> Floats:
        """Step seconds when phases take `scale` times their seconds, composed in the run's mode.

        Raises ValueError for a name that is no phase, or where the run has no phases.
        """
        if unknown := set(scale) - set(PHASES):
            raise ValueError(f"phases are {', '.join(PHASES)}: {', '.join(sorted(unknown))}")
        if self.basis != "phases":
            raise ValueError("a step without timed phases has none to change")
        seconds = {name: draws * scale.get(name, 1.0) for name, draws in self.phases.items()}
        return composed(seconds, self.mode, self.lag) * self.overlap


def percentiles(draws: Floats) -> Floats:
    """p10, p50, p90 of draws (draws, targets) along the first axis; NaN where draws are."""
    found: Floats = np.percentile(draws, [10, 50, 90], axis=0)
    return found


def project(
    workload: Workload,
    measured: Measured,
    calibration: Calibration,
    targets: Sequence[Target],
    draws: int = 10_000,
    seed: int = 0,
) -> Projection:
    """Draws of a run's step on other pools: mean measured seconds x central ratio x log-normals, a phase.

    Spread of a phase: its pair factor's p10..p90, each side by its own; the standard error of its mean over
    steps; the noise floor that all phases of a step share, because published pairs were matched in their
    software and a run moves to another one; a tail that lengths do not tell is drawn evenly over its range.
    Phases are composed in the run's own mode (`step_time`). The run's own pools give the measured seconds in
    every draw. Without timed generation and training the step follows the rule for whole steps. Raises
    ValueError without a target or with fewer than 100 draws.
    """
    if not targets or draws < 100:
        raise ValueError(f"a target and at least 100 draws are needed: {len(targets)}, {draws}")
    moves = tuple(move(workload, measured, calibration, target) for target in targets)
    noise = _Noise.of(moves, draws, seed)
    phases = {phase: _phase(phase, moves, noise, measured) for phase in PHASES}
    if calibration.split is not None and calibration.split.tail_range[0] < calibration.split.tail_range[2]:
        _spread_tail(phases, calibration.split.tail_range, noise)
    whole = _whole(moves, noise, measured, calibration.step_s)
    basis: Literal["phases", "whole step"] = "phases" if measured.has_phases else "whole step"
    if basis == "whole step":
        phases = {phase: np.full_like(whole, math.nan) for phase in PHASES}
    return _projection(workload, moves, noise, phases, whole, calibration.overlap, basis)


def _projection(
    workload: Workload,
    moves: tuple[Move, ...],
    noise: "_Noise",
    phases: dict[str, Floats],
    whole: Floats,
    overlap: float,
    basis: Literal["phases", "whole step"],
) -> Projection:
    """Phases (targets, draws) composed in the run's mode; the whole step where there are none."""
    exposed, total = phases, whole
    if basis == "phases":
        exposed, total = _exposed(phases, workload.mode, workload.lag, overlap)
    held = np.array([one.gpus for one in moves], dtype=np.float64)
    return Projection(
        phases={phase: array.T for phase, array in phases.items()},
        exposed={phase: array.T for phase, array in exposed.items()},
        step_s=total.T,
        tokens_per_s_per_gpu=(workload.tokens / (total * held[:, None])).T,
        whole_step_s=whole.T,
        software=noise.software.T,
        moves=moves,
        basis=basis,
        mode=workload.mode,
        lag=workload.lag,
        overlap=overlap,
    )


@lru_cache(maxsize=4)
def _normals(targets: int, draws: int, seed: int) -> Mapping[str, Floats]:
    """Standard normals (targets, draws) by what they belong to, (draws,) of means; an even draw for the tail.

    Read-only and remembered: counts of GPUs and scenarios are compared in the same draws.
    """
    rng = np.random.default_rng(seed)
    shared = ("software", "decode", "training", "step")
    found = {name: rng.standard_normal((targets, draws)) for name in shared}
    found |= {name: rng.standard_normal(draws) for name in (*dict.fromkeys(COLUMNS.values()), "step_s")}
    found["tail"] = rng.random(draws)
    for draw in found.values():
        draw.setflags(write=False)
    return found


@dataclass(frozen=True)
class _Noise:
    """Factors of every target's draws; phases that share a chip share its normals.

    A band with unequal sides is shifted so that its median under the noise floor stays the central value.
    """

    same: npt.NDArray[np.bool_]
    software: Floats
    normals: Mapping[str, Floats]
    speeds: dict[tuple[object, ...], Floats]

    @classmethod
    def of(cls, moves: Sequence[Move], draws: int, seed: int) -> "_Noise":
        same = np.array([one.same for one in moves])
        normals = _normals(len(moves), draws, seed)
        software = np.exp(FLOOR_SIGMA * normals["software"])
        software[same] = 1.0
        return cls(same, software, normals, {})

    def seconds(self, central: Floats, sigmas: Floats, which: str, mean: Floats | float) -> Floats:
        """Central seconds (targets,) with noise of speed (sigmas: targets, 2), of mean, and shared."""
        drawn: Floats = central[:, None] * (self.software * mean)
        if sigmas.any():
            drawn /= self._speed(sigmas, which)
        drawn[self.same] = central[self.same, None]
        return drawn

    def _speed(self, sigmas: Floats, which: str) -> Floats:
        key = (which, sigmas.tobytes())
        if key not in self.speeds:
            normal = self.normals[which]
            speed = np.exp(np.where(normal < 0, sigmas[:, :1], sigmas[:, 1:]) * normal)
            lopsided = np.abs(sigmas[:, 0] - sigmas[:, 1]) > LOPSIDED
            if lopsided.any():
                median = np.median(self.software[lopsided] / speed[lopsided], axis=1, keepdims=True)
                speed[lopsided] *= median
            self.speeds[key] = speed
        return self.speeds[key]


def _phase(phase: str, moves: Sequence[Move], noise: _Noise, measured: Measured) -> Floats:
    which = "decode" if phase in ("rollout_work", "rollout_tail") else "training"
    central = np.array([one.seconds[phase] for one in moves])
    sigmas = np.array([one.sigmas[phase] for one in moves])
    column = COLUMNS.get(phase)
    mean = 1.0 if column is None else np.exp(measured.mean_sigma(column) * noise.normals[column])
    return noise.seconds(central, sigmas, which, mean)


def _whole(moves: Sequence[Move], noise: _Noise, measured: Measured, step_s: float) -> Floats:
    """Draws of the rule for whole steps."""
    central = step_s * np.array([one.whole_ratio for one in moves])
    sigmas = np.array([one.whole_sigmas for one in moves])
    mean = np.exp(measured.mean_sigma("step_s") * noise.normals["step_s"])
    return noise.seconds(central, sigmas, "step", mean)


def _spread_tail(phases: dict[str, Floats], tail: tuple[float, float, float], noise: _Noise) -> None:
    """Move seconds between work and tail: the share of the tail is drawn evenly over its range."""
    low, usual, high = tail
    share = low + (high - low) * noise.normals["tail"]
    moved = ~noise.same
    phases["rollout_work"][moved] *= (1 - share) / (1 - usual)
    phases["rollout_tail"][moved] *= share / usual


def composed(seconds: Mapping[str, Num], mode: Mode, lag: float) -> Floats:
    """Step seconds of phases (numbers or draws; all of `PHASES`), by `models.step_time`, without overlap."""
    phases = Phases(
        work_s=seconds["rollout_work"] + seconds["prefill"],
        tail_s=seconds["rollout_tail"],
        logprob_s=seconds["logprob"],
        train_s=seconds["train"],
        sync_s=seconds["weight_sync"],
        tools_s=seconds["env"],
        other_s=seconds["other"] + seconds["unattributed"],
    )
    return np.asarray(step_time(phases, mode, lag).total_s)


def _exposed(
    seconds: Mapping[str, Floats], mode: Mode, lag: float, overlap: float
) -> tuple[dict[str, Floats], Floats]:
    """What each phase adds to the step, and the step.

    The pool that takes longer is exposed and the other one hidden. Where streams make the tail longer than
    the work, phases of the engines count by 1 / (lag + 1), else the tail is hidden.
    """
    total = composed(seconds, mode, lag) * overlap
    weights: dict[str, Num] = {phase: np.float64(overlap) for phase in PHASES}
    if mode in ("one_step_off", "async"):
        trainer = seconds["logprob"] + seconds["train"]
        flow = sum((seconds[phase] for phase in ENGINE_SIDE if phase != "rollout_tail"), np.zeros(1))
        whole = flow + seconds["rollout_tail"]
        spans = lag + 1 if mode == "async" else 1.0
        tailed = (whole / spans > flow) | (mode == "one_step_off")
        engines = np.where(tailed, whole / spans, flow)
        longer = engines >= trainer
        for phase in ENGINE_SIDE:
            alone = 0.0 if phase == "rollout_tail" else 1.0
            weights[phase] = np.where(longer, overlap, 0.0) * np.where(tailed, 1 / spans, alone)
        for phase in TRAINER_SIDE:
            weights[phase] = np.where(longer, 0.0, overlap)
    return {phase: draws * weights[phase] for phase, draws in seconds.items()}, total
