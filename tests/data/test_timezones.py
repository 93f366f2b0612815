"""Time stamps: what a text says, zones, and SQL that agrees with Python."""

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data.errors import UserError
from data.parse.timezones import offsets, parse_stamp, sql_stamp, to_utc, zone_of


@pytest.mark.parametrize(
    ("text", "at", "offset"),
    [
        ("2026/01/03 15:36:53.507", datetime(2026, 1, 3, 15, 36, 53, 507000), None),
        (" 2026-01-03T15:36:53 ", datetime(2026, 1, 3, 15, 36, 53), None),
        ("2026-01-03 15:36", datetime(2026, 1, 3, 15, 36), None),
        ("2026-01-03T15:36:53Z", datetime(2026, 1, 3, 15, 36, 53), "+00:00"),
        ("2026-01-03T15:36:53.25+02:00", datetime(2026, 1, 3, 13, 36, 53, 250000), "+02:00"),
        ("2026-01-03 15:36:53 -0530", datetime(2026, 1, 3, 21, 6, 53), "-05:30"),
        ("1767454613", datetime(2026, 1, 3, 15, 36, 53), ""),
        ("1767454613.507", datetime(2026, 1, 3, 15, 36, 53, 507000), ""),
        ("1767454613507", datetime(2026, 1, 3, 15, 36, 53, 507000), ""),
    ],
)
def test_stamps(text: str, at: datetime, offset: str | None) -> None:
    stamp = parse_stamp(text)
    assert stamp is not None and (stamp.at, stamp.offset) == (at, offset)


@pytest.mark.parametrize(
    "text", [None, "", "03/01/2026 10:00:00", "2026-02-30 10:00:00", "12:00", "infinity", "34 %"]
)
def test_no_stamp(text: str | None) -> None:
    assert parse_stamp(text) is None


def test_zones() -> None:
    assert zone_of(None) is None
    assert to_utc(datetime(2026, 1, 3, 12), zone_of("+02:00") or ZoneInfo("UTC")) == datetime(2026, 1, 3, 10)
    with pytest.raises(UserError, match=r"Mars/Olympus.*Use a name"):
        zone_of("Mars/Olympus")


@given(
    zone=st.sampled_from(
        ["Europe/Berlin", "America/Los_Angeles", "Australia/Lord_Howe", "UTC", "Asia/Kolkata"]
    ),
    first=st.datetimes(datetime(2020, 1, 1), datetime(2029, 1, 1)),
    days=st.floats(0, 500),
    shares=st.lists(st.floats(0, 1), min_size=1, max_size=8),
)
@settings(deadline=None)
def test_sql_offsets_agree_with_zoneinfo(
    zone: str, first: datetime, days: float, shares: list[float]
) -> None:
    tz = ZoneInfo(zone)
    last = first + timedelta(days=days)
    stamps = [first + timedelta(seconds=int(share * days * 86400)) for share in shares]
    con = duckdb.connect()
    con.execute("create table t as select unnest($1::timestamp[]) as ts", [stamps])
    found = con.execute(f"select ts, {offsets(tz, first, last).sql('ts')} from t").fetchall()
    assert [utc for _, utc in found] == [to_utc(ts, tz) for ts, _ in found]


def test_the_hour_that_occurs_twice_is_found() -> None:
    found = offsets(ZoneInfo("Europe/Berlin"), datetime(2026, 10, 1), datetime(2026, 11, 1))
    assert found.falls_back == [datetime(2026, 10, 25, 3)]


@pytest.mark.parametrize(
    "sample",
    [
        ["2026/01/03 15:36:53.507", "2026/01/03 15:36:54.512"],
        ["2026-01-03T15:36:53Z", "2026-01-03T15:36:53.5+02:00"],
        ["1767454613", "1767454613.507"],
        ["1767454613507"],
    ],
)
def test_sql_stamp_agrees_and_leaves_other_kinds_alone(sample: list[str]) -> None:
    odd = [
        "2026/01/03 15:36:53",
        "2026-01-03 15:36:53-05:00",
        "epoch",
        "infinity",
        "x",
        "2026-01-03",
        "1767454613",
    ]
    expression, offset = sql_stamp("c", sample)
    con = duckdb.connect()
    con.execute("set TimeZone = 'UTC'")
    con.execute("create table t as select unnest($1) as c", [sample + odd])
    for text, at in con.execute(f"select c, {expression} from t").fetchall():
        stamp = parse_stamp(text)
        if text in sample:
            assert stamp is not None and at == stamp.at
        elif at is not None:
            assert stamp is not None and at == stamp.at
            assert (stamp.offset is None) == (offset is None)
