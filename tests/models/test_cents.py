"""Parts of money add up to the whole to the last digit, and the split is the one that a hand would make."""

from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.cents import FULL, apportion, cents, cents_table, exact, to_cents, total

D = Decimal


def test_half_a_cent_goes_to_the_even_one() -> None:
    assert [cents(D(text)) for text in ("0.005", "0.015", "-0.005", "2.6749")] == [
        D("0.00"), D("0.02"), D("0.00"), D("2.67"),
    ]  # fmt: skip


def test_a_stored_double_is_the_decimal_it_was_written_as() -> None:
    assert exact(0.1) == D("0.1")
    assert exact(0.1 + 0.2) == D("0.3")
    assert exact(1234567.89) == D("1234567.89")
    with pytest.raises(ValueError, match="no amount"):
        exact(float("nan"))


def test_a_dollar_in_three_parts_by_hand() -> None:
    assert apportion(D("1.00"), [1, 1, 1]) == [D("0.34"), D("0.33"), D("0.33")]
    assert apportion(D("-1.00"), [1, 1, 1]) == [D("-0.34"), D("-0.33"), D("-0.33")]
    assert apportion(D("0.05"), [0.5, 0.25, 0.25]) == [D("0.03"), D("0.01"), D("0.01")]
    assert apportion(D("10"), [0, 3, 1]) == [D("0"), D("7.5"), D("2.5")]


def test_what_is_below_a_quantum_goes_to_the_largest_part() -> None:
    assert apportion(D("1.005"), [1, 3]) == [D("0.25"), D("0.755")]


def test_nobody_to_bear_it_is_an_error() -> None:
    assert apportion(D(0), [0, 0]) == [0, 0]
    for weights in ([], [0.0], [1.0, -1.0]):
        with pytest.raises(ValueError, match="weight"):
            apportion(D(1), weights)


@settings(max_examples=50)
@given(
    st.decimals(-(10**9), 10**9, places=12),
    st.lists(st.floats(0, 1e9), min_size=1, max_size=20).filter(lambda w: sum(w) > 1e-6),
    st.sampled_from([D("0.01"), FULL]),
)
def test_parts_add_up_and_are_within_a_quantum(
    whole: Decimal, weights: list[float], quantum: Decimal
) -> None:
    parts = apportion(whole, weights, quantum)
    assert total(parts) == whole
    base = total([exact(weight) for weight in weights])
    for part, weight in zip(parts, weights, strict=True):
        assert abs(part - whole * exact(weight) / base) <= 2 * quantum
    assert apportion(-whole, weights, quantum) == [-part for part in parts]


def test_amounts_in_cents_by_hand() -> None:
    assert to_cents([D("0.005"), D("0.005")], D("0.01")) == [D("0.01"), D("0.00")]
    assert to_cents([D("1.239"), D("-0.514"), D("0.275")], D("1.00")) == [D("1.24"), D("-0.51"), D("0.27")]
    assert to_cents([D("0.99"), D("0.99")], D("1.97")) == [D("0.99"), D("0.98")]
    assert to_cents([], D(0)) == []
    for amounts, whole in (([D("0.01")], D("0.05")), ([D("0.01")], D("0.015")), ([], D("0.01"))):
        with pytest.raises(ValueError, match="parts miss"):
            to_cents(amounts, whole)


MILLS = st.integers(-500_000, 500_000).map(lambda n: D(n) / 1000)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.lists(MILLS, min_size=3, max_size=3), min_size=1, max_size=5))
def test_cents_of_a_table_add_up_both_ways(table: list[list[D]]) -> None:
    whole = sum((sum(row) for row in table), D(0)).quantize(D("0.01"))
    rows = to_cents([sum(row, D(0)) for row in table], whole)
    columns = to_cents([sum((row[j] for row in table), D(0)) for j in range(3)], whole)
    out = cents_table(table, rows, columns)
    assert [sum(row, D(0)) for row in out] == rows and sum(rows) == whole
    assert [sum((row[j] for row in out), D(0)) for j in range(3)] == columns
    assert all(
        abs(a - b) < D("0.05") for x, y in zip(out, table, strict=True) for a, b in zip(x, y, strict=True)
    )
