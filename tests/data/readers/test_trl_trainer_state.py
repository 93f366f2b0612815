"""trainer_state.json: sparse logs, token counters of two ages, null and NaN, cut and damaged files."""

import json
from pathlib import Path

import pytest

from data.errors import UnreadableFileError
from data.readers import choose
from data.readers.base import Batch, Choices
from data.readers.trl_trainer_state import TrlTrainerStateReader
from tests.data.verl_files import spooled


def entry(step: int, **more: object) -> dict[str, object]:
    return {
        "completions/clipped_ratio": 0.25,
        "completions/mean_length": 200.0,
        "epoch": step / 4,
        "loss": 0.01 * step,
        "num_tokens": 500.0 * step,
        "reward": step / 100,
        "step": step,
    } | more


def state(history: list[object], **more: object) -> str:
    fields = {
        "epoch": 3.0,
        "global_step": 20,
        "log_history": history,
        "max_steps": 20,
        "num_input_tokens_seen": 0,
        "total_flos": 0.0,
    }
    return json.dumps(fields | more, indent=2)


def read(text: str, tmp_path: Path) -> Batch:
    return TrlTrainerStateReader().read(spooled(text, tmp_path, "trainer_state.json"), Choices(), tmp_path)


def test_every_entry_is_a_record_at_its_own_step(tmp_path: Path) -> None:
    batch = read(state([entry(10), entry(20)]), tmp_path)
    facts = batch.facts
    assert (facts["format"], facts["records"], facts["steps_count"]) == ("trl_trainer_state", 2, 2)
    assert (facts["step_first"], facts["step_last"]) == (10, 20)
    assert (facts["reward_mean"], facts["reward_last"]) == (pytest.approx(0.15), 0.2)
    assert facts["tokens_total"] == 10_000.0
    assert list(batch.tables["steps"]["tok_total"]) == [5000.0, 5000.0]
    assert batch.tables["attempts"].iloc[0]["status"] == "completed"


def test_no_time_is_no_time(tmp_path: Path) -> None:
    batch = read(state([entry(10), entry(20)]), tmp_path)
    for name in ("step_seconds_sum", "run_seconds", "time_first_epoch_s", "span_s", "gpu_hours", "mfu_mean"):
        assert batch.facts[name] is None
    assert batch.tables["attempts"].iloc[0]["elapsed_s"] is None
    assert any("no time of any kind" in text for text in batch.warnings)


def test_the_counter_of_the_state_wins_over_an_older_record(tmp_path: Path) -> None:
    batch = read(state([entry(10)], global_step=12, max_steps=30, num_input_tokens_seen=6100), tmp_path)
    assert batch.facts["tokens_total"] == 6100.0
    assert batch.facts["steps_count"] == 1
    assert any("12 steps were run but the last record is of step 10" in text for text in batch.warnings)
    assert batch.tables["attempts"].iloc[0]["status"] == "unknown"


def test_a_counter_of_zero_is_not_kept_and_no_counter_is_missing(tmp_path: Path) -> None:
    plain = {key: value for key, value in entry(10).items() if key != "num_tokens"}
    assert read(state([plain]), tmp_path).facts["tokens_total"] is None


def test_null_and_nan_are_missing(tmp_path: Path) -> None:
    text = state([entry(10, reward=None, kl="x"), entry(20)]).replace('"x"', "NaN")
    batch = read(text, tmp_path)
    assert batch.facts["missing_cells"] == 2
    assert batch.facts["reward_mean"] == 0.2


def test_numbers_may_be_texts_and_texts_are_no_metrics(tmp_path: Path) -> None:
    batch = read(state([entry(10, reward="0.5", mood="good", sizes=[1])]), tmp_path)
    assert batch.facts["reward_last"] == 0.5
    assert sorted(str(item.column) for item in batch.set_aside) == ["mood", "sizes"]


def test_evaluations_and_the_summary_belong_to_their_steps(tmp_path: Path) -> None:
    history = [
        entry(10),
        {"epoch": 2.5, "eval_reward": 0.5, "eval_runtime": 9.0, "step": 10},
        entry(20),
        {"epoch": 3.0, "step": 20, "train_runtime": 620.0, "train_loss": 0.1, "total_flos": 0.0},
    ]
    batch = read(state(history), tmp_path)
    assert batch.facts["records"] == 4
    assert batch.facts["run_seconds"] == 620.0
    assert batch.tables["evals"]["score"].tolist() == [0.5]
    attempt = batch.tables["attempts"].iloc[0]
    assert (attempt["elapsed_s"], attempt["elapsed_basis"]) == (620.0, "clock")
    assert not any("no time of any kind" in text for text in batch.warnings)


def test_a_step_timer_that_misses_most_of_the_run_is_said(tmp_path: Path) -> None:
    history = [
        entry(10, step_time=7.0),
        entry(20, step_time=8.0),
        {"step": 20, "train_runtime": 600.0, "epoch": 3.0},
    ]
    batch = read(state(history), tmp_path)
    assert any(
        "step_time covers 25% of the wall clock (150.0 s of 600.0 s)" in text for text in batch.warnings
    )


def test_an_entry_without_a_step_stands_on_its_epoch(tmp_path: Path) -> None:
    loose = {key: value for key, value in entry(10).items() if key != "step"}
    batch = read(state([entry(5), loose]), tmp_path)
    raw = batch.tables["metric_raw"]
    assert raw[raw["step"].isna()]["x_name"].unique().tolist() == ["epoch"]
    assert batch.facts["steps_count"] == 1


def test_a_cut_file_keeps_its_whole_entries(tmp_path: Path) -> None:
    text = state([entry(10), entry(20)])
    batch = read(text[: text.index('"loss": 0.2')], tmp_path)
    assert (batch.records, batch.stored, batch.facts["partial_last_line"]) == (1, 1, 1)
    assert batch.facts["step_last"] == 10
    assert batch.set_aside == []


def test_a_damaged_entry_costs_only_itself(tmp_path: Path) -> None:
    text = state([entry(10), entry(15), entry(20)])
    batch = read(text.replace('"loss": 0.15', '"loss": 0.15 oops'), tmp_path)
    assert (batch.records, batch.stored) == (3, 2)
    assert list(batch.tables["steps"]["step"]) == [10, 20]
    assert len(batch.set_aside) == 1
    assert batch.set_aside[0].line == text[: text.index('"step": 10')].count("\n") + 3


def test_a_file_that_is_all_damage_ends(tmp_path: Path) -> None:
    batch = read('{"log_history": [' + json.dumps(entry(10)) + "," + "{" * 200_000, tmp_path)
    assert batch.stored == 1
    assert 1000 <= len(batch.set_aside) <= 1001


def test_what_is_no_object_is_set_aside(tmp_path: Path) -> None:
    batch = read(state([entry(10), 7, [1], {"step": 3, "note": None}]), tmp_path)
    assert (batch.records, batch.stored) == (4, 1)


def test_one_line_of_json_is_the_same(tmp_path: Path) -> None:
    text = state([entry(10), entry(20)])
    flat = json.dumps(json.loads(text))
    assert read(flat, tmp_path).facts["tokens_total"] == read(text, tmp_path).facts["tokens_total"]


def test_the_format_is_recognised_without_the_state_around(tmp_path: Path) -> None:
    source = spooled('{"log_history": [{"loss": 1.0, "step": 5}]}', tmp_path, "x.json")
    assert choose(source, Choices()).format == "trl_trainer_state"


def test_an_empty_history_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFileError, match="holds no record"):
        read(state([]), tmp_path)
