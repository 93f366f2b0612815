"""Predict every published pair without its own model, and say how wrong that was, set by set."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from analysis.backtest_bands import Teachers, ends_of
from analysis.backtest_cases import Case
from analysis.backtest_rules import FAMILIES, Floats, Mask, family_of, predictor, without_platform
from models import backtest as score

ENOUGH = 0.9
"""Share of the pairs that must be predicted; a set below has failed."""
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
class ClassReport:
    """How wrong the pairs of one class of models (dense or moe) of a set were; as in `SetReport`."""

    name: str
    models: int
    n_total: int
    error: score.Error
    p10: float | None
    p90: float | None
    coverage: score.Coverage
    platform_out: score.Error
    platform_out_ends: tuple[float | None, float | None]


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
    by_class: tuple[ClassReport, ...] = field(default=())


def predict_pairs(test: Sequence[Case], train: Sequence[Case]) -> Pairs:
    """Predictions of `test` from `train` without the tested model; both may be the same pairs."""
    cases = (*test, *train)
    is_test = np.arange(len(cases)) < len(test)
    predicted, out = np.full(len(cases), np.nan), np.full(len(cases), np.nan)
    asked_any = np.zeros(len(cases), dtype=bool)
    for family in FAMILIES:
        usable = np.array([c.body is not None and family_of(c) == family for c in cases])
        asked, seen = usable & is_test, usable & ~is_test
        if asked.any():
            rule = predictor(cases, family)
            predicted[asked] = score.left_out([c.group for c in cases], asked, seen, rule)[asked]
            out[asked] = without_platform(cases, asked, seen, rule)[asked]
        asked_any |= asked
    ends = ends_of(Teachers(cases, ~is_test), asked_any)
    return Pairs(cases, is_test, ~is_test, predicted, out, ends)


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
    whole = _class(pairs, test, "")
    found = SetReport(
        wanted=wanted,
        models=whole.models,
        n_total=whole.n_total,
        error=whole.error,
        p10=whole.p10,
        p90=whole.p90,
        coverage=whole.coverage,
        bootstrap=score.bootstrap_median(wrong, [c.group for c in cases]),
        skipped=Counter(c.why for c in cases if c.why),
        rules=_naive(pairs, wanted, test, train, wrong),
        platform_out=whole.platform_out,
        platform_out_ends=whole.platform_out_ends,
        by_pair=_by_pair(pairs, test),
        by_class=_by_class(pairs, test),
    )
    return replace(found, why=failures(found))


def _by_class(pairs: Pairs, test: Mask) -> tuple[ClassReport, ...]:
    moe = np.array([c.pair.moe for c in pairs.cases])
    parts = {"dense": test & ~moe, "moe": test & moe}
    return tuple(_class(pairs, here, name) for name, here in parts.items() if here.any())


def _class(pairs: Pairs, here: Mask, name: str) -> ClassReport:
    wrong, away = ((one - pairs.measured)[here] for one in (pairs.predicted, pairs.platform_out))
    inside, judged = _inside(pairs)
    low, high = score.quantiles(wrong)
    return ClassReport(
        name=name,
        models=len({c.group for c, in_it in zip(pairs.cases, here, strict=True) if in_it}),
        n_total=int(here.sum()),
        error=score.error(wrong),
        p10=low,
        p90=high,
        coverage=score.coverage(int((inside & here).sum()), int((judged & here).sum())),
        platform_out=score.error(away),
        platform_out_ends=score.quantiles(-away),
    )


def _inside(pairs: Pairs) -> tuple[Mask, Mask]:
    """Pairs inside their band, and those that have one with a prediction."""
    off = pairs.measured - pairs.predicted
    judged = np.isfinite(off) & np.isfinite(pairs.ends).all(axis=1)
    return judged & (pairs.ends[:, 0] <= off) & (off <= pairs.ends[:, 1]), judged


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


def _by_pair(pairs: Pairs, test: Mask) -> tuple[dict[str, Any], ...]:
    keys = [(c.pair_name, c.group) for c in pairs.cases]
    rows = []
    for pair_name, group in dict.fromkeys(key for key, here in zip(keys, test, strict=True) if here):
        here = test & np.array([key == (pair_name, group) for key in keys])
        found = _class(pairs, here, "")
        rows.append(
            {
                "platforms": pair_name,
                "model": group,
                "n": found.n_total,
                "n_predicted": found.error.n,
                "inside": found.coverage.hits,
                "coverage_low": found.coverage.low,
                "coverage_high": found.coverage.high,
                "median_abs_error": found.error.median_abs_error,
                "bias": found.error.bias,
                "platform_out_error": found.platform_out.median_abs_error,
            }
        )
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
