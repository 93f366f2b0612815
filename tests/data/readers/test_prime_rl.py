"""prime-rl: metrics.jsonl of trainer and orchestrator, several objects a step, and the console."""

import json
from datetime import datetime
from pathlib import Path

import pytest

from data.errors import UnreadableFileError
from data.ingest import ingest_file
from data.readers.base import Batch, Choices
from data.readers.prime_rl_console import PrimeRlConsoleReader, seconds_of
from data.readers.prime_rl_metrics import PrimeRlMetricsReader, pool_of
from data.readers.registry import choose
from data.store import Store
from tests.data.verl_files import spooled

START = 1_767_600_000.0
"""2026-01-05T08:00:00Z"""


def trainer(steps: int = 3, start: float = START, first_s: float = 19.0) -> list[dict[str, float]]:
    """Five log calls a step; step 0 is the warm-up: rates of 0."""
    rows: list[dict[str, float]] = []
    at = start
    for step in range(steps):
        seconds = first_s if step == 0 else 9.0
        at += seconds
        rate = 0.0 if step == 0 else 12_000.0
        rows += [
            {"step": step, "time": at, "perf/throughput": rate, "perf/throughput_per_gpu": rate / 4,
             "perf/mfu": rate / 400, "perf/peak_memory": 61.5},
            {"step": step, "time": at + 0.1, "optim/lr": 1e-6, "optim/grad_norm": 0.2},
            {"step": step, "time": at + 0.2, "loss/mean": 0.01 * step},
            {"step": step, "time": at + 0.3, "time/step": seconds, "time/wait_for_batch": 2.0,
             "time/forward_backward": 5.0, "time/broadcast_weights": 1.5},
            {"step": step, "time": at + 0.4, "system/disk_free": 1e9},
        ]  # fmt: skip
    return rows


def orchestrator(steps: int = 3) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for step in range(steps):
        at = START + 8.0 * (step + 1)
        rows += [
            {"step": step, "time": at, "progress/tokens": 5000, "progress/input_tokens": 1000,
             "progress/output_tokens": 4000, "progress/rollouts": 16, "progress/tasks": 4,
             "time/step": 7.5, "off_policy/mean": 0.5, "train/agg/all/solver/reward/mean": 0.25 * step},
            {"step": step, "time": at + 2.0, "inference/agg/num_requests_running/mean": 3.0 + step},
            {"step": step, "time": at + 4.0, "inference/agg/num_requests_running/mean": 4.0 + step},
        ]  # fmt: skip
    return rows


def jsonl(rows: object) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)  # type: ignore[attr-defined]


def read(text: str, folder: Path) -> Batch:
    return PrimeRlMetricsReader().read(spooled(text, folder, "trial.jsonl"), Choices(), folder)


def console(text: str, folder: Path) -> Batch:
    return PrimeRlConsoleReader().read(spooled(text, folder), Choices(), folder)


def test_five_objects_of_a_step_are_one_step(tmp_path: Path) -> None:
    batch = read(jsonl(trainer()), tmp_path)
    facts = batch.facts
    assert (batch.records, batch.stored, facts["steps_count"]) == (15, 15, 3)
    assert facts["step_seconds_sum"] == 37.0
    assert facts["phase_seconds[train]"] == 15.0
    assert facts["phase_seconds[rollout]"] == 6.0
    assert facts["phase_seconds[weight_sync]"] == 4.5
    assert facts["unattributed_seconds"] == pytest.approx(37.0 - 15.0 - 6.0)
    assert facts["memory_peak_bytes"] == 61.5 * 2**30
    assert facts["gpu_count_inferred"] == 4.0
    assert set(batch.tables["steps"]["source"]) == {"prime_rl_metrics_jsonl:trainer"}
    assert set(batch.tables["step_phases"]["pool"]) == {"train"}


def test_a_warm_up_row_measured_nothing(tmp_path: Path) -> None:
    batch = read(jsonl(trainer()), tmp_path)
    steps = batch.tables["steps"].set_index("step")
    assert steps["mfu_frac"].isna().tolist() == [True, False, False]
    assert steps["throughput"].isna().tolist() == [True, False, False]
    assert batch.facts["mfu_mean"] == pytest.approx(0.30)


def test_epoch_stamps_place_the_run_in_time(tmp_path: Path) -> None:
    batch = read(jsonl(trainer()), tmp_path)
    attempt = batch.tables["attempts"].iloc[0]
    assert attempt["started_at"] == datetime(2026, 1, 5, 8, 0)
    assert attempt["elapsed_s"] == pytest.approx(37.4)
    assert attempt["elapsed_basis"] == "clock"
    assert batch.facts["time_first_epoch_s"] == START + 19.0
    assert batch.facts["span_s"] == pytest.approx(18.4)
    assert batch.facts["run_seconds"] == pytest.approx(37.4)


def test_the_orchestrator_counts_tokens_and_logs_engines_on_a_clock(tmp_path: Path) -> None:
    batch = read(jsonl(orchestrator()), tmp_path)
    facts = batch.facts
    assert (facts["tokens_total"], facts["tokens_generated"], facts["rollouts_total"]) == (15000, 12000, 48)
    assert (facts["reward_mean"], facts["reward_last"]) == (0.25, 0.5)
    assert set(batch.tables["steps"]["source"]) == {"prime_rl_metrics_jsonl:orchestrator"}
    raw = batch.tables["metric_raw"]
    engines = raw[raw["key"].str.startswith("inference/")]
    assert len(engines) == 6
    assert engines["step"].isna().all()
    assert set(engines["x_name"]) == {"time"}
    assert batch.tables["steps"]["staleness"].tolist() == [0.5] * 3


def test_keys_of_2025(tmp_path: Path) -> None:
    row = {"step": 4, "time": START, "progress/samples": 32, "progress/problems": 4, "time/step": 50.0,
           "time/generate_completions": 30.0, "time/wait_for_ckpt": 2.0, "reward/mean": 0.5,
           "completion_len/mean": 900.0, "batch/off_policy_level/mean": 1.0}  # fmt: skip
    facts = read(jsonl([row]), tmp_path).facts
    assert (facts["rollouts_total"], facts["reward_mean"]) == (32.0, 0.5)
    assert facts["phase_seconds[rollout]"] == 30.0
    assert facts["phase_seconds[weight_sync]"] is None, "the wait lies inside generate_completions"
    assert facts["unattributed_seconds"] == 20.0


def test_damage_is_counted(tmp_path: Path) -> None:
    text = jsonl(trainer(1)) + '{"time": 1}\nwords\n{"step": 0.5, "loss/mean": 1}\n' + '{"step": 1, "ti'
    batch = read(text, tmp_path)
    assert (batch.records, batch.stored, len(batch.set_aside)) == (8, 5, 3)
    assert batch.facts["partial_last_line"] == 1


def test_a_restart_in_the_same_file_is_an_attempt(tmp_path: Path) -> None:
    batch = read(jsonl([*trainer(3), *trainer(2, START + 600, first_s=21.0)]), tmp_path)
    assert batch.tables["attempts"]["attempt"].tolist() == [1, 2]
    assert batch.facts["step_seconds_sum"] == 37.0 + 30.0


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_both_files_make_one_attempt_of_one_run(order: tuple[int, int], tmp_path: Path, store: Store) -> None:
    texts = [jsonl(trainer()), jsonl(orchestrator())]
    for place in order:
        path = tmp_path / f"metrics-{place}.jsonl"
        path.write_text(texts[place])
        ingest_file(store, path, choices=Choices(run="joined"))
    with store.view() as view:
        assert view.rows("SELECT DISTINCT run, attempt FROM steps") == [("joined", 1)]
        rows = view.rows(
            "SELECT source, count(*), sum(step_s), sum(tok_gen) FROM steps GROUP BY source ORDER BY 1"
        )
        timers = view.rows("SELECT value FROM metric_raw WHERE key = 'time/step' AND step = 1 ORDER BY 1")
    assert rows == [
        ("prime_rl_metrics_jsonl:orchestrator", 3, 22.5, 12000.0),
        ("prime_rl_metrics_jsonl:trainer", 3, 37.0, None),
    ]
    assert timers == [(7.5,), (9.0,)]


def test_a_later_restart_does_not_join_an_old_attempt(tmp_path: Path, store: Store) -> None:
    (tmp_path / "a.jsonl").write_text(jsonl(trainer()))
    late = [row | {"time": float(str(row["time"])) + 86_400} for row in orchestrator()]
    (tmp_path / "b.jsonl").write_text(jsonl(late))
    for name in ("a.jsonl", "b.jsonl"):
        ingest_file(store, tmp_path / name, choices=Choices(run="joined"))
    with store.view() as view:
        assert view.rows("SELECT DISTINCT attempt FROM steps ORDER BY 1") == [(1,), (2,)]


TRAINER_LINES = (
    "\x1b[32m12:00:01\x1b[0m | \x1b[1mSUCCESS\x1b[0m | Step 0 |   18.9s | Loss 0.0010 | Entropy 0.3300 | "
    "Grad. Norm 0.1000 | LR 1.00e-06 | Throughput 0 tokens/s | MFU 0.0% | Peak Mem. 61.3 GiB\n"
    "12:00:02    INFO waiting for a batch\n"
    "12:00:10 SUCCESS Step 1 |    9.1s | Loss 0.0020 | Entropy 0.3200 | "
    "Grad. Norm 0.2000 | LR 1.00e-06 | Throughput 12345 tokens/s | MFU 31.2% | Peak Mem. 62.0 GiB\n"
)


def test_the_trainer_console(tmp_path: Path) -> None:
    batch = console(TRAINER_LINES, tmp_path)
    facts = batch.facts
    assert (facts["records"], facts["steps_count"], facts["step_first"]) == (2, 2, 0)
    assert facts["step_seconds_sum"] == pytest.approx(28.0)
    assert facts["mfu_mean"] == pytest.approx(0.312)
    assert facts["memory_peak_bytes"] == 62.0 * 2**30
    assert choose(spooled(TRAINER_LINES, tmp_path / "s"), Choices()).format == "prime_rl_console"


def test_both_processes_on_one_screen_are_no_restart(tmp_path: Path) -> None:
    text = "".join(
        f"Step {s} | Time: 7.50s | Reward: 0.{s}000 | Throughput: 80.0 tokens/s | "
        "Seq. Length: 900.0 tokens/sample\n"
        f"Step {s} | Time: 9.00s | Loss: 0.1000 | Entropy: 0.5000 | Throughput: 900 tokens/s | MFU: 3.0%\n"
        for s in (1, 2)
    )
    batch = console(text, tmp_path)
    assert batch.tables["attempts"]["attempt"].tolist() == [1]
    assert batch.facts["reward_last"] == 0.2
    assert batch.tables["steps"]["throughput"].dropna().tolist() == [900.0, 900.0]


def test_the_supervised_trainer_is_named(tmp_path: Path) -> None:
    text = (
        "Step 1 | 2.1s | Loss 1.2000 | LR 1.00e-05 | Throughput 900 tokens/s | MFU 3.0% | "
        "Peak Mem. 9.0/80.0 GiB (11.2%)\n"
    )
    batch = console(text, tmp_path)
    assert batch.tables["runs"].iloc[0]["algorithm"] == "sft"


def test_a_cut_last_line_is_dropped(tmp_path: Path) -> None:
    for cut in range(len(TRAINER_LINES) - 90, len(TRAINER_LINES) - 1):
        batch = console(TRAINER_LINES[:cut], tmp_path / str(cut))
        assert batch.facts["steps_count"] == 1, TRAINER_LINES[:cut][-40:]
        assert batch.facts["partial_last_line"] == 1
    assert console(TRAINER_LINES[:-1], tmp_path / "whole").facts["steps_count"] == 2


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("9.1s", 9.1),
        ("Time: 9.10s", 9.1),
        ("1m 30s", 90.0),
        ("2h5m", 7500.0),
        ("1.5min", 90.0),
        ("250ms", 0.25),
    ],
)
def test_durations(text: str, seconds: float) -> None:
    assert seconds_of(text) == pytest.approx(seconds)


def test_what_is_no_duration() -> None:
    assert seconds_of("Loss 0.1") is None
    assert seconds_of("12") is None


def test_keys_of_both_or_of_none_name_no_process() -> None:
    assert pool_of(["loss"]) is None
    assert pool_of(["time/forward_backward", "progress/rollouts"]) is None


@pytest.mark.parametrize("text", ["{}\n", '{"step": 1}\n', "words\n"])
def test_no_step_no_batch(text: str, tmp_path: Path) -> None:
    with pytest.raises(UnreadableFileError):
        read(text, tmp_path)
    with pytest.raises(UnreadableFileError):
        console(text, tmp_path / "c")


def test_a_number_with_a_stray_sign_inside_is_no_number(tmp_path: Path) -> None:
    batch = console(TRAINER_LINES.replace("MFU 31.2%", 'MFU 3"1.2%'), tmp_path)
    assert batch.tables["steps"].set_index("step")["mfu_frac"].isna().all()
