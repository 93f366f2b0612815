"""Inside working time: waiting for the other pool, work that a failure lost, and phases of what survived."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from analysis.frames import Row, known, number, records
from analysis.phases import OUTSIDE, UNATTRIBUTED, match_pools
from analysis.resumed import resting
from analysis.spend import Spend
from analysis.waste_owners import Owner
from analysis.waste_samples import Evidence
from data.queries import spend as spend_queries
from data.queries import waste as queries
from data.queries.filters import Filters
from data.view import View
from models.stalls import Thresholds
from models.waste import Split

Pool = tuple[str, int, str]
OVERLAPPING = ("one_step_off", "async")


@dataclass(frozen=True)
class Inside:
    """`bubble_s`, `long_s`: seconds of waits of a pool's clock, shorter and longer than the idle rule;
    `held_s`: seconds the pool was held; `gpus` of it; `kept`: surviving share of an attempt, 0 for those of
    `unclear`, of which it is not known. `assumed`: attempts that survive only if an assumed resumption is
    right.
    """

    bubble_s: Mapping[Pool, float]
    long_s: Mapping[Pool, float]
    held_s: Mapping[Pool, float]
    gpus: Mapping[Pool, float]
    kept: Mapping[tuple[str, int], float]
    unclear: frozenset[tuple[str, int]] = frozenset()
    assumed: frozenset[tuple[str, int]] = frozenset()

    def of_slot(self, slot: Owner, evidence: Evidence) -> tuple[float, float]:
        """(bubble share of working time, lost share of the rest) of everyone measured in a slot."""
        working = bubble = lost = 0.0
        for owner, idle, busy in _owners(slot, evidence):
            waited = min(busy, self._waiting(owner) * (idle + busy))
            working += busy
            bubble += waited
            lost += (busy - waited) * self._lost(owner)
        rest = working - bubble
        return (bubble / working if working > 0 else 0.0), (lost / rest if rest > 0 else 0.0)

    def surviving_s(self, owner: Owner) -> float:
        """Most GPU-seconds of an owner on the surviving lineage; infinite where nothing bounds them."""
        return self._at_most(owner, {key: 1.0 if key in self.unclear else f for key, f in self.kept.items()})

    def lost_s(self, owner: Owner) -> float:
        """Most GPU-seconds of an owner outside the surviving lineage; infinite where nothing bounds them."""
        open_keys = self.unclear | self.assumed
        rest = {key: 1.0 if key in open_keys else 1 - f for key, f in self.kept.items()}
        return self._at_most(owner, rest) if self._attempts(owner) else 0.0

    def _at_most(self, owner: Owner, frac: Mapping[tuple[str, int], float]) -> float:
        """GPU-seconds of an owner's attempts, each at most its share; infinite where one has no known length,
        or all count whole.
        """
        keys, pools = self._attempts(owner), self._pools(owner)
        if not keys or all(frac[key] == 1.0 for key in keys):
            return math.inf
        some = {key for key in keys if frac[key] > 0}
        if some - {pool[:2] for pool in pools}:
            return math.inf
        return sum(self.gpus[p] * self.held_s[p] * frac[p[:2]] for p in pools if p[:2] in some)

    def _attempts(self, owner: Owner) -> list[tuple[str, int]]:
        return [key for key in self.kept if key[0] == owner.run and owner.attempt in (None, key[1])]

    def _pools(self, owner: Owner) -> list[Pool]:
        return [
            key
            for key in self.held_s
            if key[0] == owner.run
            and owner.attempt in (None, key[1])
            and owner.pool in (None, key[2])
            and self.held_s[key] > 0
        ]

    def waiting_s(self, owner: Owner) -> float:
        """GPU-seconds in which its pools waited for the other one, in short waits, sampled or not."""
        return sum(self.gpus[p] * self.bubble_s.get(p, 0.0) for p in self._pools(owner))

    def _waiting(self, owner: Owner) -> float:
        """Share of the allocated GPU time in which the pool waited for the other one, in short waits."""
        pools = self._pools(owner)
        return (
            min(1.0, self.waiting_s(owner) / sum(self.gpus[p] * self.held_s[p] for p in pools))
            if pools
            else 0.0
        )

    def _lost(self, owner: Owner) -> float:
        if owner.run is None:
            return 0.0
        if owner.attempt is not None:
            return 1 - self.kept.get((owner.run, owner.attempt), 1.0)
        pools = self._pools(owner)
        held = sum(self.gpus[p] * self.held_s[p] for p in pools)
        kept = sum(self.gpus[p] * self.held_s[p] * self.kept.get(p[:2], 1.0) for p in pools)
        return 1 - kept / held if held > 0 else 0.0


def _owners(slot: Owner, evidence: Evidence) -> list[tuple[Owner, float, float]]:
    """(owner, idle and stalled seconds, working seconds) of everyone measured in a slot."""
    sums: dict[Owner, list[float]] = {}
    for (owner, _), one in evidence.measured.items():
        same = owner.run == slot.run and owner.job == slot.job
        if same and slot.attempt in (None, owner.attempt) and slot.pool in (None, owner.pool):
            held = sums.setdefault(owner, [0.0, 0.0])
            held[0] += one.idle + one.stalled
            held[1] += one.working
    return [(owner, idle, busy) for owner, (idle, busy) in sums.items()]


def read_inside(view: View, spend: Spend, filters: Filters, limits: Thresholds) -> Inside:
    """Waits, pools and lineage of the picked runs."""
    pools = _pools(spend)
    modes = {r["run"]: r["mode"] for r in records(spend.runs[["run", "mode"]])}
    timed = match_pools(records(queries.waits(view, filters, limits.idle_s)), pools, modes)
    short: dict[Pool, float] = {}
    long: dict[Pool, float] = {}
    for row in timed:
        key = row["run"], row["attempt"], row["pool"]
        if modes.get(row["run"]) in OVERLAPPING and key in pools:
            short[key] = short.get(key, 0.0) + row["short_s"]
            long[key] = long.get(key, 0.0) + row["long_s"]
    attempts = {(r["run"], r["attempt"]): r for r in records(spend.attempts)}
    tries = {key: number(row["kept_frac"]) for key, row in attempts.items()}
    return Inside(
        bubble_s=short,
        long_s=long,
        held_s={key: row["seconds"] for key, row in pools.items()},
        gpus={key: row["gpus"] for key, row in pools.items()},
        kept={key: kept if known(kept) else 0.0 for key, kept in tries.items()},
        unclear=frozenset(key for key, kept in tries.items() if not known(kept)),
        assumed=frozenset(resting(attempts)),
    )


def _pools(spend: Spend) -> dict[Pool, Row]:
    """GPU pools of attempts: seconds held and GPUs (mean over the pool's allocations, weighted by time)."""
    out: dict[Pool, Row] = {}
    for row in spend.rows:
        gpus, seconds = number(row["gpus"]), number(row["seconds"])
        if row["sandbox"] or not gpus > 0 or not seconds > 0:
            continue
        key = row["run"], row["attempt"], row["pool"]
        first = {"run": key[0], "attempt": key[1], "pool": key[2], "role": row["role"], "sandbox": False}
        held = out.setdefault(key, {**first, "seconds": 0.0, "gpus": 0.0})
        both = held["seconds"] + seconds
        held["gpus"] = (held["gpus"] * held["seconds"] + gpus * seconds) / both
        held["seconds"] = both
    return out


def phase_weights(view: View, spend: Spend, run: str) -> dict[str, float]:
    """GPU-seconds of a run's surviving lineage by phase of its pools' clocks; what the timers leave open is
    `unattributed` and `outside_steps`. Phases that overlap leave nothing open.
    """
    filters = Filters(runs=(run,))
    pools = {key: row for key, row in _pools(spend).items() if key[0] == run}
    modes = {r["run"]: r["mode"] for r in records(spend.runs[["run", "mode"]])}
    rows = match_pools(records(spend_queries.phase_seconds(view, filters)), pools, modes)
    inside = {
        (r["run"], r["attempt"]): r["seconds_kept"]
        for r in records(spend_queries.step_seconds(view, filters))
    }
    kept = {(r["run"], r["attempt"]): number(r["kept_frac"]) for r in records(spend.attempts)}
    out: dict[str, float] = {}
    clocks: dict[Pool, float] = {}
    for row in rows:
        key = row["run"], row["attempt"], row["pool"]
        if row["kind"] in ("wall", "exposed", "outside", "outside_exposed") and key in pools:
            out[row["phase"]] = out.get(row["phase"], 0.0) + row["seconds_kept"] * pools[key]["gpus"]
            if row["kind"] in ("wall", "exposed"):
                clocks[key] = clocks.get(key, 0.0) + row["seconds_kept"]
    for key, pool in pools.items():
        steps_s, share = inside.get(key[:2], 0.0), kept.get(key[:2], 0.0)
        open_s = max(0.0, steps_s - clocks.get(key, 0.0))
        rest_s = max(0.0, pool["seconds"] * (share if known(share) else 0.0) - steps_s)
        out[UNATTRIBUTED] = out.get(UNATTRIBUTED, 0.0) + open_s * pool["gpus"]
        out[OUTSIDE] = out.get(OUTSIDE, 0.0) + rest_s * pool["gpus"]
    return {phase: weight for phase, weight in out.items() if weight > 0}


def without_idle(weights: Mapping[str, float], split: Split) -> dict[str, float]:
    """GPU-seconds by phase less the idle ones, at the share of sampled time that was idle, as far as the time
    outside of steps holds them: a step that pauses is in its phases.
    """
    idle = split.idle / split.known * sum(weights.values()) if split.known > 0 else 0.0
    left = {**weights, OUTSIDE: max(0.0, weights.get(OUTSIDE, 0.0) - idle)}
    return {phase: weight for phase, weight in left.items() if weight > 0}


def idle_bubble(inside: Inside, run: str) -> float:
    """GPU-seconds of waits so long that samples already call them idle."""
    return sum(s * inside.gpus[key] for key, s in inside.long_s.items() if key[0] == run)
