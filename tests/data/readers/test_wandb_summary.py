"""W&B summaries: totals and clocks count, amounts of the last step do not."""

import json
from pathlib import Path
from typing import Any

import pytest

from data.readers.base import Batch
from data.readers.registry import sniff_all
from tests.data.readers.flat_files import load
from tests.data.verl_files import spooled

TRL: dict[str, Any] = {
    "_step": 17_294,
    "_runtime": 30_000.0,
    "_timestamp": 1.75e9,
    "_wandb": {"runtime": 30_010},
    "train/global_step": 960,
    "train/num_tokens": 6_000_000,
    "train/step_time": 7.28,
    "train/reward": 3.6,
    "train/completions/mean_length": 200.0,
    "train/completions/clipped_ratio": 0.25,
}


def read(summary: dict[str, Any], folder: Path) -> Batch:
    return load(json.dumps(summary), folder, "wandb-summary.json", expect="wandb_summary_json")


def test_running_total_over_run_time(tmp_path: Path) -> None:
    batch = read(TRL, tmp_path)
    assert (batch.records, batch.stored) == (1, 1)
    assert batch.facts["tokens_total"] == 6_000_000.0
    assert batch.facts["run_seconds"] == 30_000.0
    assert batch.facts["throughput_tokens_per_s"] == 200.0
    assert batch.facts["step_seconds_sum"] is None
    assert (batch.facts["steps_count"], batch.facts["step_last"]) == (1, 960)
    assert batch.facts["reward_last"] == 3.6
    attempt = batch.tables["attempts"].iloc[0]
    assert (attempt["elapsed_s"], attempt["elapsed_basis"]) == (30_000.0, "progress_bar")
    assert any("last values only" in text for text in batch.warnings)
    assert not any("not costed" in text for text in batch.warnings)


def test_amounts_of_the_last_step_stay_raw(tmp_path: Path) -> None:
    summary = {
        "_step": 200, "_runtime": 9000.0, "_timestamp": 1.75e9, "training/global_step": 200,
        "timing_s/step": 40.0, "timing_s/gen": 20.0, "perf/total_num_tokens": 64_000,
        "perf/throughput": 100.0,
        "perf/mfu/actor": 0.375, "critic/rewards/mean": 0.5, "val-core/gsm8k/acc/mean@1": 0.75,
    }  # fmt: skip
    batch = read(summary, tmp_path)
    for fact in ("step_seconds_sum", "tokens_total", "throughput_tokens_per_s", "phase_seconds[rollout]",
                 "gpu_count_inferred", "gpu_hours"):  # fmt: skip
        assert batch.facts[fact] is None, fact
    assert batch.facts["eval_score[gsm8k]"] == 0.75
    assert batch.facts["mfu_mean"] == 0.375
    assert "timing_s/step" in batch.unmapped
    assert 64_000.0 in batch.tables["metric_raw"]["value"].tolist()


def test_run_time_of_wandb_itself_and_nested_metrics(tmp_path: Path) -> None:
    summary = {
        "_wandb": {"runtime": 100}, "_step": 3, "training_step": 3,
        "val": {"num_total_tokens": 5000, "num_step_tokens": None},
        "time": {"total": 9.0, "getting_response": 4.0}, "image": {"_type": "image-file", "size": 3},
    }  # fmt: skip
    batch = read(summary, tmp_path)
    assert batch.facts["run_seconds"] == 100.0
    assert batch.tables["runs"]["framework"].tolist() == ["open-instruct"]
    assert set(batch.tables["metric_raw"]["key"]) == {
        "training_step", "val/num_total_tokens", "time/total", "time/getting_response",
    }  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        '{"log_history": [], "_step": 1}',
        '{"a": 1}',
        '{"_step": 1, "_runtime": 2',
        '[{"_step": 1, "_runtime": 2}]',
    ],
)
def test_other_json_is_no_summary(text: str, tmp_path: Path) -> None:
    source = spooled(text, tmp_path, "x.json")
    judged = {reader.format: sniff.confidence for reader, sniff in sniff_all(source)}
    assert judged["wandb_summary_json"] < 0.3


def test_a_summary_longer_than_the_head_is_known(tmp_path: Path) -> None:
    batch = read({**TRL, **{f"x/{i}": i for i in range(8000)}}, tmp_path)
    assert batch.facts["tokens_total"] == 6_000_000.0


PRIME = {
    "_runtime": 900.0, "_step": 40, "_timestamp": 1.75e9, "step": 40, "perf/throughput": 1200.0,
    "perf/throughput_per_gpu": 300.0, "perf/mfu": 25.0, "time/step": 20.0, "time/forward_backward": 15.0,
}  # fmt: skip


def test_a_summary_on_many_lines_is_no_history(tmp_path: Path) -> None:
    text = json.dumps(PRIME, indent=2)
    batch = load(text, tmp_path, "abc_summary.json", expect="wandb_summary_json")
    assert batch.facts["run_seconds"] == 900.0
    assert batch.facts["step_seconds_sum"] is None


def test_the_rates_of_the_last_step_tell_the_gpus(tmp_path: Path) -> None:
    batch = load(json.dumps(PRIME), tmp_path, "s.json", expect="wandb_summary_json")
    assert batch.facts["gpu_count_inferred"] == 4.0
    assert batch.facts["gpu_hours"] is None
