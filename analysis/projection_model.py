"""From a measured run to projected steps: the run as models see it, its calibration, and its targets."""

import math
from collections.abc import Sequence, Set
from dataclasses import dataclass, replace

import numpy as np

from analysis.pairfactors import step_fixed_share
from analysis.projection_belief import apart, cause_of, stretched
from analysis.projection_money import Floats, PointCost, Rent, Rents
from analysis.projection_params import ProjectionParams
from analysis.projection_run import SourceRun
from analysis.projection_seen import Base, Seen
from analysis.projection_targets import (
    Aim,
    Count,
    Factors,
    factors_of,
    same_budget,
    same_gpus,
    target_of,
    unit_of,
)
from analysis.projection_unknown import no_count_words, unknown_words
from analysis.projection_whole import whole_draws, whole_parts, whole_ratio
from data.catalogue import Catalogue
from data.shapes import llm_of, machine_of
from models.calibration import Calibration, calibrate
from models.gpu_count import GpuCount, gpus_for_step_time
from models.moves import EXACT
from models.projection import COLUMNS, PHASES, Projection, Target, project
from models.workload import Measured, Pool, Workload

COUNT_DRAWS = 1_000
MOST_TIMES = 16
"""GPUs beyond this multiple of the run's are no answer."""


@dataclass(frozen=True)
class Modelled:
    """A run with phases as models see it."""

    workload: Workload
    measured: Measured
    calibration: Calibration

    @property
    def refused(self) -> bool:
        """True when a phase contradicts physics that the projection rests on; a weight sync faster than its
        links (adapters alone, for instance) is kept as measured.
        """
        return self.calibration.refused("rollout", "train", "logprob", "step")


def modelled(book: Catalogue, params: ProjectionParams, source: SourceRun) -> Modelled | None:
    """The run as a workload with its calibration; None where `source.gaps` says what is missing."""
    if source.gaps or source.blocked:
        return None
    workload = workload_of(book, params, source)
    measured = measured_of(source)
    return Modelled(workload, measured, calibrate(workload, measured))


def workload_of(book: Catalogue, params: ProjectionParams, source: SourceRun) -> Workload:
    """What the run does in a step. Raises ValueError where the run has gaps."""
    pools, tokens, told, found = source.pools, source.tokens, source.timed, source.lengths
    if pools.mode is None or pools.engines is None or pools.trainer is None or tokens is None:
        raise ValueError(f"{source.run} has gaps")
    if told is None or found is None or found.lengths is None:
        raise ValueError(f"{source.run} has gaps")
    engines = machine_of(book, pools.engines.platform_id)
    trainer = machine_of(book, pools.trainer.platform_id)
    return Workload(
        llm=llm_of(book, source.llm),
        mode=pools.mode,
        lag=max(1.0, math.ceil(tokens.staleness)) if tokens.staleness > 0 else 1.0,
        rollouts=tokens.rollouts,
        group=max(1.0, tokens.rollouts / tokens.groups) if tokens.groups > 0 else 1.0,
        prompt_tokens=tokens.prompt / tokens.rollouts,
        lengths=found.lengths,
        trained_tokens=tokens.trained if tokens.trained > 0 else tokens.both,
        updates=1.0,
        engines=Pool(engines, pools.engines.gpus, params.source_gen_precision),
        trainer=Pool(trainer, pools.trainer.gpus, params.source_train_precision),
        tail_known=found.known,
        replica_gpus=params.replica_gpus or None,
        passes=float(told.passes),
    )


def measured_of(source: SourceRun) -> Measured:
    """Its seconds by step."""
    if source.timed is None:
        raise ValueError(f"{source.run} has no timed steps")
    phases = source.timed.phases
    return Measured(
        rollout_s=phases.get("rollout"),
        logprob_s=phases.get("logprob"),
        train_s=phases.get("train"),
        sync_s=phases.get("sync"),
        env_s=phases.get("env"),
        other_s=phases.get("other"),
        step_s=source.timed.step_s,
    )


@dataclass(frozen=True)
class Asked:
    """What a projection is asked: the book and its prices, the parameters, the run and its models."""

    book: Catalogue
    params: ProjectionParams
    source: SourceRun
    rents: Rents
    model: Modelled | None

    @property
    def is_moe(self) -> bool | None:
        """True for a mixture of experts; None for a model without a known shape: bands are then the wider."""
        known = self.book.llm(self.source.llm) is not None
        return llm_of(self.book, self.source.llm).is_moe if known else None


def seen_on(asked: Asked, aims: Sequence[Aim]) -> list[Seen]:
    """Every target: GPUs as held, seconds as drawn, GPUs for the step time of the run; or what is missing."""
    found = [_held(asked, aim) for aim in aims]
    placed = [(at, one) for at, one in enumerate(found) if one.count.gpus]
    if not placed:
        return found
    targets = [placed_target(asked, one.aim, one.count, one.factors) for _, one in placed]
    for (at, one), target in zip(placed, targets, strict=True):
        found[at] = _with_whole(asked, one, target)
    model = asked.model
    if model is None:
        return found
    for (at, _), target in zip(placed, targets, strict=True):
        # one at a time, so that a number does not change with the platforms that stand beside it
        drawn = project(
            model.workload, model.measured, model.calibration, [target], asked.params.draws, asked.params.seed
        )
        found[at] = _drawn(asked.book, found[at], drawn)
        found[at] = _with_cause(asked, found[at], target)
    return found


def placed_target(asked: Asked, aim: Aim, count: Count, factors: Factors) -> Target:
    """A target with its GPUs; the share that did not scale is a penalty on more GPUs, no gift to fewer."""
    target = target_of(asked.book, aim, count, factors)
    pools = asked.source.pools
    own = 0 if pools.engines is None or pools.trainer is None else pools.engines.gpus + pools.trainer.gpus
    more = target.engines.gpus + target.trainer.gpus > own
    return target if more else replace(target, fixed_frac=0.0)


def _held(asked: Asked, aim: Aim) -> Seen:
    """A target with its GPUs, before its seconds: NaN draws and a reason where there is no count."""
    book, source, params = asked.book, asked.source, asked.params
    factors = factors_of(book, source, aim, params.on_source, asked.is_moe)
    count, cycle = same_gpus(source, aim, book), None
    rent = asked.rents.of_aim(aim, count)
    if count.gpus:
        cycle = _cycle(asked, aim, count, factors)
        if params.hold == "budget":
            count = same_budget(count, count.gpus * rent.usd, source.usd_per_h, book, aim)
        elif params.hold == "step_time":
            count = _of_cycle(asked, count, cycle)
    nothing = np.full(params.draws, np.nan)
    missing = (count.missing,) if count.missing else ()
    return Seen(aim, count, rent, factors, nothing, nothing, cycle=cycle, missing=missing)


def _cycle(asked: Asked, aim: Aim, count: Count, factors: Factors) -> GpuCount | None:
    """Smallest count in whole nodes or trays whose median step is not longer than the run's."""
    model = asked.model
    if model is None or model.refused:
        return None
    target = target_of(asked.book, aim, count, factors)
    unit = max(unit_of(machine_of(asked.book, one)) for one in aim.platforms)

    def smallest(fixed_frac: float) -> GpuCount:
        return gpus_for_step_time(
            model.workload,
            model.measured,
            model.calibration,
            replace(target, fixed_frac=fixed_frac),
            asked.source.step_s,
            unit=unit,
            most=MOST_TIMES * max(asked.source.gpus, unit),
            draws=COUNT_DRAWS,
            seed=asked.params.seed,
        )

    found = smallest(0.0)
    fewer = found.gpus is not None and found.gpus <= asked.source.gpus
    return found if fewer or found.unknown else smallest(target.fixed_frac)


def _of_cycle(asked: Asked, count: Count, cycle: GpuCount | None) -> Count:
    """The count that gives the run's step time, or why there is none."""
    if cycle is None:
        return Count(missing="equal step time needs the phases of the run: only its whole step is projected")
    if cycle.engines is None or cycle.trainer is None:
        facts = unknown_words(asked.book, cycle.unknown)
        return Count(missing=facts[0] if facts else no_count_words(cycle))
    return Count(cycle.engines, cycle.trainer, count.one_pool)


def _drawn(book: Catalogue, one: Seen, drawn: Projection) -> Seen:
    """A target with its projection, the only column of `drawn`."""
    step_s = drawn.step_s[:, 0]
    return replace(
        one,
        step_s=step_s if drawn.same[0] else stretched(step_s, one.whole_step_s),
        phases_step_s=step_s,
        apart=not drawn.same[0] and apart(step_s, one.whole_step_s),
        phases={name: values[:, 0] for name, values in drawn.phases.items()},
        exposed={name: values[:, 0] for name, values in drawn.exposed.items()},
        drivers={name: (float(v[0]), float(s[0])) for name, (v, s) in drawn.drivers().items()},
        missing=(*one.missing, *unknown_words(book, drawn.unknown[0])),
        cautions=drawn.cautions[0],
        same=drawn.same[0],
    )


def _with_whole(asked: Asked, one: Seen, target: Target) -> Seen:
    """A target with the rule for whole steps, which is its step where no phases are known."""
    params = asked.params
    own, fixed = _own_pools(asked), step_fixed_share(asked.book)
    ratio = whole_ratio(*own, target, fixed)
    sigma = measured_of(asked.source).mean_sigma("step_s")
    whole_s = whole_draws(asked.source.step_s, sigma, ratio, target.step, params.draws, params.seed)
    found = replace(one, whole_step_s=whole_s, whole_ratio=ratio, half_ratio=_half_ratio(own, target, fixed))
    if asked.model is not None:
        return found
    words = "the bandwidth, the peak or a published pair of whole steps is missing"
    missing = (words,) if math.isnan(ratio) else ()
    return replace(found, step_s=whole_s, missing=(*one.missing, *missing))


def _half_ratio(own: tuple[Pool, Pool], target: Target, fixed: float) -> float:
    """The rule on half the run's GPUs, as most published pairs are; NaN where a pool cannot be halved."""
    if own[0].gpus % 2 or own[1].gpus % 2:
        return math.nan
    engines, trainer = (
        replace(pool, gpus=mine.gpus // 2)
        for pool, mine in zip((target.engines, target.trainer), own, strict=True)
    )
    return whole_ratio(*own, replace(target, engines=engines, trainer=trainer), fixed)


def _own_pools(asked: Asked) -> tuple[Pool, Pool]:
    """Engines and trainer of the run."""
    pools, params = asked.source.pools, asked.params
    if pools.engines is None or pools.trainer is None:
        raise ValueError(f"{asked.source.run} has no pools")
    engines = machine_of(asked.book, pools.engines.platform_id)
    trainer = machine_of(asked.book, pools.trainer.platform_id)
    return (
        Pool(engines, pools.engines.gpus, params.source_gen_precision),
        Pool(trainer, pools.trainer.gpus, params.source_train_precision),
    )


def _with_cause(asked: Asked, one: Seen, target: Target) -> Seen:
    """A target with what makes its two models disagree, where they do."""
    if not one.apart:
        return one
    parts = whole_parts(*_own_pools(asked), target, step_fixed_share(asked.book))
    return replace(one, cause=cause_of(asked.source.step_s, parts, one.exposed))


def source_base(asked: Asked, point: PointCost, taken: Set[str]) -> Base:
    """The run as measured, with draws of the mean of its steps; `taken`: names that targets have."""
    source, params = asked.source, asked.params
    ids = tuple(dict.fromkeys(pool.platform_id for pool in source.pools.each))
    target = "+".join(ids)
    rng = np.random.default_rng(params.seed + 1)
    step_s = _around(source.step_s, measured_of(source).mean_sigma("step_s"), rng, params.draws)
    phases: dict[str, Floats] = {}
    exposed: dict[str, Floats] = {}
    if asked.model is not None:
        model = asked.model
        own = Target(model.workload.engines, model.workload.trainer, EXACT, EXACT, EXACT, EXACT, "measured")
        drawn = project(model.workload, model.measured, model.calibration, [own], 100, params.seed)
        for name in PHASES:
            noise = _around(1.0, model.measured.mean_sigma(COLUMNS.get(name, "")), rng, params.draws)
            phases[name] = drawn.phases[name][0, 0] * noise
            exposed[name] = drawn.exposed[name][0, 0] * noise
    return Base(
        source,
        "measured" if target in taken else target,
        step_s,
        phases,
        exposed,
        _own_rent(asked),
        point,
    )


def _around(mean: float, sigma: float, rng: np.random.Generator, draws: int) -> Floats:
    out: Floats = mean * np.exp(sigma * rng.standard_normal(draws))
    return out


def _own_rent(asked: Asked) -> Rent:
    """What a GPU-hour of the run costs, its pools together."""
    pools = asked.source.pools.each
    ids = " + ".join(dict.fromkeys(p.price_id for p in pools if p.price_id))
    usd = asked.source.usd_per_h / asked.source.gpus
    lacking = [p.platform_id for p in pools if math.isnan(p.usd_per_gpu_h)]
    missing = " ".join(asked.rents.of(one).missing for one in lacking)
    return Rent("+".join(p.platform_id for p in pools), usd, price_id=ids, missing=missing)
