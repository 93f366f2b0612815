"""Build and serve: what a solved task costs before and after, and when that pays for a campaign (M7, M8)."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from pydantic import Field

from analysis.common import figure, nothing, result
from analysis.frames import known
from analysis.prices import split_price
from analysis.result import Assumption, Figure, Notice, Result
from analysis.served_pair import Pair, PairParams, Taken, load_pair
from analysis.words import count, money, percent
from data.errors import UserError
from data.view import View
from models.curve import interval_of
from models.draws import money_draws
from models.serving import (
    BreakEven,
    Served,
    break_even,
    lifetime_usd_per_success,
    paired_share_draws,
    serving_usd_per_mtok,
    usd_per_attempt,
    usd_per_success,
)
from models.stats import Interval

DRAWS = 4000
ASSUMED_CORRELATION = 0.5
SERVED = [
    "state", "checkpoint", "benchmark", "score", "n", "tokens", "usd_per_attempt", "usd_per_success",
    "usd_per_success_low", "usd_per_success_high",
]  # fmt: skip
LIFETIME = ["attempts", "state", "usd_per_success", "usd_per_success_low", "usd_per_success_high"]
BREAK_EVEN = [
    "campaign_usd", "saving_usd", "saving_usd_low", "saving_usd_high", "successes", "successes_low",
    "successes_high", "attempts", "attempts_low", "attempts_high", "never_frac", "words",
]  # fmt: skip
EMPTY = {"served": SERVED, "lifetime": LIFETIME, "break_even": BREAK_EVEN}
NO_PRICE = (
    "what an attempt costs in service is not known: type USD per attempt, USD per million tokens, or "
    "tokens/s a GPU of a platform"
)


class ServingParams(PairParams):
    """Cost of an attempt: `usd_before`, `usd_after` outright, else `tokens_before`, `tokens_after` (None: as
    the evaluations measured) at `usd_per_mtok`, else at the price of `serve_on` over `tok_per_s_per_gpu` x
    `util_frac`, else what its own evaluation paid, or its tokens at what the other one paid. `longer`: factor
    on the tokens after. `tokens_in` at `usd_per_mtok_in` and `other_usd` (sandbox) come on top of tokens;
    dollars outright are all of an attempt. `attempts`: volume for the lifetime cost.
    """

    question: ClassVar[str] = "serving"
    usd_before: float | None = Field(default=None, gt=0, le=1e6)
    usd_after: float | None = Field(default=None, gt=0, le=1e6)
    tokens_before: float | None = Field(default=None, gt=0, le=1e9)
    tokens_after: float | None = Field(default=None, gt=0, le=1e9)
    longer: float = Field(default=1.0, gt=0, le=100)
    tokens_in: float = Field(default=0.0, ge=0, le=1e9)
    usd_per_mtok: float | None = Field(default=None, gt=0, le=1e6)
    usd_per_mtok_in: float = Field(default=0.0, ge=0, le=1e6)
    other_usd: float = Field(default=0.0, ge=0, le=1e6)
    serve_on: str = ""
    tok_per_s_per_gpu: float | None = Field(default=None, gt=0, le=1e7)
    util_frac: float = Field(default=1.0, gt=0, le=1)
    attempts: float = Field(default=1e5, ge=1, le=1e15)
    correlation: float | None = Field(default=None, ge=-1, le=1)

    @property
    def outright(self) -> bool:
        """True when dollars of an attempt are typed on both sides, so that no price of a token is used."""
        return self.usd_before is not None and self.usd_after is not None


@dataclass(frozen=True)
class Price:
    """USD per million generated tokens in service, how it is known; NaN where `missing` says why not."""

    usd_per_mtok: float
    status: str = ""
    source: str = ""
    date: str = ""
    missing: str = ""

    @property
    def paid(self) -> bool:
        """True when it is what the evaluations paid, and not a price asked for."""
        return self.status == "measured"


@dataclass(frozen=True)
class Both:
    """Both checkpoints in service with joint draws, and the correlation that ties them."""

    before: Served
    after: Served
    n: int
    correlation: float
    measured: bool


def compute(view: View, params: ServingParams) -> Result:
    """Tables: served (before, after), lifetime (USD per success against attempts), break_even.

    Raises UserError for a run or platform that does not exist.
    """
    price = _price(view, params)
    pair = load_pair(view, params)
    if pair.spend.runs.empty:
        return nothing("serving", view, params, EMPTY)
    if not known(price.usd_per_mtok) and not params.outright:
        price = _own_price(pair, price)
    both, why = _both(params, pair, price)
    tables = {name: pd.DataFrame(columns=columns) for name, columns in EMPTY.items()}
    paid = _paid_back(params, pair, both)
    if both is not None:
        tables["served"] = pd.DataFrame(_served(params, pair, both), columns=SERVED)
        if pair.at_least:
            tables["lifetime"] = pd.DataFrame(_lifetime(pair, both), columns=LIFETIME)
    if paid is not None:
        tables["break_even"] = pd.DataFrame([_break_row(pair, paid)], columns=BREAK_EVEN)
    return result(
        "serving", view, params, _answer(params, pair, both, paid, why),
        headline=_figures(params, pair, both, paid, price, why), tables=tables,
        assumptions=[*pair.spend.assumptions, *pair.evals.assumptions, *_assumptions(params, both, price)],
        notices=[*pair.spend.notices, *_notices(pair, both)], prices=pair.spend.allocations,
    )  # fmt: skip


def _price(view: View, params: ServingParams) -> Price:
    """The price of a token that was typed, or that of a platform at a typed rate."""
    if params.outright:
        return Price(math.nan, missing="not used: dollars of an attempt are typed")
    if params.usd_per_mtok is not None:
        return Price(params.usd_per_mtok, "user", "typed")
    if not params.serve_on:
        return Price(math.nan, missing=NO_PRICE)
    book = view.catalogue
    if book.platform(params.serve_on) is None:
        names = ", ".join(p.platform_id for p in book.platforms() if p.kind != "cpu")
        raise UserError(f"'{params.serve_on}' is no platform", "parameter serve_on", f"Use one of {names}.")
    if params.tok_per_s_per_gpu is None:
        return Price(math.nan, missing="type the tokens/s a GPU at which it serves")
    kind, tier = split_price(params.price)
    rent = book.price(params.serve_on, kind, tier)
    if rent is None:
        return Price(math.nan, missing=book.why_no_price(params.serve_on, kind, tier))
    usd = float(serving_usd_per_mtok(rent.usd_per_gpu_h, params.tok_per_s_per_gpu, params.util_frac))
    return Price(
        usd, "derived", f"{rent.price_id} / (tokens/s/GPU x 3600 x share of time in use)", rent.as_of
    )


def _own_price(pair: Pair, price: Price) -> Price:
    """What the evaluations themselves paid for a token."""
    for taken in (pair.after, pair.before):
        if taken.usd > 0 and taken.tokens > 0:
            return Price(taken.usd / taken.tokens * 1e6, "measured", "USD over tokens of the evaluation")
    return price


def _both(params: ServingParams, pair: Pair, price: Price) -> tuple[Both | None, str]:
    row = pair.row
    if row is None:
        return None, pair.missing
    if row["unit"] != "points":
        return None, f"scores of {row['benchmark']} are no shares of solved tasks"
    c0, why0 = _attempt_usd(params, pair.before, price, params.usd_before, params.tokens_before, 1.0)
    c1, why1 = _attempt_usd(params, pair.after, price, params.usd_after, params.tokens_after, params.longer)
    if why0 or why1:
        return None, why0 or why1
    rho = params.correlation if params.correlation is not None else pair.correlation
    measured = params.correlation is None and known(rho)
    rho = rho if known(rho) else ASSUMED_CORRELATION
    n = round(float(row["n"]))
    p0, p1 = float(row["before_score"]), float(row["after_score"])
    d0, d1 = paired_share_draws(p0 * n, p1 * n, n, float(np.clip(rho, -1, 1)), DRAWS, params.seed)
    one = np.ones(DRAWS)
    return Both(Served(c0, p0, c0 * one, d0), Served(c1, p1, c1 * one, d1), n, rho, measured), ""


def _attempt_usd(
    params: ServingParams, taken: Taken, price: Price, usd: float | None, tokens: float | None, longer: float
) -> tuple[float, str]:
    """USD of an attempt, or why it is not known."""
    if usd is not None:
        return usd * longer, ""
    if tokens is None and known(taken.usd) and _as_evaluated(params, price):
        return taken.usd * longer, ""
    made = taken.tokens if tokens is None else tokens
    if not known(made):
        return math.nan, "tokens of an attempt are not in the evaluations: type them, or USD per attempt"
    if not known(price.usd_per_mtok):
        return math.nan, price.missing
    cost = usd_per_attempt(
        params.tokens_in, made * longer, params.usd_per_mtok_in, price.usd_per_mtok, params.other_usd
    )
    return float(cost), ""


def _as_evaluated(params: ServingParams, price: Price) -> bool:
    """True when no price of tokens is asked for: an evaluation's own dollars hold its input tokens too."""
    asked = params.tokens_in or params.usd_per_mtok_in or params.other_usd
    return not asked and (price.paid or not (params.usd_per_mtok or params.serve_on))


def _success(one: Served, n: int) -> Interval:
    value = float(usd_per_success(one.usd_per_attempt, one.share))
    return interval_of(value, usd_per_success(one.usd_draws, one.share_draws), n)


def _served(params: ServingParams, pair: Pair, both: Both) -> list[dict[str, Any]]:
    row, out = pair.row or {}, []
    sides = (
        ("before", both.before, pair.before, params.tokens_before, 1.0),
        ("after", both.after, pair.after, params.tokens_after, params.longer),
    )
    for state, one, taken, typed, longer in sides:
        ends = _success(one, both.n)
        tokens = (taken.tokens if typed is None else typed) * longer
        values = (
            state, row[state], row["benchmark"], one.share, both.n, tokens, one.usd_per_attempt, ends.value,
            ends.low, ends.high,
        )  # fmt: skip
        out.append(dict(zip(SERVED, values, strict=True)))
    return out


def _campaign_draws(pair: Pair, seed: int) -> Any:
    usd, low, high = pair.usd
    if 0 < low <= usd <= high:
        return money_draws(usd, low, high, DRAWS, seed + 3)
    return np.full(DRAWS, usd)


def _lifetime(pair: Pair, both: Both) -> list[dict[str, Any]]:
    """USD per success with the campaign spread over N attempts; the old model has no campaign to spread."""
    out, campaign = [], _campaign_draws(pair, 0)
    for n in np.geomspace(1e2, 1e8, 37):
        for state, one, usd, drawn in (
            ("before", both.before, 0.0, np.zeros(DRAWS)),
            ("after", both.after, pair.usd[0], campaign),
        ):
            value = float(lifetime_usd_per_success(usd, n, one.usd_per_attempt, one.share))
            draws = lifetime_usd_per_success(drawn, n, one.usd_draws, one.share_draws)
            ends = interval_of(value, draws, both.n)
            out.append(dict(zip(LIFETIME, (n, state, ends.value, ends.low, ends.high), strict=True)))
    return out


def _paid_back(params: ServingParams, pair: Pair, both: Both | None) -> BreakEven | None:
    if both is None or not pair.at_least:
        return None
    return break_even(pair.usd[0], _campaign_draws(pair, params.seed), both.before, both.after, both.n)


def _break_row(pair: Pair, paid: BreakEven) -> dict[str, Any]:
    row: dict[str, Any] = {"campaign_usd": pair.usd[0], "never_frac": paid.never_frac, "words": _back(paid)}
    for name, ends in (
        ("saving_usd", paid.saving_usd),
        ("successes", paid.successes),
        ("attempts", paid.attempts),
    ):
        row |= {name: ends.value, f"{name}_low": ends.low, f"{name}_high": ends.high}
    return row


def _back(paid: BreakEven) -> str:
    found = paid.successes
    if math.isinf(found.value):
        return (
            f"never pays back: a solved task gets no cheaper ({percent(paid.never_frac)} of the draws agree)"
        )
    text = f"pays back after {count(round(found.value))} solved tasks"
    if math.isinf(found.high):
        text += f" (95 % interval from {count(round(found.low))}; that it never does is not ruled out)"
    else:
        text += f" (95 % interval {count(round(found.low))} to {count(round(found.high))})"
    return text


def _figures(
    params: ServingParams, pair: Pair, both: Both | None, paid: BreakEven | None, price: Price, why: str
) -> list[Figure]:
    token = figure(
        "serving_usd_per_mtok",
        price.usd_per_mtok,
        missing=price.missing,
        boundary="serving",
        interval="exact",
    )
    if both is None:
        names = ("usd_per_success", "lifetime_usd_per_success", "break_even_successes")
        return [*(figure(name, None, missing=why) for name in names), token]
    out = []
    for state, one in (("before", both.before), ("after", both.after)):
        ends = _success(one, both.n)
        out.append(figure(
            "usd_per_success", _end(ends.value), name=f"usd_per_success_{state}",
            label=f"Solved task, {state}", low=ends.low, high=_end(ends.high), interval="ci95", n=both.n,
            boundary="serving", missing="no task passes",
        ))  # fmt: skip
    return [*out, *_built(params, pair, both, paid), token]


def _end(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _built(params: ServingParams, pair: Pair, both: Both, paid: BreakEven | None) -> list[Figure]:
    """Lifetime cost and break-even volume, or that the spend is not known."""
    if paid is None:
        no = f"the spend of {pair.run} is not known; type what the campaign cost"
        return [figure(n, None, missing=no) for n in ("lifetime_usd_per_success", "break_even_successes")]
    one, found = both.after, paid.successes
    value = float(lifetime_usd_per_success(pair.usd[0], params.attempts, one.usd_per_attempt, one.share))
    drawn = _campaign_draws(pair, params.seed)
    life = interval_of(
        value, lifetime_usd_per_success(drawn, params.attempts, one.usd_draws, one.share_draws), both.n
    )
    return [
        figure(
            "lifetime_usd_per_success", _end(life.value), low=life.low, high=_end(life.high), interval="ci95",
            n=both.n, boundary=params.boundary, label=f"Solved task over {count(params.attempts)} attempts",
            missing="no task passes",
        ),
        figure(
            "break_even_successes", _end(found.value), low=_end(found.low), high=_end(found.high),
            interval="ci95", n=both.n, boundary=params.boundary, missing=_back(paid),
        ),
    ]  # fmt: skip


def _answer(params: ServingParams, pair: Pair, both: Both | None, paid: BreakEven | None, why: str) -> str:
    if both is None or pair.row is None:
        return f"What a solved task costs is not known: {why}."
    c0, c1 = (_success(one, both.n).value for one in (both.before, both.after))
    text = (
        f"A solved task of {pair.row['benchmark']} costs {money(c0)} before and {money(c1)} after {pair.run}"
    )
    if paid is None:
        return f"{text}. When that pays the campaign back is not known: its spend is not."
    return f"{text}; the campaign of {money(pair.usd[0])} ({params.boundary} boundary) {_back(paid)}."


def _assumptions(params: ServingParams, both: Both | None, price: Price) -> list[Assumption]:
    out = []
    if known(price.usd_per_mtok):
        out.append(Assumption(
            "generated tokens in service", price.usd_per_mtok, "usd per million tokens", price.status,
            price.source, price.date,
        ))  # fmt: skip
    if params.serve_on and params.tok_per_s_per_gpu is not None:
        rate = params.tok_per_s_per_gpu
        out.append(Assumption("tokens/s a GPU in service", rate, "tokens/s/GPU", "user", "typed", ""))
        out.append(Assumption("share of time in use", params.util_frac, "frac", "user", "typed or 1", ""))
    if both is not None:
        status = "measured" if both.measured else "user" if params.correlation is not None else "assumed"
        source = {"measured": "the same tasks of both evaluations", "user": "typed"}.get(status, "editable")
        out.append(
            Assumption("correlation of a task's two results", both.correlation, "", status, source, "")
        )
    return out


def _notices(pair: Pair, both: Both | None) -> list[Notice]:
    if both is None or pair.row is None:
        return []
    words = (
        f"{pair.row['benchmark']} stands for the tasks in service, attempts are taken as independent, and a "
        "verifier tells which one solved its task."
    )
    return [Notice("service_like_benchmark", words, pair.run)]
