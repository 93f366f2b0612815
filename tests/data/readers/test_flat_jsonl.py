"""JSON-lines logs of unknown trainers: only with a step, never logs of requests, and others come first."""

import json
from pathlib import Path

import pytest

from data.readers.base import Choices
from data.readers.flat_jsonl import FlatJsonlReader
from data.readers.registry import choose
from tests.data.readers.flat_files import jsonl, load, phases, steps
from tests.data.verl_files import jsonl as verl_jsonl
from tests.data.verl_files import spooled, values


def sniff(text: str, folder: Path) -> float:
    return FlatJsonlReader().sniff(spooled(text, folder, "metrics.jsonl")).confidence


def test_unknown_keys_are_raw_metrics(tmp_path: Path) -> None:
    records = [
        {"iteration": n, "widget/loss": 1.0 / n, "note": "x", "timestamp": 1.75e9 + n} for n in (1, 2, 3)
    ]
    batch = load(jsonl(records), tmp_path, "mine.jsonl", expect="flat_metrics_jsonl")
    assert (batch.records, batch.stored) == (3, 3)
    assert batch.facts["steps_count"] == 3
    assert (batch.facts["time_first_epoch_s"], batch.facts["span_s"]) == (1.75e9 + 1, 2.0)
    assert set(batch.tables["metric_raw"]["key"]) == {"iteration", "widget/loss"}
    assert any("framework is not known" in text for text in batch.warnings)


def test_known_keys_are_mapped(tmp_path: Path) -> None:
    records = [
        {"trainer/global_step": n, "timing/step": 9.0, "timing/generate": 5.0, "timing/sync_weights": 1.0,
         "reward/avg_raw_reward": 0.5}
        for n in (1, 2)
    ]  # fmt: skip
    batch = load(jsonl(records), tmp_path, "log.jsonl", expect="flat_metrics_jsonl")
    assert batch.tables["runs"][["framework", "mode"]].to_numpy().tolist() == [["skyrl", "sync"]]
    assert phases(batch) == {"rollout": (10.0, "wall"), "weight_sync": (2.0, "wall")}
    assert steps(batch)["step"].tolist() == [1, 2]


def test_metrics_may_lie_one_level_down(tmp_path: Path) -> None:
    records = [{"step": n, "metrics": {"timing/step": 9.0, "timing/generate": 5.0}} for n in (1, 2)]
    batch = load(jsonl(records), tmp_path, "log.jsonl")
    assert batch.facts["step_seconds_sum"] == 18.0


def test_a_supervised_log_is_labelled(tmp_path: Path) -> None:
    records = [{"step": n, "loss": 1.5, "learning_rate": 1e-5, "grad_norm": 2.0} for n in (1, 2)]
    batch = load(jsonl(records), tmp_path, "sft.jsonl")
    assert batch.tables["runs"]["algorithm"].tolist() == ["sft"]
    assert batch.facts["reward_mean"] is None
    assert any("supervised" in text for text in batch.warnings)


def test_objects_without_a_step_or_a_metric_are_set_aside(tmp_path: Path) -> None:
    records = [{"step": 1, "loss": 1.0}, {"loss": 2.0}, {"step": 2, "note": "x"}, {"step": 3, "loss": None}]
    batch = load(jsonl([*records, {"step": 4, "loss": 0.5}]), tmp_path, "log.jsonl")
    assert (batch.records, batch.stored) == (5, 2)
    assert [s.line for s in batch.set_aside] == [2, 3, 4]


@pytest.mark.parametrize(
    "records",
    [
        [{"step": 1, "latency_ms": 12.0, "status": 200, "path": "/v1", "tokens": 7}] * 2,
        [{"ts": 1.75e9, "loss": 0.5}] * 2,
        [{"step": 1, "widget": 3.0}] * 2,
        [{"step": "one", "loss": 3.0}] * 2,
        [{"system.gpu.0.gpu": 4.0, "_timestamp": 1.75e9}] * 2,
    ],
)
def test_other_logs_are_left_alone(records: list[dict[str, object]], tmp_path: Path) -> None:
    assert sniff(jsonl(records), tmp_path) == 0.0


def test_readers_of_one_trainer_come_first(tmp_path: Path) -> None:
    assert sniff(verl_jsonl({1: values(1), 2: values(2)}), tmp_path) == 0.1
    prime = [
        {"step": n, "time": 1.75e9, "time/forward_backward": 3.0, "time/wait_for_batch": 1.0} for n in (0, 1)
    ]
    assert sniff(jsonl(prime), tmp_path) == 0.1
    state = json.dumps(
        {"log_history": [{"step": 1, "loss": 0.5}, {"step": 2, "loss": 0.4}], "global_step": 2}
    )
    assert sniff(state, tmp_path) == 0.1
    assert choose(spooled(state, tmp_path, "trainer_state.json"), Choices()).format == "trl_trainer_state"
