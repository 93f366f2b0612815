"""A stamp ends a step: the clock of a stamped log begins one step before the first stamp."""

import json
from datetime import datetime
from pathlib import Path

import pandas as pd
import pytest

from data.readers.base import Batch, Choices
from data.readers.registry import choose
from tests.data.readers.flat_files import history_csv, load
from tests.data.verl_files import spooled


def read(text: str, folder: Path, timezone: str | None = "UTC") -> Batch:
    source = spooled(text, folder, "run.log")
    choices = Choices(timezone=timezone)
    return choose(source, choices).read(source, choices, folder)


def attempt_of(batch: Batch) -> pd.Series:
    (_, row), *more = batch.tables["attempts"].iterrows()
    assert not more
    return row


def nemo(n: int) -> str:
    at = f"2026-06-01 10:{2 * n:02d}:00"
    lines = (
        f"========================= Step {n}/10 =========================",
        "📊 Training Results:",
        "  • Loss: 0.0010",
        "  • Avg Reward: 0.5000",
        "⏱️  Timing:",
        "  • Total step time: 118.00s",
        "  • policy_training: 50.00s (40%)",
        "  • generation: 60.00s (50%)",
    )
    return "".join(f"{at} {line}\n" for line in lines)


def openrlhf(n: int) -> str:
    return (
        f"2026-06-01 10:{2 * n:02d}:00 INFO Global step {n}: {{'train/timing/generation': 60.0, "
        f"'train/timing/ppo_train': 50.0, 'train/timing/step_total': 118.0, "
        f"'train/rollout/reward_mean': 0.{n:02d}}}\n"
    )


@pytest.mark.parametrize("step", [nemo, openrlhf])
def test_ten_steps_of_118_s_with_stamps_120_s_apart(step, tmp_path: Path) -> None:
    """The stamps span 9 x 120 s and end steps: 1080 s + the 118 s of step 1."""
    batch = read("".join(step(n) for n in range(1, 11)), tmp_path)
    one = attempt_of(batch)
    assert (one["elapsed_s"], one["elapsed_basis"]) == (1198.0, "clock")
    assert one["started_at"] == datetime(2026, 6, 1, 10, 0, 2)
    assert batch.tables["steps"]["elapsed_s"].tolist()[::9] == [118.0, 1198.0]
    assert batch.tables["steps"]["step_s"].sum() == 1180.0


def test_an_earlier_stamp_of_the_log_is_its_start(tmp_path: Path) -> None:
    text = "2026-06-01 09:50:00 INFO loading\n" + "".join(openrlhf(n) for n in range(1, 11))
    one = attempt_of(read(text, tmp_path))
    # 09:50:00 to 10:20:00
    assert (one["elapsed_s"], one["started_at"]) == (1800.0, datetime(2026, 6, 1, 9, 50))


def test_a_stamp_inside_the_first_step_is_not(tmp_path: Path) -> None:
    text = "2026-06-01 10:01:30 INFO rollouts are done\n" + "".join(openrlhf(n) for n in range(1, 11))
    one = attempt_of(read(text, tmp_path))
    assert (one["elapsed_s"], one["started_at"]) == (1198.0, datetime(2026, 6, 1, 10, 0, 2))


def test_stamps_that_span_less_than_the_steps_are_not_their_clock(tmp_path: Path) -> None:
    text = "".join(openrlhf(n).replace("118.0", "150.0") for n in range(1, 11))
    batch = read(text, tmp_path)
    one = attempt_of(batch)
    # 1080 + 150 s of stamps against 10 x 150 s of steps
    assert (one["elapsed_s"], one["elapsed_basis"]) == (1500.0, "step_sum")
    assert any("span less than the steps" in text for text in batch.warnings)


def every_300_s(**more: float) -> list[dict[str, float]]:
    return [
        {"step": n, "timing_s/step": 118.0, "timing_s/gen": 60.0, "_timestamp": 1.78e9 + 300 * n}
        | {key: value * n for key, value in more.items()}
        for n in range(1, 11)
    ]


@pytest.mark.parametrize("kind", ["flat_metrics_jsonl", "wandb_history_json", "wandb_history_csv"])
def test_timestamps_of_rows_are_a_clock(kind: str, tmp_path: Path) -> None:
    """Ten rows 300 s apart: 2700 s + the 118 s of step 1."""
    records = every_300_s()
    if kind == "flat_metrics_jsonl":
        records = [{"ts" if k == "_timestamp" else k: v for k, v in row.items()} for row in records]
    text = "".join(json.dumps(row) + "\n" for row in records)
    batch = load(history_csv(records) if kind.endswith("csv") else text, tmp_path, expect=kind)
    one = attempt_of(batch)
    assert (one["elapsed_s"], one["elapsed_basis"]) == (2818.0, "clock")
    assert (one["started_at"] - datetime(1970, 1, 1)).total_seconds() == 1.78e9 + 300 - 118
    assert (one["ended_at"] - datetime(1970, 1, 1)).total_seconds() == 1.78e9 + 3000
    assert not [text for text in batch.warnings if "no clock" in text]
    assert batch.clock_from_stamps


def test_the_runs_own_clock_wins_over_timestamps(tmp_path: Path) -> None:
    batch = load(history_csv(every_300_s(_runtime=300.0)), tmp_path, expect="wandb_history_csv")
    assert attempt_of(batch)["elapsed_s"] == 3000.0
    assert not batch.clock_from_stamps


def test_stamps_out_of_order_are_no_clock(tmp_path: Path) -> None:
    records = every_300_s()
    records[4]["_timestamp"] = 1.78e9
    one = attempt_of(load(history_csv(records), tmp_path, expect="wandb_history_csv"))
    assert (one["elapsed_s"], one["elapsed_basis"], one["started_at"]) == (1180.0, "step_sum", None)
