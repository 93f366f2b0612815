"""GPU-hours, rent, and which part of a run's time survives. All cost derives from allocations."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

SECONDS_PER_HOUR = 3600.0
AttemptStatus = Literal["running", "completed", "failed", "cancelled", "unknown"]


def gpu_hours(gpus: float, seconds: float) -> float:
    """GPU-hours of one allocation: gpus x seconds / 3600. Raises ValueError on a negative input."""
    return _device_hours(gpus, seconds, "gpus")


def core_hours(cores: float, seconds: float) -> float:
    """Core-hours of one allocation: cores x seconds / 3600. Raises ValueError on a negative input."""
    return _device_hours(cores, seconds, "cores")


def _device_hours(count: float, seconds: float, name: str) -> float:
    if not (math.isfinite(count) and math.isfinite(seconds)) or count < 0 or seconds < 0:
        raise ValueError(f"{name} and seconds must be finite and not negative: {count}, {seconds}")
    return count * seconds / SECONDS_PER_HOUR


def rent_usd(device_hours: float, usd_per_device_h: float) -> float:
    """USD of rented device-hours. Raises ValueError when the price is not above 0."""
    if not usd_per_device_h > 0:
        raise ValueError(f"a price must be above 0: {usd_per_device_h}")
    return device_hours * usd_per_device_h


def useful_usd_per_gpu_h(usd_per_gpu_h: float, allocated_frac: float, goodput_frac: float) -> float:
    """USD per productive GPU-hour = price / (allocated x goodput), both fractions in (0, 1]."""
    for name, frac in (("allocated_frac", allocated_frac), ("goodput_frac", goodput_frac)):
        if not 0 < frac <= 1:
            raise ValueError(f"{name} must be in (0, 1]: {frac}")
    return usd_per_gpu_h / (allocated_frac * goodput_frac)


def usd_per_million_tokens(usd_per_gpu_h: float, tokens_per_s_per_gpu: float) -> float:
    """USD per 1e6 tokens = price / (tokens/s/GPU x 3600) x 1e6, the usual serving formula."""
    if not tokens_per_s_per_gpu > 0:
        raise ValueError(f"tokens/s/GPU must be above 0: {tokens_per_s_per_gpu}")
    return usd_per_gpu_h / (tokens_per_s_per_gpu * SECONDS_PER_HOUR) * 1e6


def usd_per_step(usd_per_gpu_h: float, gpus: float, step_s: float) -> float:
    """USD of one step of `step_s` seconds on `gpus` GPUs."""
    return rent_usd(gpu_hours(gpus, step_s), usd_per_gpu_h)


def break_even_usd_per_gpu_h(old_usd_per_gpu_h: float, speed_up_per_gpu: float) -> float:
    """Price at which a new platform costs the same work as the old one: old price x speed-up a GPU."""
    return rent_usd(1.0, old_usd_per_gpu_h) * speed_up_per_gpu


def goodput_frac(useful_gpu_s: float, billed_gpu_s: float) -> float:
    """Step GPU-seconds that survive over billed GPU-seconds; above 1 the inputs contradict each other."""
    if not billed_gpu_s > 0:
        raise ValueError(f"billed GPU-seconds must be above 0: {billed_gpu_s}")
    return useful_gpu_s / billed_gpu_s


@dataclass(frozen=True)
class AttemptTime:
    """One attempt: its status, the seconds of each step, where it was resumed from, and the latest step whose
    checkpoint shipped or is the parent of a checkpoint of another run.
    """

    attempt: int
    status: AttemptStatus
    step_s: Mapping[int, float] = field(default_factory=dict)
    resumed_from_attempt: int | None = None
    resumed_from_step: int | None = None
    used_step: int | None = None


@dataclass(frozen=True)
class Lineage:
    """Share of an attempt's time that survives (0..1), None when the file cannot tell.

    `through_step` is the last surviving step (None: all of them, or none); `why` is a sentence.
    """

    attempt: int
    kept_frac: float | None
    through_step: int | None
    why: str


def lineage(attempts: Sequence[AttemptTime]) -> dict[int, Lineage]:
    """Which part of each attempt of one run led to its last state.

    Completed and running attempts count whole, and so does an attempt of unknown status that nobody resumed.
    An interrupted attempt counts up to the end of the latest step that a surviving attempt resumed from, or
    whose checkpoint was used elsewhere, by its share of step seconds; otherwise it is lost. A resumption that
    itself came to nothing saves nothing; one that names a step but no attempt continues the attempt before.
    """
    by_id = {a.attempt: a for a in attempts}
    if len(by_id) != len(attempts):
        raise ValueError("an attempt number occurs twice")
    children: dict[int, list[AttemptTime]] = {}
    before: int | None = None
    for item in sorted(attempts, key=lambda a: a.attempt):
        parent = item.resumed_from_attempt
        if parent is None and item.resumed_from_step is not None:
            parent = before
        before = item.attempt
        if parent is None:
            continue
        if parent not in by_id or parent >= item.attempt:
            raise ValueError(f"attempt {item.attempt} resumes from {parent}, which is not an earlier attempt")
        children.setdefault(parent, []).append(item)
    out: dict[int, Lineage] = {}
    for number in sorted(by_id, reverse=True):
        out[number] = _survival(by_id[number], children.get(number, []), out)
    return dict(sorted(out.items()))


def _survival(item: AttemptTime, resumed_by: Sequence[AttemptTime], done: Mapping[int, Lineage]) -> Lineage:
    if item.status in ("completed", "running"):
        return Lineage(item.attempt, 1.0, None, f"the attempt is {item.status}")
    if item.status == "unknown" and not resumed_by:
        return Lineage(item.attempt, 1.0, None, "its end is not known and no attempt resumed from it")
    cuts = [_cut(child, done[child.attempt]) for child in resumed_by]
    alive = [cut for cut in [*cuts, item.used_step] if cut is not None]
    if not alive:
        return Lineage(item.attempt, 0.0, None, "no surviving attempt resumed from it")
    through = max(alive)
    if through < 0:
        return Lineage(item.attempt, None, None, "a later attempt resumed from it, the step is not known")
    known = {s: v for s, v in item.step_s.items() if math.isfinite(v) and v >= 0}
    total = math.fsum(known.values())
    if total <= 0:
        return Lineage(item.attempt, None, through, "it has no step times to share its cost by")
    kept = math.fsum(v for s, v in known.items() if s <= through)
    why = "later work stands on it" if through == item.used_step else "a later attempt resumed"
    return Lineage(item.attempt, kept / total, through, f"{why} from step {through}")


def _cut(child: AttemptTime, state: Lineage) -> int | None:
    # -1: the child survives but its starting step is not known; None: the child came to nothing
    step = child.resumed_from_step
    if state.kept_frac == 0.0 and state.through_step is None:
        return None
    if step is None:
        return -1
    return step if state.through_step is None else min(step, state.through_step)


@dataclass(frozen=True)
class PhaseSplit:
    """USD by phase, plus the two remainders; nothing is normalised, so a remainder below 0 shows overlap."""

    by_phase: Mapping[str, float]
    unattributed: float
    outside_steps: float

    @property
    def total(self) -> float:
        """Sum of all parts: the USD that went in."""
        return math.fsum((*self.by_phase.values(), self.unattributed, self.outside_steps))


def split_by_phase(
    usd: float, allocated_s: float, steps_s: float, phase_s: Mapping[str, float]
) -> PhaseSplit:
    """Spread the USD of one pool over its wall and exposed phase seconds.

    Phase share = seconds / allocated_s; `unattributed` is step time without a phase, `outside_steps` is
    allocated time without a step. The parts add up to `usd`.
    """
    if not allocated_s > 0:
        raise ValueError(f"allocated seconds must be above 0: {allocated_s}")
    rate = usd / allocated_s
    phases = {name: seconds * rate for name, seconds in phase_s.items()}
    rest = steps_s - math.fsum(phase_s.values())
    return PhaseSplit(phases, rest * rate, (allocated_s - steps_s) * rate)
