"""Paid, allocated, active, effective: each step down with the bounds that missing samples leave."""

from typing import Any

import pandas as pd

from analysis.frames import records
from analysis.measures import MEASURES, PRESENCE, WORK
from analysis.spend import Spend
from analysis.words import count, percent

ENOUGH = 0.5
TOLERANCE = 0.02
SUMS = ["known_s", "weighted_sum", "outside_s"]
COLUMNS = [
    "rung",
    "gpu_hours",
    "gpu_hours_low",
    "gpu_hours_high",
    "frac",
    "usd",
    "usd_low",
    "usd_high",
    "basis",
    "missing",
]


def ladder(spend: Spend, samples: pd.DataFrame, billed_usd: float | None) -> pd.DataFrame:
    """Four rows (COLUMNS). Active and effective hours = allocated x time-weighted mean of the named measure,
    from `samples` (`queries.sampled`) inside the runs' windows; low counts every unsampled hour as 0, high
    as 1. Dollars at the runs' mean price a GPU-hour. Not known when a run has more samples than allocation.
    """
    mine = set(samples["run"].dropna())
    found = of_runs(samples)
    over = excess(spend, samples)
    reason = exceeded(over) if over else ""
    runs = spend.runs[spend.runs["run"].isin(mine)] if mine else spend.runs
    hours = runs["gpu_hours_billed"].sum(skipna=False) if len(runs) else float("nan")
    usd = runs["usd_campaign"].sum(skipna=False) - runs["sandbox_usd"].sum() if len(runs) else float("nan")
    rate = usd / hours if pd.notna(usd) and pd.notna(hours) and hours > 0 else float("nan")
    rows = [
        _row("paid", usd=billed_usd, missing="" if billed_usd is not None else "no bill is loaded"),
        _row("allocated", hours, hours, hours, usd=usd, basis="allocations", missing=_lacking(hours)),
        _measured("active", PRESENCE, found, hours, rate, reason),
        _measured("effective", WORK, found, hours, rate, reason),
    ]
    out = pd.DataFrame(rows, columns=COLUMNS)
    numbers = ["gpu_hours", "gpu_hours_low", "gpu_hours_high", "frac", "usd", "usd_low", "usd_high"]
    out[numbers] = out[numbers].astype("float64")
    out["frac"] = (out["gpu_hours"] / hours) if pd.notna(hours) and hours > 0 else float("nan")
    return out


def of_runs(samples: pd.DataFrame) -> pd.DataFrame:
    """known_s, weighted_sum and outside_s by measure: of GPUs with a run, or of all when none has one."""
    named = samples[samples["run"].notna()]
    return (samples if named.empty else named).groupby("measure", as_index=False)[SUMS].sum()


def excess(spend: Spend, samples: pd.DataFrame) -> dict[str, tuple[float, float]]:
    """Runs with more sampled than allocated GPU-hours: (sampled, allocated); "" is all runs together."""
    allocated = {str(r["run"]): float(r["gpu_hours_billed"]) for r in records(spend.runs)}
    named = samples[samples["run"].notna()]
    if named.empty:
        named = samples.assign(run="")
        allocated = {"": sum(allocated.values())}
    longest = (named.groupby(["run", "measure"])["known_s"].sum() / 3600).groupby("run").max()
    # whole minutes at both ends of a run are no excess
    return {
        str(run): (float(hours), allocated[str(run)])
        for run, hours in longest.items()
        if hours > allocated.get(str(run), float("nan")) * (1 + TOLERANCE)
    }


def exceeded(over: dict[str, tuple[float, float]]) -> str:
    """The reason why nothing is said about the allocated hours."""
    run, (hours, allocated) = next(iter(over.items()))
    who = f"{run} has" if run else "the GPUs have"
    return f"{who} {count(hours)} sampled GPU-hours but only {count(allocated)} allocated"


def _lacking(hours: float) -> str:
    return "" if pd.notna(hours) else "allocated GPU-hours are missing; fill in the run details"


def _row(rung: str, hours: Any = None, low: Any = None, high: Any = None, **more: Any) -> dict[str, Any]:
    return {
        "rung": rung,
        "gpu_hours": hours,
        "gpu_hours_low": low,
        "gpu_hours_high": high,
        "basis": "",
        **more,
    }


def _measured(
    rung: str, wanted: tuple[str, ...], found: pd.DataFrame, hours: float, rate: float, reason: str
) -> dict[str, Any]:
    rows = {row["measure"]: row for row in records(found)}
    name = next((m for m in wanted if m in rows and rows[m]["known_s"] > 0), None)
    if name is None:
        return _row(rung, missing=f"none of {', '.join(wanted)} was recorded")
    if reason:
        return _row(rung, missing=reason)
    weighted, known = rows[name]["weighted_sum"] / 3600, rows[name]["known_s"] / 3600
    mean = weighted / known
    allocated = hours if pd.notna(hours) else known
    unknown = max(0.0, allocated - known)
    # a whole minute counts when it touches the allocation, so the bounds are kept inside what was allocated
    low, high = min(weighted, allocated), min(weighted + unknown, allocated)
    basis = f"{MEASURES[name].label} x allocated" if pd.notna(hours) else f"{MEASURES[name].label} x sampled"
    enough = known >= ENOUGH * allocated
    missing = "" if enough else f"only {percent(known / allocated)} of the allocated hours were sampled"
    value = mean * allocated if enough else None
    return _row(
        rung, value, low, high, usd=value * rate if value is not None else None, usd_low=low * rate,
        usd_high=high * rate,
        basis=basis, missing=missing,
    )  # fmt: skip
