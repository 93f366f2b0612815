"""Sandboxes as a pool: tails of waits, a closed set of rollouts, a simulation, and what waits cost."""

import heapq
import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from models.sandbox_time import MOST_SERVERS, queue
from models.shapes import Num, num, where

Floats = npt.NDArray[np.float64]
_HALVINGS = 40
_REPEATED = 8


def wait_quantile(servers: int, rate_per_s: Num, busy_s: Num, chance: float) -> Num:
    """Seconds that a share `chance` of calls waits at most in an M/M/c queue: P(W > t) = C e^-(c/s - rate) t.

    0 when fewer calls wait at all, infinite under overload.
    """
    if not 0 < chance < 1:
        raise ValueError(f"a quantile lies between 0 and 1: {chance}")
    found = queue(servers, rate_per_s, busy_s)
    spare = servers / num(busy_s) - num(rate_per_s)
    waits = np.maximum(np.log(np.maximum(num(found.wait_frac), 1e-300) / (1 - chance)), 0.0)
    return where(spare > 0, waits / where(spare > 0, spare, 1.0), np.inf)


def variable_wait_s(wait_s: Num, busy_cv: Num) -> Num:
    """Wait when seconds of a call vary more or less than exponential ones: x (1 + cv^2) / 2.

    Poisson arrivals; Allen-Cunneen (Allen 1990, section 5.3.5). Exact for one server (Pollaczek-Khinchine).
    """
    return num(wait_s) * (1 + num(busy_cv) ** 2) / 2


def servers_for_tail(rate_per_s: float, busy_s: float, longest_s: float, chance: float = 0.95) -> int:
    """Fewest sandboxes with which a share `chance` of calls waits at most `longest_s` (M/M/c).

    Raises ValueError for a rate or seconds that are not positive, or a load beyond MOST_SERVERS.
    """
    if not (rate_per_s > 0 and busy_s > 0 and longest_s > 0):
        raise ValueError(f"rate and seconds must be positive: {rate_per_s}, {busy_s}, {longest_s}")
    low = int(rate_per_s * busy_s) + 1
    if low * 2 > MOST_SERVERS:
        raise ValueError(f"a load of {rate_per_s * busy_s:.0f} busy sandboxes is beyond {MOST_SERVERS // 2}")
    high = low
    while float(wait_quantile(high, rate_per_s, busy_s, chance)) > longest_s:
        low, high = high + 1, high + max(1, high // 8)
    while low < high:
        middle = (low + high) // 2
        enough = float(wait_quantile(middle, rate_per_s, busy_s, chance)) <= longest_s
        low, high = (low, middle) if enough else (middle + 1, high)
    return high


@dataclass(frozen=True)
class ClosedPool:
    """A fixed set of rollouts that call sandboxes in turn: calls a second, waits in seconds, shares 0..1."""

    calls_per_s: float
    wait_s: float
    wait_p95_s: float
    wait_frac: float
    busy_frac: float


def closed_pool(
    servers: int, rollouts: int, between_s: float, busy_s: float, tail: bool = True
) -> ClosedPool:
    """M/M/c//N: each of `rollouts` works `between_s` between its calls, then holds a sandbox `busy_s`.

    Machine interference (Kleinrock 1975, section 3.8): p(n) from birth (N - n) / between and death
    min(n, c) / busy. A call sees the pool of N - 1 (arrival theorem, Sevcik and Mitrani 1981). Waits are
    finite however few the sandboxes: rollouts then come slower. Without `tail` the p95 is NaN.
    """
    if servers < 1 or rollouts < 1 or not (between_s >= 0 and busy_s > 0):
        raise ValueError(f"{servers} sandboxes, {rollouts} rollouts, {between_s} and {busy_s} s")
    if servers >= rollouts:
        calls = rollouts / (between_s + busy_s)
        return ClosedPool(calls, 0.0, 0.0, 0.0, calls * busy_s / servers)
    chances = _states(servers, rollouts, between_s, busy_s)
    held = np.minimum(np.arange(rollouts + 1), servers)
    calls = float(chances @ held) / busy_s
    wait = float(chances @ np.arange(rollouts + 1)) / calls - busy_s
    seen = _states(servers, rollouts - 1, between_s, busy_s)
    late = seen[servers:]
    p95 = _tail(late, servers / busy_s, 0.05) if tail else math.nan
    return ClosedPool(calls, max(wait, 0.0), p95, float(late.sum()), calls * busy_s / servers)


def _states(servers: int, rollouts: int, between_s: float, busy_s: float) -> Floats:
    """Chances of 0..N rollouts at the sandboxes; all of them when nothing lies between two calls."""
    if between_s == 0:
        alone: Floats = np.eye(rollouts + 1)[rollouts]
        return alone
    n = np.arange(1, rollouts + 1, dtype=np.float64)
    steps = np.log(rollouts - n + 1) - np.log(between_s) + np.log(busy_s) - np.log(np.minimum(n, servers))
    logs = np.concatenate([[0.0], np.cumsum(steps)])
    weights = np.exp(logs - logs.max())
    chances: Floats = weights / weights.sum()
    return chances


def _tail(late: Floats, rate: float, share: float) -> float:
    """Seconds t with P(W > t) = `share`; a call that finds k waiting needs k + 1 departures at `rate`."""
    if late.sum() <= share:
        return 0.0
    more = np.cumsum(late[::-1])[::-1]
    logs = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, late.size)))])
    low, high = 0.0, (late.size + 10 * math.sqrt(late.size) + 10) / rate
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        x = rate * middle
        beyond = float(more @ np.exp(-x + np.arange(late.size) * np.log(max(x, 1e-300)) - logs))
        low, high = (middle, high) if beyond > share else (low, middle)
    return (low + high) / 2


def simulated_waits(
    arrive: npt.ArrayLike, busy_s: npt.ArrayLike, servers: int, until_s: npt.ArrayLike = ()
) -> Floats:
    """Wait of each call, first come first served: arrivals rising and seconds of each, both (calls,).

    `until_s`: when the sandboxes that are held at the start come free, at most `servers` of them. Any
    distribution; the recursion of Kiefer and Wolfowitz (1955) on a heap of the times sandboxes are free.
    """
    held_at_start = np.asarray(until_s, dtype=np.float64).tolist()[:servers]
    free = [0.0] * (servers - len(held_at_start)) + sorted(held_at_start)
    out = []
    at = np.asarray(arrive, dtype=np.float64).tolist()
    for now, held in zip(at, np.asarray(busy_s, dtype=np.float64).tolist(), strict=True):
        start = max(now, free[0])
        out.append(start - now)
        heapq.heapreplace(free, start + held)
    waits: Floats = np.array(out)
    return waits


def log_normal_seconds(mean_s: float, cv: float, size: int, rng: np.random.Generator) -> Floats:
    """Seconds of calls with a mean and a coefficient of variation, (size,)."""
    sigma = np.sqrt(np.log1p(cv * cv))
    seconds: Floats = mean_s * np.exp(sigma * rng.standard_normal(size) - sigma * sigma / 2)
    return seconds


@dataclass(frozen=True)
class RolloutLoop:
    """Rollouts of a step: `rollouts` in all, `flying` at a time, each decodes `decode_s` at the full batch,
    calls tools `calls` times for `busy_s` each and starts its sandbox once in `cold_s`.

    `latency_frac`: share of a decode step that does not shrink with the batch; 0: other sequences hide tools
    until decoding is shorter than they are.
    """

    rollouts: float
    flying: float
    decode_s: float
    calls: float
    busy_s: float
    cold_s: float = 0.0
    latency_frac: float = 0.5


@dataclass(frozen=True)
class Phase:
    """A rollout phase with tools in seconds: all of it, and how much of it no tool would save."""

    total_s: float
    decode_only_s: float
    wait_s: float
    wait_p95_s: float
    wait_frac: float
    busy_frac: float
    decoding: float

    @property
    def lost_s(self) -> float:
        """Seconds that tools and waiting add."""
        return self.total_s - self.decode_only_s


def full_batch_decode_s(wall_s: float, outside_s: float, latency_frac: float) -> float:
    """Decode seconds of a rollout at the full batch, from its wall time and what it spends outside decoding.

    While others are outside, a share decode / wall of them fills the batch and a step takes (f + (1 - f) x
    share) of a full one. Raises ValueError when tools and waits take longer than the rollout.
    """
    decode = wall_s - outside_s
    if not decode > 0:
        raise ValueError(f"{outside_s:.4g} s outside decoding do not fit a rollout of {wall_s:.4g} s")
    return decode / (latency_frac + (1 - latency_frac) * decode / wall_s)


def phase(loop: RolloutLoop, servers: int, per_rollout: bool, tail: bool = True) -> Phase:
    """The phase with `servers` sandboxes, held for a whole rollout (`per_rollout`) or for each call.

    Closed loop (Little 1961): total = rollouts / flying x wall time of one. Held for a rollout, fewer
    sandboxes than rollouts leave fewer of them flying. Held for a call, waits are those of `closed_pool`,
    solved together with the decode step that shrinks as the batch empties. Without `tail` the p95 of waits
    for a call is NaN.
    """
    if per_rollout:
        return _held(loop, min(float(servers), loop.flying))
    return _shared(loop, servers, _share(loop, servers), tail=tail)


def _share(loop: RolloutLoop, servers: int) -> float:
    """Share of the full batch that decodes, given that a step takes as long as that share makes it.

    Root of decoding(share) / flying - share: repeated from a full batch, from where the shares only fall,
    then by regula falsi (Illinois).
    """

    def over(share: float) -> float:
        return _shared(loop, servers, share, tail=False).decoding / loop.flying - share

    low, high = 0.0, 1.0
    for _ in range(_REPEATED):
        at_high = over(high)
        if abs(at_high) < 1e-7:
            return high + at_high
        high = max(high + at_high, 0.0)
    at_low, at_high = max(over(low), 0.0), min(over(high), 0.0)
    for _ in range(_HALVINGS):
        if high - low < 1e-9 or at_low - at_high < 1e-12:
            break
        share = (low * at_high - high * at_low) / (at_high - at_low)
        found = over(share)
        if abs(found) < 1e-7:
            return share
        if found > 0:
            low, at_low, at_high = share, found, at_high / 2
        else:
            high, at_high, at_low = share, found, at_low / 2
    return (low + high) / 2


def _decode_s(loop: RolloutLoop, share: float) -> float:
    """Decode seconds of a rollout with a share of the full batch."""
    return loop.decode_s * (loop.latency_frac + (1 - loop.latency_frac) * share)


def _held(loop: RolloutLoop, flying: float) -> Phase:
    outside = loop.calls * loop.busy_s + loop.cold_s
    low, high = 0.0, 1.0
    most = flying / loop.flying
    for _ in range(_HALVINGS):
        share = (low + high) / 2
        decode = _decode_s(loop, share)
        low, high = (share, high) if share < most * decode / (decode + outside) else (low, share)
    wall = _decode_s(loop, share) + outside
    total = loop.rollouts / flying * wall
    wait = wall * (loop.flying / flying - 1)
    waits = 0.0 if flying >= loop.flying else 1.0
    alone = loop.rollouts / loop.flying * loop.decode_s
    return Phase(total, alone, wait, wait, waits, 1.0, share * loop.flying)


def _shared(loop: RolloutLoop, servers: int, share: float, tail: bool) -> Phase:
    decode = _decode_s(loop, share)
    flying, between = max(1, round(loop.flying)), (decode + loop.cold_s) / loop.calls
    pool = closed_pool(servers, flying, between, loop.busy_s, tail)
    wall = decode + loop.cold_s + loop.calls * (loop.busy_s + pool.wait_s)
    alone = loop.rollouts / loop.flying * loop.decode_s
    return Phase(
        loop.rollouts / loop.flying * wall, alone, pool.wait_s, pool.wait_p95_s, pool.wait_frac,
        pool.busy_frac, loop.flying * decode / wall,
    )  # fmt: skip
