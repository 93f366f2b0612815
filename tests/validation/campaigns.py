"""Simulated campaigns with known truth: how often the intervals of gain and of its ratios hold it.

A world draws tasks (and repositories) anew for every campaign: the chance of a task is logistic-normal, the
change of a task has a part of its own and a part its repository shares, every task is run k times before and
after, and the campaign cost what a price between its quotes makes it cost. The truth is an integral, not a
simulation. `python -m tests.validation.campaigns 2000` prints the table.
"""

import sys
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, logit

from models.clustered import clustered_log_odds, paired_gain
from models.draws import money_draws
from models.gain_ratio import per_cost

REPOSITORIES = (231, 75, 44, 34, 32, 22, 22, 19, 10, 8, 2, 1)
"""Tasks a repository of SWE-bench Verified."""
FORTY = tuple(
    int(n) for n in np.maximum(1, np.round(np.exp(2 + 0.8 * logit((np.arange(40) + 0.5) / 40) / 1.7)))
)
"""Forty repositories of 1 to 40 tasks: a log-logistic spread of sizes."""
QUOTES = (0.8, 1.25)
"""Central 90 % of the price over the one that is stated."""
USD = 50_000.0
DRAWS = 2000
SEED = 20261130
MEASURES = ("gain", "gain_per_usd", "log_odds", "log_odds_per_usd")


@dataclass(frozen=True)
class World:
    """Campaigns of one kind. `sizes`: tasks a repository, or () for `tasks` independent ones.

    `before`: true mean score; `gain`: true mean change; `repeats`: runs of a task; `task_sd`, `change_sd`:
    spread of the tasks' log-odds and of their change; `cluster_sd`: part of both that a repository shares;
    `least`, `most`: what the measured coverage must lie between.
    """

    name: str
    sizes: tuple[int, ...] = ()
    tasks: int = 0
    before: float = 0.6
    gain: float = 0.08
    repeats: int = 1
    task_sd: float = 2.0
    change_sd: float = 0.7
    cluster_sd: float = 0.0
    least: float = 0.93
    most: float = 0.97

    @property
    def clusters(self) -> np.ndarray | None:
        """A label a task; None for independent tasks."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes) if self.sizes else None

    @property
    def null(self) -> "World":
        """The same world without a gain."""
        return World(
            f"{self.name}, no gain", self.sizes, self.tasks, self.before, 0.0, self.repeats, self.task_sd,
            self.change_sd, self.cluster_sd,
        )  # fmt: skip


WORLDS = (
    World("40 tasks", tasks=40),
    World("40 tasks, k = 4, high scores", tasks=40, before=0.85, gain=0.05, repeats=4),
    World("40 unequal repositories", sizes=FORTY, cluster_sd=0.5),
    World("40 unequal repositories, k = 4", sizes=FORTY, cluster_sd=1.0, repeats=4),
    World("500 tasks, low scores", tasks=500, before=0.15, gain=0.04),
)
"""Forty or more clusters or independent tasks: 93-97 % is asked of the measured coverage."""
FEW = (
    World("12 repositories of SWE-bench", sizes=REPOSITORIES, cluster_sd=0.5, least=0.90, most=1.0),
    World(
        "12 repositories, none alike, k = 4",
        sizes=REPOSITORIES,
        cluster_sd=1.0,
        repeats=4,
        least=0.90,
        most=1.0,
    ),
    World("30 tasks", tasks=30, least=0.90, most=1.0),
    World("30 tasks, k = 4, high scores", tasks=30, before=0.85, gain=0.05, repeats=4, least=0.90, most=1.0),
)
"""Few: the coverage is measured and shown, above 90 %."""


@dataclass(frozen=True)
class Measured:
    """Share of campaigns whose interval held the truth, by measure."""

    world: World
    campaigns: int
    held: dict[str, float]
    method: str


def logistic_mean(centre: float, sd: float) -> float:
    """E expit(N(centre, sd^2)) by Gauss-Hermite quadrature of 80 points."""
    at, weights = np.polynomial.hermite_e.hermegauss(80)
    return float(weights @ expit(centre + sd * at) / weights.sum())


def centre_for(share: float, sd: float) -> float:
    """Mean log-odds at which the mean chance is `share`."""
    return float(brentq(lambda centre: logistic_mean(centre, sd) - share, -30, 30))


def simulate(world: World, campaigns: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Scores before and after, each (campaigns, tasks): means over the repeats of a task."""
    labels = world.clusters
    tasks = world.tasks if labels is None else len(labels)
    sd_before = np.hypot(world.task_sd, world.cluster_sd)
    sd_change = np.hypot(world.change_sd, world.cluster_sd)
    start = centre_for(world.before, sd_before)
    end = centre_for(world.before + world.gain, np.hypot(sd_before, sd_change))
    shape = (campaigns, tasks)
    level = start + world.task_sd * rng.standard_normal(shape)
    change = end - start + world.change_sd * rng.standard_normal(shape)
    if labels is not None:
        shared = world.cluster_sd * rng.standard_normal((2, campaigns, len(world.sizes)))
        level, change = level + shared[0][:, labels], change + shared[1][:, labels]
    runs = [rng.binomial(world.repeats, expit(x)) / world.repeats for x in (level, level + change)]
    return runs[0], runs[1]


def measure(world: World, campaigns: int, seed: int) -> Measured:
    """Coverage of the intervals the application shows, by the functions it calls."""
    rng = np.random.default_rng(seed)
    before, after = simulate(world, campaigns, rng)
    spread = np.log(QUOTES[1]) / 1.6448536
    paid = USD * np.exp(spread * rng.standard_normal(campaigns))
    gain = world.gain
    nats = float(logit(world.before + gain) - logit(world.before))
    held, method = dict.fromkeys(MEASURES, 0), ""
    for i in range(campaigns):
        seen = paired_gain(before[i], after[i], world.clusters, seed=i, draws=DRAWS)
        odds = clustered_log_odds(before[i], after[i], world.clusters, seed=i, draws=DRAWS)
        usd = money_draws(USD, QUOTES[0] * USD, QUOTES[1] * USD, DRAWS, seed=i)
        points = per_cost(seen.interval.value, seen.draws, USD, usd, seen.n_tasks)
        per = per_cost(odds.interval.value, odds.draws, USD, usd, odds.n_tasks)
        held["gain"] += seen.interval.low <= gain <= seen.interval.high
        held["gain_per_usd"] += points.low <= gain / paid[i] <= points.high
        held["log_odds"] += odds.interval.low <= nats <= odds.interval.high
        held["log_odds_per_usd"] += per.low <= nats / paid[i] <= per.high
        method = seen.method
    shares = {name: count / campaigns for name, count in held.items()}
    return Measured(world, campaigns, shares, method)


def cannot_tell(world: World, campaigns: int, seed: int) -> float:
    """Share of campaigns in the world without a gain of which the verdict is `cannot tell`."""
    before, after = simulate(world.null, campaigns, np.random.default_rng(seed))
    verdicts = [
        paired_gain(before[i], after[i], world.clusters, seed=i, draws=100).verdict for i in range(campaigns)
    ]
    return verdicts.count("cannot tell") / campaigns


def binomial_slack(share: float, campaigns: int) -> float:
    """2.6 standard errors of a measured share: one run in about a hundred lies further on a side."""
    return 2.6 * float(np.sqrt(share * (1 - share) / campaigns))


def heading() -> str:
    """Names of the columns of `line`."""
    return f"{'world':32}{'campaigns':>10}" + "".join(f"{n:>18}" for n in (*MEASURES, "null: cannot tell"))


def line(row: Measured, silent: float) -> str:
    """The measured shares of a world as text."""
    shares = "".join(f"{100 * x:>16.1f} %" for x in (*row.held.values(), silent))
    return f"{row.world.name:32}{row.campaigns:>10}{shares}  {row.method}"


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    print(heading())
    for one in (*WORLDS, *FEW):
        print(line(measure(one, count, SEED), cannot_tell(one, count, SEED + 1)), flush=True)
