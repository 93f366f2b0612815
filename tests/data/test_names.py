"""Runs that their files do not name are called after the file, or after its folder when that says more."""

import pytest

from data.arrival.names import run_name_of, unnamed


@pytest.mark.parametrize(
    ("name", "run"),
    [
        ("grpo-7b.jsonl", "grpo-7b"),
        ("metrics.jsonl", "metrics"),
        ("exp1/metrics.jsonl", "exp1"),
        ("runs/exp1/logs/train.log", "exp1"),
        ("runs/exp1/checkpoint-500/trainer_state.json", "exp1"),
        ("runs/exp1/grpo-7b.jsonl", "grpo-7b"),
        ("logs/train.log", "train"),
        ("exp1.5/", "exp1.5"),
        ("exp1.5/tb/", "exp1.5"),
        ("exp2/events.out.tfevents.1700000000.host.1.0", "exp2"),
    ],
)
def test_run_names(name: str, run: str) -> None:
    assert run_name_of(name) == run


def test_a_local_name_that_repeats_the_file_name_names_nothing() -> None:
    assert unnamed("metrics", "exp1/metrics.jsonl") and unnamed("exp1", "exp1/metrics.jsonl")
    assert unnamed("exp1.5", "exp1.5/") and unnamed("", "a.csv")
    assert not unnamed("grpo", "exp1/metrics.jsonl")
