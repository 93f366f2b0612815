"""Factors of moves that nobody published: no surer than those that were, the same in two legs as in one."""

import math

import pytest

from analysis.backtest import CatalogueKey, reports_of
from analysis.pairfactors import (
    SEEN,
    UNSEEN,
    _Asked,
    _factor,
    _known_fixed_share,
    _teachers,
    pair_factor,
)
from data.catalogue import load_catalogue
from models.backtest import coverage

BOOK = load_catalogue()


@pytest.mark.parametrize("phase", ["decode", "training"])
def test_no_side_of_an_unseen_move_is_surer_than_a_seen_one(phase):
    seen = pair_factor(BOOK, phase, "h100-sxm", "b200-hgx")
    for start in ("h100-sxm", "gb200-nvl72"):
        unseen = pair_factor(BOOK, phase, start, "vera-rubin-nvl72")
        assert (seen.basis, unseen.basis) == (SEEN, UNSEEN)
        assert unseen.low / unseen.factor <= seen.low / seen.factor * (1 + 1e-9)
        assert unseen.high / unseen.factor >= seen.high / seen.factor * (1 - 1e-9)
        assert unseen.high / unseen.low > seen.high / seen.low


@pytest.mark.parametrize("moe", [True, False])
def test_a_generation_without_pairs_keeps_what_the_leg_to_a_known_one_showed(moe):
    """Hopper to Blackwell is published, Blackwell to Rubin is not: in two legs as in one."""

    def factor(a, b):
        return pair_factor(BOOK, "decode", a, b, moe=moe).factor

    legs = factor("h100-sxm", "gb200-nvl72") * factor("gb200-nvl72", "vera-rubin-nvl72")
    assert factor("h100-sxm", "vera-rubin-nvl72") == pytest.approx(legs)
    assert factor("gb200-nvl72", "vera-rubin-nvl72") == 1
    assert factor("vera-rubin-nvl72", "h100-sxm") == pytest.approx(1 / legs)
    assert factor("mi300x", "mi355x") == 1


def test_legs_are_of_the_class_and_without_the_model_left_out():
    dense, moe = (
        pair_factor(BOOK, "decode", "h100-sxm", "vera-rubin-nvl72", moe=moe).factor for moe in (False, True)
    )
    assert abs(math.log(moe / dense)) > 0.1
    lone = pair_factor(BOOK, "decode", "h100-sxm", "vera-rubin-nvl72", leave_out="llama-3.1-70b").factor
    assert lone == 1


@pytest.mark.parametrize("moe", [True, False])
def test_a_band_of_decode_holds_eight_of_ten_pairs_of_its_own_class(moe):
    """Of pairs with a published layout; both classes pooled held 99 % of the dense and half of the others."""
    pairs, _ = reports_of(BOOK)
    band = pair_factor(BOOK, "decode", "h100-sxm", "b200-hgx", moe=moe)
    low, high = math.log(band.low / band.factor), math.log(band.high / band.factor)
    gaps = [
        (case.measured - predicted) * case.sign
        for case, predicted, tested in zip(pairs.cases, pairs.predicted, pairs.test, strict=True)
        if tested and case.pair.set == "decode" and case.pair.moe == moe and case.layout_known
    ]
    inside = sum(low - 1e-9 <= gap <= high + 1e-9 for gap in gaps)
    assert len(gaps) > 70 and coverage(inside, len(gaps)).holds, inside


def test_factors_need_no_prediction_of_the_published_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    # a back-test takes seconds; whoever plans a cadence must not wait for one
    def refused(key: CatalogueKey) -> None:
        raise AssertionError("the back-test was run")

    monkeypatch.setattr("analysis.backtest._shipped", refused)
    key, asked = CatalogueKey(BOOK), _Asked("rl_step", "h100-sxm", "gb200-nvl72", "bf16", True, None, "")
    teachers = _teachers.__wrapped__(key)
    monkeypatch.setattr("analysis.pairfactors._teachers", lambda _: teachers)
    assert 0 < _known_fixed_share.__wrapped__(key, "") < 1
    found = _factor.__wrapped__(key, asked)
    assert found.pairs > 0 and found.low < found.factor < found.high
