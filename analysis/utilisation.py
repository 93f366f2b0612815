"""How busy the GPUs were: by a named measure, weighted by time, with what is not known kept in sight."""

from typing import Any, ClassVar, Literal

import pandas as pd

from analysis.checks import checked
from analysis.common import figure, nothing, result
from analysis.frames import records
from analysis.measures import MEASURES
from analysis.params import CommonParams
from analysis.result import Figure, Notice, Result
from analysis.sampled import exceeded, excess, of_runs
from analysis.spend import Spend, compute_spend, filters_of
from analysis.words import count, percent, plural
from data.queries import utilisation as queries
from data.view import View

MOST_POINTS = 4000
MOST_BINS = 200
LOW_COVERAGE = 0.9
GPU_COLUMNS = [
    "gpu_id", "host", "role", "pool", "gpu_index", "platform", "model", "run", "value", "low", "high",
    "v_min", "v_max",
    "coverage_frac", "known_h", "unknown_h", "samples", "first_minute", "last_minute",
]  # fmt: skip


class UtilisationParams(CommonParams):
    """`measure`: which vendor counter is shown; one that was not recorded is said, never replaced."""

    question: ClassVar[str] = "utilisation"
    measure: Literal[
        "gpu_util", "mem_util", "sm_active", "tensor_active", "dram_active", "gr_engine_active",
        "gfx_activity",
        "umc_activity",
    ] = "gpu_util"  # fmt: skip


def compute(view: View, params: UtilisationParams) -> Result:
    """Tables: `gpus` (GPU_COLUMNS), `heat` (gpu, bin, value, v_min, v_max, coverage_frac), `timeline` (bin,
    …), `measures` (what was recorded, and what it proves).
    """
    filters = filters_of(params)
    spend = compute_spend(view, params)
    found = queries.measures(view, filters)
    samples = queries.sampled(view, filters)
    gpus = _per_gpu(queries.per_gpu(view, filters, params.measure))
    rows = max(1, len(gpus))
    by_host = rows > MOST_BINS
    bins = max(20, min(MOST_BINS, MOST_POINTS // (rows if not by_host else max(1, gpus["host"].nunique()))))
    tables = {
        "gpus": gpus,
        "heat": queries.heat(view, filters, params.measure, bins, by_host),
        "timeline": queries.timeline(view, filters, params.measure, MOST_BINS),
        "measures": _explained(found),
    }
    if spend.runs.empty and gpus.empty:
        return nothing("utilisation", view, params, tables=tables)
    total = _total(gpus)
    against = _against(params.measure, samples, spend)
    return result(
        "utilisation", view, params, _answer(params, total, found, against),
        headline=_figures(params, total, found, against, excess(spend, samples)),
        tables=tables, assumptions=spend.assumptions, 
        notices=[
            *_notices(params, spend, total, found, gpus),
            *_outside(params.measure, spend, samples),
            *checked(view, params)[1],
        ],
        prices=spend.allocations,
    )  # fmt: skip


def _per_gpu(raw: pd.DataFrame) -> pd.DataFrame:
    """Means over known time, and bounds that count unknown time as 0 and as 1."""
    known = raw["known_s"].astype("float64")
    span = raw["span_s"].astype("float64").clip(lower=known)
    weighted = raw["weighted_sum"].astype("float64")
    out = raw.assign(
        value=(weighted / known).where(known > 0),
        low=(weighted / span).where((span > 0) & (known > 0)),
        high=((weighted + span - known) / span).where((span > 0) & (known > 0)),
        coverage_frac=(known / span).where(span > 0),
        known_h=known / 3600,
        unknown_h=(span - known) / 3600,
    )
    return out[GPU_COLUMNS]


def _total(gpus: pd.DataFrame) -> dict[str, float] | None:
    """All GPUs together, each second of each GPU counting the same; GPUs without the measure are unknown
    time.
    """
    known, unknown = float(gpus["known_h"].sum()), float(gpus["unknown_h"].sum())
    if known <= 0:
        return None
    weighted = float((gpus["value"] * gpus["known_h"]).sum())
    span = known + unknown
    return {
        "value": weighted / known,
        "low": weighted / span,
        "high": (weighted + unknown) / span,
        "coverage": known / span,
        "known_h": known,
        "gpus": float((gpus["known_h"] > 0).sum()),
    }


def _explained(found: pd.DataFrame) -> pd.DataFrame:
    out = found.assign(value=(found["weighted_sum"] / found["known_s"]).where(found["known_s"] > 0))
    for column in ("label", "proves", "not_proves", "source"):
        out[column] = [str(getattr(MEASURES[m], column)) if m in MEASURES else "" for m in out["measure"]]
    return out.drop(columns="weighted_sum")


def _power(found: pd.DataFrame) -> dict[str, float] | None:
    row = found[found["measure"] == "power_w"]
    if row.empty or not float(row["known_s"].iloc[0]) > 0:
        return None
    joules, seconds = float(row["weighted_sum"].iloc[0]), float(row["known_s"].iloc[0])
    return {"kwh": joules / 3.6e6, "mean_w": joules / seconds, "hours": seconds / 3600}


def _figures(
    params: UtilisationParams,
    total: dict[str, float] | None,
    found: pd.DataFrame,
    against: float | None,
    over: dict[str, tuple[float, float]],
) -> list[Figure]:
    label = MEASURES[params.measure].label
    got: dict[str, Any] = total or {}
    n = int(got["gpus"]) if total else None
    power = _power(found)
    return [
        figure(
            "utilisation", got.get("value"), label=f"{label}, weighted by time", low=got.get("low"),
            high=got.get("high"), interval="bounds", n=n, missing=_no_measure(params, found),
        ),
        figure("coverage", got.get("coverage"), label="Time with a sample", n=n, missing="no samples"),
        figure(
            "coverage_of_allocated", against, label="Sampled of the allocated GPU-hours",
            missing=exceeded(over) if over else "allocated GPU-hours or samples are missing",
        ),
        figure(
            "energy", power["kwh"] if power else None, label="Energy at the GPU (covered time)",
            missing="no power was recorded",
        ),
        figure("mean_power", power["mean_w"] if power else None, missing="no power was recorded"),
    ]  # fmt: skip


def _no_measure(params: UtilisationParams, found: pd.DataFrame) -> str:
    names = [MEASURES[m].label for m in found["measure"] if m in MEASURES]
    if not names:
        return "no GPU samples are loaded: upload an nvidia-smi or gpu_samples file"
    return f"{MEASURES[params.measure].label} was not recorded; recorded: {', '.join(names)}"


def _notices(
    params: UtilisationParams,
    spend: Spend,
    total: dict[str, float] | None,
    found: pd.DataFrame,
    gpus: pd.DataFrame,
) -> list[Notice]:
    out = [n for n in spend.notices if n.code in ("synthetic", "price_missing", "time_lower_bound")]
    if total is None:
        words = _no_measure(params, found)
        return [*out, Notice("measure_missing", f"{words[0].upper()}{words[1:]}.", params.measure)]
    if total["coverage"] < LOW_COVERAGE:
        text = f"Only {percent(total['coverage'])} of the time has a sample: read the bounds, not the mean."
        out.append(Notice("coverage_low", text, params.measure))
    loose = gpus[gpus["run"].isna()]
    if len(loose):
        who = "1 GPU belongs" if len(loose) == 1 else f"{len(loose)} GPUs belong"
        text = f"{who} to no run, so without dollars: name the run of the file."
        out.append(Notice("gpus_without_run", text, str(loose["host"].iloc[0])))
    out.append(
        Notice(
            "measure_proves", f"{MEASURES[params.measure].label}: {_line(params.measure)}.", params.measure
        )
    )
    return out


def _line(measure: str) -> str:
    known = MEASURES[measure]
    return f"it proves that {known.proves}; it does not prove {known.not_proves}"


def _against(measure: str, samples: pd.DataFrame, spend: Spend) -> float | None:
    """Sampled GPU-hours inside the runs' windows over allocated ones; None when either is not known, or
    when a run has more samples than allocation.
    """
    rows = of_runs(samples)
    known = float(rows.loc[rows["measure"] == measure, "known_s"].sum()) / 3600
    allocated = float(spend.runs["gpu_hours_billed"].sum(skipna=False)) if len(spend.runs) else 0.0
    if excess(spend, samples) or not known > 0 or not allocated > 0:
        return None
    return min(1.0, known / allocated)


def _outside(measure: str, spend: Spend, samples: pd.DataFrame) -> list[Notice]:
    """Which samples are not those of the run's allocation, and how many GPU-hours that is."""
    remedy = "check the start, the end and the GPUs in the run details, and the time zone of the samples"
    out = []
    for row in records(samples[(samples["measure"] == measure) & (samples["outside_s"] > 0)]):
        lost = f"{count(row['outside_s'] / 3600)} sampled GPU-hours"
        text = f"{row['run']}: {lost} lie outside the time of its attempts and are not counted: {remedy}."
        out.append(Notice("samples_outside_allocation", text, str(row["run"])))
    for run, (hours, allocated) in excess(spend, samples).items():
        who = run or "The GPUs"
        text = f"{who}: {count(hours)} GPU-hours are sampled, {count(hours - allocated)} more than allocated"
        text = f"{text}, so no share and no dollars: {remedy}."
        out.append(Notice("samples_outside_allocation", text, run))
    return out


def _answer(
    params: UtilisationParams, total: dict[str, float] | None, found: pd.DataFrame, against: float | None
) -> str:
    if total is None:
        text = _no_measure(params, found)
        return text[0].upper() + text[1:] + "."
    label = MEASURES[params.measure].label
    gpus = f"{count(total['gpus'])} {plural('GPU', total['gpus'])}"
    text = f"{label} was {percent(total['value'])}, weighted by time over {gpus}"
    text += f" with {percent(total['coverage'])} of the time between first and last sample known"
    if total["coverage"] < 0.995:
        text += f" ({percent(total['low'])} to {percent(total['high'])} whatever the rest was)"
    if against is not None and against < LOW_COVERAGE:
        text += f"; the samples cover {percent(against)} of the allocated GPU-hours"
    return f"{text}; it does not prove {MEASURES[params.measure].not_proves}."
