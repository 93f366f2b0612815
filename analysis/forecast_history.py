"""Spend and GPU-hours by UTC day, campaign and team: what a forecast is drawn from and scored against."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Annotated, Literal

import numpy as np
from pydantic import AfterValidator, Field

from analysis.frames import records
from analysis.madeup import data_end
from analysis.moneyparams import WITH, MoneyParams
from analysis.month import periods
from analysis.result import Assumption, Notice
from analysis.shares import BILL, Shares, load_shares, rate_shares
from analysis.spend import synthetic_notice
from analysis.words import listing, money, month_words
from data.queries import spend as queries
from data.queries.filters import Filters
from data.view import View
from models.accrual import month_of
from models.workload import Floats

RUNS, MIXED = "runs", "mixed"
CREDIT = "credit"
TOLD = ("no_clock", "cost_unknown", "currency_left_out")
"""Notices about a month that bear on what was spent."""
Change = Annotated[float | None, Field(ge=-1, le=0.95)]
Growth = Annotated[float | None, Field(ge=-0.5, le=1)]


def _window(days: int) -> int:
    if days and days < 7:
        raise ValueError("Use 0 for all days, or 7 to 1095")
    return days


class ForecastParams(MoneyParams):
    """`months` ahead; `window_days` of history that count (0: all); `basis`: the bill where every month, or
    every one but the newest, has one, else runs at the price book (auto), or one of both. `growth_*` a month,
    `decline_*` of prices a year. `level_change_frac`: how far the level moves a month (one standard deviation
    of its logarithm; None: measured, else 0.25). `stop`: campaigns that spend no more. `plan`: campaigns to
    come (`analysis.plan`).
    `since`: the kept forecast to compare with (0: the newest). `period` has no use.
    """

    question = "forecast"
    months: Annotated[int, Field(ge=1, le=24)] = 6
    window_days: Annotated[int, Field(ge=0, le=1095), AfterValidator(_window)] = 0
    basis: Literal["auto", "bill", "runs"] = "auto"
    budget_usd_month: Annotated[float | None, Field(ge=0)] = None
    growth_frac_month: Annotated[float, Field(ge=-0.5, le=1)] = 0.0
    growth_low: Growth = None
    growth_high: Growth = None
    level_change_frac: Annotated[float | None, Field(ge=0, le=2)] = None
    decline_low: Change = None
    decline_mid: Change = None
    decline_high: Change = None
    stop: tuple[str, ...] = ()
    plan: tuple[str, ...] = ()
    range_frac: Annotated[float, Field(ge=0, le=0.9)] = 0.2
    seed: int = 7
    since: Annotated[int, Field(ge=0)] = 0


@dataclass(frozen=True)
class History:
    """Every UTC day from the first to the last one with spend or telemetry.

    `series` are (campaign, team), '' where none is named; `usd`, `gpu_h` are (days, series). `basis` is bill,
    runs or mixed, `bases` that of every month. `partial`: telemetry ends inside the last day.
    """

    days: tuple[date, ...]
    series: tuple[tuple[str, str], ...]
    usd: Floats
    gpu_h: Floats
    basis: str
    bases: dict[str, str]
    partial: bool
    notices: tuple[Notice, ...]
    assumptions: tuple[Assumption, ...]
    price_ids: tuple[str, ...]

    @property
    def months(self) -> tuple[str, ...]:
        """Months that the days touch, in order."""
        return tuple(dict.fromkeys(month_of(day) for day in self.days))

    def of_month(self, name: str) -> list[int]:
        """Places of the days of a month."""
        return [n for n, day in enumerate(self.days) if month_of(day) == name]

    def is_whole(self, name: str) -> bool:
        """Whether every day of a month lies in the history."""
        return len(self.of_month(name)) == days_in(name)

    def whole_months(self) -> list[str]:
        """Months all of whose days lie in it."""
        return [name for name in self.months if self.is_whole(name)]


def days_in(name: str) -> int:
    """Days of a month YYYY-MM."""
    year, number = (int(part) for part in name.split("-"))
    return (date(year + number // 12, number % 12 + 1, 1) - date(year, number, 1)).days


def load_history(view: View, params: ForecastParams) -> History:
    """Days of spend as `params.basis` wants them; without any day when nothing has a clock."""
    found = periods(view)
    mine = [one for one in found if not one.is_example]
    names = sorted(one.month for one in (mine if mine and params.example != WITH else found))
    loaded = {name: _month(view, params, name, params.basis) for name in names}
    bases = {name: shares.basis for name, shares in loaded.items()}
    mixed: list[Notice] = []
    if params.basis == "auto" and _lacks_newest(names, bases):
        mixed.append(_bill_to_come(names[-1], loaded.pop(names[-1])))
        bases.pop(names[-1])
        return _history(view, params, loaded, bases, mixed, to_come=True)
    if params.basis == "auto" and len(set(bases.values())) > 1:
        billed = [name for name in names if bases[name] == BILL]
        loaded = {name: _month(view, params, name, RUNS) for name in names}
        words = (
            f"Only {listing(billed)} of {len(names)} months have a bill of GPUs: every month is counted as "
            "runs at the price book, so that a month with a bill is no jump. basis=bill mixes them."
        )
        mixed.append(Notice("bill_partial", words, "basis"))
        bases = dict.fromkeys(names, RUNS)
    bases = {n: BILL if b == BILL else RUNS for n, b in bases.items()}
    return _history(view, params, loaded, bases, mixed)


def _lacks_newest(names: Sequence[str], bases: Mapping[str, str]) -> bool:
    """Whether every month but the newest has a bill: its own comes when it is over."""
    return len(names) > 1 and bases[names[-1]] != BILL and all(bases[n] == BILL for n in names[:-1])


def _bill_to_come(name: str, shares: Shares) -> Notice:
    so_far = sum(float(one.usd) for one in shares.shares if one.kind != CREDIT)
    words = (
        f"{month_words(name)} has no bill of GPUs yet: the history ends with the last billed day, so that no "
        f"month is a jump, and the {money(so_far)} of its runs at the price book are not in it. basis=runs "
        "counts every month as runs, basis=bill takes that month's runs for its bill."
    )
    return Notice("bill_to_come", words, "basis")


def _month(view: View, params: ForecastParams, name: str, basis: str) -> Shares:
    asked = MoneyParams(period=name, example=params.example, price=params.price)
    return rate_shares(view, asked) if basis == RUNS else load_shares(view, asked)


def _history(
    view: View,
    params: ForecastParams,
    loaded: dict[str, Shares],
    bases: dict[str, str],
    more: Sequence[Notice],
    to_come: bool = False,
) -> History:
    """`to_come`: months after the last billed day have no bill yet, so telemetry tells nothing of them."""
    sums: dict[tuple[date, str, str], list[float]] = {}
    credits = undated = 0.0
    for shares in loaded.values():
        for one in shares.shares:
            usd = float(one.usd)
            if one.kind == CREDIT:
                credits += usd
            elif one.day is None:
                undated += usd
            else:
                at = sums.setdefault((one.day, one.campaign or "", one.team or ""), [0.0, 0.0])
                at[0] += usd
                at[1] += (one.gpu_s or 0.0) / 3600
    cutoff = None if to_come else data_end(view, params.example == WITH)
    days = _days([day for day, _, _ in sums], cutoff)
    series = tuple(sorted({(campaign, team) for _, campaign, team in sums}))
    shape = len(days), len(series)
    dollars, hours = np.zeros(shape), np.zeros(shape)
    for (day, campaign, team), values in sums.items():
        place = (day - days[0]).days, series.index((campaign, team))
        dollars[place], hours[place] = values
    told = [n for shares in loaded.values() for n in shares.notices if n.code in TOLD]
    kinds = set(bases.values())
    return History(
        days, series, dollars, hours, kinds.pop() if len(kinds) == 1 else MIXED if kinds else RUNS, bases,
        bool(days and cutoff is not None and cutoff.date() == days[-1]),
        (*more, *dict.fromkeys(told), *_left_out(credits, undated), *_made_up(view, loaded)),
        tuple(dict.fromkeys(a for shares in loaded.values() for a in shares.assumptions)),
        tuple(sorted({one for shares in loaded.values() for one in shares.price_ids})),
    )  # fmt: skip


def _days(spent: Sequence[date], cutoff: datetime | None) -> tuple[date, ...]:
    """First day with spend to the last one with spend or telemetry, which ends at `cutoff`."""
    if not spent:
        return ()
    first, last = min(spent), max(spent)
    if cutoff is not None:
        last = max(last, (cutoff - timedelta(microseconds=1)).date())  # midnight ends the day before
    return tuple(first + timedelta(days=n) for n in range((last - first).days + 1))


def _left_out(credits: float, undated: float) -> list[Notice]:
    out = []
    if credits:
        words = f"Credits of {money(-credits)} are left out: a forecast is of charges before them."
        out.append(Notice("credits_apart", words, "costs"))
    if undated:
        words = f"{money(undated)} have no day: no month holds them, so the forecast is too low by as much."
        out.append(Notice("undated", words, "costs"))
    return out


def _made_up(view: View, loaded: dict[str, Shares]) -> list[Notice]:
    scopes = [shares.scope for shares in loaded.values()]
    rows = records(queries.runs(view, Filters()))
    return synthetic_notice(
        r["run"] for r in rows if r["synthetic"] and any(s.has_run(r["run"]) for s in scopes)
    )
