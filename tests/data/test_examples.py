"""The example must be physically possible and say of itself that it is made up.

Every identity is derived from the written files alone; machine limits come from the catalogue.
"""

import hashlib
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from data.catalogue import load_catalogue
from data.examples.write import MANIFEST, write_example

RUNS = ("h100-sync", "gb200-sync", "gb200-async")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("example")
    write_example(place)
    return place


def _read(folder: Path, name: str) -> pd.DataFrame:
    return pd.read_csv(folder / f"example_{name}.csv")


def _of(folder: Path, name: str, run: str) -> pd.DataFrame:
    """Rows of one run, without the columns that are blank for it."""
    frame = _read(folder, name)
    return frame[frame["run"] == run].dropna(axis="columns", how="all").reset_index(drop=True)


def _verl(folder: Path) -> pd.DataFrame:
    lines = (folder / "example_gb200-sync_verl.jsonl").read_text().splitlines()
    return pd.DataFrame([json.loads(line)["data"] for line in lines])


def _smi(folder: Path) -> pd.DataFrame:
    frames = [pd.read_csv(p, skipinitialspace=True) for p in sorted(folder.glob("*_nvidia_smi.csv"))]
    return pd.concat(frames, ignore_index=True)


def _number(column: pd.Series) -> pd.Series:
    return column.str.split().str[0].astype(float)


def _fact(platform: str, field: str) -> float:
    fact = load_catalogue().fact(platform, field)
    assert fact is not None
    return float(fact.value)


def _digest(folder: Path) -> dict[str, str]:
    return {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in sorted(folder.iterdir())}


@pytest.mark.full
def test_equal_seeds_give_equal_bytes_and_other_seeds_do_not(folder: Path, tmp_path: Path) -> None:
    again, other = tmp_path / "again", tmp_path / "other"
    write_example(again)
    write_example(other, seed=7)
    assert _digest(again) == _digest(folder)
    assert not set(_digest(other).values()) & set(_digest(folder).values())


def test_files_stay_small_and_say_that_they_are_synthetic(folder: Path) -> None:
    assert sum(p.stat().st_size for p in folder.iterdir()) < 6_000_000
    manifest = json.loads((folder / MANIFEST).read_text())
    assert manifest["synthetic"] is True
    assert {f["file"] for f in manifest["files"]} | {MANIFEST} == {p.name for p in folder.iterdir()}
    assert all("example" in f["file"] for f in manifest["files"])
    assert _read(folder, "runs")["note"].str.contains("synthetic").all()


def test_three_runs_two_platforms_one_failed_and_resumed_one_async(folder: Path) -> None:
    runs = _read(folder, "runs")
    assert tuple(runs["run"].unique()) == RUNS
    assert runs["campaign"].nunique() == 1
    gpus = runs[runs["role"] != "sandbox"]
    assert set(gpus["platform"]) == {"h100-sxm", "gb200-nvl72"}
    failed = runs[runs["status"] == "failed"]
    assert set(failed["run"]) == {"h100-sync"}
    second = runs[(runs["run"] == "h100-sync") & (runs["attempt"] == 2)].iloc[0]
    assert second["resumed_from_step"] == failed["last_checkpoint_step"].iloc[0] == 120
    assert second["started_at"] > failed["ended_at"].iloc[0]
    assert set(gpus[gpus["run"] == "gb200-async"]["role"]) == {"train", "rollout"}
    assert (runs[runs["role"] == "sandbox"]["cores"] > 0).all()


@pytest.mark.parametrize("run", ["h100-sync", "gb200-async"])
def test_tokens_are_rollouts_times_lengths_and_throughput_times_gpus_and_time(folder: Path, run: str) -> None:
    steps = _of(folder, "steps", run)
    runs = _read(folder, "runs")
    gpus = runs[(runs["run"] == run) & (runs["attempt"] == 1) & (runs["role"] != "sandbox")]["gpus"].sum()
    np.testing.assert_allclose(steps["tok_gen"], steps["rollouts"] * steps["len_mean"], rtol=2e-6)
    assert (steps["tok_total"] == steps["tok_prompt"] + steps["tok_gen"]).all()
    assert (steps["tok_trained"] <= steps["tok_total"]).all()
    assert (steps["tok_cached"] < steps["tok_prompt"]).all()
    np.testing.assert_allclose(steps["throughput"] * gpus * steps["step_s"], steps["tok_total"], rtol=1e-4)
    assert (steps["len_p50"] <= steps["len_mean"]).all()
    assert (steps["len_mean"] < steps["len_p95"]).all()
    assert (steps["len_p95"] <= steps["len_max"]).all()
    assert ((steps["truncated_frac"] > 0) == (steps["len_max"] == 8192)).all()


def test_the_verl_log_keeps_the_same_identities(folder: Path) -> None:
    verl, counts = _verl(folder), _of(folder, "steps", "gb200-sync")
    lengths = verl["prompt_length/mean"] + verl["response_length/mean"]
    np.testing.assert_allclose(verl["perf/total_num_tokens"], counts["rollouts"] * lengths, rtol=1e-9)
    np.testing.assert_allclose(
        verl["perf/throughput"] * 32 * verl["timing_s/step"], verl["perf/total_num_tokens"], rtol=1e-4
    )
    timers = [c for c in verl if c.startswith("timing_s/") and c != "timing_s/step"]
    inside = verl[timers].fillna(0).sum(axis=1)
    assert (inside <= verl["timing_s/step"]).all()
    assert (inside > 0.9 * verl["timing_s/step"]).all()
    np.testing.assert_allclose(verl["critic/rewards/mean"], counts["correct"] / counts["rollouts"], atol=1e-6)


@pytest.mark.parametrize("run", ["h100-sync", "gb200-async"])
def test_no_pool_works_longer_than_the_step(folder: Path, run: str) -> None:
    steps = _of(folder, "steps", run).set_index(["attempt", "step"])["step_s"]
    phases = _of(folder, "step_phases", run)
    clock = phases[phases["kind"].isin(["wall", "exposed", "wait"])]
    spent = clock.groupby(["attempt", "step", "pool"])["seconds"].sum().reset_index("pool")
    share = spent["seconds"] / steps.reindex(spent.index)
    assert (share <= 1.0).all()
    assert (share > 0.9).all()
    assert (phases["seconds"] > 0).all()


@pytest.mark.parametrize("run", RUNS)
def test_the_clock_only_runs_forward_and_inside_the_attempt(folder: Path, run: str) -> None:
    steps, runs = _of(folder, "steps", run), _read(folder, "runs")
    for attempt, rows in steps.groupby("attempt"):
        spans = runs[(runs["run"] == run) & (runs["attempt"] == attempt)].iloc[0]
        stamps = pd.to_datetime(rows["ts"])
        assert stamps.is_monotonic_increasing
        assert pd.Timestamp(spans["started_at"]) < stamps.min()
        assert stamps.max() < pd.Timestamp(spans["ended_at"])
        assert rows["step"].diff().dropna().eq(1).all()


@pytest.mark.parametrize("run", RUNS)
def test_group_counts_fit_the_reward(folder: Path, run: str) -> None:
    steps = _of(folder, "steps", run)
    size = steps["rollouts"] / steps["groups"]
    assert (size == 16).all()
    assert (steps["correct"] >= steps["groups_all_right"] * size).all()
    assert (steps["correct"] <= steps["rollouts"] - steps["groups_all_wrong"] * size).all()
    assert steps["correct"].tail(20).mean() > 1.5 * steps["correct"].head(20).mean()
    if "reward_mean" in steps:
        np.testing.assert_allclose(steps["reward_mean"], steps["correct"] / steps["rollouts"], atol=1e-6)


def test_the_exported_reward_is_the_share_of_correct_rollouts(folder: Path) -> None:
    chart = pd.read_csv(folder / "example_gb200-async_reward_wandb.csv")
    steps = _of(folder, "steps", "gb200-async")
    assert "reward_mean" not in steps
    value = chart["gb200-async - critic/rewards/mean"]
    np.testing.assert_allclose(value, steps["correct"] / steps["rollouts"], atol=1e-6)


def test_mfu_follows_from_tokens_and_train_seconds(folder: Path) -> None:
    params = load_catalogue().llm("qwen2.5-32b").params_total_b * 1e9
    for run, gpus, platform in (("h100-sync", 64, "h100-sxm"), ("gb200-async", 20, "gb200-nvl72")):
        steps = _of(folder, "steps", run).set_index(["attempt", "step"])
        phases = _of(folder, "step_phases", run)
        train = phases[(phases["phase"] == "train") & (phases["kind"] == "wall")].set_index(
            ["attempt", "step"]
        )
        peak = _fact(platform, "bf16_dense_tflops") * 1e12
        expected = 6 * params * steps["tok_trained"] / (train["seconds"] * gpus * peak)
        np.testing.assert_allclose(steps["mfu_frac"], expected.reindex(steps.index), atol=2e-4)
        assert steps["mfu_frac"].between(0.2, 0.5).all()


def test_memory_and_power_stay_below_the_machine(folder: Path) -> None:
    for run, platform in (("h100-sync", "h100-sxm"), ("gb200-async", "gb200-nvl72")):
        gpus, steps = _of(folder, "gpu_samples", run), _of(folder, "steps", run)
        assert gpus["power_w"].max() < _fact(platform, "gpu_tdp_w")
        assert max(gpus["mem_bytes"].max(), steps["mem_peak_bytes"].max()) < _fact(
            platform, "hbm_usable_bytes"
        )
    smi = _smi(folder)
    assert _number(smi["power.draw [W]"]).max() < _fact("gb200-nvl72", "gpu_tdp_w")
    assert (_number(smi["memory.used [MiB]"]) < _number(smi["memory.total [MiB]"])).all()


def test_power_follows_work_but_a_hang_shows_full_utilisation_at_low_power(folder: Path) -> None:
    gpus = _of(folder, "gpu_samples", "h100-sync")
    assert gpus["power_w"].corr(gpus["sm_active"]) > 0.9
    stuck = gpus[(gpus["gpu_util"] == 1.0) & (gpus["sm_active"] < 0.2)]
    assert len(stuck) * 10 / 8 > 1_500
    assert stuck["power_w"].max() < 0.5 * gpus["power_w"].max()
    smi = _smi(folder)
    assert _number(smi["power.draw [W]"]).corr(_number(smi["utilization.gpu [%]"])) > 0.3


def test_scores_are_the_means_of_their_tasks_and_rise_like_a_learning_curve(folder: Path) -> None:
    evals, tasks = _read(folder, "evals"), _read(folder, "eval_tasks")
    means = tasks.groupby("eval_id")["passed"].mean()
    told = evals.set_index("eval_id").loc[means.index]
    np.testing.assert_allclose(told["score"], means, atol=1e-6)
    assert (tasks.groupby("eval_id").size() == told["n_tasks"] * told["k"]).all()
    for run in RUNS:
        last = evals[evals["run"] == run]["step"].max()
        assert {f"{run}@{last:.0f}:math-500", f"{run}@{last:.0f}:aime-2024"} <= set(means.index)
    shared = evals[evals["run"].isna()]
    assert shared["checkpoint"].nunique() == 1
    assert set(shared["benchmark"]) == {"math-500", "aime-2024"}
    start = float(shared[shared["benchmark"] == "math-500"]["score"].iloc[0])
    for _, rows in evals[evals["benchmark"] == "math-500"].groupby("run"):
        scores = rows.sort_values("step")["score"].to_numpy()
        assert len(scores) >= 6
        assert scores[-1] > start + 0.12
        assert np.polyfit(np.arange(len(scores)), scores, 1)[0] > 0


def test_every_run_starts_from_the_shared_checkpoint_and_no_checkpoint_follows_a_lost_step(
    folder: Path,
) -> None:
    saved = _read(folder, "checkpoints").set_index("checkpoint")
    (start,) = saved.index[saved["run"].isna()]
    assert start in set(_read(folder, "evals")["checkpoint"])
    for run in RUNS:
        chain, name = [], f"{run}@{int(saved[saved['run'] == run]['step'].max())}"
        while name != start:
            chain.append(int(saved.loc[name, "step"]))
            name = saved.loc[name, "parent"]
        assert chain == sorted(chain, reverse=True)
        assert len(chain) == int((saved["run"] == run).sum())
    lost = saved[(saved["run"] == "h100-sync") & (saved["attempt"] == 1)]
    assert lost["step"].max() == 120


def test_the_same_tasks_are_paired_across_checkpoints(folder: Path) -> None:
    tasks = _read(folder, "eval_tasks")
    wide = tasks[tasks["eval_id"].str.endswith(":math-500")].pivot(
        index="task", columns="eval_id", values="passed"
    )
    assert wide.notna().all().all()
    assert wide.shape[0] == 500
    correlation = wide.corr().to_numpy()
    assert correlation[np.triu_indices_from(correlation, 1)].mean() > 0.3


def test_sandbox_calls_are_small_and_mostly_succeed(folder: Path) -> None:
    events = _read(folder, "env_events")
    assert set(events["run"]) == set(RUNS)
    assert (events[["queued_s", "cold_s", "busy_s"]] >= 0).all().all()
    assert 0.97 < events["ok"].mean() < 1.0


def test_names_and_models_are_in_the_catalogue(folder: Path) -> None:
    book, runs = load_catalogue(), _read(folder, "runs")
    assert book.llm(runs["llm"].iloc[0]) is not None
    for platform in runs["platform"].unique():
        assert book.platform(platform) is not None
    names = set(_read(folder, "evals")["benchmark"])
    assert names <= {b.benchmark_id for b in book.benchmarks()}
