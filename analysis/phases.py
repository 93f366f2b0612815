"""Dollars by phase: each pool's cost spread over its own clock, the remainders kept as what they are."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from analysis.frames import NAN, Row, add_up, known, number, ratio, records, table, text
from analysis.spend import Spend

ON_CLOCK = ("wall", "exposed")
ON_TOP = ("outside", "outside_exposed")
"""Kinds of timers that lie on top of the step timer."""
UNATTRIBUTED = "unattributed"
OUTSIDE = "outside_steps"
SANDBOX = "sandbox"
BOOKED = "booked"
ENDS = ("usd_low", "usd_high")
NUMBERS = ["seconds", "usd", *ENDS, "usd_kept"]
COLUMNS = ["run", "attempt", "pool", "named", "role", "phase", "kind", *NUMBERS]
Pool = tuple[str, int, str]


def phase_costs(
    spend: Spend, seconds: pd.DataFrame, step_seconds: pd.DataFrame, boundary: str
) -> pd.DataFrame:
    """Rows (COLUMNS) whose usd of kinds other than wait and busy sum to the cost of each run.

    `usd_low` and `usd_high` are the same at the lowest and the highest published quote.

    `seconds` and `step_seconds` come from data.queries.spend. usd_per_s of a pool = its usd / its seconds;
    unattributed = step seconds - wall and exposed seconds, outside_steps = allocated - step seconds - the
    seconds of timers on top of the step timer. Neither is clipped: below 0 it shows phases that overlap or a
    clock shorter than its steps. `usd_kept` is the part on the surviving lineage; `seconds` and `usd` are
    those of the boundary.
    """
    pools = _pools(spend)
    timed = match_pools(
        records(seconds), pools, {r["run"]: r["mode"] for r in records(spend.runs[["run", "mode"]])}
    )
    rows = _priced(spend, timed, pools, step_seconds, boundary)
    for end in ENDS:
        other = _priced(spend, timed, _pools(spend, end), step_seconds, boundary)
        rows = [{**row, end: same["usd"]} for row, same in zip(rows, other, strict=True)]
    rows.sort(key=lambda r: (r["run"], r["attempt"], r["pool"], r["phase"], r["kind"]))
    return table(rows, COLUMNS, NUMBERS)


def _priced(
    spend: Spend,
    timed: list[Row],
    pools: dict[Pool, Row],
    step_seconds: pd.DataFrame,
    boundary: str,
) -> list[Row]:
    """The rows of phase_costs at the quote that `pools` were priced at, in an order of their own."""
    steps = {(r["run"], r["attempt"]): r for r in records(step_seconds)}
    rows: list[Row] = []
    clocks: dict[Pool, tuple[float, float]] = {}
    tops: dict[Pool, tuple[float, float]] = {}
    for row in timed:
        pool = pools.get(_key(row))
        rate = ratio(pool["usd"], pool["seconds"]) if pool else NAN
        rows.append({**row, "usd_all": row["seconds"] * rate, "usd_kept": row["seconds_kept"] * rate})
        target = clocks if row["kind"] in ON_CLOCK else tops if row["kind"] in ON_TOP else None
        if target is not None:
            whole, kept = target.get(_key(row), (0.0, 0.0))
            target[_key(row)] = whole + row["seconds"], kept + row["seconds_kept"]
    for key, pool in pools.items():
        inside = steps.get(key[:2], {"seconds": 0.0, "seconds_kept": 0.0})
        rows += _rest(pool, inside, clocks.get(key, (0.0, 0.0)), tops.get(key, (0.0, 0.0)))
    if boundary == "compute":
        rows = [{**r, "seconds": r["seconds_kept"], "usd": r["usd_kept"]} for r in rows]
    else:
        rows = [{**r, "usd": r["usd_all"]} for r in rows]
    return [*rows, *_booked(spend)] if boundary == "full" else rows


def _key(row: Mapping[str, Any]) -> Pool:
    return row["run"], row["attempt"], row["pool"]


def _pools(spend: Spend, quote: str = "usd") -> dict[Pool, Row]:
    """Pools of attempts: role, sandbox, seconds and usd at a quote, whole and on the surviving lineage."""
    names = ["seconds", "seconds_kept", "usd", "usd_kept"]
    parts = [
        {
            **row,
            "seconds_kept": number(row["seconds"]) * row["kept_frac"],
            "usd": row[quote],
            "usd_kept": row[f"{quote}_kept"],
        }
        for row in spend.rows
    ]
    sums = add_up(parts, _key, names)
    first: dict[Pool, Row] = {}
    for row in spend.rows:
        first.setdefault(_key(row), row)
    return {
        key: {"run": key[0], "attempt": key[1], "pool": key[2], "named": key[2], "role": first[key]["role"],
              "sandbox": first[key]["sandbox"], **got}
        for key, got in sums.items()
    }  # fmt: skip


def match_pools(seconds: list[Row], pools: dict[Pool, Row], modes: dict[str, str]) -> list[Row]:
    """Give phases the pools whose GPUs they occupy, by name, then by role, then by the run's clock.

    A phase that names no known pool runs on the clock of the whole job: in a synchronous run it costs every
    pool, otherwise the pools that train. A phase of a run without allocations keeps the pool that the file
    names.
    """
    by_attempt: dict[tuple[str, int], list[Row]] = {}
    for pool in pools.values():
        if not pool["sandbox"]:
            by_attempt.setdefault((pool["run"], pool["attempt"]), []).append(pool)
    out = []
    for row in seconds:
        named = text(row["pool"]) or ""
        found = by_attempt.get((row["run"], row["attempt"]), [])
        base = {**row, "named": named}
        if not found:
            out.append({**base, "pool": named, "role": None})
        held = _occupied(found, named, modes.get(row["run"], ""))
        out.extend({**base, "pool": pool["pool"], "role": pool["role"]} for pool in held)
    return out


def _occupied(pools: list[Row], named: str, mode: str) -> list[Row]:
    by_name = [pool for pool in pools if pool["pool"] == named]
    by_role = [pool for pool in pools if pool["role"] == named]
    if by_name or by_role or mode in ("", "sync") or len(pools) == 1:
        return by_name or by_role or pools
    return [pool for pool in pools if pool["role"] in ("train", "colocated")]


def _rest(pool: Row, steps: Row, clock: tuple[float, float], top: tuple[float, float]) -> list[Row]:
    """What is left of a pool: unattributed step time and time outside steps; a sandbox is one line."""
    head = {**{name: pool[name] for name in ("run", "attempt", "pool", "named", "role")}, "kind": "rest"}
    if pool["sandbox"]:
        names = ("seconds", "seconds_kept", "usd_kept")
        return [{**head, "phase": SANDBOX, **{n: pool[n] for n in names}, "usd_all": pool["usd"]}]
    rate = ratio(pool["usd"], pool["seconds"])
    if not known(rate) and not pool["seconds"] > 0:
        lump = {"seconds": 0.0, "seconds_kept": 0.0, "usd_all": pool["usd"], "usd_kept": pool["usd_kept"]}
        return [{**head, "phase": OUTSIDE, **lump}]
    out = []
    for phase, whole, kept in (
        (UNATTRIBUTED, steps["seconds"] - clock[0], steps["seconds_kept"] - clock[1]),
        (
            OUTSIDE,
            pool["seconds"] - steps["seconds"] - top[0],
            pool["seconds_kept"] - steps["seconds_kept"] - top[1],
        ),
    ):
        usd = {"usd_all": whole * rate, "usd_kept": kept * rate}
        out.append({**head, "phase": phase, "seconds": whole, "seconds_kept": kept, **usd})
    return out


def _booked(spend: Spend) -> list[Row]:
    head = {
        "attempt": 0,
        "pool": "",
        "named": "",
        "role": None,
        "phase": BOOKED,
        "kind": "rest",
        "seconds": NAN,
    }
    amounts = records(spend.runs[["run", "booked_usd"]])
    return [
        {**head, "run": r["run"], "usd": r["booked_usd"], "usd_kept": 0.0}
        for r in amounts
        if r["booked_usd"] != 0
    ]


def by_run_and_phase(costs: pd.DataFrame) -> pd.DataFrame:
    """Dollars and pool-seconds by run and phase, without waits and busy thread time, which overlap the rest;
    usd is null when a pool of the run has no price.
    """
    rows = [row for row in records(costs) if row["kind"] not in ("wait", "busy")]
    sums = add_up(rows, lambda r: (r["run"], r["phase"]), ["usd", "seconds"])
    out = [{"run": run, "phase": phase, **got} for (run, phase), got in sorted(sums.items())]
    return table(out, ["run", "phase", "usd", "seconds"], ["usd", "seconds"])


def waiting_usd(costs: pd.DataFrame) -> dict[str, float]:
    """Dollars by run of what files call waiting on the surviving lineage.

    Exposed seconds, and waits as far as the pool's unattributed time holds them (they lie inside it).
    """
    exposed: dict[Pool, float] = {}
    waits: dict[Pool, float] = {}
    rest: dict[Pool, float] = {}
    for row in records(costs):
        kinds = {"exposed": exposed, "outside_exposed": exposed, "wait": waits}
        target = rest if row["phase"] == UNATTRIBUTED else kinds.get(row["kind"])
        if target is not None:
            target[_key(row)] = target.get(_key(row), 0.0) + row["usd_kept"]
    out: dict[str, float] = {}
    for key in {**exposed, **waits}:
        held = min(waits.get(key, 0.0), max(0.0, rest.get(key, 0.0)))
        out[key[0]] = out.get(key[0], 0.0) + exposed.get(key, 0.0) + held
    return out
