"""A row a run with what it cost, what it gained and on which platform generation."""

import math

import pandas as pd

from analysis.frames import NAN, Row, known, number, ratio, records, table, text, whole
from analysis.headline import most_shared, usd_per_point
from analysis.pairs import Gains
from analysis.spend import Spend
from data.catalogue import Catalogue

RUN_COLUMNS = [
    "run", "campaign", "platforms", "generation", "gpu_hours", "usd", "usd_low", "usd_high", "steps",
    "rollouts",
    "tok_gen", "benchmark", "key", "before_score", "after_score", "gain", "gain_low", "gain_high",
    "verdict", "reason",
    "usd_per_point", "usd_per_point_low", "usd_per_point_high", "synthetic",
]  # fmt: skip


NUMBERS = [
    "gpu_hours",
    "usd",
    "usd_low",
    "usd_high",
    "steps",
    "rollouts",
    "tok_gen",
    "before_score",
    "after_score",
]
NUMBERS += ["gain", "gain_low", "gain_high", "usd_per_point", "usd_per_point_low", "usd_per_point_high"]
GENERATION_COLUMNS = [
    "generation", "runs", "gpu_hours", "usd", "usd_low", "usd_high", "steps", "rollouts", "better",
    "best_usd_per_point", "usd_per_rollout",
]  # fmt: skip


def platforms_of(spend: Spend, catalogue: Catalogue) -> dict[str, Row]:
    """By run: `platforms` (list of GPU platform ids) and `generation` (families, '' when unknown)."""
    named: dict[str, set[str]] = {}
    for row in spend.rows:
        platform = text(row["platform"])
        if platform and not row["sandbox"]:
            named.setdefault(row["run"], set()).add(platform)
    out: dict[str, Row] = {}
    for run, ids in named.items():
        found = [catalogue.platform(name) for name in sorted(ids)]
        families = [p.family if p else name for p, name in zip(found, sorted(ids), strict=True)]
        out[run] = {"platforms": sorted(ids), "generation": " + ".join(dict.fromkeys(families))}
    return out


COUNTS = ("steps", "rollouts", "tok_gen", "rollouts_steps", "tok_gen_steps")


def lineage_sums(spend: Spend) -> dict[str, Row]:
    """By run: attempts, steps, rollouts and generated tokens on the surviving lineage; rollouts_frac and
    tok_gen_frac say in which share of these steps they are reported. NaN where nobody counted.

    A run none of whose attempts survived is counted whole (`survived` false): its money bought those.
    """
    groups: dict[str, list[Row]] = {}
    for row in records(spend.attempts):
        groups.setdefault(row["run"], []).append(row)
    out: dict[str, Row] = {}
    for run, attempts in groups.items():
        logged = any(number(a["steps"]) > 0 for a in attempts)
        survived = not logged or any(number(a["steps_kept"]) > 0 for a in attempts)
        suffix = "_kept" if survived else ""
        sums: Row = {}
        for name in COUNTS:
            values = [number(a[f"{name}{suffix}"]) for a in attempts]
            some = [v for v in values if known(v)]
            sums[name] = math.fsum(some) if some else NAN
        for name in ("rollouts", "tok_gen"):
            sums[f"{name}_frac"] = ratio(sums[f"{name}_steps"], sums["steps"])
        out[run] = {**sums, "attempts": len(attempts), "survived": survived}
    return out


def headline_gains(gains: Gains) -> dict[str, Row]:
    """By run: its gain on the benchmark that most runs share, usable comparisons first."""
    usable = gains.table[gains.table["gain"].notna()]
    place = {name: rank for rank, name in enumerate(most_shared(usable))} if len(usable) else {}
    rows = records(gains.table)
    rows.sort(
        key=lambda r: (
            not known(r["gain"]),
            place.get(r["benchmark_id"], len(place)),
            r["benchmark_id"],
            r["key"],
        )
    )
    out: dict[str, Row] = {}
    for row in rows:
        out.setdefault(row["run"], row)
    return out


def gain_rows(spend: Spend, gains: Gains, seed: int, catalogue: Catalogue) -> pd.DataFrame:
    """Table RUN_COLUMNS: every picked run, with its gain where there is one."""
    platforms, sums, best = platforms_of(spend, catalogue), lineage_sums(spend), headline_gains(gains)
    out = []
    for run in records(spend.runs):
        name = run["run"]
        found = best.get(name, {})
        row = {**run, **platforms.get(name, {"platforms": [], "generation": ""})}
        row |= {n: sums.get(name, {}).get(n) for n in ("steps", "rollouts", "tok_gen")}
        row |= {
            n: found.get(n)
            for n in ("benchmark", "key", "before_score", "after_score", "gain", "verdict", "reason")
        }
        row |= {"gain_low": found.get("low"), "gain_high": found.get("high")}
        draws = gains.draws.get((name, str(found.get("benchmark_id")), str(found.get("key"))))
        point = usd_per_point(found or None, draws, run["usd"], run["usd_low"], run["usd_high"], seed)
        row |= dict(zip(("usd_per_point", "usd_per_point_low", "usd_per_point_high"), point[:3], strict=True))
        out.append(row)
    return table(out, RUN_COLUMNS, NUMBERS)


def generations_of(runs: pd.DataFrame) -> pd.DataFrame:
    """Sums by platform generation: runs, GPU-hours, dollars (null when one is missing), rollouts."""
    rows = runs.assign(generation=runs["generation"].where(runs["generation"] != "", "platform not named"))
    grouped = rows.groupby("generation", sort=True)
    out = grouped.agg(
        runs=("run", "size"),
        gpu_hours=("gpu_hours", whole),
        usd=("usd", whole),
        usd_low=("usd_low", whole),
        usd_high=("usd_high", whole),
        steps=("steps", "sum"),
        rollouts=("rollouts", whole),
        better=("verdict", lambda s: int((s == "better").sum())),
        best_usd_per_point=("usd_per_point", "min"),
    ).reset_index()
    out["usd_per_rollout"] = (out["usd"] / out["rollouts"]).where(out["rollouts"] > 0)
    return out[GENERATION_COLUMNS]
