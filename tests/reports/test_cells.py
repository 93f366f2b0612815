"""What a reader adds up: cents, one count of decimals a column, units that the row or the heading names."""

import re
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reports.cells import amount, column_cells, rate

CENTS = st.lists(st.integers(-(10**9), 10**9), min_size=1, max_size=30)


def cells(column, *values, units=None):
    return column_cells(column, [{column: v} for v in values], units)


def number(text: str) -> Decimal:
    return Decimal(re.sub(r"[$,]", "", text))


@given(CENTS)
def test_cents_that_are_read_add_up(cents):
    shown = cells("usd", *[c / 100 for c in cents])
    assert sum(number(text) for text in shown) == Decimal(sum(cents)) / 100


def test_an_invoice_shows_its_cents():
    assert cells("billed_usd", 120.55, 2610.74, 733.05, None, -12.34) == [
        "$120.55", "$2,610.74", "$733.05", "–", "-$12.34",
    ]  # fmt: skip


@given(st.lists(st.decimals(0, 10**5, places=2), min_size=2, max_size=30))
def test_hours_that_are_read_add_up(hours):
    shown = cells("gpu_hours", *[float(h) for h in hours])
    assert sum(number(text) for text in shown) == sum(hours)


@pytest.mark.parametrize(
    ("column", "value", "shown"),
    [
        ("usd_per_gpu_h", 2.125, "$2.125"),
        ("usd_per_gpu_h", 33.5, "$33.50"),
        ("usd_per_tok", 0.0000123456, "$0.00001235"),
        ("points_per_1000_usd", 2.5, "2.500"),
        ("share_of_usd_frac", 0.0802, "8.020"),
        ("ok_frac_low", 0.5, "50"),
        ("p_correct_high", 0.4958, "49.58"),
        ("job", 7001, "7001"),
        ("step", 240.0, "240"),
        ("tok_gen", 747833524.0, "747,833,524"),
        ("step_s", 1e-9, "1e-09"),
        ("part", "paid_idle", "paid and idle, borne by nobody"),
        ("kind", "since_checkpoint", "work after the last checkpoint that counts"),
        ("part", "not_held", "GPU time that, by the scheduler, nobody held"),
        ("how", "none", "not matched"),
        ("run", "paid_idle", "paid_idle"),
        ("host", "not_held", "not_held"),
    ],
)
def test_a_cell_reads_as_its_column_says(column, value, shown):
    assert cells(column, value) == [shown]


def test_a_unit_of_the_row_decides():
    units = ["USD", "USD per GPU-hour", "usd_per_gpu_h", "frac", "h"]
    assert cells("value", 1234.5, 2.0, 2.0, 0.75, 12.0, units=units) == [
        "$1,234.50", "$2.000", "$2.000", "75.0 %", "12",
    ]  # fmt: skip


def test_dollars_that_no_cent_shows_are_not_nothing():
    assert amount(0.00012) == "$0.00012"
    assert amount(-0.004) == "-$0.0040"
    assert amount(1e-13) == "$0.00"
    assert rate(0.0) == "$0.00"
