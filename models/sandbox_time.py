"""Time in sandboxes and tools: what a turn waits for, how many are needed, what generation hides. Seconds."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from models.shapes import Num, at_least, at_most, num, where

MOST_SERVERS = 100_000
_HALVINGS = 40


@dataclass(frozen=True)
class Episode:
    """One rollout with tools, in seconds: prompts, decoding, tools at work, waiting for a free sandbox."""

    first_token_s: Num
    decode_s: Num
    tool_s: Num
    wait_s: Num

    @property
    def total_s(self) -> Num:
        """Wall time of the rollout."""
        return self.first_token_s + self.decode_s + self.tool_s + self.wait_s

    @property
    def decode_frac(self) -> Num:
        """Share of the wall time in which the rollout fills a slot of the batch."""
        return self.decode_s / self.total_s


@dataclass(frozen=True)
class EpisodeLoad:
    """Means over rollouts: turns, output tokens a turn, seconds of a tool call, calls a turn."""

    turns: Num
    tokens_per_turn: Num
    tool_s: Num
    calls_per_turn: Num = 1.0


def episode(load: EpisodeLoad, first_token_s: Num, step_s: Num, wait_s: Num = 0.0) -> Episode:
    """Wall time of a rollout: turns x (TTFT + tokens x step) + calls x (tool + wait).

    `first_token_s` and `step_s` come from the prefill and decode models; `wait_s` from `queue`. Tools run on
    CPUs: their seconds do not change with the GPU.
    """
    turns = num(load.turns)
    calls = turns * load.calls_per_turn
    return Episode(
        first_token_s=turns * first_token_s,
        decode_s=turns * load.tokens_per_turn * step_s,
        tool_s=calls * load.tool_s,
        wait_s=calls * wait_s,
    )


def in_flight(rate_per_s: Num, seconds: Num) -> Num:
    """Items at a time in a steady flow: rate x mean time (Little 1961, Operations Research 9:383).

    Rollouts in flight = rollouts/s x wall time; busy sandboxes = calls/s x busy seconds.
    """
    return num(rate_per_s) * seconds


def tool_seconds_on(tool_s: Num, cpu_frac: Num, cpu_speedup: Num) -> Num:
    """Tool seconds on other CPUs: s (1 - f + f / speed-up), f the share that is CPU work (Amdahl 1967)."""
    share = num(cpu_frac)
    return num(tool_s) * (1 - share + share / cpu_speedup)


@dataclass(frozen=True)
class Queue:
    """A pool of sandboxes under load: busy ones, their share, chance to wait, mean wait in seconds."""

    offered: Num
    busy_frac: Num
    wait_frac: Num
    wait_s: Num


def erlang_c(servers: int, offered: Num) -> Num:
    """Chance 0..1 that a call finds all `servers` busy, `offered` = rate x busy seconds (Erlang 1917).

    From Erlang B by recursion, B(k) = a B(k-1) / (k + a B(k-1)); C = B / (1 - a/c (1 - B)). 1 when the load
    is not below the servers. Raises ValueError for fewer than one server.
    """
    if not 1 <= servers <= MOST_SERVERS:
        raise ValueError(f"servers must be between 1 and {MOST_SERVERS}: {servers}")
    load = at_most(num(offered), float(servers))
    blocked = load * 0 + 1.0
    for count in range(1, servers + 1):
        blocked = load * blocked / (count + load * blocked)
    return blocked / (1 - load / servers * (1 - blocked))


def queue(servers: int, rate_per_s: Num, busy_s: Num) -> Queue:
    """M/M/c pool: mean wait = C(c, a) / (c / busy - rate); infinite when calls come faster than they leave.

    Poisson calls and exponential service; tool times with a longer tail wait longer (Allen-Cunneen scales
    the wait by (1 + cv^2) / 2), a closed set of rollouts waits less.
    """
    offered = num(rate_per_s) * busy_s
    chance = erlang_c(servers, offered)
    spare = servers / num(busy_s) - num(rate_per_s)
    wait = where(spare > 0, chance / where(spare > 0, spare, 1.0), where(np.isnan(spare), spare, np.inf))
    return Queue(offered=offered, busy_frac=offered / servers, wait_frac=chance, wait_s=wait)


def steady_batch(rollouts: Num, tokens: Num, idle_s: Num, step_s: Callable[[Num], Num]) -> Num:
    """Sequences that decode at a time when `rollouts` are in flight and each idles `idle_s` in tools.

    Solves B = N x d / (d + idle), d = tokens x step time at B: Little's law in a closed loop. `step_s` must
    not fall with the batch. N without idling, NaN where the step time is not known.
    """
    most = num(rollouts)
    low, high = 0 * (most + idle_s + tokens), most + 0 * (num(idle_s) + tokens)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        decode = num(tokens) * step_s(middle)
        too_few = middle < most * decode / (decode + idle_s)
        low, high = where(too_few, middle, low), where(too_few, high, middle)
    batch = (low + high) / 2
    return batch + 0 * num(step_s(batch))


def exposed_tool_s(generation_s: Num, rollouts: Num, flying: Num, one: Episode) -> Num:
    """Seconds that tools add to a phase: what is left of rollouts / in flight x wall time beyond generation.

    A phase takes at least its work and at least rollouts / in flight x wall time (asymptotic bounds of a
    closed network, Denning and Buzen 1978): tools hide while other sequences fill the batch.
    """
    longest = num(rollouts) / flying * one.total_s
    return at_least(longest - generation_s, 0.0)
