"""Forecast: spend and GPU-hours of the coming months against a budget, by team and campaign."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.common import EMPTY, figure, result
from analysis.forecast_history import ForecastParams, load_history
from analysis.forecast_kept import (
    CHANGES,
    INPUTS,
    change_rows,
    document,
    kept_rows,
    last_kept,
)
from analysis.forecast_model import (
    DEFAULT_LEVEL,
    DRAWS,
    MIN_DAYS,
    Basis,
    Drawn,
    basis_of,
    draw,
    quantiles,
)
from analysis.forecast_tables import (
    CAMPAIGNS,
    MONTHS,
    TEAMS,
    TORNADO,
    TOTALS,
    day_rows,
    history_rows,
    month_rows,
    plan_rows,
    split_rows,
    tornado_rows,
    total_rows,
)
from analysis.frames import records, table
from analysis.planning import chance_of_draws
from analysis.result import Assumption, Figure, Notice, Result
from analysis.words import digits3, money, month_words, percent, plural
from data.queries.known import has_uploads
from data.view import View
from models.forecast import MONTHS_FOR_LEVEL

SHORT_DAYS = 56
"""Days below which a month's own rhythm cannot be seen: two months."""
BOUNDARY = {"bill": "bill", "runs": "rent", "mixed": "bill | rent"}
PAID = {
    "bill": "of billed charges",
    "runs": "at the price book's rents",
    "mixed": "of billed charges and of rents where no bill is",
}
MISSED = (
    "no whole months to measure it; second-hand: 80 % of firms miss their cost forecasts by more than 25 % "
    "(cloudbitz), so take it for a guess and give yours"
)


@dataclass(frozen=True)
class Forecast:
    """What was drawn, and from what."""

    basis: Basis
    drawn: Drawn


def compute(view: View, params: ForecastParams) -> Result:
    """Answer; raises UserError for a bad plan line, an unknown campaign or an unknown kept forecast."""
    basis = basis_of(params, load_history(view, params), view.day)
    lacking = _lacking(view, basis)
    if lacking:
        return _without(view, params, basis, lacking)
    drawn = draw(basis, basis.middle())
    before = last_kept(view, params)
    changes = {"changes": table([], CHANGES, CHANGES[2:]), "inputs_changed": table([], INPUTS)}
    if before is not None:
        changes["changes"], changes["inputs_changed"] = change_rows(view, basis, drawn, before)
    tables = {
        "months": month_rows(basis, drawn),
        "by_team": split_rows(basis, drawn, "team"),
        "by_campaign": split_rows(basis, drawn, "campaign"),
        "totals": total_rows(drawn),
        "tornado": tornado_rows(basis),
        **changes,
    }
    figures = _figures(basis, drawn)
    return result(
        "forecast", view, params, _answer(basis, figures, tables),
        headline=figures, tables=tables | _given(view, basis), assumptions=_assumptions(basis),
        notices=[*basis.history.notices, *_notices(basis)], prices=_prices(basis),
    )  # fmt: skip


def keepable(view: View, params: ForecastParams) -> dict[str, object]:
    """The document of a forecast that can be kept; ValueError with the reason when there is none."""
    basis = basis_of(params, load_history(view, params), view.day)
    lacking = _lacking(view, basis)
    if lacking:
        raise ValueError(lacking)
    return document(view, basis, draw(basis, basis.middle()))


def _prices(basis: Basis) -> pd.DataFrame:
    return pd.DataFrame({"price_id": list(basis.history.price_ids)}, dtype=object)


def _lacking(view: View, basis: Basis) -> str:
    """Why nothing can be said, in words; '' when something can."""
    days = len(basis.history.days)
    if basis.plan or days >= MIN_DAYS:
        return ""
    give = f"Or plan campaigns: {'NAME 2026-04..2026-09 480 usd=2.75'} (GPU-hours a day)."
    if not days and not has_uploads(view):
        return f"{EMPTY} {give}"
    if not days:
        return (
            "No run or bill has a clock, so no month holds any spend: fill in when the runs started and "
            f"ended in the run details, or load a bill. {give}"
        )
    return (
        f"The history is {days} {plural('day', days)}: below {MIN_DAYS} (two weeks) no spread can be told, "
        f"so nothing is forecast from it. Load more months of runs or bills. {give}"
    )


def _figures(basis: Basis, drawn: Drawn) -> list[Figure]:
    whole = {m: drawn.total(m).sum(axis=1) for m in ("usd", "gpu_h")}
    boundary, n = BOUNDARY[basis.history.basis], len(basis.history.days)
    ahead = next((m for m, one in enumerate(basis.coming) if not one.known), None)
    out = [_ranged(f"forecast_{m}", values, boundary, n) for m, values in whole.items()]
    for measure, words in (("usd", "Spend"), ("gpu_h", "GPU-hours")):
        name = f"forecast_{measure}_next"
        if ahead is None:
            lacks = "the horizon holds no whole month: ask for 2 months or more"
            out.append(figure(f"forecast_{measure}", None, name=name, missing=lacks))
            continue
        label = f"{words} in {month_words(basis.coming[ahead].month)}"
        values = drawn.total(measure)[:, ahead]
        out.append(_ranged(f"forecast_{measure}", values, boundary, n, name=name, label=label))
    budget = basis.params.budget_usd_month
    over = None if budget is None else float(np.mean(whole["usd"] > budget * len(basis.coming)))
    lacks = "give a budget a month"
    out.append(
        figure("forecast_over", over, **chance_of_draws(over, DRAWS), boundary=boundary, missing=lacks)
    )
    months = len(basis.history.whole_months())
    level = basis.level if basis.level_from != "derived" else None
    lacks = f"{months} whole {plural('month', months)} of history, {MONTHS_FOR_LEVEL} are needed"
    out.append(figure("forecast_level", level, boundary=boundary, n=months, missing=lacks))
    return out


def _ranged(metric: str, values: np.ndarray, boundary: str, n: int, **more: str) -> Figure:
    low, middle, high = quantiles(values)
    return figure(metric, middle, low=low, high=high, interval="p10_p90", boundary=boundary, n=n, **more)


def _answer(basis: Basis, figures: list[Figure], tables: dict[str, pd.DataFrame]) -> str:
    told = {one.name: one for one in figures}
    usd, hours, coming = told["forecast_usd"], told["forecast_gpu_h"], basis.coming
    count, params = len(coming), basis.params
    span = month_words(coming[0].month)
    if count > 1:
        span += f" to {month_words(coming[-1].month)}"
    paid = PAID[basis.history.basis] if basis.history.days else "of the plan"
    text = f"{span}: {_span(usd, money)} {paid} and {_span(hours, digits3)} GPU-hours (p10-p90)"
    if params.budget_usd_month is not None:
        whole = params.budget_usd_month * count
        text += f"; over the budget of {money(whole)} with probability {_odds(told['forecast_over'].value)}"
    known = next((row for row in records(tables["months"]) if row["days_known"] > 0), None)
    if known is not None:
        text += f"; {money(known['actual_usd'])} of {month_words(known['month'])} are spent already"
    days = len(basis.history.days)
    rests = (
        f"It rests on {days} {plural('day', days)} of history"
        if basis.uses_history
        else "It is the plan alone"
    )
    more = f" and {len(basis.plan)} planned {plural('campaign', len(basis.plan))}" if basis.plan else ""
    if not basis.uses_history:
        more = f", for {days} {plural('day', days)} of history tell nothing"
    return f"{text}. {rests}{more}.{_changed(tables['changes'])}"


def _odds(frac: float | None) -> str:
    """A share of draws as a probability: draws never make certainty."""
    value = frac or 0.0
    return "below 1 %" if value < 0.01 else "above 99 %" if value > 0.99 else percent(value)


def _span(one: Figure, words: object) -> str:
    assert callable(words)  # noqa: S101
    return f"{words(one.value)} ({words(one.low)} to {words(one.high)})"


def _changed(changes: pd.DataFrame) -> str:
    rows = {row["part"]: row for row in records(changes)}
    if not rows:
        return ""
    moved = rows["after"]["usd"] - rows["before"]["usd"]
    way = "more" if moved >= 0 else "less"
    return (
        f" That is {money(abs(moved))} {way} than {rows['before']['label'].lower()} said of the same months."
    )


def _given(view: View, basis: Basis) -> dict[str, pd.DataFrame]:
    return {
        "history": history_rows(basis),
        "days": day_rows(basis),
        "plan": plan_rows(basis),
        "kept": kept_rows(view.forecasts()),
    }


def _without(view: View, params: ForecastParams, basis: Basis, lacking: str) -> Result:
    """The refusal in words, beside the history that is there."""
    columns = {"months": MONTHS, "by_team": TEAMS, "by_campaign": CAMPAIGNS, "totals": TOTALS}
    columns |= {"tornado": TORNADO, "changes": CHANGES, "inputs_changed": INPUTS}
    names = ("forecast_usd", "forecast_gpu_h")
    missing = [figure(n, None, missing=lacking) for n in names]
    missing += [figure(n, None, name=f"{n}_next", missing=lacking) for n in names]
    missing += [figure(n, None, missing=lacking) for n in ("forecast_over", "forecast_level")]
    code = "empty_home" if lacking.startswith(EMPTY) else "history_short"
    return result(
        "forecast", view, params, lacking, headline=missing,
        tables={**{name: table([], names) for name, names in columns.items()}, **_given(view, basis)},
        notices=[*basis.history.notices, Notice(code, lacking, "history")], prices=_prices(basis),
    )  # fmt: skip


def _assumptions(basis: Basis) -> list[Assumption]:
    params, out = basis.params, list(basis.history.assumptions)
    source = {
        "user": "your setting",
        "measured": f"log changes of {len(basis.history.whole_months())} whole months of history",
        "derived": MISSED,
    }[basis.level_from]
    words = "How far the level moves a month (one standard deviation of its logarithm)"
    out.append(Assumption(words, round(basis.level, 4), "fraction per month", basis.level_from, source, ""))
    for name, label, unit, nothing in (
        ("growth_frac_month", "Growth of use", "fraction per month", "no trend is taken for granted"),
        ("decline_mid", "Yearly fall of prices", "fraction per year", "none published: prices stay"),
    ):
        value = getattr(params, name)
        given = value != ForecastParams.model_fields[name].default
        told = ("user", "your setting") if given else ("derived", nothing)
        out.append(Assumption(label, value or 0.0, unit, *told, ""))
    for one in basis.plan:
        label = f"Planned: {one.name}, {one.start} to {one.end}"
        out.append(Assumption(label, one.gpu_h_per_day, "GPU-hours per day", "user", "your plan", ""))
        status = "user" if one.usd_per_gpu_h is not None else "derived"
        told_by = "your plan" if status == "user" else "all dollars of the history / its GPU-hours"
        usd = round(basis.usd_per_gpu_h[one.name], 4)
        out.append(Assumption(f"Price of {one.name}", usd, "USD per GPU-hour", status, told_by, ""))
    return out


def _notices(basis: Basis) -> list[Notice]:
    history, out = basis.history, _history_notices(basis)
    if basis.uses_history and not basis.params.stop:
        words = (
            "Every campaign of the history is taken to go on, or to be followed by one like it: name those "
            "that stop."
        )
        out.append(Notice("campaigns_go_on", words, "stop"))
    if basis.params.runs or basis.params.platforms:
        words = "A forecast is of everything: the chosen runs and platforms do not narrow it."
        out.append(Notice("forecast_is_whole", words))
    if history.partial:
        words = f"Telemetry ends inside {history.days[-1].isoformat()}, which counts as a whole day."
        out.append(Notice("partial_day", words, "history"))
    names = {campaign for campaign, _ in history.series}
    twice = [one.name for one in basis.plan if one.name in names and one.name not in basis.params.stop]
    if twice:
        words = (
            f"{twice[0]} is in the history and in the plan, and both count: name it among the "
            "campaigns that end if the plan is all that it will use."
        )
        out.append(Notice("planned_twice", words, "plan"))
    return out


def _history_notices(basis: Basis) -> list[Notice]:
    """What a short history cannot tell."""
    history, out = basis.history, []
    days, whole = len(history.days), len(history.whole_months())
    if not basis.uses_history:
        words = (
            f"{days} {plural('day', days)} of history are too few ({MIN_DAYS} are needed): only the plan "
            "counts."
        )
        out.append(Notice("history_short", words, "history"))
    elif days < SHORT_DAYS:
        words = (
            f"The history is {days} days with {whole} whole {plural('month', whole)}: how months differ "
            "cannot be seen in it. Days are drawn from it as if the coming ones were like them."
        )
        out.append(Notice("history_short", words, "history"))
    if basis.uses_history and basis.level_from == "derived":
        words = (
            f"How far spend moves from month to month is not measured ({whole} whole "
            f"{plural('month', whole)}, {MONTHS_FOR_LEVEL} are needed): {percent(DEFAULT_LEVEL)} a month is "
            "taken, a guess: give yours."
        )
        out.append(Notice("level_guessed", words, "level_change_frac"))
    return out


__all__ = ["ForecastParams", "compute", "keepable"]
