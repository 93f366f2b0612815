"""How wrong have the models been? Every published pair predicted without its own model."""

import functools
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from analysis.backtest_cases import Case, cases_of
from analysis.backtest_run import ClassReport, Pairs, SetReport, best_rule, predict_pairs, report
from analysis.common import figure, result
from analysis.params import CommonParams
from analysis.result import Assumption, Figure, Notice, Result
from analysis.words import listing, plural
from data.catalogue import Catalogue
from data.published import Tables, shipped
from data.view import View

RULE_WORDS = {
    "peak_flops": "ratio of peak FLOP/s",
    "bandwidth": "ratio of bandwidths",
    "half_fixed": "half fixed, half bandwidth",
    "phase_mix": "fixed mix of phases",
    "left_out_constant": "one factor from other models",
    "left_out_pair_median": "median of the platform pair",
}
MAIN = ("decode", "training_cross_generation", "training_within_generation", "rl_step, node_matched")
IN_SENTENCE = {
    "decode": "the time of a decoded token",
    "training_cross_generation": "training from Hopper to Blackwell",
    "training_within_generation": "training among Blackwells",
    "rl_step, node_matched": "an RL step on as many nodes",
}
LABELS = {
    "decode": "Decode, time per token",
    "decode, bandwidth differs": "Decode, bandwidth differs",
    "decode, bandwidth equal": "Decode, bandwidth equal",
    "training": "Training, all pairs",
    "training_cross_generation, tokens/s/GPU": "Hopper to Blackwell, tokens/s/GPU",
    "training_cross_generation, MLPerf minutes": "Hopper to Blackwell, MLPerf minutes",
    "training_within_generation, tokens/s/GPU": "Among Blackwells, tokens/s/GPU",
    "training_within_generation, MLPerf minutes": "Among Blackwells, MLPerf minutes",
    "training_cross_generation": "Training, Hopper to Blackwell",
    "training_within_generation": "Training, among Blackwells",
    "rl_step": "RL step, all pairs",
    "rl_step, node_matched": "RL step, as many nodes",
    "rl_step, gpu_matched": "RL step, as many GPUs",
}
SETS = ["set", "label", "part_of", "models", "n_total", "n_predicted", "median_abs_error", "boot_low",
        "boot_high", "bias", "p10", "p90", "inside", "judged", "coverage", "coverage_low", "coverage_high",
        "best_rule", "best_rule_error", "own_error_there", "platform_out_error", "platform_out_p10",
        "platform_out_p90", "target", "fails"]  # fmt: skip
CLASS_WORDS = {"dense": "dense", "moe": "mixture of experts"}
CLASSES = ["set", "label", "class", "class_label", "models", "n_total", "n_predicted", "median_abs_error",
           "bias", "p10", "p90", "inside", "judged", "coverage", "coverage_low", "coverage_high",
           "platform_out_error", "platform_out_p10", "platform_out_p90"]  # fmt: skip
TEXTS = {"set", "label", "part_of", "best_rule", "fails"}
PREDICTIONS = [
    "set",
    "model",
    "platforms",
    "metric",
    "row_a",
    "row_b",
    "published",
    "predicted",
    "low",
    "high",
]


class BacktestParams(CommonParams):
    """No parameters of its own: the published pairs are what they are."""

    question: ClassVar[str] = "backtest"


def reports_of(catalogue: Catalogue, tables: Tables | None = None) -> tuple[Pairs, list[SetReport]]:
    """Predictions and reports of `tables` (None: the shipped ones), learned from the shipped pairs."""
    if tables is None:
        return _shipped(CatalogueKey(catalogue))
    known = shipped(catalogue)
    pairs = predict_pairs(cases_of(catalogue, (tables, known)), cases_of(catalogue, (known,)))
    return pairs, report(pairs)


class CatalogueKey:
    """A catalogue that is equal to another of the same version, for the cache."""

    def __init__(self, catalogue: Catalogue) -> None:
        self.catalogue = catalogue

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CatalogueKey) and other.catalogue.version == self.catalogue.version

    def __hash__(self) -> int:
        return hash(self.catalogue.version)


@functools.lru_cache(maxsize=2)
def shipped_cases(key: CatalogueKey) -> tuple[Case, ...]:
    """The shipped pairs ready to teach: what factors are learned from needs no prediction of them."""
    return tuple(cases_of(key.catalogue, (shipped(key.catalogue),)))


@functools.lru_cache(maxsize=2)
def _shipped(key: CatalogueKey) -> tuple[Pairs, list[SetReport]]:
    known = shipped_cases(key)
    pairs = predict_pairs(known, known)
    return pairs, report(pairs)


def compute(view: View, params: BacktestParams) -> Result:
    """Tables: `sets` (errors, coverage, verdict), `classes` (dense, mixtures of experts), `rules` (naive
    rules), `pairs` (by platforms and model), `predictions` (every pair with its band), `skipped`.
    """
    pairs, reports = reports_of(view.catalogue)
    return result(
        "backtest",
        view,
        params,
        answer(reports, {p.platform_id: p.name for p in view.catalogue.platforms()}),
        headline=[item for r in reports if r.wanted.name in MAIN for item in _figures(r)],
        tables=tables_of(pairs, reports),
        assumptions=_assumptions(view.catalogue),
        notices=_notices(reports),
    )


def tables_of(pairs: Pairs, reports: Sequence[SetReport]) -> dict[str, pd.DataFrame]:
    """The tables of the answer."""
    sets = pd.DataFrame([set_row(r) for r in reports], columns=SETS)
    rules = [
        {
            "set": r.wanted.name,
            "rule": name,
            "label": RULE_WORDS[name],
            "n": rule.n,
            "median_abs_error": rule.median_abs_error,
            "bias": rule.bias,
            "own_error_there": own.median_abs_error,
        }
        for r in reports
        for name, (rule, own) in r.rules.items()
    ]
    by_pair = [{"set": r.wanted.name, **row} for r in reports if r.wanted.name in MAIN for row in r.by_pair]
    skipped = [
        {"set": r.wanted.name, "reason": reason, "n": n} for r in reports for reason, n in r.skipped.items()
    ]
    return {
        "sets": sets.astype({c: "float64" for c in SETS if c not in TEXTS}),
        "classes": pd.DataFrame([row for r in reports for row in class_rows(r)], columns=CLASSES),
        "rules": pd.DataFrame(rules),
        "pairs": pd.DataFrame(by_pair),
        "predictions": _predictions(pairs),
        "skipped": pd.DataFrame(skipped, columns=["set", "reason", "n"]),
    }


def class_rows(found: SetReport) -> list[dict[str, Any]]:
    """One report as flat rows, one a class of models."""
    label = LABELS.get(found.wanted.name, found.wanted.name)
    return [{"set": found.wanted.name, "label": label, **class_row(one)} for one in found.by_class]


def class_row(found: ClassReport) -> dict[str, Any]:
    """One class of a set as a flat row; ratios and shares are 0..1."""
    share = found.coverage
    return {
        "class": found.name,
        "class_label": CLASS_WORDS[found.name],
        "models": found.models,
        "n_total": found.n_total,
        "n_predicted": found.error.n,
        "median_abs_error": found.error.median_abs_error,
        "bias": found.error.bias,
        "p10": found.p10,
        "p90": found.p90,
        "inside": share.hits,
        "judged": share.n,
        "coverage": share.share,
        "coverage_low": share.low,
        "coverage_high": share.high,
        "platform_out_error": found.platform_out.median_abs_error,
        "platform_out_p10": found.platform_out_ends[0],
        "platform_out_p90": found.platform_out_ends[1],
    }


def set_row(found: SetReport) -> dict[str, Any]:
    """One report as a flat row; ratios and shares are 0..1, `fails` is empty for a set that holds."""
    best, share = best_rule(found), found.coverage
    boot = found.bootstrap or (None, None)
    return {
        "set": found.wanted.name,
        "label": LABELS.get(found.wanted.name, found.wanted.name),
        "part_of": found.wanted.part_of,
        "models": found.models,
        "n_total": found.n_total,
        "n_predicted": found.error.n,
        "median_abs_error": found.error.median_abs_error,
        "boot_low": boot[0],
        "boot_high": boot[1],
        "bias": found.error.bias,
        "p10": found.p10,
        "p90": found.p90,
        "inside": share.hits,
        "judged": share.n,
        "coverage": share.share,
        "coverage_low": share.low,
        "coverage_high": share.high,
        "best_rule": best[0] if best else "",
        "best_rule_error": best[1].median_abs_error if best else None,
        "own_error_there": best[2].median_abs_error if best else None,
        "platform_out_error": found.platform_out.median_abs_error,
        "platform_out_p10": found.platform_out_ends[0],
        "platform_out_p90": found.platform_out_ends[1],
        "target": found.wanted.most,
        "fails": "; ".join(found.why),
    }


def _predictions(pairs: Pairs) -> pd.DataFrame:
    rows = []
    for i in np.flatnonzero(pairs.test):
        case, mid = pairs.cases[i], pairs.predicted[i]
        low, high = np.exp(mid + pairs.ends[i])
        head = (case.pair.set, case.group, case.pair_name, case.pair.metric, case.pair.row_a, case.pair.row_b)
        rows.append((*head, case.pair.ratio, np.exp(mid), low, high))
    return pd.DataFrame(rows, columns=PREDICTIONS)


def answer(reports: Sequence[SetReport], names: Mapping[str, str]) -> str:
    """What a person could paste: median errors of the main sets, and where a simple rule was closer.

    `names`: platforms by their ids.
    """
    told = [
        f"{_tenths(r.error.median_abs_error)} for {IN_SENTENCE[r.wanted.name]} "
        f"({r.error.n} {plural('pair', r.error.n)} of {r.models} {plural('model', r.models)})"
        for r in reports
        if r.wanted.name in MAIN and r.error.median_abs_error is not None
    ]
    first = f"On models it had never seen, the projection's median error was {listing(told)}."
    return " ".join([first, *closer_words(reports, names)])


def closer_words(reports: Sequence[SetReport], names: Mapping[str, str]) -> list[str]:
    """A sentence a main set on which a simple rule that learned from other models beat the projection."""
    out = []
    for r in reports:
        best = best_rule(r)
        if r.wanted.name not in MAIN or best is None:
            continue
        rule, own = best[1].median_abs_error, best[2].median_abs_error
        if rule is None or own is None or rule >= own:
            continue
        moves = sorted({row["platforms"] for row in r.by_pair if row["n_predicted"]})
        move = " to ".join(names.get(one, one) for one in moves[0].split(" -> ")) if moves else ""
        why = f", all of them {move}, which flatters a constant" if len(moves) == 1 else ""
        out.append(
            f"For {IN_SENTENCE[r.wanted.name]} {RULE_WORDS[best[0]]} was closer, {_tenths(rule)} against "
            f"{_tenths(own)} on the same {best[1].n} pairs{why}."
        )
    return out


def _tenths(share: float) -> str:
    """0.0765 as `7.6 %`: the figures of two rules are held against each other."""
    return f"{100 * share:.1f} %"


def _figures(found: SetReport) -> list[Figure]:
    label, n = LABELS[found.wanted.name], found.error.n
    boot = found.bootstrap or (None, None)
    wrong, share = found.error.median_abs_error, found.coverage
    name = found.wanted.name.replace(", ", "_")
    return [
        figure(
            "backtest_error", wrong, name=f"error_{name}", label=f"{label}: median error", n=n,
            low=boot[0], high=boot[1], interval="ci95", boundary="published pairs",
        ),
        figure(
            "backtest_coverage", share.share, name=f"coverage_{name}", label=f"{label}: inside p10..p90",
            n=share.n, low=share.low, high=share.high, interval="ci95", boundary="published pairs",
        ),
    ]  # fmt: skip


def _assumptions(catalogue: Catalogue) -> list[Assumption]:
    tables = shipped(catalogue)
    repos = {
        p.source_repo for group in (tables.decode, tables.training, tables.rl_steps) for p in group.values()
    }
    return [
        Assumption(
            "published rows", len(rows), "rows", "measured", f"{name} tables: {len(repos)} sources", ""
        )
        for name, rows in (
            ("decode", tables.decode),
            ("training", tables.training),
            ("RL step", tables.rl_steps),
        )
    ]


def _notices(reports: Sequence[SetReport]) -> list[Notice]:
    out = [
        Notice(
            "backtest_fails",
            f"{LABELS.get(r.wanted.name, r.wanted.name)}: {'; '.join(r.why)}.",
            r.wanted.name,
        )
        for r in reports
        if r.why
    ]
    skipped = {(reason, n) for r in reports for reason, n in r.skipped.items() if not r.wanted.part_of}
    return out + [
        Notice("backtest_skipped", f"{n} pairs are not predicted: {why}.") for why, n in sorted(skipped)
    ]
