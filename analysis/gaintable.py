"""A row a run with what it cost, what it gained and on which platform generation."""

from typing import Any

import pandas as pd

from analysis.frames import records, whole
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


GENERATION_COLUMNS = [
    "generation", "runs", "gpu_hours", "usd", "usd_low", "usd_high", "steps", "rollouts", "better",
    "best_usd_per_point", "usd_per_rollout",
]  # fmt: skip


def platforms_of(spend: Spend, catalogue: Catalogue) -> pd.DataFrame:
    """Index run: `platforms` (list of GPU platform ids) and `generation` (families, '' when unknown)."""
    gpu = spend.allocations[~spend.allocations["sandbox"] & spend.allocations["platform"].notna()]
    names = gpu.groupby("run")["platform"].agg(lambda s: sorted(set(s)))
    known = {name: catalogue.platform(name) for name in gpu["platform"].unique()}
    family = {name: p.family if p else name for name, p in known.items()}
    generation = names.map(lambda ids: " + ".join(dict.fromkeys(family[i] for i in ids)))
    out = pd.DataFrame({"platforms": names, "generation": generation}).reindex(spend.runs["run"])
    out["platforms"] = [v if isinstance(v, list) else [] for v in out["platforms"]]
    out["generation"] = out["generation"].astype(object).where(out["generation"].notna(), "")
    return out


def lineage_sums(spend: Spend) -> pd.DataFrame:
    """Index run: attempts, steps, rollouts and generated tokens on the surviving lineage; rollouts_frac and
    tok_gen_frac say in which share of these steps they are reported.

    A run none of whose attempts survived is counted whole (`survived` false): its money bought those.
    """
    rows = spend.attempts.copy()
    alive = rows.groupby("run")["steps_kept"].transform("sum") > 0
    names = ["steps", "rollouts", "tok_gen", "rollouts_steps", "tok_gen_steps"]
    for name in names:
        rows[name] = rows[f"{name}_kept"].where(alive, rows[name]).astype("float64")
    grouped = rows.groupby("run", sort=True)
    out = grouped[names].sum(min_count=1)
    for name in ("rollouts", "tok_gen"):
        out[f"{name}_frac"] = (out[f"{name}_steps"] / out["steps"]).where(out["steps"] > 0)
    out["attempts"] = grouped.size()
    out["survived"] = alive.groupby(rows["run"]).any()
    return out


def headline_gains(gains: Gains) -> pd.DataFrame:
    """One row a run: its gain on the benchmark that most runs share, among equals the one with most tasks;
    usable comparisons first.
    """
    table = gains.table
    if table.empty:
        return table
    usable = table["gain"].notna()
    place = {name: rank for rank, name in enumerate(most_shared(table[usable]))}
    rank = [place.get(name, len(place)) for name in table["benchmark_id"]]
    rows = table.assign(refused=~usable, rank=rank)
    rows = rows.sort_values(["run", "refused", "rank", "benchmark_id", "key"], kind="stable")
    return rows.drop_duplicates("run").drop(columns=["refused", "rank"])


def gain_rows(spend: Spend, gains: Gains, seed: int, catalogue: Catalogue) -> pd.DataFrame:
    """Table RUN_COLUMNS: every picked run, with its gain where there is one."""
    out = spend.runs.merge(platforms_of(spend, catalogue), left_on="run", right_index=True, how="left")
    out = out.merge(lineage_sums(spend), left_on="run", right_index=True, how="left")
    best = headline_gains(gains).rename(columns={"low": "gain_low", "high": "gain_high"})
    columns = [
        "benchmark",
        "benchmark_id",
        "key",
        "before_score",
        "after_score",
        "gain",
        "gain_low",
        "gain_high",
    ]
    columns += ["verdict", "reason"]
    out = out.merge(best[["run", *columns]], on="run", how="left")
    found = [_point(row, gains, seed) for row in records(out)]
    for place, name in enumerate(("usd_per_point", "usd_per_point_low", "usd_per_point_high")):
        out[name] = pd.Series([f[place] for f in found], index=out.index, dtype="float64")
    for name in ("gain", "gain_low", "gain_high"):
        out[name] = out[name].astype("float64")
    return out[RUN_COLUMNS]


def _point(
    row: dict[str, Any], gains: Gains, seed: int
) -> tuple[float | None, float | None, float | None, str]:
    draws = gains.draws.get((row["run"], row["benchmark_id"], row["key"]))
    has = pd.notna(row["gain"])
    return usd_per_point(row if has else None, draws, row["usd"], row["usd_low"], row["usd_high"], seed)


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
