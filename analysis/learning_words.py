"""Words and figures of a learning curve: what it costs, how sure that is, and what is missing."""

import math
from typing import Any

from analysis.common import figure
from analysis.learning_fit import AMOUNT_WORDS, CurveParams, Fitted
from analysis.learning_money import Priced
from analysis.result import Assumption, Figure, Notice
from analysis.words import count, digits3, listing, money, percent, price_words
from models.curve_compare import BOTH, NEITHER, WARM_UP_RULE
from models.stats import Interval

NO_WORTH = "say what a point is worth to you, in USD, to get the stop line"
SHAPE = "R(x) = R0 + (A - R0) / (1 + (x_mid / x)^B), least squares; arXiv 2510.13786"
FAR_BEYOND = 2.0


def ends(found: Interval) -> dict[str, float | None]:
    """Both ends as a figure holds them: None for one that is not bounded."""
    return {
        "low": found.low if math.isfinite(found.low) else None,
        "high": found.high if math.isfinite(found.high) else None,
    }


def span(found: Interval) -> str:
    """'(95 % interval $1.2k to $3.4k)', '(… $1.2k, without an upper end)'."""
    if math.isinf(found.low):
        return "(95 % interval: beyond any amount)"
    if math.isinf(found.high):
        return f"(95 % interval from {money(found.low)}, without an upper end)"
    return f"(95 % interval {money(found.low)} to {money(found.high)})"


def figures(params: CurveParams, found: Fitted, money_: Priced | None) -> list[Figure]:
    """Marginal point, cost to target, score at a budget, stop line, top of the curve."""
    names = ("usd_per_next_point", "cost_to_target", "score_at_budget", "stop_spend", "curve_top")
    if found.curve is None or money_ is None:
        return [figure(name, None, missing=found.missing) for name in names]
    curve = found.curve
    top = curve.interval(lambda s: s.top)  # type: ignore[arg-type,return-value]
    last = figure(
        "curve_top", top.value, **ends(top), interval="ci95", n=curve.n,
        label=f"Top of the curve on {found.benchmark}",
    )  # fmt: skip
    if found.no_usd:
        return [*(figure(name, None, missing=found.no_usd) for name in names[:-1]), last]
    return [
        _next(params, money_),
        _target(params, money_),
        _bought(params, money_),
        _stop(params, money_),
        last,
    ]


def _usd(name: str, params: CurveParams, found: Interval, missing: str, **more: Any) -> Figure:
    value = found.value if math.isfinite(found.value) else None
    return figure(
        name, value, **ends(found), interval="ci95", n=found.n, boundary=params.boundary,
        **({"missing": missing} if value is None else {}), **more,
    )  # fmt: skip


def _next(params: CurveParams, money_: Priced) -> Figure:
    if money_.marginal is None:
        raise ValueError("a curve with dollars has a marginal cost")
    return _usd("usd_per_next_point", params, money_.marginal, "the curve is flat: no point is left to buy")


def _target(params: CurveParams, money_: Priced) -> Figure:
    if money_.cost is None:
        raise ValueError("a curve with dollars has a cost to its target")
    frac = percent(money_.cost.reachable_frac)
    missing = f"not reachable: the curve ends below {percent(money_.target)}; {frac} of the draws reach it"
    label = f"Cost to reach {percent_1(money_.target)}"
    return _usd("cost_to_target", params, money_.cost.interval, missing, label=label)


def _bought(params: CurveParams, money_: Priced) -> Figure:
    if money_.bought is None or money_.budget_usd is None:
        raise ValueError("a curve with dollars has a forecast")
    score = money_.bought.score
    return figure(
        "score_at_budget", score.value, **ends(score), interval="ci95", n=score.n, boundary=params.boundary,
        label="Score at twice the spend" if params.budget_usd is None else "Score at the budget",
    )  # fmt: skip


def _stop(params: CurveParams, money_: Priced) -> Figure:
    if money_.stop is None or params.worth_usd is None:
        return figure("stop_spend", None, missing=NO_WORTH)
    never = f"worth {money(params.worth_usd)} a point as far as the search goes"
    return _usd("stop_spend", params, money_.stop.usd, never)


def percent_1(score: float) -> str:
    """A score in percent with one digit after the point where it has one: '79.3 %', '80 %'."""
    text = f"{100 * score:.1f}"
    return f"{text.removesuffix('.0')} %"


def answer(params: CurveParams, found: Fitted, money_: Priced | None) -> str:
    """What the next point costs, what the target costs, and whether to go on."""
    if found.curve is None or money_ is None:
        return f"No learning curve: {found.missing}"
    where = f"{found.run} on {found.benchmark}"
    target = percent_1(money_.target)
    if found.no_usd:
        need = money_.amount.interval
        words = AMOUNT_WORDS[found.fit_in]
        reach = f"needs {count(need.value)} {words}" if math.isfinite(need.value) else "is not reachable"
        return f"{where}: {target} {reach}. What that costs is not known: {found.no_usd}"
    paid = price_words(params.price, params.boundary)
    text = f"{where}: {_next_words(money_)} {paid}, and {_reach(money_, target)}"
    if money_.stop is not None and params.worth_usd is not None:
        text += f". At {money(params.worth_usd)} a point: {_verdict(money_)}"
    return f"{text}."


def _next_words(money_: Priced) -> str:
    found = money_.marginal
    if found is None or math.isinf(found.value):
        return "the curve is flat, so no next point can be bought"
    return f"the next point costs {money(found.value)} {span(found)}"


def _reach(money_: Priced, target: str) -> str:
    cost = money_.cost
    if cost is None or not cost.reachable:
        return f"{target} is not reachable: the fitted curve ends below it"
    text = f"{target} costs {money(cost.interval.value)} in all {span(cost.interval)}"
    if cost.beyond > FAR_BEYOND:
        text += f", which lies {digits3(cost.beyond)} times beyond the last evaluation"
    return text


def _verdict(money_: Priced) -> str:
    stop = money_.stop
    if stop is None:
        return ""
    agree = percent(max(stop.stop_frac, 1 - stop.stop_frac))
    if stop.verdict == "cannot tell":
        return f"cannot tell whether going on pays ({percent(stop.stop_frac)} of the draws say stop)"
    return f"{stop.verdict} ({agree} of the draws agree)"


def assumptions(params: CurveParams, found: Fitted) -> list[Assumption]:
    """The shape, the amount it was fitted in, the warm-up rule, and what lies beyond the data."""
    if found.curve is None:
        return []
    left_out = found.warm.left_out if found.warm else 0
    rows = [
        ("shape of the curve", "sigmoid", "", "derived"),
        ("fitted in", AMOUNT_WORDS[found.fit_in], "of the surviving steps", "derived"),
        ("evaluations left out as warm-up", left_out, "evaluations", "derived"),
        ("dollars beyond the last evaluation", "mean rate of the run", "", "derived"),
    ]
    if params.worth_usd is not None:
        rows.append(("worth of a point", params.worth_usd, "usd", "user"))
    sources = {0: SHAPE, 2: WARM_UP_RULE if found.warm else "rule not applied", 4: "typed"}
    return [
        Assumption(name, value, unit, status, sources.get(at, "this fit"), "")
        for at, (name, value, unit, status) in enumerate(rows)
    ]


def told(found: Fitted, money_: Priced | None) -> list[Notice]:
    """Warnings that belong beside the numbers: few evaluations, a rival that fits better, far targets."""
    out = []
    if found.curve is not None and found.uncompared:
        words = f"{found.run}: other shapes were not compared: {found.uncompared}."
        out.append(Notice("shape_not_compared", words, found.run))
    out += _rivals(found)
    if money_ is not None and money_.amount.beyond > FAR_BEYOND and money_.amount.reachable:
        words = (
            f"{found.run}: the target lies {digits3(money_.amount.beyond)} times beyond the last "
            "evaluation: an extrapolation."
        )
        out.append(Notice("target_far", words, found.run))
    return out


def _rivals(found: Fitted) -> list[Notice]:
    """One sentence on the shapes that the held-out evaluations do not rule out."""
    rivals = found.compared.rivals if found.compared else ()
    alike = [rival.name for rival in rivals if rival.verdict == BOTH]
    better = [rival.name for rival in rivals if rival.verdict == rival.name]
    neither = [rival.name for rival in rivals if rival.verdict == NEITHER]
    said = [f"held-out evaluations cannot tell the sigmoid from {listing(alike)}"] if alike else []
    said += [f"held-out evaluations speak for {listing(better)} against the sigmoid"] if better else []
    said += [f"neither the sigmoid nor {listing(neither)} meets the held-out evaluations"] if neither else []
    if not said:
        return []
    words = f"{found.run}: {'; '.join(said)}. Beyond the last evaluation these shapes differ."
    return [Notice("shape_open", words, found.run)]
