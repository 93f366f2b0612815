"""What a million generated and trained tokens cost (M15), beside what the same dollars gained (M1)."""

import math
from typing import ClassVar

from analysis.common import figure, nothing, result
from analysis.evaluations import load_evaluations
from analysis.formulas import FORMULAS_VERSION
from analysis.frames import NAN, Row, known, number, records, table
from analysis.gainrates import POINTS, price_dates, rates
from analysis.gaintable import headline_gains
from analysis.headline import choose_subject
from analysis.pairs import compare
from analysis.params import CommonParams
from analysis.result import Figure, Notice, Result
from analysis.spend import compute_spend, filters_of
from analysis.unit_economics import unit_costs
from analysis.words import digits3, money, price_words
from data.queries import unit_economics as queries
from data.view import View

MTOK = 1e6
TOKENS = [
    "run", "usd", "usd_low", "usd_high", "mtok_generated", "usd_per_mtok_generated",
    "usd_per_mtok_generated_low", "usd_per_mtok_generated_high", "mtok_trained", "usd_per_mtok_trained",
    "usd_per_mtok_trained_low", "usd_per_mtok_trained_high", "benchmark", "gain", "n", "verdict",
    "points_per_mtok", "points_per_1000_usd", "points_per_1000_usd_low", "points_per_1000_usd_high",
    "boundary", "price_date", "formulas",
]  # fmt: skip
TEXTS = ("run", "benchmark", "verdict", "boundary", "price_date", "formulas")
NO_TRAINED = "add the column tok_trained with the steps template"
ENDS = ("", "_low", "_high")


class TokenCostParams(CommonParams):
    """`benchmark` '' picks the one most runs share."""

    question: ClassVar[str] = "token_cost"
    benchmark: str = ""
    seed: int = 20260301


def compute(view: View, params: TokenCostParams) -> Result:
    """Table `tokens`: a row a run; points per $1,000 = points per Mtok / USD per Mtok x 1,000."""
    spend = compute_spend(view, params)
    if spend.runs.empty:
        return nothing("token_cost", view, params, {"tokens": TOKENS})
    filters = filters_of(params)
    evals = load_evaluations(view, filters)
    gains = compare(view, evals, "start", "last", params.benchmark, params.seed)
    rated = records(rates(gains, spend, {}, params.boundary, params.seed))
    found = {(r["run"], r["benchmark_id"], r["key"]): r for r in rated}
    best, dates = headline_gains(gains), price_dates(spend)
    rows = []
    for row in records(unit_costs(spend, queries.judged(view, filters))):
        gain = best.get(row["run"], {})
        rate = found.get((row["run"], gain.get("benchmark_id"), gain.get("key")), {})
        marks = {"boundary": params.boundary, "price_date": dates.get(row["run"], "")}
        rows.append(_row(row, gain, rate) | marks | {"formulas": FORMULAS_VERSION})
    subject = choose_subject(spend, params.boundary)
    mine = [row for row in rows if row["run"] in subject.runs]
    return result(
        "token_cost", view, params, _answer(params, mine), headline=_figures(params, mine),
        tables={"tokens": table(rows, TOKENS, [name for name in TOKENS if name not in TEXTS])},
        assumptions=[*spend.assumptions, *evals.assumptions], notices=[*spend.notices, *_notices(rows)],
        prices=spend.allocations,
    )  # fmt: skip


def _row(unit: Row, gain: Row, rate: Row) -> Row:
    out: Row = {name: unit[name] for name in ("run", "usd", "usd_low", "usd_high")}
    out["mtok_generated"], out["mtok_trained"] = unit["tok_gen"] / MTOK, unit["tok_trained"] / MTOK
    for end in ENDS:
        out[f"usd_per_mtok_generated{end}"] = unit[f"usd_per_mtok{end}"]
        out[f"usd_per_mtok_trained{end}"] = unit[f"usd_per_mtok_trained{end}"]
        out[f"{POINTS}{end}"] = rate.get(f"{POINTS}{end}", NAN)
    out |= {name: gain.get(name) for name in ("benchmark", "gain", "n", "verdict")}
    points, made = number(gain.get("gain")), number(out["mtok_generated"])
    share = number(unit["tok_gen_frac"])
    out["points_per_mtok"] = points * share / made if known(points) and made > 0 else NAN
    return out


def _sum(rows: list[Row], per: str, made: str, end: str) -> float:
    """Dollars of the runs that have one over their million tokens."""
    used = [r for r in rows if known(number(r[f"{per}{end}"])) and number(r[made]) > 0]
    usd = math.fsum(r[f"{per}{end}"] * r[made] for r in used)
    tokens = math.fsum(r[made] for r in used)
    return usd / tokens if tokens > 0 else NAN


def _figures(params: TokenCostParams, rows: list[Row]) -> list[Figure]:
    out = []
    for kind, missing in (
        ("generated", "spend or generated tokens are missing"),
        ("trained", f"trained tokens are not logged: {NO_TRAINED}"),
    ):
        ends = [_sum(rows, f"usd_per_mtok_{kind}", f"mtok_{kind}", end) for end in ENDS]
        out.append(figure(
            f"usd_per_mtok_{kind}", ends[0], low=ends[1], high=ends[2], interval="quote_range",
            boundary=params.boundary, missing=missing,
        ))  # fmt: skip
    return out


def _answer(params: TokenCostParams, rows: list[Row]) -> str:
    made, trained = (_sum(rows, f"usd_per_mtok_{k}", f"mtok_{k}", "") for k in ("generated", "trained"))
    if not known(made):
        return "What a million tokens cost is not known: spend or generated tokens are missing."
    text = f"A million generated tokens cost {money(made)}"
    if known(trained):
        text += f" and a million trained ones {money(trained)}"
    text += f" {price_words(params.price, params.boundary)}"
    judged = [r for r in rows if known(number(r[POINTS])) and r["verdict"] == "better"]
    if not judged:
        return f"{text}; no gain that they bought is distinguishable from zero."
    best = max(judged, key=lambda r: float(r["n"]))
    return (
        f"{text}; in {best['run']} a million generated tokens taught "
        f"{digits3(best['points_per_mtok'])} points of {best['benchmark']}, at "
        f"{money(1000 / best[POINTS])} a point."
    )


def _notices(rows: list[Row]) -> list[Notice]:
    out = []
    for row in rows:
        if not known(number(row["mtok_trained"])):
            words = f"{row['run']}: what a million trained tokens cost is not known: {NO_TRAINED}."
            out.append(Notice("trained_missing", words, str(row["run"])))
    return out


def identity(row: Row) -> float:
    """Points per $1,000 from the two others: points per Mtok / USD per Mtok x 1,000 (M1 from M15)."""
    return float(row["points_per_mtok"] / row["usd_per_mtok_generated"] * 1000)


__all__ = ["TOKENS", "TokenCostParams", "compute", "identity"]
