"""Which run held a GPU that names none: the job on its host, where exactly one job was."""

from datetime import datetime
from itertools import pairwise

from analysis.frames import Row, records, text
from data.queries import energy as queries
from data.queries.energy import Held
from data.slurm_fields import nodes_of
from data.view import View

Span = tuple[datetime, datetime]
FOREVER = datetime(9999, 1, 1)


def held_by_jobs(view: View) -> list[Held]:
    """Windows of GPUs that name no run. While two jobs share a host nobody knows whose its GPUs are."""
    gpus = records(queries.unnamed(view))
    if not gpus:
        return []
    hosts = _alone(records(queries.jobs(view)))
    attempts: dict[str, list[tuple[Span, int]]] = {}
    for row in records(queries.attempts(view)):
        attempts.setdefault(row["run"], []).append((_span(row), row["attempt"]))
    return [
        Held(gpu["gpu_id"], run, attempt, start, end)
        for gpu in gpus
        for (begin, finish), run in hosts.get(gpu["host"], [])
        for (start, end), attempt in _tries((begin, finish), attempts.get(run))
    ]


def _span(row: Row) -> Span:
    """Start and end, open ends far ahead."""
    start, end = row["started_at"], row["ended_at"]
    return start, FOREVER if end is None or end != end else end


def _alone(jobs: list[Row]) -> dict[str, list[tuple[Span, str]]]:
    """By host: the times in which exactly one job held it and that job is a run's."""
    on: dict[str, list[tuple[Span, str | None]]] = {}
    for job in jobs:
        for host in nodes_of(str(job["node_list"])):
            on.setdefault(host, []).append((_span(job), text(job["run"])))
    return {host: _single(found) for host, found in on.items()}


def _single(found: list[tuple[Span, str | None]]) -> list[tuple[Span, str]]:
    """Where exactly one of the spans is open, and it names a run."""
    moves = sorted((span[edge], edge == 0, place) for place, (span, _) in enumerate(found) for edge in (0, 1))
    out: list[tuple[Span, str]] = []
    here: set[int] = set()
    for (moment, opens, place), (after, *_) in pairwise([*moves, moves[-1]]):
        (here.add if opens else here.discard)(place)
        run = found[next(iter(here))][1] if len(here) == 1 else None
        if run is not None and after > moment:
            out.append(((moment, after), run))
    return out


def _tries(window: Span, attempts: list[tuple[Span, int]] | None) -> list[tuple[Span, int | None]]:
    """The parts of a window that lie in attempts of its run; the whole of it when none has a clock."""
    if not attempts:
        return [(window, None)]
    starts = [span[0] for span, _ in attempts[1:]] + [FOREVER]
    cut = [
        ((max(window[0], start), min(window[1], end, after)), attempt)
        for ((start, end), attempt), after in zip(attempts, starts, strict=True)
    ]
    return [(span, attempt) for span, attempt in cut if span[0] < span[1]]
