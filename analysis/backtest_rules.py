"""The rules that predict published pairs of decode, training and whole RL steps from other models' pairs."""

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from analysis.backtest_cases import Case
from models import backtest as score
from models.transfer import (
    PRIOR_SHARES,
    DecodeCase,
    StepCase,
    TrainingCase,
    decode_log_ratios,
    fixed_share,
    shared_gap,
    step_ratio,
    training_rule,
)

Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
Predict = Callable[[Mask, Mask], Floats]
FAMILIES = ("decode", "training", "rl_step")


def family_of(case: Case) -> str:
    """decode, training (both sets), or rl_step."""
    return "training" if case.pair.set.startswith("training") else case.pair.set


def predictor(cases: Sequence[Case], family: str) -> Predict:
    """The rule of a family, to be asked with many pairs of `train` and `test`."""
    return {"decode": _decode, "training": _training, "rl_step": _step}[family](cases)


def _decode(cases: Sequence[Case]) -> Predict:
    """Three terms, and what other models of the class lost between the same generations (or vendors)."""
    base = np.array([x.mean() if x.size else np.nan for x in _grids(cases)])
    gaps = np.array([c.measured for c in cases]) - base
    groups, kin = (np.array([getattr(c, name) for c in cases]) for name in ("group", "kin"))

    def predict(train: Mask, test: Mask) -> Floats:
        lost = {}
        for name in set(kin[test]):
            seen = train & (kin == name)
            lost[name] = shared_gap(gaps[seen], groups[seen].tolist())
        result: Floats = base[test] + np.array([lost[name] for name in kin[test]])
        return result

    return predict


def _grids(cases: Sequence[Case]) -> list[Floats]:
    bodies = {id(c.body): c.body for c in cases}  # pairs that teach are tested too: the same objects twice
    found = {i: decode_log_ratios(b) for i, b in bodies.items() if isinstance(b, DecodeCase)}
    return [found.get(id(c.body), np.array([])) for c in cases]


def _training(cases: Sequence[Case]) -> Predict:
    """Ridge over the training pairs of both sets, in throughput; minutes change the sign at both ends."""
    where = np.flatnonzero([isinstance(c.body, TrainingCase) for c in cases])
    bodies = [c.body for c in cases if isinstance(c.body, TrainingCase)]
    sign = np.array([float(c.sign) for c in cases])
    rule = training_rule(bodies, (np.array([c.measured for c in cases]) * sign)[where])

    def predict(train: Mask, test: Mask) -> Floats:
        found: Floats = rule(train[where], test[where]) * sign[test]
        return found

    return predict


def _step(cases: Sequence[Case]) -> Predict:
    """Phases scaled by their own peaks, and the share of a step that did not scale in other models' pairs."""
    sign = np.array([-float(c.sign) for c in cases])
    times = np.exp(np.array([c.measured for c in cases]) * sign)
    bodies = [c.body if isinstance(c.body, StepCase) else None for c in cases]
    scaled = np.array([np.nan if b is None else step_ratio(b, PRIOR_SHARES) for b in bodies])
    groups = np.array([c.group for c in cases])

    def predict(train: Mask, test: Mask) -> Floats:
        fixed = fixed_share(times[train], scaled[train], groups[train].tolist())
        result: Floats = np.log(fixed + (1 - fixed) * scaled[test]) * sign[test]
        return result

    return predict


def _touches(case: Case, platform: str) -> bool:
    return platform in (case.pair.platform_a, case.pair.platform_b)


def without_platform(cases: Sequence[Case], test: Mask, train: Mask, rule: Predict) -> Floats:
    """As `left_out`, with every pair of the target platform left out as well."""
    out = np.full(len(cases), np.nan)
    for platform in sorted({c.pair.platform_b for c, asked in zip(cases, test, strict=True) if asked}):
        here = test & np.array([c.pair.platform_b == platform for c in cases])
        away = train & ~np.array([_touches(c, platform) for c in cases])
        found = score.left_out([c.group for c in cases], here, away, rule)
        out[here] = found[here]
    return out
