"""GPU counts that were given for a run against those that its own log counts."""

import json
from collections.abc import Callable, Sequence
from typing import Any

from data.facts_base import gpu_number

TOLERANCE_FRAC = 0.02
"""Counts from printed rates are rounded; a difference up to this share of the log's count is none."""

Rows = Callable[[str, list[Any]], list[tuple[Any, ...]]]

_CLAIMS = """
SELECT p.run, p.field, arg_max(p.value, s.seq), arg_max(p.how, s.seq)
FROM proposals p JOIN run_sources s USING (upload_id, run)
WHERE p.field IN ('gpus', 'gpus_train', 'gpus_rollout') AND p.run IN (SELECT unnest(?::VARCHAR[]))
GROUP BY p.run, p.field ORDER BY p.run, p.field
"""
_HELD = """
SELECT run, max(gpus), max(train), max(rollout) FROM (
    SELECT run, attempt, sum(gpus) AS gpus, sum(gpus) FILTER (role = 'train') AS train,
        sum(gpus) FILTER (role = 'rollout') AS rollout
    FROM (
        SELECT run, attempt, pool, coalesce(role, 'colocated') AS role, max(gpus) AS gpus
        FROM allocations WHERE gpus > 0 GROUP BY ALL
    ) WHERE role NOT IN ('judge', 'sandbox') GROUP BY run, attempt
) WHERE run IN (SELECT unnest(?::VARCHAR[])) GROUP BY run
"""


def contradicted(rows: Rows, runs: Sequence[str]) -> dict[str, str]:
    """Return {run: sentence} for runs whose pools hold another number of GPUs than their log counts.

    `rows` runs a SELECT with its parameters. Trainers and rollout GPUs are held against their own pools where
    a run has them; judges and sandboxes are no part of what a trainer counts.
    """
    held = {run: tuple(sizes) for run, *sizes in rows(_HELD, [list(runs)])}
    claims: dict[str, dict[str, tuple[float, str]]] = {}
    for run, field, value, how in rows(_CLAIMS, [list(runs)]):
        claims.setdefault(run, {})[field] = (float(json.loads(value)), str(how))
    out = {}
    for run, said in claims.items():
        if run in held:
            words = [w for w in (_against(*pair) for pair in _pairs(said, *held[run])) if w]
            if words:
                out[run] = f"{run}: {'; '.join(words)}. Dollars use what was given: correct the run details."
    return out


def _pairs(
    said: dict[str, tuple[float, str]], gpus: float, train: float | None, rollout: float | None
) -> list[tuple[str, float, float, str]]:
    """(words, GPUs given, GPUs counted, how) of everything that can be compared."""
    if "gpus" in said:
        return [("GPUs", gpus, *said["gpus"])]
    pools = (("gpus_train", "training GPUs", train), ("gpus_rollout", "rollout GPUs", rollout))
    found = [(name, size, *said[f]) for f, name, size in pools if f in said and size is not None]
    if not found and len(said) == 2:
        both = [said["gpus_train"], said["gpus_rollout"]]
        found.append(("GPUs", gpus, both[0][0] + both[1][0], "; ".join(how for _, how in both)))
    return found


def _against(name: str, given: float, counted: float, how: str) -> str:
    if abs(given - counted) <= TOLERANCE_FRAC * counted:
        return ""
    return f"{gpu_number(given)} {name} were given, but its log counts {gpu_number(counted)} ({how})"
