"""post-training-toolkit: metrics.jsonl alone and in its run folder."""

import json
from datetime import datetime
from pathlib import Path

import pytest

from data.arrival.bundle import pack
from data.errors import UnreadableFileError
from data.ingest import ingest_file
from data.readers.base import Batch, Choices
from data.readers.post_training_toolkit import PostTrainingToolkitReader
from data.readers.registry import choose
from data.store import Store
from tests.data.verl_files import spooled


def metrics(trainer: str = "grpo", steps: int = 3, footer: bool = True) -> str:
    rows: list[dict[str, object]] = [
        {"type": "header", "schema_version": "1.0", "run_id": "trial-7", "trainer_type": trainer,
         "config_hash": "ab", "timestamp": "2026-01-05T08:00:00+00:00"},
    ]  # fmt: skip
    for step in range(1, steps + 1):
        values = {
            "reward_mean": step / 10,
            "group_reward_mean": step / 10,
            "completion_length": 100.0,
            "kl": 0.1,
        }
        if trainer == "dpo":
            values = {"reward_mean": 0.01, "dpo_loss": 0.69, "win_rate": 0.5}
        stamp = f"2026-01-05T08:0{step}:00.500000+00:00"
        rows.append({"step": step, "timestamp": stamp, "metrics": values})
    if footer:
        rows.append(
            {
                "type": "footer",
                "status": "completed",
                "total_steps": steps,
                "timestamp": "2026-01-05T08:05:00+00:00",
            }
        )
    return "".join(json.dumps(row) + "\n" for row in rows)


METADATA = {
    "schema_version": "1.0", "run_id": "trial-7", "trainer_type": "grpo", "model_name": "Qwen/Qwen3-8B",
    "start_time": "2026-01-05T07:59:30+00:00", "end_time": "2026-01-05T08:05:30+00:00", "status": "completed",
    "total_steps": 3, "world_size": 4, "package_versions": {"trl": "0.25.0"},
    "hardware": {"cuda_available": True, "gpu_count": 8, "gpu_names": ["NVIDIA H100 80GB HBM3"] * 8},
}  # fmt: skip


def read(text: str, folder: Path) -> Batch:
    return PostTrainingToolkitReader().read(spooled(text, folder, "metrics.jsonl"), Choices(), folder)


def folder_of(tmp_path: Path, **files: object) -> Path:
    folder = tmp_path / "my_run"
    folder.mkdir(parents=True)
    for name, value in files.items():
        stem, _, ending = name.rpartition("_")
        text = value if isinstance(value, str) else json.dumps(value)
        (folder / f"{stem}.{ending}").write_text(text)
    return folder


def read_folder(folder: Path, scratch: Path) -> Batch:
    scratch.mkdir(parents=True, exist_ok=True)
    source = pack({p.name: p for p in folder.iterdir()}, "my_run/", scratch)
    assert choose(source, Choices()).format == "post_training_toolkit"
    return PostTrainingToolkitReader().read(source, Choices(), scratch)


def test_the_file_alone(tmp_path: Path) -> None:
    batch = read(metrics(), tmp_path)
    facts = batch.facts
    assert (batch.records, batch.stored, sum(batch.ignored.values())) == (5, 3, 2)
    assert (facts["run_names"], facts["steps_count"]) == ("trial-7", 3)
    assert (facts["reward_mean"], facts["reward_last"]) == (pytest.approx(0.2), 0.3)
    assert facts["step_seconds_sum"] is None
    assert (facts["run_seconds"], facts["time_zone"]) == (300.0, "+00:00")
    run, attempt = batch.tables["runs"].iloc[0], batch.tables["attempts"].iloc[0]
    assert (run["framework"], run["algorithm"]) == ("trl", "grpo")
    assert (attempt["started_at"], attempt["status"]) == (datetime(2026, 1, 5, 8, 0), "completed")
    assert batch.tables["steps"]["len_mean"].tolist() == [100.0] * 3


def test_implicit_rewards_of_preference_training_are_no_rewards(tmp_path: Path) -> None:
    batch = read(metrics("dpo"), tmp_path)
    assert batch.facts["reward_mean"] is None
    assert batch.facts["steps_count"] == 3
    assert batch.tables["runs"].iloc[0]["algorithm"] == "dpo"
    assert set(batch.tables["metric_raw"]["key"]) == {"reward_mean", "dpo_loss", "win_rate"}


def test_the_folder_knows_more(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, metrics_jsonl=metrics(), run_metadata_final_json=METADATA)
    batch = read_folder(folder, tmp_path / "s")
    assert (batch.facts["gpus"], batch.facts["gpu_model"]) == (4, "NVIDIA H100 80GB HBM3")
    assert batch.facts["run_seconds"] == 360.0
    assert batch.tables["runs"].iloc[0]["framework_version"] == "0.25.0"
    found = {(p.field, p.value) for p in batch.proposals}
    assert {("llm", "qwen3-8b"), ("gpus", 4), ("platform", "h100-sxm")} <= found


def test_a_post_mortem_says_how_it_ended(tmp_path: Path) -> None:
    post = {"exit_reason": "exception", "last_step": 3, "timestamp": "2026-01-05T08:04:00+00:00"}
    start = METADATA | {"end_time": None, "status": "running", "hardware": {"cuda_available": False}}
    folder = folder_of(
        tmp_path, metrics_jsonl=metrics(footer=False), run_metadata_start_json=start, postmortem_json=post
    )
    batch = read_folder(folder, tmp_path / "s")
    attempt = batch.tables["attempts"].iloc[0]
    assert (attempt["status"], attempt["cause"], attempt["elapsed_s"]) == ("failed", "exception", 270.0)
    assert batch.facts["gpus"] is None


def test_damaged_metadata_is_said_and_left_out(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, metrics_jsonl=metrics(), run_metadata_json="{")
    batch = read_folder(folder, tmp_path / "s")
    assert any("damaged" in text for text in batch.warnings)
    assert batch.facts["steps_count"] == 3


def test_a_file_without_header_is_known_by_its_rows(tmp_path: Path) -> None:
    text = metrics().split("\n", 1)[1]
    assert choose(spooled(text, tmp_path, "metrics.jsonl"), Choices()).format == "post_training_toolkit"


def test_a_cut_tail_and_odd_rows(tmp_path: Path) -> None:
    text = metrics(footer=False) + '{"step": "x", "metrics": {}}\n{"step": 4, "timestamp": "2026'
    batch = read(text, tmp_path)
    assert (batch.records, batch.stored, len(batch.set_aside)) == (5, 3, 1)
    assert batch.facts["partial_last_line"] == 1


def test_the_file_and_then_its_folder_are_one_attempt(tmp_path: Path, store: Store) -> None:
    (tmp_path / "metrics.jsonl").write_text(metrics(steps=2, footer=False))
    ingest_file(store, tmp_path / "metrics.jsonl")
    (tmp_path / "more.jsonl").write_text(metrics())
    ingest_file(store, tmp_path / "more.jsonl")
    with store.view() as view:
        assert view.rows("SELECT run, attempt, status, elapsed_s FROM attempts") == [
            ("trial-7", 1, "completed", 300.0)
        ]


@pytest.mark.parametrize("text", ["{}\n", "words\n", '{"type": "header", "trainer_type": "grpo"}\n'])
def test_no_metric_no_batch(text: str, tmp_path: Path) -> None:
    with pytest.raises(UnreadableFileError):
        read(text, tmp_path)
