"""Spells of idle and stalled time put together into events: who, when, how long, how dear, by what."""

from collections.abc import Sequence
from decimal import Decimal

import pandas as pd

from analysis.frames import Row, known, ratio, table
from analysis.waste_owners import Owner
from analysis.waste_samples import WARM_BYTES, stamp
from analysis.words import percent
from models.cents import apportion
from models.stalls import FROZEN, LOW_POWER, NO_TRAFFIC

MOST_EVENTS = 500
TOUCH_S = 60.0
"""Spells of two GPUs that begin within a sample of each other's end are one event."""
MEANS = ("util", "sm", "tensor", "dram", "power")
SIGNAL_BITS = (NO_TRAFFIC, LOW_POWER, FROZEN)
NUMBERS = ["gpus", "length_min", "gpu_hours", "usd", *(f"{m}_frac" for m in MEANS), "warm"]
MACHINES = ["host", "gpus", "stalled_gpu_h", "idle_gpu_h"]
COLUMNS = ["run", "job", "attempt", "pool", "hosts", "start", "end", *NUMBERS, "evidence"]


def events(rows: Sequence[Row], usd: Decimal) -> pd.DataFrame:
    """One row an event (COLUMNS), dearest first: spells of one owner that overlap in time.

    Dollars of all events add up to `usd` to the cent. Means are weighted by time, over the seconds in which
    the measure was recorded.
    """
    groups: list[list[Row]] = []
    ends: dict[Owner, float] = {}
    for row in sorted(rows, key=lambda r: (_order(r["owner"]), r["start_s"], r["gpu_id"])):
        if (
            groups
            and groups[-1][0]["owner"] == row["owner"]
            and row["start_s"] <= ends[row["owner"]] + TOUCH_S
        ):
            groups[-1].append(row)
        else:
            groups.append([row])
            ends[row["owner"]] = row["end_s"]
        ends[row["owner"]] = max(ends[row["owner"]], row["end_s"])
    weights = [sum(r["known_s"] * r["rate"] for r in g if known(r["rate"])) for g in groups]
    priced = any(w > 0 for w in weights) and usd > 0
    amounts = apportion(usd, [max(w, 0.0) for w in weights]) if priced else [None] * len(groups)
    out = [_event(g, amount) for g, amount in zip(groups, amounts, strict=True)]
    out.sort(key=lambda r: (-(r["usd"] or 0.0), -r["gpu_hours"], r["start"], r["run"] or ""))
    frame = table(out, COLUMNS, NUMBERS)
    return frame.astype({"warm": bool, "gpus": "int64"}) if len(frame) else frame


def _order(owner: Owner) -> tuple[str, str, int, str]:
    return owner.run or "", owner.job or "", owner.attempt or 0, owner.pool or ""


def _event(group: list[Row], usd: Decimal | None) -> Row:
    owner: Owner = group[0]["owner"]
    start, end = min(r["start_s"] for r in group), max(r["end_s"] for r in group)
    means = {m: ratio(sum(r[m] for r in group), sum(r[f"{m}_k"] for r in group)) for m in (*MEANS, "mem")}
    held = sum(r["known_s"] for r in group)
    signals = {bit: sum(r[f"signal_{bit}"] for r in group) / held for bit in SIGNAL_BITS}
    hosts = sorted({r["host"] for r in group if r["host"]})
    # where a job holds 4 of 8 GPUs that all did the same, each of the 8 is half its own
    shares: dict[str, float] = {}
    for row in group:
        shares[row["gpu_id"]] = max(shares.get(row["gpu_id"], 0.0), row["share"])
    return {
        "run": owner.run,
        "job": owner.job,
        "attempt": owner.attempt,
        "pool": owner.pool,
        "hosts": ", ".join(hosts[:8]) + (f" and {len(hosts) - 8} more" if len(hosts) > 8 else ""),
        "start": stamp(start),
        "end": stamp(end),
        "gpus": max(1, round(sum(shares.values()))),
        "length_min": (end - start) / 60,
        "gpu_hours": held / 3600,
        "usd": None if usd is None else float(usd),
        **{f"{m}_frac": means[m] for m in MEANS},
        "warm": means["mem"] >= WARM_BYTES,
        "evidence": _evidence(group[0]["kind"], means, signals),
    }


def _evidence(kind: str, means: dict[str, float], signals: dict[int, float]) -> str:
    if kind == "idle":
        said = [f"SM active {percent(means['sm'])}"] if known(means["sm"]) else ["GPU-Util 0 %"]
        return "; ".join([*said, *(["a model stays in memory"] if means["mem"] >= WARM_BYTES else [])])
    said = [f"GPU-Util {percent(means['util'])}"] if known(means["util"]) else []
    if signals[NO_TRAFFIC] > 0:
        said.append(f"but tensor {percent(means['tensor'])} and memory {percent(means['dram'])}")
    if known(means["power"]):
        low = "only " if signals[LOW_POWER] > 0 else ""
        said.append(f"power {low}{percent(means['power'])} of its limit")
    if signals[FROZEN] > 0:
        said.append("step counter frozen")
    return "; ".join(said)


def machines(rows: Sequence[Row]) -> pd.DataFrame:
    """One row a host with idle or stalled spells (MACHINES), the most stalled first."""
    found: dict[str, Row] = {}
    gpus: dict[str, set[str]] = {}
    for row in rows:
        if row["host"]:
            host = found.setdefault(
                row["host"], {"host": row["host"], "idle_gpu_h": 0.0, "stalled_gpu_h": 0.0}
            )
            host[f"{row['kind']}_gpu_h"] += row["known_s"] / 3600
            gpus.setdefault(row["host"], set()).add(row["gpu_id"])
    out = [{**row, "gpus": len(gpus[name])} for name, row in found.items()]
    out.sort(key=lambda r: (-r["stalled_gpu_h"], -r["idle_gpu_h"], r["host"]))
    return table(out, MACHINES, MACHINES[1:]).astype({"gpus": "int64"})
