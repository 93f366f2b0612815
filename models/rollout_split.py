"""A measured rollout phase split into work, tail and prompts: what its engines achieve of their peaks."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from models.decode import LAYER_S, DecodeFactors, decode_step
from models.engine_fit import EngineFit, engine_fit
from models.factors import Factor, Refusal, over_steps, prior
from models.machine import Rates
from models.operating import Operating, engine_load, occupied
from models.prefill import PrefillLoad, prefill
from models.shapes import Num, num
from models.streams import flight_factor, in_flight, longest_factor
from models.workload import EnginePoint, Floats, Workload

PREFILL_PRIOR = {"dense": (0.32, 0.40, 0.50), "moe": (0.06, 0.12, 0.18)}
"""Achieved share of FLOP/s in prompts: fits on published serving points (see `models.decode`)."""
BANDWIDTH_PRIOR = (0.86, 0.90, 1.03)
UNKNOWN_TAIL = (0.2, 0.5, 0.8)
"""Share of a generation that does not shrink, when only mean lengths are known: half of it as in
`models.transfer.step_ratio`, with the range that `models.transfer` gives to unknown shares.
"""
MOST_PREFILL = 0.5
ALONE = DecodeFactors(eta_bandwidth=1.0, eta_flops=1.0, eta_prefill=1.0, eta_link=1.0, layer_s=1.0)
USUAL = DecodeFactors()
HALVINGS, SLOWEST = 80, 1e6
CAUSES = (
    "the count of GPUs is too low, or it is that of one node",
    "GPUs of a replica are more than stated",
    "lengths count more tokens than were generated (padding, prompts, a cap)",
    "weights or cache are kept at a lower precision than stated",
    "tokens were drafted and verified (speculative decoding)",
    "the seconds are the wait of the trainer and not the generation",
)
PROMPT_CAUSES = (
    "prompt tokens are summed over turns whose prefix was cached",
    "the count of GPUs is too low, or it is that of one node",
    "the seconds are the wait of the trainer and not the generation",
)


@dataclass(frozen=True)
class RolloutSplit:
    """Mean seconds of the parts of a measured rollout phase.

    In `async` mode `tail_s` is what the longest response takes beyond the work, 0 where it outlasts lag + 1
    steps, which then do not wait for it (`waits` False). `tpot_full_s`: seconds a token at the full batch,
    `tpot_tail_s` those of a step of the tail, `tail_batch` the batch of such a step. `tail_range`:
    share of the tail in decoding at least, usually and at most; all the same where lengths tell it.
    """

    work_s: float
    tail_s: float
    prefill_s: float
    tpot_full_s: float
    tpot_tail_s: float
    tail_batch: float
    tail_range: tuple[float, float, float]
    waits: bool = True


@dataclass(frozen=True)
class RolloutFit:
    """The split of a rollout phase, its factors, where engines operate; no split with what is refused.

    `others`: splits at the smallest and largest replica that could give the seconds, where nobody says it.
    """

    split: RolloutSplit | None
    operating: Operating
    factors: tuple[Factor, ...]
    refusals: tuple[Refusal, ...] = ()
    others: tuple[tuple[RolloutSplit, Operating], ...] = ()


@dataclass(frozen=True)
class _Terms:
    """Seconds of a rollout's steps at full peaks, by part of the phase; layers x steps; seconds on links."""

    memory_s: Floats
    compute_s: Floats
    layer_steps: float
    link_s: float

    def seconds(self, slow: Num, slow_flops: Num, layer_s: float) -> Floats:
        """Decode seconds at 1 / eta of bandwidth and of FLOP/s (steps,), and a constant a layer."""
        memory = np.multiply.outer(slow, self.memory_s)
        total: Floats = np.maximum(memory, np.multiply.outer(slow_flops, self.compute_s)).sum(axis=-1)
        return total + self.layer_steps * layer_s + self.link_s

    @property
    def least_s(self) -> float:
        """Seconds that no machine with these peaks stays below."""
        return float(self.seconds(1.0, 1.0, 0.0)) - self.link_s


def fit_replica(
    workload: Workload,
    options: Sequence[Operating],
    rollout_s: Floats,
    points: Sequence[EnginePoint] = (),
) -> RolloutFit:
    """`fit_rollout` at the replica of `options` that tells most of the measured seconds (steps,).

    Where the run does not say its replica, that is the one whose usual engines come closest to the seconds;
    for streams, whose batch no log tells either, the first. Refused only when every replica is.
    """
    if len(options) == 1:
        return fit_rollout(workload, options[0], rollout_s, points)
    ranked = (
        options if workload.mode == "async" else sorted(options, key=partial(_apart, workload, rollout_s))
    )
    fits = [fit_rollout(workload, at, rollout_s, points) for at in ranked]
    told = [(fit.split, fit.operating) for fit in fits if not fit.refusals and fit.split is not None]
    if not told:
        return min(fits, key=lambda fit: fit.refusals[0].value)
    best = next(fit for fit in fits if not fit.refusals)
    sizes = [at.replica_gpus for _, at in told]
    usual = (float(min(sizes)), float(best.operating.replica_gpus), float(max(sizes)))
    words = "not logged; where usual engines come closest to the seconds, between those that could give them"
    ends = (min(told, key=lambda one: one[1].replica_gpus), max(told, key=lambda one: one[1].replica_gpus))
    others = tuple(one for one in ends if one[1].replica_gpus != best.operating.replica_gpus)
    guess = prior("rollout", "replica_gpus", "GPUs", usual, words)
    return replace(best, factors=(*best.factors, guess), others=others)


def _apart(workload: Workload, rollout_s: Floats, at: Operating) -> float:
    """Log ratio, without sign, of what usual engines take for a rollout phase and what it took."""
    usual = PREFILL_PRIOR["moe" if workload.llm.is_moe else "dense"][1]
    slow = (1 / float(USUAL.eta_bandwidth), 1 / float(USUAL.eta_flops))
    decode_s = float(_terms(workload, at).seconds(*slow, float(USUAL.layer_s)))
    return abs(math.log((decode_s + prompts_s(workload, usual)) / float(rollout_s.mean())))


def fit_rollout(
    workload: Workload, at: Operating, rollout_s: Floats, points: Sequence[EnginePoint] = ()
) -> RolloutFit:
    """Split measured seconds (steps,) of a rollout phase, with the eta of bandwidth at which models agree.

    The constant of a layer stays at its prior unless `points` of an engine's log at two batches fix both.
    Where that prior leaves more than the peak to the memory, the constant is solved at the usual eta instead;
    where even no constant is too slow, one share of both peaks is. A share above 1 is refused.
    """
    prompts = _prompts(workload, float(rollout_s.mean()))
    if isinstance(prompts, Refusal):
        return RolloutFit(None, at, (), (prompts,))
    prefill_s = prompts_s(workload, prompts.value)
    terms = _terms(workload, at)
    decode_s = np.append(rollout_s, rollout_s.mean()) - prefill_s
    if not decode_s[-1] >= terms.least_s:
        value = terms.least_s / decode_s[-1] if decode_s[-1] > 0 else math.inf
        return RolloutFit(None, at, (prompts,), (Refusal("rollout", "share of peaks", value, CAUSES),))
    if workload.mode == "async":
        split, there, found = _streamed(workload, at, decode_s, prefill_s, points)
        return RolloutFit(split, there, (*found, prompts))
    tail = None if workload.tail_known else _unknown_tail(terms, float(decode_s[-1]))
    work_s = decode_s if tail is None else decode_s * (1 - tail[1])
    factors, found = _factors(workload, at, terms, work_s, points)
    split = _split(workload, at, factors, float(decode_s[-1]), prefill_s, tail)
    return RolloutFit(split, at, (*found, prompts, _tail(split)))


def prompts_s(workload: Workload, eta: float) -> float:
    """Seconds in which all engines read the prompts of a step at an achieved share of FLOP/s."""
    pool = workload.engines
    load = PrefillLoad(
        prompts=workload.rollouts / workload.group,
        prompt_tokens=workload.prompt_tokens,
        gpus=pool.gpus,
        weight_bytes=pool.bytes_per_weight,
        group=workload.group,
    )
    rates = Rates.of(pool.machine, pool.precision)
    return float(prefill(workload.llm, load, rates, eta, 1.0).total_s)


def rates_at(workload: Workload, at: Operating) -> Rates:
    """Peaks of the run's engines; a replica that spans link domains talks over the network."""
    machine = workload.engines.machine
    rates = Rates.of(machine, workload.engines.precision)
    return replace(rates, link_bytes_per_s=num(machine.scaleout_bytes_per_s)) if at.domains > 1 else rates


def _prompts(workload: Workload, rollout_s: float) -> Factor | Refusal:
    usual = PREFILL_PRIOR["moe" if workload.llm.is_moe else "dense"]
    room = MOST_PREFILL * rollout_s
    if prompts_s(workload, usual[1]) <= room:
        words = "usual share; prompts are not timed apart from decoding"
        return prior("prefill", "eta_prefill", "of dense peak", usual, words)
    ideal = prompts_s(workload, 1.0)
    if not ideal <= room:
        return Refusal("rollout", "prompts in half of the phase", ideal / room, PROMPT_CAUSES)
    low, high = usual[1], 1.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if prompts_s(workload, middle) <= room else (middle, high)
    words = "at the usual share prompts would take over half of the phase; taken as half of it"
    return prior("prefill", "eta_prefill", "of dense peak", (high, high, 1.0), words)


def _terms(workload: Workload, at: Operating) -> _Terms:
    """Terms of all steps; of those of the work alone in streams, and where lengths do not tell a tail."""
    steps, batches = np.array([at.work_steps]), np.array([at.batch])
    if workload.tail_known and workload.mode != "async":
        steps, batches = occupied(workload, at)
    load = engine_load(workload, workload.engines, at, batches)
    ideal = decode_step(workload.llm, load, rates_at(workload, at), ALONE)
    return _Terms(
        memory_s=steps * ideal.memory_s,
        compute_s=steps * ideal.compute_s,
        layer_steps=float((steps * ideal.constant_s).sum()),
        link_s=float((steps * ideal.link_s).sum() / USUAL.eta_link),
    )


def _factors(
    workload: Workload, at: Operating, terms: _Terms, work_s: Floats, points: Sequence[EnginePoint]
) -> tuple[DecodeFactors, tuple[Factor, ...]]:
    """Factors from an engine's log where it tells them, else from the seconds (steps..., mean) alone."""
    logged = engine_fit(workload, at, rates_at(workload, at), points)
    return _solved(workload, terms, work_s) if logged is None else _logged(logged, terms, work_s)


def _streamed(
    workload: Workload, most: Operating, work_s: Floats, prefill_s: float, points: Sequence[EnginePoint]
) -> tuple[RolloutSplit, Operating, tuple[Factor, ...]]:
    """Engines of an asynchronous run: a batch that never drains makes a step's tokens in a step.

    How many sequences are in flight and what engines achieve cannot both be told: unless the run's cap binds,
    engines are usual and the batch follows; where even the largest batch is too slow for that, they are
    faster than usual and their share is solved.
    """
    at = in_flight(workload, most, rates_at(workload, most), USUAL, float(work_s[-1]))
    if at is most:
        _, found = _factors(workload, at, _terms(workload, at), work_s, points)
    else:
        held = prior("rollout", "eta_bandwidth", "of peak", BANDWIDTH_PRIOR, "usual share, not solved")
        constant = prior("rollout", "layer_s", "s a layer", LAYER_S, "usual constant, not solved")
        found = (held, constant, flight_factor(at, most))
    step_s = float(work_s[-1]) / at.work_steps
    longest = longest_factor(workload, at, step_s, float(work_s[-1]) + prefill_s)
    waits = workload.tail_known and longest.value <= 1
    tail_s = at.tail_steps * step_s if waits else 0.0
    share = tail_s / (tail_s + float(work_s[-1]))
    split = RolloutSplit(
        float(work_s[-1]), tail_s, prefill_s, step_s, step_s, at.batch, (share, share, share), waits
    )
    return split, at, (*found, longest) if workload.tail_known else found


def _unknown_tail(terms: _Terms, decode_s: float) -> tuple[float, float, float]:
    """Range of a tail that lengths do not tell; at most what the peaks leave beside the work."""
    low, middle, high = UNKNOWN_TAIL
    fits = min(1.0, (1 - terms.least_s / decode_s) / high)
    return low * fits, middle * fits, high * fits


def _solved(workload: Workload, terms: _Terms, decode_s: Floats) -> tuple[DecodeFactors, tuple[Factor, ...]]:
    """Factors of a feasible phase: (steps..., mean) seconds of decoding."""
    slow_flops = 1 / float(USUAL.eta_flops)
    known = workload.tail_known
    etas = [_share(partial(terms.seconds, slow_flops=slow_flops, layer_s=c), decode_s) for c in LAYER_S]
    eta = etas[1]
    if eta[-1] <= 1:
        words = (
            f"with the constant of a layer at its prior of {LAYER_S[1] * 1e6:.0f} us; "
            f"{LAYER_S[0] * 1e6:.0f} to {LAYER_S[2] * 1e6:.0f} us give {etas[0][-1]:.2f} to {etas[2][-1]:.2f}"
        )
        shown = known and float(terms.memory_s.sum() / eta[-1]) > float(terms.compute_s.sum()) * slow_flops
        words += "" if known else "; lengths are known by their mean only"
        solved = _eta(eta, words, identified=shown)
        constant = prior("rollout", "layer_s", "s a layer", LAYER_S, "one batch size cannot tell it apart")
        return replace(USUAL, eta_bandwidth=float(eta[-1])), (solved, constant)
    slow = 1 / float(USUAL.eta_bandwidth)
    constants = (decode_s - terms.seconds(slow, slow_flops, 0.0)) / terms.layer_steps
    if constants[-1] >= 0:
        words = "the prior would leave more than the peak to the memory; solved at the usual share of it"
        held = prior("rollout", "eta_bandwidth", "of peak", BANDWIDTH_PRIOR, "usual share, not solved")
        found = over_steps(
            "rollout", "layer_s", "s a layer", constants[:-1], float(constants[-1]), words, identified=known
        )
        return replace(USUAL, layer_s=float(constants[-1])), (held, found)
    both = _share(lambda slow: terms.seconds(slow, slow, 0.0), decode_s)
    words = "share of bandwidth and of FLOP/s alike, without any constant: faster than usual engines"
    factors = replace(USUAL, eta_bandwidth=float(both[-1]), eta_flops=float(both[-1]), layer_s=0.0)
    return factors, (_eta(both, words, identified=known),)


def _logged(logged: EngineFit, terms: _Terms, decode_s: Floats) -> tuple[DecodeFactors, tuple[Factor, ...]]:
    factors = replace(USUAL, eta_bandwidth=logged.eta_bandwidth, layer_s=logged.layer_s)
    model = terms.seconds(1 / logged.eta_bandwidth, 1 / float(USUAL.eta_flops), logged.layer_s)
    over = decode_s / float(model)
    words = "seconds of the phase over those that the engine's own steps add up to"
    scale = over_steps("rollout", "overhead", "ratio", over[:-1], float(over[-1]), words)
    return factors, (*logged.factors, scale)


def _split(
    workload: Workload,
    at: Operating,
    factors: DecodeFactors,
    decode_s: float,
    prefill_s: float,
    tail: tuple[float, float, float] | None,
) -> RolloutSplit:
    """Parts that add up to the measured phase, at what a step takes with the factors found."""
    steps, occupancy = occupied(workload, at)
    batches = np.append(np.geomspace(1.0, max(at.batch, 1.0), 200), occupancy)
    load = engine_load(workload, workload.engines, at, batches)
    step_s = np.asarray(decode_step(workload.llm, load, rates_at(workload, at), factors).total_s)
    full_s, first_s = float(step_s[199]), float(step_s[0])
    if tail is not None:
        work_s = decode_s * (1 - tail[1])
        full_s = work_s / at.work_steps
        return RolloutSplit(work_s, decode_s - work_s, prefill_s, full_s, first_s, 1.0, tail)
    modelled = float(steps @ step_s[200:])
    work_s = min(at.work_steps * full_s / modelled, 1.0) * decode_s
    tail_s = decode_s - work_s
    if not at.tail_steps > 0 or not tail_s > 0:
        tail_s, tail_step = 0.0, first_s * decode_s / modelled
        work_s = decode_s
    else:
        tail_step = tail_s / at.tail_steps
    batch = float(np.interp(tail_step * modelled / decode_s, step_s[:200], batches[:200]))
    share = tail_s / decode_s
    full_s = work_s / at.work_steps
    return RolloutSplit(work_s, tail_s, prefill_s, full_s, tail_step, batch, (share, share, share))


def _tail(split: RolloutSplit) -> Factor:
    low, share, high = split.tail_range
    if low < high:
        words = "only the mean of the lengths is known: give p50, p95 and the longest, or the responses"
        return prior("rollout", "tail_frac", "of decoding", split.tail_range, words)
    words = "from the lengths: what the phase takes longer because the batch empties"
    return Factor("rollout", "tail_frac", share, share, share, "of decoding", 0, True, "measured", words)


def _eta(values: Floats, words: str, *, identified: bool) -> Factor:
    return over_steps(
        "rollout", "eta_bandwidth", "of peak", values[:-1], float(values[-1]), words, identified=identified
    )


def _share(seconds: Callable[[Floats], Floats], wanted_s: Floats) -> Floats:
    """Share of peak (steps,) at which `seconds` of its inverse gives `wanted_s`, by bisection of its log."""
    low, high = np.full(wanted_s.shape, -math.log(SLOWEST)), np.full(wanted_s.shape, math.log(SLOWEST))
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        above = seconds(np.exp(middle)) >= wanted_s
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    share: Floats = np.exp(-(low + high) / 2)
    return share
