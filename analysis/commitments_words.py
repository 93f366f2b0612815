"""Words of commitments: the answer, what was assumed, and what to beware of."""

import math
from collections.abc import Mapping, Sequence

import pandas as pd

from analysis.commitments_tables import NOTHING, Choice, words_of
from analysis.commitments_worlds import TERM_3Y, Stage, beliefs
from analysis.frames import records
from analysis.own_cost import left_out
from analysis.own_cost import notices as own_notices
from analysis.result import Assumption, Figure, Notice
from analysis.tenure import Wanted
from analysis.tenure_cases import RATES
from analysis.words import digits3, money, percent, plural
from models.commitments import Mix

NO_FUTURE = (
    "The history stands for the future: it is repeated month after month, grown by the growth a month, with "
    "the plan on top. Campaigns that end, and new ones that nobody planned, are in neither."
)


def answer(
    stage: Stage,
    wanted: Wanted,
    best: Choice,
    tables: Mapping[str, pd.DataFrame],
    headline: Sequence[Figure],
) -> str:
    """The sentence to paste into a chat."""
    told = {one.name: one for one in headline}
    cost, params = told["commitments_cost"], stage.params
    mean = sum(stage.outlook.gpu_h(m) for m in range(params.horizon_months)) / params.horizon_months / 730
    burst = next(r for r in records(tables["mix"]) if r["part"] == "on_demand")
    days = len(wanted.days) if wanted.demand is not None and params.utilisation_frac is None else 0
    rests = f", from {days} {plural('day', days)} of history" if days else ""
    rest = percent(burst["gpu_h_frac"]) if burst["gpu_h_frac"] > 0 else "nothing"
    text = (
        f"Cheapest for {stage.own.name} over {params.horizon_months} months (mean demand {digits3(mean)} "
        f"GPUs{rests}): {words_of(stage, best.mix)}, {rest} of the GPU-hours on demand: {_span(cost)} "
        "expected in present value"
    )
    saves = told["commitments_saves"]
    if saves.value is not None and words_of(stage, best.mix) != NOTHING:
        text += f", {money(saves.value)} less than all on demand"
    return f"{text}. {_rack(stage, told, best.mix, tables)} {_regrets(told)}".strip()


def _span(one: Figure) -> str:
    if one.value is None or one.low is None or one.high is None:
        return "not known"
    return f"{money(one.value)} ({money(one.low)} to {money(one.high)}, p10-p90)"


def _rack(stage: Stage, told: Mapping[str, Figure], mix: Mix, tables: Mapping[str, pd.DataFrame]) -> str:
    """What the last unit of the mix saves and what the next one would: the two may be far apart."""
    worth, cost = told["rack_value"].value, told["rack_cost"].value
    word, own = stage.own.unit_word, mix.own_units
    if worth is None:
        return ""
    costs = ": owning it pays below that" if cost is None else f" and costs {money(cost)}"
    last = next((r["value_usd"] for r in records(tables["racks"]) if r["chosen"] and own), None)
    if last is None or math.isnan(last):
        return f"One more {word} would save {money(worth)}{costs}."
    head = f"{word.capitalize()} {own} saves {money(last)} of rent"
    return f"{head}, {word} {own + 1} would save {money(worth)}{costs}."


def _regrets(told: Mapping[str, Figure]) -> str:
    out = []
    for name in ("down", "next"):
        one = told[f"commitments_regret:{name}"]
        if one.value is not None:
            out.append(f"{one.label.removeprefix('Regret: ')}: {money(one.value)}")
    return f"Regret against knowing it, {'; '.join(out)}." if out else ""


def assumptions(stage: Stage) -> list[Assumption]:
    """Every input that was not measured, with its badge."""
    params = stage.params
    found = [one.assumption() for one in (*stage.setup.rates.values(), *beliefs(params).values())]
    out = [*stage.own.assumptions(), *(one for one in found if one is not None)]
    decline, given = params.decline_mid, params.decline_mid is not None
    source = "your setting" if given else "none published: prices stay as they are today"
    status = "user" if given else "derived"
    out.append(Assumption("Yearly fall of prices", decline or 0.0, "fraction per year", status, source, ""))
    for one in stage.planned:
        label = f"Planned: {one.name}, {one.start} to {one.end}"
        out.append(Assumption(label, one.gpu_h_per_day, "GPU-hours per day", "user", "your plan", ""))
    if params.held_gpus:
        words = "GPUs held already, paid whatever is decided"
        out.append(Assumption(words, params.held_gpus, "GPUs", "user", "your setting", ""))
    return out


def notices(stage: Stage, wanted: Wanted) -> list[Notice]:
    """What is left out and what to beware of."""
    own, params = stage.own, stage.params
    out: list[Notice] = []
    if own.lacking:
        words = f"Owning is not on offer: {own.lacking}"
        out.append(Notice("own_left_out", words, own.platform))
        if own.values()["wacc_frac"] is None:
            words = "Without a cost of capital nothing is discounted: dollars of later years count in full."
            out.append(Notice("not_discounted", words, "prices"))
    else:
        out += own_notices(own, own.cost())
        if left_out(own, own.cost()):
            words = "Owning counts at least what is said, so the mix may own too much."
            out.append(Notice("own_lower_bound", words, own.platform))
    for name, one in stage.setup.rates.items():
        if one.value is None:
            out.append(Notice("rent_missing", f"{RATES[name][0]}: {one.note}", own.platform))
    if params.horizon_months % TERM_3Y and params.horizon_months > TERM_3Y:
        words = "The second 3-year term ends after the horizon: only the part inside it is counted."
        out.append(Notice("term_beyond", words, "reserved_3y"))
    if wanted.demand is not None and params.utilisation_frac is None:
        out.append(Notice("history_repeats", NO_FUTURE, own.platform))
    if params.decline_mid is None:
        words = "No price path is given: prices stay as they are until the next generation comes."
        out.append(Notice("no_price_path", words, "prices"))
    words = (
        "One-year reservations of later years are chosen once the world is known: that is what waiting is "
        "worth here, and it is worth less when the news comes later."
    )
    out.append(Notice("renewed_with_knowledge", words, "reserved_1y"))
    return out
