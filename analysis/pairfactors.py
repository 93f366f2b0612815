"""What a move between two platforms keeps of the ratio that peaks promise, learned from published pairs."""

import functools
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from analysis.backtest import CatalogueKey, shipped_cases
from analysis.backtest_bands import Teachers, stratum_of
from analysis.backtest_cases import BETWEEN, Case, group_of, kin_of
from analysis.backtest_run import CROSS, WITHIN
from data.catalogue import Catalogue
from data.shapes import machine_of
from models.transfer import (
    PRIOR_SHARES,
    DecodeCase,
    StepCase,
    TrainingCase,
    decode_log_ratios,
    fixed_share,
    shared_gap,
    step_ratio,
    training_log_ratio,
)

Mask = npt.NDArray[np.bool_]
Phase = Literal["decode", "training", "rl_step"]
SEEN, UNSEEN = "published pairs", "left-out platforms"


@dataclass(frozen=True)
class PairFactor:
    """Factor on the speed ratio b over a that the physics of a phase gives; 1 where nothing was learned.

    `low`, `high`: p10 and p90 of that factor. `pairs` of `models` models were published for these two
    platforms. `basis`: "published pairs", or "left-out platforms" when there are none: the band then comes
    from platforms that were predicted without any pair of theirs.
    """

    phase: Phase
    platform_a: str
    platform_b: str
    factor: float
    low: float
    high: float
    pairs: int
    models: int
    basis: str


@dataclass(frozen=True)
class _Asked:
    phase: Phase
    platform_a: str
    platform_b: str
    precision: str
    moe: bool | None
    model_parallel: float | None
    leave_out: str


def pair_factor(
    catalogue: Catalogue,
    phase: Phase,
    platform_a: str,
    platform_b: str,
    *,
    precision: str = "bf16",
    moe: bool | None = False,
    model_parallel: float | None = None,
    leave_out: str = "",
) -> PairFactor:
    """Factor of a phase between two platforms, without the pairs of the model `leave_out`.

    training: on the ratio of dense peaks at `precision` (bf16, fp8, fp4); the achieved share of the peak on b
    is that on a times the factor. `model_parallel` is TP x PP on a. decode: on the speed of the three-term
    model. rl_step: on the speed of phases scaled by their peaks at equal GPUs. The band is the one by which
    the back-test judges a model of that class (`moe`; None: nobody knows, the wider of both). A reverse move
    is the inverse.
    """
    if platform_a == platform_b:
        return PairFactor(phase, platform_a, platform_b, 1.0, 1.0, 1.0, 0, 0, SEEN)
    group = group_of(catalogue, leave_out) if leave_out else ""
    order = [p.platform_id for p in catalogue.platforms()]
    forward = order.index(platform_a) < order.index(platform_b)
    ends = (platform_a, platform_b) if forward else (platform_b, platform_a)
    found = _factor(
        CatalogueKey(catalogue),
        _Asked(phase, ends[0], ends[1], precision, moe, model_parallel if forward else None, group),
    )
    return found if forward else _turned(found)


def step_fixed_share(catalogue: Catalogue, leave_out: str = "") -> float:
    """Share of a step (0..1) that neither chips nor GPUs shrank in published pairs of whole RL steps.

    Without the pairs of the model `leave_out`; 0 when no pairs are left.
    """
    group = group_of(catalogue, leave_out) if leave_out else ""
    return _known_fixed_share(CatalogueKey(catalogue), group)


@functools.lru_cache(maxsize=64)
def _known_fixed_share(key: CatalogueKey, leave_out: str) -> float:
    cases = shipped_cases(key)
    here = [c.body is not None and c.pair.set.startswith("rl_step") for c in cases]
    return _fixed_share(cases, np.array(here) & np.array([c.group != leave_out for c in cases]))


def _turned(found: PairFactor) -> PairFactor:
    return replace(
        found,
        platform_a=found.platform_b,
        platform_b=found.platform_a,
        factor=1 / found.factor,
        low=1 / found.high,
        high=1 / found.low,
    )


@functools.lru_cache(maxsize=512)
def _factor(key: CatalogueKey, asked: _Asked) -> PairFactor:
    cases = shipped_cases(key)
    family = np.array([c.body is not None and c.pair.set.startswith(asked.phase) for c in cases])
    usable = family & np.array([c.group != asked.leave_out for c in cases])
    ends = {asked.platform_a, asked.platform_b}
    same = usable & np.array([{c.pair.platform_a, c.pair.platform_b} == ends for c in cases])
    seen = {c.group for c, here in zip(cases, same, strict=True) if here}
    center = _center(key.catalogue, cases, usable, asked)
    low, high = _band(key, asked, known=bool(seen))
    if asked.phase == "rl_step" and not seen:
        further = _further(_step_case(key.catalogue, asked), cases, usable)
        low, high = low * further, high * further
    return PairFactor(
        asked.phase,
        asked.platform_a,
        asked.platform_b,
        math.exp(center),
        math.exp(center + low),
        math.exp(center + high),
        int(same.sum()),
        len(seen),
        SEEN if seen else UNSEEN,
    )


def _center(catalogue: Catalogue, cases: tuple[Case, ...], usable: Mask, asked: _Asked) -> float:
    if asked.phase == "training":
        return _training(catalogue, cases, usable, asked)
    if asked.phase == "decode":
        return _decode(catalogue, cases, usable, asked)
    return _step(catalogue, cases, usable, asked)


def _training(catalogue: Catalogue, cases: tuple[Case, ...], usable: Mask, asked: _Asked) -> float:
    a, b = (machine_of(catalogue, name) for name in (asked.platform_a, asked.platform_b))
    base = math.log(b.flops_at("bf16") / a.flops_at("bf16"))
    peaks = math.log(b.flops_at(asked.precision) / a.flops_at(asked.precision))
    known = [
        c.body for c, here in zip(cases, usable, strict=True) if here and isinstance(c.body, TrainingCase)
    ]
    speeds = [c.measured * c.sign for c, here in zip(cases, usable, strict=True) if here]
    case = TrainingCase(
        platform_a=asked.platform_a,
        platform_b=asked.platform_b,
        precision=asked.precision,
        moe=bool(asked.moe),
        base=base,
        format_gain=peaks - base if math.isfinite(peaks) else 0.0,
        cross=kin_of(catalogue, asked.platform_a, asked.platform_b) == "hopper -> blackwell",
        minutes=False,
        model_parallel=asked.model_parallel,
        cell="asked",
    )
    train = np.arange(len(known) + 1) < len(known)
    found = training_log_ratio([*known, case], np.array([*speeds, 0.0]), train, ~train)[0]
    return float(found) - (peaks if math.isfinite(peaks) else base)


def _decode(catalogue: Catalogue, cases: tuple[Case, ...], usable: Mask, asked: _Asked) -> float:
    """Speed lost or gained by other models of the class on the same step between generations.

    A step to a generation without pairs goes by the one that the platform was measured against: what that
    step showed is kept, and nothing is known of the rest. So a move in two legs is the move in one.
    """
    kin = kin_of(catalogue, asked.platform_a, asked.platform_b)
    if kin != BETWEEN:
        kin += " moe" if asked.moe else " dense"
    known = [c for c, here in zip(cases, usable, strict=True) if here]
    alike = [c for c in known if c.kin == kin] or _first_leg(known, kin)
    gaps = [c.measured - _physics(c) for c in alike]
    return -shared_gap(np.array(gaps), [c.group for c in alike])


def _first_leg(known: Sequence[Case], kin: str) -> list[Case]:
    """Pairs of the class from the same generation to the other one with most of them."""
    start, _, rest = kin.partition(" -> ")
    klass = rest.rpartition(" ")[2]
    legs = [c for c in known if c.kin.startswith(f"{start} -> ") and c.kin.endswith(f" {klass}")]
    legs = [c for c in legs if c.kin != f"{start} -> {start} {klass}"]
    if not legs or rest == f"{start} {klass}":
        return []
    most = Counter(c.kin for c in legs).most_common(1)[0][0]
    return [c for c in legs if c.kin == most]


def _physics(case: Case) -> float:
    if not isinstance(case.body, DecodeCase):
        raise TypeError(f"no decode point: {case.pair.row_a}")
    return float(decode_log_ratios(case.body).mean())


def _step(catalogue: Catalogue, cases: tuple[Case, ...], usable: Mask, asked: _Asked) -> float:
    case = _step_case(catalogue, asked)
    if case is None:
        return math.nan
    fixed = _fixed_share(cases, usable)
    return math.log(step_ratio(case, PRIOR_SHARES) / step_ratio(case, PRIOR_SHARES, fixed))


def _step_case(catalogue: Catalogue, asked: _Asked) -> StepCase | None:
    """The move at equal GPUs; None where a bandwidth is not published."""
    a, b = (machine_of(catalogue, name) for name in (asked.platform_a, asked.platform_b))
    if a.hbm_bytes_per_s is None or b.hbm_bytes_per_s is None:
        return None
    flops = b.flops_at(asked.precision) / a.flops_at(asked.precision)
    return StepCase(b.hbm_bytes_per_s / a.hbm_bytes_per_s, flops, 1.0)


def _further(case: StepCase | None, cases: tuple[Case, ...], usable: Mask) -> float:
    """How much further a move goes than the furthest published one, by the speed of its phases; at least 1.

    Nobody has published a whole step on chips that differ by more, so what a step keeps may count for more.
    """
    known = [c.body for c, here in zip(cases, usable, strict=True) if here and isinstance(c.body, StepCase)]
    told = [abs(math.log(step_ratio(replace(one, gpus=1.0), PRIOR_SHARES))) for one in known]
    if case is None or not told or not max(told) > 0:
        return 1.0
    asked = abs(math.log(step_ratio(case, PRIOR_SHARES)))
    return max(1.0, asked / max(told)) if math.isfinite(asked) else 1.0


def _fixed_share(cases: tuple[Case, ...], usable: Mask) -> float:
    known = [c for c, here in zip(cases, usable, strict=True) if here]
    times = np.exp([-c.measured * c.sign for c in known])
    scaled = np.array([step_ratio(c.body, PRIOR_SHARES) for c in known if isinstance(c.body, StepCase)])
    return fixed_share(times, scaled, [c.group for c in known])


def _band(key: CatalogueKey, asked: _Asked, *, known: bool) -> tuple[float, float]:
    """Logs of p10 and p90 over a predicted speed: pairs of these platforms, else left-out platforms.

    No side of an unseen pair is surer than that of a seen one: platforms left out so far were faster than
    predicted, which is no promise that the next one will be.
    """
    teachers, names = _teachers(key), _strata(key.catalogue, asked)
    seen = teachers.lessons(asked.phase, asked.leave_out)
    found = [seen.ends(name, asked.moe) for name in names]
    if not known:
        out = teachers.lessons(asked.phase, asked.leave_out, platform_out=True)
        found += [out.ends(name, asked.moe) for name in names]
    lows, highs = zip(*found, strict=True)
    return float(np.min(lows)), float(np.max(highs))


@functools.lru_cache(maxsize=2)
def _teachers(key: CatalogueKey) -> Teachers:
    cases = shipped_cases(key)
    return Teachers(cases, np.ones(len(cases), dtype=bool))


def _strata(catalogue: Catalogue, asked: _Asked) -> tuple[str, ...]:
    """Published pairs that the move is like; where none are, all that it could be like.

    decode: the layout of a run's own engines is known or found; between two vendors no pair has one.
    training: Hopper to Blackwell, among Blackwells, or either.
    """
    kin = kin_of(catalogue, asked.platform_a, asked.platform_b)
    if asked.phase == "decode":
        return (stratum_of("decode", kin != BETWEEN),)
    if asked.phase == "training":
        sets = {"hopper -> blackwell": (CROSS,), "blackwell -> blackwell": (WITHIN,)}
        return tuple(stratum_of(name, True) for name in sets.get(kin, (CROSS, WITHIN)))
    return (stratum_of(asked.phase, True),)
