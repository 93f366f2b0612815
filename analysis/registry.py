"""Which questions there are, and the one way to ask them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import Any

from pydantic import ValidationError

from analysis.params import CommonParams, Params
from analysis.result import Result
from data.errors import UserError
from data.queries.known import known_benchmarks, known_runs
from data.view import View


@dataclass(frozen=True)
class Question:
    """A question: the module of `analysis` that answers it, the class of its parameters there, its title.

    The module is imported when the question is first asked: a command or a page pays for its own alone.
    """

    module: str
    params_class: str
    title: str

    @property
    def params(self) -> type[Params]:
        """The class of its parameters; TypeError when the module holds another thing under that name."""
        found: object = getattr(self._imported(), self.params_class)
        if not (isinstance(found, type) and issubclass(found, Params)):
            raise TypeError(f"analysis.{self.module}.{self.params_class} is no class of parameters")
        return found

    @property
    def compute(self) -> Callable[[View, Any], Result]:
        """The function of a view and parameters that answers it."""
        answer: Callable[[View, Any], Result] = self._imported().compute
        return answer

    def _imported(self) -> ModuleType:
        return import_module(f"analysis.{self.module}")


_ALL = (
    Question("ledger", "LedgerParams", "What did each run cost and buy?"),
    Question("gain", "GainParams", "Did the money buy anything?"),
    Question("bottleneck", "BottleneckParams", "Where do time and money go?"),
    Question("rollouts", "RolloutsParams", "Rollouts: how many, how fast, how long?"),
    Question("unit_economics", "UnitEconomicsParams", "What does one rollout cost?"),
    Question("utilisation", "UtilisationParams", "How busy were the GPUs, by which measure?"),
    Question("waste", "WasteParams", "What was paid for GPUs, and what became of it?"),
    Question("pricebook", "PriceBookParams", "Which prices does the book hold?"),
    Question("reprice", "RepriceParams", "What would the same runs cost at other prices?"),
    Question("platforms", "PlatformsParams", "Platforms side by side"),
    Question("generations", "GenerationsParams", "Platform generations: published runs and yours"),
    Question("projection", "ProjectionParams", "What would a run take and cost on another platform?"),
    Question("backtest", "BacktestParams", "How wrong have the projections been?"),
    Question("campaigns", "CampaignsParams", "What did campaigns cost, and what bought nothing?"),
    Question("energy", "EnergyParams", "How much energy, and from which evidence?"),
    Question("own_cost", "OwnParams", "What does an owned GPU-hour cost?"),
    Question("services", "ServicesParams", "Your runs beside hosted training services"),
    Question("tenure", "TenureParams", "Rent, reserve or own?"),
    Question("commitments", "CommitmentsParams", "How much to own, reserve and rent on demand?"),
    Question("scenarios", "ScenariosParams", "Scenarios side by side: what differs, in inputs and answers"),
    Question("forecast", "ForecastParams", "What will the coming months cost?"),
    Question("forecast_score", "ScoreParams", "How good were the forecasts that were kept?"),
    Question("month", "MonthParams", "What was billed, explained and productive?"),
    Question("reconciliation", "ReconciliationParams", "What explains the invoice?"),
    Question("learning", "LearningParams", "Score against what was spent"),
    Question("buckets", "BucketsParams", "What was the money spent on?"),
    Question("frontier", "FrontierParams", "Which runs are on the front of cost and score?"),
    Question("learning_curve", "CurveParams", "What does the next point cost?"),
    Question("nemotron", "NemotronParams", "A worked example: what a stage of Nemotron 3 Ultra bought"),
    Question("hold", "HoldParams", "What does it cost to hold a score?"),
    Question("token_cost", "TokenCostParams", "What does a million tokens cost, and what did it teach?"),
    Question("serving", "ServingParams", "Build and serve: when is the campaign paid back?"),
    Question("learning_platforms", "CurvePlatformsParams", "What would it cost on another platform?"),
    Question("cadence", "CadenceParams", "How many GPUs and racks for a cycle that comes back?"),
    Question("weight_sync", "WeightSyncParams", "What does a weight sync cost?"),
    Question("sandboxes", "SandboxesParams", "How many sandbox cores?"),
    Question("pools", "PoolsParams", "How many GPUs for rollouts, training and judges?"),
)
QUESTIONS: dict[str, Question] = {question.module: question for question in _ALL}


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
        else f"{first['msg'].removeprefix('Value error, ').removesuffix('.')}."
    )
    if not first["loc"]:
        return UserError("These settings do not go together", name, allowed)
    return UserError(f"{_shown(first.get('input'))} is not a value of {name}", f"parameter {name}", allowed)


def _shown(value: Any) -> str:
    listed = isinstance(value, list | tuple)
    text = f"'{', '.join(map(str, value)) if listed else value}'"
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
