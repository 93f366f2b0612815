"""TRL console: dicts between redraws of a progress bar, whatever the printing of numbers."""

from pathlib import Path

import pytest

from data.errors import UnreadableFileError
from data.readers import choose, sniff_all
from data.readers.base import Batch, Choices
from data.readers.trl_console import TrlConsoleReader
from tests.data.verl_files import spooled


def bar(done: int, total: int = 40, elapsed: str = "00:10", per: str = "1.00s/it") -> str:
    return f"{100 * done // total:3d}%|██        | {done}/{total} [{elapsed}<10:00,  {per}]"


def record(n: int, form: str = "{}", **more: object) -> str:
    """A training dict with reward n / 10 and 1000 tokens a step since the start."""
    numbers: dict[str, object] = {
        "loss": n / 100,
        "grad_norm": 0.5,
        "learning_rate": 1e-06,
        "num_tokens": 1000.0 * n,
        "completions/mean_length": 80.0,
        "completions/clipped_ratio": 0.125,
        "rewards/exact/mean": n / 10,
        "reward": n / 10,
        "kl": None,
        "epoch": n / 40,
    } | more
    cells = [
        f"'{key}': {form.format(value) if isinstance(value, float) else value}"
        for key, value in numbers.items()
    ]
    return "{" + ", ".join(cells) + "}"


def log(*lines: str) -> str:
    return "\n".join(lines) + "\n"


def read(text: str, tmp_path: Path) -> Batch:
    return TrlConsoleReader().read(spooled(text, tmp_path, "trl.log"), Choices(), tmp_path)


def raw(batch: Batch) -> dict[tuple[int, str], float]:
    frame = batch.tables["metric_raw"].dropna(subset=["step"])
    return {(int(s), k): v for s, k, v in zip(frame["step"], frame["key"], frame["value"], strict=True)}


def test_the_bar_before_a_dict_names_its_step(tmp_path: Path) -> None:
    batch = read(
        log(
            bar(10, elapsed="01:29"),
            record(10),
            bar(20, elapsed="02:00"),
            record(20),
            bar(21, elapsed="02:05"),
        ),
        tmp_path,
    )
    facts = batch.facts
    assert (facts["records"], facts["step_first"], facts["step_last"], facts["steps_count"]) == (2, 10, 20, 2)
    assert facts["run_seconds"] == 125.0
    assert facts["tokens_total"] == 20_000.0
    assert (facts["reward_mean"], facts["reward_last"]) == (1.5, 2.0)
    assert list(batch.tables["steps"]["elapsed_s"]) == [89.0, 120.0]
    assert batch.tables["attempts"].iloc[0]["elapsed_basis"] == "progress_bar"
    assert facts["missing_cells"] == 2


@pytest.mark.parametrize(
    "glue", ["{bar}{dict}\n", "\r{bar}\r{dict}\n", "\r{bar}   {dict}{bar}\n", "{bar}\n\n   {dict}\n"]
)
def test_bars_may_be_glued_to_dicts(glue: str, tmp_path: Path) -> None:
    text = "".join(glue.format(bar=bar(n, elapsed=f"00:{n:02d}"), dict=record(n)) for n in (1, 2, 3))
    batch = read(text, tmp_path)
    assert list(batch.tables["steps"]["step"]) == [1, 2, 3]
    assert batch.facts["run_seconds"] == 3.0


@pytest.mark.parametrize("form", ["'{}'", "np.float64({})", "tensor({}, device='cuda:0')", "{:.6g}"])
def test_numbers_may_be_texts_or_reprs(form: str, tmp_path: Path) -> None:
    batch = read(log(bar(3), record(3, form)), tmp_path)
    assert raw(batch)[3, "reward"] == pytest.approx(0.3)
    assert raw(batch)[3, "learning_rate"] == pytest.approx(1e-06)
    assert batch.set_aside == []


@pytest.mark.parametrize("word", ["nan", "inf", "-inf", "None", "'nan'"])
def test_missing_words_are_missing(word: str, tmp_path: Path) -> None:
    batch = read(log(bar(3), record(3).replace("'reward': 0.3", f"'reward': {word}")), tmp_path)
    assert batch.facts["reward_last"] is None
    assert batch.facts["missing_cells"] == 2
    assert (3, "reward") not in raw(batch)


def test_a_text_is_no_metric_but_costs_no_record(tmp_path: Path) -> None:
    batch = read(log(bar(3), record(3, note="'warm, {up}'", sizes="[1, 2]")), tmp_path)
    assert [item.column for item in batch.set_aside] == ["note", "sizes"]
    assert (batch.records, batch.stored) == (1, 1)
    assert raw(batch)[3, "loss"] == 0.03


def test_bars_of_others_give_no_step(tmp_path: Path) -> None:
    batch = read(
        log(
            "Loading checkpoint shards: 100%|███| 4/4 [00:03<00:00,  1.2it/s]",
            "Map: 100%|███| 900/900 [00:01<00:00, 800 examples/s]",
            bar(5, elapsed="01:00"),
            record(5),
            " 50%|██   | 8/16 [00:30<00:30,  3.7s/it]",
            "100%|█████| 16/16 [01:00<00:00,  3.7s/it]",
            "{'eval_loss': 0.1, 'eval_reward': 0.75, 'eval_runtime': 60.0, 'epoch': 0.12}",
            bar(10, elapsed="04:00"),
            record(10),
        ),
        tmp_path,
    )
    assert list(batch.tables["steps"]["step"]) == [5, 10]
    assert batch.facts["run_seconds"] == 240.0
    evals = batch.tables["evals"]
    assert list(zip(evals["step"], evals["score"], strict=True)) == [(5, 0.75)]
    assert len(batch.tables["attempts"]) == 1


def test_the_summary_ends_the_run(tmp_path: Path) -> None:
    summary = "{'train_runtime': 100.5, 'total_flos': 0.0, 'train_loss': 0.1, 'epoch': 1.0}"
    batch = read(
        log(bar(39, elapsed="01:38"), record(39), bar(40, elapsed="01:40"), record(40), summary), tmp_path
    )
    attempt = batch.tables["attempts"].iloc[0]
    assert (attempt["status"], attempt["elapsed_s"]) == ("completed", 100.0)
    assert batch.facts["records"] == 3
    assert len(batch.tables["attempts"]) == 1


def test_a_step_timer_that_misses_most_of_the_clock_is_said(tmp_path: Path) -> None:
    lines = [
        text
        for n in range(1, 11)
        for text in (bar(n, elapsed=f"{n * 30 // 60:02d}:{n * 30 % 60:02d}"), record(n, step_time=7.5))
    ]
    batch = read(log(*lines), tmp_path)
    assert any(
        "step_time covers 25% of the wall clock (75.0 s of 300.0 s)" in text for text in batch.warnings
    )
    attempt = batch.tables["attempts"].iloc[0]
    assert (attempt["elapsed_s"], attempt["elapsed_basis"]) == (300.0, "progress_bar")
    honest = read(log(*[line.replace("7.5", "29.0") for line in lines]), tmp_path)
    assert not any("step_time covers" in text for text in honest.warnings)


def test_a_restart_opens_an_attempt_and_both_clocks_count(tmp_path: Path) -> None:
    first = [text for n in (1, 2, 3) for text in (bar(n, elapsed=f"00:{10 * n}"), record(n))]
    again = [
        bar(2, elapsed="00:00"),
        bar(3, elapsed="00:11"),
        record(3, loss=9.5, reward=0.9),
        bar(4, elapsed="00:22"),
        record(4),
    ]
    batch = read(log(*first, "Traceback (most recent call last):", "RuntimeError: gone", *again), tmp_path)
    attempts = batch.tables["attempts"]
    assert list(attempts["attempt"]) == [1, 2]
    assert list(attempts["elapsed_s"]) == [30.0, 22.0]
    assert batch.facts["run_seconds"] == 52.0


def test_equal_lines_of_several_ranks_count_once(tmp_path: Path) -> None:
    batch = read(log(bar(1), record(1), record(1), bar(2), record(2), record(2)), tmp_path)
    assert (batch.records, batch.stored, sum(batch.ignored.values())) == (4, 2, 2)
    assert batch.facts["tokens_total"] == 2000.0


def test_without_bars_the_records_are_numbered(tmp_path: Path) -> None:
    batch = read(log(record(10), record(20)), tmp_path)
    assert (batch.facts["step_first"], batch.facts["steps_count"]) == (None, 2)
    assert any("no step numbers" in text for text in batch.warnings)


def test_a_warning_with_nan_is_no_record(tmp_path: Path) -> None:
    batch = read(
        log(
            bar(1),
            record(1),
            bar(2) + "⚠️  Warning: Metric attention is NaN/Inf: nan",
            "config: {'loss_type': 'dapo'}",
        ),
        tmp_path,
    )
    assert (batch.records, batch.set_aside) == (1, [])


def test_a_cut_dict_at_the_end_is_dropped_and_a_damaged_one_kept_aside(tmp_path: Path) -> None:
    text = log(bar(1), record(1)[:60], bar(2), record(2), bar(3)) + record(3)[:-9]
    batch = read(text, tmp_path)
    assert batch.facts["partial_last_line"] == 1
    assert [(item.line, item.reason) for item in batch.set_aside] == [(2, "the dict breaks off")]
    assert (batch.records, batch.stored) == (2, 1)


def test_a_supervised_log_is_read_and_named(tmp_path: Path) -> None:
    text = log(bar(1), "{'loss': 1.5, 'grad_norm': 0.5, 'learning_rate': 1e-05, 'epoch': 0.1}")
    assert choose(spooled(text, tmp_path, "x"), Choices()).format == "trl_console"
    assert any("supervised" in text for text in read(text, tmp_path).warnings)


@pytest.mark.parametrize(
    "text",
    [
        "Global step 1: {'loss': 0.1, 'reward': 0.5}\n",
        "rollout.py:9 - perf 1: {'perf/rollout_time': 3.0, 'rollout/response_len/mean': 9}\n",
        '{"loss": 0.1, "reward": 0.5, "step": 1}\n{"loss": 0.1, "reward": 0.5, "step": 2}\n',
        '{\n  "log_history": [\n    {"loss": 0.1, "reward": 0.2, "step": 1}\n  ]\n}\n',
    ],
)
def test_dicts_of_others_are_left_alone(text: str, tmp_path: Path) -> None:
    judged = {reader.format: sniff.confidence for reader, sniff in sniff_all(spooled(text, tmp_path, "x"))}
    assert judged["trl_console"] < 0.3


def test_a_log_without_dicts_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFileError, match="no dict of a TRL trainer"):
        read(log(bar(1), "hello"), tmp_path)


def test_a_bar_that_lags_is_read_behind_its_dict(tmp_path: Path) -> None:
    text = f"\r{bar(0, elapsed='00:00')}"
    for n in (5, 10, 15):
        text += f"\r{' ' * 60}\r{record(n)}\n\r{bar(n, elapsed=f'00:{n:02d}')}"
    batch = read(text + "\n", tmp_path)
    assert list(batch.tables["steps"]["step"]) == [5, 10, 15]
    assert list(batch.tables["steps"]["elapsed_s"]) == [5.0, 10.0, 15.0]


def test_a_bar_that_stands_still_is_no_restart(tmp_path: Path) -> None:
    batch = read(log(bar(3), record(3), record(4), record(5), bar(6), record(6)), tmp_path)
    assert len(batch.tables["attempts"]) == 1
    assert list(batch.tables["steps"]["step"]) == [3, 4, 5, 6]
    assert any("2 records print no step" in text for text in batch.warnings)


def test_a_log_that_begins_late_counts_its_first_step(tmp_path: Path) -> None:
    batch = read("\n".join(bar(n) + record(n, step_time=10.0 + n) for n in (9, 10)), tmp_path)
    assert batch.facts["step_seconds_sum"] == 39.0
    assert batch.facts["steps_count"] == 2
