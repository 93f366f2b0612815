"""OpenRLHF's console: one dict a step, stamps without a year."""

from pathlib import Path

import pytest

from data.errors import UnreadableFileError
from data.readers import choose
from data.readers.base import Batch, Choices
from data.readers.openrlhf_console import OpenrlhfConsoleReader
from tests.data.verl_files import spooled

ACTOR = "\x1b[36m(PPOTrainer pid=9, ip=10.0.0.2)\x1b[0m "


def values(n: int, **more: object) -> dict[str, object]:
    return {
        "policy_loss": 0.01 * n,
        "reward": n / 10,
        "rollout/reward_mean": n / 10,
        "rollout/response_length_mean": 50.0,
        "rollout/truncated_rate": 0.25,
        "rollout/num_samples": 16.0,
        "actor_lr": 1e-06,
        "timing/generation": 6.0,
        "timing/make_experience": 2.0,
        "timing/ppo_train": 10.0,
        "timing/broadcast": 1.0,
        "timing/step_total": 19.0,
    } | more


def step(n: int, stamp: str = "", prefix: str = ACTOR, **more: object) -> str:
    front = f"INFO {stamp} ppo_trainer.py:547] " if stamp else ""
    return f"{prefix}{front}✨ Global step {n}: {values(n, **more)}\n"


def read(text: str, tmp_path: Path) -> Batch:
    return OpenrlhfConsoleReader().read(spooled(text, tmp_path, "openrlhf.log"), Choices(), tmp_path)


def test_facts_by_hand(tmp_path: Path) -> None:
    batch = read("".join(step(n) for n in (1, 2, 3)), tmp_path)
    facts = batch.facts
    assert (facts["format"], facts["records"], facts["step_first"], facts["step_last"]) == (
        "openrlhf_console",
        3,
        1,
        3,
    )
    assert facts["step_seconds_sum"] == 57.0
    assert facts["phase_seconds[rollout]"] == 18.0
    assert facts["phase_seconds[train]"] == 30.0
    assert facts["phase_seconds[weight_sync]"] == 3.0
    assert facts["rollouts_total"] == 48.0
    assert facts["reward_mean"] == pytest.approx(0.2)
    assert facts["tokens_total"] is None
    assert facts["mfu_mean"] is None
    assert batch.tables["runs"].iloc[0]["mode"] == "sync"


def test_a_wait_of_the_actor_means_an_asynchronous_run(tmp_path: Path) -> None:
    batch = read(step(1, **{"timing/actor_idle_wait": 3.0}), tmp_path)
    assert batch.tables["runs"].iloc[0]["mode"] == "async"


def test_stamps_without_a_year_give_durations_only(tmp_path: Path) -> None:
    text = "INFO 12-31 23:58:00 launcher.py:1] start\n"
    text += step(1, "12-31 23:59:00") + step(2, "01-01 00:00:30") + step(3, "01-01 00:02:00")
    batch = read(text, tmp_path)
    assert list(batch.tables["steps"]["elapsed_s"]) == [60.0, 150.0, 240.0]
    assert "ts" not in batch.tables["steps"]
    assert batch.facts["span_s"] == 240.0
    assert batch.facts["time_first_epoch_s"] is None
    assert batch.facts["run_seconds"] == 240.0
    attempt = batch.tables["attempts"].iloc[0]
    assert (attempt["elapsed_s"], attempt["elapsed_basis"]) == (240.0, "clock")
    assert any("no year" in text for text in batch.warnings)
    assert any("timing/step_total covers 21% of the wall clock" in text for text in batch.warnings)


def test_dated_stamps_are_placed(tmp_path: Path) -> None:
    text = "".join(step(n, prefix=f"[2026-08-13 12:0{n}:00+00:00] ") for n in (1, 2))
    batch = read(text, tmp_path)
    assert batch.facts["time_zone"] == "+00:00"
    assert batch.facts["span_s"] == 60.0
    assert list(batch.tables["steps"]["elapsed_s"]) == [19.0, 79.0]


def test_evaluations_are_scores(tmp_path: Path) -> None:
    text = step(1) + ACTOR + "✨ Evaluation completed in 0:00:41, global_step 1, eval_metrics: "
    text += "{'eval_gsm8k_pass1': 0.5, 'eval_gsm8k_pass4': 0.75, 'eval_gsm8k_truncated_rate': 0.1}\n"
    batch = read(text, tmp_path)
    evals = batch.tables["evals"]
    told = list(zip(evals["step"], evals["benchmark"], evals["k"], evals["score"], strict=True))
    assert sorted(told) == [(1, "gsm8k", 1, 0.5), (1, "gsm8k", 4, 0.75)]
    assert (batch.records, batch.stored) == (2, 2)


def test_lists_and_texts_inside_a_dict_cost_no_record(tmp_path: Path) -> None:
    batch = read(step(1, generated="'a }: b, {'", lengths="[1, 2]").replace('"', ""), tmp_path)
    assert sorted(str(item.column) for item in batch.set_aside) == ["generated", "lengths"]
    assert batch.stored == 1


def test_a_restart_opens_an_attempt(tmp_path: Path) -> None:
    text = (
        step(1) + step(2) + step(3) + step(2, reward=0.9, **{"timing/step_total": 21.0}) + step(3, reward=0.7)
    )
    batch = read(text, tmp_path)
    assert list(batch.tables["attempts"]["attempt"]) == [1, 2]
    assert batch.facts["step_seconds_sum"] == 19 * 3 + 21 + 19


def test_cut_and_broken_lines(tmp_path: Path) -> None:
    text = step(1) + step(2)[:80] + "\n" + step(3) + step(4)[:-10]
    batch = read(text, tmp_path)
    assert batch.facts["partial_last_line"] == 1
    assert (batch.records, batch.stored) == (3, 2)
    assert [item.line for item in batch.set_aside] == [2]


def test_the_format_is_recognised_and_an_empty_log_refused(tmp_path: Path) -> None:
    assert choose(spooled(step(1), tmp_path, "x"), Choices()).format == "openrlhf_console"
    with pytest.raises(UnreadableFileError, match="no step of OpenRLHF"):
        read("Global step 3: starting\n", tmp_path)
