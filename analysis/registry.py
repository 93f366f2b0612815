"""Which questions there are, and the one way to ask them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from analysis import (
    backtest,
    bottleneck,
    campaigns,
    energy,
    gain,
    generations,
    learning,
    ledger,
    month,
    own_cost,
    platforms,
    pricebook,
    reconciliation,
    reprice,
    rollouts,
    services,
    tenure,
    unit_economics,
    utilisation,
    waste,
)
from analysis.params import CommonParams, Params
from analysis.result import Result
from data.errors import UserError
from data.queries.known import known_benchmarks, known_runs
from data.view import View


@dataclass(frozen=True)
class Question:
    """A question: its parameters, the function that answers it, its title, and the charts' main table."""

    params: type[Params]
    compute: Callable[[View, Any], Result]
    title: str


QUESTIONS: dict[str, Question] = {
    "ledger": Question(ledger.LedgerParams, ledger.compute, "What did each run cost and buy?"),
    "gain": Question(gain.GainParams, gain.compute, "Did the money buy anything?"),
    "bottleneck": Question(bottleneck.BottleneckParams, bottleneck.compute, "Where do time and money go?"),
    "rollouts": Question(
        rollouts.RolloutsParams, rollouts.compute, "Rollouts: how many, how fast, how long?"
    ),
    "unit_economics": Question(
        unit_economics.UnitEconomicsParams, unit_economics.compute, "What does one rollout cost?"
    ),
    "utilisation": Question(
        utilisation.UtilisationParams, utilisation.compute, "How busy were the GPUs, by which measure?"
    ),
    "waste": Question(waste.WasteParams, waste.compute, "What was paid for GPUs, and what became of it?"),
    "pricebook": Question(pricebook.PriceBookParams, pricebook.compute, "Which prices does the book hold?"),
    "reprice": Question(
        reprice.RepriceParams, reprice.compute, "What would the same runs cost at other prices?"
    ),
    "platforms": Question(platforms.PlatformsParams, platforms.compute, "Platforms side by side"),
    "generations": Question(
        generations.GenerationsParams, generations.compute, "Platform generations: published runs and yours"
    ),
    "backtest": Question(backtest.BacktestParams, backtest.compute, "How wrong have the projections been?"),
    "campaigns": Question(
        campaigns.CampaignsParams, campaigns.compute, "What did campaigns cost, and what bought nothing?"
    ),
    "energy": Question(energy.EnergyParams, energy.compute, "How much energy, and from which evidence?"),
    "own_cost": Question(own_cost.OwnParams, own_cost.compute, "What does an owned GPU-hour cost?"),
    "services": Question(
        services.ServicesParams, services.compute, "Your runs beside hosted training services"
    ),
    "tenure": Question(tenure.TenureParams, tenure.compute, "Rent, reserve or own?"),
    "month": Question(month.MonthParams, month.compute, "What was billed, explained and productive?"),
    "reconciliation": Question(
        reconciliation.ReconciliationParams, reconciliation.compute, "What explains the invoice?"
    ),
    "learning": Question(learning.LearningParams, learning.compute, "Score against what was spent"),
}


def run(question: str, view: View, raw_params: Mapping[str, Any] | None = None) -> Result:
    """Answer `question`; raises UserError naming the parameter and its allowed values.

    `raw_params` holds JSON values or URL values (lists of text).
    """
    params = parse(question, raw_params or {})
    check_against(view, params)
    return QUESTIONS[question].compute(view, params)


def parse(question: str, raw_params: Mapping[str, Any]) -> Params:
    """Typed parameters; raises UserError for an unknown question, parameter or value."""
    if question not in QUESTIONS:
        raise UserError(
            f"There is no question '{question}'", "question", f"Use one of {', '.join(sorted(QUESTIONS))}."
        )
    kind = QUESTIONS[question].params
    try:
        return kind.model_validate({k: _single(kind, k, v) for k, v in raw_params.items()})
    except ValidationError as error:
        raise _refusal(kind, error) from error


def _single(kind: type[Params], name: str, value: Any) -> Any:
    """A URL gives every value as a list; take the last one where a single value is wanted."""
    info = kind.model_fields.get(name)
    if info is None or isinstance(info.default, tuple):
        return [value] if info is not None and isinstance(value, str) else value
    many = isinstance(value, Sequence) and not isinstance(value, str)
    return value[-1] if many and len(value) else value


def _refusal(kind: type[Params], error: ValidationError) -> UserError:
    first = error.errors()[0]
    name = str(first["loc"][0]) if first["loc"] else "parameters"
    if first["type"] == "extra_forbidden":
        known = ", ".join(sorted(kind.model_fields))
        return UserError(
            f"'{name}' is no parameter of {kind.question or 'this question'}", name, f"Use one of {known}."
        )
    expected = first.get("ctx", {}).get("expected")
    allowed = (
        f"Use one of {str(expected).replace(chr(39), '').replace(' or ', ', ')}."
        if expected
        else f"{first['msg']}."
    )
    return UserError(f"{_shown(first.get('input'))} is not a value of {name}", f"parameter {name}", allowed)


def _shown(value: object) -> str:
    text = f"'{value}'"
    return text if len(text) <= 80 else text[:77] + "…'"


def check_against(view: View, params: Params) -> None:
    """Refuse a price, platform, run or benchmark that does not exist, naming those that do."""
    if not isinstance(params, CommonParams):
        return
    book = view.catalogue
    _known("price", [params.price], [f"{kind}.{tier}" for kind, tier in book.price_menu()])
    _known("platforms", params.platforms, [p.platform_id for p in book.platforms()])
    if params.runs:
        _known("runs", params.runs, known_runs(view))
    benchmark = getattr(params, "benchmark", "")
    if benchmark:
        found = {name: book.benchmark(name) for name in known_benchmarks(view)}
        _known("benchmark", [benchmark], sorted({b.benchmark_id if b else name for name, b in found.items()}))


def _known(name: str, asked: Sequence[str], allowed: Sequence[str]) -> None:
    for value in asked:
        if value not in allowed:
            shown = ", ".join(allowed[:12]) + (f" and {len(allowed) - 12} more" if len(allowed) > 12 else "")
            remedy = f"Use one of {shown}." if allowed else "This home holds none yet; import data first."
            raise UserError(f"{_shown(value)} is not a known value of {name}", f"parameter {name}", remedy)
