"""A measured run as a projection needs it: pools, phases by step, tokens and lengths, or why not."""

import math
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from analysis.frames import records, text
from analysis.projection_lengths import FoundLengths, find_lengths
from analysis.projection_phases import Timed, timed
from analysis.projection_pools import DETAILS, ENGINES, Pools, read_pools
from analysis.result import Notice
from analysis.words import plural
from data.catalogue import Catalogue
from data.queries import checks, projection
from data.queries import spend as spend_queries
from data.queries.filters import Filters
from data.view import View

TEMPLATE = "Load a table of steps with it (Telemetry page, steps template)."
TIMERS = "Load a log with phase timers, or a table of phases (Telemetry page, phases template)."
NAME_IT = "Name it: Telemetry page, run details."
SHAPED = "If it is built like a model that has one, name that model: Telemetry page, run details."
FEWEST = 3


@dataclass(frozen=True)
class Tokens:
    """Means of a step, NaN where no log says: rollouts, groups, prompt and generated tokens of all rollouts,
    tokens that were trained on, age of rollouts in updates.
    """

    rollouts: float
    groups: float
    prompt: float
    generated: float
    trained: float
    staleness: float

    @property
    def both(self) -> float:
        """Prompt and generated tokens."""
        return self.prompt + self.generated


@dataclass(frozen=True)
class Gap:
    """One thing that a projection by phases lacks: its kind (model, shape, pools, tokens, lengths, timers),
    what it is in a clause, and what to do.
    """

    kind: str
    what: str
    remedy: str

    @property
    def words(self) -> str:
        """Both in a row."""
        return f"{self.what}. {self.remedy}"


@dataclass(frozen=True)
class SourceRun:
    """What a run says. `blocked`: why nothing of it can be projected; `gaps`: what a projection by phases
    still needs (without it only the whole step is projected), each with what to do. `steps` were used.
    """

    run: str
    synthetic: bool
    llm: str
    pools: Pools
    blocked: str = ""
    gaps: tuple[Gap, ...] = ()
    timed: Timed | None = None
    tokens: Tokens | None = None
    lengths: FoundLengths | None = None
    steps: int = 0
    notices: tuple[Notice, ...] = ()

    @property
    def gpus(self) -> int:
        """GPUs of the pools that are projected."""
        return sum(pool.gpus for pool in self.pools.each)

    @property
    def step_s(self) -> float:
        """Mean seconds of a step."""
        return math.nan if self.timed is None else float(self.timed.step_s.mean())

    @property
    def usd_per_h(self) -> float:
        """Dollars an hour of its GPUs, NaN without a price."""
        return math.fsum(pool.gpus * pool.usd_per_gpu_h for pool in self.pools.each)


def read_run(view: View, run: str, price: str) -> SourceRun:
    """Everything a projection needs of `run`, at the picker's `price` where a pool has none of its own.

    Steps: the surviving lineage, the last attempt of each, attempts with the GPUs of the last one only,
    without warm-up (the rule of the check).
    """
    filters = Filters((run,))
    head = records(projection.runs(view, filters))[0]
    out = SourceRun(run, bool(head["synthetic"]), text(head["llm"]) or "", Pools())
    steps = projection.steps(view, filters)
    if steps.empty:
        return replace(out, blocked=f"{run} has no timed steps: load its training log (Telemetry page).")
    allocations = spend_queries.allocations(view, filters)
    mine = allocations[allocations["attempt"] == steps["attempt"].max()]
    pools = read_pools(run, mine, view.catalogue, price, str(head["mode"]))
    if pools.blocked:
        return replace(out, pools=pools, blocked=pools.blocked)
    same = _same_gpus(steps, allocations)
    kept = _without_warm_up(steps[same], checks.warm_up(view, filters))
    told = _left_out(run, int((~same).sum()), int(same.sum()) - len(kept))
    if len(kept) < FEWEST:
        words = f"{run} has {len(kept)} timed {plural('step', len(kept))} after its warm-up; {FEWEST} needed."
        return replace(out, pools=pools, blocked=words)
    return _measured(view, replace(out, pools=pools, steps=len(kept), notices=(*pools.notices, *told)), kept)


def _measured(view: View, out: SourceRun, steps: pd.DataFrame) -> SourceRun:
    """The run with its phases, tokens, lengths, and what is still missing."""
    if out.pools.mode is None or out.pools.engines is None:
        raise ValueError(f"{out.run} has no pools")
    filters, key = Filters((out.run,)), ["attempt", "step"]
    timers = projection.timers(view, filters).merge(steps[key], on=key)
    engines = (*out.pools.engines.names, ENGINES)
    tokens = _tokens(steps)
    buckets = projection.lengths(view, filters)
    buckets = buckets[buckets["attempt"].isin(steps["attempt"])]
    out = replace(
        out,
        timed=timed(steps, timers, out.pools.mode, engines),
        tokens=tokens,
        lengths=find_lengths(steps, buckets, tokens.rollouts),
    )
    return replace(out, gaps=tuple(_gaps(out, view.catalogue)))


def _same_gpus(steps: pd.DataFrame, allocations: pd.DataFrame) -> pd.Series:
    """True for steps of attempts that held the same GPUs as the last one."""
    held: dict[int, set[tuple[object, ...]]] = {}
    for row in records(allocations):
        if row["role"] != "sandbox":
            held.setdefault(int(row["attempt"]), set()).add((row["role"], row["platform"], row["gpus"]))
    last = held.get(int(steps["attempt"].max()), set())
    return steps["attempt"].map({attempt: gpus == last for attempt, gpus in held.items()}).eq(True)


def _without_warm_up(steps: pd.DataFrame, warm: pd.DataFrame) -> pd.DataFrame:
    count = {int(r["attempt"]): int(r["steps"]) for r in records(warm)}
    place = steps.groupby("attempt")["step"].rank(method="first")
    return steps[place > steps["attempt"].map(count).fillna(0)].reset_index(drop=True)


def _left_out(run: str, others: int, warm: int) -> list[Notice]:
    out = []
    if others:
        words = f"{run}: {others} {plural('step', others)} of attempts on other GPUs left out."
        out.append(Notice("other_allocation", words, run))
    if warm:
        words = f"{run}: {warm} warm-up {plural('step', warm)} left out (over 1.5 medians, at the start)."
        out.append(Notice("warm_up_left_out", words, run))
    return out


def _tokens(steps: pd.DataFrame) -> Tokens:
    """Means over the steps that say it; generated tokens also from the mean length, prompts also from the
    total.
    """
    rollouts = steps["rollouts"]
    generated = steps["tok_gen"].fillna(steps["len_mean"] * rollouts)
    generated = generated.fillna(steps["tok_total"] - steps["tok_prompt"])
    prompt = steps["tok_prompt"].fillna(steps["tok_total"] - generated)
    return Tokens(
        rollouts=_mean(rollouts),
        groups=_mean(steps["groups"]),
        prompt=_mean(prompt),
        generated=_mean(generated),
        trained=_mean(steps["tok_trained"]),
        staleness=_mean(steps["staleness"]),
    )


def _mean(values: pd.Series) -> float:
    known = values.astype("float64").dropna()
    return float(np.mean(known)) if len(known) else math.nan


def _gaps(run: SourceRun, book: Catalogue) -> list[Gap]:
    """What a projection by phases lacks, each with what supplies it."""
    out = [Gap("pools", run.pools.gap, DETAILS)] if run.pools.gap else []
    if not run.llm:
        out.append(Gap("model", f"the model of {run.run} is not named", NAME_IT))
    elif book.llm(run.llm) is None:
        out.append(Gap("shape", f"the catalogue has no shape of {run.llm}, the model of {run.run}", SHAPED))
    tokens, told = run.tokens, run.timed
    if tokens is None or told is None or run.lengths is None:
        raise ValueError(f"{run.run} was not measured")
    for value, name in (
        (tokens.rollouts, "rollouts a step"),
        (tokens.generated, "generated tokens"),
        (tokens.prompt, "prompt tokens"),
    ):
        if not value > 0:
            out.append(Gap("tokens", f"{name} of {run.run} are not logged", TEMPLATE))
    if run.lengths.lengths is None:
        out.append(Gap("lengths", f"response lengths of {run.run} are not logged", TEMPLATE))
    for phase, name in (("rollout", "rollouts"), ("train", "training")):
        if phase not in told.phases or not told.phases[phase].mean() > 0:
            out.append(Gap("timers", f"the log of {run.run} has no timer of {name}", TIMERS))
    return out
