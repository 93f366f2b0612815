"""Which figures each question draws: pages and reports take them from here."""

from collections.abc import Callable, Sequence
from functools import partial

import pandas as pd
import plotly.graph_objects as go

from analysis.refpairs import METRICS as PAIR_METRICS
from analysis.result import Result
from charts import (
    backtest,
    bottleneck,
    buckets,
    campaigns,
    capacity,
    commitments,
    energy,
    forecast,
    frontier,
    gain,
    generations,
    learning,
    learning_curve,
    ledger,
    nemotron,
    own_cost,
    platforms,
    pools,
    pricebook,
    projection,
    projection_bars,
    projection_breakeven,
    projection_drivers,
    reconciliation,
    rollouts,
    sandbox,
    sandbox_plan,
    scenarios,
    services,
    serving,
    sync_engines,
    tenure,
    tornado,
    unit_economics,
    utilisation,
    waste,
)
from charts.theme import Mode
from data.errors import UserError

Draw = Callable[[Result, Mode], go.Figure]
Named = tuple[str, str, Draw]
_MOVES: Named = ("tornado", tornado.TITLE, tornado.tornado)
FIGURES: dict[str, list[Named]] = {
    "pricebook": [("history", "Prices over time", pricebook.history)],
    "reprice": [("change_by_run", "Spend as stored and re-priced", pricebook.change_by_run)],
    "ledger": [
        ("score_by_usd", "Score against cumulative dollars", ledger.score_by_usd),
        ("spend_by_phase", "Spend of each run by phase", ledger.spend_by_phase),
    ],
    "bottleneck": [
        ("step_stack", "Each step by phase, in seconds", bottleneck.step_stack),
        ("step_stack_usd", "Each step by phase, in dollars", bottleneck.step_stack_usd),
        ("if_free", "Step time if one phase were free", bottleneck.if_free),
    ],
    "rollouts": [
        ("throughput", "Throughput by step", rollouts.throughput),
        ("lengths", "Response length by step", rollouts.lengths),
        ("truncation", "Responses that hit the length limit", rollouts.truncation),
        ("staleness", "Age of the policy that made the rollouts", rollouts.staleness),
        ("dropped", "Rollouts dropped", rollouts.dropped),
        ("sandbox", "Sandbox calls by environment", sandbox.sandbox),
    ],
    "unit_economics": [("unit_costs", "Unit costs by run", unit_economics.unit_costs)],
    "waste": [
        ("ladder", "From paid to effective", waste.ladder),
        ("waterfall", "From the bill to productive work", waste.waterfall),
        ("track", "Phases over time", waste.track),
    ],
    "utilisation": [
        ("heat", "Utilisation by GPU and time", utilisation.heat),
        ("timeline", "Utilisation over time", utilisation.timeline),
    ],
    "generations": [
        ("dots", "Published runs by platform generation, yours laid over", generations.dots),
        ("ratios", "Newer over older platform", generations.ratios),
    ],
    "projection": [
        ("by_phase", "Step time by phase and platform", projection.by_phase),
        ("breakeven", "Price below which moving pays", projection_breakeven.breakeven),
        ("slope", "Dollars a step by price of a GPU-hour", projection_breakeven.slope),
        ("dollars", "Dollars a step by platform", projection_bars.dollars),
        ("per_point", "Dollars a point gained by platform", projection_bars.per_point),
        ("gpus", "GPUs for the same step time", projection_bars.gpus),
        ("drivers", "Which phase drives the answer", projection_drivers.drivers),
        ("claims", "Step time with each claim", projection_drivers.claims),
    ],
    "backtest": [("errors", "Median error on models never seen", backtest.errors)],
    "campaigns": [
        ("spend_by_week", "Spend by week and campaign", campaigns.spend_by_week),
        ("spend_by_team", "Spend by week and team", campaigns.spend_by_team),
        ("lost_by_cause", "Dollars that bought nothing, by cause", campaigns.lost_by_cause),
    ],
    "energy": [("energy_by_run", "Energy of each run, and its spend", energy.energy_by_run)],
    "platforms": [("bars", "Platforms side by side", platforms.bars)],
    "own_cost": [
        ("parts", "Owned GPU-hour by part", own_cost.parts),
        ("by_life", "Owned GPU-hour by depreciation life", own_cost.by_life),
    ],
    "services": [("side_by_side", "Own cost and service bills", services.side_by_side)],
    "tenure": [
        ("options", "Cost of a useful GPU-hour by option", tenure.options),
        ("crossing", "Cost by use of the fleet", tenure.crossing),
        ("duration", "Demand by share of the time", tenure.duration),
        ("npv", "Present value saved against on demand", tenure.npv),
        ("tornado", "What moves the answer", tenure.tornado),
    ],
    "cadence": [
        ("probability", "Probability to finish, by GPUs", capacity.probability),
        ("cycle_band", "Cycle time by GPUs", capacity.cycle_band),
        ("parts", "Where the hours of a cycle go", capacity.parts),
        ("saves", "Goodput by steps between saves", capacity.saves),
        _MOVES,
    ],
    "pools": [
        ("splits", "Step time by split of the GPUs", pools.splits),
        ("modes", "Dollars a step by mode", pools.modes),
        _MOVES,
    ],
    "sandboxes": [
        ("by_cores", "Dollars a step by sandbox cores", sandbox_plan.by_cores),
        ("cpus", "Dollars a rollout by CPU", sandbox_plan.cpus),
        _MOVES,
    ],
    "weight_sync": [
        ("engines", "Weight sync by engine", sync_engines.engines),
        ("speeds", "Weight sync by its speed", sync_engines.speeds),
        _MOVES,
    ],
    "commitments": [
        ("options", "Expected cost by mix", commitments.options),
        ("demand", "Demand and what the mix commits to", commitments.demand),
        ("racks", "What one more unit is worth", commitments.racks),
        ("regret", "Regret of the mix, by world", commitments.regret),
        _MOVES,
    ],
    "forecast": [
        ("months", "Spend by month", forecast.months),
        ("gpu_hours", "GPU-hours by month", forecast.gpu_hours),
        ("groups", "Expected spend by team and campaign", forecast.groups),
        ("changes", "What changed since the kept forecast", forecast.changes),
        _MOVES,
    ],
    "scenarios": [("side_by_side", "Scenarios side by side", scenarios.side_by_side)],
    "forecast_score": [("scored", "What was foretold, and what happened", forecast.scored)],
    "reconciliation": [
        ("explained", "The bill by who is known to bear it", reconciliation.explained),
        ("by_day", "Effective cost by UTC day", reconciliation.by_day),
        ("bridge", "From the invoice to the effective cost", reconciliation.bridge),
    ],
    "gain": [
        ("forest", "Gain by run and benchmark", gain.forest),
        ("rates", "Gain per dollar by run and benchmark", gain.rates),
    ],
    "frontier": [
        ("pareto", "Score against cost, with the front", frontier.pareto),
        ("probabilities", "How sure the front and the best are", frontier.probabilities),
    ],
    "buckets": [("buckets", "Dollars by bucket", buckets.buckets)],
    "learning": [
        ("curve", "Score against what was spent", learning.curve),
        ("point_price", "Dollars per point gained", learning.point_price),
    ],
    "learning_curve": [
        ("fitted", "Fitted learning curve", learning_curve.fitted),
        ("marginal", "Marginal cost of a point", learning_curve.marginal),
    ],
    "learning_platforms": [
        ("by_platform", "The same curve by platform", learning_curve.by_platform),
        ("platform_costs", "Dollars to the target by platform", learning_curve.platform_costs),
    ],
    "serving": [("lifetime", "Dollars per solved task over a lifetime", serving.lifetime)],
    "hold": [
        ("saw", "A held score over three cycles", serving.saw),
        ("sensitivity", "Dollars to hold by how fast it falls", serving.sensitivity),
    ],
    "nemotron": [("rates", "Points per $10k by benchmark", nemotron.rates)],
}

BY_NAME: dict[str, list[Named]] = {
    "platforms": [("price_dots", "Quotes over time", platforms.price_dots)],
    "projection": [("rates", "Tokens/s a GPU by platform", projection_bars.rates)],
    "tenure": [
        ("parts", "Owned GPU-hour by part", own_cost.parts),
        ("by_life", "Owned GPU-hour by depreciation life", own_cost.by_life),
    ],
}
"""Figures that are drawn where they are asked for, and not with all others of their question."""
CHOICES: dict[tuple[str, str], tuple[str, ...]] = {
    ("campaigns", "spend_by_week"): ("campaign", "team"),
    ("generations", "dots"): tuple(generations.METRICS),
    ("generations", "ratios"): tuple(PAIR_METRICS),
    ("rollouts", "throughput"): tuple(rollouts.RATES),
}
ANY = frozenset(
    {
        ("cadence", "cycle_band"),
        ("platforms", "price_dots"),
        ("pricebook", "history"),
        ("projection", "drivers"),
        ("projection", "slope"),
    }
)
"""Figures that are drawn for one platform or kind of price, whichever the data have."""


def draw(result: Result, mode: Mode = "light") -> list[go.Figure]:
    """Return the figures of a result that have something to show, in page order."""
    drawn = [function(result, mode) for _, _, function in FIGURES.get(result.analysis, [])]
    return [fig for fig in drawn if fig.data]


def chosen(
    question: str, names: Sequence[str] | None = None, under: pd.DataFrame | None = None
) -> list[Named]:
    """Return the figures of these names, in their order; all that a question draws by itself for None.

    `under`: the timeline that stands above, whose time axis the phases of a run take.
    """
    found = FIGURES.get(question, []) if names is None else [(n, *named(question, n)) for n in names]
    if under is None:
        return list(found)
    return [(n, t, partial(draw, over=under) if draw is waste.track else draw) for n, t, draw in found]


def named(question: str, name: str) -> tuple[str, Draw]:
    """Return title and drawing function of a figure by its name, or `name:argument` where it takes one
    (what is drawn: a rate, a measure, a platform). UserError for what there is not.
    """
    plain, _, argument = name.partition(":")
    known = {n: (title, function) for n, title, function in _known(question)}
    if plain not in known:
        names = ", ".join(known) or "none"
        raise UserError(f"'{question}' draws no chart named '{plain}'", "figures", f"It draws: {names}.")
    title, function = known[plain]
    if not argument:
        return title, function
    key = (question, plain)
    if key not in ANY and argument not in CHOICES.get(key, ()):
        allowed = ", ".join(f"{plain}:{one}" for one in CHOICES.get(key, ())) or plain
        raise UserError(f"There is no chart named '{name}'", "figures", f"Use one of {allowed}.")
    return title, partial(_with_argument, function, argument)


def name_of(question: str, function: Callable[..., go.Figure], *arguments: object) -> str:
    """Return the name by which `named` finds a figure again; LookupError when it cannot."""
    given = [str(one) for one in arguments if one not in (None, "")]
    for name, _, known in _known(question):
        takes = (question, name) in ANY or (question, name) in CHOICES
        if known is function and len(given) <= takes:
            return ":".join([name, *given])
    raise LookupError(f"{question} has no figure {function.__name__} with {given} in charts.figures")


def _known(question: str) -> list[Named]:
    return FIGURES.get(question, []) + BY_NAME.get(question, [])


def _with_argument(
    function: Callable[..., go.Figure], argument: str, result: Result, mode: Mode = "light"
) -> go.Figure:
    return function(result, mode, argument)
