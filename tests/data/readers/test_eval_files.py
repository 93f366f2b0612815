"""Scores of evaluation harnesses: what is compared with what, and whose checkpoint it was."""

import json
from datetime import datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from data.errors import UnreadableFileError
from data.eval_batch import owner_of
from data.ingest import ingest_file
from data.parse.task_rows import find_fields, folded, passed_of
from data.readers.base import Batch, Choices, Reader
from data.readers.lm_eval import LmEvalResultsReader, LmEvalSamplesReader
from data.readers.openhands import OpenHandsReader, OpenHandsScoresReader
from data.readers.swe_bench import SweBenchReader, repository_of
from data.readers.task_results import TaskResultsReader
from tests.data.verl_files import spooled

READERS: tuple[Reader, ...] = (
    LmEvalResultsReader(),
    LmEvalSamplesReader(),
    OpenHandsReader(),
    OpenHandsScoresReader(),
    SweBenchReader(),
    TaskResultsReader(),
)
RESULTS = {
    "results": {
        "arith": {
            "alias": "arith",
            "exact_match,strict": 0.25,
            "exact_match_stderr,strict": 0.05,
            "exact_match,flexible": 0.5,
            "exact_match_stderr,flexible": "N/A",
        },
        "prose": {"alias": "prose", "word_perplexity,none": 9.5, "bleu,none": 31.0},
    },
    "configs": {"arith": {"test_split": "test", "num_fewshot": 5, "repeats": 1}, "prose": {}},
    "versions": {"arith": 3.0, "prose": 1},
    "n-shot": {"arith": 5, "prose": 0},
    "n-samples": {"arith": {"original": 200, "effective": 100}},
    "higher_is_better": {"prose": {"bleu": True}},
    "config": {
        "model": "hf",
        "model_args": "pretrained=lab/tiny-1b,dtype=bfloat16",
        "limit": 100,
        "random_seed": 7,
    },
    "lm_eval_version": "0.4.9",
    "date": 1767600000.5,
}
REPORT = {
    "total_instances": 5,
    "submitted_instances": 4,
    "completed_instances": 3,
    "resolved_instances": 2,
    "resolved_ids": ["a__b-1", "a__b-2"],
    "unresolved_ids": ["c__d-3"],
    "empty_patch_ids": ["c__d-4"],
    "error_ids": [],
    "incomplete_ids": ["e__f-5"],
    "schema_version": 2,
}


def read(
    reader: Reader, tmp_path: Path, data: object, name: str, choices: Choices | None = None, end: str = "\n"
) -> Batch:
    text = data if isinstance(data, str) else json.dumps(data)
    source = spooled(text + end, tmp_path, name)
    rivals = sorted((r.sniff(source).confidence for r in READERS), reverse=True)
    assert reader.sniff(source).confidence == rivals[0] > rivals[1] + 0.15
    return reader.read(source, choices or Choices(), tmp_path)


def lines(*items: object) -> str:
    return "\n".join(json.dumps(item) for item in items)


def test_harness_results_keep_filter_shots_and_limit_apart(tmp_path: Path) -> None:
    batch = read(LmEvalResultsReader(), tmp_path, RESULTS, "results_2026.json")
    evals = batch.tables["evals"].set_index("metric")
    assert evals["score"].to_dict() == {
        "exact_match (strict)": 0.25,
        "exact_match (flexible)": 0.5,
        "bleu": 31.0,
    }
    strict = evals.loc["exact_match (strict)"]
    assert (strict["stderr"], strict["n_tasks"], strict["seed"]) == (0.05, 100, 7)
    assert (strict["benchmark_version"], strict["split"]) == ("3.0", "test")
    assert (strict["harness"], strict["effort"]) == ("lm-evaluation-harness 0.4.9", "5-shot; limit=100")
    assert evals["stderr"].isna()["exact_match (flexible)"]
    assert evals.loc["bleu", "score_kind"] == "percent"
    assert strict["at"] == datetime(2026, 1, 5, 8, 0, 0, 500000)
    assert set(evals["checkpoint"]) == {"lab/tiny-1b"}
    assert any("word_perplexity" in text for text in batch.warnings)
    assert batch.facts["eval_score[arith]"] == 0.25
    assert (batch.records, batch.stored) == (1, 1)


def test_a_run_and_a_step_make_the_checkpoint(tmp_path: Path) -> None:
    moved = RESULTS | {"config": {"model_args": "pretrained=/data/ckpts/run-7/global_step_120/actor"}}
    free = read(LmEvalResultsReader(), tmp_path, moved, "r.json").tables["evals"].iloc[0]
    assert free["checkpoint"] == "run-7@120"
    tied = read(LmEvalResultsReader(), tmp_path, moved, "r.json", Choices(run="mine")).tables["evals"].iloc[0]
    assert (tied["checkpoint"], tied["run"], tied["step"]) == ("mine@120", "mine", 120)
    said = read(LmEvalResultsReader(), tmp_path, RESULTS, "r.json", Choices(run="mine", step=9))
    assert said.tables["evals"].iloc[0]["checkpoint"] == "mine@9"
    open_ = read(LmEvalResultsReader(), tmp_path, RESULTS, "r.json", Choices(run="mine"))
    assert open_.tables["evals"]["run"].isna().all()
    assert any("The step of mine that was evaluated is not known" in text for text in open_.warnings)


@pytest.mark.parametrize(
    ("model", "file", "checkpoint"),
    [
        ("lab/tiny-1b", "r.json", "lab/tiny-1b"),
        (None, "base_model.json", "base_model"),
        ("/mnt/x/checkpoint-50", "r.json", "x@50"),
        ("./out/final", "r.json", "out/final"),
    ],
)
def test_names_of_checkpoints(model: str | None, file: str, checkpoint: str, tmp_path: Path) -> None:
    assert owner_of(model, spooled("x\n", tmp_path, file), Choices()).checkpoint == checkpoint


def test_samples_of_the_harness(tmp_path: Path) -> None:
    common = {"doc": {}, "target": "1", "resps": [["1"]], "filtered_resps": ["1"], "metrics": ["exact_match"]}
    rows = [
        common | {"doc_id": 0, "filter": "strict", "exact_match": 1.0},
        common | {"doc_id": 0, "filter": "flexible", "exact_match": 1.0},
        common | {"doc_id": 1, "filter": "strict", "exact_match": 0.0},
        common | {"doc_id": 1, "filter": "flexible", "exact_match": 1.0},
    ]
    batch = read(LmEvalSamplesReader(), tmp_path, lines(*rows), "samples_arith_2026-01-05T08-00-00.5.jsonl")
    scores = batch.tables["evals"].set_index("metric")["score"].to_dict()
    assert scores == {"exact_match (strict)": 0.5, "exact_match (flexible)": 1.0}
    assert set(batch.tables["evals"]["benchmark"]) == {"arith"}
    assert len(batch.tables["eval_tasks"]) == 4
    assert (batch.records, batch.stored) == (4, 4)


def test_swe_bench_counts_what_was_not_submitted(tmp_path: Path) -> None:
    batch = read(SweBenchReader(), tmp_path, REPORT, "lab__tiny-1.5.night.json")
    row = batch.tables["evals"].iloc[0]
    assert (row["score"], row["n_tasks"], row["checkpoint"]) == (0.4, 5, "lab/tiny-1.5")
    tasks = batch.tables["eval_tasks"].set_index("task")
    assert tasks["passed"].to_dict() == {"a__b-1": 1, "a__b-2": 1, "c__d-3": 0, "c__d-4": 0, "e__f-5": 0}
    assert tasks.loc["c__d-3", "cluster"] == "c/d"
    assert set(batch.tables["eval_tasks"]["eval_id"]) == {row["eval_id"]}
    assert any("Only 4 of 5" in text for text in batch.warnings)


def test_a_report_that_contradicts_itself_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFileError, match="a__b-1 is listed as resolved and in error_ids"):
        read(SweBenchReader(), tmp_path, REPORT | {"error_ids": ["a__b-1"]}, "m.r.json")
    short = REPORT | {"resolved_instances": 3}
    batch = read(SweBenchReader(), tmp_path, short, "m.r.json")
    assert any("counts 3 resolved instances but lists 2" in text for text in batch.warnings)


def test_the_set_is_named_by_file_or_size(tmp_path: Path) -> None:
    ids = [f"a__b-{n}" for n in range(500)]
    full = {"total_instances": 500, "resolved_instances": 500, "resolved_ids": ids}
    batch = read(SweBenchReader(), tmp_path, full, "m.r.json")
    assert batch.tables["evals"]["benchmark"][0] == "SWE-bench Verified"
    assert any("does not name its set" in text for text in batch.warnings)
    named = read(SweBenchReader(), tmp_path, REPORT, "m.swe-bench_lite_1.json")
    assert named.tables["evals"]["benchmark"][0] == "SWE-bench Lite"


def test_reports_of_single_instances(tmp_path: Path) -> None:
    single = {"a__b-1": {"patch_is_None": False, "patch_exists": True, "resolved": True, "tests_status": {}}}
    batch = read(SweBenchReader(), tmp_path, single, "report.json")
    assert batch.facts["eval_score[SWE-bench]"] == 1.0
    assert repository_of("plain-task") is None


def test_openhands_instances(tmp_path: Path) -> None:
    meta = {
        "agent_class": "CodeActAgent",
        "llm_config": {"model": "lab/tiny"},
        "max_iterations": 50,
        "dataset": "SWE-bench_Verified",
        "data_split": "test",
    }
    cost = {"accumulated_cost": 0.5, "accumulated_token_usage": {"prompt_tokens": 9, "completion_tokens": 1}}
    base = {"metadata": meta, "metrics": cost}
    rows = [
        base | {"instance_id": "a__b-1", "test_result": {"git_patch": "", "report": {"resolved": True}}},
        base | {"instance_id": "a__b-2", "test_result": {"report": {"resolved": False}}},
        base | {"instance_id": "a__b-3", "test_result": {"git_patch": ""}},
    ]
    batch = read(OpenHandsReader(), tmp_path, lines(*rows), "output.jsonl")
    row = batch.tables["evals"].iloc[0]
    assert (row["score"], row["n_tasks"], row["usd"], row["tokens"]) == (0.5, 2, 1.0, 20)
    assert (row["harness"], row["effort"]) == ("OpenHands CodeActAgent", "max_iterations=50")
    assert [s.line for s in batch.set_aside] == [3]
    with pytest.raises(UnreadableFileError, match="not evaluated yet"):
        read(OpenHandsReader(), tmp_path, lines(rows[2]), "output.jsonl")


def test_openhands_scores(tmp_path: Path) -> None:
    listed = [
        {"benchmark": "swe-bench", "score": 45.1, "metric": "resolve_rate", "total_cost": 3.5},
        {"benchmark": "gaia", "score": None, "metric": "x"},
    ]
    batch = read(OpenHandsScoresReader(), tmp_path, listed, "scores.json")
    row = batch.tables["evals"].iloc[0]
    assert (row["score"], row["score_kind"], row["usd"]) == (45.1, "percent", 3.5)
    assert (batch.records, batch.stored, len(batch.set_aside)) == (2, 1, 1)


def test_results_by_task_as_csv(tmp_path: Path) -> None:
    text = (
        "task_id,model,trial,Passed,effort,cost\n"
        "t1,m,0,true,low,0.5\nt1,m,1,false,low,0.5\nt2,m,0,PASS,low,\nt2,m,0,true,low,\n"
        "t1,m,0,1,high,\nt3,m,0,maybe,high,\nt4,m,0,-1,high,\n"
    )
    batch = read(TaskResultsReader(), tmp_path, text, "math_2026-01-05.csv", end="")
    evals = batch.tables["evals"].set_index("effort")
    assert evals["score"].to_dict() == {"low": 0.75, "high": 1.0}
    assert evals["n_tasks"].to_dict() == {"low": 2, "high": 1}
    assert (evals.loc["low", "k"], evals.loc["low", "usd"]) == (2, 1.0)
    assert set(evals["benchmark"]) == {"math"}
    assert [(s.line, s.reason) for s in batch.set_aside] == [
        (7, "neither a number nor passed or failed"),
        (8, "a result outside 0..1"),
    ]
    assert batch.ignored == {"result of a repeat that was there before": 1}
    assert batch.mapped["trial"] == "eval_tasks.repeat"
    assert batch.facts["missing_cells"] == 5


def test_what_single_results_cost_is_read_or_said_to_be_missing(tmp_path: Path) -> None:
    text = "task_id,passed,cost_usd\na,1,$0.25\nb,0,0.5\nc,1,half a dollar\nd,1,-2\ne,0,\n"
    batch = read(TaskResultsReader(), tmp_path, text, "x.csv", end="")
    assert batch.stored == 5
    assert batch.tables["evals"]["usd"].tolist() == [0.75]
    assert [(one.line, one.column, one.text) for one in batch.set_aside] == [
        (4, "cost_usd", "half a dollar"),
        (5, "cost_usd", "-2"),
    ]
    said = "3 of 5 results have no dollars: the sum of an evaluation counts the others."
    assert said in batch.warnings


@pytest.mark.parametrize("shape", ["jsonl", "list", "object"])
def test_results_by_task_as_json(shape: str, tmp_path: Path) -> None:
    items: list[dict[str, object]] = [
        {"instance_id": "a__b-1", "resolved": True, "metrics": {"tokens": 7}},
        {"instance_id": "a__b-2", "resolved": False, "metrics": {"tokens": 5}},
    ]
    data: object = {
        "jsonl": lines(*items),
        "list": items,
        "object": {"model": "lab/tiny", "results": items},
    }[shape]
    batch = read(TaskResultsReader(), tmp_path, data, "swe.json")
    row = batch.tables["evals"].iloc[0]
    assert (row["score"], row["n_tasks"], row["tokens"]) == (0.5, 2, 12)
    assert row["checkpoint"] == ("lab/tiny" if shape == "object" else "swe")
    assert set(batch.tables["eval_tasks"]["cluster"]) == {"a/b"}


def test_a_cut_last_line_is_dropped_and_counted(tmp_path: Path) -> None:
    text = lines({"task_id": "1", "correct": 1}, {"task_id": "2", "correct": 0}) + '\n{"task_id": "3", "cor'
    batch = read(TaskResultsReader(), tmp_path, text, "x.jsonl", end="")
    assert (batch.records, batch.stored, batch.facts["partial_last_line"]) == (2, 2, 1)


def test_training_logs_are_not_taken(tmp_path: Path) -> None:
    for text in (
        "step,reward,task_id\n1,0.5,3\n",
        '{"step": 1, "loss": 0.2, "reward": 0.5, "id": 3}\n',
        "id,name,power\n1,a,2\n",
        '{"env": "py", "task_id": 3, "success": true, "cold_start_ms": 12}\n',
    ):
        assert TaskResultsReader().sniff(spooled(text, tmp_path)).confidence < 0.3, text


def test_scores_reach_the_run_they_belong_to(store, tmp_path: Path) -> None:
    steps = tmp_path / "steps.csv"
    steps.write_text("run,step,step_s\nmine,120,10\n", encoding="utf-8")
    ingest_file(store, steps)
    path = tmp_path / "r.json"
    moved = RESULTS | {"config": {"model_args": "pretrained=ckpts/mine/global_step_120"}}
    path.write_text(json.dumps(moved), encoding="utf-8")
    ingest_file(store, path)
    with store.view() as view:
        rows = view.rows("SELECT DISTINCT checkpoint, run, step FROM evals")
    assert rows == [("mine@120", "mine", 120)]


@given(st.floats(allow_nan=True, allow_infinity=True) | st.integers() | st.booleans() | st.text(max_size=8))
def test_a_result_is_a_share_or_a_reason(value: object) -> None:
    number, reason = passed_of(value)
    assert (number is None) == bool(reason)
    assert number is None or 0 <= number <= 1


def test_names_of_fields() -> None:
    assert [folded(n) for n in ("isCorrect", "Task ID", "pass@1")] == ["is_correct", "task_id", "pass@1"]
    assert find_fields(["Task ID", "isCorrect", "note"], {}) == {"task": "Task ID", "passed": "isCorrect"}
    assert find_fields(["q", "ok"], {"q": "task", "ok": "passed"}) == {"task": "q", "passed": "ok"}


def test_the_chosen_step_is_remembered(store, tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    path.write_text(json.dumps(RESULTS), encoding="utf-8")
    receipt = ingest_file(store, path, choices=Choices(run="mine", step=0))
    with store.view() as view:
        kept = json.loads(view.rows("SELECT choices FROM uploads")[0][0])
        rows = view.rows("SELECT DISTINCT checkpoint, step FROM evals")
    assert kept == {"run": "mine", "step": 0}
    assert rows == [("mine@0", 0)]
    assert receipt.runs == ("mine",)
    again = ingest_file(store, path, choices=Choices(run="mine", step=7))
    assert any("step 7, not 0" in text or "step 7" in text for text in again.warnings)
