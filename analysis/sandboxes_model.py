"""Sandboxes of a rollout phase in numbers: how many, what they cost, what waiting for them costs the GPUs."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from analysis.planning import Floats, values_of
from analysis.sandboxes_inputs import SandboxesParams, SandboxInputs
from data.errors import UserError
from models.cost import SECONDS_PER_HOUR
from models.sandbox_pool import (
    Phase,
    RolloutLoop,
    full_batch_decode_s,
    log_normal_seconds,
    phase,
    servers_for_tail,
    simulated_waits,
    variable_wait_s,
    wait_quantile,
)
from models.sandbox_time import MOST_SERVERS, queue

COPIES, CALLS, FIRST = 8, 8_000, 2_000
LOG_NORMAL_MOST = 3.86
"""Largest p95 over mean of a log-normal; beyond it a few starts are cold and the rest take nothing."""


@dataclass(frozen=True)
class Costed:
    """A number of sandboxes: their cores, the phase they give, and dollars of one step's rollout phase.

    `wait_usd`: GPU dollars that waiting for a sandbox takes; `tools_usd`: those that tools themselves take.
    """

    servers: int
    cores: float
    mem_gib: float
    phase: Phase
    wait_usd: float
    tools_usd: float
    cpu_usd: float
    gpu_usd: float
    rollouts: float

    @property
    def total_usd(self) -> float:
        """GPUs and CPUs over the phase."""
        return self.gpu_usd + self.cpu_usd

    @property
    def usd_per_rollout(self) -> float:
        """Dollars of one rollout of the step."""
        return self.total_usd / self.rollouts


def service_s(values: Mapping[str, float], params: SandboxesParams) -> float:
    """Seconds that a sandbox is held: a call with its start, or a whole rollout."""
    if params.hold == "call":
        return values["busy_s"] + values["cold_s"]
    return wall_s(values)


def wall_s(values: Mapping[str, float]) -> float:
    """Wall time of a rollout by Little's law: phase x rollouts at a time / rollouts of a step."""
    return values["rollout_phase_s"] * _flying(values) / values["rollouts_per_step"]


def _flying(values: Mapping[str, float]) -> float:
    return min(values["in_flight"], values["rollouts_per_step"])


def rate_per_s(values: Mapping[str, float], params: SandboxesParams) -> float:
    """Calls, or rollouts, that ask for a sandbox each second of the phase."""
    each = values["calls_per_rollout"] if params.hold == "call" else 1.0
    return values["rollouts_per_step"] * each / values["rollout_phase_s"]


def loop_of(values: Mapping[str, float], params: SandboxesParams) -> RolloutLoop:
    """The loop of rollouts behind the measured phase. Raises ValueError when tools take longer than it."""
    call, cold = values["busy_s"], values["cold_s"]
    if params.hold == "call":
        call, cold = call + cold, 0.0
    outside = values["calls_per_rollout"] * (call + values["queued_s"]) + cold
    decode = full_batch_decode_s(wall_s(values), outside, values["latency_frac"])
    return RolloutLoop(
        values["rollouts_per_step"], _flying(values), decode, values["calls_per_rollout"], call, cold,
        values["latency_frac"],
    )  # fmt: skip


def loop_or_refuse(values: Mapping[str, float], params: SandboxesParams) -> RolloutLoop:
    """`loop_of` with the refusal in the words of the person who typed the numbers."""
    try:
        return loop_of(values, params)
    except ValueError as error:
        raise UserError(
            f"Tools do not fit the rollout phase: {error}",
            "parameters calls_per_rollout, busy_s, rollout_phase_s",
            "Give fewer or shorter calls, a longer phase, or more rollouts at a time.",
        ) from error


def needed(values: Mapping[str, float], params: SandboxesParams) -> int:
    """Sandboxes: one for every rollout in flight; held by the call, as many as let 95 of 100 calls wait at
    most `longest_wait_s` (Erlang C), but no more than rollouts in flight.
    """
    most = max(1, round(_flying(values)))
    if params.hold == "rollout":
        return most
    load = rate_per_s(values, params) * service_s(values, params)
    if load >= most:
        return most
    found = open_need(values, params)
    return most if found is None else min(most, found)


def open_need(values: Mapping[str, float], params: SandboxesParams) -> int | None:
    """Sandboxes by Erlang C when calls or rollouts arrive at random instead of one as another ends.

    None for loads beyond what the formula is worked out for.
    """
    rate, held = rate_per_s(values, params), service_s(values, params)
    if rate * held * 2 + 2 > MOST_SERVERS:
        return None
    return servers_for_tail(rate, held, params.longest_wait_s)


def costed(
    values: Mapping[str, float], params: SandboxesParams, servers: int, loop: RolloutLoop | None = None,
    tail: bool = False,
) -> Costed:  # fmt: skip
    """Phase and dollars with a number of sandboxes; NaN dollars without a price, a p95 only with `tail`."""
    loop = loop or loop_of(values, params)
    per_rollout = params.hold == "rollout"
    found = phase(loop, servers, per_rollout, tail)
    free = _free(loop, per_rollout)
    cores, mem = servers * values["cores_per_sandbox"], servers * values["mem_gib"]
    cpu = (
        0.0
        if params.cores_from == "host"
        else cores * values["usd_per_core_h"] + mem * values["usd_per_gib_h"]
    )
    gpu = values["gpus"] * values["usd_per_gpu_h"] / SECONDS_PER_HOUR
    started = loop.rollouts / loop.flying * loop.cold_s
    tools = max(free.lost_s - started, 0.0)
    return Costed(
        servers, cores, mem, found,
        wait_usd=(found.lost_s - tools) * gpu,
        tools_usd=tools * gpu,
        cpu_usd=cpu * found.total_s / SECONDS_PER_HOUR,
        gpu_usd=gpu * found.total_s,
        rollouts=values["rollouts_per_step"],
    )  # fmt: skip


@lru_cache(maxsize=256)
def _free(loop: RolloutLoop, per_rollout: bool) -> Phase:
    """The phase with a sandbox for everybody."""
    return phase(loop, max(1, round(loop.flying)), per_rollout)


def servers_of(params: SandboxesParams, values: Mapping[str, float]) -> int:
    """Sandboxes in use: those of the cores on hand, else those needed. Raises UserError below one."""
    if params.cores_per_gpu is None:
        return needed(values, params)
    count = int(params.cores_per_gpu * values["gpus"] / values["cores_per_sandbox"] + 1e-9)
    if count < 1:
        raise UserError(
            f"{params.cores_per_gpu:g} cores a GPU are less than one sandbox of "
            f"{values['cores_per_sandbox']:g} cores", "parameter cores_per_gpu", "Give more cores.",
        )  # fmt: skip
    return count


def grid(values: Mapping[str, float], params: SandboxesParams, extra: int) -> list[int]:
    """Numbers of sandboxes to look at, denser where waits change, `extra` and what is needed among them."""
    most = max(1, round(_flying(values)))
    load = min(float(most), max(1.0, rate_per_s(values, params) * service_s(values, params)))
    around = load * np.concatenate([np.linspace(0.2, 0.9, 8), np.linspace(0.95, 1.6, 14), [2, 3, 5, 8]])
    tried = {max(1, min(most, round(one))) for one in around.tolist()}
    return sorted(tried | {extra, needed(values, params), most})


@dataclass(frozen=True)
class Check:
    """Mean wait by a formula and by simulation, with the p10 and p90 of the simulated mean."""

    what: str
    servers: int
    formula_s: float
    simulated_s: float
    low_s: float
    high_s: float
    formula_p95_s: float
    simulated_p95_s: float


def checks(inputs: SandboxInputs, params: SandboxesParams) -> list[Check]:
    """Erlang C against a simulated pool: exponential calls, and calls that vary and start cold as given.

    Rollouts that hold their own are shown as exponential ones alone: hundreds of sandboxes held equally long
    wait so rarely that neither the formula nor a simulation of this length tells by how much.
    """
    values = values_of(inputs.settings)
    rate, held = rate_per_s(values, params), service_s(values, params)
    servers = open_need(values, params)
    if servers is None:
        return []
    plain = queue(servers, rate, held)
    p95 = float(wait_quantile(servers, rate, held, 0.95))
    spread = math.hypot(values["busy_cv"] * values["busy_s"], _cold_sd(values)) / (
        values["busy_s"] + values["cold_s"]
    )
    told = "calls" if params.hold == "call" else "rollouts"
    cases = [(f"{told} of exponential length", False)]
    if params.hold == "call":
        cases.append((f"{told} as they vary here", True))
    out = []
    for what, variable in cases:
        seen = _simulated(values, params, servers, variable)
        means = seen.mean(axis=1)
        wide = 1.2816 * float(means.std(ddof=1)) / math.sqrt(COPIES)
        wait = float(variable_wait_s(plain.wait_s, spread)) if variable else float(plain.wait_s)
        middle = float(means.mean())
        out.append(
            Check(what, servers, wait, middle, max(middle - wide, 0.0), middle + wide,
                  math.nan if variable else p95, float(np.quantile(seen, 0.95)))
        )  # fmt: skip
    return out


def _cold_sd(values: Mapping[str, float]) -> float:
    """Standard deviation of the start, out of its mean and p95: log-normal, else a few cold starts."""
    mean, p95 = values["cold_s"], values["cold_p95_s"]
    if not mean > 0 or not p95 > mean:
        return 0.0
    if p95 / mean < LOG_NORMAL_MOST:
        return mean * math.sqrt(math.expm1(_cold_sigma(mean, p95) ** 2))
    return math.sqrt(mean * p95 - mean * mean)


def _cold_sigma(mean: float, p95: float) -> float:
    """Smaller root of ln(p95 / mean) = 1.645 sigma - sigma^2 / 2."""
    z = 1.6448536269514722
    return z - math.sqrt(max(z * z - 2 * math.log(p95 / mean), 0.0))


@dataclass(frozen=True)
class _Calls:
    """All that a simulation follows from: calls a second and how long one holds a sandbox.

    `kind`: exponential, or drawn (busy and cold as logged).
    """

    kind: str
    rate_per_s: float
    held_s: float
    busy_s: float
    busy_cv: float
    cold_s: float
    cold_p95_s: float

    def draw(self, rng: np.random.Generator) -> Floats:
        """Seconds of CALLS calls."""
        if self.kind == "exponential":
            return rng.exponential(self.held_s, CALLS)
        return log_normal_seconds(self.busy_s, self.busy_cv, CALLS, rng) + _cold(
            self.cold_s, self.cold_p95_s, rng
        )


def _simulated(values: Mapping[str, float], params: SandboxesParams, servers: int, variable: bool) -> Floats:
    kind = "drawn" if variable else "exponential"
    calls = _Calls(
        kind, rate_per_s(values, params), service_s(values, params), values["busy_s"], values["busy_cv"],
        values["cold_s"], values["cold_p95_s"],
    )  # fmt: skip
    return _waits(calls, servers, params.seed)


@lru_cache(maxsize=64)
def _waits(calls: _Calls, servers: int, seed: int) -> Floats:
    """Waits (copies, calls) without the first calls; kept, for most inputs of the question do not touch it.

    The pool starts as full as it is on average, each call with a uniform share of its seconds left and long
    calls met more often: a pool that starts empty takes many times the seconds of a call to fill.
    """
    out = []
    for copy in range(COPIES):
        rng = np.random.default_rng(seed + copy)
        arrive = np.cumsum(rng.exponential(1 / calls.rate_per_s, CALLS))
        seconds = calls.draw(rng)
        busy = rng.poisson(calls.rate_per_s * calls.held_s)
        met = rng.choice(seconds, busy, p=seconds / seconds.sum()) * rng.random(busy)
        out.append(simulated_waits(arrive, seconds, servers, met)[FIRST:])
    return np.array(out)


def _cold(mean: float, p95: float, rng: np.random.Generator) -> Floats:
    if not mean > 0:
        return np.zeros(CALLS)
    if not p95 > mean:
        return np.full(CALLS, mean)
    if p95 / mean < LOG_NORMAL_MOST:
        cv = math.sqrt(math.expm1(_cold_sigma(mean, p95) ** 2))
        return log_normal_seconds(mean, cv, CALLS, rng)
    starts: Floats = np.where(rng.random(CALLS) < mean / p95, p95, 0.0)
    return starts
