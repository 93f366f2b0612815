"""What a split of GPUs rests on: the run's phases, a published step, or what you say."""

import math
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from analysis.frames import number, records
from analysis.own_inputs import Setting
from analysis.planning import (
    Floats,
    PlanParams,
    gpu_price,
    measured,
    own_platform,
    platform_name,
    resolved,
    setting,
)
from analysis.projection_model import Modelled, modelled
from analysis.projection_params import ProjectionParams
from analysis.projection_run import SourceRun
from analysis.result import Notice
from data.catalogue import Catalogue
from data.queries import pools as queries
from data.queries import spend as spend_queries
from data.queries.filters import Filters
from data.view import View
from models.rollout_split import UNKNOWN_TAIL

ROW = "P0582"
"""The published step behind the defaults: 64 H100, the largest with every phase and a price."""
SLOWEST_MODE = 1 / 2.6
"""Asynchronous verl steps over their synchronous phases split anew: 1 / 2.6 to 1 / 1.5 in four pairs."""
CV = 0.15
FEWEST_GPUS = 2
Seconds = Annotated[float | None, Field(ge=0, le=1e6)]
Work = Annotated[float | None, Field(gt=0, le=1e10)]
Unit = Annotated[int | None, Field(ge=1, le=4096)]
Frac = Annotated[float | None, Field(ge=0, le=2)]


class PoolsParams(PlanParams):
    """None: from the run, or the published step of ROW (basis scratch).

    `rollout_gpu_s`: the whole rollout phase x `rollout_measured_gpus`, its tail included; GPUs share what is
    left of it without `tail_s`.

    `max_staleness`: age of a batch in updates when it is trained on; 0 allows synchronous steps alone.
    `steps`: synchronous ones whose dollars are the budget. `mode`: what the split is made for.
    """

    question: ClassVar[str] = "pools"
    gpus_total: Annotated[int | None, Field(ge=2, le=100_000)] = None
    unit_rollout: Unit = None
    unit_train: Unit = None
    unit_judge: Unit = None
    rollout_gpu_s: Work = None
    rollout_measured_gpus: Annotated[int | None, Field(ge=1, le=100_000)] = None
    tail_s: Seconds = None
    tools_s: Seconds = None
    train_gpu_s: Work = None
    train_fixed_s: Seconds = None
    judge_gpu_s: Annotated[float | None, Field(ge=0, le=1e10)] = None
    judge_s: Seconds = None
    sync_s: Seconds = None
    other_s: Seconds = None
    rollouts_per_step: Annotated[float | None, Field(ge=1, le=1e7)] = None
    cv_rollout_frac: Frac = None
    cv_train_frac: Frac = None
    max_staleness: Annotated[int, Field(ge=0, le=64)] = 1
    dropped_frac: Annotated[float | None, Field(ge=0, le=0.9)] = None
    extra_steps_frac: Annotated[float | None, Field(ge=0, le=5)] = None
    mode_factor: Annotated[float | None, Field(ge=0.2, le=2)] = None
    steps: Annotated[int, Field(ge=1, le=1_000_000)] = 200
    mode: Literal["async", "one_step_off"] = "async"


@dataclass(frozen=True)
class PoolsInputs:
    """Everything a split needs. `overlapped`: the seconds were measured with pools side by side.

    `engine_gpus` of the run's own split, 0 where one pool does both; `step_s` measured, NaN without.
    """

    settings: dict[str, Setting]
    platform: str
    name: str
    price_id: str
    no_price: str
    overlapped: bool
    engine_gpus: int
    step_s: float
    run: str
    notices: tuple[Notice, ...] = ()


def lacking(source: SourceRun) -> str:
    """Why a run's pools cannot be split; '' when they can."""
    timed, pools = source.timed, source.pools
    if timed is None or not pools.each:
        return f"{source.run} has no timed steps"
    if pools.gap:
        return pools.gap
    if source.gpus < FEWEST_GPUS:
        return f"{source.run} has {source.gpus} GPU: two are the fewest that can be split"
    if len({pool.platform_id for pool in pools.each}) > 1:
        return f"{source.run} rolls out and trains on two platforms: GPUs cannot move between them"
    for phase, words in (("rollout", "rollouts"), ("train", "training")):
        if phase not in timed.phases or not timed.phases[phase].mean() > 0:
            return f"the log of {source.run} has no timer of {words}: load one with phase timers"
    return ""


def from_run(view: View, params: PoolsParams, source: SourceRun) -> PoolsInputs:
    """Inputs of a measured run. Raises ValueError for one that `lacking` refuses."""
    timed, pools = source.timed, source.pools
    if timed is None or pools.engines is None or pools.trainer is None or pools.mode is None:
        raise ValueError(f"{source.run} has no pools")
    book, run, engines, trainer = view.catalogue, source.run, pools.engines, pools.trainer
    platform = own_platform(params, engines.platform_id, run)
    asked = ProjectionParams(runs=params.runs, price=params.price, run=run)
    model = modelled(book, asked, source)
    trained = timed.phases["train"] + timed.phases.get("logprob", 0.0)
    overlapped = pools.mode in ("one_step_off", "async")
    price, price_id, no_price = gpu_price(book, params, platform)
    found = [
        setting("gpus_total", "GPUs in all", source.gpus, "GPUs", status="measured", source=run),
        *_units(book, platform, params.gpus_total or source.gpus),
        *_rollout(source, timed.phases["rollout"], engines.gpus, model),
        _mean("tools_s", "Tools and rewards beyond generation", timed.phases.get("env"), run, overlapped),
        measured("train_gpu_s", "Training and log-probs", trained, "GPU-s a step", run, trainer.gpus),
        *_unmeasured(),
        _mean("sync_s", "Weight sync that both pools wait for", timed.phases.get("sync"), run),
        _other(source, timed.phases.get("other"), model),
        _rollouts(source),
        _cv("cv_rollout_frac", "Variation of rollout seconds", timed.phases["rollout"], run),
        _cv("cv_train_frac", "Variation of training seconds", trained, run),
        _dropped(view, run),
        *_modes(overlapped),
        price,
    ]
    return PoolsInputs(
        resolved(params, found), platform, platform_name(book, platform), price_id, no_price, overlapped,
        0 if engines is trainer else engines.gpus, source.step_s, run, _judges(view, params, run),
    )  # fmt: skip


def _judges(view: View, params: PoolsParams, run: str) -> tuple[Notice, ...]:
    """That a judge pool stands beside the split, where the run has one and nobody gave its work."""
    held = records(spend_queries.allocations(view, Filters((run,))))
    gpus = max((number(row["gpus"]) for row in held if row["role"] == "judge"), default=0.0)
    if not gpus > 0 or params.judge_gpu_s is not None:
        return ()
    words = (
        f"{run} holds a judge pool of {gpus:.0f} GPUs that no timer tells the work of: it stays beside this "
        "split. Give judge_gpu_s and the whole of gpus_total to split it too."
    )
    return (Notice("judge_beside", words, run),)


def from_scratch(view: View, params: PoolsParams) -> PoolsInputs:
    """Inputs of the published step of ROW, each with what you gave in its place."""
    book = view.catalogue
    row = next(run for run in book.rl_runs() if run.row_id == ROW)
    platform = params.platform or row.platform_id
    price, price_id, no_price = gpu_price(book, params, platform)
    gpus, told = row.n_gpus, {"status": "measured", "source": f"{row.source} ({ROW}, {row.model})"}
    seconds = {name: float(getattr(row, name) or 0) for name in ("gen_s", "train_s", "logprob_s", "refit_s")}
    rest = float(row.step_time_s or 0) - sum(seconds.values())
    low, usual, high = (share * seconds["gen_s"] for share in UNKNOWN_TAIL)
    trained = (seconds["train_s"] + seconds["logprob_s"]) * gpus
    rollouts = "other steps of the same framework (P0010); this row does not say"
    found = [
        setting("gpus_total", "GPUs in all", gpus, "GPUs", **told),
        *_units(book, platform, params.gpus_total or gpus),
        setting("rollout_gpu_s", "Rollouts, tail included", seconds["gen_s"] * gpus, "GPU-s a step", **told),
        setting("rollout_measured_gpus", "GPUs that they were measured on", gpus, "GPUs", **told),
        setting("tail_s", "Tail of the longest response", usual, "s", low=low, high=high, source=_NO_TAIL),
        setting("tools_s", "Tools and rewards beyond generation", 0.0, "s", source="none in this step"),
        setting("train_gpu_s", "Training and log-probs", trained, "GPU-s a step", **told),
        *_unmeasured(),
        setting("sync_s", "Weight sync that both pools wait for", seconds["refit_s"], "s", **told),
        setting("other_s", "Other seconds of a step", rest, "s", **told),
        setting("rollouts_per_step", "Rollouts a step", 2048.0, "rollouts", source=rollouts, note="exact"),
        *(setting(name, words, CV, "fraction", source=_NO_CV) for name, words in _CVS.items()),
        setting("dropped_frac", "Rollouts dropped as too old", 0.0, "fraction", source="none published"),
        *_modes(False),
        price,
    ]
    return PoolsInputs(
        _spread_measured(params, resolved(params, found)), platform, platform_name(book, platform), price_id,
        no_price, False, 0, float(row.step_time_s or math.nan), "",
    )  # fmt: skip


_NO_TAIL = "share of a generation that does not shrink, lengths not known: 0.5 (0.2 to 0.8)"
_NO_CV = "assumed: nobody published how steps vary"
_CVS = {"cv_rollout_frac": "Variation of rollout seconds", "cv_train_frac": "Variation of training seconds"}


def _spread_measured(params: PoolsParams, found: dict[str, Setting]) -> dict[str, Setting]:
    """A published step is not yours: its numbers get the range of what was derived."""
    out = {}
    for name, one in found.items():
        if one.status == "measured" and one.low is None and one.unit != "GPUs" and one.value is not None:
            wide = params.range_frac * one.value
            one = setting(
                name, one.label, one.value, one.unit, low=one.value - wide, high=one.value + wide,
                status=one.status, source=one.source, date=one.date, note=one.note,
            )  # fmt: skip
        out[name] = one
    return out


def _units(book: Catalogue, platform: str, gpus: int) -> list[Setting]:
    """Whole nodes or trays; where the GPUs are fewer than four of them, parts of one."""
    fact = book.fact(platform, "gpus_per_node")
    size = 1 if fact is None or not fact.number else int(fact.number)
    source = "single GPUs: the size of a node is not published" if fact is None else fact.source
    status = "derived" if fact is None else fact.status
    if 4 * size > gpus:
        size, status = max(1, 2 ** int(math.log2(max(gpus, 4) / 4))), "derived"
        source = f"a part of a node: {gpus} GPUs are few"
    labels = {"unit_rollout": "Rollout pool", "unit_train": "Training pool", "unit_judge": "Judge pool"}
    return [
        setting(name, f"{words} grows by", float(size), "GPUs", status=status, source=source)
        for name, words in labels.items()
    ]


def _rollout(source: SourceRun, seconds: Floats, gpus: int, model: Modelled | None) -> list[Setting]:
    """Work that GPUs share and the tail that they do not, out of the measured phase."""
    split = model.calibration.split if model is not None else None
    mean = float(np.nanmean(seconds))
    if split is None:
        low, usual, high = (share * mean for share in UNKNOWN_TAIL)
        why = _NO_TAIL
    else:
        decode = split.work_s + split.tail_s
        usual = split.tail_s
        low, high = split.tail_range[0] * decode, split.tail_range[2] * decode
        low, high = (usual, usual) if not low <= usual <= high else (low, high)
        why = f"{source.lengths.words} of {source.run}" if source.lengths else _NO_TAIL
    ends = {} if low == high else {"low": low, "high": high}
    told = {"status": "measured", "source": source.run}
    return [
        measured("rollout_gpu_s", "Rollouts, tail included", seconds, "GPU-s a step", source.run, gpus),
        setting("rollout_measured_gpus", "GPUs that they were measured on", gpus, "GPUs", **told),
        setting("tail_s", "Tail of the longest response", usual, "s", source=why, **ends),
    ]


def _mean(name: str, label: str, found: Floats | None, run: str, hidden: bool = False) -> Setting:
    if found is None or hidden:
        why = f"inside the rollout seconds of {run}" if hidden else f"not timed in {run}"
        return setting(name, label, 0.0, "s", source=why)
    return measured(name, label, found, "s", run)


def _other(source: SourceRun, found: Floats | None, model: Modelled | None) -> Setting:
    mean = 0.0 if found is None else float(np.nanmean(found))
    rest = model.calibration.unattributed_s if model is not None else 0.0
    words = f"{source.run}: other timers {mean:.3g} s, unattributed {max(rest, 0.0):.3g} s"
    return setting(
        "other_s", "Other seconds of a step", mean + max(rest, 0.0), "s", status="measured", source=words
    )


def _rollouts(source: SourceRun) -> Setting:
    told = source.tokens.rollouts if source.tokens is not None else math.nan
    label = "Rollouts a step"
    if not told > 0:
        return setting("rollouts_per_step", label, None, "rollouts", status="unsourced", source="not logged")
    return setting("rollouts_per_step", label, told, "rollouts", status="measured", source=source.run)


def _cv(name: str, label: str, seconds: Floats, run: str) -> Setting:
    kept = seconds[np.isfinite(seconds)]
    value = float(kept.std() / kept.mean())
    return setting(name, label, value, "fraction", status="measured", source=f"{run}, over its steps")


def _dropped(view: View, run: str) -> Setting:
    found = queries.dropped_frac(view, Filters((run,)))
    label = "Rollouts dropped as too old"
    if found is None:
        return setting("dropped_frac", label, 0.0, "fraction", source=f"not logged in {run}")
    return setting("dropped_frac", label, found, "fraction", status="measured", source=run)


def _unmeasured() -> list[Setting]:
    nobody = "none assumed: no log tells it apart"
    return [
        setting("train_fixed_s", "Training seconds that more GPUs do not shrink", 0.0, "s", source=nobody),
        setting("judge_gpu_s", "Judge", 0.0, "GPU-s a step", source="no judge pool unless you say so"),
        setting("judge_s", "Latency of a verdict", 0.0, "s", source="no judge pool unless you say so"),
    ]


def _modes(overlapped: bool) -> list[Setting]:
    """What changes with the mode beside the schedule: GPU-seconds, and steps for the same score."""
    other = "synchronous" if overlapped else "asynchronous"
    words = f"kept in {other} steps; four published verl pairs ran 1.5 to 2.6 times faster side by side"
    ends = {"low": SLOWEST_MODE, "high": 1.0}
    step = "no published rate carries over: pair runs to measure it"
    return [
        setting("mode_factor", "Side by side over synchronous work", 1.0, "ratio", source=words, **ends),
        setting(
            "extra_steps_frac", "More steps for one update of age", 0.0, "fraction", status="unsourced",
            source=step,
        ),
    ]  # fmt: skip
