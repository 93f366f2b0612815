"""The fast path of clean GPU logs against the exact path: the same batch, or a refusal."""

import tempfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from data.arrival.spool import spool_bytes
from data.gpu import csv_rows as gpu_csv
from data.gpu import ordered as gpu_ordered
from data.gpu import plain as gpu_plain
from data.gpu import samples as gpu_samples
from data.gpu import table as gpu_table
from data.gpu.csv_rows import load_gpu_rows
from data.gpu.parts import samples_sql
from data.gpu.rollup import connect
from data.parse import typed_csv
from data.parse.csvio import read_layout
from data.readers.base import Batch, Choices
from data.readers.nvidia_smi import NvidiaSmiReader, _columns
from tests.examples import some

HEAD = "timestamp, index, uuid, name, utilization.gpu [%], memory.used [MiB], power.draw [W], fan.speed [%]"


@dataclass(frozen=True)
class Look:
    """How one made-up log writes its cells."""

    units: bool
    head: str = HEAD


def text_of(rows: list[tuple[Any, ...]], look: Look) -> str:
    """The log of rows (seconds, gpu, util, memory, power, fan); None is written as missing."""
    lines = [look.head]
    for second, gpu, *numbers in rows:
        cells = [
            "[N/A]" if value is None else f"{value} {unit}" if look.units else str(value)
            for value, unit in zip(numbers, ("%", "MiB", "W", "%"), strict=True)
        ]
        stamp = f"2026/01/01 {second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d}.250"
        lines.append(f"{stamp}, {gpu}, GPU-{gpu}, H100 80GB, " + ", ".join(cells))
    return "\n".join(lines) + "\n"


WAYS = ("plain", "clean", "exact")
"""The three paths: compiled loops, typed columns of Arrow, the value parser."""


def batch_of(text: str, folder: Path, monkeypatch: pytest.MonkeyPatch, way: str, **choices: str) -> Batch:
    """Read through the whole reader by one of the three paths."""
    large = 0 if way == "plain" else 1 << 40
    load = partial(load_gpu_rows, bulk_from_bytes=0, clean=way != "exact", plain_from_bytes=large)
    monkeypatch.setattr(gpu_table, "load_gpu_rows", load)
    source = spool_bytes(text.encode(), "smi.csv", folder)
    return NvidiaSmiReader().read(source, Choices(**choices), Path(tempfile.mkdtemp(dir=folder)))


def samples(batch: Batch) -> pd.DataFrame:
    """Everything in the Parquet parts, in one order."""
    return duckdb.sql(f"select * from {samples_sql(batch.gpu_parts)} order by gpu_id, ts").df()


def assert_equal(one: Batch, other: Batch) -> None:
    """Equal in every count, fact, table and sample; means may differ in their last digits."""
    assert one.facts.keys() == other.facts.keys()
    for name, value in other.facts.items():
        assert one.facts[name] == (pytest.approx(value, rel=1e-12) if isinstance(value, float) else value), (
            name
        )
    for name in ("records", "stored", "ignored", "set_aside", "warnings", "mapped", "unmapped", "timezone"):
        assert getattr(one, name) == getattr(other, name), name
    assert one.tables.keys() == other.tables.keys()
    for name, table in other.tables.items():
        pd.testing.assert_frame_equal(one.tables[name], table)
    if other.gpu_parts:
        pd.testing.assert_frame_equal(samples(one), samples(other), check_exact=True)


def was_clean(text: str, folder: Path) -> bool:
    """Whether the fast paths took the file, both or none."""
    source = spool_bytes(text.encode(), "smi.csv", folder)
    taken = set()
    for large in (0, 1 << 40):
        layout, con = read_layout(source), connect(folder)
        try:
            rows = load_gpu_rows(
                con, source, layout, _columns(layout), bulk_from_bytes=0, plain_from_bytes=large
            )
            taken.add(rows.clean is not None)
        finally:
            con.close()
    assert len(taken) == 1
    return taken.pop()


def missing_or(numbers: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Numbers, now and then a missing one."""
    return st.one_of(numbers, numbers, numbers, st.none())


ROWS = st.lists(
    st.tuples(
        st.integers(0, 400),
        st.integers(0, 3),
        missing_or(st.integers(0, 100)),
        missing_or(st.integers(0, 80_000)),
        missing_or(st.floats(0, 700, allow_nan=False).map(lambda x: round(x, 2))),
        missing_or(st.integers(0, 100)),
    ),
    min_size=2,
    max_size=40,
)


@settings(max_examples=some(6), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=ROWS, units=st.booleans(), zone=st.sampled_from(["", "UTC", "Europe/Berlin"]), sort=st.booleans())
def test_all_paths_give_one_batch(
    rows: list[tuple[Any, ...]], units: bool, zone: str, sort: bool, tmp_path: Path
) -> None:
    if sort:
        rows = list({row[:2]: row for row in sorted(rows, key=lambda r: r[:2])}.values())
    text = text_of(rows, Look(units))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(typed_csv, "STRETCH_BYTES", 700)
        patch.setattr(gpu_plain, "STRETCH_BYTES", 300)
        patch.setattr(gpu_plain, "FEW_WORDS", 2)
        patch.setattr(gpu_plain, "MANY_WORDS", 3)
        choices = {"timezone": zone} if zone else {}
        plain, clean, exact = (batch_of(text, tmp_path, patch, way, **choices) for way in WAYS)
    assert_equal(plain, exact)
    assert_equal(clean, exact)


def plain(seconds: int = 60) -> list[tuple[Any, ...]]:
    """Two GPUs, a tick a second."""
    return [(s, g, 10 * g + s, 1000 + s, 99.5 + g, 30) for s in range(seconds) for g in range(2)]


@pytest.mark.parametrize("units", [True, False])
def test_a_clean_log_is_taken_and_missing_cells_keep_it_clean(units: bool, tmp_path: Path) -> None:
    rows = plain()
    assert was_clean(text_of(rows, Look(units)), tmp_path)
    rows[7] = (*rows[7][:2], None, None, None, None)
    assert was_clean(text_of(rows, Look(units)), tmp_path)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("2026/01/01 00:00:20.250", "20 Jan 2026 00:00"),
        ("2026/01/01 00:00:20.250", "2026/01/01 00:00:20.250 +02:00"),
        (" 20 %", ' "20 %"'),
        (" 20 %", " 130 %"),
        (" 20 %", " -1 %"),
        (" 20 %", " 20 W"),
        (" 20 %", " 20"),
        (" 20 %", " much %"),
        (" 1020 MiB", " 9223372036854775807 MiB"),
        (" 100.5 W", " 4294967295 W"),
        ("GPU-1, H100 80GB, 30 %, 1020", "GPU-1, 30 %, 1020"),
        ("\n2026/01/01 00:00:20.250, 1", "\n\n2026/01/01 00:00:20.250, 1"),
        ("\n2026/01/01 00:00:20.250, 1", f"\n{HEAD}\n2026/01/01 00:00:20.250, 1"),
        ("\n2026/01/01 00:00:20.250, 1", "\nUnable to talk to the driver\n2026/01/01 00:00:20.250, 1"),
        ("\n2026/01/01 00:00:20.250, 1", "\n   \n2026/01/01 00:00:20.250, 1"),
        (" 30 %\n", " 30 %, 1\n"),
    ],
)
def test_dirty_logs_are_refused_and_read_exactly(
    old: str, new: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = text_of(plain(), Look(True))
    assert old in text
    dirty = text.replace(old, new, 1)
    assert not was_clean(dirty, tmp_path)
    both = [batch_of(dirty, tmp_path, monkeypatch, way) for way in ("plain", "exact")]
    assert_equal(*both)


def test_a_log_without_units_refuses_text_and_sentinels(tmp_path: Path) -> None:
    text = text_of(plain(), Look(False))
    assert was_clean(text, tmp_path)
    for new in (", 101, 1020", ", 2_0, 1020", ", 20 %, 1020", ", 0x14, 1020", ", 20, 9223372036854775807"):
        assert not was_clean(text.replace(", 20, 1020", new, 1), tmp_path)


def test_a_cut_tail_is_refused(tmp_path: Path) -> None:
    text = text_of(plain(), Look(True))
    assert not was_clean(text[:-20], tmp_path)
    assert not was_clean(text[:-1], tmp_path)


def test_gpus_without_a_name_that_others_have(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    head = "timestamp, index, utilization.gpu [%]"
    rows = [f"2026/01/01 00:00:{s:02d}, {'N/A' if s % 3 == 0 else s % 2}, {s}" for s in range(40)]
    text = "\n".join([head, *rows]) + "\n"
    every = [batch_of(text, tmp_path, monkeypatch, way) for way in WAYS]
    assert every[0].ignored == {"row names no GPU": 14}
    assert_equal(every[0], every[2])
    assert_equal(every[1], every[2])


def test_every_kind_of_missing_cell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = (
        "N/A",
        "[Not Supported]",
        "",
        "-",
        "nan",
        "inf",
        "[Unknown Error]",
        "ERR!",
        "[GPU is lost]",
        "-inf",
    )
    rows = plain()
    lines = text_of(rows, Look(False)).splitlines()
    for at, word in enumerate(words, 5):
        lines[at] = lines[at].rsplit(",", 2)[0] + f", {word}, {word}"
    text = "\n".join(lines) + "\n"
    every = [batch_of(text, tmp_path, monkeypatch, way) for way in WAYS]
    assert every[2].facts["missing_cells[power.draw [W]]"] == len(words)
    assert_equal(every[0], every[2])
    assert_equal(every[1], every[2])


@pytest.mark.parametrize("whole", [True, False])
def test_long_gaps_and_half_microseconds_are_spaced_alike(
    whole: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tail = "250" if whole else "250001"
    stamps = [f"2026/01/01 00:00:0{s}.250" for s in range(4)] + [f"2026/01/01 00:00:04.{tail}"]
    stamps += [f"2026/01/{day:02d} 00:00:04.{tail}" for day in (2, 9, 30)]
    rows = [f"{stamp}, {g}, {k}, 100" for k, stamp in enumerate(stamps) for g in range(2)]
    text = "\n".join(["timestamp, index, utilization.gpu [%], power.draw [W]", *rows]) + "\n"
    assert was_clean(text, tmp_path)
    every = [batch_of(text, tmp_path, monkeypatch, way) for way in WAYS]
    assert every[0].facts["gap_max_s"] == 21 * 86400
    assert_equal(every[0], every[2])
    assert_equal(every[1], every[2])


def test_a_large_table_becomes_a_part_a_core(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu_samples, "GROUP_ROWS", 16)
    monkeypatch.setattr(gpu_ordered, "BLOCK_ROWS", 20)
    monkeypatch.setattr(gpu_samples, "WORKERS", 3)
    monkeypatch.setattr(gpu_ordered, "WORKERS", 3)
    text = text_of(plain(59), Look(True))
    every = [batch_of(text, tmp_path, monkeypatch, way) for way in WAYS]
    assert [len(batch.gpu_parts) for batch in every] == [3, 3, 1]
    assert_equal(every[0], every[2])
    assert_equal(every[1], every[2])


COMMAS = "timestamp;index;utilization.gpu [%];memory.used [MiB];power.draw [W]"


@pytest.mark.parametrize("way", WAYS)
def test_decimal_commas_of_one_column_hold_for_all(
    way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = ["0;50,5 %;17.304 MiB;171,234 W", "0;50 %;17304 MiB;171,5 W", "0;51 %;17.305 MiB;171 W"]
    text = "\n".join([COMMAS, *(f"2026/01/01 00:00:0{s};{row}" for s, row in enumerate(rows))]) + "\n"
    assert not was_clean(text, tmp_path)
    found = samples(batch_of(text, tmp_path, monkeypatch, way))
    assert found["power_w"].tolist() == [171.234, 171.5, 171.0]
    assert found["mem_bytes"].tolist() == [17304 * 2**20, 17304 * 2**20, 17305 * 2**20]
    assert found["gpu_util"].tolist() == [0.505, 0.5, 0.51]


@pytest.mark.parametrize("way", WAYS)
def test_decimal_commas_below_the_first_rows_hold_for_all(
    way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gpu_csv, "SAMPLE_ROWS", 2)
    rows = [
        "0;50 %;17304 MiB;171 W",
        "0;50 %;17.304 MiB;171 W",
        "0;50 %;17.305 MiB;171,234 W",
        "0;51,5 %;1 MiB;1 W",
    ]
    text = "\n".join([COMMAS, *(f"2026/01/01 00:00:0{s};{row}" for s, row in enumerate(rows))]) + "\n"
    assert not was_clean(text, tmp_path)
    found = samples(batch_of(text, tmp_path, monkeypatch, way))
    assert found["power_w"].tolist() == [171.0, 171.0, 171.234, 1.0]
    assert found["mem_bytes"].tolist() == [n * 2**20 for n in (17304, 17304, 17305, 1)]


@pytest.mark.parametrize("way", WAYS)
def test_a_comma_that_nothing_explains_is_set_aside(
    way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = ["0;50 %;17304 MiB;171,234 W", "0;50 %;17.304 MiB;171 W"]
    text = "\n".join([COMMAS, *(f"2026/01/01 00:00:0{s};{row}" for s, row in enumerate(rows))]) + "\n"
    batch = batch_of(text, tmp_path, monkeypatch, way)
    assert [(one.line, one.text, one.column) for one in batch.set_aside] == [
        (2, "171,234 W", "power.draw [W]"),
        (3, "17.304 MiB", "memory.used [MiB]"),
    ]
    assert samples(batch)["power_w"].isna().tolist() == [True, False]


def test_points_between_semicolons_stay_clean(tmp_path: Path) -> None:
    rows = [f"2026/01/01 00:00:0{s};0;50 %;17304 MiB;171.{s}0 W" for s in range(4)]
    assert was_clean("\n".join([COMMAS, *rows]) + "\n", tmp_path)


@pytest.mark.parametrize("way", WAYS)
def test_nodes_without_a_name_in_one_file_are_told(
    way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = ([(s, 0, util, 1000, 99.5, 30) for s in range(5)] for util in (10, 90))
    both = sorted([*one, *other], key=lambda row: row[0])
    batch = batch_of(text_of(both, Look(True)), tmp_path, monkeypatch, way)
    told = [text for text in batch.warnings if "different values" in text]
    assert batch.ignored == {"duplicate sample": 5}
    assert len(told) == 1 and told[0].startswith("5 times of a GPU") and "host" in told[0]
    twice = batch_of(text_of(sorted(one * 2), Look(True)), tmp_path, monkeypatch, way)
    assert twice.ignored == {"duplicate sample": 5}
    assert not [text for text in twice.warnings if "different values" in text]
