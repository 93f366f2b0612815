"""MLflow run folders: metric files, names of keys, clocks, restarts, what params and tags tell."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from data.arrival.bundle import pack
from data.errors import UnreadableFileError
from data.ingest_files import ingest_files
from data.readers import choose
from data.readers.base import Batch, Choices
from data.store import Store
from tests.examples import some

T0 = 1_700_000_000_000
META = f"""artifact_uri: file:///tmp/x
end_time: {T0 + 100_000}
experiment_id: '0'
lifecycle_stage: active
run_id: 0123456789abcdef
run_name: 'it''s grpo'
start_time: {T0}
status: 3
tags: []
"""


def metric(*points: tuple[int, float | str, int]) -> str:
    return "".join(f"{T0 + 1_000 * seconds} {value} {step}\n" for seconds, value, step in points)


def run_files(**changed: str) -> dict[str, str]:
    files = {
        "meta.yaml": META,
        "metrics/timing_s/step": metric((20, 9.5, 1), (30, 9.5, 2), (40, 9.5, 3)),
        "metrics/timing_s/gen": metric((20, 4.0, 1), (30, 4.0, 2), (40, 4.0, 3)),
        "metrics/critic/rewards/mean": metric((20, 0.25, 1), (30, "nan", 2), (40, 0.75, 3)),
        "metrics/val-core/openai/gsm8k/acc/mean_at_1": metric((41, 0.5, 3)),
        "params/actor_rollout_ref/model/path": "Qwen/Qwen3-8B",
        "params/trainer/nnodes": "2",
        "params/trainer/n_gpus_per_node": "8",
        "params/algorithm/adv_estimator": "grpo",
        "tags/mlflow.user": "somebody",
    }
    return {name: text for name, text in (files | changed).items() if text}


def lay(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def read(tmp_path: Path, files: dict[str, str], name: str = "mlruns/0/0123/") -> Batch:
    folder = lay(tmp_path / "run", files)
    source = pack({n: folder / n for n in files}, name, tmp_path)
    (tmp_path / "scratch").mkdir(exist_ok=True)
    batch = choose(source, Choices()).read(source, Choices(), tmp_path / "scratch")
    batch.reconcile()
    return batch


def test_a_run_of_verl(tmp_path: Path) -> None:
    batch = read(tmp_path, run_files())
    assert (batch.format, batch.records, batch.stored) == ("mlflow_run", 10, 10)
    steps = batch.tables["steps"]
    assert list(steps["step_s"]) == [9.5] * 3 and list(steps["elapsed_s"]) == [20.0, 30.0, 41.0]
    assert steps["ts"].iloc[0].isoformat() == "2023-11-14T22:13:40"
    assert steps["reward_mean"].isna().tolist() == [False, True, False]
    assert batch.tables["step_phases"]["seconds"].tolist() == [4.0] * 3
    (run,) = batch.tables["runs"].to_dict("records")
    assert (run["run"], run["framework"], run["algorithm"]) == ("it's grpo", "verl", "grpo")
    (attempt,) = batch.tables["attempts"].to_dict("records")
    assert (attempt["status"], attempt["elapsed_s"], attempt["elapsed_basis"]) == (
        "completed",
        100.0,
        "clock",
    )
    assert attempt["ended_at"].isoformat() == "2023-11-14T22:15:00"
    assert batch.facts["missing_cells"] == 1 and batch.names_runs


def test_the_at_sign_of_an_evaluation_comes_back(tmp_path: Path) -> None:
    (found,) = read(tmp_path, run_files()).tables["evals"].to_dict("records")
    assert (found["score"], found["step"], found["k"]) == (0.5, 3, 1)
    assert "gsm8k" in found["benchmark"]


def test_params_become_proposals(tmp_path: Path) -> None:
    batch = read(tmp_path, run_files())
    found = {item.field: item.value for item in batch.proposals}
    assert (found["gpus"], found["algorithm"]) == (16, "grpo")
    assert found["llm"] == "qwen3-8b"


def test_a_restart_repeats_steps_and_opens_an_attempt(tmp_path: Path) -> None:
    again = ((20, 9.5, 1), (30, 9.5, 2), (40, 9.5, 3), (90, 8.0, 2), (99, 8.0, 3))
    batch = read(
        tmp_path,
        run_files(**{"metrics/timing_s/step": metric(*again), "metrics/critic/rewards/mean": ""}),
    )
    steps = batch.tables["steps"]
    assert list(zip(steps["attempt"], steps["step"], strict=True)) == [(1, 1), (1, 2), (1, 3), (2, 2), (2, 3)]


def test_lines_that_are_no_points_are_set_aside_and_a_cut_one_is_dropped(tmp_path: Path) -> None:
    damaged = metric((20, 1.0, 1)) + "words\n1 2 three\n\n" + metric((30, 2.0, 2))[:-3]
    batch = read(tmp_path, run_files(**{"metrics/loss": damaged}))
    assert [(item.line, item.text) for item in batch.set_aside] == [(2, "words"), (3, "1 2 three")]
    assert batch.facts["partial_last_line"] == 1 and batch.records == 13
    assert any("metrics/loss" in text for text in batch.warnings)


def test_old_lines_without_step_and_new_ones_with_a_data_set(tmp_path: Path) -> None:
    old, new = f"{T0} 1.5\n", f"{T0} 2.5 7 gsm8k abc123 0123456789abcdef\n"
    batch = read(tmp_path, {"meta.yaml": META, "metrics/a": old, "metrics/b": new})
    raw = batch.tables["metric_raw"]
    assert dict(zip(raw["key"], zip(raw["step"], raw["value"], strict=True), strict=True)) == {
        "a": (0, 1.5),
        "b": (7, 2.5),
    }


def test_the_system_monitor_becomes_gpu_samples(tmp_path: Path) -> None:
    system = {
        "metrics/system/gpu_1_utilization_percentage": metric((0, 50, 0), (10, 70, 1), (20, 60, 2)),
        "metrics/system/gpu_1_memory_usage_megabytes": metric((0, 1000, 0), (10, 2000, 1), (20, 1000, 2)),
        "metrics/system/cpu_utilization_percentage": metric((0, 10, 0), (10, 10, 1), (20, 10, 2)),
    }
    batch = read(tmp_path, run_files(**system))
    assert batch.facts["util_mean_by_row[gpu_util]"] == pytest.approx(0.6)
    assert batch.facts["memory_peak_bytes"] == 2e9
    assert list(batch.tables["steps"]["step"]) == [1, 2, 3] and set(batch.tables["steps"]["attempt"]) == {1}


def test_folders_that_are_no_runs(tmp_path: Path) -> None:
    for number, files in enumerate(
        (
            {"meta.yaml": "experiment_id: '0'\n", "metrics/a": metric((1, 1, 1))},
            {"meta.yaml": META, "params/a": "1"},
            {"meta.yaml": META, "metrics/a": "just words\n"},
        )
    ):
        with pytest.raises(UnreadableFileError):
            read(tmp_path / str(number), files)


def test_a_whole_tree_is_one_upload_a_run(store: Store, tmp_path: Path) -> None:
    tree = {"0/meta.yaml": "experiment_id: '0'\nname: Default\n"}
    for name in ("aaa", "bbb"):
        meta = META.replace("it''s grpo", f"run {name}")
        reward = metric((20, 0.5, 1), (30, 0.25 if name == "aaa" else 0.5, 2))
        files = run_files(**{"meta.yaml": meta, "metrics/critic/rewards/mean": reward})
        tree |= {f"0/{name}/{member}": text for member, text in files.items()}
    tree["0/aaa/artifacts/notes.md"] = "words\n"
    tree["0/aaa/params/unset"] = ""
    intake = ingest_files(store, lay(tmp_path / "mlruns", tree))
    assert [(r.file, r.runs) for r in intake.receipts] == [
        ("mlruns/0/aaa/", ("run aaa",)),
        ("mlruns/0/bbb/", ("run bbb",)),
    ]
    assert {item.name for item in intake.passed_over} == {
        "mlruns/0/aaa/artifacts/notes.md",
        "mlruns/0/meta.yaml",
    }


@settings(max_examples=some(20), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(alphabet="0123456789 .-enaif\n\r\t", max_size=60))
def test_any_text_in_a_metric_file_is_accounted_for(
    tmp_path_factory: pytest.TempPathFactory, text: str
) -> None:
    batch = read(tmp_path_factory.mktemp("m"), run_files(**{"metrics/zzz": text}))
    assert batch.facts["step_seconds_sum"] == 28.5
