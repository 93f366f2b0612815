"""GPU-hours and kWh of runs by what tells them: a counter, power samples, or a published figure."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from analysis.frames import NAN, Row, known, number, text
from data.catalogue import Catalogue
from data.catalogue_types import Fact
from models.energy import PlatformPower, facility_kwh, figure_kwh, kwh

COUNTER, POWER, FIGURE = "measured counter", "measured power", "platform figure"
BASES = (COUNTER, POWER, FIGURE)
FIELDS = {"gpu_kw": "gpu_tdp_w", "it_kw": "all_in_kw_per_gpu", "utility_kw": "all_in_utility_kw_per_gpu"}
PART_NUMBERS = ("gpu_h", "kwh_gpu", "kwh_host", "kwh_facility")
PARTS = ("run", "basis", "platform", *PART_NUMBERS)


@dataclass(frozen=True)
class Factors:
    """What turns GPU energy into energy at the meter: PUE with its range, and which figure is preferred."""

    pue: float
    pue_low: float
    pue_high: float
    at_meter: bool


def power_of(book: Catalogue, platform: str | None) -> tuple[PlatformPower, dict[str, Fact]]:
    """Published powers of a platform in kW, and the rows they come from."""
    facts = {name: book.fact(platform, field) for name, field in FIELDS.items()} if platform else {}
    found = {name: fact for name, fact in facts.items() if fact is not None}
    kw = {name: _kw(fact) for name, fact in found.items()}
    return PlatformPower(**kw), found


def _kw(fact: Fact) -> float:
    value = number(fact.value)
    return value / 1000 if fact.unit == "W" else value


def parts_of(
    run: str,
    measured: Iterable[Row],
    allocated: Mapping[str | None, float],
    book: Catalogue,
    factors: Factors,
) -> list[Row]:
    """Rows PARTS of one run: measured hours by basis and platform, and the unsampled rest by its figure.

    `measured`: platform, how, joules, seconds; `allocated`: GPU-hours by platform (NaN: not known). A
    platform that publishes no figure leaves NaN. Unsampled = allocated - sampled hours, never below 0.
    """
    names = [name for name in allocated if name is not None]
    only = names[0] if len(allocated) == 1 and names else None
    sums: dict[tuple[str, str | None], list[float]] = {}
    for row in measured:
        key = (COUNTER if row["how"] == "counter" else POWER, text(row["platform"]) or only)
        got = sums.setdefault(key, [0.0, 0.0])
        got[0] += number(row["joules"])
        got[1] += number(row["seconds"]) / 3600
    out = [
        _measured(run, basis, platform, kwh(joules), hours, book, factors)
        for (basis, platform), (joules, hours) in sums.items()
    ]
    sampled: dict[str | None, float] = {}
    for (_, platform), (_, hours) in sums.items():
        sampled[platform] = sampled.get(platform, 0.0) + hours
    for platform, hours in _rest(allocated, sampled).items():
        power, _ = power_of(book, platform)
        board = NAN if power.gpu_kw is None else power.gpu_kw * hours
        meter = figure_kwh(power, hours, factors.pue, factors.at_meter)
        row = {"run": run, "basis": FIGURE, "platform": platform, "gpu_h": hours, "kwh_gpu": board}
        out.append({**row, "kwh_host": NAN, "kwh_facility": NAN if meter is None else meter})
    return sorted(out, key=lambda row: (BASES.index(row["basis"]), row["platform"] or ""))


def _measured(
    run: str, basis: str, platform: str | None, board: float, hours: float, book: Catalogue, factors: Factors
) -> Row:
    host = power_of(book, platform)[0].host_kw
    beside = NAN if host is None else host * hours
    meter = facility_kwh(board + beside, factors.pue) if known(beside) else NAN
    row = {"run": run, "basis": basis, "platform": platform, "gpu_h": hours, "kwh_gpu": board}
    return {**row, "kwh_host": beside, "kwh_facility": meter}


def _rest(
    allocated: Mapping[str | None, float], sampled: Mapping[str | None, float]
) -> dict[str | None, float]:
    """Unsampled GPU-hours by platform; together they are allocated less sampled hours of the run."""
    if not all(known(hours) for hours in allocated.values()):
        return {}
    rest = {name: max(0.0, hours - sampled.get(name, 0.0)) for name, hours in allocated.items()}
    short = math.fsum(allocated.values()) - math.fsum(sampled.values())
    open_h = math.fsum(rest.values())
    if short <= 1e-9 * max(1.0, open_h) or open_h <= 0:
        return {}
    return {name: hours * min(1.0, short / open_h) for name, hours in rest.items() if hours > 0}


def ends(parts: Iterable[Row], book: Catalogue, factors: Factors) -> dict[str, float]:
    """Sums of a run's parts with bounds: kwh_gpu, kwh_facility and their _low and _high, NaN where unknown.

    Low: the unsampled hours drew nothing and the hosts are left out, at the lowest PUE. High: every unsampled
    board drew its limit, at the highest PUE; the value takes the limit too, so it is an upper estimate.
    """
    rows = list(parts)
    sensed = [row for row in rows if row["basis"] != FIGURE]
    board = math.fsum(row["kwh_gpu"] for row in sensed)
    out = {
        "kwh_gpu": math.fsum(row["kwh_gpu"] for row in rows),
        "kwh_gpu_low": board,
        "kwh_gpu_high": math.fsum(row["kwh_gpu"] for row in rows),
        "kwh_facility": math.fsum(row["kwh_facility"] for row in rows),
        "kwh_facility_low": board * factors.pue_low,
    }
    high = 0.0
    for row in rows:
        if row["basis"] == FIGURE:
            told = figure_kwh(
                power_of(book, row["platform"])[0], row["gpu_h"], factors.pue_high, factors.at_meter
            )
            high += NAN if told is None else told
        else:
            high += (row["kwh_gpu"] + row["kwh_host"]) * factors.pue_high
    return {**out, "kwh_facility_high": high}
