import csv
import io
import zipfile

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reports.export import file_stem, frame_csv, guard, tables_zip
from tests.reports.samples import FORMULA, HOSTILE

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
