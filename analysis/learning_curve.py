"""What does the next point cost? The learning curve of a run, fitted, with money along it (M3, M4, M5)."""

from typing import Any

import numpy as np
import pandas as pd

from analysis.checks import checked
from analysis.common import nothing, result
from analysis.frames import table
from analysis.learning_fit import CurveParams, Fitted, Floats, fit, load, pick_run
from analysis.learning_money import Priced, marginal_line, priced
from analysis.learning_words import answer, assumptions, figures, told
from analysis.result import Result
from analysis.words import count
from data.view import View
from models.curve import Curve, band

__all__ = ["CurveParams", "compute"]

CURVE_POINTS = [
    "run", "benchmark", "kind", "step", "amount", "x", "score", "low", "high", "n", "used", "usd",
]  # fmt: skip
BAND = ["run", "amount", "usd", "x", "score", "low", "high", "seen", "kind", "benchmark"]
FITS = ["parameter", "words", "value", "low", "high", "unit"]
RIVALS = ["rival", "rmse_points", "sigmoid_rmse_points", "n_fitted", "n_held_out", "verdict"]
TARGETS = [
    "score", "usd", "usd_low", "usd_high", "amount", "amount_low", "amount_high", "reachable_frac", "beyond",
    "held_usd", "words",
]  # fmt: skip
MARGINAL = ["run", "amount", "usd", "usd_per_point", "usd_per_point_low", "usd_per_point_high", "seen"]
BUDGET = [
    "budget_usd", "amount", "amount_low", "amount_high", "score", "low", "high", "evaluation_low",
    "evaluation_high",
]  # fmt: skip
STOP = [
    "worth_usd", "amount", "amount_low", "amount_high", "usd", "usd_low", "usd_high", "score", "low", "high",
    "stop_frac", "verdict",
]  # fmt: skip
EMPTY = {
    "points": CURVE_POINTS, "band": BAND, "fits": FITS, "rivals": RIVALS, "targets": TARGETS,
    "marginal": MARGINAL, "budget": BUDGET, "stop": STOP,
}  # fmt: skip
GRID, MARGINAL_GRID, BEYOND = 81, 41, 4.0
"""The curve is drawn to this many times the last amount seen, or the target's where that is nearer."""


def compute(view: View, params: CurveParams) -> Result:
    """Tables: points, band, fits, rivals, targets, marginal, budget, stop (columns: EMPTY).

    A run without a curve is an answer with the reason. Raises UserError for a run that does not exist.
    """
    spend, evals, scores, notices = load(view, params)
    if spend.runs.empty:
        return nothing("learning_curve", view, params, EMPTY)
    found = fit(pick_run(view, params, scores), scores, spend, params)
    money = priced(found, params) if found.curve is not None else None
    said = [*spend.notices, *checked(view, params)[1], *evals.notices, *notices, *found.notices]
    return result(
        "learning_curve", view, params, answer(params, found, money),
        headline=figures(params, found, money), tables=_tables(params, found, money),
        assumptions=[*spend.assumptions, *evals.assumptions, *assumptions(params, found)],
        notices=[*said, *told(found, money)], prices=spend.allocations,
    )  # fmt: skip


def _tables(params: CurveParams, found: Fitted, money: Priced | None) -> dict[str, pd.DataFrame]:
    out = {name: pd.DataFrame(columns=columns) for name, columns in EMPTY.items()}
    out["points"] = _points(params, found)
    if found.curve is None or money is None:
        return out
    amounts = _grid(found.curve, money)
    out["band"] = _band(params, found, found.curve, amounts)
    out["fits"] = pd.DataFrame(_fits(found, found.curve), columns=FITS)
    out["rivals"] = _rivals(found)
    out["targets"] = pd.DataFrame([_target(money)], columns=TARGETS)
    if found.no_usd:
        return out
    out["marginal"] = _marginal(found, found.curve, float(amounts[-1]))
    out["budget"] = pd.DataFrame([_budget(money)], columns=BUDGET)
    if money.stop is not None:
        out["stop"] = pd.DataFrame([_stop(params, money)], columns=STOP)
    return out


def _points(params: CurveParams, found: Fitted) -> pd.DataFrame:
    rows = found.rows.assign(x=found.rows[params.x].astype("float64"))
    return rows.reindex(columns=CURVE_POINTS).reset_index(drop=True)


def _grid(curve: Curve, money: Priced) -> Floats:
    """Amounts from the first evaluation to beyond the last: to the target where that is not far."""
    wanted = [curve.x_last * 1.25, money.amount.interval.value]
    if money.bought is not None:
        wanted.append(money.bought.amount.value)
    if money.stop is not None:
        wanted.append(money.stop.amount.value)
    far = max(w for w in wanted if w <= BEYOND * curve.x_last or w == wanted[0])
    grid: Floats = np.union1d(np.geomspace(curve.x_first / 4, far * 1.05, GRID), [curve.x_last])
    return grid


def _band(params: CurveParams, found: Fitted, curve: Curve, amounts: Floats) -> pd.DataFrame:
    drawn = band(curve, amounts)
    out = pd.DataFrame({
        "run": found.run, "amount": amounts, "usd": found.along("usd").at(amounts),
        "x": found.along(params.x).at(amounts), "score": drawn.score,
        "low": drawn.low, "high": drawn.high, "seen": amounts <= curve.x_last, "kind": "fraction",
        "benchmark": found.benchmark,
    })  # fmt: skip
    return out[BAND]


def _fits(found: Fitted, curve: Curve) -> list[dict[str, Any]]:
    unit = found.fit_in
    parts = (
        ("start", "R0, score before training", lambda s: s.start, "frac"),
        ("top", "A, score without end", lambda s: s.top, "frac"),
        ("mid", "x_mid, amount at half of the way", lambda s: s.mid, unit),
        ("exponent", "B, steepness", lambda s: s.exponent, "times"),
    )
    rows = []
    for name, words, of, kind in parts:
        ends = curve.interval(lambda s, of=of: np.asarray(of(s)))  # type: ignore[misc]
        rows.append(dict(zip(FITS, (name, words, ends.value, ends.low, ends.high, kind), strict=True)))
    noise = ("noise", "standard deviation of one evaluation", curve.noise_sd, np.nan, np.nan, "frac")
    return [*rows, dict(zip(FITS, noise, strict=True))]


def _rivals(found: Fitted) -> pd.DataFrame:
    seen = found.compared
    rows = (
        []
        if seen is None
        else [
            (r.name, 100 * r.rmse, 100 * seen.rmse, seen.n_fitted, seen.n_held_out, r.verdict)
            for r in seen.rivals
        ]
    )
    return table([dict(zip(RIVALS, row, strict=True)) for row in rows], RIVALS, RIVALS[1:5])


def _target(money: Priced) -> dict[str, Any]:
    amount, cost = money.amount, money.cost
    row: dict[str, Any] = {
        "score": money.target, "amount": amount.interval.value, "amount_low": amount.interval.low,
        "amount_high": amount.interval.high, "reachable_frac": amount.reachable_frac,
        "beyond": amount.beyond, "held_usd": money.held_usd, "words": reach_words(money),
    }  # fmt: skip
    if cost is not None:
        ends = cost.interval
        row |= {"usd": ends.value, "usd_low": ends.low, "usd_high": ends.high}
    return row


def reach_words(money: Priced) -> str:
    """Reachable, not reachable, or not ruled out; and how far beyond the last evaluation."""
    amount = money.amount
    if not amount.reachable:
        return f"not reachable: the target lies at or above the top ({amount.reachable_frac:.0%} reach it)"
    far = f"{count(round(amount.beyond, 2))} times the last amount seen" if amount.beyond > 1 else "seen"
    open_end = "" if amount.bounded else "; that it is never reached is not ruled out"
    return f"{far}{open_end}"


def _marginal(found: Fitted, curve: Curve, last: float) -> pd.DataFrame:
    amounts = np.union1d(np.geomspace(curve.x_first, last, MARGINAL_GRID), [curve.x_last])
    value, low, high = marginal_line(found, amounts)
    frame = pd.DataFrame({
        "run": found.run, "amount": amounts, "usd": found.along("usd").at(amounts), "usd_per_point": value,
        "usd_per_point_low": low, "usd_per_point_high": high, "seen": amounts <= curve.x_last,
    })  # fmt: skip
    return frame[MARGINAL]


def _budget(money: Priced) -> dict[str, Any]:
    bought = money.bought
    if bought is None:
        return {}
    return {
        "budget_usd": money.budget_usd, "amount": bought.amount.value, "amount_low": bought.amount.low,
        "amount_high": bought.amount.high, "score": bought.score.value, "low": bought.score.low,
        "high": bought.score.high, "evaluation_low": bought.evaluation.low,
        "evaluation_high": bought.evaluation.high,
    }  # fmt: skip


def _stop(params: CurveParams, money: Priced) -> dict[str, Any]:
    stop = money.stop
    if stop is None:
        return {}
    row: dict[str, Any] = {
        "worth_usd": params.worth_usd,
        "stop_frac": stop.stop_frac,
        "verdict": stop.verdict,
    }
    for name, ends in (("amount", stop.amount), ("usd", stop.usd)):
        row |= {name: ends.value, f"{name}_low": ends.low, f"{name}_high": ends.high}
    return row | {"score": stop.score.value, "low": stop.score.low, "high": stop.score.high}
