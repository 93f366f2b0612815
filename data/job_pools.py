"""The GPUs that each job of a run held, in the place of what a person said of all its attempts at once."""

from collections.abc import Mapping, Sequence
from typing import Any

from data.job_fold import Held

Row = dict[str, Any]


def agrees(rows: Sequence[Row], held: Mapping[int, Held]) -> bool:
    """Whether the GPUs that a run's pools have are those of one of its jobs, or of jobs beside each other."""
    said = sum(row["gpus"] for row in gpu_pools(rows))
    sizes: set[float] = set()
    for one in held.values():
        group = [job.gpus for job in (one.main, *one.beside) if job.gpus]
        sizes |= {*group, sum(group)}
    return said in sizes


def disagreement(run: str, rows: Sequence[Row], held: Mapping[int, Held]) -> str | None:
    """A sentence where no job of a run has the GPUs of its pools; None where one has, or none says."""
    said = sum(row["gpus"] for row in gpu_pools(rows))
    sizes = sorted({job.gpus for one in held.values() for job in (one.main, *one.beside) if job.gpus})
    if not said or not sizes or agrees(rows, held):
        return None
    theirs = " or ".join(f"{size:g}" for size in sizes)
    return (
        f"The pools of {run} have {said:g} GPUs, and its scheduler jobs held {theirs}: the pools count, for "
        "the time of every job. Correct the GPUs in the run details if the jobs are right."
    )


def gpu_pools(rows: Sequence[Row]) -> list[Row]:
    """Pools with GPUs of their own size; sandboxes pay for cores."""
    return [row for row in rows if row["gpus"] and row["role"] != "sandbox"]


def of_jobs(rows: Sequence[Row], held: Held) -> list[Row]:
    """The pools of an attempt with the GPUs of its jobs.

    Pools that add up to the job's GPUs, or to those of jobs beside each other one by one, stay. Else pools of
    one platform and price become one with the job's GPUs; pools of several stay as they are, since nobody
    knows how the job's GPUs were shared. A job beside the main one is a pool of its own with its own time.
    """
    main = held.main.gpus
    pools = gpu_pools(rows)
    if not main or not pools or any(row.get("started_at") or row.get("seconds") for row in pools):
        return list(rows)
    said = sum(row["gpus"] for row in pools)
    if held.beside and said == main + sum(job.gpus or 0.0 for job in held.beside) and len(pools) > 1:
        by_size = _one_by_one(pools, held)
        if by_size:
            return [*(row for row in rows if row not in pools), *by_size]
    if len({(row["platform"], row["price_id"]) for row in pools}) > 1:
        return list(rows)
    extra = [_beside(pools[0], job) for job in held.beside if job.gpus]
    if said == main:
        return [*rows, *extra]
    one = {**pools[0], "gpus": main}
    if len(pools) > 1:
        one |= {"pool": "all", "role": "colocated"}
    return [*(row for row in rows if row not in pools), one, *extra]


def _one_by_one(pools: Sequence[Row], held: Held) -> list[Row]:
    """Each pool with the time of the job of its size; [] where sizes do not tell them apart."""
    jobs = [held.main, *held.beside]
    if len({row["gpus"] for row in pools}) < len(pools) or len(pools) != len(jobs):
        return []
    by_size = {job.gpus: job for job in jobs}
    if set(by_size) != {row["gpus"] for row in pools}:
        return []
    out = []
    for row in pools:
        job = by_size[row["gpus"]]
        out.append(
            row if job is held.main else {**_times(job), **{k: row[k] for k in row if k not in _TIMES}}
        )
    return out


_TIMES = ("started_at", "ended_at", "seconds")


def _times(job: Any) -> Row:
    return {"started_at": job.start, "ended_at": job.end, "seconds": job.seconds if job.end is None else None}


def _beside(row: Row, job: Any) -> Row:
    return {**row, "pool": f"job {job.job_id}", "gpus": job.gpus, "cores": None, **_times(job)}
