"""Gain per money and per energy by joint draws (M1, M2, M13), and gains weighted over benchmarks."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from analysis.common import figure
from analysis.formulas import FORMULAS_VERSION
from analysis.frames import NAN, Row, known, number, records, table, text
from analysis.gainstats import CANNOT_TELL, DRAWS, NOT_DISTINGUISHABLE, Floats
from analysis.headline import Money
from analysis.pairs import Gains
from analysis.params import CommonParams
from analysis.result import Figure
from analysis.spend import Spend
from data.errors import UserError
from models.draws import money_draws
from models.gain_ratio import (
    NATS_PER_KUSD,
    POINTS_PER_KUSD,
    POINTS_PER_MWH,
    PerCost,
    interval_draws,
    per_cost,
)
from models.stats import Interval
from models.weighting import weighted_gain

POINTS, NATS, ENERGY = "points_per_1000_usd", "nats_per_1000_usd", "points_per_mwh"
KWH_PER_MWH = 1000.0
ENDS = ("", "_low", "_high")
RATE_COLUMNS = [f"{name}{end}" for name in (POINTS, NATS, ENERGY) for end in ENDS]
RATES = [
    "run", "benchmark_id", "benchmark", "key", "gain", "low", "high", "n", "verdict", "usd", "usd_low",
    "usd_high", "kwh", "kwh_low", "kwh_high", *RATE_COLUMNS, "boundary", "price_date", "formulas", "reason",
]  # fmt: skip
RATE_NUMBERS = ["gain", "low", "high", "n", "usd", "usd_low", "usd_high", "kwh", "kwh_low", "kwh_high"]
RATE_NUMBERS += RATE_COLUMNS
WEIGHTED = [
    "run", "name", "gain", "low", "high", "n", "verdict", "usd", "usd_low", "usd_high",
    *(f"{POINTS}{end}" for end in ENDS), "reason",
]  # fmt: skip
WEIGHTED_NUMBERS = [*WEIGHTED[2:6], *WEIGHTED[7:-1]]


def rates(gains: Gains, spend: Spend, energy: Mapping[str, Row], boundary: str, seed: int) -> pd.DataFrame:
    """Table RATES: a row a comparison that has an interval, in every unit its cost is known in.

    A rate whose interval holds 0 keeps value and ends, and its verdict says that it ranks nothing. `energy`:
    kwh, kwh_low, kwh_high by run, empty where it was not asked for.
    """
    costs, dates = _costs(spend), price_dates(spend)
    out = []
    for row in records(gains.table):
        key = (row["run"], row["benchmark_id"], row["key"])
        if key not in gains.draws:
            continue
        cost = costs.get(row["run"], {})
        rate: Row = {name: row[name] for name in RATES[:9]} | cost | dict(energy.get(row["run"], {}))
        rate |= {"boundary": boundary, "price_date": dates.get(row["run"], ""), "formulas": FORMULAS_VERSION}
        rate["reason"] = text(row["reason"]) or ""
        paid = tuple(number(cost.get(name)) for name in ("usd", "usd_low", "usd_high"))
        drawn = gains.draws[key] / 100
        rate |= _named(POINTS, _per(row["gain"] / 100, drawn, paid, row["n"], seed, POINTS_PER_KUSD))
        if key in gains.odds:
            rate |= _named(NATS, _per(row["odds"], gains.odds[key], paid, row["n"], seed, NATS_PER_KUSD))
        used = tuple(number(rate.get(name)) / KWH_PER_MWH for name in ("kwh", "kwh_low", "kwh_high"))
        rate |= _named(ENERGY, _per(row["gain"] / 100, drawn, used, row["n"], seed, POINTS_PER_MWH))
        if not known(paid[0]):
            rate["reason"] = "; ".join(part for part in (rate["reason"], "the spend is not known") if part)
        out.append(rate)
    return table(out, RATES, RATE_NUMBERS)


def _costs(spend: Spend) -> dict[str, Row]:
    names = ("usd", "usd_low", "usd_high")
    return {row["run"]: {n: row[n] for n in names} for row in records(spend.runs[["run", *names]])}


def price_dates(spend: Spend) -> dict[str, str]:
    """Newest date among the prices that a run's pools were paid at, '' where none has a date."""
    out: dict[str, str] = {}
    for row in spend.rows:
        day = text(row["price_date"]) or ""
        out[row["run"]] = max(out.get(row["run"], ""), day)
    return out


def _per(gain: Any, draws: Floats, cost: Sequence[float], n: Any, seed: int, factor: float) -> PerCost | None:
    """Joint draws of a gain and a cost between its ends (90 % inside); None where the cost is not known."""
    value, low, high = cost
    if not (known(value) and 0 < low <= value <= high < math.inf):
        return None
    paid = money_draws(value, low, high, len(draws), seed + 1)
    return per_cost(number(gain), draws, value, paid, int(n)).scaled(factor)


def _named(name: str, found: PerCost | None) -> Row:
    values = (found.value, found.low, found.high) if found else (NAN, NAN, NAN)
    return dict(zip((f"{name}{end}" for end in ENDS), values, strict=True))


def subject_rates(params: CommonParams, spent: Money, row: Row | None, gains: Gains) -> list[Figure]:
    """Headline figures: gain and log-odds per $1,000 of what the headline is about."""
    out = []
    key = (row["run"], row["benchmark_id"], row["key"]) if row else None
    paid = tuple(number(end) for end in (spent.usd, spent.low, spent.high))
    for metric, draws, value, factor in (
        ("gain_per_usd", gains.draws, "gain", POINTS_PER_KUSD),
        ("odds_per_usd", gains.odds, "odds", NATS_PER_KUSD),
    ):  # fmt: skip
        found, missing = None, _why(row, key in draws)
        if row is not None and key in draws:
            scale = 100 if metric == "gain_per_usd" else 1
            seed = int(getattr(params, "seed", 0))
            found = _per(row[value] / scale, draws[key] / scale, paid, row["n"], seed, factor)
        ends = {"low": found.low, "high": found.high, "n": found.n} if found else {}
        out.append(
            figure(
                metric, found.value if found else None, interval="ci95", boundary=params.boundary,
                missing=missing, **ends,
            )
        )  # fmt: skip
    return out


def _why(row: Row | None, judged: bool) -> str:
    """Why a headline rate is missing."""
    if judged:
        return "the spend is not known"
    if row is not None and known(number(row["inflation"])):
        return "not given for a gain that was lowered for a choice among checkpoints"
    return "no comparison with an interval"


def parse_weights(asked: Sequence[str]) -> dict[str, float]:
    """Weights of 'benchmark:weight' texts. Raises UserError naming the text that is no such thing."""
    out: dict[str, float] = {}
    for one in asked:
        name, _, weight = one.rpartition(":")
        try:
            value = float(weight)
        except ValueError:
            value = NAN
        if not name or name in out or not 0 < value < math.inf:
            raise UserError(
                f"'{one}' is no weight of a benchmark", "parameter weights",
                "Give each benchmark once, as its id, a colon and a number above 0: math-500:2.",
            )  # fmt: skip
        out[name] = value
    return out


def weighted_name(weights: Mapping[str, float], names: Mapping[str, str]) -> str:
    """The metric's name with its weights: 'Gain, weighted 67 % MATH-500 + 33 % AIME 2024'."""
    total = math.fsum(weights.values())
    parts = [f"{100 * w / total:.3g} % {names.get(b, b)}" for b, w in weights.items()]
    return f"Gain, weighted {' + '.join(parts)}"


def weighted(gains: Gains, spend: Spend, weights: Mapping[str, float], seed: int) -> pd.DataFrame:
    """Table WEIGHTED: a row a run, its gain over all benchmarks that have a weight, or why it has none."""
    if not weights:
        return table([], WEIGHTED, WEIGHTED_NUMBERS)
    rows = records(gains.table)
    names = {row["benchmark_id"]: row["benchmark"] for row in rows}
    costs = _costs(spend)
    out = []
    for run in dict.fromkeys(row["run"] for row in rows):
        line: Row = {"run": run, "name": weighted_name(weights, names), "verdict": CANNOT_TELL}
        line |= costs.get(run, {})
        found = _parts_of([row for row in rows if row["run"] == run], weights, names)
        if isinstance(found, str):
            out.append({**line, "reason": found})
            continue
        got = weighted_gain(found, list(weights.values()))
        line |= {"gain": 100 * got.value, "low": 100 * got.low, "high": 100 * got.high, "n": got.n}
        line["verdict"] = "better" if got.low > 0 else "worse" if got.high < 0 else CANNOT_TELL
        line["reason"] = NOT_DISTINGUISHABLE if line["verdict"] == CANNOT_TELL else ""
        paid = tuple(number(line.get(name)) for name in ("usd", "usd_low", "usd_high"))
        draws = interval_draws(got, DRAWS, seed)
        out.append(line | _named(POINTS, _per(got.value, draws, paid, got.n, seed, POINTS_PER_KUSD)))
    return table(out, WEIGHTED, WEIGHTED_NUMBERS)


def _parts_of(
    rows: list[Row], weights: Mapping[str, float], names: Mapping[str, str]
) -> list[Interval] | str:
    """The interval of each weighted benchmark, or why one of them has none."""
    out = []
    for benchmark in weights:
        usable = [row for row in rows if row["benchmark_id"] == benchmark and known(number(row["low"]))]
        said = names.get(benchmark, benchmark)
        if not usable:
            return f"no gain with an interval on {said}"
        if len(usable) > 1:
            return f"{said} was evaluated in {len(usable)} ways that do not compare"
        row = usable[0]
        out.append(Interval(row["gain"] / 100, row["low"] / 100, row["high"] / 100, int(row["n"])))
    return out
