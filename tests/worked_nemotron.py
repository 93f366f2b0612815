"""The RLVR stage of Nemotron 3 Ultra out of its published shape and of priors: docs/nemotron-3-ultra.md.

Nobody published its step minutes. Draws of priors go through the models that the app uses.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from analysis.pairfactors import PairFactor, pair_factor
from data.catalogue import load_catalogue
from data.recipes import Recipe, recipe
from data.shapes import llm_of, machine_of
from models.calibration import Calibration, calibrate
from models.decode import DecodeFactors, decode_step
from models.lengths import Lengths
from models.logprob import SHARE_OF_TRAINING
from models.machine import Rates
from models.operating import engine_load, source_operating
from models.projection import Band, Projection, Target, project
from models.rollout_split import prompts_s
from models.shapes import Num
from models.step_time import Phases, StepTime, step_time
from models.training import TrainLoad, training
from models.workload import Measured, Pool, Workload

Floats = npt.NDArray[np.float64]
BOOK = load_catalogue()
STAGES = tuple(recipe(BOOK, f"ultra-rlvr-phase{n}") for n in (1, 2))
SUPER = recipe(BOOK, "super-rlvr1-b200")
BLACKWELL, REFRESH, RUBIN = "gb200-nvl72", "gb300-nvl72", "vera-rubin-nvl72"
MODELS = {"ultra": "nemotron-3-ultra", "super": "nemotron-3-super"}
REPLICA_GPUS, MAX_BATCH, LAG = 8, 256.0, 1.0
"""Printed in the recipe of Ultra: engines of TP8 with 256 sequences; trajectories at most one step old."""
DRAFTING = 1.46
"""Published speed-up of Ultra's rollouts by five drafted tokens (claim rl-mtp-1.46)."""
DRAWS, REPEATS, SEED = 200, 20, 20260603
"""Draws of the priors, each met by so many draws of the move to another platform."""
ETA_PREFILL = 0.1
PARTS = ("rollout_work", "rollout_tail", "prefill", "logprob", "train", "weight_sync", "other")
SEEN = ("in_flight", "token_s")
"""Sequences in flight a replica and seconds a token, beside the phases."""


@dataclass(frozen=True)
class Prior:
    """A quantity that was not published: p10 and p90 of a log-normal."""

    low: float
    high: float

    @property
    def middle(self) -> float:
        """Median."""
        return math.sqrt(self.low * self.high)


PRIORS: Mapping[str, Prior] = {
    "mean response": Prior(8_000, 24_000),
    "spread of responses": Prior(0.7, 1.1),
    "prompt": Prior(500, 4_000),
    "share of bandwidth": Prior(0.5, 0.9),
    "constant of a layer": Prior(35e-6, 90e-6),
    "training, share of peak": Prior(0.12, 0.25),
    "log-probs over training": Prior(SHARE_OF_TRAINING[0], SHARE_OF_TRAINING[2]),
    "weight sync": Prior(2.32, 14.21),
    "everything else": Prior(0.02, 0.08),
}


def drawn() -> list[dict[str, float]]:
    """Draws of all priors, independent; each prior fills its own quantiles evenly (McKay et al. 1979)."""
    rng, z = np.random.default_rng(SEED), float(ndtri(0.9))
    even = ndtri((np.arange(DRAWS) + 0.5) / DRAWS) / z
    rows = {
        name: prior.middle * np.exp(rng.permutation(even) * math.log(prior.high / prior.middle))
        for name, prior in PRIORS.items()
    }
    return [{name: float(values[n]) for name, values in rows.items()} for n in range(DRAWS)]


def middle() -> dict[str, float]:
    """Every prior at its median."""
    return {name: prior.middle for name, prior in PRIORS.items()}


def lengths_of_mean(mean: float, sigma: float, cap: float) -> Lengths:
    """Log-normal responses cut at the cap, whose mean after the cut is `mean`."""
    grid = np.exp(sigma * ndtri((np.arange(400) + 0.5) / 400))
    low, high = math.log(mean) - 2, math.log(cap) + 4
    for _ in range(40):
        half = (low + high) / 2
        low, high = (half, high) if np.minimum(math.exp(half) * grid, cap).mean() < mean else (low, half)
    return Lengths(np.maximum(np.minimum(math.exp(high) * grid, cap), 1.0), np.full(400, 1 / 400))


def workload_of(stage: Recipe, at: Mapping[str, float]) -> Workload:
    """A stage as a workload, at one draw of the priors."""
    room = float(stage.max_sequence_length or 0) - at["prompt"]
    lengths = lengths_of_mean(min(at["mean response"], 0.8 * room), at["spread of responses"], room)
    machine, gpus = machine_of(BOOK, stage.platform_id), int(stage.gpus_per_node or 0)
    rollouts = float(stage.global_batch or 0)
    own = stage.model == "ultra"
    return Workload(
        llm=llm_of(BOOK, MODELS[stage.model]),
        mode="async",
        lag=LAG,
        rollouts=rollouts,
        group=float(stage.generations_per_prompt or 1),
        prompt_tokens=at["prompt"],
        lengths=lengths,
        trained_tokens=rollouts * (at["prompt"] + lengths.mean),
        updates=1.0,
        engines=Pool(machine, gpus * int(stage.nodes_generation or 0), "bf16"),
        trainer=Pool(machine, gpus * int(stage.nodes_train or 0), "bf16"),
        replica_gpus=REPLICA_GPUS if own else None,
        max_batch=MAX_BATCH if own else None,
    )


@dataclass(frozen=True)
class Engines:
    """Engines of a stage: sequences in flight a replica, seconds a token, steps of the longest response."""

    in_flight: float
    token_s: float
    longest_steps: float
    cycle_s: float


def engines_of(workload: Workload, at: Mapping[str, float], drafting: float) -> Engines:
    """Shortest cycle of engines that stream: throughput at the largest batch, and half the longest response.

    Sequences in flight follow from Little's law, B = rate x mean length x seconds a token; a response may
    last lag + 1 cycles. Solved by iteration, because seconds a token rise with B.
    """
    most, unknown = source_operating(workload, DecodeFactors())
    if most is None:
        raise ValueError(f"engines cannot be placed: {unknown}")
    factors = DecodeFactors(eta_bandwidth=at["share of bandwidth"], layer_s=at["constant of a layer"])
    rates = Rates.of(workload.engines.machine, "bf16")

    def token_s(batch: float) -> float:
        load = engine_load(workload, workload.engines, most, batch)
        return float(decode_step(workload.llm, load, rates, factors).total_s) / drafting

    tokens = workload.response_tokens / most.replicas
    fastest = tokens / most.batch * token_s(most.batch)
    batch, cycle = most.batch, fastest
    for _ in range(8):
        cycle = max(fastest, most.total_steps * token_s(batch) / (LAG + 1))
        batch = tokens * token_s(batch) / cycle
    return Engines(batch, token_s(batch), most.total_steps, cycle)


def composed(seconds: Mapping[str, Num]) -> StepTime:
    """A step in the mode of the recipe: streams with trajectories of age <= 1, weights swapped in flight."""
    found = {name: seconds.get(name, 0.0) for name in PARTS}
    phases = Phases(
        work_s=found["rollout_work"] + found["prefill"],
        tail_s=found["rollout_tail"],
        logprob_s=found["logprob"],
        train_s=found["train"],
        sync_s=found["weight_sync"],
        other_s=found["other"],
    )
    return step_time(phases, "async", LAG)


def seconds_of(workload: Workload, at: Mapping[str, float], drafting: float) -> dict[str, float]:
    """Seconds of every phase on the stage's own platform at one draw of the priors."""
    engines, llm = engines_of(workload, at, drafting), workload.llm
    rates = Rates.of(workload.trainer.machine, "bf16")
    load = TrainLoad(workload.trained_tokens, workload.mean_seq_len, workload.trainer.gpus, recompute="full")
    train = float(training(llm, load, rates, at["training, share of peak"]).total_s)
    found = {
        "rollout_work": engines.cycle_s,
        "rollout_tail": max(engines.longest_steps * engines.token_s - engines.cycle_s, 0.0),
        "prefill": prompts_s(workload, ETA_PREFILL),
        "logprob": train * at["log-probs over training"],
        "train": train,
        "weight_sync": at["weight sync"],
        "in_flight": engines.in_flight,
        "token_s": engines.token_s,
    }
    share = at["everything else"]
    return found | {"other": float(composed(found).total_s) * share / (1 - share)}


@cache
def draws_of(stage: Recipe, drafting: float = DRAFTING) -> dict[str, Floats]:
    """Seconds of every phase of a step on the stage's own platform, an array of draws each."""
    rows = [seconds_of(workload_of(stage, at), at, drafting) for at in drawn()]
    return {name: np.tile([row[name] for row in rows], REPEATS) for name in (*PARTS, *SEEN)}


def factor(phase: str, platform: str) -> PairFactor:
    """Factor of published pairs from GB200, at BF16 for a mixture of experts."""
    return pair_factor(BOOK, phase, BLACKWELL, platform, precision="bf16", moe=True)  # type: ignore[arg-type]


def band(phase: str, platform: str) -> Band:
    """The same as a band of the projection."""
    found = factor(phase, platform)
    return Band(found.factor, found.low, found.high)


@cache
def projected(stage: Recipe, platform: str) -> tuple[Calibration, Projection]:
    """The stage at the median of all priors on its own platform (first) and another, GPUs and format equal.

    Drafting is left out of both sides: it divides the rollouts of either platform alike.
    """
    at = middle()
    workload = workload_of(stage, at)
    plain = seconds_of(workload, at, 1.0)
    step = composed(plain)
    measured = Measured(
        rollout_s=np.array([float(step.engines_s)]),
        logprob_s=np.array([plain["logprob"]]),
        train_s=np.array([plain["train"]]),
        sync_s=np.array([plain["weight_sync"]]),
        other_s=np.array([plain["other"]]),
        step_s=np.array([float(step.total_s)]),
    )
    found = calibrate(workload, measured)
    targets = [target_on(workload, name) for name in (stage.platform_id, platform)]
    return found, project(workload, measured, found, targets, draws=DRAWS * REPEATS, seed=SEED)


def target_on(workload: Workload, platform: str) -> Target:
    """As many GPUs of a platform, BF16 in both pools."""
    machine = machine_of(BOOK, platform)
    return Target(
        engines=Pool(machine, workload.engines.gpus, "bf16"),
        trainer=Pool(machine, workload.trainer.gpus, "bf16"),
        decode=band("decode", platform),
        training=band("training", platform),
        prefill=band("training", platform),
        step=band("rl_step", platform),
        basis=factor("training", platform).basis,
    )


@cache
def carried(stage: Recipe, platform: str) -> dict[str, Floats]:
    """Draws of every phase on another platform: those of the stage x draws of the projected ratio.

    A longest response that no step waits for follows the other tokens.
    """
    found = projected(stage, platform)[1].phases
    ratios = {name: found[name][:, 1] / np.where(found[name][:, 0] > 0, found[name][:, 0], np.nan)
              for name in PARTS}  # fmt: skip
    if np.isnan(ratios["rollout_tail"]).all():
        ratios["rollout_tail"] = ratios["rollout_work"]
    return {name: draws_of(stage)[name] * ratios[name] for name in PARTS}
