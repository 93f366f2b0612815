import csv
import io
import re
import zipfile

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from data.errors import UserError
from data.rows import rows_of
from reports.export import FORMATS, file_stem, frame_csv, guard, make, tables_zip
from reports.freeze import FreezeOptions, freeze
from reports.redact import Redaction
from reports.units import unit_of
from tests.parquet import read_parquet
from tests.reports.samples import FORMULA, HOSTILE, NOW, draw, sample_report, sample_result

CELLS = st.one_of(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\x00")), st.none())


@given(st.lists(CELLS, min_size=1, max_size=8))
def test_no_text_cell_starts_like_a_formula_and_none_is_lost(cells):
    text = frame_csv(pd.DataFrame({"run": pd.Series(cells, dtype=object)}))
    rows = list(csv.reader(io.StringIO(text)))
    assert len(rows) == len(cells) + 1
    for cell, (shown,) in zip(cells, rows[1:] if cells != [None] else [[""]], strict=True):
        assert not shown.lstrip(" ").startswith(("=", "+", "-", "@", "\t", "\n"))
        assert shown.removeprefix("'") == (cell or "").removeprefix("'")


def test_negative_numbers_stay_numbers():
    assert frame_csv(pd.DataFrame({"gain": [-1.5, None]})) == 'gain\n-1.5\n""\n'


@pytest.mark.parametrize("value", ["=1", "+1", "-1", "@x", "\t=1", " =1"])
def test_guard(value):
    assert guard(value) == "'" + value


def test_zip_holds_every_table_of_the_report(report):
    archive = zipfile.ZipFile(io.BytesIO(tables_zip(report)))
    names = set(archive.namelist())
    assert names == {
        "ledger-runs.csv",
        "ledger-empty.csv",
        "ledger-headline.csv",
        "ledger-assumptions.csv",
        "report.json",
    }
    rows = list(csv.DictReader(io.StringIO(archive.read("ledger-runs.csv").decode())))
    assert [r["run"] for r in rows] == [HOSTILE, "'" + FORMULA]
    assert [r["usd"] for r in rows] == ["41234.5", ""]
    assert list(rows[0]) == ["run", "host", "usd", "gpu_h", "steps"]
    assert archive.read("ledger-empty.csv").decode() == "step,reward\n"


@given(st.text())
def test_file_names_are_harmless(title):
    stem = file_stem(title)
    assert stem
    assert "/" not in stem
    assert not stem.startswith(".")
    assert len(stem) <= 60


def members(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


ZIPS = ("csv", "parquet", "ipynb")
WITHOUT_BROWSER = [key for key, one in FORMATS.items() if not one.needs_browser]


@pytest.mark.parametrize("key", ZIPS)
def test_archives_hold_plain_relative_names_and_each_once(report, key):
    names = zipfile.ZipFile(io.BytesIO(make(key, report).data)).namelist()
    assert len(names) == len(set(names)) > 1
    for name in names:
        assert re.fullmatch(r"(tables/|figures/)?[A-Za-z0-9_][A-Za-z0-9._-]*", name), name
        assert ".." not in name


def test_every_table_comes_back_from_parquet_exactly_and_with_its_units(report):
    found = members(make("parquet", report).data)
    section = report.sections[0]
    tables = {f"ledger-{name}": rows for name, rows in section["tables"].items()}
    tables |= {"ledger-headline": section["headline"], "ledger-assumptions": section["assumptions"]}
    assert set(found) == {f"{name}.parquet" for name in tables} | {"report.json"}
    for name, rows in tables.items():
        assert rows_of(read_parquet(found[f"{name}.parquet"])) == rows
    runs = read_parquet(found["ledger-runs.parquet"]).schema
    assert [runs.field(c).type for c in ("host", "usd", "gpu_h", "steps")] == [
        pa.string(), pa.float64(), pa.float64(), pa.int64()
    ]  # fmt: skip
    units = {f.name: (f.metadata or {}).get(b"unit") for f in runs}
    assert units == {"run": None, "host": None, "usd": b"USD", "gpu_h": b"GPU-hours", "steps": b"steps"}
    assert runs.metadata[b"report"] == report.hash.encode()


def texts_of(key: str, report) -> str:
    """All that can be read in a file, Parquet's values and metadata too."""
    data = make(key, report).data
    if key not in ZIPS:
        return data.decode()
    out = []
    for name, content in members(data).items():
        if name.endswith(".parquet"):
            table = read_parquet(content)
            out += [repr(table.to_pylist()), repr(table.schema.metadata)]
            out += [repr(f.metadata) for f in table.schema]
        else:
            out.append(content.decode())
    return "\n".join(out)


SECRETS = ("41234.5", "41,234.5", "41.2k", "30000", "p-1, p-2", "node-17")


@pytest.mark.parametrize("key", WITHOUT_BROWSER)
def test_what_is_hidden_is_in_no_file(key):
    hidden = FreezeOptions(Redaction(dollars=True, names=True), names=("node-17.corp",))
    shown = texts_of(key, sample_report())
    kept = texts_of(key, freeze([sample_result()], "Weekly", hidden, draw=draw, now=NOW))
    assert [word for word in SECRETS if word in kept] == []
    assert "node-17" in shown
    assert "41234.5" in shown or "41,234.5" in shown
    assert "12,345" in kept or "12345.678" in kept


def test_equal_reports_give_equal_bytes(report):
    for key in WITHOUT_BROWSER:
        assert make(key, report) == make(key, sample_report())


def test_an_unknown_format_names_those_there_are(report):
    with pytest.raises(UserError, match="html, pdf, ipynb, markdown, csv, parquet, png, svg"):
        make("docx", report)


@pytest.mark.parametrize("column", ["step_s", "usd_per_point", "lost_usd", "share_frac", "idle_gpu_h", "run"])
def test_units(column):
    assert unit_of(column) == {
        "step_s": "s",
        "usd_per_point": "USD per point",
        "lost_usd": "USD",
        "share_frac": "ratio, 0 to 1",
        "idle_gpu_h": "GPU-hours",
        "run": "",
    }[column]  # fmt: skip
