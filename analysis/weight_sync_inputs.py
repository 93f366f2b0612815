"""What a weight sync rests on: the run's timer, a published engine, or what you say."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from analysis.own_inputs import Setting
from analysis.planning import PlanParams, gpu_price, measured, own_platform, platform_name, resolved, setting
from analysis.projection_run import SourceRun
from data.catalogue import Catalogue
from data.errors import UserError
from data.published import SyncPoint, shipped
from data.view import View
from models.shapes import BYTES_PER_WEIGHT
from models.weight_sync import scaled_rate

GIGA = 1e9
NODE = 8
RERUN = 26 / 14
"""Seconds of the same sync on another cluster over the published ones (rows P0582 and P0583)."""
SCRATCH = {"llm": "nemotron-3-ultra", "platform": "gb200-nvl72", "engine": "W0006"}
STEP_SOURCE = (
    "NVIDIA-NeMo/Gym@07d6b0d swe-rl-case-study: about seven minutes a step, all environments but SWE"
)
Seconds = Annotated[float | None, Field(gt=0, le=1e6)]
Gpus = Annotated[int | None, Field(ge=1, le=100_000)]


class WeightSyncParams(PlanParams):
    """None: from the run, or the published case of Nemotron 3 Ultra (basis scratch).

    `sync_s`: exposed and hidden together, as timed. `engine`: a row of the published syncs, whose rate stands
    in where nothing was timed; `gb_per_s` of one copy replaces it. `hidden_s` runs beside other work.
    `active_frac`: share of the day in which steps run.
    """

    question: ClassVar[str] = "weight_sync"
    llm: str = ""
    sent: Literal["bf16", "fp8", "fp4"] = "bf16"
    trainer_gpus: Gpus = None
    engine_gpus: Gpus = None
    copies: Annotated[int | None, Field(ge=1, le=4096)] = None
    sync_s: Seconds = None
    engine: str = ""
    gb_per_s: Annotated[float | None, Field(gt=0, le=1e6)] = None
    hidden_s: Annotated[float | None, Field(ge=0, le=1e6)] = None
    step_s: Seconds = None
    active_frac: Annotated[float | None, Field(ge=0, le=1)] = None


@dataclass(frozen=True)
class SyncInputs:
    """Everything a sync is priced by. `colocated`: one pool does both, so a sync is a copy inside it."""

    settings: dict[str, Setting]
    platform: str
    name: str
    llm: str
    payload_bytes: float
    price_id: str
    no_price: str
    run: str
    timed: bool
    colocated: bool
    engine: str


def published(book: Catalogue) -> Mapping[str, SyncPoint]:
    """Published syncs by row id: with seconds, bytes and engine GPUs, and pools beyond one node of 8 GPUs,
    inside which no network was crossed.
    """
    rows = {name: row for name, row in shipped(book).weight_sync.items() if not 0 < (row.n_gpus or 0) <= NODE}
    return {name: row for name, row in rows.items() if row.sync_s and row.payload_gb and row.n_infer_gpus}


def row_of(book: Catalogue, name: str) -> SyncPoint:
    """One published sync. Raises UserError naming those that are there."""
    rows = published(book)
    if name not in rows:
        raise UserError(
            f"'{name}' is no published sync", "parameter engine", f"Use one of {', '.join(rows)}."
        )
    return rows[name]


def engine_s(row: SyncPoint, payload_bytes: float, engine_gpus: float) -> tuple[float, float, float]:
    """Seconds that a published engine would take for one copy: least, at its rate an engine GPU, most.

    The ends keep its rate an engine GPU and its rate over all links, for nobody says which one carries over;
    the longest is also that of another cluster (RERUN). Raises ValueError for a row without a rate.
    """
    if row.sync_s is None or row.payload_gb is None or row.n_infer_gpus is None:
        raise ValueError(f"{row.row_id} has no rate")
    rate = row.payload_gb * GIGA / row.sync_s
    here = float(scaled_rate(rate, row.n_infer_gpus, engine_gpus))
    middle, other = payload_bytes / here, payload_bytes / rate
    return min(middle, other), middle, max(middle, other) * RERUN


def lacking(source: SourceRun) -> str:
    """Why a run tells no cost of a sync; '' when it does."""
    if source.timed is None or not source.pools.each:
        return f"{source.run} has no timed steps"
    if "sync" not in source.timed.phases or not source.timed.phases["sync"].mean() > 0:
        return f"The log of {source.run} has no timer of the weight sync"
    return ""


def from_run(view: View, params: WeightSyncParams, source: SourceRun) -> SyncInputs:
    """Inputs of a run with a timer of its sync. Raises ValueError for one that `lacking` refuses."""
    timed, pools = source.timed, source.pools
    if timed is None or pools.engines is None or pools.trainer is None:
        raise ValueError(f"{source.run} has no pools")
    run, one_pool = source.run, pools.engines is pools.trainer
    told: dict[str, Any] = {"status": "measured", "source": run}
    found = [
        setting("trainer_gpus", "GPUs that train", pools.trainer.gpus, "GPUs", **told),
        setting("engine_gpus", "GPUs that roll out", pools.engines.gpus, "GPUs", **told),
        setting(
            "copies", "Copies in the engines", 1.0, "copies", source="one: no log says how many", note="exact"
        ),
        measured("sync_s", "Weight sync as timed", timed.phases["sync"], "s", run),
        measured("step_s", "Step", timed.step_s, "s", run),
    ]
    llm = params.llm or source.llm
    platform = own_platform(params, pools.engines.platform_id, run)
    return _finished(view.catalogue, params, found, llm, platform, run, one_pool, params.gb_per_s is None)


def from_scratch(view: View, params: WeightSyncParams) -> SyncInputs:
    """Inputs of the published case with a published engine's rate, and what you gave in their place."""
    book = view.catalogue
    row, gpus = row_of(book, params.engine or SCRATCH["engine"]), "GPU counts of W0006, from its parallelism"
    llm, platform = params.llm or SCRATCH["llm"], params.platform or SCRATCH["platform"]
    engines = 64.0
    low, usual, high = engine_s(row, _payload(book, llm, params.sent), float(params.engine_gpus or engines))
    why = f"{row.row_id}, {row.method}: its rate an engine GPU"
    found = [
        setting("trainer_gpus", "GPUs that train", 64.0, "GPUs", source=gpus),
        setting("engine_gpus", "GPUs that roll out", engines, "GPUs", source=gpus),
        setting("copies", "Copies in the engines", 8.0, "copies", source="TP8 DP8 of W0006", note="exact"),
        setting("sync_s", "Weight sync", usual, "s", low=low, high=high, source=why),
        setting("step_s", "Step", 420.0, "s", status="measured", source=STEP_SOURCE, low=378.0, high=462.0),
    ]
    return _finished(book, params, found, llm, platform, "", False, params.sync_s is not None)


def _payload(book: Catalogue, llm: str, sent: str) -> float:
    """Bytes of one copy, NaN without a model. Raises UserError for one that the catalogue does not know."""
    shape = book.llm(llm) if llm else None
    if shape is None and llm:
        known = ", ".join(one.model_id for one in book.llms())
        raise UserError(f"The catalogue has no shape of '{llm}'", "parameter llm", f"Use one of {known}.")
    return math.nan if shape is None else shape.params_total_b * GIGA * BYTES_PER_WEIGHT[sent]


def _finished(
    book: Catalogue, params: WeightSyncParams, found: list[Setting], llm: str, platform: str, run: str,
    colocated: bool, timed: bool,
) -> SyncInputs:  # fmt: skip
    payload = _payload(book, llm, params.sent)
    shape = book.llm(llm) if llm else None
    price, price_id, no_price = gpu_price(book, params, platform)
    more = [
        setting("hidden_s", "Sync beside other work", 0.0, "s", source="what is timed is taken as exposed"),
        setting("active_frac", "Share of the day that steps", 1.0, "fraction", note="exact",
                source="a day of running steps"),
        setting("gb_per_s", "Rate of one copy", None, "GB/s", source="yours, in place of what was timed"),
        price,
    ]  # fmt: skip
    return SyncInputs(
        resolved(params, [*found, *more]), platform, platform_name(book, platform),
        shape.name if shape is not None else "", payload, price_id, no_price, run, timed, colocated,
        params.engine or SCRATCH["engine"],
    )  # fmt: skip
