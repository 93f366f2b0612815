"""Predict every published pair without its own model, and say how wrong that was, set by set."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

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
ENOUGH = 0.9
"""Share of the pairs that must be predicted; a set below has failed."""
ENOUGH_ALIKE = 5
DRIFT = 0.05
"""Log scale of what software alone moves; added to the spread of the decode grid."""
FAMILIES = ("decode", "training", "rl_step")
CONSTANT_ON = {"decode": "bandwidth", "training": "peak_flops"}


@dataclass(frozen=True)
class Wanted:
    """A set of pairs, its target for the median error, and whether it is part of another."""

    name: str
    family: str
    holds: Callable[[Case], bool]
    most: float | None = None
    part_of: str = ""


def _in(pair_set: str, metric: str = "", matched: str = "") -> Callable[[Case], bool]:
    def holds(case: Case) -> bool:
        pair = case.pair
        same = pair.set == pair_set and (not metric or pair.metric == metric)
        return same and (not matched or pair.matched == matched)

    return holds


def _equal_bandwidth(case: Case) -> bool:
    return case.pair.set == "decode" and case.rules.get("bandwidth") == 0


CROSS, WITHIN = "training_cross_generation", "training_within_generation"
TOKENS, MINUTES = "tokens_per_s_per_gpu", "time_to_train_min"
SETS = (
    Wanted("decode", "decode", _in("decode"), 0.10),
    Wanted(
        "decode, bandwidth differs",
        "decode",
        lambda c: c.pair.set == "decode" and not _equal_bandwidth(c),
        part_of="decode",
    ),
    Wanted("decode, bandwidth equal", "decode", _equal_bandwidth, part_of="decode"),
    Wanted("training", "training", lambda c: c.pair.set in (CROSS, WITHIN)),
    Wanted(CROSS, "training", _in(CROSS), 0.09),
    Wanted(f"{CROSS}, tokens/s/GPU", "training", _in(CROSS, TOKENS), 0.09, CROSS),
    Wanted(f"{CROSS}, MLPerf minutes", "training", _in(CROSS, MINUTES), None, CROSS),
    Wanted(WITHIN, "training", _in(WITHIN), 0.09),
    Wanted(f"{WITHIN}, tokens/s/GPU", "training", _in(WITHIN, TOKENS), 0.09, WITHIN),
    Wanted(f"{WITHIN}, MLPerf minutes", "training", _in(WITHIN, MINUTES), None, WITHIN),
    Wanted("rl_step", "rl_step", _in("rl_step")),
    Wanted("rl_step, node_matched", "rl_step", _in("rl_step", matched="node_matched"), 0.15, "rl_step"),
    Wanted("rl_step, gpu_matched", "rl_step", _in("rl_step", matched="gpu_matched"), None, "rl_step"),
)


@dataclass(frozen=True)
class Pairs:
    """Test pairs, then training pairs, with their predictions (logs; NaN: none).

    `predicted`: without the model of the pair. `platform_out`: without its target platform as well.
    `ends`: logs of p10 and p90 over the prediction, from residuals of other models.
    """

    cases: tuple[Case, ...]
    test: Mask
    train: Mask
    predicted: Floats
    platform_out: Floats
    ends: Floats

    @property
    def measured(self) -> Floats:
        """Log of the published ratio."""
        return np.array([case.measured for case in self.cases])

    @property
    def groups(self) -> list[str]:
        """Model of every pair."""
        return [case.group for case in self.cases]


@dataclass(frozen=True)
class SetReport:
    """How wrong one set was; ratios and shares are 0..1, `why` says what a set fails."""

    wanted: Wanted
    models: int
    n_total: int
    error: score.Error
    p10: float | None
    p90: float | None
    coverage: score.Coverage
    bootstrap: tuple[float, float] | None
    skipped: Mapping[str, int]
    rules: Mapping[str, tuple[score.Error, score.Error]]
    platform_out: score.Error
    platform_out_ends: tuple[float | None, float | None]
    why: tuple[str, ...] = ()
    by_pair: tuple[dict[str, Any], ...] = field(default=())


def predict_pairs(test: Sequence[Case], train: Sequence[Case]) -> Pairs:
    """Predictions of `test` from `train` without the tested model; both may be the same pairs."""
    cases = (*test, *train)
    is_test = np.arange(len(cases)) < len(test)
    predicted, out = np.full(len(cases), np.nan), np.full(len(cases), np.nan)
    ends = np.full((len(cases), 2), np.nan)
    for family in FAMILIES:
        usable = np.array([c.body is not None and _family(c) == family for c in cases])
        if not (usable & is_test).any():
            continue
        rule = _predictor(cases, family)
        groups = [c.group for c in cases]
        asked, seen = usable & is_test, usable & ~is_test
        found = score.left_out(groups, asked, seen, rule)
        predicted[asked] = found[asked]
        out[asked] = _without_platform(cases, asked, seen, rule)[asked]
        ends[asked] = _bands(cases, asked, seen, rule, _scales(cases, family))[asked]
    return Pairs(cases, is_test, ~is_test, predicted, out, ends)


def _family(case: Case) -> str:
    return "training" if case.pair.set.startswith("training") else case.pair.set


def _predictor(cases: Sequence[Case], family: str) -> Predict:
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
    bodies = [c.body for c in cases]
    return [decode_log_ratios(b) if isinstance(b, DecodeCase) else np.array([]) for b in bodies]


def _scales(cases: Sequence[Case], family: str) -> Floats:
    """What residuals are measured in: decode in the spread over its grid and the drift of software."""
    if family != "decode":
        return np.ones(len(cases))
    return np.array([np.hypot(x.std(), DRIFT) if x.size else np.nan for x in _grids(cases)])


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


def _without_platform(cases: Sequence[Case], test: Mask, train: Mask, rule: Predict) -> Floats:
    """As `left_out`, with every pair of the target platform left out as well."""
    out = np.full(len(cases), np.nan)
    for platform in sorted({c.pair.platform_b for c, asked in zip(cases, test, strict=True) if asked}):
        here = test & np.array([c.pair.platform_b == platform for c in cases])
        away = train & ~np.array([_touches(c, platform) for c in cases])
        found = score.left_out([c.group for c in cases], here, away, rule)
        out[here] = found[here]
    return out


def _bands(cases: Sequence[Case], test: Mask, train: Mask, rule: Predict, scales: Floats) -> Floats:
    """Log p10 and p90 around predictions: residuals of other models, each predicted without its own model.

    Taken from pairs of the same set and of equally known layout, from the whole family below five of them.
    """
    groups = np.array([c.group for c in cases])
    measured, sign = (np.array([float(getattr(c, n)) for c in cases]) for n in ("measured", "sign"))
    strata = np.array([f"{c.pair.set} {c.layout_known}" for c in cases])
    ends = np.full((len(cases), 2), np.nan)
    for name in sorted(set(groups[test])):
        others = train & (groups != name)
        slower = score.left_out(groups.tolist(), others, others, rule) - measured
        residuals = -slower * sign / scales
        for stratum in sorted(set(strata[test & (groups == name)])):
            alike = others & (strata == stratum)
            low, high = score.band(residuals[alike if alike.sum() >= ENOUGH_ALIKE else others])
            here = test & (groups == name) & (strata == stratum)
            ends[here] = np.sort(scales[here, None] * sign[here, None] * np.array([[low, high]]), axis=1)
    return ends


def report(pairs: Pairs) -> list[SetReport]:
    """One report a set that has pairs."""
    found = []
    for wanted in SETS:
        inside = np.array([wanted.holds(c) for c in pairs.cases])
        if (inside & pairs.test).any():
            found.append(_report(pairs, wanted, inside & pairs.test, inside & pairs.train))
    return found


def _report(pairs: Pairs, wanted: Wanted, test: Mask, train: Mask) -> SetReport:
    cases = [c for c, here in zip(pairs.cases, test, strict=True) if here]
    wrong = (pairs.predicted - pairs.measured)[test]
    inside = (pairs.ends[test, 0] <= -wrong) & (-wrong <= pairs.ends[test, 1])
    judged = np.isfinite(wrong) & np.isfinite(pairs.ends[test]).all(axis=1)
    away = (pairs.platform_out - pairs.measured)[test]
    low, high = score.quantiles(wrong)
    found = SetReport(
        wanted=wanted,
        models=len({c.group for c in cases}),
        n_total=len(cases),
        error=score.error(wrong),
        p10=low,
        p90=high,
        coverage=score.coverage(int(inside[judged].sum()), int(judged.sum())),
        bootstrap=score.bootstrap_median(wrong, [c.group for c in cases]),
        skipped=Counter(c.why for c in cases if c.why),
        rules=_naive(pairs, wanted, test, train, wrong),
        platform_out=score.error(away),
        platform_out_ends=score.quantiles(-away),
        by_pair=_by_pair(cases, wrong, inside & judged),
    )
    return SetReport(**{**vars(found), "why": failures(found)})


def _naive(
    pairs: Pairs, wanted: Wanted, test: Mask, train: Mask, wrong: Floats
) -> dict[str, tuple[score.Error, score.Error]]:
    """Naive rules with the model's own error on the pairs that the rule predicts."""
    measured = pairs.measured
    names = ("peak_flops", "bandwidth", "half_fixed", "phase_mix")
    rules = {n: np.array([c.rules.get(n, np.nan) for c in pairs.cases]) for n in names}
    base = rules.get(CONSTANT_ON.get(wanted.family, ""), np.zeros(len(measured)))
    kinds = [c.pair.metric if wanted.family == "training" else "" for c in pairs.cases]
    named = list(zip(pairs.cases, kinds, strict=True))
    learned = {
        "left_out_constant": score.constant(base, measured, kinds),
        "left_out_pair_median": score.pair_median([f"{c.pair_name} {k}" for c, k in named], measured),
    }
    rules |= {name: score.left_out(pairs.groups, test, train, rule) for name, rule in learned.items()}
    out = {}
    for name, values in rules.items():
        gap = (values - measured)[test]
        if np.isfinite(gap).any():
            out[name] = score.error(gap), score.error(np.where(np.isfinite(gap), wrong, np.nan))
    return out


def _by_pair(cases: Sequence[Case], wrong: Floats, inside: Mask) -> tuple[dict[str, Any], ...]:
    keys = [(c.pair_name, c.group) for c in cases]
    rows = []
    for pair_name, group in dict.fromkeys(keys):
        here = np.array([key == (pair_name, group) for key in keys])
        found = score.error(wrong[here])
        row = {
            "platforms": pair_name,
            "model": group,
            "n": int(here.sum()),
            "n_predicted": found.n,
            "inside": int(inside[here].sum()),
        }
        rows.append({**row, "median_abs_error": found.median_abs_error, "bias": found.bias})
    return tuple(rows)


def best_rule(found: SetReport) -> tuple[str, score.Error, score.Error] | None:
    """The naive rule with the smallest error among those that predict half of the pairs, and the model's."""
    fit = [(n, e, own) for n, (e, own) in found.rules.items() if 2 * e.n >= found.n_total]
    return min(fit, key=lambda item: item[1].median_abs_error or 0.0) if fit else None


def failures(found: SetReport) -> tuple[str, ...]:
    """What a set fails: share predicted, target, a fifth below the best rule, coverage."""
    why = []
    if found.error.n < ENOUGH * found.n_total:
        why.append(f"{found.error.n} of {found.n_total} pairs are predicted")
    most, wrong = found.wanted.most, found.error.median_abs_error
    if most is not None and wrong is not None and wrong > most:
        why.append(f"the median error is above {most:.0%}")
    if most is not None and wrong is not None:
        why += _beaten(found)
    if found.coverage.n and not found.coverage.holds:
        why.append(f"{found.coverage.hits} of {found.coverage.n} lie inside p10..p90")
    return tuple(why)


def _beaten(found: SetReport) -> list[str]:
    """A whole step must beat rules that saw no other RL pair; other sets a fifth below the best rule."""
    if found.wanted.family == "rl_step":
        blind = ("peak_flops", "bandwidth", "phase_mix")
        worse = [n for n in blind if n in found.rules and _at_least(found.rules[n], 1.0)]
        bias = found.error.bias or 1.0
        far = [] if 0.9 <= bias <= 1.1 else [f"the bias is {bias:.2f}"]
        return [f"it is no better than {n}" for n in worse] + far
    best = best_rule(found)
    if best is None or not _at_least(best[1:], 0.8):
        return []
    return [f"it is not a fifth below {best[0]}"]


def _at_least(errors: tuple[score.Error, ...], share: float) -> bool:
    rule, own = errors
    return (own.median_abs_error or 0.0) > share * (rule.median_abs_error or 0.0)
