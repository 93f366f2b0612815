"""What the scheduler says of the GPUs of a run: proposals for the run details, never taken by itself."""

import re
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from data.catalogue import Catalogue
from data.facts_base import gpu_count, gpu_number
from data.money.import_names import of_model, platform_of
from data.money.import_rows import Offer

Rows = Callable[[str, list[Any]], list[tuple[Any, ...]]]
Hint = tuple[str, Any, str]
"""(run detail, value, sentence that says how it is known)."""

_JOBS = """
SELECT job_id, gpus, gpu_model, nodes, started_at,
    coalesce(ended_at, started_at + to_microseconds((elapsed_s * 1e6)::BIGINT)) AS ended_at
FROM scheduler_jobs WHERE run = ? AND gpus > 0 ORDER BY started_at NULLS LAST, job_id
"""
_SHOWN = 4
_SLICE = re.compile(r"\d+g\.\d+gb", re.IGNORECASE)
"""A part of a GPU (MIG), as in `1g.10gb`."""


def job_hints(rows: Rows, run: str, book: Catalogue) -> list[Hint]:
    """GPUs and platform that the jobs of a run held, as hints (gpus, platform); [] without such jobs.

    `rows` runs a SELECT with its parameters. GPUs are the most that its jobs held at one time: jobs that ran
    beside each other add up, jobs that followed each other do not. Several jobs of which one has no start
    propose no count. A model that may be several platforms proposes none.
    """
    jobs = rows(_JOBS, [run])
    models = _models(jobs)
    if any(_SLICE.search(model) for model in models):
        return []
    out: list[Hint] = []
    peak = _most_at_once([(gpus, first, last) for _, gpus, _, _, first, last in jobs])
    if peak is not None:
        out.append(("gpus", int(peak) if peak == int(peak) else peak, _held(jobs, peak)))
    if len(models) == 1:
        platform, words = _platform(models[0], book)
        if platform is not None:
            how = f"the scheduler calls the GPUs {models[0]}"
            out.append(("platform", platform, f"{how}; {words}" if words else how))
    return out


def model_words(rows: Rows, run: str, book: Catalogue) -> str:
    """Sentence for GPU models of the jobs that lead to no single platform; "" where there is none."""
    models = _models(rows(_JOBS, [run]))
    if len(models) > 1:
        return f"The scheduler names several GPU models: {', '.join(models)}. Give each a pool of its own."
    if not models:
        return ""
    named, why = _platform(models[0], book)
    return "" if named else f"The scheduler calls the GPUs {models[0]}. {why}"


def _models(jobs: Sequence[tuple[Any, ...]]) -> list[str]:
    return sorted({model for job in jobs if job[2] for model in str(job[2]).split(";") if model})


def _most_at_once(jobs: Sequence[tuple[float, datetime | None, datetime | None]]) -> float | None:
    if len(jobs) == 1:
        return jobs[0][0]
    if any(first is None for _, first, _ in jobs):
        return None
    marks: list[tuple[datetime, int, float]] = []
    for gpus, first, last in jobs:
        if first is not None:
            marks += [(first, 1, gpus), (max(last, first) if last else datetime.max, 0, -gpus)]
    held, peak = 0.0, None
    for _, _, change in sorted(marks):
        held += change
        peak = max(peak or 0.0, held)
    return peak


def _held(jobs: Sequence[tuple[Any, ...]], peak: float) -> str:
    names, models = [str(job[0]) for job in jobs], _models(jobs)
    kind = f" ({', '.join(models)})" if models else ""
    if len(jobs) == 1:
        nodes = jobs[0][3]
        where = f" on {nodes:g} node{'s' if nodes != 1 else ''}" if nodes else ""
        return f"job {names[0]} held {gpu_count(peak)}{kind}{where}"
    low, high = min(job[1] for job in jobs), max(job[1] for job in jobs)
    each = gpu_number(low) if low == high else f"{gpu_number(low)} to {gpu_number(high)}"
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    shown = f"{', '.join(names[:_SHOWN])}{more}"
    return f"jobs {shown} held {each} GPUs each{kind}, at most {gpu_number(peak)} at one time"


def _platform(model: str, book: Catalogue) -> tuple[str | None, str]:
    """Platform id of a model as a scheduler writes it and what to check, or None and why it leads to none."""
    if _SLICE.search(model):
        return None, "That is a part of a GPU: type how many whole GPUs were paid for, and their platform."
    wanted, gpu = _folded(model), model.replace("_", " ")
    drivers = [p.platform_id for p in book.platforms() if wanted in {_folded(n) for n in p.gpu_names}]
    if len(drivers) == 1:
        return drivers[0], ""
    named = platform_of(Offer(0, "", gpu, "", 1.0, None, None, "", None), book, {})
    if named.platform_id is not None:
        return named.platform_id, ""
    same = of_model(gpu, book)
    if named.code == "form_factor" and len(same) == 1:
        check = (
            f"the scheduler names no form factor and the catalogue knows only {same[0].name}: PCIe and NVL "
            "cards are not in it, so choose otherwise, or no platform, if it was one of those"
        )
        return same[0].platform_id, check
    names = " or ".join(p.name for p in same)
    if named.code == "a100_40gb" and "40" not in gpu:
        return None, f"That does not say the memory, 40 or 80 GB: choose {names} if it is that."
    return None, f"{named.why} Choose {names}." if named.code == "form_factor" else named.why


def _folded(name: str) -> str:
    """A name as Slurm's own detection writes it: `NVIDIA H100 80GB HBM3` -> `nvidia_h100_80gb_hbm3`."""
    return re.sub(r"[^a-z0-9]+", "_", name.casefold()).strip("_")
