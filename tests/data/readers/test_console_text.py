"""Dict literals, bars and stamps as consoles print them."""

import math
import time
from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from data.logs.console_text import LineClock, bars_in, fill_values, printed_number, read_dict
from data.readers.base import SetAside

NAMES = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cs"], exclude_characters="\n"), min_size=1, max_size=12
)
NUMBERS = st.one_of(st.integers(-(10**12), 10**12), st.floats(allow_nan=False, allow_infinity=False))


def numbers(text: str) -> dict[str, float]:
    read = read_dict(text)
    assert read is not None
    values: dict[str, float] = {}
    fill_values(read.items, 1, values, [])
    return values


@given(st.dictionaries(NAMES, NUMBERS, max_size=8), st.text(max_size=20))
def test_what_python_prints_is_read_back(given_values: dict[str, float], tail: str) -> None:
    text = repr(given_values)
    read = read_dict(text + tail)
    assert read is not None
    assert read.end == len(text)
    assert numbers(text) == {key: float(value) for key, value in given_values.items()}


@given(st.dictionaries(NAMES, NUMBERS, min_size=1, max_size=5), st.data())
def test_a_cut_dict_never_closes(given_values: dict[str, float], data: st.DataObject) -> None:
    text = repr(given_values)
    assert read_dict(text[: data.draw(st.integers(1, len(text) - 1))]) is None


@given(st.text(alphabet="{}[](),:'\" \\ab1.e-\n", max_size=80))
def test_any_text_is_read_or_refused(text: str) -> None:
    read = read_dict("{" + text)
    if read is not None:
        fill_values(read.items, 1, {}, [])


def test_one_odd_value_costs_only_itself() -> None:
    read = read_dict(
        "{'a': 1, 'b': array([1., 2.]), 'c': <object at 0x7f>, 'd': {'e': 2, 'f': [3, 4]}, 'g': -1e-3}"
    )
    assert read is not None
    values: dict[str, float] = {}
    cells: list[SetAside] = []
    fill_values(read.items, 7, values, cells)
    assert values == {"a": 1.0, "d/e": 2.0, "g": -0.001}
    assert [(cell.column, cell.line) for cell in cells] == [("b", 7), ("c", 7), ("d/f", 7)]


def test_deep_nesting_ends() -> None:
    values: dict[str, float] = {}
    cells: list[SetAside] = []
    read = read_dict("{'a': " * 3000 + "1" + "}" * 3000)
    assert read is not None
    fill_values(read.items, 1, values, cells)
    assert values == {}
    assert len(cells) == 1


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0.5", 0.5),
        ("'0.5'", 0.5),
        ("'5e-06'", 5e-06),
        ("np.float64(1e-05)", 1e-05),
        ("numpy.float32(2.5)", 2.5),
        ("tensor(0.25, device='cuda:3', dtype=torch.float64)", 0.25),
        ("True", 1.0),
        ("false", 0.0),
        ("1,024", 1024.0),
    ],
)
def test_numbers_as_printed(text: str, value: float) -> None:
    assert printed_number(text) == value


@pytest.mark.parametrize(
    "text", ["nan", "'NaN'", "None", "null", "inf", "-Infinity", "np.float64(nan)", "''", "1e999"]
)
def test_missing_as_printed(text: str) -> None:
    value = printed_number(text)
    assert value is not None
    assert math.isnan(value)


@pytest.mark.parametrize("text", ["'dapo'", "[1]", "1_000", "1.2.3", "<x>", "0x10"])
def test_no_number(text: str) -> None:
    assert printed_number(text) is None


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("  3%|▎  | 10/300 [01:29<67:59:26,  8.22s/it]", [(10, 300, 89.0)]),
        ("100%|██| 300/300 [27:05:09<00:00,  8.22s/it]", [(300, 300, 97509.0)]),
        ("100%|██| 4/4 [1 day, 2:00:00<00:00, 9s/it]", [(4, 4, 93600.0)]),
        (" 1%|| 1/90 [00:10<?, ?it/s] 2%|| 2/90 [00:20<00:01, 1s/it]", [(1, 90, 10.0), (2, 90, 20.0)]),
        ("Loading checkpoint shards: 100%|██| 4/4 [00:03<00:00,  1.2it/s]", []),
        ("loss | 3/4 done", []),
    ],
)
def test_bars(text: str, found: list[tuple[int, int, float]]) -> None:
    assert [(bar.done, bar.total, bar.elapsed_s) for bar in bars_in(text)] == found


@pytest.mark.parametrize(
    ("text", "zone", "utc"),
    [
        ("[2026-06-29 12:43:03] a.py:1 - x", "+02:00", datetime(2026, 6, 29, 10, 43, 3)),
        ("[2026-06-29 12:43:03,250 rank0] x", "UTC", datetime(2026, 6, 29, 12, 43, 3, 250000)),
        ("[AReaL] 20251108-15:23:11.123 Stats", "UTC", datetime(2025, 11, 8, 15, 23, 11, 123000)),
        ("2026-06-29T12:43:03Z x", None, datetime(2026, 6, 29, 12, 43, 3)),
        ("2026-06-29T12:43:03+0800 x", "UTC", datetime(2026, 6, 29, 4, 43, 3)),
        ("[2026-06-29 12:43:03] x", None, None),
        ("[2026-13-29 12:43:03] x", "UTC", None),
        ("0001-01-01 00:00:00 x", "+14:00", None),
    ],
)
def test_stamps(text: str, zone: str | None, utc: datetime | None) -> None:
    clock = LineClock(zone)
    assert clock.utc(clock.feed(text)) == utc


def test_a_pause_longer_than_any_step_is_before_the_restart() -> None:
    clock = LineClock(None)
    at = [datetime(2026, 1, 1, 0, minute) for minute in range(60)]

    def record(minute: int) -> datetime | None:
        clock.see(at[minute])
        return clock.start_of(at[minute])

    assert record(1) == at[1]
    record(3)
    record(5)
    clock.see(at[6])
    clock.see(at[40])
    assert record(42) == at[40]
    clock.see(at[43])
    assert record(44) == at[43]


def test_many_bars_on_one_line_take_no_longer_than_their_length() -> None:
    text = ("| " * 5 + "1/2 [00:01<") * 20_000
    started = time.perf_counter()
    assert len(list(bars_in(text))) == 20_000
    assert time.perf_counter() - started < 10
