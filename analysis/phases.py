"""Dollars by phase: each pool's cost spread over its own clock, the remainders kept as what they are."""

import pandas as pd

from analysis.frames import whole
from analysis.spend import Spend

ON_CLOCK = ("wall", "exposed")
UNATTRIBUTED = "unattributed"
OUTSIDE = "outside_steps"
SANDBOX = "sandbox"
BOOKED = "booked"
COLUMNS = ["run", "attempt", "pool", "named", "role", "phase", "kind", "seconds", "usd"]
POOL = ["run", "attempt", "pool"]


def phase_costs(
    spend: Spend, seconds: pd.DataFrame, step_seconds: pd.DataFrame, boundary: str
) -> pd.DataFrame:
    """Rows (COLUMNS) whose usd of kinds other than wait and busy sum to the cost of each run.

    `seconds` and `step_seconds` come from data.queries.spend. usd_per_s of a pool = its usd / its seconds;
    unattributed = step seconds - wall and exposed seconds, outside_steps = allocated - step seconds. Neither
    is clipped: below 0 it shows phases that overlap or a clock shorter than its steps.
    """
    pools = _pools(spend.allocations, boundary)
    kept = "_kept" if boundary == "compute" else ""
    inside = step_seconds.rename(columns={f"seconds{kept}": "step_s"})[["run", "attempt", "step_s"]]
    matched = match_pools(seconds, pools, spend.runs)
    matched["seconds"] = matched[f"seconds{kept}"]
    rows = matched.merge(pools[[*POOL, "usd_per_s"]], on=POOL, how="left")
    rows["usd"] = rows["seconds"] * rows["usd_per_s"]
    clock = rows[rows["kind"].isin(ON_CLOCK)].groupby(POOL)["seconds"].sum().rename("phase_s").reset_index()
    gpu = (
        pools[~pools["sandbox"]]
        .merge(inside, on=["run", "attempt"], how="left")
        .merge(clock, on=POOL, how="left")
    )
    gpu[["step_s", "phase_s"]] = gpu[["step_s", "phase_s"]].astype("float64").fillna(0.0)
    parts = [
        rows,
        _rest(gpu, UNATTRIBUTED, gpu["step_s"] - gpu["phase_s"]),
        _rest(gpu, OUTSIDE, gpu["seconds"] - gpu["step_s"]),
        _whole(pools[pools["sandbox"]], SANDBOX),
    ]
    if boundary == "full":
        parts.append(_booked(spend.runs))
    out = pd.concat(
        [p[COLUMNS] for p in parts if len(p)] or [pd.DataFrame(columns=COLUMNS)], ignore_index=True
    )
    return out.sort_values(["run", "attempt", "pool", "phase", "kind"], kind="stable").reset_index(drop=True)


def _pools(allocations: pd.DataFrame, boundary: str) -> pd.DataFrame:
    """One row a pool of an attempt: role, sandbox, gpus, seconds and usd inside the boundary, usd_per_s."""
    kept = "_kept" if boundary == "compute" else ""
    rows = allocations.assign(
        seconds=allocations["seconds"] * (allocations["kept_frac"] if kept else 1.0),
        usd=allocations[f"usd{kept}"],
    )
    grouped = rows.groupby(POOL, sort=True)
    out = grouped.agg(
        role=("role", "first"),
        sandbox=("sandbox", "min"),
        gpus=("gpus", "max"),
        seconds=("seconds", "sum"),
        usd=("usd", whole),
    ).reset_index()
    out["usd_per_s"] = (out["usd"] / out["seconds"]).where(out["seconds"] > 0)
    return out


def match_pools(seconds: pd.DataFrame, pools: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """Give phases the pools whose GPUs they occupy, by name, then by role, then by the run's clock.

    A phase that names no known pool runs on the clock of the whole job: in a synchronous run it costs every
    pool, otherwise the pools that train. A phase of a run without allocations keeps the pool that the file
    names.
    """
    gpu = pools[~pools["sandbox"]]
    rows = seconds.rename(columns={"pool": "named"}).reset_index(names="row")
    rows["named"] = rows["named"].astype(object).where(rows["named"].notna(), "")
    by_run = rows.merge(gpu[[*POOL, "role"]], on=["run", "attempt"], how="left")
    by_run["mode"] = by_run["run"].map(runs.set_index("run")["mode"]).fillna("")
    count = by_run.groupby("row")["pool"].transform("nunique")
    name = by_run["named"].eq(by_run["pool"]) | (count == 0)
    role = by_run["named"].eq(by_run["role"])
    job = by_run["mode"].isin(["", "sync"]) | by_run["role"].isin(["train", "colocated"]) | (count <= 1)
    any_name = name.groupby(by_run["row"]).transform("any")
    any_role = role.groupby(by_run["row"]).transform("any")
    keep = name.where(any_name, role.where(any_role, job))
    out = by_run[keep.astype(bool)].copy()
    out["pool"] = out["pool"].astype(object).where(out["pool"].notna(), out["named"])
    return out.drop(columns=["row", "mode"])


def _rest(gpu: pd.DataFrame, phase: str, seconds: pd.Series) -> pd.DataFrame:
    usd = (seconds * gpu["usd_per_s"]).where(gpu["seconds"] > 0, gpu["usd"] if phase == OUTSIDE else 0.0)
    return gpu.assign(
        named=gpu["pool"], phase=phase, kind="rest", seconds=seconds.where(gpu["seconds"] > 0, 0.0), usd=usd
    )


def _whole(pools: pd.DataFrame, phase: str) -> pd.DataFrame:
    return pools.assign(named=pools["pool"], phase=phase, kind="rest")


def _booked(runs: pd.DataFrame) -> pd.DataFrame:
    rows = runs.loc[runs["booked_usd"] != 0, ["run", "booked_usd"]].rename(columns={"booked_usd": "usd"})
    return rows.assign(attempt=0, pool="", named="", role="", phase=BOOKED, kind="rest", seconds=float("nan"))


def summable(costs: pd.DataFrame) -> pd.DataFrame:
    """The rows that add up to the cost of a run: without waits and busy thread time, which overlap them."""
    return costs[~costs["kind"].isin(["wait", "busy"])]


def by_run_and_phase(costs: pd.DataFrame) -> pd.DataFrame:
    """Dollars and pool-seconds by run and phase; usd is null when a pool of the run has no price."""
    grouped = summable(costs).groupby(["run", "phase"], sort=True)
    return grouped.agg(usd=("usd", whole), seconds=("seconds", "sum")).reset_index()


def waiting_usd(kept_costs: pd.DataFrame) -> pd.Series:
    """Dollars by run of what files call waiting on the surviving lineage.

    Exposed seconds, and waits as far as the pool's unattributed time holds them (they lie inside it).
    """
    exposed = kept_costs[kept_costs["kind"] == "exposed"].groupby(POOL)["usd"].sum()
    waits = kept_costs[kept_costs["kind"] == "wait"].groupby(POOL)["usd"].sum()
    rest = kept_costs[kept_costs["phase"] == UNATTRIBUTED].groupby(POOL)["usd"].sum().clip(lower=0)
    held = pd.concat([waits, rest], axis=1).min(axis=1).where(waits.notna())
    total = exposed.add(held.dropna(), fill_value=0.0)
    return total.groupby("run").sum() if len(total) else pd.Series(dtype="float64")
