"""Shared costs: parts add up to the amount whatever the method, fixed shares leave a rest."""

from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.sharing import fixed_shares, share_out

D = Decimal
AMOUNTS = st.decimals("-1e9", "1e9", places=12)
USE = st.lists(st.floats(0, 1e9), min_size=1, max_size=6)


def test_by_hand():
    equal = share_out(D("100.00"), "equal", ["a", "b", "c"])
    assert equal.rest == 0 and sum(equal.parts.values()) == D("100.00")
    assert equal.parts["a"] == D("33.333333333334")
    used = share_out(D("100"), "gpu_hours", ["a", "b"], used={"a": 3.0, "b": 1.0})
    assert used.parts == {"a": D(75), "b": D(25)} and used.rest == 0
    fixed = share_out(D("10.01"), "fixed", ["a", "b"], fixed={"a": D("0.5"), "b": D("0.3")})
    assert fixed.parts == {"a": D("5.005"), "b": D("3.003")} and fixed.rest == D("2.002")


def test_without_usage_everything_is_the_rest():
    split = share_out(D("7.77"), "gpu_hours", ["a", "b"], used={"a": 0.0})
    assert split.rest == D("7.77") and set(split.parts.values()) == {D(0)}


@settings(max_examples=50)
@given(AMOUNTS, USE)
def test_no_cent_is_made_or_lost(amount, use):
    names = [str(place) for place in range(len(use))]
    used = dict(zip(names, use, strict=True))
    fixed = {name: D(1) / D(len(names) + 1) for name in names}
    for method in ("equal", "gpu_hours", "fixed"):
        split = share_out(amount, method, names, fixed=fixed, used=used)
        assert sum(split.parts.values()) + split.rest == amount


@pytest.mark.parametrize("shares", [["0.6", "0.5"], ["0", "1"], ["-0.1"], ["NaN"]])
def test_shares_above_one_or_not_above_zero_are_refused(shares):
    with pytest.raises(ValueError):
        fixed_shares([D(share) for share in shares])


def test_targets_are_named_once():
    for targets in ([], ["a", "a"]):
        with pytest.raises(ValueError):
            share_out(D(1), "equal", targets)
