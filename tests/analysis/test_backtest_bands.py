"""The band of a prediction: by class, from from other models, one for the back-test and for projections."""

import math
from dataclasses import replace

import numpy as np
import pytest

from analysis.backtest import MAIN, reports_of
from analysis.backtest_bands import Lessons, stratum
from analysis.backtest_cases import cases_of
from analysis.backtest_run import predict_pairs
from analysis.pairfactors import SEEN, UNSEEN, pair_factor
from data.catalogue import load_catalogue
from data.published import shipped

BOOK = load_catalogue()
PAIRS, REPORTS = reports_of(BOOK)
MOVES = [(phase, moe) for phase in ("decode", "training", "rl_step") for moe in (True, False)]


@pytest.mark.parametrize("name", MAIN)
def test_eight_of_ten_pairs_of_each_class_lie_inside(name):
    """Pooled bands held 226 of 228 dense decode pairs and 53 of 105 with experts: 84 % together."""
    found = next(r for r in REPORTS if r.wanted.name == name)
    assert {c.name for c in found.by_class} == {"dense", "moe"}
    for one in (found, *found.by_class):
        assert one.coverage.holds, (one.coverage.hits, one.coverage.n)
    assert sum(c.coverage.hits for c in found.by_class) == found.coverage.hits
    assert sum(c.n_total for c in found.by_class) == found.n_total


def test_a_band_is_worked_by_hand():
    """Ten residuals of one dense model; one model with experts is off by twice as much."""
    tenths = np.arange(1, 11) / 100
    off = np.concatenate([tenths, -2 * tenths])
    found = Lessons(off, ("d",) * 10 + ("m",) * 10, np.arange(20) >= 10, ("s",) * 20, 0.5)
    # brought to dense: -0.10..-0.01 of m, 0.01..0.10 of d, equal weights; ranks 2.1 of 20 from either end
    assert found.ends("s", moe=False) == (pytest.approx(-0.09), pytest.approx(0.09))
    assert found.ends("s", moe=True) == (pytest.approx(-0.18), pytest.approx(0.18))
    assert found.ends("s", None) == found.ends("s", moe=True)
    assert found.ends("fewer than five", moe=False) == found.ends("s", moe=False)


@pytest.mark.parametrize("model", ["gpt-oss-120b", "llama-3.1-70b", "deepseek-v3"])
def test_a_projection_has_the_band_by_which_its_model_is_judged(model):
    """Seconds a token: a band of speed, turned round."""
    judged = {
        (c.pair.platform_a, c.pair.platform_b): (c.pair.moe, PAIRS.ends[i])
        for i, c in enumerate(PAIRS.cases)
        if PAIRS.test[i] and c.group == model and stratum(c) == "decode True"
    }
    assert judged
    for (a, b), (moe, ends) in judged.items():
        found = pair_factor(BOOK, "decode", a, b, moe=moe, leave_out=model)
        sides = math.log(found.factor / found.high), math.log(found.factor / found.low)
        assert sides == pytest.approx(tuple(ends)), (a, b)


@pytest.mark.parametrize(("phase", "moe"), MOVES)
@pytest.mark.parametrize("start", ["h100-sxm", "gb200-nvl72"])
def test_no_side_of_rubin_is_surer_than_of_a_platform_with_or_without_pairs(phase, moe, start):
    rubin = pair_factor(BOOK, phase, start, "vera-rubin-nvl72", moe=moe)
    assert rubin.basis == UNSEEN
    for platform in ("b200-hgx", "gb200-nvl72", "gb300-nvl72"):
        other = pair_factor(BOOK, phase, start, platform, moe=moe)
        if platform == start or other.factor * other.low > other.factor * other.high:
            continue
        if start == "gb200-nvl72" and platform == "b200-hgx":
            other = pair_factor(BOOK, phase, platform, start, moe=moe)
        assert rubin.low / rubin.factor <= other.low / other.factor * (1 + 1e-9)
        assert rubin.high / rubin.factor >= other.high / other.factor * (1 - 1e-9)


@pytest.mark.parametrize("moe", [True, False])
def test_a_whole_step_moved_further_than_any_published_one_is_less_sure(moe):
    """Published: H100 to GB200, speed of the phases by hand; to Rubin by 22 / 3.35 and 4000 / 989 in BF16."""
    gb300 = pair_factor(BOOK, "rl_step", "h100-sxm", "gb300-nvl72", moe=moe)
    rubin = pair_factor(BOOK, "rl_step", "h100-sxm", "vera-rubin-nvl72", moe=moe)

    def log_step(bandwidth, flops):
        return math.log(0.5 * (0.5 + 0.5 / bandwidth) + 0.4 / flops + 0.1)

    further = log_step(22 / 3.35, 4000 / 989) / log_step(8 / 3.35, 2500 / 989)
    assert further > 1.2
    for end in ("low", "high"):
        wide, usual = (math.log(getattr(one, end) / one.factor) for one in (rubin, gb300))
        assert wide / usual == pytest.approx(further, rel=0.02)


def test_a_class_that_nobody_knows_has_the_wider_band():
    both = [pair_factor(BOOK, "rl_step", "h100-sxm", "gb200-nvl72", moe=moe) for moe in (True, False)]
    none = pair_factor(BOOK, "rl_step", "h100-sxm", "gb200-nvl72", moe=None)
    assert none.basis == SEEN
    assert (none.low, none.high) == (min(b.low for b in both), max(b.high for b in both))


def test_spread_of_classes_is_learned_without_the_tested_model():
    """No row of a model changes its bands, nor do its training rows, which set the ratio of classes."""
    known = cases_of(BOOK, (shipped(BOOK),))
    changed = [
        replace(c, measured=3 * c.measured) if c.group == "gpt-oss-120b" and c.body is not None else c
        for c in known
    ]
    other = predict_pairs(known, changed)
    mine = PAIRS.test & np.array([c.group == "gpt-oss-120b" for c in PAIRS.cases])
    rest = PAIRS.test & np.array([c.group == "llama-3.1-70b" for c in PAIRS.cases])
    assert np.array_equal(other.ends[mine], PAIRS.ends[mine], equal_nan=True)
    assert not np.allclose(other.ends[rest], PAIRS.ends[rest], equal_nan=True)
