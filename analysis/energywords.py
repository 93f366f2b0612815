"""Headline figures, the answer and the notices of the question about energy."""

import math
from collections.abc import Sequence
from typing import Protocol

import pandas as pd

from analysis.common import figure
from analysis.formulas import FORMULAS
from analysis.frames import NAN, Row, known, number, records
from analysis.params import Boundary
from analysis.result import Figure, Notice
from analysis.words import digits3, listing, percent, plural
from models.energy import J_PER_KWH, emissions_kg

NO_GRID = (
    "the grid intensity is not given: no number is assumed, enter kgCO2e per kWh from your grid operator or "
    "your electricity contract (and say whether it is location- or market-based)"
)
NO_PRICE = (
    "the price of energy is not given: enter dollars a kWh; it is a basis of its own, never part of rent"
)
NO_ENERGY = (
    "no energy is known: load GPU samples with an energy counter or power, or name platform, GPUs and time "
    "in the run details"
)
NO_METER = "a platform publishes no all-in power, so energy at the meter is not known: look at scope gpu"
SCOPES = {"gpu": "at the GPU", "facility": "at the meter"}
SHORT = 0.9
WHOLE = 0.99


class Asked(Protocol):
    """The parameters that words depend on."""

    @property
    def scope(self) -> str: ...
    @property
    def boundary(self) -> Boundary: ...
    @property
    def grid_kg_per_kwh(self) -> float | None: ...
    @property
    def usd_per_kwh(self) -> float | None: ...


def total(runs: Sequence[Row], name: str) -> tuple[float, float, float, int]:
    """Sum of `name`, its low and high ends, over the runs that have it, and how many these are."""
    some = [row for row in runs if known(number(row[name]))]
    if not some:
        return NAN, NAN, NAN, 0
    value, low, high = (
        math.fsum(number(row[f"{name}{end}"]) for row in some) for end in ("", "_low", "_high")
    )
    return value, low, high, len(some)


def per_unit(runs: Sequence[Row], name: str, unit: str) -> tuple[float, float, float, int]:
    """Energy a rollout or step over several runs: the runs that have both, energy over count."""
    some = [row for row in runs if known(number(row[f"{name}_per_{unit}"]))]
    count = math.fsum(row[f"{unit}s"] for row in some)
    if not some or count <= 0:
        return NAN, NAN, NAN, 0
    value, low, high = (
        math.fsum(row[f"{name}_per_{unit}{end}"] * row[f"{unit}s"] for row in some) / count
        for end in ("", "_low", "_high")
    )
    return value, low, high, len(some)


def figures(params: Asked, runs: Sequence[Row]) -> list[Figure]:
    """Headline figures at the asked boundary and scope; bounds are physical, not statistical."""
    scoped = SCOPES[params.scope]
    grid = NO_GRID if params.grid_kg_per_kwh is None else _why_no_energy(params, runs)
    energy = _why_no_energy(params, runs)
    price = NO_PRICE if params.usd_per_kwh is None else NO_METER
    sampled = [row for row in runs if known(number(row["coverage_frac"])) and number(row["gpu_h"]) > 0]
    hours = math.fsum(row["gpu_h"] for row in sampled)
    covered = math.fsum(row["coverage_frac"] * row["gpu_h"] for row in sampled) / hours if hours > 0 else None
    made = "rollouts or steps are not counted"
    rows = [
        ("energy_gpu", total(runs, "kwh_gpu"), "", energy),
        ("energy_facility", total(runs, "kwh_facility"), "", energy),
        ("energy_per_rollout", per_unit(runs, "kwh", "rollout"), scoped, _first(energy, made)),
        ("energy_per_step", per_unit(runs, "kwh", "step"), scoped, _first(energy, made)),
        ("emissions", total(runs, "kgco2e"), scoped, grid),
        ("emissions_per_rollout", per_unit(runs, "kgco2e", "rollout"), scoped, _first(grid, made)),
        ("emissions_per_step", per_unit(runs, "kgco2e", "step"), scoped, _first(grid, made)),
        ("energy_usd", total(runs, "usd_energy"), SCOPES["facility"], price),
    ]
    out = [_figure(params, runs, *row) for row in rows]
    missing = "allocated GPU-hours are not known"
    return [*out, figure("energy_coverage", covered, missing=missing)]


def _first(why: str, made: str) -> str:
    return why or made


def _figure(
    params: Asked,
    runs: Sequence[Row],
    name: str,
    got: tuple[float, float, float, int],
    scoped: str,
    missing: str,
) -> Figure:
    value, low, high, count = got
    label = f"{FORMULAS[name].name}{f' {scoped}' if scoped else ''}, {params.boundary} boundary"
    if 0 < count < len(runs):
        label = f"{label} ({count} of {len(runs)} runs)"
    return figure(
        name, value, label=label, low=low, high=high, interval="bounds", boundary=params.boundary,
        missing=missing or NO_ENERGY,
    )  # fmt: skip


def _why_no_energy(params: Asked, runs: Sequence[Row]) -> str:
    if not any(row["basis"] for row in runs):
        return NO_ENERGY
    if any(known(number(row[f"kwh_{params.scope}"])) for row in runs):
        return ""
    if any(known(number(row["kwh_gpu"])) for row in runs):
        return NO_METER
    return (
        "a platform publishes no power, or it is not known how long GPUs were held: only a part is measured"
    )


def answer(params: Asked, runs: Sequence[Row]) -> str:
    """One sentence with value, bounds, what it rests on and what is not known."""
    value, low, high, count = total(runs, "kwh")
    if not count:
        why = _why_no_energy(params, runs) or NO_ENERGY
        return f"{why[:1].upper()}{why[1:]}."
    who = f"{count} {plural('run', count)}" if count == len(runs) else f"{count} of {len(runs)} runs"
    used = [row for row in runs if known(number(row["kwh"]))]
    measured = math.fsum(row["kwh_counter"] + row["kwh_power"] for row in used)
    board = math.fsum(row["kwh_gpu"] for row in used)
    about = "" if measured >= SHORT * board else "an estimated "
    text = f"{who} used {about}{digits3(value)} kWh {SCOPES[params.scope]} ({params.boundary} boundary"
    text += f", between {digits3(low)} and {digits3(high)})" if high > low else ")"
    if board > 0:
        text += f"; {_rests_on(measured / board)}"
    if params.grid_kg_per_kwh is None:
        return f"{text}. Emissions need the grid intensity, which is not given."
    emitted = digits3(total(runs, "kgco2e")[0])
    text += f". That is {emitted} kgCO2e at {params.grid_kg_per_kwh:g} kg a kWh"
    return f"{text} {SCOPES[params.scope]}{_at_meter(params, runs)}."


def _rests_on(measured_frac: float) -> str:
    """What the energy of the GPUs themselves rests on."""
    if measured_frac >= 1 - 1e-9:
        return "all of the GPUs' part is measured"
    if measured_frac <= 0:
        return "none of the GPUs' part is measured: it is a published figure"
    share = percent(measured_frac)
    share = f"over {percent(WHOLE)}" if measured_frac > WHOLE else share
    return f"{share} of the GPUs' part is measured, the rest a published figure"


def _at_meter(params: Asked, runs: Sequence[Row]) -> str:
    """Emissions of what the meter counts, beside those at the GPU: what is paid for is metered there."""
    metered, _, _, count = total(runs, "kwh_facility")
    same = count == total(runs, "kwh")[3]
    if params.scope == "facility" or params.grid_kg_per_kwh is None or not same:
        return ""
    return f", {digits3(emissions_kg(metered, params.grid_kg_per_kwh))} {SCOPES['facility']}"


def notices(
    params: Asked,
    runs: Sequence[Row],
    frozen: Sequence[str],
    restarts: pd.DataFrame | None,
    loose_kwh: float,
    metered: Sequence[str],
) -> list[Notice]:
    """What touches the numbers: unsampled hours, missing figures, counters that fell, jumped or froze."""
    out = [notice for row in runs for notice in _of_run(row)]
    if frozen:
        words = f"The energy counter of {listing(frozen)} never moved, so power samples are used for it."
        out.append(Notice("counter_frozen", words, frozen[0]))
    out += _of_counters([] if restarts is None else records(restarts))
    if loose_kwh > 0:
        words = f"{digits3(loose_kwh)} kWh of GPUs that belong to no run are in no figure: name their run."
        out.append(Notice("energy_without_run", words, "gpus"))
    for run in metered:
        out.append(Notice("energy_metered", f"{run} is paid by the token: its service tells no energy.", run))
    if params.boundary == "full":
        words = "At the full boundary energy is that of all attempts: evaluations and staff tell none."
        out.append(Notice("energy_full", words, "energy"))
    return out


def _of_run(row: Row) -> list[Notice]:
    out, run = [], row["run"]
    covered, hours = number(row["coverage_frac"]), number(row["gpu_h"])
    if known(covered) and covered < SHORT and row["basis"]:
        rest = number(row["gpu_h_unsampled"])
        words = (
            f"{run}: {percent(covered)} of its {digits3(hours)} GPU-hours is sampled; {digits3(rest)} stand "
            "at the limit of the board, an upper estimate that the low bound leaves out."
        )
        out.append(Notice("energy_unsampled", words, run))
    if known(hours) and row["gpu_h_measured"] > 1.02 * hours:
        words = f"{run}: more GPU-hours are sampled than allocated; check start, end and GPUs of the run."
        out.append(Notice("energy_oversampled", words, run))
    if not known(hours) and row["gpu_h_measured"] > 0:
        words = f"{run}: how long it held its GPUs is not known, so its energy is a lower bound only."
        out.append(Notice("energy_lower_bound", words, run))
    elif row["basis"] and not known(number(row["kwh"])):
        words = f"{run}: {NO_METER if known(number(row['kwh_gpu'])) else 'its platform publishes no power'}."
        out.append(Notice("energy_unknown", words, run))
    return out


def _of_counters(moves: Sequence[Row]) -> list[Notice]:
    out = []
    for how, words in (
        ("reset", "restarted (driver reload): that time is counted from power samples, else unknown"),
        (
            "jumped",
            "rose faster than any GPU can draw: that time is counted from power samples, else unknown",
        ),
        (
            "wrapped",
            f"passed 2^32 mJ ({2**32 / 1000 / J_PER_KWH:.3f} kWh) and went on from 0: counted through",
        ),
    ):
        found = [row for row in moves if row["how"] == how]
        if found:
            names = sorted({str(row["gpu_id"]) for row in found})
            times = f"{len(found)} {plural('time', len(found))}"
            text = f"The energy counter of {listing(names)} {words} ({times})."
            out.append(Notice(f"counter_{how}", text, names[0]))
    return out
