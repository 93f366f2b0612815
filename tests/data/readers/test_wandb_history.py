"""W&B run histories as CSV and JSON: columns in any order, sparse rows, samples, objects in cells."""

import json
from pathlib import Path

import pytest

from data.errors import UnreadableFileError
from data.facts import facts_of
from data.readers.base import Choices
from data.readers.registry import choose, sniff_all
from data.readers.wandb_history import WandbHistoryCsvReader
from tests.data.readers.flat_files import Records, clocked, history_csv, jsonl, load, phases, steps
from tests.data.verl_files import spooled

CORPUS = Path(__file__).parents[4] / "shared" / "corpus" / "rl" / "primerl_trainer_wandb_history_excerpt.csv"


def verl(*numbers: int) -> Records:
    return [
        {"training/global_step": n, "timing_s/step": 20.0, "timing_s/gen": 12.0,
         "perf/total_num_tokens": 6400, "perf/throughput": 40.0, "critic/rewards/mean": 0.5}
        for n in numbers
    ]  # fmt: skip


def test_sparse_rows_of_one_step_are_joined(tmp_path: Path) -> None:
    records = [
        {"_step": 1, "_runtime": 30.0, "_timestamp": 1_750_000_030.5, **verl(1)[0]},
        {"_step": 1, "_runtime": 31.0, "_timestamp": 1_750_000_031.5, "val-core/gsm8k/acc/mean@1": 0.5},
        {"_step": 2, "_runtime": 52.0, "_timestamp": 1_750_000_052.5, **verl(2)[0]},
    ]
    batch = load(history_csv(records), tmp_path, "my run.csv", expect="wandb_history_csv")
    assert batch.facts["run_names"] == "my run"
    assert (batch.records, batch.stored, batch.facts["steps_count"]) == (3, 3, 2)
    assert batch.facts["eval_score[gsm8k]"] == 0.5
    assert batch.facts["run_seconds"] == 52.0
    assert batch.facts["time_first_epoch_s"] == 1_750_000_030.5
    assert batch.facts["span_s"] == 22.0
    assert batch.facts["missing_cells"] == 1 + 6 + 1
    assert batch.facts["gpu_count_inferred"] == 8.0
    assert steps(batch)["elapsed_s"].tolist() == [31.0, 52.0]
    assert str(steps(batch)["ts"].iloc[1]) == "2025-06-15 15:07:32.500000"
    attempt = batch.tables["attempts"].iloc[0]
    assert (attempt["elapsed_s"], attempt["elapsed_basis"]) == (52.0, "progress_bar")
    assert str(attempt["started_at"]) == "2025-06-15 15:06:40.500000"
    assert "_runtime" not in set(batch.tables["metric_raw"]["key"])


def test_step_counter_of_the_trainer_wins_over_the_log_counter(tmp_path: Path) -> None:
    records = [
        {"_step": 18 * n, "_runtime": 30.0 * n, "train/global_step": n, "train/num_tokens": 100 * n,
         "train/step_time": 7.0, "train/completions/mean_length": 50.0, "train/reward": 1.0}
        for n in (1, 2, 3)
    ]  # fmt: skip
    batch = load(history_csv(records), tmp_path)
    assert steps(batch)["step"].tolist() == [1, 2, 3]
    assert any("numbers log calls" in text for text in batch.warnings)
    assert not any("sample" in text for text in batch.warnings)


def test_a_sample_is_said_to_be_one(tmp_path: Path) -> None:
    records = clocked(verl(1, 2, 5, 6), step_s=1.0)
    for record in records:
        record["_step"] = record["training/global_step"]
    batch = load(history_csv(records), tmp_path)
    assert any("2 log calls are missing" in text and "sample" in text for text in batch.warnings)


def test_rows_out_of_order_are_put_in_the_order_of_the_log(tmp_path: Path) -> None:
    records = clocked(verl(1, 2, 3), offset=1)
    batch = load(history_csv([records[2], records[0], records[1]]), tmp_path)
    assert len(batch.tables["attempts"]) == 1


def test_objects_texts_and_booleans_in_cells(tmp_path: Path) -> None:
    records = clocked(verl(1, 2), offset=1)
    records[0] |= {"table": '{"_type": "table-file", "path": "x"}', "note": "hello", "flag": "True"}
    records[1] |= {"flag": "False", "critic/rewards/mean": "NaN"}
    batch = load(history_csv(records), tmp_path)
    assert any("2 cells hold texts or objects" in text and "table (1)" in text for text in batch.warnings)
    raw = batch.tables["metric_raw"].set_index(["key", "step"])["value"]
    assert (raw["flag", 1], raw["flag", 2]) == (1.0, 0.0)
    assert batch.facts["reward_mean"] == 0.5
    assert batch.stored == 2


def test_histograms_of_lengths_are_kept(tmp_path: Path) -> None:
    packed = {"_type": "histogram", "packedBins": {"min": 0, "size": 50, "count": 3}, "values": [4, 0, 6]}
    plain = {"_type": "histogram", "bins": [10, 20, 40], "values": [1, 2]}
    base = {"val/num_step_tokens": 70.0, "time/getting_response": 2.0, "time/total": 9.0}
    records = [
        {"training_step": 1, **base, "batch/response_lengths": packed},
        {"training_step": 2, **base, "batch/response_lengths": plain},
    ]
    batch = load(jsonl(clocked(records, offset=1)), tmp_path, "run.jsonl", expect="wandb_history_json")
    found = batch.tables["length_hist"][["step", "bucket_low", "bucket_high", "n"]].to_numpy().tolist()
    assert found == [[1, 0, 50, 4], [1, 100, 150, 6], [2, 10, 20, 1], [2, 20, 40, 2]]


def test_several_runs_in_one_file(tmp_path: Path) -> None:
    records = [{"run_name": name, **r} for name in ("a", "b") for r in clocked(verl(1, 2), offset=1)]
    batch = load(history_csv(records), tmp_path)
    assert batch.names_runs
    assert (batch.facts["runs"], batch.facts["run_names"]) == (2, "a;b")
    assert batch.facts["step_seconds_sum"] == 80.0
    assert batch.facts["gpu_count_inferred"] is None
    assert sorted(batch.tables["attempts"]["run"]) == ["a", "b"]


def as_list(records: Records) -> str:
    return json.dumps(records, indent=1)


def as_columns(records: Records) -> str:
    names = {key for record in records for key in record}
    return json.dumps({k: {str(i): r.get(k) for i, r in enumerate(records)} for k in sorted(names)})


def as_lists(records: Records) -> str:
    names = {key for record in records for key in record}
    return json.dumps({k: [r.get(k) for r in records] for k in sorted(names)})


@pytest.mark.parametrize("write", [jsonl, as_list, as_columns, as_lists])
def test_json_forms_say_the_same(write: object, tmp_path: Path) -> None:
    assert callable(write)
    text = write(clocked(verl(1, 2, 3), offset=1))
    batch = load(text, tmp_path, "history.json", expect="wandb_history_json")
    assert batch.facts["step_seconds_sum"] == 60.0
    assert batch.facts["tokens_total"] == 19_200.0
    assert phases(batch) == {"rollout": (36.0, "wall")}
    assert (batch.records, batch.stored) == (3, 3)


def test_a_cut_line_and_damage_are_counted(tmp_path: Path) -> None:
    lines = jsonl(clocked(verl(1, 2, 3), offset=1)).splitlines()
    text = "\n".join([lines[0], "{broken}", lines[1], lines[2][:40]])
    batch = load(text, tmp_path, "history.jsonl")
    assert batch.facts["partial_last_line"] == 1
    assert (batch.records, batch.stored, len(batch.set_aside)) == (3, 2, 1)


def test_things_that_are_no_objects_are_set_aside(tmp_path: Path) -> None:
    text = json.dumps([*clocked(verl(1, 2), offset=1), 7])
    batch = load(text, tmp_path, "history.json")
    assert (batch.records, batch.stored, [s.reason for s in batch.set_aside]) == (3, 2, ["not an object"])


def test_csv_quirks(tmp_path: Path) -> None:
    header, *body = history_csv(clocked(verl(1, 2), offset=1)).splitlines()
    text = "\ufeff" + "\n".join([header, body[0], header, body[1] + ",7", body[1], body[1][:12]])
    batch = load(text, tmp_path)
    assert batch.facts["header_repeated"] == 1
    assert batch.facts["ragged_rows"] == 1
    assert batch.facts["partial_last_line"] == 1
    assert (batch.records, batch.stored, len(batch.set_aside)) == (3, 2, 1)


@pytest.mark.parametrize("runtime", [-5.0, 1e21])
def test_a_run_time_that_no_run_has_is_set_aside(runtime: float, tmp_path: Path) -> None:
    records = clocked(verl(1, 2), offset=1)
    records[0]["_runtime"] = runtime
    batch = load(history_csv(records), tmp_path)
    assert [(s.line, s.column) for s in batch.set_aside] == [(2, "_runtime")]
    assert batch.facts["run_seconds"] == 25.0
    assert batch.stored == 2


@pytest.mark.parametrize(("unit", "told"), [(1, False), (1000, True)])
def test_a_clock_that_outruns_its_stamps_is_told(unit: int, told: bool, tmp_path: Path) -> None:
    rows = [
        {
            "_step": n,
            "_runtime": 100 * n * unit,
            "_timestamp": 1767225600 + 100 * n,
            "perf/time_per_step": 9.0,
        }
        for n in range(1, 4)
    ]
    said = "_runtime of run advances by 200,000 s while _timestamp advances by 200 s"
    assert any(said in text for text in load(history_csv(rows), tmp_path).warnings) == told


def test_the_gap_before_a_resumption_is_no_contradiction(tmp_path: Path) -> None:
    rows = [
        {"_step": n, "_runtime": 100 * n, "_timestamp": 1767225600 + 100 * n + (90_000 if n > 2 else 0),
         "perf/time_per_step": 9.0}
        for n in range(1, 5)
    ]  # fmt: skip
    assert not any("_runtime of" in text for text in load(history_csv(rows), tmp_path).warnings)


def test_numbers_beyond_a_double_are_missing(tmp_path: Path) -> None:
    records = clocked(verl(1, 2), offset=1)
    records[0]["critic/rewards/mean"] = 10**400
    batch = load(jsonl(records), tmp_path, "h.jsonl", expect="wandb_history_json")
    assert batch.facts["reward_mean"] == 0.5
    assert batch.facts["missing_cells"] == 1


def test_a_history_without_numbers_is_refused(tmp_path: Path) -> None:
    source = spooled("_step,_runtime,note\n1,2,hello\n", tmp_path, "h.csv")
    with pytest.raises(UnreadableFileError, match="No record"):
        WandbHistoryCsvReader().read(source, Choices(), tmp_path)


@pytest.mark.parametrize(
    "header",
    [
        "Step,a - _step,a - _step__MIN", "_step,system.gpu.0.gpu,_runtime", "timestamp,latency_ms,status",
        "_step,_runtime,_timestamp", "step,loss",
    ],
)  # fmt: skip
def test_other_tables_are_left_alone(header: str, tmp_path: Path) -> None:
    values = ",".join("1" for _ in header.split(","))
    source = spooled(f"{header}\n{values}\n", tmp_path, "x.csv")
    judged = {reader.format: sniff.confidence for reader, sniff in sniff_all(source)}
    assert judged["wandb_history_csv"] < 0.3


def test_tinker_through_wandb_is_a_history(tmp_path: Path) -> None:
    records = [
        {"step": n, "time/total": 9.0, "env/all/total_ac_tokens": 5, "env/all/total_ob_tokens": 7,
         "env/all/reward/total": 0.5, "env/all/total_episodes": 4}
        for n in (0, 1)
    ]  # fmt: skip
    assert (
        choose(spooled(jsonl(clocked(records)), tmp_path, "h.jsonl"), Choices()).format
        == "wandb_history_json"
    )


@pytest.mark.skipif(not CORPUS.is_file(), reason="the sample files are not here")
def test_prime_rl_excerpt() -> None:
    facts = facts_of(CORPUS, timezone="UTC")["facts"]
    assert facts["format"] == "wandb_history_csv"
    assert facts["gpu_count_inferred"] == 4.0
    assert facts["phase_seconds[weight_sync]"] == pytest.approx(1.5998737812)
    assert facts["mfu_mean"] == pytest.approx(0.0511655526)
