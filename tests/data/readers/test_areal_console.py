"""AReaL's console: tables of key and value in several columns, several tables in one commit."""

from pathlib import Path

import pytest

from data.errors import UnreadableFileError
from data.readers import choose
from data.readers.areal_console import ArealConsoleReader
from data.readers.base import Batch, Choices
from tests.data.verl_files import spooled

HEAD = "\x1b[1;38;2;180;140;80m[AReaL]\x1b[0m \x1b[92m"


def metrics(n: int, **more: float) -> dict[str, float]:
    return {
        "timeperf/rollout": 40.0,
        "timeperf/recompute_logp": 5.0,
        "timeperf/train_step": 20.0,
        "timeperf/update_weights": 3.0,
        "ppo_actor/task_reward/avg": n / 10,
        "ppo_actor/n_seqs": 64.0,
        "ppo_actor/n_tokens": 32_000.0,
        "ppo_actor/update/lr": 5e-6,
        "rollout/reward": float("nan"),
    } | more


def table(values: dict[str, float], columns: int = 2) -> str:
    """Column-major pairs between box-drawing lines, numbers with four decimals and an exponent."""
    items = [(key, f"{value:.4e}") for key, value in values.items()]
    rows = -(-len(items) // columns)
    lines = []
    for row in range(rows):
        cells = [cell for pair in items[row::rows] for cell in pair]
        lines.append("│ " + " │ ".join(f"{cell:<26}" for cell in cells) + " │")
    edge = "═" * 26
    return f"╒{edge}╤{edge}╕\n" + f"\n├{edge}┼{edge}┤\n".join(lines) + f"\n╘{edge}╧{edge}╛\n"


def commit(n: int, *tables: dict[str, float], of: int = 90, stamp: str = "20251108-15:23:11.123") -> str:
    front = f"{HEAD}{stamp} StatsLogger INFO: "
    text = f"{front}Epoch 1/9 Step {n}/10 Train step {n}/{of} done.\x1b[0m\n"
    for index, values in enumerate(tables, start=1):
        text += f"{front}Stats ({index}/{len(tables)}):\x1b[0m\n{front}\n" + table(values) + "\x1b[0m\n"
    return text


def read(text: str, tmp_path: Path, zone: str | None = None) -> Batch:
    return ArealConsoleReader().read(spooled(text, tmp_path, "areal.log"), Choices(timezone=zone), tmp_path)


def test_facts_by_hand(tmp_path: Path) -> None:
    batch = read(commit(1, metrics(1)) + commit(2, metrics(2)), tmp_path)
    facts = batch.facts
    assert (facts["format"], facts["records"], facts["step_first"], facts["step_last"]) == (
        "areal_console",
        2,
        1,
        2,
    )
    assert facts["phase_seconds[rollout]"] == 80.0
    assert facts["phase_seconds[train]"] == 40.0
    assert facts["phase_seconds[weight_sync]"] == 6.0
    assert facts["step_seconds_sum"] is None
    assert facts["tokens_total"] == 64_000.0
    assert facts["rollouts_total"] == 128.0
    assert facts["reward_mean"] == pytest.approx(0.15)
    assert facts["missing_cells"] == 2
    assert batch.tables["runs"].iloc[0]["mode"] == "async"


@pytest.mark.parametrize("columns", [1, 2, 3, 4])
def test_any_number_of_columns(columns: int, tmp_path: Path) -> None:
    text = commit(1, metrics(1)).replace(table(metrics(1)), table(metrics(1), columns))
    raw = read(text, tmp_path).tables["metric_raw"]
    assert dict(zip(raw["key"], raw["value"], strict=True)) == {
        key: value for key, value in metrics(1).items() if value == value
    }


def test_several_tables_of_a_commit_are_steps_of_their_own(tmp_path: Path) -> None:
    parts = [{"ppo_actor/n_tokens": 100.0 * i, "ppo_actor/task_reward/avg": i / 10} for i in (1, 2)]
    text = commit(1, *parts) + commit(2, *parts)
    batch = read(text, tmp_path)
    assert list(batch.tables["steps"]["step"]) == [1, 2, 3, 4]
    assert batch.facts["tokens_total"] == 600.0
    assert len(batch.tables["attempts"]) == 1


def test_stamps_are_compact_and_need_a_zone(tmp_path: Path) -> None:
    text = commit(1, metrics(1), stamp="20251108-15:00:00.500") + commit(
        2, metrics(2), stamp="20251108-15:01:30.500"
    )
    batch = read(text, tmp_path, "UTC")
    assert list(batch.tables["steps"]["elapsed_s"]) == [68.0, 158.0]
    assert batch.facts["time_first_epoch_s"] == 1762614000.5
    assert batch.facts["span_s"] == 90.0
    assert read(text, tmp_path).facts["time_first_epoch_s"] is None


def test_a_restart_begins_again_at_its_own_step(tmp_path: Path) -> None:
    text = "".join(commit(n, metrics(n)) for n in (1, 2, 3)) + commit(2, metrics(7)) + commit(3, metrics(8))
    batch = read(text, tmp_path)
    assert list(batch.tables["attempts"]["attempt"]) == [1, 2]
    assert batch.facts["steps_count"] == 3


def test_tables_without_a_train_step_are_numbered(tmp_path: Path) -> None:
    batch = read(table(metrics(1)) + table(metrics(2)), tmp_path)
    assert (batch.facts["step_first"], batch.facts["steps_count"]) == (None, 2)


def test_a_table_that_the_end_of_the_file_cuts_is_dropped(tmp_path: Path) -> None:
    text = commit(1, metrics(1)) + commit(2, metrics(2))
    batch = read(text[: text.rindex("├") + 9], tmp_path)
    assert batch.facts["partial_last_line"] == 1
    assert (batch.records, batch.facts["step_last"]) == (1, 1)


def test_a_word_in_a_cell_is_set_aside(tmp_path: Path) -> None:
    text = commit(1, metrics(1)).replace("5.0000e-06", "warm".ljust(10))
    batch = read(text, tmp_path)
    assert [item.column for item in batch.set_aside] == ["ppo_actor/update/lr"]
    assert batch.stored == 1


def test_other_tables_are_no_records(tmp_path: Path) -> None:
    other = "│ name │ host │\n│ worker │ node-1 │\n"
    batch = read(other + commit(1, metrics(1)) + other, tmp_path)
    assert (batch.records, batch.set_aside) == (1, [])


def test_the_format_is_recognised_and_an_empty_log_refused(tmp_path: Path) -> None:
    assert choose(spooled(commit(1, metrics(1)), tmp_path, "x"), Choices()).format == "areal_console"
    with pytest.raises(UnreadableFileError, match="no table of AReaL"):
        read("StatsLogger INFO: nothing yet\n", tmp_path)
