"""Draws of the coming months: history in blocks, a wandering level, a trend, prices, and the plan on top."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta

import numpy as np

from analysis.forecast_history import ForecastParams, History, days_in
from analysis.plan import Planned, parse
from analysis.words import listing
from data.errors import UserError
from models.accrual import month_of
from models.forecast import day_counts, draw_days, level_change, level_draws, month_sums
from models.workload import Floats

DRAWS = 1000
MIN_DAYS = 14
"""Days of history below which nothing is drawn from it: two blocks of a week."""
DEFAULT_LEVEL = 0.25
DEFAULT_DECLINE = 0.2
DEFAULT_GROWTH = 0.05
NO_CAMPAIGN, NO_TEAM = "no campaign", "no team"


@dataclass(frozen=True)
class Coming:
    """A month to come: `known` days of it lie in the history, `ahead` do not."""

    month: str
    known: int
    ahead: int


@dataclass(frozen=True)
class Scenario:
    """What a draw is made with; `hours` and `usd` move the plan's GPU-hours and price."""

    growth: float
    level: float
    decline: float
    window: int
    stop: tuple[str, ...]
    hours: str = "drawn"
    usd: float = 1.0


@dataclass(frozen=True)
class Drawn:
    """Draws by coming month, (draws, months, names), for `names` of (campaign, team, planned)."""

    names: tuple[tuple[str, str, bool], ...]
    usd: Floats
    gpu_h: Floats

    def total(self, measure: str) -> Floats:
        """Sum over all names, (draws, months)."""
        values: Floats = getattr(self, measure).sum(axis=2)
        return values

    def by(self, kind: str, measure: str) -> dict[str, Floats]:
        """Sums by team or campaign, (draws, months) each, in order of the name."""
        place = {"campaign": 0, "team": 1}[kind]
        values = getattr(self, measure)
        out: dict[str, Floats] = {}
        for n, name in enumerate(self.names):
            key = str(name[place]) or (NO_CAMPAIGN if kind == "campaign" else NO_TEAM)
            out[key] = out.get(key, 0.0) + values[:, :, n]
        return dict(sorted(out.items()))


@dataclass(frozen=True)
class Basis:
    """Everything that is fixed before draws: history, months to come, plan with prices, measured level."""

    params: ForecastParams
    history: History
    coming: tuple[Coming, ...]
    plan: tuple[Planned, ...]
    usd_per_gpu_h: Mapping[str, float]
    level: float
    level_from: str

    @property
    def uses_history(self) -> bool:
        """Whether the history is long enough to be drawn from."""
        return len(self.history.days) >= MIN_DAYS

    def middle(self) -> Scenario:
        """The scenario of the parameters."""
        p = self.params
        return Scenario(p.growth_frac_month, self.level, p.decline_mid or 0.0, p.window_days, p.stop)


def basis_of(params: ForecastParams, history: History, today: date) -> Basis:
    """Check the parameters against the history; UserError for unknown campaigns or a plan without a price."""
    names = sorted({campaign for campaign, _ in history.series if campaign})
    unknown = [name for name in params.stop if name not in names]
    if unknown:
        known = f"Use one of {listing(names, 12)}." if names else "The history names no campaign."
        raise UserError(f"'{unknown[0]}' is no campaign of the history", "parameter stop", known)
    plan = parse(params.plan)
    level, told = _level(params, history)
    found = Basis(params, history, coming_of(history, params.months, today), plan, {}, level, told)
    return replace(found, usd_per_gpu_h={one.name: _usd(one, found) for one in plan})


def coming_of(history: History, months: int, today: date) -> tuple[Coming, ...]:
    """The months from the first day that is not known on."""
    start = history.days[-1] + timedelta(days=1) if history.days else today.replace(day=1)
    out = []
    for n in range(months):
        place = start.year * 12 + start.month - 1 + n
        name = month_of(date(place // 12, place % 12 + 1, 1))
        known = start.day - 1 if n == 0 and history.days else 0
        out.append(Coming(name, known, days_in(name) - known))
    return tuple(out)


def _level(params: ForecastParams, history: History) -> tuple[float, str]:
    """How far the level moves a month, and where that comes from: user, measured or derived."""
    if params.level_change_frac is not None:
        return params.level_change_frac, "user"
    whole = [float(history.usd[history.of_month(name)].sum()) for name in history.whole_months()]
    found = level_change(whole)
    return (DEFAULT_LEVEL, "derived") if found is None else (found, "measured")


def _usd(one: Planned, found: Basis) -> float:
    """USD a GPU-hour of a planned campaign: as given, else all dollars of the history / its GPU-hours."""
    if one.usd_per_gpu_h is not None:
        return one.usd_per_gpu_h
    hours = float(found.history.gpu_h.sum())
    if hours <= 0:
        words = f"The planned campaign '{one.name}' has no price, and no history tells one"
        raise UserError(words, "parameter plan", "Add usd=… (USD a GPU-hour) to its line.")
    return float(found.history.usd.sum()) / hours


def draw(basis: Basis, scenario: Scenario) -> Drawn:
    """All draws of a scenario; the same random numbers in every scenario, so that they differ by it alone."""
    params, months = basis.params, len(basis.coming)
    names: list[tuple[str, str, bool]] = []
    usd, gpu_h = [], []
    prices = np.array([(1 - scenario.decline) ** (m / 12) for m in range(months)])
    if basis.history.days:
        names += [(campaign, team, False) for campaign, team in basis.history.series]
        known_usd, known_h = (_known(basis, values) for values in (basis.history.usd, basis.history.gpu_h))
        more_usd, more_h = _from_history(basis, scenario)
        usd.append(known_usd + more_usd * prices[:, None])
        gpu_h.append(known_h + more_h)
    if basis.plan:
        names += [(one.name, one.team or "", True) for one in basis.plan]
        hours = _from_plan(basis, scenario, np.random.default_rng([params.seed, 3]))
        gpu_h.append(hours)
        rates = np.array([basis.usd_per_gpu_h[one.name] for one in basis.plan])
        usd.append(hours * rates * scenario.usd * prices[:, None])
    return Drawn(tuple(names), np.concatenate(usd, axis=2), np.concatenate(gpu_h, axis=2))


def _known(basis: Basis, values: Floats) -> Floats:
    """What the history already holds of the coming months, (1, months, series) for every draw."""
    out = np.zeros((DRAWS, len(basis.coming), values.shape[1]))
    for m, one in enumerate(basis.coming):
        if one.known:
            out[:, m, :] = values[basis.history.of_month(one.month)].sum(axis=0)
    return out


def _from_history(basis: Basis, scenario: Scenario) -> tuple[Floats, Floats]:
    """Draws of the days ahead, dollars and GPU-hours, (draws, months, series); 0 where it is too short."""
    history, months = basis.history, len(basis.coming)
    if not basis.uses_history:
        nothing = np.zeros((DRAWS, months, len(history.series)))
        return nothing, nothing
    window = scenario.window or len(history.days)
    kept = slice(max(0, len(history.days) - window), None)
    goes_on = np.array([campaign not in scenario.stop for campaign, _ in history.series], dtype=float)
    values = np.concatenate([history.usd[kept] * goes_on, history.gpu_h[kept] * goes_on], axis=1)
    ahead = [one.ahead for one in basis.coming]
    seed = basis.params.seed
    drawn = draw_days(len(values), sum(ahead), DRAWS, np.random.default_rng([seed, 1]))
    month = np.repeat(np.arange(months), ahead)
    sums = month_sums(values, day_counts(drawn, month, months, len(values)))
    level = level_draws(months, scenario.level, DRAWS, np.random.default_rng([seed, 2]))
    trend = np.array([(1 + scenario.growth) ** m for m in range(months)])
    sums *= (level * trend)[:, :, None]
    k = len(history.series)
    return sums[:, :, :k], sums[:, :, k:]


def _from_plan(basis: Basis, scenario: Scenario, rng: np.random.Generator) -> Floats:
    """GPU-hours of the planned campaigns, (draws, months, campaigns): each drawn once over its range."""
    columns = [_hours(one, basis.coming, scenario.hours, rng) for one in basis.plan]
    return np.stack(columns, axis=2)


def _hours(one: Planned, coming: Sequence[Coming], which: str, rng: np.random.Generator) -> Floats:
    low, high = one.ends
    below, where = rng.random(DRAWS) < 0.5, rng.random(DRAWS)
    value = one.gpu_h_per_day
    drawn = np.where(below, value + (low - value) * where, value + (high - value) * where)
    if which != "drawn":
        drawn = np.full(DRAWS, {"low": low, "high": high}[which])
    days = np.array([m.ahead if one.holds(m.month) else 0 for m in coming])
    hours: Floats = drawn[:, None] * days
    return hours


def quantiles(values: Floats) -> tuple[float, float, float]:
    """p10, p50 and p90 of draws."""
    low, middle, high = np.quantile(values, [0.1, 0.5, 0.9])
    return float(low), float(middle), float(high)
