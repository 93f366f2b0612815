"""What runs cost: allocations priced, split into the surviving lineage and what was lost.

Cost boundaries: `compute` is every pool on the surviving lineage, `campaign` every allocation, `full` adds
evaluations and booked cost rows. All dollars derive from allocations; a run with an unpriced GPU pool has no
dollars, and says so.
"""

from dataclasses import dataclass

import pandas as pd

from analysis.params import CommonParams
from analysis.prices import attach_prices
from analysis.result import Assumption, Notice
from analysis.words import listing
from data.queries import spend as queries
from data.queries.filters import Filters
from data.view import View

KEY = ["run", "attempt"]
CLOCK = "clock"


@dataclass(frozen=True)
class Spend:
    """Cost of the picked runs. Dollars are null where a price is missing.

    `allocations`: a row an allocation: gpu_hours, core_hours, gpu_usd, sandbox_usd, usd, usd_low, usd_high,
    kept_frac, usd_kept and the price columns. `attempts`: a row an attempt with its lineage and step sums.
    `runs`: a row a run: gpu_hours, usd, usd_low, usd_high at the asked boundary; usd_compute, usd_campaign,
    usd_full; lost_usd, lineage_frac, goodput_frac. `lost`: run, attempt, cause, gpu_hours, usd. `campaigns`:
    the same sums by campaign, with what was booked to the campaign alone.
    """

    allocations: pd.DataFrame
    attempts: pd.DataFrame
    runs: pd.DataFrame
    campaigns: pd.DataFrame
    lost: pd.DataFrame
    assumptions: tuple[Assumption, ...]
    notices: tuple[Notice, ...]


def filters_of(params: CommonParams) -> Filters:
    """The picked runs and platforms of shared parameters."""
    return Filters(tuple(params.runs), tuple(params.platforms))


def compute_spend(view: View, params: CommonParams) -> Spend:
    """Price the picked runs at `params.price` inside `params.boundary`."""
    filters = filters_of(params)
    attempts = queries.attempts(view, filters)
    priced = attach_prices(queries.allocations(view, filters), view.catalogue, params.price)
    allocations = _cost(priced.allocations, attempts)
    booked, booked_notices = _usd_only(queries.booked(view, filters))
    runs = _by_run(queries.runs(view, filters), allocations, attempts, booked, params.boundary)
    campaigns = _by_campaign(runs, booked, params.boundary)
    notices = (*priced.notices, *booked_notices, *_notices(allocations, attempts, runs))
    return Spend(allocations, attempts, runs, campaigns, _lost(allocations), priced.assumptions, notices)


def _cost(allocations: pd.DataFrame, attempts: pd.DataFrame) -> pd.DataFrame:
    columns = [*KEY, "kept_frac", "status", "cause", "keep_step"]
    out = allocations.merge(attempts[columns], on=KEY, how="left")
    for column in ("gpus", "cores", "seconds", "kept_frac"):
        out[column] = out[column].astype("float64")
    hours = out["seconds"] / 3600
    out["gpu_hours"] = out["gpus"].fillna(0) * hours
    out["core_hours"] = (out["cores"].fillna(0) * hours).where(out["sandbox"], 0.0)
    for name, rate in (("usd", "usd_per_h"), ("usd_low", "low_per_h"), ("usd_high", "high_per_h")):
        gpu = (out["gpu_hours"] * out[rate]).where(out["gpu_hours"] != 0, 0.0).where(~out["sandbox"], 0.0)
        core = (out["core_hours"] * out[rate]).where(out["core_hours"] != 0, 0.0).where(out["sandbox"], 0.0)
        out[f"gpu_{name}"], out[f"sandbox_{name}"] = gpu, core.fillna(0.0)
        out[name] = gpu + core.fillna(0.0)
    out["kept_frac"] = out["kept_frac"].fillna(0.0)
    for name in ("usd", "usd_low", "usd_high", "gpu_hours"):
        out[f"{name}_kept"] = out[name] * out["kept_frac"]
    return out


def _usd_only(booked: pd.DataFrame) -> tuple[pd.DataFrame, tuple[Notice, ...]]:
    """Keep dollars that allocations do not price already; say what was left out."""
    notices = []
    foreign = booked[booked["currency"].str.upper() != "USD"]
    if len(foreign):
        names = ", ".join(sorted(foreign["currency"].unique()))
        notices.append(
            Notice("currency_left_out", f"Cost rows in {names} are not converted and left out.", "costs")
        )
    gpu = booked[booked["bucket"] == "gpu"]
    if len(gpu):
        text = "Billed GPU rows are left out of the spend: allocations price the same hours."
        notices.append(Notice("gpu_bill_left_out", text, "costs"))
    keep = (booked["currency"].str.upper() == "USD") & (booked["bucket"] != "gpu")
    return booked[keep], tuple(notices)


def _sum(frame: pd.DataFrame, by: str, columns: list[str]) -> pd.DataFrame:
    """Sum where one missing part makes the whole missing."""
    grouped = frame.groupby(by, sort=True)[columns]
    return grouped.sum().where(grouped.count().eq(grouped.size(), axis=0))


SUMS = ["gpu_hours", "core_hours", "gpu_hours_kept", "usd", "usd_low", "usd_high", "usd_kept", "usd_low_kept"]
SUMS += ["usd_high_kept", "sandbox_usd"]


def _by_run(
    runs: pd.DataFrame, allocations: pd.DataFrame, attempts: pd.DataFrame, booked: pd.DataFrame, boundary: str
) -> pd.DataFrame:
    sums = _sum(allocations, "run", SUMS)
    out = runs.merge(sums, left_on="run", right_index=True, how="left")
    extra = booked[booked["run"].notna()].groupby("run")["amount"].sum()
    out["booked_usd"] = out["run"].map(extra).fillna(0.0).astype("float64")
    for low in ("", "_low", "_high"):
        out[f"usd{low}_compute"] = out[f"usd{low}_kept"]
        out[f"usd{low}_campaign"] = out[f"usd{low}"]
        out[f"usd{low}_full"] = out[f"usd{low}"] + out["booked_usd"]
        out[f"usd{low}"] = out[f"usd{low}_{boundary}"]
    out["lost_usd"] = out["usd_campaign"] - out["usd_compute"]
    out["gpu_hours_billed"] = out["gpu_hours"]
    if boundary == "compute":
        out["gpu_hours"] = out["gpu_hours_kept"]
    out["lineage_frac"] = (out["gpu_hours_kept"] / out["gpu_hours_billed"]).where(out["gpu_hours_billed"] > 0)
    out = out.merge(_goodput(allocations, attempts), on="run", how="left")
    clocks = allocations.groupby("run")["seconds_basis"].agg(lambda s: bool((s == CLOCK).all()))
    out["clock"] = out["run"].map(clocks).astype("boolean")
    return out.drop(columns=[c for c in out.columns if c.endswith("_kept")])


def _goodput(allocations: pd.DataFrame, attempts: pd.DataFrame) -> pd.DataFrame:
    """GPU-seconds inside kept steps and billed GPU-seconds by run; null when a clock is missing."""
    gpu = allocations[allocations["gpus"].fillna(0) > 0]
    steps = attempts[[*KEY, "step_s", "step_s_kept"]]
    joined = gpu.merge(steps, on=KEY, how="left")
    held = joined["seconds"] / joined.groupby([*KEY, "pool"])["seconds"].transform("sum")
    kept_s = joined["step_s_kept"].astype("float64").fillna(0.0).where(joined["step_s"].notna())
    joined["useful"] = joined["gpus"] * kept_s * held
    joined["billed"] = joined["gpus"] * joined["seconds"]
    sums = _sum(joined, "run", ["useful", "billed"])
    sums["goodput_frac"] = (sums["useful"] / sums["billed"]).where(sums["billed"] > 0)
    out = sums.rename(columns={"useful": "useful_gpu_s", "billed": "billed_gpu_s"})
    return out.rename_axis("run").reset_index()


def _by_campaign(runs: pd.DataFrame, booked: pd.DataFrame, boundary: str) -> pd.DataFrame:
    columns = [
        "gpu_hours",
        "core_hours",
        "usd",
        "usd_low",
        "usd_high",
        "usd_compute",
        "usd_campaign",
        "usd_full",
    ]
    columns += ["sandbox_usd", "lost_usd", "useful_gpu_s", "billed_gpu_s"]
    out = _sum(runs, "campaign", columns).rename_axis("campaign").reset_index()
    alone = booked[booked["run"].isna()].groupby("campaign")["amount"].sum()
    shared = out["campaign"].map(alone).fillna(0.0).astype("float64")
    out["booked_to_campaign_usd"] = shared
    out["usd_full"] = out["usd_full"] + shared
    if boundary == "full":
        for column in ("usd", "usd_low", "usd_high"):
            out[column] = out[column] + shared
    out["goodput_frac"] = (out["useful_gpu_s"] / out["billed_gpu_s"]).where(out["billed_gpu_s"] > 0)
    out["runs"] = out["campaign"].map(runs.groupby("campaign").size())
    return out


def _lost(allocations: pd.DataFrame) -> pd.DataFrame:
    """Dollars and GPU-hours outside the surviving lineage, by attempt and cause."""
    lost = allocations[allocations["kept_frac"] < 1].copy()
    lost["gpu_hours"] = lost["gpu_hours"] - lost["gpu_hours_kept"]
    lost["usd"] = lost["usd"] - lost["usd_kept"]
    lost["cause"] = (
        lost["cause"].where(lost["cause"].notna(), lost["status"]).fillna("not stated").astype(str)
    )
    grouped = lost.groupby([*KEY, "cause"], sort=True)[["gpu_hours", "usd"]]
    return grouped.sum(min_count=1).reset_index()


def _notices(allocations: pd.DataFrame, attempts: pd.DataFrame, runs: pd.DataFrame) -> list[Notice]:
    out = []
    guessed = allocations[allocations["seconds_basis"] != CLOCK]
    for run, group in guessed.groupby("run", sort=True):
        basis = ", ".join(sorted({str(b) for b in group["seconds_basis"].dropna()})) or "nothing"
        text = (
            f"Time of {run} comes from {basis.replace('_', ' ')}, not from a clock: its spend is a lower "
            f"bound "
            "(start-up, gaps and shut-down are not in the file)."
        )
        out.append(Notice("time_lower_bound", text, str(run)))
    for run in runs.loc[runs["gpu_hours_billed"].isna(), "run"]:
        known = allocations["run"].eq(run).any()
        lacking = "how long it held its GPUs, or how many" if known else "its pools (role, platform, GPUs)"
        out.append(
            Notice("cost_unknown", f"{run} has no cost: fill in {lacking} in the run details.", str(run))
        )
    unsplit = attempts[attempts["kept_frac"].isna()]
    for run in sorted(set(unsplit["run"])):
        text = (
            f"What survives of an interrupted attempt of {run} is not known (no resume step or no step "
            f"times), "
            "so none of it counts as surviving."
        )
        out.append(Notice("lineage_unknown", text, str(run)))
    made_up = [str(run) for run in runs.loc[runs["synthetic"], "run"]]
    if made_up:
        text = f"{listing(made_up)} {'is' if len(made_up) == 1 else 'are'} synthetic example data."
        out.append(Notice("synthetic", text, "; ".join(made_up)))
    return out
