"""Where the step of a cadence comes from: a measured run, a stated step, or a model from scratch."""

import math
from dataclasses import dataclass, replace

import numpy as np

from analysis.cadence_params import CadenceParams
from analysis.candidates import candidates
from analysis.frames import NAN
from analysis.pairfactors import step_fixed_share
from analysis.projection_model import Asked, Modelled, measured_of, modelled
from analysis.projection_money import Rents
from analysis.projection_params import ProjectionParams, parse_quotes
from analysis.projection_pools import PoolOf, Pools
from analysis.projection_run import FEWEST, SourceRun, read_run
from analysis.projection_targets import unit_of
from analysis.words import listing
from data.catalogue import Catalogue
from data.errors import UserError
from data.operations import operation
from data.queries import projection as queries
from data.queries.filters import Filters
from data.shapes import llm_of, machine_of
from data.view import View
from models.calibration import calibrate
from models.lengths import lengths_of_quantiles
from models.scratch import SCRATCH_SIGMA, Scratch, scratch, split_pools
from models.workload import Pool, Workload

SYNC_FACT = "refit_nccl_reshard_dsv3_gb200"
SYNC_MODEL = "deepseek-v3"
STATED = "stated step"


@dataclass(frozen=True)
class Source:
    """What every fleet is carried from. `asked` holds the pools, prices and, where phases are known, models.

    `step_s` mean seconds of a step and `sigma` log spread of what nobody measured (0 for a run);
    `serial_frac`: share of a step that GPUs do not shorten where no phases say it, None: published pairs.
    `grown`: mean length at the end of the run over that at its start, by a straight line (NaN: not known).
    `blocked`: why there is no plan.
    """

    asked: Asked
    step_s: float
    sigma: float = 0.0
    serial_frac: float | None = None
    scratch: Scratch | None = None
    grown: float = NAN
    blocked: str = ""

    @property
    def run(self) -> SourceRun:
        """The run, measured or made of what was stated."""
        return self.asked.source

    @property
    def phased(self) -> bool:
        """True where phases are known, by timers or by models."""
        return self.asked.model is not None and not self.asked.model.refused

    @property
    def published_fixed(self) -> float:
        """Share that did not scale in published pairs of whole steps."""
        return step_fixed_share(self.asked.book)


def projection_params(params: CadenceParams) -> ProjectionParams:
    """The same question as the projection asks it."""
    return ProjectionParams(
        runs=params.runs,
        price=params.price,
        boundary=params.boundary,
        platforms=params.platforms,
        run=params.run,
        targets=params.targets,
        gen_precision=params.gen_precision,
        train_precision=params.train_precision,
        source_gen_precision=params.source_gen_precision,
        source_train_precision=params.source_train_precision,
        quotes=params.quotes,
        draws=params.draws,
        seed=params.seed,
    )


def source_of(view: View, params: CadenceParams) -> Source | None:
    """The source of `params`; None where the home holds no run to start from. Raises UserError for unknown
    runs, platforms and models.
    """
    book = view.catalogue
    for platform_id in parse_quotes(params.quotes):
        if book.platform(platform_id) is None:
            raise UserError(
                f"'{platform_id}' is no platform", "parameter quotes", "Write platform:USD: gb200-nvl72:4.2."
            )
    rents = Rents(book, params.price, parse_quotes(params.quotes))
    if params.basis == "stated":
        return _stated(book, params, rents)
    if params.basis == "model":
        return _from_scratch(book, params, rents)
    return _of_run(view, params, rents)


def _of_run(view: View, params: CadenceParams, rents: Rents) -> Source | None:
    asking = projection_params(params)
    tried: list[tuple[SourceRun, Modelled | None]] = []
    for name in candidates(view, params, params.run):
        run = read_run(view, name, params.price)
        model = modelled(view.catalogue, asking, run)
        tried.append((run, model))
        if model is not None and not model.refused:
            break
    if not tried:
        return None
    whole = [one for one in tried if not one[0].blocked]
    run, model = tried[-1] if tried[-1][1] is not None else (whole or tried)[0]
    if model is not None and model.refused:
        model = None
    asked = Asked(view.catalogue, asking, run, rents, model)
    if run.blocked:
        return Source(asked, NAN, blocked=run.blocked)
    grown = _grown(view, run.run)
    return Source(asked, run.step_s, measured_of(run).mean_sigma("step_s"), grown=grown)


def _grown(view: View, run: str) -> float:
    """Length at the end of a run over the one at its start; NaN where a step's mean is not known."""
    steps = queries.steps(view, Filters((run,)))
    means = steps["len_mean"].fillna(steps["tok_gen"] / steps["rollouts"]).astype("float64").dropna()
    if len(means) < FEWEST:
        return NAN
    slope, first = np.polyfit(np.arange(len(means)), means.to_numpy(), 1)
    return float((first + slope * (len(means) - 1)) / first) if first > 0 else NAN


def _stated(book: Catalogue, params: CadenceParams, rents: Rents) -> Source:
    pool = _pool(book, params, rents)
    if params.llm:
        llm_of(book, params.llm)  # refuses a model without a shape
    run = SourceRun(STATED, False, params.llm, Pools(mode="sync_colocated", engines=pool, trainer=pool))
    asked = Asked(book, projection_params(params), run, rents, None)
    return Source(asked, params.step_s, serial_frac=params.serial_frac)


def _from_scratch(book: Catalogue, params: CadenceParams, rents: Rents) -> Source:
    pool = _pool(book, params, rents)
    found, workload = scratch_of(book, params)
    name = f"{params.llm} from scratch"
    pools = Pools(mode=params.mode, engines=pool, trainer=pool)
    if params.mode != "sync_colocated":
        pools = replace(
            pools,
            engines=replace(pool, gpus=workload.engines.gpus),
            trainer=replace(pool, gpus=workload.trainer.gpus),
        )
    run = SourceRun(name, False, params.llm, pools)
    asked = Asked(book, projection_params(params), run, rents, None)
    if not found.seconds:
        words = (
            f"{params.llm} on {params.step_gpus} GPUs of {params.step_platform}: {listing(found.unknown, 8)}."
        )
        return Source(asked, NAN, scratch=found, blocked=f"{words} Take more GPUs or another platform.")
    model = Modelled(workload, found.measured, calibrate(workload, found.measured))
    asked = replace(asked, model=model)
    return Source(asked, model.calibration.step_s, SCRATCH_SIGMA, scratch=found)


def scratch_of(book: Catalogue, params: CadenceParams) -> tuple[Scratch, Workload]:
    """Seconds by the models with usual efficiencies, and the workload they belong to."""
    machine = machine_of(book, params.step_platform)
    lengths = lengths_of_quantiles({0.5: params.len_p50, 0.95: params.len_p95, 1.0: params.len_max})
    rollouts = float(params.prompts * params.group)
    workload = Workload(
        llm=llm_of(book, params.llm),
        mode=params.mode,
        lag=1.0,
        rollouts=rollouts,
        group=float(params.group),
        prompt_tokens=params.prompt_tokens,
        lengths=lengths,
        trained_tokens=rollouts * (params.prompt_tokens + lengths.mean),
        updates=1.0,
        engines=Pool(machine, params.step_gpus, params.source_gen_precision),
        trainer=Pool(machine, params.step_gpus, params.source_train_precision),
        passes=params.passes,
    )
    if params.mode != "sync_colocated":
        unit = unit_of(machine)
        if params.step_gpus < 2 * unit:
            raise UserError(
                f"{params.step_gpus} GPUs are no two pools of {unit}",
                "parameter step_gpus",
                "Take more GPUs.",
            )
        workload = split_pools(workload, params.step_gpus, unit)
    return scratch(workload, sync_s_of(book, workload)), workload


def sync_s_of(book: Catalogue, workload: Workload) -> float:
    """Seconds of a weight update: the published one of a large model, in proportion to parameters."""
    return operation(SYNC_FACT).value * workload.llm.params_total / llm_of(book, SYNC_MODEL).params_total


def _pool(book: Catalogue, params: CadenceParams, rents: Rents) -> PoolOf:
    found = book.platform(params.step_platform)
    if found is None or found.kind in ("service", "cpu"):
        names = ", ".join(p.platform_id for p in book.platforms() if p.kind != "cpu")
        raise UserError(
            f"'{params.step_platform}' is no platform with GPUs",
            "parameter step_platform",
            f"Use one of {names}.",
        )
    rent = rents.of(params.step_platform)
    usd = rent.usd if math.isfinite(rent.usd) else NAN
    return PoolOf(("all",), params.step_platform, params.step_gpus, usd, rent.price_id)


def own_pools(source: Source) -> tuple[Pool, Pool]:
    """Engines and trainer of the source at its precision. Raises ValueError without pools."""
    pools, params, book = source.run.pools, source.asked.params, source.asked.book
    if pools.engines is None or pools.trainer is None:
        raise ValueError(f"{source.run.run} has no pools")
    return (
        Pool(machine_of(book, pools.engines.platform_id), pools.engines.gpus, params.source_gen_precision),
        Pool(machine_of(book, pools.trainer.platform_id), pools.trainer.gpus, params.source_train_precision),
    )
