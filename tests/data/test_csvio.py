"""CSV books that balance: any file, both paths, every line accounted for."""

import csv
import io
import tempfile
import time
from pathlib import Path

import duckdb
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from data.arrival.spool import spool_bytes
from data.errors import UnreadableFileError
from data.parse.csvio import CsvCounts, CsvRow, CsvRows, best_delimiter, read_all, read_layout, split_line
from data.parse.csvscan import can_scan, load_rows
from data.readers.base import Source
from tests.examples import some


def spooled(text: str, folder: Path, name: str = "f.csv") -> Source:
    return spool_bytes(text.encode(), name, folder)


def exact(text: str, folder: Path) -> tuple[list[CsvRow], CsvCounts]:
    source = spooled(text, folder)
    rows = CsvRows(source, read_layout(source))
    return list(rows), rows.counts


def through_duckdb(text: str, folder: Path, bulk: bool) -> tuple[list[tuple[str | None, ...]], CsvCounts]:
    source = spooled(text, folder)
    layout = read_layout(source)
    con = duckdb.connect()
    columns = ", ".join(f"c{i} varchar" for i in range(len(layout.header)))
    con.execute(f"create table t (line bigint, {columns})")

    def insert(relation: str) -> int:
        taken = con.execute(f"insert into t select * from {relation}").fetchone()
        assert taken is not None
        return int(taken[0])

    counts = load_rows(con, source, layout, insert, bulk_from_bytes=0 if bulk else 1 << 60)
    return con.execute("select * exclude (line) from t").fetchall(), counts


def padded(rows: list[CsvRow], width: int) -> list[tuple[str | None, ...]]:
    return [row.cells + (None,) * (width - len(row.cells)) for row in rows]


def order(rows: list[tuple[str | None, ...]]) -> list[str]:
    return sorted(map(repr, rows))


CELL = st.text(st.sampled_from('ab1,;" \n.é'), max_size=5)
PLAIN = st.text(st.sampled_from("ab1 .é%"), max_size=5)


@given(line=st.lists(CELL, min_size=1, max_size=6))
def test_what_csv_writes_is_read_back(line: list[str]) -> None:
    out = io.StringIO()
    csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="").writerow(line)
    assert split_line(out.getvalue(), ",") == line


@given(rows=st.lists(st.lists(CELL, min_size=3, max_size=3), min_size=1, max_size=12), closed=st.booleans())
@settings(deadline=None)
def test_quoted_files_round_trip_with_the_lines_they_start_on(rows: list[list[str]], closed: bool) -> None:
    out = io.StringIO()
    writer = csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerow(["x", "y", "z"])
    starts = []
    for row in rows:
        starts.append(out.getvalue().count("\n") + 1)
        writer.writerow(row)
    text = out.getvalue() if closed else out.getvalue()[:-1]
    with tempfile.TemporaryDirectory() as folder:
        found, counts = exact(text, Path(folder))
    assert [row.cells for row in found] == [tuple(row) for row in rows]
    assert [row.line for row in found] == starts
    assert (counts.records, counts.ragged_rows, counts.partial_last_line) == (len(rows), 0, 0)


@given(
    lines=st.lists(
        st.one_of(
            st.lists(PLAIN, min_size=1, max_size=5).map(",".join),
            st.just(""),
            st.just("   "),
            st.just("x,y, z"),
        ),
        max_size=25,
    ),
    newline=st.booleans(),
)
@example(lines=["1,2,3", "4,5"], newline=False)
@example(lines=["1,2", "4,5"], newline=False)
@settings(deadline=None, max_examples=some(20))
def test_bulk_and_exact_paths_agree_and_balance(lines: list[str], newline: bool) -> None:
    text = "x, y,z\n" + "\n".join(lines) + ("\n" if newline else "")
    with tempfile.TemporaryDirectory() as folder:
        rows, counts = exact(text, Path(folder))
        if not counts.records:
            with pytest.raises(UnreadableFileError, match=r"no data rows|no other record"):
                through_duckdb(text, Path(folder), bulk=True)
            return
        fast, fast_counts = through_duckdb(text, Path(folder), bulk=True)
        slow, slow_counts = through_duckdb(text, Path(folder), bulk=False)
    assert order(fast) == order(slow) == order(padded(rows, 3))
    assert fast_counts == slow_counts == counts
    assert counts.records == len(rows) + len(counts.set_aside)
    under = text.count("\n") - 1 + (0 if text.endswith("\n") else 1)
    assert under == counts.records + counts.blank_lines + counts.header_repeated + counts.partial_last_line


@given(text=st.text(st.sampled_from('a1,"\n '), max_size=60))
@settings(deadline=None, max_examples=some(67))
def test_no_line_of_any_text_is_lost(text: str) -> None:
    body = "x,y\n" + text
    with tempfile.TemporaryDirectory() as folder:
        rows, counts = exact(body, Path(folder))
    assert counts.records == len(rows) + len(counts.set_aside)
    kept = "".join(cell for row in rows for cell in row.cells) + "".join(s.text for s in counts.set_aside)
    if not counts.partial_last_line:
        assert kept.count("a") == text.count("a")
        assert kept.count("1") == text.count("1")


def test_a_large_file_with_every_quirk(tmp_path: Path) -> None:
    body: list[str] = []
    for k in range(60_000):
        body.append(f"2026/01/01 00:00:{k % 60:02d}, {k % 8}, {k % 101} %, 1{k:05d} MiB")
        if k % 1000 == 7:
            body.append("ts, gpu, util, mem")
        if k % 1500 == 3:
            body.append("")
        if k % 2000 == 5:
            body.append(f"2026/01/01, {k}")
        if k % 2500 == 6:
            body.append(f"1, 2, 3, 4, {k}")
        if k % 5000 == 9:
            body.append("1, 2, 3, 4, ")
    text = "ts, gpu, util, mem\n" + "\n".join(body) + "\n2026/01/01 00"
    fast, counts = through_duckdb(text, tmp_path, bulk=True)
    slow, slow_counts = through_duckdb(text, tmp_path, bulk=False)
    assert order(fast) == order(slow)
    assert counts == slow_counts
    assert (counts.header_repeated, counts.blank_lines, counts.partial_last_line) == (60, 40, 1)
    assert (counts.ragged_rows, len(counts.set_aside)) == (30 + 24 + 12, 24)
    assert counts.records == 60_000 + 30 + 24 + 12


def test_short_rows_keep_what_they_have_and_blank_extras_are_no_loss(tmp_path: Path) -> None:
    rows, counts = exact("a,b,c\n1,2\n1,2,3,\n1,2,3,4\n", tmp_path)
    assert [row.cells for row in rows] == [("1", "2"), ("1", "2", "3")]
    assert counts.ragged_rows == 3
    assert [(s.line, s.text) for s in counts.set_aside] == [(4, "1,2,3,4")]
    assert "4 fields" in counts.set_aside[0].reason


def test_cut_last_line(tmp_path: Path) -> None:
    assert exact("a,b\n1,2\n3", tmp_path)[1].partial_last_line == 1
    assert exact("a,b\n1,2\n3\n", tmp_path)[1].partial_last_line == 0
    open_ended = exact("a,b\n1,2\n3,4", tmp_path)[1]
    assert (open_ended.records, open_ended.partial_last_line) == (1, 1)
    assert open_ended.last_line.startswith(
        "Line 3, the last, has no line end: its last value, '4', may be cut"
    )
    assert exact("a,b\n1,2\n3,4\n", tmp_path)[1].records == 2
    rows, counts = exact('a,b\n1,2\n3,"cut in\nthe cell', tmp_path)
    assert (counts.partial_last_line, [row.cells for row in rows]) == (1, [("1", "2")])


def test_a_stray_quote_does_not_swallow_the_file(tmp_path: Path) -> None:
    body = "".join(f"{k},2\n" for k in range(500))
    rows, counts = exact('a,b\n"oops,2\n' + body, tmp_path)
    assert len(rows) == 500
    assert [(s.line, s.reason) for s in counts.set_aside] == [(2, "a quote is opened and never closed")]


def test_inner_quotes_are_text(tmp_path: Path) -> None:
    assert exact('a,b\n5" disk,2\n', tmp_path)[0][0].cells == ('5" disk', "2")


@pytest.mark.parametrize(
    ("header", "delimiter"),
    [
        ("a,b,c", ","),
        ("a;b;c", ";"),
        ("a\tb", "\t"),
        ("a|b", "|"),
        ("alone", ","),
        ('Time;"up{a=""1"",b=""2"",c=""3""}"', ";"),
        ('"a;b;c",d', ","),
        ('size 3",b;c', ","),
    ],
)
def test_delimiters(header: str, delimiter: str) -> None:
    assert best_delimiter(header) == delimiter


def test_excel_sep_line_and_preamble(tmp_path: Path) -> None:
    source = spooled("sep=;\na,1;b,2\n1,5;2\n", tmp_path)
    layout = read_layout(source)
    assert (layout.delimiter, layout.header, layout.first_data_line) == (";", ("a,1", "b,2"), 3)
    source = spooled("some words\n\na,b\n1,2\n", tmp_path)
    layout = read_layout(source, lambda names: "b" in names)
    assert (layout.header_line, read_all(source, layout)[0]) == (3, [CsvRow(4, ("1", "2"))])


def test_refusals_say_where(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFileError, match=r"'a' appears 2 times \(columns 1, 3\).*f.csv, line 1"):
        read_layout(spooled("a,b,a\n1,2,3\n", tmp_path))
    source = spooled("a,b\n", tmp_path)
    with pytest.raises(UnreadableFileError, match=r"no data rows.*line 1"):
        read_all(source, read_layout(source))
    source = spooled("a,b\n" + "1,2,3\n" * 30_000, tmp_path)
    with pytest.raises(UnreadableFileError, match=r"Most rows do not fit.*line 2"):
        read_all(source, read_layout(source))


def test_carriage_returns_inside_lines_end_them(tmp_path: Path) -> None:
    source = spooled("a,b\n1,2\r3,4\n", tmp_path)
    assert not can_scan(source.path, read_layout(source))
    assert exact("a,b\n1,2\r3,4\n", tmp_path)[0] == [CsvRow(2, ("1", "2")), CsvRow(3, ("3", "4"))]


@pytest.mark.parametrize("line", ["GPU is lost at 01:00", "SIGTERM received, shutting down", "<<<<<<< HEAD"])
def test_a_line_of_text_is_no_row_of_a_wide_table(line: str, tmp_path: Path) -> None:
    text = f"run,step,step_s,note\na,1,2,x\n{line}\na,2\na,3,4,\n"
    source = spool_bytes(text.encode(), "t.csv", tmp_path)
    rows, counts = read_all(source, read_layout(source))
    assert [row.cells[1] for row in rows] == ["1", "2", "3"]
    assert [(one.line, one.reason) for one in counts.set_aside] == [
        (3, "a line of text, not a row of the table")
    ]


def test_a_short_word_under_two_columns_stays_a_row(tmp_path: Path) -> None:
    source = spool_bytes(b"run,note\na,x\nb\n", "t.csv", tmp_path)
    assert len(read_all(source, read_layout(source))[0]) == 2


def test_a_long_run_of_quotes_is_cut_in_a_moment() -> None:
    """Pairs of quotes inside a cell are one quote each; 150,000 of them cost no loop of our own."""
    text = '"a' + '""' * 150_000 + '",b'
    before = time.process_time()
    for _ in range(10):
        assert split_line(text, ",") == ["a" + '"' * 150_000, "b"]
        assert best_delimiter(text) == ","
    assert time.process_time() - before < 0.5
