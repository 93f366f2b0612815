"""The same learning curve re-priced on other platforms: equal GPUs, the same steps, joint draws of both."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from pydantic import field_validator

from analysis.common import figure, nothing, result
from analysis.frames import NAN, table
from analysis.learning_fit import DRAWS, CurveParams, Fitted, Floats, fit, load, pick_run
from analysis.learning_money import factors_of, prices, target_of
from analysis.learning_words import percent_1, span
from analysis.projection_model import Asked, modelled, seen_on
from analysis.projection_money import Rent, rents_of, usd_per_step
from analysis.projection_params import ProjectionParams, parse_quotes
from analysis.projection_run import read_run
from analysis.projection_said import assumptions, notices, refusal_words
from analysis.projection_seen import Seen, joined
from analysis.projection_targets import aims, release_rank
from analysis.result import Figure, Notice, Result
from analysis.spend import Spend
from analysis.words import money, price_words
from data.view import View
from models.curve import Curve, interval_of
from models.curve_cost import usd_per_point
from models.curve_profile import amount_draws
from models.draws import money_draws
from models.stats import Interval

PLATFORMS = [
    "target", "platform", "kind", "gpus", "usd_per_gpu_h", "usd", "usd_low", "usd_high", "hours", "hours_low",
    "hours_high", "usd_per_point", "usd_per_point_low", "usd_per_point_high", "cheaper_frac", "verdict",
    "missing",
]  # fmt: skip
LINES = ["target", "platform", "kind", "usd", "score", "low", "high", "seen"]
EMPTY = {"platforms": PLATFORMS, "lines": LINES}
SURE, GRID = 0.9, 41


class CurvePlatformsParams(CurveParams):
    """`targets`: platform ids (empty: newer ones of the maker); `quotes`: 'platform:USD a GPU-hour'."""

    question: ClassVar[str] = "learning_platforms"
    targets: tuple[str, ...] = ()
    quotes: tuple[str, ...] = ()

    @field_validator("quotes")
    @classmethod
    def _priced(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        parse_quotes(value)
        return value


@dataclass(frozen=True)
class Placed:
    """A platform under the curve: draws (DRAWS,) of USD a step and of seconds, over those of the run.

    The middles are medians of all draws of its projection. `price` (DRAWS,): its price between its quotes
    over the price in use. NaN draws where `missing` says why.
    """

    target: str
    name: str
    kind: str
    gpus: int
    usd_per_gpu_h: float
    usd_ratio: Floats
    s_ratio: Floats
    price: Floats
    usd_middle: float = 1.0
    s_middle: float = 1.0
    missing: str = ""

    @property
    def known(self) -> bool:
        """True when it has a price and a projected step."""
        return not np.isnan(self.usd_ratio).any()

    @property
    def usd_drawn(self) -> Floats:
        """Draws of USD a step over that of the run at its price in use, with the price between its quotes."""
        drawn: Floats = self.usd_ratio * self.price
        return drawn


def compute(view: View, params: CurvePlatformsParams) -> Result:
    """Tables: platforms (cost of the target, hours, marginal point), lines (score against dollars).

    A run without a curve or a projection is an answer with the reason. Raises UserError for a run, platform
    or quote that does not exist.
    """
    spend, _, scores, _ = load(view, params)
    if spend.runs.empty:
        return nothing("learning_platforms", view, params, EMPTY)
    found = fit(pick_run(view, params, scores), scores, spend, params)
    why = found.missing or found.no_usd
    if found.curve is None or why:
        return _refused(view, params, f"No learning curve to re-price: {why}", found.run, spend)
    asked = _projection(view, params, found)
    words = asked.source.blocked
    if not words and asked.model is not None and asked.model.refused:
        words = refusal_words(found.run, asked.model.calibration.refusals)
    if words:
        return _refused(view, params, words, found.run, spend)
    seen = sorted(
        seen_on(asked, aims(view.catalogue, asked.params, asked.source)), key=lambda s: release_rank(s.aim)
    )
    own = _own(asked, factors_of(found, found.curve))
    placed = [own, *(_on(asked, one, params.seed + 11 + place) for place, one in enumerate(seen))]
    target = target_of(params, found.curve)
    rows = _rows(found, found.curve, placed, target)
    return result(
        "learning_platforms", view, params, _answer(params, found, rows, target),
        headline=_figures(params, rows, target, found.curve.n),
        tables={
            "platforms": table(rows, PLATFORMS, PLATFORMS[3:15]),
            "lines": _lines(found, found.curve, placed),
        },
        assumptions=assumptions(asked, seen),
        notices=[*spend.notices, *found.notices, *notices(asked, seen), _basis(found)],
        prices=spend.allocations,
    )  # fmt: skip


def _basis(found: Fitted) -> Notice:
    words = (
        f"{found.run} on another platform: the same steps teach the same, time outside steps stays in "
        "proportion. Dollars allow for the quotes of each price; cheaper or dearer is at the prices in use."
    )
    return Notice("same_learning", words, found.run)


def _refused(view: View, params: CurvePlatformsParams, words: str, run: str, spend: Spend) -> Result:
    bare = {name: pd.DataFrame(columns=columns) for name, columns in EMPTY.items()}
    told = words if words.endswith(".") else f"{words}."
    return result(
        "learning_platforms",
        view,
        params,
        told,
        tables=bare,
        notices=[*spend.notices, Notice("cannot_project", told, run)],
    )


def _projection(view: View, params: CurvePlatformsParams, found: Fitted) -> Asked:
    asked = ProjectionParams(
        runs=params.runs, price=params.price, boundary=params.boundary, platforms=params.platforms,
        run=found.run, targets=params.targets, quotes=params.quotes,
    )  # fmt: skip
    source = read_run(view, found.run, params.price)
    rents = rents_of(view.catalogue, asked)
    return Asked(view.catalogue, asked, source, rents, modelled(view.catalogue, asked, source))


def _own(asked: Asked, price: Floats) -> Placed:
    source, one = asked.source, np.ones(DRAWS)
    ids = "+".join(dict.fromkeys(pool.platform_id for pool in source.pools.each))
    names = [asked.book.platform(part) for part in ids.split("+")]
    name = " + ".join(p.name if p else part for p, part in zip(names, ids.split("+"), strict=True))
    return Placed(ids, name, "measured", source.gpus, source.usd_per_h / source.gpus, one, one, price)


def _on(asked: Asked, one: Seen, seed: int) -> Placed:
    """A target: its dollars and seconds a step over those of the run, the first draws of its projection."""
    source, side = asked.source, asked.source.pools.side_usd_per_h
    base = usd_per_step(source.usd_per_h, side, np.asarray(source.step_s))
    usd = usd_per_step(one.usd_per_h, side, one.step_s) / base
    missing = joined(*one.missing, one.rent.missing)
    s_ratio = one.step_s / source.step_s
    return Placed(
        one.aim.target, one.aim.name(asked.book), "projected", one.count.gpus, one.rent.usd,
        usd[:DRAWS], s_ratio[:DRAWS], _quoted(one.rent, seed), float(np.median(usd)),
        float(np.median(s_ratio)), missing,
    )  # fmt: skip


def _quoted(rent: Rent, seed: int) -> Floats:
    """Draws of a price between its quotes over the price in use; ones for a typed one or a lone quote."""
    found = rent.choice
    if found is None or not 0 < found.low <= found.usd_per_gpu_h <= found.high:
        return np.ones(DRAWS)
    return money_draws(found.usd_per_gpu_h, found.low, found.high, DRAWS, seed) / found.usd_per_gpu_h


def _rows(found: Fitted, curve: Curve, placed: Sequence[Placed], target: float) -> list[dict[str, Any]]:
    need, drawn = float(curve.fit.amount(target)), amount_draws(curve, target)
    return [_row(found, curve, one, need, drawn) for one in placed]


def _row(found: Fitted, curve: Curve, one: Placed, need: float, drawn: Floats) -> dict[str, Any]:
    row: dict[str, Any] = {
        "target": one.target, "platform": one.name, "kind": one.kind, "gpus": one.gpus or NAN,
        "usd_per_gpu_h": one.usd_per_gpu_h, "missing": one.missing,
    }  # fmt: skip
    if not one.known:
        return row
    parts = (("usd", one.usd_drawn, one.usd_middle), ("hours", one.s_ratio, one.s_middle))
    for name, ratio, middle in parts:
        along = found.along(name)
        if np.isnan(along.values).any():
            continue
        value = _at(along.at, np.asarray(need), np.asarray(middle))
        ends = interval_of(float(value), _at(along.at, drawn, ratio), curve.n)
        row |= {name: ends.value, f"{name}_low": ends.low, f"{name}_high": ends.high}
    price, drawn_price = prices(found.along("usd"), one.usd_drawn)
    point = float(usd_per_point(curve.fit, curve.x_last, price)) * one.usd_middle
    ends = interval_of(point, usd_per_point(curve.draws, curve.x_last, drawn_price), curve.n)
    row |= {"usd_per_point": ends.value, "usd_per_point_low": ends.low, "usd_per_point_high": ends.high}
    if one.kind != "measured":
        cheaper = float((one.usd_ratio < 1).mean())
        row |= {"cheaper_frac": cheaper, "verdict": _verdict(cheaper)}
    return row


def _at(values: Any, amount: Floats, ratio: Floats) -> Floats:
    """Values at amounts times a ratio; infinite where the amount is."""
    known = np.isfinite(amount)
    found: Floats = np.where(known, values(np.where(known, amount, 0.0)) * ratio, math.inf)
    return found


def _verdict(cheaper: float) -> str:
    if cheaper >= SURE:
        return "cheaper"
    return "dearer" if cheaper <= 1 - SURE else "cannot tell"


def _lines(found: Fitted, curve: Curve, placed: Sequence[Placed]) -> pd.DataFrame:
    """Score after a number of dollars on every platform, band by joint draws of curve and price."""
    spent = found.along("usd")
    grid = np.geomspace(spent.values[1] / 2, spent.values[-1] * 2, GRID)
    rows = []
    for one in placed:
        if not one.known:
            continue
        middle = one.usd_middle
        value = curve.fit.score(np.maximum(spent.amount(grid / middle), 1e-9))
        for place, usd in enumerate(grid):
            amounts = np.maximum(spent.amount(usd / one.usd_drawn), 1e-9)
            ends = interval_of(float(value[place]), curve.draws.score(amounts), curve.n)
            row = (one.target, one.name, one.kind, usd, ends.value, ends.low, ends.high)
            rows.append((*row, bool(usd / middle <= spent.values[-1])))
    return pd.DataFrame(rows, columns=LINES)


def _figures(params: CurvePlatformsParams, rows: list[dict[str, Any]], target: float, n: int) -> list[Figure]:
    out = []
    for row in rows:
        usd = row.get("usd", NAN)
        ends = {end: v if math.isfinite(v := row.get(f"usd_{end}", NAN)) else None for end in ("low", "high")}
        why = row["missing"] or f"not reachable: the curve ends below {percent_1(target)}"
        out.append(figure(
            "cost_to_target", usd if math.isfinite(usd) else None, name=f"cost_on_{row['target']}",
            label=f"{percent_1(target)} on {row['platform']}", interval="ci95", n=n, boundary=params.boundary,
            missing=why, **ends,
        ))  # fmt: skip
    return out


def _answer(params: CurvePlatformsParams, found: Fitted, rows: list[dict[str, Any]], target: float) -> str:
    own, others = rows[0], [row for row in rows[1:] if math.isfinite(row.get("usd", NAN))]
    if not math.isfinite(own["usd"]):
        return (
            f"{found.run} does not reach {percent_1(target)} on any platform: its fitted curve ends below "
            "it, and a platform changes the price of a step, not what it teaches."
        )
    text = (
        f"{percent_1(target)} on {found.benchmark} costs {found.run} {_cost(own)} on {own['platform']} "
        f"{price_words(params.price, params.boundary)}"
    )
    if not others:
        return f"{text}. No other platform could be priced."
    best = min(others, key=lambda row: float(row["usd"]))
    word = {"cannot tell": "whether that is cheaper cannot be told"}.get(
        best["verdict"], f"{best['verdict']}"
    )
    return f"{text}; on {best['gpus']:.0f} {best['platform']} it would cost {_cost(best)}: {word}."


def _cost(row: dict[str, Any]) -> str:
    return f"{money(row['usd'])} {span(Interval(row['usd'], row['usd_low'], row['usd_high'], 0, 0.95))}"


__all__ = ["CurvePlatformsParams", "compute"]
