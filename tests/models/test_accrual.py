"""Half-open UTC periods: ends are exclusive, leap days are days, the parts are the whole."""

from datetime import date, datetime
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.accrual import by_day, by_month, days, month, month_of, overlap_s
from models.cents import total

D = Decimal


def test_an_end_at_midnight_touches_no_second_day() -> None:
    parts = days(datetime(2026, 3, 1), datetime(2026, 3, 2))
    assert [(part.day, part.seconds) for part in parts] == [(date(2026, 3, 1), 86400.0)]
    assert days(datetime(2026, 3, 1), datetime(2026, 3, 1)) == []


def test_a_leap_day_is_a_day() -> None:
    start, end = datetime(2028, 2, 28, 12), datetime(2028, 3, 1, 12)
    assert [(part.day.isoformat(), part.seconds) for part in days(start, end)] == [
        ("2028-02-28", 43200.0), ("2028-02-29", 86400.0), ("2028-03-01", 43200.0),
    ]  # fmt: skip
    assert by_month(D("48"), start, end) == [("2028-02", D("36")), ("2028-03", D("12"))]


def test_months_by_name() -> None:
    assert month("2026-12") == (datetime(2026, 12, 1), datetime(2027, 1, 1))
    assert month("2028-02")[1] == datetime(2028, 3, 1)
    assert month_of(date(2026, 3, 31)) == "2026-03"
    for bad in ("2026-3", "2026-13", "March"):
        with pytest.raises(ValueError, match=r".+"):
            month(bad)


def test_a_charge_over_two_months_by_hand() -> None:
    """31 h, of which 24 h are in March and 7 h in April."""
    start, end = datetime(2026, 3, 31), datetime(2026, 4, 1, 7)
    assert by_month(D("31"), start, end) == [("2026-03", D("24")), ("2026-04", D("7"))]
    assert by_day(D("31"), start, end) == [(date(2026, 3, 31), D("24")), (date(2026, 4, 1), D("7"))]


def test_a_moment_keeps_its_amount() -> None:
    at = datetime(2026, 3, 31, 23)
    assert by_day(D("5"), at, at) == [(date(2026, 3, 31), D("5"))]
    assert by_month(D("5"), at, at) == [("2026-03", D("5"))]


def test_periods_that_touch_share_nothing() -> None:
    a, b, c = datetime(2026, 1, 1), datetime(2026, 1, 2), datetime(2026, 1, 3)
    assert overlap_s(a, b, b, c) == 0
    assert overlap_s(a, c, b, c) == 86400


@settings(max_examples=50)
@given(
    st.datetimes(min_value=datetime(2024, 1, 1), max_value=datetime(2025, 1, 1)),
    st.timedeltas(
        min_value=datetime(2024, 1, 2) - datetime(2024, 1, 1),
        max_value=datetime(2024, 3, 1) - datetime(2024, 1, 1),
    ),
    st.decimals(-(10**6), 10**6, places=6),
)
def test_days_and_months_add_up(start: datetime, length, amount: Decimal) -> None:
    end = start + length
    assert total([part for _, part in by_day(amount, start, end)]) == amount
    assert total([part for _, part in by_month(amount, start, end)]) == amount
    assert sum(part.seconds for part in days(start, end)) == pytest.approx(length.total_seconds())
