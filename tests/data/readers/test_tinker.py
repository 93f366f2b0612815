"""Tinker: RL and supervised metrics, and the console of a training script."""

import json
from pathlib import Path

import pytest

from data.arrival.bundle import pack
from data.errors import UnreadableFileError
from data.readers.base import Batch, Choices, Source
from data.readers.registry import choose
from data.readers.tinker_console import TinkerConsoleReader, cells_of
from data.readers.tinker_metrics import TinkerRlReader, TinkerSftReader
from tests.data.verl_files import jsonl as verl_jsonl
from tests.data.verl_files import spooled
from tests.data.verl_files import values as verl_values


def rl(step: int, **more: object) -> dict[str, object]:
    return {
        "step": step, "progress/batch": step, "optim/lr": 1e-4, "env/all/total_episodes": 8,
        "env/all/total_ac_tokens": 400, "env/all/total_ob_tokens": 1600,
        "env/all/reward/total": 0.5 + step / 10, "env/all/correct": 0.5,
        "time/train": 2.0, "time/assemble_training_data": 0.5,
        "time/save_checkpoint": 1.0, "time/total": 10.0, **more,
    }  # fmt: skip


def sft(step: int, **more: object) -> dict[str, object]:
    return {
        "step": step, "epoch": 0, "learning_rate": 1e-4, "time/get_batch": 1.0, "time/step": 2.0,
        "num_sequences": 4, "num_tokens": 1000, "num_loss_tokens": 900, "train_mean_nll": 1.5,
        "time/total": 5.0, **more,
    }  # fmt: skip


def lines(*rows: dict[str, object]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def read_rl(text: str, folder: Path) -> Batch:
    return TinkerRlReader().read(spooled(text, folder, "trial.jsonl"), Choices(), folder)


def read_sft(text: str, folder: Path) -> Batch:
    return TinkerSftReader().read(spooled(text, folder, "trial.jsonl"), Choices(), folder)


def read_console(text: str, folder: Path) -> Batch:
    return TinkerConsoleReader().read(spooled(text, folder), Choices(), folder)


def test_rl_facts_by_hand(tmp_path: Path) -> None:
    batch = read_rl(lines(*(rl(step) for step in range(3))), tmp_path)
    facts = batch.facts
    assert (facts["records"], facts["step_first"], facts["step_last"]) == (3, 0, 2)
    assert (facts["tokens_generated"], facts["tokens_prompt"], facts["tokens_total"]) == (1200, 4800, 6000)
    assert (facts["step_seconds_sum"], facts["unattributed_seconds"]) == (30.0, pytest.approx(19.5))
    assert facts["phase_seconds[checkpoint]"] == 3.0
    assert facts["reward_last"] == pytest.approx(0.7)
    assert facts["gpus"] is None
    assert facts["gpu_hours"] is None
    assert batch.tables["runs"].iloc[0]["framework"] == "tinker"
    assert any("hosted" in text for text in batch.warnings)


def test_newer_timers_and_test_environments(tmp_path: Path) -> None:
    row = rl(0, **{"time/sampling": 6.0, "time/train_step": 1.5, "test/env/gsm8k/reward/total": 0.75})
    row.pop("time/train")
    batch = read_rl(lines(row), tmp_path)
    assert batch.facts["phase_seconds[rollout]"] == 6.0
    assert batch.facts["phase_seconds[train]"] == 1.5
    assert batch.facts["eval_score[gsm8k]"] == 0.75
    assert batch.facts["tokens_total"] == 2000


def test_supervised_rows_overlap_so_total_is_no_step_time(tmp_path: Path) -> None:
    batch = read_sft(lines(*(sft(step) for step in range(4))), tmp_path)
    facts = batch.facts
    assert facts["step_seconds_sum"] is None
    assert facts["reward_mean"] is None
    assert (facts["phase_seconds[train]"], facts["phase_seconds[data]"]) == (8.0, 4.0)
    assert facts["tokens_total"] == 4000
    run = batch.tables["runs"].iloc[0]
    assert (run["framework"], run["algorithm"]) == ("tinker", "sft")


def test_rl_and_supervised_are_told_apart(tmp_path: Path) -> None:
    for name, text, format in (
        ("a", lines(rl(0), rl(1)), "tinker_metrics_jsonl_rl"),
        ("b", lines(sft(0), sft(1)), "tinker_metrics_jsonl_sft"),
        ("c", verl_jsonl({1: verl_values(1)}), "verl_file_logger_jsonl"),
    ):
        assert choose(spooled(text, tmp_path / name, "metrics.jsonl"), Choices()).format == format


def test_a_row_without_step_is_set_aside_and_a_cut_tail_dropped(tmp_path: Path) -> None:
    text = lines(rl(0)) + '{"env/all/total_episodes": 1}\n{"step": 1}\n' + lines(rl(1))[:-20]
    batch = read_rl(text, tmp_path)
    assert (batch.records, batch.stored, len(batch.set_aside)) == (3, 1, 2)
    assert batch.facts["partial_last_line"] == 1


@pytest.mark.parametrize("text", ["{}\n", "words\n", '{"reward": 1}\n'])
def test_no_step_no_batch(text: str, tmp_path: Path) -> None:
    with pytest.raises(UnreadableFileError):
        read_rl(text, tmp_path)
    with pytest.raises(UnreadableFileError):
        read_sft(text, tmp_path / "s")
    with pytest.raises(UnreadableFileError):
        read_console(text, tmp_path / "c")


CONSOLE = (
    "[trial] 12 examples | model=Qwen/Qwen3-8B seed=1\n"
    "[trial] Connecting to Tinker...\n"
    "[trial]   1/3 | loss=-4.6162 | reward=0.625 | acc=62.5%\n"
    "[trial]   2/3 | loss=0.0000 | reward=0.000 | acc=0.0%\n"
    "\x1b[2m[trial]\x1b[0m   -> ckpt s2\n"
    "[trial]   3/3 | loss=1.2000 | reward=0.250 | acc=25.0%\n"
    "\n[trial] Zero-loss steps: 1/3 (33%)\n"
    "[trial] Reward trace: [0.625, 0.0, 0.25]\n"
)


def test_progress_lines_are_steps_and_nothing_else_is(tmp_path: Path) -> None:
    batch = read_console(CONSOLE, tmp_path)
    facts = batch.facts
    assert (facts["records"], facts["steps_count"], facts["run_names"]) == (3, 3, "trial")
    assert facts["reward_mean"] == pytest.approx(0.875 / 3)
    assert facts["step_seconds_sum"] is None
    assert facts["tokens_total"] is None
    raw = batch.tables["metric_raw"]
    assert raw.loc[raw["key"] == "acc", "value"].tolist() == [0.625, 0.0, 0.25]
    assert batch.tables["attempts"].iloc[0]["status"] == "completed"
    assert [(p.field, p.value) for p in batch.proposals] == [("llm", "qwen3-8b")]
    assert batch.names_runs


def test_two_runs_in_one_console(tmp_path: Path) -> None:
    text = "".join(f"[{name}] {n}/9 | loss=0.1 | reward=0.5\n" for n in (1, 2) for name in ("a", "b"))
    batch = read_console(text, tmp_path)
    assert (batch.facts["runs"], batch.facts["run_names"], batch.records) == (2, "a;b", 4)
    assert set(batch.tables["attempts"]["status"]) == {"unknown"}


def test_a_console_cut_in_a_step_loses_that_step(tmp_path: Path) -> None:
    end = CONSOLE.index("acc=25.0%") + len("acc=25.0%")
    start = CONSOLE.index("[trial]   3/3")
    for cut in range(start + len("[trial]   3/3 | loss=1.2000 | rew"), end):
        batch = read_console(CONSOLE[:cut], tmp_path / str(cut))
        assert batch.facts["steps_count"] == 2, CONSOLE[start:cut]
        assert batch.facts["partial_last_line"] == 1
    assert read_console(CONSOLE[:end], tmp_path / "whole").facts["steps_count"] == 3


def test_cells() -> None:
    values, _ = cells_of("loss=1e-3 | acc=50.0% | kl=nan | note=x")
    assert (values["loss"], values["acc"]) == (0.001, 0.5)
    assert values["kl"] != values["kl"]
    assert "note" not in values


def packed(folder: Path, files: dict[str, str]) -> Source:
    folder.mkdir(parents=True)
    paths = {}
    for name, text in files.items():
        paths[name] = folder / name
        paths[name].write_text(text)
    return pack(paths, "my_run/", folder)


@pytest.mark.parametrize(("row", "algorithm"), [(rl, None), (sft, "sft")])
def test_a_run_folder_names_its_model(row: object, algorithm: str | None, tmp_path: Path) -> None:
    metrics = lines(*(row(step) for step in range(2)))  # type: ignore[operator]
    config = json.dumps({"model_name": "Qwen/Qwen3-4B-Instruct-2507", "learning_rate": 1e-4})
    source = packed(tmp_path / "a", {"metrics.jsonl": metrics, "config.json": config})
    reader = choose(source, Choices())
    assert reader.format == "tinker_folder"
    batch = reader.read(source, Choices(), tmp_path / "a")
    assert batch.facts["run_names"] == "my_run"
    assert batch.facts["steps_count"] == 2
    assert ("llm", "qwen3-4b-instruct-2507") in {(p.field, p.value) for p in batch.proposals}
    assert batch.tables["runs"].iloc[0]["algorithm"] == algorithm


def test_damaged_config_is_said(tmp_path: Path) -> None:
    source = packed(tmp_path / "a", {"metrics.jsonl": lines(rl(0)), "config.json": "{"})
    batch = choose(source, Choices()).read(source, Choices(), tmp_path / "a")
    assert any("damaged" in text for text in batch.warnings)
    assert batch.facts["steps_count"] == 1


@pytest.mark.parametrize("number", ["9" * 400, "1e999", "NaN"])
def test_numbers_beyond_reach_are_missing(number: str, tmp_path: Path) -> None:
    text = lines(rl(0)).replace('"time/train": 2.0', f'"time/train": {number}')
    assert read_rl(text, tmp_path).facts["phase_seconds[train]"] is None


def test_a_step_number_beyond_reach_is_no_step(tmp_path: Path) -> None:
    text = CONSOLE.replace("  2/3 |", "  " + "2" * 5000 + "/3 |").replace("  3/3 |", "  " + "3" * 17 + "/3 |")
    batch = read_console(text, tmp_path)
    assert batch.facts["steps_count"] == 1
    assert len(batch.set_aside) == 1


def test_sampling_under_its_older_name(tmp_path: Path) -> None:
    row = {"step": 0, "env/all/reward/total": 0.5, "time/sample": 40.0, "time/train": 8.0, "time/total": 50.0}
    batch = read_rl(lines(row, row | {"step": 1}), tmp_path)
    assert batch.facts["phase_seconds[rollout]"] == 80.0
    assert batch.facts["unattributed_seconds"] == pytest.approx(4.0)
