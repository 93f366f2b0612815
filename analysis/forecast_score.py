"""How good kept forecasts were: what they said of months that are over, against what was spent."""

import math
from collections.abc import Sequence
from typing import Annotated, ClassVar

import pandas as pd
from pydantic import Field, ValidationError

from analysis.common import figure, result
from analysis.forecast_history import ForecastParams, History, load_history
from analysis.forecast_kept import KEPT, kept_rows, series_of
from analysis.forecast_tables import MEASURES
from analysis.frames import NAN, Row, records, table
from analysis.moneyparams import MoneyParams
from analysis.result import Figure, Notice, Result
from analysis.shares import BILL
from analysis.words import money, percent, plural
from data.forecasts import KeptForecast
from data.view import View
from models.forecast import coverage, mean_pinball

SCORES = (
    "forecast", "made_at", "month", "months_ahead", "kind", "name", "team", "measure", "unit", "p10", "p50",
    "p90", "actual", "inside", "pinball", "naive", "naive_pinball",
)  # fmt: skip
SUMMARY = (
    "kind", "measure", "unit", "n", "inside_n", "coverage_frac", "coverage_low", "coverage_high", "pinball",
    "naive_pinball", "skill_frac", "bias_frac",
)  # fmt: skip
NONE = "No forecast is kept yet: keep one (`cli.py forecast keep`, or the page Forecast) to score it later."
FEW = 10


class ScoreParams(MoneyParams):
    """`upto`: kept forecasts with that id or a lower one (0: all). `period` has no use."""

    question: ClassVar[str] = "forecast_score"
    upto: Annotated[int, Field(ge=0)] = 0


def compute(view: View, params: ScoreParams) -> Result:
    """Every month of a kept forecast that lies whole in the history, on the basis that it was made on."""
    found = tuple(one for one in view.forecasts() if not params.upto or one.id <= params.upto)
    rows, told = _scores(view, found)
    kept = kept_rows(found)
    done = {row["forecast"] for row in rows}
    kept["state"] = ["scored" if one in done else "waiting: none of its months is over" for one in kept["id"]]
    tables = {
        "scores": table(rows, SCORES, ("months_ahead", *SCORES[9:13], *SCORES[14:])),
        "summary": _summary(rows),
        "kept": kept if len(found) else table([], (*KEPT, "state"), KEPT[4:]),
    }
    main = [row for row in rows if row["kind"] == "total" and row["measure"] == "usd"]
    return result(
        "forecast_score", view, params, _answer(found, main, tables["summary"]),
        headline=_figures(found, main, tables["summary"]), tables=tables, notices=[*told, *_notices(main)],
    )  # fmt: skip


def _scores(view: View, found: Sequence[KeptForecast]) -> tuple[list[Row], list[Notice]]:
    rows: list[Row] = []
    told: list[Notice] = []
    histories: dict[str, History] = {}
    for one in found:
        try:
            params = ForecastParams(**{**one.params, "since": 0, "basis": _basis(one)})
        except ValidationError:
            words = (
                f"Forecast {one.id} was made with inputs that this version does not know: it is not scored."
            )
            told.append(Notice("forecast_unreadable", words, str(one.id)))
            continue
        key = f"{params.basis} {params.price} {params.example}"
        if key not in histories:
            histories[key] = load_history(view, params)
            told += histories[key].notices
        rows += _of_one(one, histories[key])
    return rows, told


def _basis(one: KeptForecast) -> str:
    return {"bill": "bill", "runs": "runs"}.get(str(one.document["basis"]), "bill")


def _of_one(one: KeptForecast, history: History) -> list[Row]:
    whole, months = set(history.whole_months()), one.document["months"]
    if one.document["basis"] == BILL:  # a month whose bill has not come is not known yet
        whole &= {month for month, basis in history.bases.items() if basis == BILL}
    out: list[Row] = []
    for row in one.document["rows"]:
        if row["month"] not in whole:
            continue
        for measure in MEASURES:
            values = series_of(history, row["kind"], row["name"], measure)
            actual = float(values[history.of_month(row["month"])].sum())
            ends = [float(row[f"{measure}_{end}"]) for end in ("p10", "p50", "p90")]
            naive = float(row[f"{measure}_naive"])
            out.append(
                {
                    "forecast": one.id, "made_at": f"{one.made_at:%Y-%m-%d %H:%M}",
                    "month": row["month"], "months_ahead": months.index(row["month"]), "kind": row["kind"],
                    "name": row["name"], "team": row["name"] if row["kind"] == "team" else None,
                    "measure": measure, "unit": measure, "p10": ends[0], "p50": ends[1], "p90": ends[2],
                    "actual": actual, "inside": _inside(ends, actual), "pinball": mean_pinball(ends, actual),
                    "naive": naive, "naive_pinball": mean_pinball([naive] * 3, actual),
                }
            )  # fmt: skip
    return out


def _inside(ends: Sequence[float], actual: float) -> bool:
    """Between p10 and p90, a rounding error of a cent allowed."""
    slack = 1e-9 * max(1.0, abs(actual))
    return ends[0] - slack <= actual <= ends[2] + slack


def _summary(rows: Sequence[Row]) -> pd.DataFrame:
    out: list[Row] = []
    for kind in ("total", "team", "campaign"):
        for measure in MEASURES:
            some = [row for row in rows if (row["kind"], row["measure"]) == (kind, measure)]
            found = coverage([row["inside"] for row in some])
            if found is None:
                continue
            loss = math.fsum(row["pinball"] for row in some) / len(some)
            naive = math.fsum(row["naive_pinball"] for row in some) / len(some)
            spent = math.fsum(row["actual"] for row in some)
            middle = math.fsum(row["p50"] for row in some)
            out.append(
                {
                    "kind": kind, "measure": measure, "unit": measure, "n": found.n, "inside_n": found.inside,
                    "coverage_frac": found.frac, "coverage_low": found.low, "coverage_high": found.high,
                    "pinball": loss, "naive_pinball": naive,
                    "skill_frac": 1 - loss / naive if naive > 0 else NAN,
                    "bias_frac": middle / spent - 1 if spent > 0 else NAN,
                }
            )  # fmt: skip
    return table(out, SUMMARY, SUMMARY[3:])


def _figures(found: Sequence[KeptForecast], main: Sequence[Row], summary: pd.DataFrame) -> list[Figure]:
    lacks = "no month of a kept forecast is over yet" if found else NONE
    if not main:
        names = ("forecast_coverage", "forecast_pinball", "forecast_skill", "forecast_bias")
        return [figure(name, None, missing=lacks) for name in names]
    row = next(r for r in records(summary) if (r["kind"], r["measure"]) == ("total", "usd"))
    n = int(row["n"])
    return [
        figure("forecast_coverage", row["coverage_frac"], low=row["coverage_low"], high=row["coverage_high"],
               interval="ci95", n=n),
        figure("forecast_pinball", row["pinball"], n=n),
        figure("forecast_skill", row["skill_frac"], n=n, missing="going on as before was exactly right"),
        figure("forecast_bias", row["bias_frac"], n=n, missing="nothing was spent in those months"),
    ]  # fmt: skip


def _answer(found: Sequence[KeptForecast], main: Sequence[Row], summary: pd.DataFrame) -> str:
    count = len(found)
    if not count:
        return NONE
    if not main:
        return (
            f"{count} {plural('forecast', count)} kept, and none of their months is over in the data on "
            "hand: load what came after to score them."
        )
    row = next(r for r in records(summary) if (r["kind"], r["measure"]) == ("total", "usd"))
    n, inside = int(row["n"]), int(row["inside_n"])
    text = (
        f"{inside} of {n} {plural('month', n)} fell inside p10-p90 ({percent(row['coverage_frac'])}; 80 % is "
        f"right, 95 % interval {percent(row['coverage_low'])} to {percent(row['coverage_high'])})"
    )
    bias = row["bias_frac"]
    if not math.isnan(bias):
        text += f"; medians were {percent(abs(bias))} too {'high' if bias >= 0 else 'low'}"
    text += f"; mean pinball loss {money(row['pinball'])} a month"
    if not math.isnan(row["skill_frac"]):
        better = row["skill_frac"] >= 0
        text += (
            f", {percent(abs(row['skill_frac']))} {'better' if better else 'worse'} than going on as before"
        )
    return f"{text}."


def _notices(main: Sequence[Row]) -> list[Notice]:
    if not main or len(main) >= FEW:
        return []
    words = f"{len(main)} {plural('month', len(main))} are too few to judge: below {FEW} chance decides."
    return [Notice("few_scored", words, "scores")]
