"""Tables of a forecast: months against the budget, teams and campaigns, history, plan, what matters most."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from analysis.forecast_model import (
    DEFAULT_DECLINE,
    DEFAULT_GROWTH,
    NO_TEAM,
    Basis,
    Drawn,
    Scenario,
    draw,
    quantiles,
)
from analysis.frames import NAN, Row, table
from models.workload import Floats

MEASURES = ("usd", "gpu_h")
NUMBERS = tuple(f"{measure}_{end}" for measure in MEASURES for end in ("p10", "p50", "p90", "mean"))
MONTHS = ("month", "days_known", "days", "actual_usd", "actual_gpu_h", *NUMBERS, "budget_usd", "over_frac")
HISTORY = ("month", "days", "whole", "basis", "usd", "gpu_h")
DAYS = ("day", "usd", "gpu_h")
TEAMS = ("team", "month", *NUMBERS)
CAMPAIGNS = ("campaign", "planned", "month", *NUMBERS)
TOTALS = ("kind", "name", *NUMBERS, "share_frac")
PLAN = ("name", "team", "start", "end", "gpu_h_per_day", "low", "high", "usd_per_gpu_h", "status", "line")
TORNADO = (
    "input", "label", "unit", "value", "low", "high", "at_low_usd", "at_high_usd", "p50_at_low_usd",
    "p50_at_high_usd", "swing_usd", "basis", "top",
)  # fmt: skip
TOP = 5


def numbers(usd: Floats, gpu_h: Floats) -> Row:
    """p10, p50, p90 and mean of both measures, (draws,) each."""
    out: Row = {}
    for measure, values in (("usd", usd), ("gpu_h", gpu_h)):
        ends = (*quantiles(values), float(values.mean()))
        out |= dict(zip((f"{measure}_{end}" for end in ("p10", "p50", "p90", "mean")), ends, strict=True))
    return out


def month_rows(basis: Basis, drawn: Drawn) -> pd.DataFrame:
    """One row a coming month; `over_frac`: share of draws above the budget."""
    usd, gpu_h = drawn.total("usd"), drawn.total("gpu_h")
    budget, history = basis.params.budget_usd_month, basis.history
    rows: list[Row] = []
    for m, one in enumerate(basis.coming):
        known = history.of_month(one.month)
        over = NAN if budget is None else float(np.mean(usd[:, m] > budget))
        rows.append(
            {
                "month": one.month, "days_known": one.known, "days": one.known + one.ahead,
                "actual_usd": float(history.usd[known].sum()) if one.known else NAN,
                "actual_gpu_h": float(history.gpu_h[known].sum()) if one.known else NAN,
                **numbers(usd[:, m], gpu_h[:, m]), "budget_usd": budget, "over_frac": over,
            }
        )  # fmt: skip
    return table(rows, MONTHS, MONTHS[1:])


def split_rows(basis: Basis, drawn: Drawn, kind: str) -> pd.DataFrame:
    """One row a team or campaign and month; medians do not add up to the median of all, means do."""
    rows: list[Row] = []
    usd, gpu_h = drawn.by(kind, "usd"), drawn.by(kind, "gpu_h")
    planned = {one.name for one in basis.plan}
    for name, values in usd.items():
        for m, one in enumerate(basis.coming):
            told = numbers(values[:, m], gpu_h[name][:, m])
            rows.append({kind: name, "planned": name in planned, "month": one.month, **told})
    columns = TEAMS if kind == "team" else CAMPAIGNS
    return table(rows, columns, NUMBERS)


def total_rows(drawn: Drawn) -> pd.DataFrame:
    """Over all months: everything, each team, each campaign, with its share of the mean spend.

    Where nobody named a team there are none: 'no team' would repeat everything.
    """
    whole = drawn.total("usd").sum(axis=1), drawn.total("gpu_h").sum(axis=1)
    rows: list[Row] = [{"kind": "total", "name": "all", **numbers(*whole), "share_frac": 1.0}]
    mean = float(whole[0].mean())
    for kind in ("team", "campaign"):
        usd, gpu_h = drawn.by(kind, "usd"), drawn.by(kind, "gpu_h")
        if set(usd) == {NO_TEAM}:
            continue
        for name, values in usd.items():
            told = numbers(values.sum(axis=1), gpu_h[name].sum(axis=1))
            share = told["usd_mean"] / mean if mean > 0 else NAN
            rows.append({"kind": kind, "name": name, **told, "share_frac": share})
    return table(rows, TOTALS, TOTALS[2:])


def history_rows(basis: Basis) -> pd.DataFrame:
    """One row a month of history: what was spent in its known days."""
    history = basis.history
    rows: list[Row] = []
    for name in history.months:
        places = history.of_month(name)
        rows.append(
            {
                "month": name, "days": len(places), "whole": history.is_whole(name),
                "basis": history.bases.get(name, history.basis),
                "usd": float(history.usd[places].sum()), "gpu_h": float(history.gpu_h[places].sum()),
            }
        )  # fmt: skip
    return table(rows, HISTORY, ("days", "usd", "gpu_h"))


def day_rows(basis: Basis) -> pd.DataFrame:
    """One row a UTC day of history."""
    history = basis.history
    usd, gpu_h = history.usd.sum(axis=1), history.gpu_h.sum(axis=1)
    rows = [{"day": d.isoformat(), "usd": usd[n], "gpu_h": gpu_h[n]} for n, d in enumerate(history.days)]
    return table(rows, DAYS, DAYS[1:])


def plan_rows(basis: Basis) -> pd.DataFrame:
    """One row a planned campaign; `status`: user where its price was given, else derived."""
    rows: list[Row] = [
        {
            "name": one.name, "team": one.team or "", "start": one.start, "end": one.end,
            "gpu_h_per_day": one.gpu_h_per_day, "low": one.ends[0], "high": one.ends[1],
            "usd_per_gpu_h": basis.usd_per_gpu_h[one.name],
            "status": "user" if one.usd_per_gpu_h is not None else "derived", "line": one.text(),
        }
        for one in basis.plan
    ]  # fmt: skip
    return table(rows, PLAN, PLAN[4:8])


def tornado_rows(basis: Basis) -> pd.DataFrame:
    """p90 (and p50) of the spend over the horizon with each input alone at its ends; the five largest."""
    rows: list[Row] = []
    for row, low, high in _moved(basis):
        ends = [draw(basis, one).total("usd").sum(axis=1) for one in (low, high)]
        (_, low_mid, low_top), (_, high_mid, high_top) = (quantiles(one) for one in ends)
        rows.append(
            {
                **row, "at_low_usd": low_top, "at_high_usd": high_top, "p50_at_low_usd": low_mid,
                "p50_at_high_usd": high_mid, "swing_usd": abs(high_top - low_top),
            }
        )  # fmt: skip
    rows = [row for row in rows if row["swing_usd"] > 1e-6]
    rows.sort(key=lambda row: (-row["swing_usd"], row["input"]))
    for place, row in enumerate(rows):
        row["top"] = place < TOP
    return table(rows, TORNADO, TORNADO[3:11])


def _moved(basis: Basis) -> list[tuple[Row, Scenario, Scenario]]:
    """Every input with a range, and the scenarios at its ends."""
    middle, params = basis.middle(), basis.params
    out: list[tuple[Row, Scenario, Scenario]] = []

    def add(
        name: str, label: str, unit: str, ends: Sequence[float], at: Sequence[Scenario], own: str
    ) -> None:
        value = {"growth": middle.growth, "level": middle.level, "decline": middle.decline}.get(name, NAN)
        row = {"input": name, "label": label, "unit": unit, "value": value, "basis": own}
        out.append(({**row, "low": ends[0], "high": ends[1]}, at[0], at[1]))

    if basis.uses_history:
        low, high = 0.0, 2 * middle.level
        add("level", "How far the level moves a month", "fraction per month", (low, high),
            [replace(middle, level=e) for e in (low, high)], "nothing to twice")  # fmt: skip
        growth = _ends(middle.growth, params.growth_low, params.growth_high, DEFAULT_GROWTH)
        add("growth", "Growth of use", "fraction per month", growth,
            [replace(middle, growth=e) for e in growth], "your range")  # fmt: skip
        _from_history(basis, middle, add)
    decline = _ends(middle.decline, params.decline_low, params.decline_high, DEFAULT_DECLINE)
    add("decline", "Yearly fall of prices", "fraction per year", decline,
        [replace(middle, decline=e) for e in decline], "your range")  # fmt: skip
    if basis.plan:
        sums = [sum(one.ends[end] for one in basis.plan) for end in (0, 1)]
        if sums[0] != sums[1]:
            add("plan", "GPU-hours of the plan", "GPU-hours per day", sums,
                [replace(middle, hours=e) for e in ("low", "high")], "your range")  # fmt: skip
        price = (1 - params.range_frac, 1 + params.range_frac)
        add("plan_price", "Price of the plan", "fraction of it", price,
            [replace(middle, usd=e) for e in price], "your range")  # fmt: skip
    return out


def _from_history(basis: Basis, middle: Scenario, add: object) -> None:
    assert callable(add)  # noqa: S101
    days = len(basis.history.days)
    if days > 28:
        add("window", "Days of history that count", "days", (28.0, float(days)),
            [replace(middle, window=28), replace(middle, window=0)], "last 28 days or all")  # fmt: skip
    sums: dict[str, float] = {}
    for n, (campaign, _) in enumerate(basis.history.series):
        if campaign and campaign not in middle.stop:
            sums[campaign] = sums.get(campaign, 0.0) + float(basis.history.usd[:, n].sum())
    if sums:
        largest = max(sorted(sums), key=lambda name: sums[name])
        add("stops", f"{largest} goes on", "share of it", (0.0, 1.0),
            [replace(middle, stop=(*middle.stop, largest)), middle], "stops or goes on")  # fmt: skip


def _ends(value: float, low: float | None, high: float | None, width: float) -> tuple[float, float]:
    """The given range, else the value +- a width."""
    return (value - width if low is None else low, value + width if high is None else high)
