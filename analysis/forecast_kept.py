"""A forecast as it is kept, and what changed since the last one that was."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
from pydantic import ValidationError

from analysis.forecast_history import ForecastParams, History, load_history
from analysis.forecast_model import NO_CAMPAIGN, NO_TEAM, Basis, Drawn, basis_of, draw
from analysis.forecast_tables import MEASURES, numbers
from analysis.formulas import FORMULAS_VERSION
from analysis.frames import Row, table
from analysis.scenariowords import given, labels_of
from data.errors import UserError
from data.forecasts import KeptForecast
from data.version import APP_VERSION
from data.view import View

ALL = "all"
KEPT = ("id", "made_at", "note", "data_end", "months", "usd_p50")
CHANGES = ("part", "label", "usd", "gpu_h")
INPUTS = ("label", "name", "unit", "before", "after")
NOT_INPUTS = ("since", "period", "question")


def document(view: View, basis: Basis, drawn: Drawn) -> dict[str, Any]:
    """What is kept: quantiles by month of everything, each team and campaign, beside going on as before."""
    history = basis.history
    return {
        "question": "forecast",
        "version": ForecastParams.version,
        "app": APP_VERSION,
        "formulas": FORMULAS_VERSION,
        "data_version": view.data_version,
        "data_end": history.days[-1].isoformat() if history.days else None,
        "basis": history.basis,
        "months": [one.month for one in basis.coming],
        "days_known": [one.known for one in basis.coming],
        "rows": _rows(basis, drawn),
    }


def _rows(basis: Basis, drawn: Drawn) -> list[Row]:
    out: list[Row] = []
    series: dict[tuple[str, str], tuple[Any, Any]] = {
        ("total", ALL): (drawn.total("usd"), drawn.total("gpu_h"))
    }
    for kind in ("team", "campaign"):
        usd, gpu_h = drawn.by(kind, "usd"), drawn.by(kind, "gpu_h")
        if set(usd) == {NO_TEAM}:  # it would score everything twice
            continue
        series |= {(kind, name): (usd[name], gpu_h[name]) for name in usd}
    for (kind, name), (usd, gpu_h) in series.items():
        naive = {m: naive_month(basis.history, kind, name, m) for m in MEASURES}
        for place, one in enumerate(basis.coming):
            row = {"kind": kind, "name": name, "month": one.month, **numbers(usd[:, place], gpu_h[:, place])}
            for measure in MEASURES:
                a_day, known = naive[measure]
                row[f"{measure}_naive"] = a_day * one.ahead + (known if one.known else 0.0)
            out.append(row)
    return out


def naive_month(history: History, kind: str, name: str, measure: str) -> tuple[float, float]:
    """Mean of a day of the whole history, and what the last, unfinished month already holds."""
    values = series_of(history, kind, name, measure)
    if not len(values):
        return 0.0, 0.0
    last = history.of_month(history.months[-1])
    return float(values.mean()), float(values[last].sum())


def series_of(history: History, kind: str, name: str, measure: str) -> Any:
    """Values by day, (days,), of everything, a team or a campaign as a forecast names them."""
    values = getattr(history, measure)
    if kind == "total":
        return values.sum(axis=1)
    empty = NO_CAMPAIGN if kind == "campaign" else NO_TEAM
    place = 0 if kind == "campaign" else 1
    picked = [n for n, one in enumerate(history.series) if (one[place] or empty) == name]
    return values[:, picked].sum(axis=1)


def kept_rows(found: tuple[KeptForecast, ...]) -> pd.DataFrame:
    """One row a kept forecast, newest first: its months and the sum of their medians."""
    rows: list[Row] = [
        {
            "id": one.id, "made_at": f"{one.made_at:%Y-%m-%d %H:%M}", "note": one.note,
            "data_end": one.document["data_end"], "months": len(one.document["months"]),
            "usd_p50": sum(totals_of(one, "usd").values()),
        }
        for one in reversed(found)
    ]  # fmt: skip
    return table(rows, KEPT, ("months", "usd_p50"))


def totals_of(one: KeptForecast, measure: str) -> dict[str, float]:
    """Median of everything by month."""
    rows = [row for row in one.document["rows"] if row["kind"] == "total"]
    return {row["month"]: float(row[f"{measure}_p50"]) for row in rows}


def last_kept(view: View, params: ForecastParams) -> KeptForecast | None:
    """The forecast to compare with; UserError when there is none with the wanted id."""
    found = view.forecasts()
    if not params.since:
        return found[-1] if found else None
    wanted = next((one for one in found if one.id == params.since), None)
    if wanted is None:
        known = ", ".join(str(one.id) for one in found) or "none is kept yet"
        raise UserError(f"No forecast {params.since} is kept", "parameter since", f"Use one of: {known}.")
    return wanted


def change_rows(
    view: View, basis: Basis, drawn: Drawn, before: KeptForecast
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Tables `changes` and `inputs_changed`: medians of the months that both know, from then to now.

    New days at the old inputs come first (their GPU-hours at the old price, then the price), then the
    inputs. The parts add up. A month that is over counts as what was spent.
    """
    names = [m for m in before.document["months"] if m in _now(basis, drawn, "usd")]
    old = {m: _sum(totals_of(before, m), names) for m in MEASURES}
    new = {m: _sum(_now(basis, drawn, m), names) for m in MEASURES}
    middle = _at_old_inputs(view, before, basis) if names else None
    rows = [_change("before", f"Forecast {before.id}", old["usd"], old["gpu_h"])]
    if middle is None:
        rows.append(
            _change(
                "all",
                "Everything: inputs of then are none any more",
                new["usd"] - old["usd"],
                new["gpu_h"] - old["gpu_h"],
            )
        )
    else:
        at = {m: _sum(middle[m], names) for m in MEASURES}
        hours = at["gpu_h"] - old["gpu_h"]
        price = old["usd"] / old["gpu_h"] if old["gpu_h"] > 0 else 0.0
        rows += [
            _change("volume", "New days: GPU-hours", hours * price, hours),
            _change("price", "New days: dollars a GPU-hour", at["usd"] - old["usd"] - hours * price, 0.0),
            _change("inputs", "Changed inputs", new["usd"] - at["usd"], new["gpu_h"] - at["gpu_h"]),
        ]
    rows.append(_change("after", "Now", new["usd"], new["gpu_h"]))
    return table(rows, CHANGES, CHANGES[2:]), _inputs(before, basis.params)


def _change(part: str, label: str, usd: float, gpu_h: float) -> Row:
    """A step; what is left of a rounding error is 0."""
    return {"part": part, "label": label, "usd": round(usd, 6), "gpu_h": round(gpu_h, 6)}


def _sum(values: Mapping[str, float], names: list[str]) -> float:
    return sum(values[name] for name in names)


def _now(basis: Basis, drawn: Drawn, measure: str) -> dict[str, float]:
    """What a month comes to now: spent where it is over, else the median of the draws."""
    history, values = basis.history, drawn.total(measure)
    out = {
        name: float(getattr(history, measure)[history.of_month(name)].sum())
        for name in history.whole_months()
    }
    middle = {one.month: numbers(values[:, n], values[:, n])["usd_p50"] for n, one in enumerate(basis.coming)}
    return out | middle


def _at_old_inputs(view: View, before: KeptForecast, basis: Basis) -> dict[str, dict[str, float]] | None:
    """The medians that today's data give at the inputs of then; None where those are no inputs any more."""
    try:
        told = ForecastParams(**{**before.params, "months": basis.params.months, "since": 0})
        again = basis_of(told, load_history(view, told), view.day)
    except (ValidationError, UserError):
        return None
    drawn = draw(again, again.middle())
    return {measure: _now(again, drawn, measure) for measure in MEASURES}


def _inputs(before: KeptForecast, params: ForecastParams) -> pd.DataFrame:
    """Inputs that differ, with their names on screen, as text."""
    now = params.model_dump(mode="json")
    names = [n for n in now if n not in NOT_INPUTS and before.params.get(n) != now[n]]
    told = labels_of("forecast", None)
    rows = [
        {
            "label": told[n].label, "name": n, "unit": "usd" if "usd" in n else "",
            "before": given(before.params.get(n), told[n].unit), "after": given(now[n], told[n].unit),
        }
        for n in names
    ]  # fmt: skip
    return table(rows, INPUTS)
