"""SkyRL's console: a pretty-printed dict of texts over several lines, wrapped by Ray."""

import pprint
from pathlib import Path

import pytest

from data.errors import UnreadableFileError
from data.readers import choose
from data.readers.base import Batch, Choices
from data.readers.skyrl_console import SkyrlConsoleReader
from tests.data.verl_files import spooled

RAY = "\x1b[36m(skyrl_entrypoint pid=70, ip=10.0.0.3)\x1b[0m "
TRAIN = {
    "generate/avg_num_tokens": 120.0,
    "generate/batch_num_seq": 64.0,
    "policy/final_loss": 0.125,
    "reward/avg_raw_reward": 0.25,
    "trainer/epoch": 0,
}
TIMES = {
    "timing/generate": 10.0,
    "timing/policy_train": 11.0,
    "timing/step": 30.0,
    "timing/sync_weights": 2.0,
    "timing/train_critic_and_policy": 12.0,
}


def step(n: int, values: dict[str, object], prefix: str = RAY, second: int = 0) -> str:
    texts = {key: f"{v:.4f}" if isinstance(v, float) else v for key, v in values.items()}
    clock = f"12:{second // 60:02d}:{second % 60:02d}.250"
    body = f"2026-08-21 {clock} | INFO     | skyrl.tracking:log:270 - Step {n}: \n{pprint.pformat(texts)}"
    return "".join(f"{prefix}{line}\n" for line in body.splitlines())


def both(n: int, second: int = 0, **more: object) -> str:
    return step(n, TRAIN | more, second=second) + step(n, TIMES, second=second)


def read(text: str, tmp_path: Path, zone: str | None = None) -> Batch:
    return SkyrlConsoleReader().read(spooled(text, tmp_path, "skyrl.log"), Choices(timezone=zone), tmp_path)


def test_two_dicts_make_one_step(tmp_path: Path) -> None:
    batch = read(both(1) + both(2), tmp_path)
    facts = batch.facts
    assert (facts["records"], facts["steps_count"], facts["step_first"], facts["step_last"]) == (4, 2, 1, 2)
    assert facts["step_seconds_sum"] == 60.0
    assert facts["phase_seconds[train]"] == 24.0
    assert facts["phase_seconds[weight_sync]"] == 4.0
    assert facts["rollouts_total"] == 128.0
    assert facts["reward_mean"] == 0.25
    assert batch.tables["runs"].iloc[0]["mode"] == "sync"
    assert len(batch.tables["attempts"]) == 1


@pytest.mark.parametrize("prefix", ["", "0: ", RAY])
def test_wrappers_change_nothing(prefix: str, tmp_path: Path) -> None:
    batch = read(step(1, TRAIN, prefix) + step(1, TIMES, prefix), tmp_path)
    assert (batch.facts["records"], batch.facts["step_seconds_sum"]) == (2, 30.0)


def test_lines_of_others_inside_a_dict_are_left_out(tmp_path: Path) -> None:
    lines = both(1).splitlines(keepends=True)
    noisy = "".join(lines[:3]) + "(vLLM pid=3) INFO 08-21 12:00:00 engine: 3 running\n" + "".join(lines[3:])
    batch = read(noisy, tmp_path)
    assert (batch.records, batch.set_aside) == (2, [])


def test_stamps_are_placed(tmp_path: Path) -> None:
    batch = read(both(1, 60) + both(2, 120), tmp_path, "UTC")
    assert list(batch.tables["steps"]["elapsed_s"]) == [30.0, 90.0]
    assert batch.facts["time_first_epoch_s"] == 1787313660.25


def test_a_cut_dict_is_dropped_and_a_broken_one_set_aside(tmp_path: Path) -> None:
    lines = step(2, TRAIN).splitlines(keepends=True)
    text = both(1) + "".join(lines[:-1]) + both(3) + "".join(lines[:3]).rstrip("\n")
    batch = read(text, tmp_path)
    assert batch.facts["partial_last_line"] == 1
    assert (batch.records, batch.stored) == (5, 4)
    assert [item.reason for item in batch.set_aside] == ["the dict breaks off"]


def test_a_dict_without_an_end_does_not_swallow_the_log(tmp_path: Path) -> None:
    text = "Step 1:\n{'a': '1',\n" + "'b': {'c': '2'}\n" * 5000 + both(2)
    batch = read(text, tmp_path)
    assert (batch.facts["step_last"], len(batch.set_aside)) == (2, 1)


def test_scores_of_an_evaluation(tmp_path: Path) -> None:
    batch = read(both(5) + step(5, {"eval/gsm8k/avg_score": 0.5, "eval/gsm8k/pass_at_4": 0.75}), tmp_path)
    told = batch.tables["evals"]
    assert sorted(zip(told["benchmark"], told["score"], strict=True)) == [("gsm8k", 0.5), ("gsm8k", 0.75)]


def test_the_format_is_recognised_and_an_empty_log_refused(tmp_path: Path) -> None:
    assert choose(spooled(both(1), tmp_path, "x"), Choices()).format == "skyrl_console"
    with pytest.raises(UnreadableFileError, match="no step of SkyRL"):
        read("Step 3:\nnothing\n", tmp_path)


def alone(values: dict[str, object]) -> str:
    return "".join(f"{RAY}{line}\n" for line in pprint.pformat(values).splitlines())


def test_a_dict_alone_names_its_step(tmp_path: Path) -> None:
    texts = {key: f"{value:.4f}" for key, value in TIMES.items()}
    text = alone(texts | {"trainer/global_step": 4}) + "text\n" + alone(texts | {"trainer/global_step": 5})
    facts = read(text, tmp_path).facts
    assert (facts["records"], facts["step_first"], facts["step_last"]) == (2, 4, 5)
    assert facts["step_seconds_sum"] == 60.0
    assert choose(spooled(text, tmp_path, "b.log"), Choices()).format == "skyrl_console"


def test_a_dict_alone_without_a_step_is_set_aside(tmp_path: Path) -> None:
    texts = {key: f"{value:.4f}" for key, value in TIMES.items()}
    batch = read(alone(texts | {"trainer/global_step": 4}) + alone(texts), tmp_path)
    assert batch.facts["steps_count"] == 1
    assert [one.reason for one in batch.set_aside] == ["the dict names no step"]
