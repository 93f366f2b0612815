"""The value parser: every spelling met in the wild, and the SQL form that must agree with it."""

import math

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data.parse.values import (
    SENTINELS,
    column_decimal,
    is_missing,
    parse_number,
    sql_number_expression,
    unit_of_header,
)
from tests.examples import some

WORDS = [
    "", "  ", "N/A", "[N/A]", "na", "NULL", "null", "None", "-", "[Not Supported]", "Not Supported",
    "[Unknown Error]",
    "ERR!", "undefined", "NaN", "nan", "-nan", "Infinity", "-Infinity", "inf", "no reading", "Not Readable",
    "[Insufficient Permissions]", "[GPU requires reset]",
    "9223372036854775792", "9223372036854775794", "9223372036854776000", "9223372036854775807", "2147483632",
    "140737488355328", "4294967295", "18446744073709551615",
]  # fmt: skip


@pytest.mark.parametrize("text", [None, *WORDS])
def test_missing_is_none_with_a_status_never_zero(text: str | None) -> None:
    assert is_missing(text)
    for hint in (None, "%", "MiB", "W"):
        value = parse_number(text, hint)
        assert value.number is None and value.status == "missing"


@pytest.mark.parametrize(
    ("text", "number", "unit"),
    [
        ("34 %", 0.34, "ratio"),
        ("34%", 0.34, "ratio"),
        ("100 %", 1.0, "ratio"),
        ("17304 MiB", 17304 * 2**20, "B"),
        ("7.47 KiB", 7.47 * 1024, "B"),
        ("567 B", 567.0, "B"),
        ("1.5 GB", 1.5e9, "B"),
        ("71.06 W", 71.06, "W"),
        ("1.2 kW", 1200.0, "W"),
        ("250 mW", 0.25, "W"),
        ("2 MW", 2e6, "W"),
        ("1980 MHz", 1980.0, "MHz"),
        ("1.98 GHz", 1980.0, "MHz"),
        ("45 °C", 45.0, "degC"),
        ("-5 C", -5.0, "degC"),
        ("350 ms", 0.35, "s"),
        ("2 min", 120.0, "s"),
        ("1 kWh", 3.6e6, "J"),
        ("1,024", 1024.0, ""),
        ("1,721,992,142.283", 1721992142.283, ""),
        ("1.721.992,5", 1721992.5, ""),
        ("0,5", 0.5, ""),
        ("0,123", 0.123, ""),
        ("12,5", 12.5, ""),
        ("1 234,5", 1234.5, ""),
        ("1'234", 1234.0, ""),
        ("1.234", 1.234, ""),
        (".5", 0.5, ""),
        ("5.", 5.0, ""),
        ("1e-3", 0.001, ""),
        ("1.5E+3", 1500.0, ""),
        ("−7", -7.0, ""),
        ("+7", 7.0, ""),
        (" 0 ", 0.0, ""),
        ("\u00a012\u202f%", 0.12, "ratio"),
        ("np.float64(0.1)", 0.1, ""),
        ("tensor(0.25, device='cuda:0')", 0.25, ""),
        ("1.5 K", 1500.0, ""),
        ("3 Mil", 3e6, ""),
        ("42 tokens", 42.0, ""),
    ],
)
def test_spellings(text: str, number: float, unit: str) -> None:
    value = parse_number(text)
    assert value.status == "ok" and value.unit == unit
    assert value.number == pytest.approx(number, rel=1e-12)


def test_hints() -> None:
    assert parse_number("34", "%").number == 0.34
    assert parse_number("0.34", "ratio").number == 0.34
    assert parse_number("80", "MB", binary_mb=True).number == 80 * 2**20
    assert parse_number("80 MB", binary_mb=True).number == 80 * 2**20
    assert parse_number("80 MB").number == 80e6
    assert parse_number("1.2 K", "W").number == 1200
    assert parse_number("12,345", decimal=",").number == 12.345
    assert parse_number("12,345", decimal=".").number == 12345
    assert parse_number("1.234", decimal=",").number == 1234
    assert parse_number("1,234", decimal="?").status == "bad"
    assert [parse_number(text, decimal="?").number for text in ("1.234", "0,234", "1,2")] == [
        1.234,
        0.234,
        1.2,
    ]


@pytest.mark.parametrize(
    ("text", "hint", "status"),
    [
        ("101 %", None, "out_of_range"),
        ("-1", "%", "out_of_range"),
        ("1.2", "ratio", "out_of_range"),
        ("-3 W", None, "out_of_range"),
        ("71 W", "%", "bad"),
        ("34 %", "MiB", "bad"),
        ("GPU is on fire", None, "bad"),
        ("1,2,3", None, "bad"),
        ("12,34,567", None, "bad"),
        ("1.23.4", None, "bad"),
        ("1,23", ".", "bad"),
        ("5 furlongs", None, "bad"),
        ("500m", "cores", "bad"),
        ("5m", "s", "bad"),
        ("5 M", "s", "bad"),
        ("300 K", "C", "bad"),
        ("2g", "B", "bad"),
        ("5 tokens", "s", "bad"),
        ("2026/01/01", None, "bad"),
        ("10:30", None, "bad"),
        ("P0", None, "bad"),
        ("3-4", None, "bad"),
    ],
)
def test_what_is_set_aside_has_a_reason(text: str, hint: str | None, status: str) -> None:
    value = parse_number(text, None if hint == "." else hint, "." if hint == "." else None)
    assert (value.number, value.status) == (None, status)
    assert value.reason


def test_decimal_mark_of_a_column() -> None:
    assert column_decimal(["1,5", "12,345"]) == ","
    assert column_decimal(["1,024", "2,048"]) is None
    assert column_decimal(["1,024", "2,048.5"]) == "."
    assert column_decimal(["1.234,5", "7"]) == ","
    assert column_decimal(["0.5", "1.25"]) == "."
    assert column_decimal(["N/A", "1.234"]) is None
    assert column_decimal(["1,5", "0.5"]) is None


def test_unit_of_header() -> None:
    assert unit_of_header("utilization.gpu [%]") == "%"
    assert unit_of_header("Average Graphics Package Power (W)") == "W"
    assert unit_of_header("temperature.gpu") is None


@given(st.floats(-1e12, 1e12))
def test_plain_numbers_round_trip(number: float) -> None:
    assert parse_number(repr(number)).number == number


@given(st.floats(0, 100), st.sampled_from(["{} %", "{}%", " {} % "]))
def test_percents_become_ratios(percent: float, form: str) -> None:
    assert parse_number(form.format(percent)).number == percent / 100


CELLS = st.one_of(
    st.sampled_from(WORDS),
    st.floats(0, 120, allow_subnormal=False).map(lambda x: f"{x:.2f}"),
    st.integers(-5, 10**6).map(str),
    st.text(st.sampled_from("0123456789., %MiBWxe-+"), max_size=9),
    st.integers(0, 120).map(lambda x: f" {x} %"),
    st.integers(0, 99999).map(lambda x: f"{x} MiB"),
)


@given(
    cells=st.lists(CELLS, min_size=1, max_size=20),
    hint=st.sampled_from([None, "%", "MiB", "W", "ratio", "MHz", "B", "Hz", "mW", "ms", "GiB", "C", "J"]),
)
@settings(deadline=None, max_examples=some(40))
def test_sql_never_disagrees_with_the_parser(cells: list[str], hint: str | None) -> None:
    con = duckdb.connect()
    con.execute("create table t as select unnest($1) as c", [cells])
    expression = sql_number_expression("c", cells, hint)
    for text, fast in con.execute(f"select c, {expression} from t").fetchall():
        if fast is not None:
            slow = parse_number(text, hint)
            assert slow.number is not None, (text, fast, slow)
            assert math.isclose(fast, slow.number, rel_tol=1e-12), (text, fast, slow)


@pytest.mark.parametrize(
    "hint", [None, "%", "MiB", "kB", "W", "mW", "MHz", "Hz", "ms", "s", "J", "C", "ratio"]
)
def test_sql_knows_every_sentinel_whatever_the_unit(hint: str | None) -> None:
    cells = [str(n) for n in sorted(SENTINELS)] + ["9300000000000000000", "9.3e18", "1e21"]
    con = duckdb.connect()
    con.execute("create table t as select unnest($1) as c", [cells])
    for sample in (cells, ["1", *cells]):
        expression = sql_number_expression("c", sample, hint)
        found = con.execute(f"select c, {expression} from t").fetchall()
        assert [text for text, number in found if number is not None] == []
        assert all(parse_number(text, hint).number is None for text, _ in found)


@pytest.mark.parametrize(
    ("cells", "hint", "want"),
    [
        (["34 %", "35 %"], "%", [0.34, 0.35]),
        (["34", "35"], "%", [0.34, 0.35]),
        ([" 17304 MiB"], "MiB", [17304 * 2**20]),
        ([" 71.06 W", "[N/A]"], "W", [71.06, None]),
        (["[N/A]", " 71.06 W"], "W", [None, 71.06]),
        (["1", "x"], None, [1.0, None]),
    ],
)
def test_sql_takes_the_usual_cells(cells: list[str], hint: str | None, want: list[float | None]) -> None:
    con = duckdb.connect()
    con.execute("create table t as select unnest($1) as c", [cells])
    got = con.execute(f"select {sql_number_expression('c', cells, hint)} from t").fetchall()
    assert [row[0] for row in got] == want


@pytest.mark.parametrize(("text", "missing"), [("7" * 5000, True), ("1234567890²", False), ("7" * 200, True)])
def test_very_long_and_odd_whole_numbers_do_not_stop_a_file(text: str, missing: bool) -> None:
    assert is_missing(text) == missing


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        ("power.draw [W]", "W"),
        ("a [x] (MiB) ", "MiB"),
        ("a [", None),
        ("[%]", "%"),
        ("a []", None),
        ("a (b] c)", None),
    ],
)
def test_units_in_headers(name: str, unit: str | None) -> None:
    assert unit_of_header(name) == unit
