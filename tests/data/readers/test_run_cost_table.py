"""Cost tables of runs, in any currency."""

from pathlib import Path

import pytest

from data.errors import UnreadableFileError
from data.ingest import ingest_file
from data.readers.base import Batch, Choices
from data.readers.registry import choose
from data.readers.run_cost_table import RunCostTableReader
from data.store import Store
from tests.data.verl_files import spooled

TABLE = """algorithm,seed,run_id,wall_time_seconds,gpu_hours,cost_cny,peak_vram_mb
ppo,1,ppo-1,3600,2.0,17.5,53151
grpo,1,grpo-1,1800,0.5,4.5,11209
grpo,2,grpo-2,,0.25,,8741.0
"""


def read(text: str, folder: Path) -> Batch:
    return RunCostTableReader().read(spooled(text, folder, "cost.csv"), Choices(), folder)


def test_facts_by_hand(tmp_path: Path) -> None:
    facts = read(TABLE, tmp_path).facts
    assert (facts["records"], facts["runs"], facts["run_names"]) == (3, 3, "ppo-1;grpo-1;grpo-2")
    assert (facts["run_seconds"], facts["gpu_hours"]) == (5400.0, 2.75)
    assert (facts["billed_cost"], facts["currency"]) == (22.0, "CNY")
    assert (facts["records[algorithm=grpo]"], facts["billed_cost[algorithm=grpo]"]) == (2, 4.5)
    assert facts["missing_cells"] == 2


def test_rows_become_runs_attempts_and_costs(tmp_path: Path) -> None:
    batch = read(TABLE, tmp_path)
    assert batch.tables["runs"]["algorithm"].tolist() == ["ppo", "grpo", "grpo"]
    assert batch.tables["attempts"]["elapsed_s"].tolist()[:2] == [3600.0, 1800.0]
    costs = batch.tables["costs"]
    assert (costs["billed_cost"].tolist(), set(costs["currency"])) == ([17.5, 4.5], {"CNY"})
    assert [(p.run, p.field, p.value) for p in batch.proposals] == [
        ("ppo-1", "gpus", 2.0),
        ("grpo-1", "gpus", 1.0),
    ]
    assert any("never added to dollars" in text for text in batch.warnings)


def test_a_bad_cell_is_missing_and_shown(tmp_path: Path) -> None:
    batch = read(TABLE.replace("17.5", "unavailable"), tmp_path)
    assert batch.facts["billed_cost"] == 4.5
    assert [(item.line, item.column) for item in batch.set_aside] == [(2, "cost_cny")]


def test_a_row_without_run_is_set_aside(tmp_path: Path) -> None:
    batch = read(TABLE + "ppo,3,,60,1,1,1\n", tmp_path)
    assert (batch.records, batch.stored) == (4, 3)


def test_repeated_runs_are_attempts(tmp_path: Path) -> None:
    batch = read(TABLE + "ppo,1,ppo-1,60,0.1,1,1\n", tmp_path)
    attempts = batch.tables["attempts"]
    assert attempts.loc[attempts["run"] == "ppo-1", "attempt"].tolist() == [1, 2]
    assert batch.facts["runs"] == 3


def test_units_of_wall_time_and_currency_follow_the_header(tmp_path: Path) -> None:
    text = "run,wall_hours,gpu_hours,cost_usd\na,2,16,40\n"
    batch = read(text, tmp_path)
    assert (batch.facts["run_seconds"], batch.facts["currency"]) == (7200.0, "USD")
    assert not any("never added" in text for text in batch.warnings)
    assert choose(spooled(text, tmp_path / "s", "x.csv"), Choices()).format == "run_cost_table"


def test_yuan_are_never_dollars(tmp_path: Path, store: Store) -> None:
    (tmp_path / "cost.csv").write_text(TABLE)
    ingest_file(store, tmp_path / "cost.csv")
    with store.view() as view:
        rows = view.rows("SELECT run, billed_cost, currency FROM costs ORDER BY run")
    assert rows == [("grpo-1", 4.5, "CNY"), ("ppo-1", 17.5, "CNY")]


@pytest.mark.parametrize("text", ["run_id,cost_cny\na,1\n", "run_id,wall_time_seconds,gpu_hours,cost_cny\n"])
def test_no_table_no_batch(text: str, tmp_path: Path) -> None:
    with pytest.raises(UnreadableFileError):
        read(text, tmp_path)


def test_a_table_without_wall_time(tmp_path: Path) -> None:
    text = "run_id,evaluation_wall_time_seconds,gpu_hours,cost_cny\na,1800,0.5,4.5\n"
    batch = read(text, tmp_path)
    assert (batch.facts["run_seconds"], batch.facts["gpu_hours"]) == (None, 0.5)
    assert (batch.facts["billed_cost"], batch.proposals) == (4.5, [])
    assert choose(spooled(text, tmp_path / "s", "x.csv"), Choices()).format == "run_cost_table"
