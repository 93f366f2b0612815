"""Decoding of a run on other engines: seconds of work and tail, and what another precision reaches."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from models.operating import Operating, moved_operating, operate
from models.rollout_split import RolloutSplit
from models.stats import z_value
from models.transfer import Chip, DecodeCase, Moved, decode_log_ratios
from models.workload import Pool, Workload

FORMAT_REACHED = {
    frozenset(("bf16", "fp8")): 0.5,
    frozenset(("fp8", "fp4")): 0.3,
    frozenset(("bf16", "fp4")): 0.4,
}
"""Share of the log gain on paper that another precision brings. FP8 half, as pairs of training are predicted
(`models.transfer.HALF`), one published model 0.7; FP4 over FP8 in published rows of one platform 0 to 0.5 in
training and 0.3 to 0.45 in decoding.
"""
REACHED_RANGE = 0.3
"""p10 and p90 lie this far from it, as the shares nobody knows in `models.transfer` (0.2 to 0.8)."""
BAND_MASS = 0.8


@dataclass(frozen=True)
class Decoded:
    """Seconds of a part before its pair factor, log spread over the grid and of another precision."""

    seconds: float
    spread: float
    format_sigma: float = 0.0


def decoded_on(
    workload: Workload, split: RolloutSplit, at: Operating, pool: Pool
) -> tuple[Operating | None, tuple[Decoded, Decoded] | None, tuple[str, ...]]:
    """Engines on `pool`, their work and tail; None with what is unknown or does not fit.

    At another precision: seconds at the run's own on that pool x (ratio of the two on paper) ^ `reached`.
    """
    there, parts, unknown = _decoded(workload, split, at, pool)
    plain = replace(pool, precision=workload.engines.precision)
    if parts is None or pool.precision == plain.precision:
        return there, parts, unknown
    known, before, unknown = _decoded(workload, split, at, plain)
    unknown += no_peak(plain)
    if known is None or before is None or unknown:
        return None, None, unknown
    work, tail = (_reached(a, b, reached(plain, pool)) for a, b in zip(before, parts, strict=True))
    return there, (work, tail), ()


def reached_speed(own: Pool, pool: Pool) -> float:
    """Speed of FLOP on a GPU of `pool` over one of `own`: peaks at the precision of `own`, and the share
    reached of what the precision of `pool` adds to that.
    """
    chips = pool.machine.flops_at(own.precision) / own.machine.flops_at(own.precision)
    return chips * math.exp(reached(own, pool) * math.log(format_gain(own, pool)))


def reached(own: Pool, pool: Pool) -> float:
    """Share of a gain on paper that is reached between two precisions; 1 when they are the same."""
    return FORMAT_REACHED.get(frozenset((own.precision, pool.precision)), 1.0)


def asked_words(own: Pool, pool: Pool) -> str:
    """Both precisions, and what of the gain on paper counts as reached."""
    power = f"{reached(own, pool):g} ({reached(own, pool) - REACHED_RANGE:.1g} to "
    power += f"{reached(own, pool) + REACHED_RANGE:.1g})"
    return f"{pool.precision} instead of {own.precision}, as asked: its gain on paper to the power {power}"


def format_gain(own: Pool, pool: Pool) -> float:
    """Peak of `pool` at its precision over the one at the precision of `own`; 1 when they are the same."""
    if own.precision == pool.precision:
        return 1.0
    return pool.machine.flops_at(pool.precision) / pool.machine.flops_at(own.precision)


def format_sigma(log_gain: float) -> float:
    """Log spread of what is reached of a gain on paper."""
    return abs(log_gain) * REACHED_RANGE / z_value(BAND_MASS)


def no_peak(pool: Pool) -> tuple[str, ...]:
    """Peak of a pool at its precision when nobody published it, as `platform: fact`."""
    return tuple(f"{pool.machine.platform_id}: {fact}" for fact in pool.machine.missing(pool.precision))


def wider(
    sigmas: tuple[float, float], part: Decoded, layout: tuple[float, float] = (0.0, 0.0)
) -> tuple[float, float]:
    """Log spread of a factor, no tighter than that over the grid, with those of a format and of a layout."""
    low, high = (
        math.hypot(max(side, part.spread), part.format_sigma, guess)
        for side, guess in zip(sigmas, layout, strict=True)
    )
    return low, high


def layout_sigmas(
    workload: Workload, layouts: Sequence[tuple[RolloutSplit, Operating]], pool: Pool, decoded_s: float
) -> tuple[float, float]:
    """Log spread (below, above) of decoding speed on `pool` because nobody says how large a replica is.

    `layouts`: the smallest and largest that could give the run's seconds, taken as p10 and p90 as any prior;
    `decoded_s`: seconds of work and tail at the likeliest. 0 on both sides where the run says its replica.
    """
    logs = [0.0]
    for split, at in layouts:
        _, parts, _ = decoded_on(workload, split, at, pool)
        if parts is not None and decoded_s > 0:
            logs.append(math.log(sum(part.seconds for part in parts) / decoded_s))
    z = z_value(BAND_MASS)
    return max(logs) / z, -min(logs) / z


def _reached(before: Decoded, after: Decoded, share: float) -> Decoded:
    if not before.seconds > 0:
        return before
    gain = math.log(after.seconds / before.seconds)
    seconds = before.seconds * math.exp(share * gain)
    return Decoded(seconds, max(before.spread, after.spread), format_sigma(gain))


def _decoded(
    workload: Workload, split: RolloutSplit, at: Operating, pool: Pool
) -> tuple[Operating | None, tuple[Decoded, Decoded] | None, tuple[str, ...]]:
    there, unknown = moved_operating(workload, at, pool)
    if there is None:
        return None, None, unknown
    there = _best_batch(workload, split, at, there, pool)
    return there, _parts(workload, split, at, there, pool), ()


def _parts(
    workload: Workload, split: RolloutSplit, at: Operating, there: Operating, pool: Pool
) -> tuple[Decoded, Decoded]:
    work, tail = (_decoding(workload, split, at, there, pool, full=full) for full in (True, False))
    return work, tail


def _best_batch(
    workload: Workload, split: RolloutSplit, at: Operating, there: Operating, pool: Pool
) -> Operating:
    """Streams with the run's batch where a bigger one makes the longest response outlast what it saves."""
    if workload.mode != "async" or there.batch <= at.batch or not split.waits:
        return there
    same = operate(
        workload,
        pool,
        there.replica_gpus,
        kept=there.kept,
        in_flight=at.batch,
        spread=there.expert_parallel,
    )

    def cycle_s(one: Operating) -> float:
        work, tail = _parts(workload, split, at, one, pool)
        return max(work.seconds, (work.seconds + tail.seconds) / (workload.lag + 1))

    return there if same is None or cycle_s(there) <= cycle_s(same) else same


def _decoding(
    workload: Workload, split: RolloutSplit, at: Operating, there: Operating, pool: Pool, *, full: bool
) -> Decoded:
    """Seconds of the work (`full`) or the tail on `pool` before its factor, and the spread over the grid."""
    batch = at.batch if full else split.tail_batch
    moved = there.batch if full or workload.mode == "async" else min(split.tail_batch, there.batch)
    case = DecodeCase(
        llm=workload.llm,
        a=_chip(workload.engines),
        b=_chip(pool),
        gpus=at.replica_gpus,
        batch=batch,
        prompt=0.0,
        output=2 * at.context,
        tpot_s=split.tpot_full_s if full else split.tpot_tail_s,
        bytes_per_weight=workload.engines.bytes_per_weight,
        kv_bytes=workload.cached_bytes(workload.engines),
        gpus_known=False,
        moved=Moved(there.replica_gpus, moved, pool.bytes_per_weight, workload.cached_bytes(pool)),
    )
    logs = decode_log_ratios(case)
    ratio = math.exp(float(logs.mean()))
    if full:
        return Decoded(there.work_steps * split.tpot_full_s * ratio, float(logs.std()))
    if not workload.tail_known or not split.waits:
        return Decoded(split.tail_s * ratio, float(logs.std()))
    return Decoded(there.tail_steps * split.tpot_tail_s * ratio, float(logs.std()))


def _chip(pool: Pool) -> Chip:
    machine = pool.machine
    memory, rate = (
        math.nan if value is None else value for value in (machine.hbm_bytes, machine.hbm_bytes_per_s)
    )
    return Chip(machine.flops_at(pool.precision), rate, memory)
