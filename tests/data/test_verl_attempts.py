"""Attempts and evaluations of verl console logs: how they ended, resumed, what their time rests on."""

from pathlib import Path

import pytest

from tests.data.verl_files import (
    TASK,
    bar,
    line,
    log,
    read_console,
    values,
    whole_run,
)


@pytest.mark.parametrize(
    ("tail", "status", "cause"),
    [
        ([], "unknown", None),
        ([f"{TASK}(\"Final validation metrics: {{'val-core/x/acc/mean@1': '0.5'}}\")"], "completed", None),
        ([bar(9, 9, "01:30")], "completed", None),
        (["Job 'raysubmit_1' succeeded"], "completed", None),
        ([f"{TASK}Traceback (most recent call last):", f"{TASK}  File \"a.py\", line 3",
          f"{TASK}ray.exceptions.OutOfMemoryError: CUDA out of memory"],
         "failed", "ray.exceptions.OutOfMemoryError: CUDA out of memory"),
        (["Job 'raysubmit_1' failed"], "failed", "the log ends in an error"),
        (["slurmstepd: error: *** JOB 5 ON n1 CANCELLED AT 2025-01-01T00:00:00 ***"], "cancelled",
         "slurmstepd: error: *** JOB 5 ON n1 CANCELLED AT 2025-01-01T00:00:00 ***"),
    ],
)  # fmt: skip
def test_how_a_run_ended(tail: list[str], status: str, cause: str | None, tmp_path: Path) -> None:
    attempt = (
        read_console(log(line(1, values(1)), line(2, values(2)), *tail), tmp_path).tables["attempts"].iloc[0]
    )
    assert attempt["status"] == status
    assert (attempt["cause"] or None) == cause


def test_an_error_before_the_last_step_does_not_fail_the_run(tmp_path: Path) -> None:
    text = log(
        line(1, values(1)), "Traceback (most recent call last):", "ValueError: retried", line(2, values(2))
    )
    assert read_console(text, tmp_path).tables["attempts"].iloc[0]["status"] == "unknown"


def test_a_resumed_run_says_where_it_began(tmp_path: Path) -> None:
    text = log(f"{TASK}Resuming from /c/global_step_100", bar(100, 103, "00:00"), whole_run(101, 103, 103))
    batch = read_console(text, tmp_path)
    attempt = batch.tables["attempts"].iloc[0]
    assert attempt["resumed_from_step"] == 100
    assert (attempt["elapsed_s"], attempt["elapsed_basis"], attempt["status"]) == (
        75.0,
        "progress_bar",
        "completed",
    )
    assert (batch.facts["step_first"], batch.facts["step_last"]) == (101, 103)
    assert any("not in this file" in text for text in batch.warnings)


def test_without_a_bar_time_is_the_sum_of_steps(tmp_path: Path) -> None:
    attempt = read_console(log(line(1, values(1)), line(2, values(2))), tmp_path).tables["attempts"].iloc[0]
    assert (attempt["elapsed_s"], attempt["elapsed_basis"]) == (40.0, "step_sum")


def test_a_restart_inside_the_file_opens_a_second_attempt(tmp_path: Path) -> None:
    saved = {**values(2), "timing_s/save_checkpoint": 1.5}
    text = log(
        bar(0, 4, "00:00"), line(1, values(1)), line(2, saved), line(3, values(3)), bar(3, 4, "01:10"),
        f"{TASK}Traceback (most recent call last):", f"{TASK}RuntimeError: NCCL timeout",
        f"{TASK}Setting global step to 2", bar(2, 4, "00:00"),
        line(3, values(3, step_s=21.0)), line(4, values(4)), bar(4, 4, "00:45"),
    )  # fmt: skip
    batch = read_console(text, tmp_path)
    attempts = batch.tables["attempts"].set_index("attempt")
    assert list(attempts["status"]) == ["failed", "completed"]
    assert attempts.loc[1, "cause"] == "RuntimeError: NCCL timeout"
    assert attempts.loc[1, "last_checkpoint_step"] == 2
    assert (attempts.loc[2, "resumed_from_step"], attempts.loc[2, "resumed_from_attempt"]) == (2, 1)
    assert list(attempts["elapsed_s"]) == [70.0, 45.0]
    assert batch.facts["run_seconds"] == 115.0
    steps = batch.tables["steps"]
    assert list(zip(steps["attempt"], steps["step"], strict=True)) == [(1, 1), (1, 2), (1, 3), (2, 3), (2, 4)]
    assert batch.facts["steps_count"] == 4
    assert batch.facts["step_seconds_sum"] == 101.0


def test_steps_that_go_back_open_an_attempt_even_without_a_word(tmp_path: Path) -> None:
    text = log(*[line(s, values(s)) for s in (1, 2, 3)], *[line(s, values(s, step_s=30.0)) for s in (2, 3)])
    attempts = read_console(text, tmp_path).tables["attempts"]
    assert list(attempts["resumed_from_step"].fillna(-1)) == [-1, 1]
    assert attempts.loc[0, "status"] == "failed"


def test_the_same_log_twice_counts_once(tmp_path: Path) -> None:
    batch = read_console(whole_run() + whole_run(), tmp_path)
    assert (batch.records, batch.stored, sum(batch.ignored.values())) == (6, 3, 3)
    assert len(batch.tables["attempts"]) == 1
    assert batch.facts["step_seconds_sum"] == 60.0


def test_validation_logged_apart_joins_its_step(tmp_path: Path) -> None:
    text = log(line(1, values(1)), line(2, values(2)), line(1, {"val-core/openai/gsm8k/acc/mean@4": 0.5}))
    batch = read_console(text, tmp_path)
    assert (batch.records, len(batch.tables["attempts"]), len(batch.tables["steps"])) == (3, 1, 2)
    row = batch.tables["evals"].iloc[0]
    assert (row["benchmark"], row["metric"], row["k"], row["step"], row["score"]) == (
        "openai/gsm8k",
        "acc",
        4,
        1,
        0.5,
    )
    assert row["checkpoint"] == "trial@1"


def test_evaluations(tmp_path: Path) -> None:
    first = {
        "val-core/math/dapo/reward/mean@8": -0.5,
        "val-core/aime_2024/acc/maj@8/mean": 0.4,
        "val-core/aime_2024/acc/mean@8": 0.3,
    }
    last = {
        **values(5),
        "val-core/math/dapo/reward/mean@8": 0.5,
        "val-core/aime_2024/acc/mean@8": 0.35,
        "val-aux/x/acc/best@2/mean": 0.9,
    }
    batch = read_console(log(line(0, first), line(5, last)), tmp_path)
    evals = batch.tables["evals"]
    kinds = dict(zip(evals["benchmark"] + " " + evals["metric"], evals["score_kind"], strict=True))
    assert kinds == {
        "math/dapo reward": "points",
        "aime_2024 acc_maj": "fraction",
        "aime_2024 acc": "fraction",
    }
    assert batch.facts["eval_score[math/dapo]"] == 0.5
    assert batch.facts["eval_score[aime_2024]"] == 0.35
    assert list(batch.tables["steps"]["step"]) == [5]
    assert batch.facts["step_first"] == 0


@pytest.mark.parametrize(("step_s", "inside"), [(26.0, True), (20.0, False)])
def test_validation_time_is_inside_or_outside_the_step(step_s: float, inside: bool, tmp_path: Path) -> None:
    text = log(line(1, {**values(1, step_s=step_s), "timing_s/testing": 6.0}))
    batch = read_console(text, tmp_path)
    assert batch.facts["phase_seconds[eval]"] == 6.0
    assert batch.facts["unattributed_seconds"] == pytest.approx(2.0)
    assert any("outside timing_s/step" in w for w in batch.warnings) is not inside
