"""Published measurements: complete, sourced, one truth with the catalogue; bad rows are refused by line."""

import csv
import shutil
from pathlib import Path

import pytest

from data.catalogue import load_catalogue
from data.errors import CatalogueError, UserError
from data.published import PUBLISHED, read_tables, resolve, shipped

BOOK = load_catalogue()
TABLES = shipped(BOOK)


def test_every_table_is_there():
    counts = [len(t) for t in (TABLES.decode, TABLES.training, TABLES.rl_steps, TABLES.weight_sync)]
    assert counts == [1501, 285, len(BOOK.rl_runs()), 12]
    assert len(TABLES.pairs) == 540
    for rows in (TABLES.decode, TABLES.training, TABLES.rl_steps, TABLES.weight_sync):
        assert all(row.source for row in rows.values())


def test_a_step_of_rl_is_that_of_the_catalogue():
    assert set(TABLES.rl_steps) == {run.row_id for run in BOOK.rl_runs()}
    assert not (PUBLISHED / "rl_steps.csv").exists()


def test_pairs_are_those_of_their_rows():
    for pair in TABLES.pairs:
        a, b = resolve((TABLES,), pair)
        assert (a.platform_id, b.platform_id) == (pair.platform_a, pair.platform_b)
        assert getattr(b, pair.metric) / getattr(a, pair.metric) == pytest.approx(pair.ratio, rel=2e-3)


def test_what_pairs_hold_equal_is_equal():
    keys = (
        "precision",
        "engine",
        "engine_version",
        "mode",
        "load_kind",
        "isl",
        "osl",
        "concurrency",
        "n_gpus",
        "tp",
    )
    decode = [pair for pair in TABLES.pairs if pair.set == "decode"]
    assert decode
    for pair in decode:
        a, b = resolve((TABLES,), pair)
        assert [getattr(a, k) for k in keys] == [getattr(b, k) for k in keys]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("pairs.csv", "training.csv"):
        shutil.copy(PUBLISHED / name, tmp_path / name)
    return tmp_path


def change(path: Path, column: str, text: str, line: int = 0) -> None:
    with path.open(newline="", encoding="utf-8") as handle:
        rows = list(csv.DictReader(handle))
    rows[line][column] = text
    with path.open("w", newline="", encoding="utf-8") as handle:
        writer = csv.DictWriter(handle, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def test_a_folder_may_lack_tables_but_not_pairs(folder: Path):
    tables = read_tables(folder)
    assert len(tables.training) == 285 and not tables.decode and not tables.rl_steps
    assert resolve((tables, TABLES), TABLES.pairs[-1])[0] is not None
    (folder / "pairs.csv").unlink()
    with pytest.raises(UserError, match="no table of pairs"):
        read_tables(folder)


@pytest.mark.parametrize(
    ("name", "column", "text", "told"),
    [
        ("pairs.csv", "ratio_b_over_a", "-1", "above 0"),
        ("pairs.csv", "ratio_b_over_a", "fast", "not a number"),
        ("pairs.csv", "set", "magic", "unknown"),
        ("pairs.csv", "metric", "vibes", "unknown"),
        ("pairs.csv", "row_a", "", "empty"),
        ("training.csv", "model", "", "empty"),
        ("training.csv", "n_gpus", "many", "not a number"),
    ],
)
def test_bad_cells_are_refused_with_their_line(folder: Path, name: str, column: str, text: str, told: str):
    change(folder / name, column, text)
    with pytest.raises(CatalogueError, match=told) as caught:
        read_tables(folder)
    assert caught.value.where == f"{name}, line 2"


def test_a_row_without_source_is_refused(folder: Path):
    change(folder / "training.csv", "source_repo", "")
    change(folder / "training.csv", "source_path", "")
    with pytest.raises(CatalogueError, match="names no source"):
        read_tables(folder)


def test_an_id_that_comes_twice_and_a_lost_column_are_refused(folder: Path):
    rows = (folder / "training.csv").read_text(encoding="utf-8").splitlines()
    (folder / "training.csv").write_text("\n".join([*rows, rows[1]]), encoding="utf-8")
    with pytest.raises(CatalogueError, match="comes twice"):
        read_tables(folder)
    (folder / "training.csv").write_text("row_id,model\nX1,m\n", encoding="utf-8")
    with pytest.raises(CatalogueError, match="columns are missing"):
        read_tables(folder)
