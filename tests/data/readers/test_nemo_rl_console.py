"""NeMo RL console blocks: with and without headings, wrapped by Ray, validated, restarted, cut."""

from collections.abc import Iterable
from pathlib import Path

import pytest

from data.errors import UnreadableFileError
from data.readers import choose
from data.readers.base import Batch, Choices
from data.readers.nemo_rl_console import NemoRlConsoleReader
from tests.data.verl_files import spooled

RAY = "\x1b[36m(GRPOTrainer pid=41, ip=10.1.0.4)\x1b[0m "
GAP = "unattributed_seconds"
TIMERS = {
    "policy_training": 8.0,
    "generation": 6.0,
    "prepare_for_generation/total": 2.0,
    "prepare_for_generation/transfer_and_update_weights": 1.5,
    "logprob_inference_prep": 0.5,
}
RATES = """
🔍 Performance Metrics:
  • Visualizing Token Imbalance per Generation Worker:
    - Generated Tokens from Worker   0:■■■■□ Count: 12.5K
  • Average Token Imbalance: 12.50%
  • Mean Total Tokens per Sample: 90.00
  • Throughputs (per GPU):
    - E2E (Samples/sec/gpu): 0.80
    - E2E (Tokens/sec/gpu): 100.00
    - Policy Training (Tokens/sec/gpu): 250.00
  • Throughputs (per Group):
    - E2E (Samples/sec): 12.80
    - E2E (Tokens/sec): 1600.00
  • Training FLOPS: 3200.00 TFLOPS (200.00 TFLOPS per rank)
  • Training Model Floating Point Utilization: 20.25%
"""


def results(reward: str = "0.2500", loss: str = "0.0125") -> str:
    return (
        f"\n📊 Training Results:\n  • Loss: {loss}\n  • Avg Reward: {reward}\n"
        "  • Mean Generation Length: 101.5000\n"
    )


def timing(total: float = 20.0, timers: dict[str, float] | None = None) -> str:
    lines = [f"  • {name}: {s:.2f}s ({100 * s / total:.1f}%)" for name, s in (timers or TIMERS).items()]
    return "\n".join(["", "⏱️  Timing:", f"  • Total step time: {total:.2f}s", *lines, ""])


def block(reward: str = "0.2500", total: float = 20.0) -> str:
    return results(reward) + timing(total) + RATES


def heading(step: int, of: int) -> str:
    return f"\n========================= Step {step}/{of} =========================\n▶ Preparing batch...\n"


def epoch(number: int) -> str:
    return f"\n========================= Epoch {number}/2 =========================\n"


def validation(step: int, accuracy: str = "0.5000") -> str:
    return (
        f"▶ Starting validation at step {step}...\n\n📊 Validation Results:\n    • Accuracy: {accuracy}\n"
        "    • Average response length: 88.5 tokens\n    • Samples processed: 256\n"
        "\n  ⏱️  Validation Timing:\n    • Total validation time: 7.50s\n"
    )


def read(text: str, tmp_path: Path, **choices: str) -> Batch:
    source = spooled(text, tmp_path, "nemo.log")
    return NemoRlConsoleReader().read(source, Choices(**choices), tmp_path)


def raw(batch: Batch, step: int) -> dict[str, float]:
    frame = batch.tables["metric_raw"]
    own = frame[frame["step"] == step]
    return dict(zip(own["key"], own["value"], strict=True))


def wrapped(text: str, prefix: str) -> str:
    return "".join(f"{prefix}{line}\n" for line in text.splitlines())


def test_one_block_without_a_number_has_no_step_number(tmp_path: Path) -> None:
    batch = read(block(), tmp_path)
    facts = batch.facts
    assert (facts["records"], facts["steps_count"], facts["runs"]) == (1, 1, 1)
    assert (facts["step_first"], facts["step_last"]) == (None, None)
    assert facts["step_seconds_sum"] == 20.0
    assert facts["phase_seconds[train]"] == 8.0
    assert facts["phase_seconds[weight_sync]"] == 2.0
    assert facts["phase_seconds[other]"] == 0.5
    assert facts["phase_seconds[eval]"] is None
    assert facts[GAP] == pytest.approx(20 - 8 - 6 - 2 - 0.5)
    assert any("no step numbers" in text for text in batch.warnings)


def test_rates_give_gpus_tokens_and_rollouts_but_the_mean_without_prompts_does_not(tmp_path: Path) -> None:
    facts = read(block(), tmp_path).facts
    assert facts["gpu_count_inferred"] == 16.0
    assert facts["tokens_total"] == pytest.approx(1600 * 20)
    assert facts["rollouts_total"] == pytest.approx(12.8 * 20)


def test_printed_percents_are_ratios(tmp_path: Path) -> None:
    batch = read(block(), tmp_path)
    assert batch.facts["mfu_mean"] == pytest.approx(0.2025)
    values = raw(batch, 1)
    assert values["performance/average_token_imbalance"] == pytest.approx(0.125)
    assert values["performance/train_flops_per_gpu"] == 200.0
    assert not any("worker" in key for key in values)


def test_an_impossible_utilisation_is_set_aside(tmp_path: Path) -> None:
    batch = read(block().replace("20.25%", "133.00%"), tmp_path)
    assert batch.facts["mfu_mean"] is None
    assert [item.column for item in batch.set_aside] == ["performance/train_fp_utilization"]


def steps(numbers: Iterable[int], of: int = 3) -> str:
    return "".join(heading(n, of) + block(f"{n / 10:.4f}") for n in numbers)


def test_headings_number_the_blocks(tmp_path: Path) -> None:
    batch = read("setting up\n" + steps((1, 2, 3)), tmp_path)
    facts = batch.facts
    assert (facts["records"], facts["step_first"], facts["step_last"]) == (3, 1, 3)
    assert (facts["reward_mean"], facts["reward_last"]) == (pytest.approx(0.2), pytest.approx(0.3))
    assert facts["step_seconds_sum"] == 60.0
    assert batch.tables["runs"].iloc[0]["mode"] == "sync"
    assert batch.tables["attempts"].iloc[0]["status"] == "completed"
    assert not any("no step numbers" in text for text in batch.warnings)


def test_the_step_of_an_epoch_is_counted_on(tmp_path: Path) -> None:
    text = epoch(1) + steps((1, 2), of=2) + epoch(2) + steps((1, 2), of=2)
    batch = read(text, tmp_path)
    assert list(batch.tables["steps"]["step"]) == [1, 2, 3, 4]
    assert len(batch.tables["attempts"]) == 1


def test_a_restart_in_the_same_log_opens_an_attempt(tmp_path: Path) -> None:
    again = "".join(heading(n, 4) + block(f"{n / 5:.4f}", 30.0) for n in (2, 3))
    batch = read(steps((1, 2, 3), 4) + "Traceback (most recent call last):\n" + again, tmp_path)
    assert list(batch.tables["attempts"]["attempt"]) == [1, 2]
    assert batch.facts["step_seconds_sum"] == 3 * 20 + 2 * 30
    assert batch.facts["steps_count"] == 3


@pytest.mark.parametrize("prefix", [RAY, "\x1b[36m(main pid=9)\x1b[0m ", "[2026-03-04 05:06:07] ", "0: "])
def test_wrappers_change_nothing(prefix: str, tmp_path: Path) -> None:
    plain = read(steps((1, 2)), tmp_path).facts
    batch = read(wrapped(steps((1, 2)), prefix), tmp_path)
    for name in ("records", "step_last", "step_seconds_sum", "reward_mean", "mfu_mean", "tokens_total", GAP):
        assert batch.facts[name] == plain[name]


def stamped(text: str) -> str:
    """A second for every line."""
    return "".join(
        f"[2026-03-04 05:{n // 60:02d}:{n % 60:02d}] {line}\n" for n, line in enumerate(text.splitlines())
    )


def test_stamps_of_a_wrapper_need_a_zone(tmp_path: Path) -> None:
    text = stamped(steps((1, 2)))
    batch = read(text, tmp_path)
    assert batch.facts["time_first_epoch_s"] is None
    assert any("no time zone" in sentence for sentence in batch.warnings)
    placed = read(text, tmp_path, timezone="+02:00")
    assert placed.facts["time_first_epoch_s"] == 1772593200
    assert placed.timezone == "+02:00"
    assert placed.facts["span_s"] == batch.facts["span_s"] == len(text.splitlines()) - 1
    assert list(placed.tables["steps"]["elapsed_s"]) == list(batch.tables["steps"]["elapsed_s"])


def test_a_log_that_ends_in_a_traceback_has_failed(tmp_path: Path) -> None:
    crash = "Traceback (most recent call last):\n  File x\nValueError: no more memory\n"
    assert read(steps((1, 2)) + crash, tmp_path).tables["attempts"].iloc[0]["status"] == "failed"
    assert read(steps((1, 2)), tmp_path).tables["attempts"].iloc[0]["status"] == "unknown"
    assert read(steps((1,)) + crash + steps((2,)), tmp_path).tables["attempts"].iloc[0]["status"] == "unknown"


def test_lines_of_others_inside_a_block_are_no_metrics(tmp_path: Path) -> None:
    text = block().replace("  • generation", "(VllmWorker pid=3) INFO: done: 3.0s\n  • generation")
    batch = read(text, tmp_path)
    assert set(raw(batch, 1)) == set(raw(read(block(), tmp_path), 1))
    assert batch.set_aside == []


def test_validation_is_an_evaluation_outside_the_step(tmp_path: Path) -> None:
    text = validation(0, "0.2500") + heading(1, 9) + block() + heading(2, 9) + validation(2) + block()
    batch = read(text, tmp_path)
    evals = batch.tables["evals"]
    assert list(zip(evals["step"], evals["score"], strict=True)) == [(0, 0.25), (2, 0.5)]
    assert (batch.facts["records"], batch.stored) == (4, 4)
    assert batch.facts["phase_seconds[eval]"] == 15.0
    assert batch.facts["step_seconds_sum"] == 40.0
    assert batch.facts["eval_score[validation]"] == 0.5


def test_exposed_generation_means_an_asynchronous_run(tmp_path: Path) -> None:
    timers = {"policy_training": 8.0, "exposed_generation": 3.0, "weight_sync": 1.0}
    text = (
        "\n📊 Training Results:\n  • Loss: 0.0100\n  • Avg Reward: 0.5000\n  • Buffer Size: 64\n"
        "  • Avg Trajectory Age: 1.25 steps\n" + timing(14.0, timers)
    )
    batch = read(text, tmp_path)
    assert batch.tables["runs"].iloc[0]["mode"] == "async"
    assert batch.tables["steps"].iloc[0]["staleness"] == 1.25
    phases = batch.tables["step_phases"].set_index("phase")
    assert phases.loc["rollout", "kind"] == "wait"
    assert batch.facts["mfu_mean"] is None


def test_nan_is_missing_and_a_rounded_zero_is_said(tmp_path: Path) -> None:
    batch = read(results("0.0000", "nan") + timing(), tmp_path)
    assert batch.facts["missing_cells"] == 1
    assert "train/loss" not in raw(batch, 1)
    assert batch.facts["reward_mean"] == 0.0
    assert any("0.0000" in text and "train/reward" in text for text in batch.warnings)


@pytest.mark.parametrize("tail", ["  • generation: 6.0", "  • gener", "  • generation: 6", "  • generation:"])
def test_a_cut_last_line_is_dropped(tail: str, tmp_path: Path) -> None:
    head, _ = block().split("  • generation")
    batch = read(head + tail, tmp_path)
    assert batch.facts["partial_last_line"] == 1
    assert batch.facts["phase_seconds[rollout]"] is None
    assert batch.facts["phase_seconds[train]"] == 8.0
    assert any("cut" in text for text in batch.warnings)


def test_a_whole_last_line_without_newline_is_kept(tmp_path: Path) -> None:
    batch = read(block().rstrip("\n"), tmp_path)
    assert batch.facts["partial_last_line"] == 0
    assert batch.facts["mfu_mean"] == pytest.approx(0.2025)


def test_a_log_before_its_first_step_is_recognised_and_refused(tmp_path: Path) -> None:
    text = "Loaded from nemo_rl/config\n" + "▶ Generating responses for batch of size 64...\n" * 4
    source = spooled(text, tmp_path, "x.log")
    assert choose(source, Choices()).format == "nemo_rl_console"
    with pytest.raises(UnreadableFileError, match="no block of NeMo RL"):
        NemoRlConsoleReader().read(source, Choices(), tmp_path)


def test_a_missing_section_heading_renames_no_timer(tmp_path: Path) -> None:
    whole = raw(read(block(), tmp_path), 1)
    assert raw(read(block().replace("⏱️  Timing:\n", ""), tmp_path), 1) == whole
    assert raw(read(block().replace("🔍 Performance Metrics:\n", ""), tmp_path), 1) == whole


def test_a_block_without_its_heading_comes_after_the_one_before(tmp_path: Path) -> None:
    batch = read(steps((1, 2), 9) + block("0.9000") + steps((4,), 9), tmp_path)
    assert list(batch.tables["steps"]["step"]) == [1, 2, 3, 4]
    assert any("1 records print no step" in text for text in batch.warnings)


def test_a_block_for_which_there_is_no_room_is_raw_only(tmp_path: Path) -> None:
    batch = read(steps((1, 2), 9) + block("0.9000") + steps((3,), 9), tmp_path)
    assert list(batch.tables["steps"]["step"]) == [1, 2, 3]
    assert batch.facts["records"] == 4
    assert any("raw metrics only" in text for text in batch.warnings)


@pytest.mark.parametrize("cut", range(2, 8))
def test_a_percentage_cut_before_its_sign_is_dropped(cut: int, tmp_path: Path) -> None:
    text = heading(1, 9) + block()
    values = raw(read(text[: text.index("20.25%") + 7 - cut], tmp_path), 1)
    assert not [key for key in values if "utilization" in key]
