"""Energy of runs and campaigns: what was measured, what a published figure stands for, and what is missing.

Three boundaries of cost (compute: the surviving lineage; campaign and full: every attempt) and two scopes: at
the GPU, and at the meter of the building. Dollars of energy are a basis of their own, never added to rent.
"""

import math
from typing import Any, ClassVar, Literal

import pandas as pd
from pydantic import Field

from analysis.common import nothing, result
from analysis.energymonth import of_scope, spend_within
from analysis.energyowners import held_by_jobs
from analysis.energyparts import (
    COUNTER,
    FIGURE,
    PART_NUMBERS,
    PARTS,
    POWER,
    Factors,
    ends,
    parts_of,
    power_of,
)
from analysis.energywords import answer, figures, notices
from analysis.frames import NAN, Row, known, number, ratio, records, table, text
from analysis.gaintable import lineage_sums
from analysis.metered import METERED
from analysis.moneyparams import ALL, Period
from analysis.params import CommonParams
from analysis.result import Assumption, Result
from analysis.spend import Spend, compute_spend, filters_of
from data.queries import energy as queries
from data.view import View
from models.accrual import month
from models.energy import emissions_kg, kwh

SAID = ("synthetic", "time_lower_bound", "month_of_runs", "no_clock")
ENDS = ("", "_low", "_high")
SCOPED = [
    f"{name}{end}" for name in ("kwh_gpu", "kwh_facility", "kwh", "kgco2e", "usd_energy") for end in ENDS
]
UNITS = [
    f"{name}_per_{unit}{end}" for name in ("kwh", "kgco2e") for unit in ("rollout", "step") for end in ENDS
]
RUN_NUMBERS = ["gpu_h", "gpu_h_measured", "gpu_h_unsampled", "coverage_frac", "kwh_counter", "kwh_power"]
RUN_NUMBERS += ["kwh_platform", *SCOPED, "usd", "rollouts", "steps", *UNITS]
RUNS = ["run", "campaign", "basis", *RUN_NUMBERS]
SUMS = ["gpu_h", "gpu_h_measured", "kwh_counter", "kwh_power", "kwh_platform", *SCOPED, "usd"]
CAMPAIGNS = ["campaign", "team", "shipped_checkpoint", "runs", "known_runs", *SUMS]
PLATFORMS = ["platform", "gpu_kw", "it_kw", "utility_kw", "host_kw"]
SCHEDULER = ["run", "jobs", "kwh_scheduler", "kwh_gpu_measured", "ratio"]
EMPTY = {
    "runs": RUNS, "parts": list(PARTS), "campaigns": CAMPAIGNS, "platforms": PLATFORMS,
    "scheduler": SCHEDULER,
}  # fmt: skip


class EnergyParams(CommonParams):
    """`scope`: at the GPU, or at the meter. `pue` empty: the sourced default with its range; `at_meter`:
    published figures at the utility meter, which no PUE multiplies. `grid_kg_per_kwh` (kgCO2e a kWh) and
    `usd_per_kwh` have no default: without them there are no emissions and no dollars of energy. `period`: a
    month (UTC) as in a bill; empty or all: the whole time of the runs. `example`: auto leaves the example out
    where the home holds data of one's own, as everywhere on Money; an empty period leaves nothing out.
    """

    question: ClassVar[str] = "energy"
    scope: Literal["gpu", "facility"] = "facility"
    pue: float | None = Field(default=None, ge=1)
    at_meter: bool = False
    grid_kg_per_kwh: float | None = Field(default=None, ge=0)
    usd_per_kwh: float | None = Field(default=None, ge=0)
    period: Period = ""
    example: Literal["auto", "with"] = "auto"


def compute(view: View, params: EnergyParams) -> Result:
    """Tables: `runs` (RUNS), `parts` (run, basis, platform, gpu_h, kwh_gpu, kwh_host, kwh_facility),
    `campaigns`, `platforms` (published kW), `scheduler` (what the scheduler measured, as a cross-check).
    """
    asked, apart = of_scope(view, params, params.period, params.example)
    spend, filters, span = compute_spend(view, asked), filters_of(asked), queries.EVER
    if params.period not in ("", ALL):
        span = month(params.period)
        spend = spend_within(view, spend, span, params.boundary)
    moved, frozen = queries.counters(view)
    sensed = records(queries.measured(view, filters, moved, held_by_jobs(view), span))
    if spend.runs.empty:
        return nothing("energy", view, params, EMPTY)
    factors, assumed = _factors(view, params)
    parts = _parts(view, asked, spend, sensed, factors)
    runs = _runs(view, params, spend, parts, factors, lineage_sums(spend) if span is queries.EVER else {})
    told = queries.restarts(view, filters, moved) if moved else None
    loose = 0.0 if asked.runs or params.platforms else _loose(sensed)
    every = [row for group in parts.values() for row in group]
    frame = table(runs, RUNS, RUN_NUMBERS)
    return result(
        "energy", view, params, answer(params, runs),
        headline=figures(params, runs),
        tables={
            "runs": frame, "parts": table(every, PARTS, PART_NUMBERS),
            "campaigns": table(_campaigns(view, runs), CAMPAIGNS, SUMS),
            "platforms": _platforms(view, every), 
            "scheduler": _scheduler(view, asked, parts if span is queries.EVER else None),
        },
        assumptions=[*assumed, *_figures_used(view, every), *_given(params), *spend.assumptions],
        notices=[
            *apart,
            *(n for n in spend.notices if n.code in SAID),
            *notices(params, runs, frozen, told, loose, _metered(spend)),
        ],
        prices=spend.allocations,
    )  # fmt: skip


def _loose(sensed: list[Row]) -> float:
    """kWh that GPUs without a run measured outside every job of a run."""
    mine = {row["gpu_id"] for row in sensed if not text(row["run"])}
    signed = (row["joules"] * (-1 if text(row["run"]) else 1) for row in sensed if row["gpu_id"] in mine)
    return max(0.0, kwh(math.fsum(signed)))


def _factors(view: View, params: EnergyParams) -> tuple[Factors, list[Assumption]]:
    """PUE as given, else the catalogue's with its range and source."""
    if params.pue is not None:
        said = Assumption("PUE (energy at the meter / IT energy)", params.pue, "ratio", "user", "given", "")
        return Factors(params.pue, params.pue, params.pue, params.at_meter), [said]
    row = view.catalogue.tco_default("pue")
    if row is None or row.value is None:
        raise RuntimeError("the catalogue holds no PUE")
    low = row.value if row.low is None else row.low
    high = row.value if row.high is None else row.high
    said = Assumption(
        f"PUE (energy at the meter / IT energy; range {low:g} to {high:g})", row.value, "ratio", row.status,
        row.source, row.source_date,
    )  # fmt: skip
    return Factors(row.value, low, high, params.at_meter), [said]


def _given(params: EnergyParams) -> list[Assumption]:
    given = {
        "Grid intensity": (params.grid_kg_per_kwh, "kgCO2e per kWh"),
        "Price of energy": (params.usd_per_kwh, "USD per kWh"),
    }
    return [Assumption(n, v, unit, "user", "given", "") for n, (v, unit) in given.items() if v is not None]


def _figures_used(view: View, parts: list[Row]) -> list[Assumption]:
    """Published powers behind the parts: hosts of measured hours, everything of unsampled ones."""
    out: dict[tuple[str, str], Assumption] = {}
    for row in parts:
        facts = power_of(view.catalogue, row["platform"])[1]
        for name, fact in facts.items():
            label = f"{fact.field} of {row['platform']}"
            if name != "utility_kw" or row["basis"] == FIGURE:
                out[row["platform"], name] = Assumption(
                    label, fact.value, fact.unit, fact.status, fact.source, fact.date
                )
    return [out[key] for key in sorted(out)]


def _parts(
    view: View, params: EnergyParams, spend: Spend, sensed: list[Row], factors: Factors
) -> dict[str, list[Row]]:
    """Parts by run: seconds of an attempt count whole, or at the compute boundary by its surviving share."""
    kept: dict[tuple[str, int], float] = {}
    allocated: dict[str, dict[str | None, float]] = {}
    share = {row["run"]: number(row["lineage_frac"]) for row in records(spend.runs)}
    whole = params.boundary != "compute"
    for row in spend.rows:
        if number(row["gpus"]) > 0 and not row["sandbox"]:
            kept[row["run"], row["attempt"]] = row["kept_frac"]
            mine = allocated.setdefault(row["run"], {})
            hours = row["gpu_hours"] if whole else row["gpu_hours"] * row["kept_frac"]
            name = text(row["platform"])
            mine[name] = mine.get(name, 0.0) + hours
    measured: dict[str, list[Row]] = {}
    for row in sensed:
        run = text(row["run"])
        if run is None:
            continue
        attempt = number(row["attempt"])
        part = 1.0
        if not whole:
            part = kept.get((run, int(attempt)), 0.0) if known(attempt) else share.get(run, NAN)
        scaled = {name: number(row[name]) * part for name in ("joules", "seconds")}
        measured.setdefault(run, []).append({**row, **scaled})
    return {
        run: parts_of(run, measured.get(run, []), allocated.get(run, {}), view.catalogue, factors)
        for run in spend.runs["run"]
    }


def _runs(
    view: View,
    params: EnergyParams,
    spend: Spend,
    parts: dict[str, list[Row]],
    factors: Factors,
    counts: dict[str, Row],
) -> list[Row]:
    out = []
    for row in records(spend.runs):
        mine = parts[row["run"]]
        hours = {basis: math.fsum(p["gpu_h"] for p in mine if p["basis"] == basis) for basis in _BASIS_NAMES}
        gpu_h = number(row["gpu_hours"])
        sampled = hours[COUNTER] + hours[POWER]
        got: Row = {"run": row["run"], "campaign": row["campaign"], "usd": row["usd"], "gpu_h": gpu_h}
        got |= {"gpu_h_measured": sampled, "gpu_h_unsampled": hours[FIGURE] if known(gpu_h) else NAN}
        got["coverage_frac"] = min(1.0, ratio(sampled, gpu_h)) if known(gpu_h) else NAN
        got["basis"] = " + ".join(name for name in _BASIS_NAMES if hours[name] > 0)
        for basis, name in _BASIS_NAMES.items():
            got[name] = math.fsum(p["kwh_gpu"] for p in mine if p["basis"] == basis)
        bounds = ends(mine, view.catalogue, factors) if mine else dict.fromkeys(_BOUNDS, NAN)
        if not known(gpu_h):
            bounds |= {name: NAN for name in bounds if not name.endswith("_low")}
        out.append(_per_unit({**got, **_scoped(params, bounds)}, counts.get(row["run"], {})))
    return out


_BASIS_NAMES = {COUNTER: "kwh_counter", POWER: "kwh_power", FIGURE: "kwh_platform"}
_BOUNDS = [f"{name}{end}" for name in ("kwh_gpu", "kwh_facility") for end in ENDS]


def _scoped(params: EnergyParams, bounds: dict[str, float]) -> Row:
    """Energy of the asked scope, its emissions, and dollars of energy at the meter."""
    out: Row = dict(bounds)
    for end in ENDS:
        energy, meter = bounds[f"kwh_{params.scope}{end}"], bounds[f"kwh_facility{end}"]
        grid, price = params.grid_kg_per_kwh, params.usd_per_kwh
        out[f"kwh{end}"] = energy
        out[f"kgco2e{end}"] = NAN if grid is None or not known(energy) else emissions_kg(energy, grid)
        out[f"usd_energy{end}"] = NAN if price is None else meter * price
    return out


def _per_unit(row: Row, counts: Row) -> Row:
    """Energy and emissions a rollout and a step that survived; steps without a count are left out."""
    steps, rollouts = (number(counts.get(name)) for name in ("steps", "rollouts"))
    covered = number(counts.get("rollouts_frac"))
    out = {**row, "steps": steps, "rollouts": rollouts}
    for name in ("kwh", "kgco2e"):
        for end in ENDS:
            out[f"{name}_per_rollout{end}"] = ratio(row[f"{name}{end}"] * covered, rollouts)
            out[f"{name}_per_step{end}"] = ratio(row[f"{name}{end}"], steps)
    return out


def _campaigns(view: View, runs: list[Row]) -> list[Row]:
    """Sums by campaign; a run without a figure makes the sum missing, `known_runs` says how many have one."""
    about = {row["campaign"]: row for row in records(queries.campaigns(view))}
    groups: dict[str, list[Row]] = {}
    for row in runs:
        groups.setdefault(row["campaign"], []).append(row)
    out = []
    for name, mine in sorted(groups.items()):
        known_as: dict[str, Any] = about.get(name, {})
        row = {"campaign": name, "team": text(known_as.get("team")), "runs": len(mine)}
        row |= {"shipped_checkpoint": text(known_as.get("shipped_checkpoint"))}
        row["known_runs"] = sum(1 for one in mine if known(one["kwh"]))
        out.append({**row, **{total: math.fsum(number(one[total]) for one in mine) for total in SUMS}})
    return out


def _platforms(view: View, parts: list[Row]) -> pd.DataFrame:
    rows = []
    for name in sorted({row["platform"] for row in parts if row["platform"]}):
        power = power_of(view.catalogue, name)[0]
        rows.append({"platform": name, **{kind: getattr(power, kind) for kind in PLATFORMS[1:]}})
    return table(rows, PLATFORMS, PLATFORMS[1:])


def _scheduler(view: View, params: EnergyParams, parts: dict[str, list[Row]] | None) -> pd.DataFrame:
    """What the scheduler measured for whole nodes, which draw more, beside the GPUs' own energy; None: of a
    month, which whole jobs do not fit.
    """
    out: list[Row] = []
    for row in records(queries.scheduled(view, filters_of(params))) if parts is not None else []:
        mine = [p["kwh_gpu"] for p in (parts or {}).get(row["run"], []) if p["basis"] != FIGURE]
        board = math.fsum(mine) if mine else NAN
        said = kwh(row["joules"])
        out.append({"run": row["run"], "jobs": row["jobs"], "kwh_scheduler": said, "kwh_gpu_measured": board})
        out[-1]["ratio"] = ratio(said, board)
    return table(out, SCHEDULER, SCHEDULER[1:])


def _metered(spend: Spend) -> list[str]:
    return [row["run"] for row in records(spend.runs) if row["basis"] == METERED]
