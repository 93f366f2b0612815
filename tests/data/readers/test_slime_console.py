"""slime's console: dicts of several processes, whose axes must not be mixed."""

from datetime import datetime, timedelta
from pathlib import Path

import pytest

from data.errors import UnreadableFileError
from data.readers import choose
from data.readers.base import Batch, Choices
from data.readers.slime_console import SlimeConsoleReader
from tests.data.verl_files import spooled

START = datetime(2026, 6, 29, 12, 0)
MANAGER = "\x1b[36m(RolloutManager pid=310428)\x1b[0m "
TRAINER = "\x1b[36m(MegatronTrainRayActor pid=77, ip=10.0.0.9)\x1b[0m "


def line(
    label: str, n: int, values: dict[str, object], seconds: float, who: str = TRAINER, file: str = "x.py"
) -> str:
    return f"{who}[{START + timedelta(seconds=seconds)}] {file}:120 - {label} {n}: {values}\n"


def rollout(n: int, at: float, **more: object) -> str:
    values = {
        "rollout/response_len/mean": 100.0 + n,
        "rollout/truncated_ratio": 0.25,
        "rollout/zero_std/count_1.0": 4,
        "perf/rollout_time": 30.0,
        "perf/tokens_per_gpu_per_sec": 900.0,
    } | more
    return line("perf", n, values, at, MANAGER, "rollout.py")


def means(n: int, at: float, reward: float) -> str:
    return line(
        "rollout", n, {"rollout/raw_reward": reward, "rollout/rewards": 1e-9, "rollout/log_probs": -0.5}, at
    )


def trained(n: int, at: float, **more: object) -> str:
    values = {
        "perf/train_wait_time": 32.0,
        "perf/train_time": 18.0,
        "perf/actor_train_time": 12.0,
        "perf/log_probs_time": 4.0,
        "perf/update_weights_time": 6.0,
        "perf/actor_train_tok_per_s": 5000.0,
        "perf/step_time": 50.0,
        "perf/wait_time_ratio": 0.64,
    } | more
    return line("perf", n, values, at)


def update(n: int, at: float, loss: float = 0.5) -> str:
    return line("step", n, {"train/loss": loss, "train/grad_norm": 1.0, "train/step": n}, at)


def sync(steps: int, each: float = 60.0, first: int = 0, at: float = 0.0, reward: float = 0.1) -> str:
    """Two optimiser steps in each rollout."""
    out = ""
    for n in range(first, first + steps):
        end = at + (n - first + 1) * each
        out += rollout(n, end - 25) + means(n, end - 20, reward * (n + 1))
        out += update(2 * n, end - 10) + update(2 * n + 1, end - 5) + trained(n, end)
    return out


def read(text: str, tmp_path: Path, zone: str | None = None) -> Batch:
    return SlimeConsoleReader().read(spooled(text, tmp_path, "slime.log"), Choices(timezone=zone), tmp_path)


def test_the_run_counts_rollouts_and_keeps_optimiser_steps_apart(tmp_path: Path) -> None:
    batch = read(sync(3), tmp_path)
    facts = batch.facts
    assert (facts["records"], batch.stored) == (15, 15)
    assert (facts["steps_count"], facts["step_first"], facts["step_last"]) == (3, 0, 2)
    assert facts["step_seconds_sum"] == 150.0
    assert facts["reward_mean"] == pytest.approx(0.2)
    raw = batch.tables["metric_raw"]
    loss = raw[raw["key"] == "train/loss"]
    assert loss["step"].isna().all()
    assert loss["x_name"].unique().tolist() == ["train/step"]
    assert sorted(loss["x"]) == [0, 1, 2, 3, 4, 5]
    assert sorted(raw[raw["key"] == "perf/step_time"]["step"]) == [0, 1, 2]
    assert len(batch.tables["attempts"]) == 1


def test_waiting_is_not_added_to_the_rollout_that_it_holds(tmp_path: Path) -> None:
    phases = read(sync(1), tmp_path).tables["step_phases"].set_index("source_key")["seconds"]
    assert phases.to_dict() == {
        "perf/rollout_time": 30.0,
        "perf/actor_train_time": 12.0,
        "perf/log_probs_time": 4.0,
        "perf/update_weights_time": 6.0,
    }


def test_stamps_are_placed_by_the_chosen_zone(tmp_path: Path) -> None:
    batch = read(sync(2), tmp_path, "Asia/Shanghai")
    assert batch.timezone == "Asia/Shanghai"
    steps = batch.tables["steps"]
    assert list(steps["ts"]) == [datetime(2026, 6, 29, 4, 1), datetime(2026, 6, 29, 4, 2)]
    assert list(steps["elapsed_s"]) == [50.0, 110.0]
    assert batch.facts["span_s"] == 85.0
    loose = read(sync(2), tmp_path)
    assert loose.facts["time_first_epoch_s"] is None
    assert loose.facts["span_s"] == 85.0
    assert list(loose.tables["steps"]["elapsed_s"]) == [50.0, 110.0]
    assert any("no time zone" in text for text in loose.warnings)


def test_the_timer_that_leaves_out_weight_sync_is_said(tmp_path: Path) -> None:
    said = [text for text in read(sync(5, each=100.0), tmp_path).warnings if "of the wall clock" in text]
    assert said == [
        "perf/step_time covers 50% of the wall clock (50.0 s of 100.0 s a step): "
        "it leaves out weight sync, offloading and saving."
    ]
    assert not any("of the wall clock" in text for text in read(sync(5), tmp_path).warnings)


def test_an_asynchronous_run_prints_the_next_rollout_first(tmp_path: Path) -> None:
    text = rollout(0, 30)
    for n in range(3):
        text += rollout(n + 1, 60 + 60 * n) + means(n, 65 + 60 * n, 0.5) + trained(n, 80 + 60 * n)
    batch = read(text, tmp_path)
    assert len(batch.tables["attempts"]) == 1
    assert batch.tables["runs"].iloc[0]["mode"] == "one_step_off"
    assert list(batch.tables["steps"]["step"]) == [0, 1, 2, 3]
    assert list(batch.tables["steps"]["step_s"].dropna()) == [50.0, 50.0, 50.0]
    assert read(sync(3), tmp_path).tables["runs"].iloc[0]["mode"] == "sync"


def test_a_restart_opens_an_attempt_with_a_clock_of_its_own(tmp_path: Path) -> None:
    crash = f"[{START + timedelta(seconds=200)}] Traceback (most recent call last):\n"
    begin = f"[{START + timedelta(seconds=5000)}] arguments.py:1 - loading\n"
    text = sync(3) + crash + begin + sync(2, first=2, at=5000.0, reward=0.3)
    batch = read(text, tmp_path)
    attempts = batch.tables["attempts"]
    assert list(attempts["attempt"]) == [1, 2]
    assert attempts["resumed_from_step"].tolist()[1] == 1
    assert attempts["elapsed_s"].tolist() == [170.0, 120.0]
    assert attempts["elapsed_basis"].tolist() == ["clock", "clock"]
    assert batch.facts["step_seconds_sum"] == 5 * 50.0
    assert batch.facts["steps_count"] == 4


def test_equal_records_count_once(tmp_path: Path) -> None:
    doubled = "".join(text + "\n" for text in sync(2).splitlines() for _ in (1, 2))
    batch = read(doubled, tmp_path)
    assert (batch.records, batch.stored, sum(batch.ignored.values())) == (20, 10, 10)
    assert batch.facts["step_seconds_sum"] == 100.0


def test_evaluations_stand_at_the_rollout(tmp_path: Path) -> None:
    scores = {"eval/aime": 0.25, "eval/aime-truncated_ratio": 0.5, "eval/aime/response_len/mean": 900.0}
    text = line("eval", 0, scores, 1) + sync(2) + line("eval", 1, scores | {"eval/aime": 0.5}, 130)
    evals = read(text, tmp_path).tables["evals"]
    told = set(zip(evals["step"], evals["benchmark"], evals["score"], strict=True))
    assert {(0, "aime", 0.25), (1, "aime", 0.5)} <= told


def test_two_processes_with_different_values_of_one_key_lose_none(tmp_path: Path) -> None:
    text = rollout(0, 10, **{"rollout/raw_reward": 0.5}) + means(0, 12, 0.25) + trained(0, 20)
    batch = read(text, tmp_path)
    raw = batch.tables["metric_raw"].set_index("key")["value"]
    assert (raw["rollout/raw_reward"], raw["rollout:rollout/raw_reward"]) == (0.5, 0.25)
    assert len(batch.tables["attempts"]) == 1


@pytest.mark.parametrize("value", ["nan", "np.float64(nan)", "inf", "None"])
def test_missing_values_are_missing(value: str, tmp_path: Path) -> None:
    batch = read(sync(1).replace("'perf/step_time': 50.0", f"'perf/step_time': {value}"), tmp_path)
    assert batch.facts["step_seconds_sum"] is None
    assert batch.facts["missing_cells"] == 1


def test_numpy_reprs_are_numbers(tmp_path: Path) -> None:
    batch = read(sync(1).replace("50.0", "np.float64(50.0)"), tmp_path)
    assert batch.facts["step_seconds_sum"] == 50.0


def test_a_cut_last_line_is_dropped_and_a_broken_one_set_aside(tmp_path: Path) -> None:
    whole = sync(2)
    batch = read(whole[:-20], tmp_path)
    assert batch.facts["partial_last_line"] == 1
    assert (batch.records, batch.stored) == (9, 9)
    lines = whole.splitlines(keepends=True)
    lines[1] = lines[1][:-20] + "\n"
    broken = read("".join(lines), tmp_path)
    assert (broken.records, broken.stored) == (10, 9)
    assert broken.set_aside[0].line == 2


def test_text_of_others_is_no_record(tmp_path: Path) -> None:
    noise = MANAGER + "INFO: perf counters {'a': 1}\nsetting up 3: nothing\nstep 4 of 5: loading\n"
    batch = read(noise + sync(1) + noise, tmp_path)
    assert (batch.records, batch.set_aside) == (5, [])


def test_the_format_is_recognised(tmp_path: Path) -> None:
    assert choose(spooled(sync(1), tmp_path, "x"), Choices()).format == "slime_console"
    with pytest.raises(UnreadableFileError, match="no record of slime"):
        read("nothing\n", tmp_path)
