"""Pools that feed each other: rollouts, judge and trainer over a buffer bounded by staleness. Seconds.

A batch is what one update trains on. Engines may start batch n once update n - 1 - lag is done, so that its
age, counted in updates when it is trained on, is at most `lag`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from models.shapes import Num, at_least, num

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class PoolWork:
    """One step's work: GPU-seconds that more GPUs share, seconds that they do not.

    `tail_s`: what the longest response takes beyond the work; `tools_s` of environments beyond generation;
    `judge_s` from the end of a rollout to its verdict; `fixed_s` of a training step whatever its GPUs;
    `stop_s` in which both pools stand (exposed weight update, other).
    """

    engine_gpu_s: Num
    trainer_gpu_s: Num
    judge_gpu_s: Num = 0.0
    tail_s: Num = 0.0
    tools_s: Num = 0.0
    judge_s: Num = 0.0
    fixed_s: Num = 0.0
    stop_s: Num = 0.0


@dataclass(frozen=True)
class Stages:
    """Seconds of one batch in each pool; `late_s`: from the end of the work to the last scored response."""

    engine_s: Num
    late_s: Num
    judge_s: Num
    trainer_s: Num
    stop_s: Num = 0.0

    @property
    def scored_s(self) -> Num:
        """From the start of a batch to its last score."""
        return at_least(num(self.engine_s) + self.late_s, num(self.judge_s))


def stages(work: PoolWork, engine_gpus: Num, trainer_gpus: Num, judge_gpus: Num = 0.0) -> Stages:
    """GPU-seconds over GPUs in each pool. A judge with work and no GPUs never ends."""
    judged = num(work.judge_gpu_s) + 0 * num(judge_gpus)
    with np.errstate(divide="ignore", invalid="ignore"):
        judge_s = np.where(judged > 0, judged / num(judge_gpus), 0.0)[()]
    return Stages(
        engine_s=num(work.engine_gpu_s) / engine_gpus,
        late_s=num(work.tail_s) + work.tools_s + work.judge_s,
        judge_s=judge_s,
        trainer_s=num(work.trainer_gpu_s) / trainer_gpus + work.fixed_s,
        stop_s=num(work.stop_s),
    )


def bound_s(one: Stages, lag: int, streaming: bool) -> Num:
    """Seconds of a step when every batch takes the same: no pool can be faster than this.

    The slowest of: engines (with their tail unless they stream), judge, trainer, and a batch on its way
    through all of them over lag + 1 steps; then what stops both. lag 0: the sum. lag 1 without streaming:
    the longer pool. Raises ValueError for a negative lag.
    """
    if lag < 0:
        raise ValueError(f"lag must not be negative: {lag}")
    engines = num(one.engine_s) if streaming else num(one.engine_s) + one.late_s
    slowest = at_least(at_least(engines, num(one.judge_s)), num(one.trainer_s))
    through = (one.scored_s + one.trainer_s) / (lag + 1)
    return at_least(slowest, through) + one.stop_s


@dataclass(frozen=True)
class Flow:
    """What pools do over many steps: mean seconds of a step, shares of it in which a pool waits (0..1),
    batches that lie ready, age of a batch in updates. Shape of the stages.

    `path` of a single case: one row a kept step: end of the update, trainer's wait, engines' wait, batches
    ready when the trainer takes one.
    """

    step_s: Num
    starved_frac: Num
    blocked_frac: Num
    ready: Num
    age: Num
    path: Floats


def noise(steps: int, cv: float, seed: int) -> Floats:
    """Factors by which batches differ, log-normal with coefficient of variation `cv`, scaled to mean 1."""
    sigma = np.sqrt(np.log1p(cv * cv))
    normal = np.random.default_rng(seed).standard_normal(steps)
    factors = np.exp(sigma * normal)
    scaled: Floats = factors / factors.mean()
    return scaled


def flow(
    one: Stages, lag: int, streaming: bool, made: npt.ArrayLike, trained: npt.ArrayLike, warm: int = 50
) -> Flow:
    """Batches one after another through engines, judge, buffer and trainer.

    `made`, `trained`: factors of a batch's seconds in engines and trainer, (steps,) or (steps, cases);
    the first `warm` are not counted. Recursion (start S, scored A, update end T):
    S(n) = max(engines free, T(n-1-lag)); A(n) = max(S + engine + late, max(A(n-1), S) + judge);
    T(n) = max(T(n-1), A(n)) + trainer. Engines are free after the work when they stream, else at A.
    """
    first, second = np.asarray(made, dtype=np.float64), np.asarray(trained, dtype=np.float64)
    if lag < 0 or first.shape != second.shape or not first.ndim or len(first) <= warm + 1:
        raise ValueError(f"lag {lag}, {first.shape} and {second.shape} factors, {warm} of them left out")
    seen = list(_batches(one, lag, streaming, first, second))
    kept = seen[warm:]
    total, count = kept[-1].done - seen[warm - 1].done if warm else kept[-1].done, len(kept)
    whole = total + count * num(one.stop_s)
    return Flow(
        step_s=whole / count,
        starved_frac=sum(b.starved_s for b in kept) / whole,
        blocked_frac=sum(b.blocked_s for b in kept) / whole,
        ready=sum(b.taken - b.scored for b in kept) / total,
        age=sum(b.age for b in kept) / count,
        path=_path(seen, warm) if np.size(total) == 1 else np.empty((0, 4)),
    )


@dataclass(frozen=True)
class _Batch:
    """Times of one batch, and how long both pools waited for it."""

    scored: Floats
    taken: Floats
    done: Floats
    starved_s: Floats
    blocked_s: Floats
    age: Floats


def _batches(one: Stages, lag: int, streaming: bool, made: Floats, trained: Floats) -> Iterator[_Batch]:
    parts = (one.engine_s, one.late_s, one.trainer_s, one.judge_s)
    shape = np.broadcast_shapes(made.shape[1:], *(np.shape(part) for part in parts))
    ends = [np.zeros(shape) for _ in range(lag + 1)]
    free, scored = np.zeros(shape), np.zeros(shape)
    for more, longer in zip(made, trained, strict=True):
        start = np.maximum(free, ends[0])
        worked = start + num(one.engine_s) * more
        last = worked + num(one.late_s) * more
        scored = np.maximum(last, np.maximum(scored, start) + one.judge_s)
        taken = np.maximum(ends[-1], scored)
        done = taken + num(one.trainer_s) * longer
        age = sum((np.where(end > start, 1.0, 0.0) for end in ends), start=np.zeros(shape))
        yield _Batch(scored, taken, done, taken - ends[-1], start - free, age)
        free = worked if streaming else scored
        ends = [*ends[1:], done]


def _path(seen: Sequence[_Batch], warm: int) -> Floats:
    """Ends, waits of trainer and engines, and batches scored but not yet taken, the one taken included."""
    columns = zip(*((b.scored, b.taken, b.done, b.starved_s, b.blocked_s) for b in seen), strict=True)
    scored, taken, done, starved, blocked = (np.array(column, dtype=np.float64).ravel() for column in columns)
    ready = np.searchsorted(scored, taken, side="right") - np.arange(taken.size)
    path: Floats = np.column_stack([done, starved, blocked, ready])[warm:]
    return path


def exponential_rate(made_per_s: float, trained_per_s: float, lag: int) -> tuple[float, float, float]:
    """Steps a second, shares of time starved and blocked, when seconds of both pools are exponential.

    At most lag + 1 batches wait for or are in the trainer: an M/M/1/K queue with K = lag + 1 (Kleinrock 1975,
    section 3.6). Starved: P(0); blocked: P(K).
    """
    load, most = made_per_s / trained_per_s, lag + 1
    weights = load ** np.arange(most + 1)
    chances = weights / weights.sum()
    return float(trained_per_s * (1 - chances[0])), float(chances[0]), float(chances[-1])


@dataclass(frozen=True)
class Splits:
    """Ways to divide GPUs, one a row, rollout GPUs rising; `bound_s` a step as in `bound_s`."""

    engine_gpus: Floats
    trainer_gpus: Floats
    judge_gpus: Floats
    bound_s: Floats


def splits(work: PoolWork, total_gpus: int, units: tuple[int, int, int], lag: int, streaming: bool) -> Splits:
    """Every count of rollout GPUs with the judge that suits it best; the trainer gets the rest.

    `units`: GPUs that rollouts, trainer and judge grow by; what is left of the trainer's last unit goes to
    the rollouts, so that the parts add up to `total_gpus`. The judge of a row is the best of the whole units
    around the crossing of its time and the trainer's. Raises ValueError when one unit of each does not fit.
    """
    engine_unit, trainer_unit, judge_unit = units
    judged = float(np.max(num(work.judge_gpu_s))) > 0
    least = engine_unit + trainer_unit + (judge_unit if judged else 0)
    if min(units) < 1 or total_gpus < least:
        raise ValueError(f"{total_gpus} GPUs hold no unit of each pool: {least} needed")
    engines = np.arange(engine_unit, total_gpus - least + engine_unit + 1, engine_unit, dtype=np.float64)
    rest = total_gpus - engines
    options = _judges(work, rest, trainer_unit, judge_unit) if judged else np.zeros((1, engines.size))
    trainers = (rest - options) // trainer_unit * trainer_unit
    given = total_gpus - trainers - options
    allowed = trainers >= trainer_unit
    cycle = np.asarray(
        bound_s(stages(work, given, np.where(allowed, trainers, 1.0), options), lag, streaming)
    )
    cycle = np.where(allowed, np.broadcast_to(cycle, allowed.shape), np.inf)
    best = cycle.argmin(axis=0)
    at = (best, np.arange(engines.size))
    keep = np.isfinite(cycle[at])
    table = np.column_stack([given[at], trainers[at], options[at], cycle[at]])[keep]
    _, unique = np.unique(table[:, 0], return_index=True)
    return Splits(*table[unique].T)


def _judges(work: PoolWork, rest: Floats, trainer_unit: int, judge_unit: int) -> Floats:
    """Judge GPUs to try for each `rest` of GPUs, (options, rows)."""
    share = float(np.mean(num(work.judge_gpu_s)))
    crossing = np.floor(rest * share / (share + float(np.mean(num(work.trainer_gpu_s)))) / judge_unit)
    most = np.floor((rest - trainer_unit) / judge_unit)
    tried = [np.clip(crossing + more, 1, np.maximum(most, 1)) * judge_unit for more in (-1, 0, 1, 2)]
    return np.array(tried)
