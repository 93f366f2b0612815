"""No noise of sums and quotients leaves the app, and no digit that is one is lost."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reports.export import table_csv
from reports.precision import settled


@pytest.mark.parametrize(
    ("value", "column", "out"),
    [
        (301.669999986, "usd_full", 301.67),
        (0.1 + 0.2, "gpu_h", 0.3),
        (503296.00000000006, "gpu_s", 503296.0),
        (0.00000217, "usd", 0.00000217),
        (2.1234567891, "usd_per_gpu_h", 2.1234567891),
        (7, "usd", 7),
        (None, "usd", None),
    ],
)
def test_a_value_keeps_its_digits_and_loses_its_noise(value, column, out):
    assert settled(value, column) == out


def test_headline_figures_are_told_by_their_unit():
    figure = {"unit": "usd_exact", "value": 301.669999986, "low": 301.669999986, "n": 3}
    assert settled([figure]) == [{"unit": "usd_exact", "value": 301.67, "low": 301.67, "n": 3}]
    other = {"unit": "kWh", "value": 301.669999986}
    assert settled(other) == other


@given(st.integers(-(10**12), 10**12))
def test_every_cent_survives(cents):
    assert settled(cents / 100, "usd") == cents / 100


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_nothing_changes_by_more_than_a_millionth_of_a_dollar(value):
    assert math.isclose(settled(value, "usd"), value, rel_tol=1e-14, abs_tol=0.51e-6)


def test_a_csv_has_no_noise():
    assert table_csv([{"usd_full": 301.669999986, "gpu_h": 0.1 + 0.2}], ["usd_full", "gpu_h"]) == (
        "usd_full,gpu_h\n301.67,0.3\n"
    )
