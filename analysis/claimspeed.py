"""The speed that the projection itself gives a claimed phase, target over baseline, with its band."""

import math
from dataclasses import dataclass

import numpy as np

from analysis.claimparts import Aimed, Asked, Effect, Setting
from analysis.pairfactors import SEEN, PairFactor, Phase, pair_factor
from models.projection import FLOOR_FRAC


@dataclass(frozen=True)
class Speed:
    """p50, p10 and p90 of the projected speed-up of the claimed phases, and the published pairs behind it."""

    middle: float
    low: float
    high: float
    pairs: int
    models: int

    def holds(self, claimed: float) -> bool:
        """True when a claimed speed lies inside the band."""
        return self.low <= claimed <= self.high


def precision_of(one: Asked, aimed: Aimed) -> str:
    """Precision class of the pool that the claim speaks of."""
    return aimed.train_precision if "train" in one.phases else aimed.gen_precision


def projected_speed(setting: Setting, one: Asked, aimed: Aimed, effect: Effect) -> Speed | None:
    """Seconds of the phases on the baseline over those on the target; None without another platform.

    Where the baseline was measured the draws of the target carry the band. Where both are projected from a
    third platform their draws share what is not known, so the band is that of the pair factor between them,
    no tighter than the noise floor of any projection.
    """
    if effect.baseline is None or effect.baseline is aimed.step:
        return None
    if one.whole:
        before, after = np.asarray(effect.baseline.step_s), np.asarray(aimed.step.step_s)
    else:
        before, after = (np.asarray(step.of(one.phases)) for step in (effect.baseline, aimed.step))
    ratio = before / after
    if not np.isfinite(ratio).all():
        return None
    factor = _factor(setting, one, aimed)
    middle = float(np.median(ratio))
    if np.ptp(before) == 0:
        low, high = (float(end) for end in np.quantile(ratio, [0.1, 0.9]))
    else:
        low, high = (middle * end / factor.factor for end in (factor.low, factor.high))
        low, high = min(low, middle * (1 - FLOOR_FRAC)), max(high, middle / (1 - FLOOR_FRAC))
    if math.isnan(low) or math.isnan(high):
        return None
    seen = factor.basis == SEEN
    return Speed(middle, low, high, factor.pairs if seen else 0, factor.models if seen else 0)


def _factor(setting: Setting, one: Asked, aimed: Aimed) -> PairFactor:
    kind: Phase = "rl_step" if one.whole else "training" if "train" in one.phases else "decode"
    return pair_factor(
        setting.catalogue,
        kind,
        one.claim.baseline_platform_id,
        one.claim.target_platform_id,
        precision=precision_of(one, aimed),
        moe=setting.about.llm.is_moe,
    )
