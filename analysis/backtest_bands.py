"""The band around a prediction, by class of model, from what pairs of other models were off by."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from analysis.backtest_cases import Case
from analysis.backtest_rules import Floats, Mask, Predict, family_of, predictor, without_platform
from models import backtest as score

ENOUGH_ALIKE = 5
"""Fewer pairs than this teach no band of their own."""


@dataclass(frozen=True)
class Lessons:
    """What the pairs of one family were off by, each predicted without its own model.

    `residuals`: log(measured / predicted) as speeds, (pairs,). `dense_over_moe`: spread of dense models over
    that of models with experts.
    """

    residuals: Floats
    groups: tuple[str, ...]
    moe: Mask
    strata: tuple[str, ...]
    dense_over_moe: float

    def ends(self, stratum: str, moe: bool | None) -> tuple[float, float]:
        """Logs of p10 and p90 over a predicted speed, from pairs like it; NaN below three pairs.

        Pairs of the stratum; all of the family below five of them. Models of the class asked for hold
        n / (n + 1) of the weight (`class_weights`); residuals of the other class are brought to the spread
        of this one. A class that nobody knows (None) has the wider end of both.
        """
        if moe is None:
            both = [self.ends(stratum, one) for one in (True, False)]
            return min(low for low, _ in both), max(high for _, high in both)
        known = np.isfinite(self.residuals)
        alike = known & (np.array(self.strata) == stratum)
        used = alike if alike.sum() >= ENOUGH_ALIKE else known
        if not used.any():
            return float("nan"), float("nan")
        own = (self.moe == moe)[used]
        other = 1 / self.dense_over_moe if moe else self.dense_over_moe
        weights = score.class_weights(np.array(self.groups)[used].tolist(), own)
        return score.band(self.residuals[used] * np.where(own, 1.0, other), weights)


class Teachers:
    """The pairs that teach (`train`), asked for the lessons of a family without one model."""

    def __init__(self, cases: Sequence[Case], train: Mask) -> None:
        self.cases, self.train = tuple(cases), train
        self.groups = tuple(c.group for c in cases)
        self.moe = np.array([c.pair.moe for c in cases])
        self.strata = tuple(stratum(c) for c in cases)
        self._measured, self._sign = (
            np.array([float(getattr(c, n)) for c in cases]) for n in ("measured", "sign")
        )
        self._rules: dict[str, Predict] = {}
        self._found: dict[tuple[str, str, bool], Floats] = {}
        self._lessons: dict[tuple[str, str, bool], Lessons] = {}

    def lessons(self, family: str, without: str, *, platform_out: bool = False) -> Lessons:
        """Lessons of a family without the model `without`; `platform_out`: pairs of a target platform are
        predicted without any pair of that platform as well.
        """
        key = (family, without, platform_out)
        if key not in self._lessons:
            residuals = self._residuals(*key)
            spread = self._dense_over_moe(without, platform_out)
            self._lessons[key] = Lessons(residuals, self.groups, self.moe, self.strata, spread)
        return self._lessons[key]

    def _dense_over_moe(self, without: str, platform_out: bool) -> float:
        """Learned from training, which has several models of each class; decode has one dense model.

        Of errors of the same kind: on a platform left out both classes are off by nearly as much.
        """
        off = self._residuals("training", without, platform_out)
        return score.spread_ratio(off, self.groups, ~self.moe)

    def _residuals(self, family: str, without: str, platform_out: bool) -> Floats:
        key = (family, without, platform_out)
        if key not in self._found:
            usable = [
                c.body is not None and family_of(c) == family and c.group != without for c in self.cases
            ]
            here = self.train & np.array(usable)
            self._found[key] = self._off_by(family, here, platform_out)
        return self._found[key]

    def _off_by(self, family: str, here: Mask, platform_out: bool) -> Floats:
        if not here.any():
            return np.full(len(self.cases), np.nan)
        rule = self._rules.get(family) or self._rules.setdefault(family, predictor(self.cases, family))
        if platform_out:
            predicted = without_platform(self.cases, here, here, rule)
        else:
            predicted = score.left_out(self.groups, here, here, rule)
        off: Floats = (self._measured - predicted) * self._sign
        return off


def stratum(case: Case) -> str:
    """Pairs that are off for the same reasons: of one set, with a layout that is published or not."""
    return stratum_of(case.pair.set, case.layout_known)


def stratum_of(pair_set: str, layout_known: bool) -> str:
    """Name of a stratum."""
    return f"{pair_set} {layout_known}"


def ends_of(teachers: Teachers, test: Mask) -> Floats:
    """Logs of p10 and p90 over predictions of `test` (pairs, 2), from other models; NaN elsewhere."""
    ends = np.full((len(teachers.cases), 2), np.nan)
    found: dict[tuple[str, str, str, bool], tuple[float, float]] = {}
    for i in np.flatnonzero(test):
        case = teachers.cases[i]
        asked = (family_of(case), case.group, teachers.strata[i], case.pair.moe)
        if asked not in found:
            family, without, kind, moe = asked
            found[asked] = teachers.lessons(family, without).ends(kind, moe)
        ends[i] = np.sort(case.sign * np.array(found[asked]))
    return ends
