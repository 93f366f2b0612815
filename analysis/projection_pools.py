"""The pools of a run as a projection sees them: engines, trainer, and what stays beside them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import pandas as pd

from analysis.frames import Row, known, number, records, text
from analysis.prices import attach_prices
from analysis.result import Assumption, Notice
from analysis.words import listing
from data.catalogue import Catalogue
from models.step_time import Mode

DETAILS = "Fill it in: Telemetry page, run details."
COLOCATED, ENGINES, TRAINER = "colocated", "rollout", "train"
ROLES = (COLOCATED, ENGINES, TRAINER)
ONE_POOL: dict[str, Mode] = {
    "": "sync_colocated",
    "sync": "sync_colocated",
    "one_step_off": "one_step_off",
    "async": "async",
}
TWO_POOLS: dict[str, Mode] = {"sync": "sync_disaggregated", "one_step_off": "one_step_off", "async": "async"}


@dataclass(frozen=True)
class PoolOf:
    """GPUs of one kind of work on one platform, and what an hour of one costs (NaN: no price)."""

    names: tuple[str, ...]
    platform_id: str
    gpus: int
    usd_per_gpu_h: float
    price_id: str


@dataclass(frozen=True)
class Pools:
    """Pools of a run; `blocked`: why they are not enough for any projection, `gap`: why not for phases.

    Where one pool does both, engines and trainer are the same object. `side_usd_per_h`: judges and
    sandboxes, which stay what they are; those without a price are left out, and a notice says so. `sandbox`:
    platform of the sandboxes' CPUs, '' when nobody said.
    """

    blocked: str = ""
    gap: str = ""
    mode: Mode | None = None
    engines: PoolOf | None = None
    trainer: PoolOf | None = None
    side_usd_per_h: float = 0.0
    sandbox: str = ""
    assumptions: tuple[Assumption, ...] = ()
    notices: tuple[Notice, ...] = ()

    @property
    def each(self) -> tuple[PoolOf, ...]:
        """The pools, each once."""
        if self.engines is None or self.trainer is None:
            return ()
        return (self.engines,) if self.engines is self.trainer else (self.engines, self.trainer)


def read_pools(run: str, allocations: pd.DataFrame, book: Catalogue, price: str, mode: str) -> Pools:
    """Pools out of the allocations of one attempt; `mode` as the run says it ('' when nobody did).

    A pool pays its own price where it has one, else the picker's kind.tier.
    """
    priced = attach_prices(allocations, book, price)
    rows = records(priced.allocations)
    held = [r for r in rows if r["role"] in ROLES]
    if not held:
        return Pools(blocked=f"{run} names no GPUs: how many, of which platform. {DETAILS}")
    for row in held:
        lacks = [] if text(row["platform"]) else ["platform"]
        lacks += [] if number(row["gpus"]) > 0 else ["number of GPUs"]
        if lacks:
            words = f"The {' and '.join(lacks)} of pool {row['pool']} of {run} is not known. {DETAILS}"
            return Pools(blocked=words)
    by_role = {role: [r for r in held if r["role"] == role] for role in ROLES}
    for role, found in by_role.items():
        platforms = sorted({str(r["platform"]) for r in found})
        if len(platforms) > 1:
            words = f"The {role} pool of {run} is on several platforms ({listing(platforms)}); one is needed."
            return Pools(blocked=words)
    side = [usd for r in rows if r["role"] not in ROLES and known(usd := _per_hour(r))]
    pools = {role: _pool(found) for role, found in by_role.items() if found}
    boxes = [text(r["platform"]) or "" for r in rows if r["sandbox"]]
    told = Pools(
        side_usd_per_h=math.fsum(side),
        sandbox=boxes[0] if len(set(boxes)) == 1 else "",
        assumptions=priced.assumptions,
        notices=priced.notices,
    )
    return _by_mode(run, mode, pools, told)


def _by_mode(run: str, mode: str, pools: dict[str, PoolOf], told: Pools) -> Pools:
    if len(pools) == 2 and COLOCATED not in pools:
        if mode not in TWO_POOLS:
            words = f"Whether {run} rolls out beside its training (sync, one step off, async) is not known. "
            return Pools(blocked=words + DETAILS)
        return replace(told, mode=TWO_POOLS[mode], engines=pools[ENGINES], trainer=pools[TRAINER])
    if len(pools) > 1:
        words = f"{run} has a pool that does both beside pools that do one: no model for that. {DETAILS}"
        return Pools(blocked=words)
    alone = next(iter(pools.values()))
    gap = ""
    if mode in ("one_step_off", "async"):
        gap = f"which GPUs of {run} roll out and which train is not known"
    return replace(told, gap=gap, mode=ONE_POOL[mode], engines=alone, trainer=alone)


def _pool(rows: Sequence[Row]) -> PoolOf:
    """GPUs of a role together; of one pool that is listed twice the larger count."""
    by_name: dict[str, Row] = {}
    for row in rows:
        other = by_name.get(row["pool"])
        if other is None or number(row["gpus"]) > number(other["gpus"]):
            by_name[row["pool"]] = row
    gpus = math.fsum(number(r["gpus"]) for r in by_name.values())
    usd = math.fsum(number(r["gpus"]) * number(r["usd_per_h"]) for r in by_name.values()) / gpus
    ids = sorted({text(r["price_id"]) or "" for r in by_name.values()} - {""})
    return PoolOf(tuple(sorted(by_name)), str(rows[0]["platform"]), round(gpus), usd, " + ".join(ids))


def _per_hour(row: Row) -> float:
    return number(row["cores"] if row["sandbox"] else row["gpus"]) * number(row["usd_per_h"])
