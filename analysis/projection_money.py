"""Prices of a projection: what a GPU-hour costs where, and dollars of a step, a rollout and a point."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from analysis.frames import number, records
from analysis.gain import GainParams
from analysis.gain import compute as compute_gain
from analysis.prices import price_name, source_words, split_price
from analysis.projection_params import ProjectionParams, parse_quotes
from analysis.projection_targets import Aim, Count
from analysis.result import Assumption
from data.catalogue import Catalogue
from data.catalogue_types import PriceChoice, price_words
from data.errors import UserError
from data.view import View
from models.cost import SECONDS_PER_HOUR
from models.draws import money_draws

Floats = npt.NDArray[np.float64]
YOURS = "your quote"


@dataclass(frozen=True)
class Rent:
    """A GPU-hour on one platform: dollars (NaN: no price, and `missing` says so), whose, and its row."""

    platform_id: str
    usd: float
    label: str = ""
    price_id: str = ""
    source: str = ""
    missing: str = ""
    choice: PriceChoice | None = None


@dataclass(frozen=True)
class Rents:
    """Prices in use by platform: the quote a user typed, else the book's at the picked kind and tier."""

    book: Catalogue
    price: str
    quotes: Mapping[str, float]

    def of(self, platform_id: str) -> Rent:
        """The price of one platform."""
        kind, tier = split_price(self.price)
        if platform_id in self.quotes:
            return Rent(platform_id, self.quotes[platform_id], YOURS, source=YOURS)
        choice = self.book.price(platform_id, kind, tier)
        if choice is None:
            return Rent(platform_id, math.nan, missing=self.book.why_no_price(platform_id, kind, tier))
        words = price_words(kind, tier)
        return Rent(
            platform_id, choice.usd_per_gpu_h, words, choice.price_id, source_words(choice), choice=choice
        )

    def all_of(self, aim: Aim, count: Count) -> list[Rent]:
        """Prices of a target to hold a break-even price against: the one in use, then the book's."""
        book = replace(self, quotes={})
        found = [self.of_aim(aim, count), book.of_aim(aim, count)]
        return found[:1] if found[0].label == found[1].label else found

    def of_aim(self, aim: Aim, count: Count) -> Rent:
        """The price of a GPU-hour of both pools together, weighed by their GPUs."""
        parts = [self.of(aim.engines), self.of(aim.trainer)]
        if aim.engines == aim.trainer:
            return parts[0]
        usd = count.usd_per_h(parts[0].usd, parts[1].usd) / count.gpus if count.gpus else math.nan
        label, price_id, source = (
            " + ".join(dict.fromkeys(text for text in column if text))
            for column in zip(*((p.label, p.price_id, p.source) for p in parts), strict=True)
        )
        missing = " ".join(p.missing for p in parts if p.missing)
        return Rent(aim.target, usd, label, price_id, source, missing)


def rents_of(book: Catalogue, params: ProjectionParams) -> Rents:
    """Prices for `params`. Raises UserError for a quote of a platform that does not exist."""
    quotes = parse_quotes(params.quotes)
    for platform_id in quotes:
        if book.platform(platform_id) is None:
            raise UserError(
                f"'{platform_id}' is no platform",
                "parameter quotes",
                "Write platform:USD: gb200-nvl72:4.2.",
            )
    return Rents(book, params.price, quotes)


def rent_assumption(book: Catalogue, rent: Rent) -> Assumption:
    """The line of the assumptions table for a price in use."""
    platform = book.platform(rent.platform_id)
    name = platform.name if platform else rent.platform_id
    if rent.choice is None:
        return Assumption(f"price of a GPU-hour on {name}", rent.usd, "USD per GPU-hour", "user", YOURS, "")
    choice = rent.choice
    return Assumption(
        f"price of a GPU-hour on {name} ({price_name(choice)})",
        choice.usd_per_gpu_h,
        choice.unit,
        choice.status,
        source_words(choice),
        choice.as_of,
    )


@dataclass(frozen=True)
class PointCost:
    """What the measured run paid for a point of its benchmark; draws empty where `missing` says why not."""

    draws: Floats
    benchmark: str = ""
    missing: str = ""


def point_cost(view: View, params: ProjectionParams, run: str, draws: int) -> PointCost:
    """Dollars a point of `run`, as the question of gains answers it, as draws of its 95 % interval."""
    asked = GainParams(runs=(run,), price=params.price, boundary=params.boundary)
    found = compute_gain(view, asked)
    rows = sorted(records(found.tables["gains"]), key=lambda r: -number(r["n"]) if r["n"] == r["n"] else 0.0)
    for row in rows:
        value, low, high = (number(row[f"usd_per_point{end}"]) for end in ("", "_low", "_high"))
        if 0 < low <= value <= high < math.inf:
            drawn = money_draws(value, low, high, draws, params.seed + 7, mass=0.95)
            return PointCost(drawn * (value / np.median(drawn)), str(row["benchmark"]))
    none = np.empty(0)
    if not rows:
        return PointCost(none, missing=f"{run} has no evaluations, so what a point cost is not known")
    why = rows[0]["reason"] or "the gain is not distinguishable from zero"
    return PointCost(none, str(rows[0]["benchmark"]), f"no price of a point of {run}: {why}")


def usd_per_step(usd_per_h: float, side_usd_per_h: float, step_s: Floats) -> Floats:
    """Dollars of a step: (GPUs + judges and sandboxes) an hour x seconds / 3600."""
    return (usd_per_h + side_usd_per_h) * step_s / SECONDS_PER_HOUR
