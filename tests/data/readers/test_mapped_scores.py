"""Mapped scores: what cannot be a fraction of tasks is set aside; points are rewards."""

from pathlib import Path

import pytest

from data.arrival.spool import spool_bytes
from data.readers.base import Batch, Choices
from data.readers.mapped import MappedTableReader


def read(tmp_path: Path, content: str, unit: str) -> Batch:
    columns = {"it": "steps.step", "acc": f"evals.score|unit={unit}"}
    source = spool_bytes(content.encode(), "odd.csv", tmp_path / "spool")
    (tmp_path / "scratch").mkdir()
    choices = Choices(format="mapped_table", columns=columns, run="mine")
    return MappedTableReader().read(source, choices, tmp_path / "scratch")


@pytest.mark.parametrize("unit", ["fraction", "%"])
def test_a_score_that_cannot_be_a_fraction_is_set_aside(tmp_path: Path, unit: str) -> None:
    batch = read(tmp_path, "it,acc\n1,0.5\n2,450\n3,0.6\n", unit)
    evals = batch.tables["evals"]
    assert evals["step"].tolist() == [1, 3]
    assert set(evals["score_kind"]) == {"fraction"}
    assert [(one.line, "outside 0..1" in one.reason) for one in batch.set_aside] == [(3, True)]


def test_a_score_in_points_is_a_reward(tmp_path: Path) -> None:
    batch = read(tmp_path, "it,acc\n1,0.5\n2,45\n", "points")
    assert set(batch.tables["evals"]["score_kind"]) == {"points"}
    assert not batch.set_aside
