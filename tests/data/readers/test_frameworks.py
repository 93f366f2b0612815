"""One small W&B history of each framework: phases, counters, rates and units by hand."""

from pathlib import Path

import pytest

from data.logs.flat_modes import algorithm_of
from data.logs.framework import framework_of
from tests.data.readers.flat_files import clocked, history_csv, load, phases, steps

GIB = 2**30


def test_openrlhf(tmp_path: Path) -> None:
    records = [
        {
            "train/global_step": n,
            "train/timing/generation": 6.0,
            "train/timing/make_experience": 2.0,
            "train/timing/ppo_train": 4.0,
            "train/timing/broadcast": 1.0,
            "train/timing/step_total": 13.0,
            "train/rollout/reward_mean": 0.25 * n,
            "train/rollout/num_samples": 128,
            "train/rollout/truncated_rate": 0.125,
            "train/response_length": 200.0,
        }
        for n in (1, 2)
    ]
    records.insert(
        1, {"eval/global_step": 1, "eval/eval_math500_pass1": 0.5, "eval/eval_math500_truncated_rate": 0.1}
    )
    batch = load(history_csv(clocked(records)), tmp_path, expect="wandb_history_csv")
    assert batch.tables["runs"]["framework"].tolist() == ["openrlhf"]
    assert phases(batch) == {
        "rollout": (12.0, "wall"),
        "logprob": (4.0, "wall"),
        "train": (8.0, "wall"),
        "weight_sync": (2.0, "wall"),
    }
    assert batch.facts["step_seconds_sum"] == 26.0
    assert batch.facts["unattributed_seconds"] == 0.0
    assert batch.facts["rollouts_total"] == 256.0
    assert batch.facts["eval_score[math500]"] == 0.5
    assert batch.facts["tokens_total"] is None
    assert steps(batch)["step"].tolist() == [1, 2]
    assert steps(batch)["truncated_frac"].tolist() == [0.125, 0.125]
    assert batch.tables["evals"][["step", "k", "metric"]].to_numpy().tolist() == [[1, 1, "pass"]]


def test_openrlhf_that_overlaps_is_asynchronous(tmp_path: Path) -> None:
    records = [
        {"train/global_step": n, "train/timing/generation": 9.0, "train/timing/ppo_train": 8.0,
         "train/timing/broadcast": 1.0, "train/timing/step_total": 10.0}
        for n in (1, 2)
    ]  # fmt: skip
    batch = load(history_csv(clocked(records)), tmp_path)
    assert batch.tables["runs"]["mode"].tolist() == ["async"]
    assert phases(batch) == {"train": (16.0, "wall"), "weight_sync": (2.0, "wall")}
    assert batch.facts["unattributed_seconds"] == 2.0


def test_skyrl_async_waits_for_groups(tmp_path: Path) -> None:
    records = [
        {
            "trainer/global_step": n,
            "timing/step": 20.0,
            "timing/wait_for_generation_buffer": 9.0,
            "timing/run_training": 10.0,
            "timing/train_critic_and_policy": 7.0,
            "timing/policy_train": 6.5,
            "timing/fwd_logprobs_values_reward": 2.0,
            "timing/sync_weights": 1.0,
            "trainer/tokens_per_second_per_gpu": 500.0,
            "async/staleness_mean": 1.5,
            "generate/batch_num_seq": 64,
            "reward/avg_raw_reward": 0.5,
        }
        for n in (1, 2)
    ]
    records.append({"trainer/global_step": 2, "eval/gsm8k/avg_score": 0.75, "eval/gsm8k/pass_at_4": 0.9})
    batch = load(history_csv(clocked(records)), tmp_path)
    assert batch.tables["runs"][["framework", "mode"]].to_numpy().tolist() == [["skyrl", "async"]]
    assert phases(batch) == {
        "rollout": (18.0, "wait"),
        "train": (14.0, "wall"),
        "logprob": (4.0, "wall"),
        "weight_sync": (2.0, "exposed"),
    }
    assert batch.facts["unattributed_seconds"] == 40.0 - 38.0
    assert steps(batch)["throughput_basis"].tolist() == ["train_pass_per_gpu"] * 2
    assert batch.facts["gpu_count_inferred"] is None
    assert steps(batch)["staleness"].tolist() == [1.5, 1.5]
    scores = batch.tables["evals"].set_index("metric")[["benchmark", "score"]].to_numpy().tolist()
    assert scores == [["gsm8k", 0.75], ["gsm8k", 0.9]]


def test_areal_has_no_step_timer(tmp_path: Path) -> None:
    records = [
        {
            "timeperf/rollout": 5.0,
            "timeperf/recompute_logp": 1.0,
            "timeperf/ref_logp": 1.5,
            "timeperf/train_step": 4.0,
            "timeperf/update_weights": 0.5,
            "ppo_actor/task_reward/avg": 0.25,
            "ppo_actor/n_tokens": 4096,
            "ppo_actor/n_seqs": 32,
            "ppo_actor/no_eos_ratios/avg": 0.125,
            "ppo_actor/version_stats/sample_staleness_theta_avg": 2.0,
        }
        for _ in range(3)
    ]
    text = history_csv(clocked(records), drop="_runtime")
    batch = load(text, tmp_path)
    assert batch.tables["runs"][["framework", "mode"]].to_numpy().tolist() == [["areal", "async"]]
    assert phases(batch)["rollout"] == (15.0, "wait")
    assert phases(batch)["ref"] == (4.5, "wall")
    assert phases(batch)["weight_sync"] == (1.5, "exposed")
    assert batch.facts["step_seconds_sum"] is None
    assert batch.facts["tokens_total"] == 3 * 4096
    assert batch.facts["rollouts_total"] == 96.0
    attempt = batch.tables["attempts"].iloc[0]
    assert (attempt["elapsed_s"], attempt["elapsed_basis"]) == (36.0, "step_sum")
    assert any("no step timer" in text for text in batch.warnings)
    assert steps(batch)["step"].tolist() == [0, 1, 2]
    assert any("no step counter of the trainer" in text for text in batch.warnings)


def test_open_instruct_counts_episodes_as_global_step(tmp_path: Path) -> None:
    records = [
        {
            "training_step": n,
            "global_step": 512 * n,
            "episode": 512 * n,
            "val/num_total_tokens": 100_000 * n,
            "learner_tokens_per_second_overall": 4999.0,
            "learner_tokens_per_second_step": 5000.0,
            "time/total": 20.0,
            "time/training": 12.0,
            "time/getting_response": 6.0,
            "time/saving": 1.0,
            "time/weight_sync": 4.0,
            "learner_mfu": 25.0,
            "scores": 0.5,
        }
        for n in (1, 2, 3)
    ]
    batch = load(history_csv(clocked(records, offset=1)), tmp_path)
    assert batch.tables["runs"]["framework"].tolist() == ["open-instruct"]
    assert steps(batch)["step"].tolist() == [1, 2, 3]
    assert steps(batch)["tok_total"].tolist() == [100_000.0] * 3
    assert steps(batch)["rollouts"].tolist() == [512.0] * 3
    assert steps(batch)["mfu_frac"].tolist() == [0.25] * 3
    assert batch.facts["tokens_total"] == 300_000.0
    assert batch.facts["throughput_tokens_per_s"] == 5000.0
    assert phases(batch) == {
        "train": (36.0, "wall"),
        "rollout": (18.0, "wait"),
        "checkpoint": (3.0, "wall"),
    }
    assert any("other counters (global_step)" in text for text in batch.warnings)


def test_open_instruct_prefers_tokens_of_the_step(tmp_path: Path) -> None:
    records = [
        {"training_step": n, "val/num_total_tokens": 9e9, "val/num_step_tokens": 70.0, "time/total": 7.0,
         "time/getting_response": 2.0}
        for n in (4, 5)
    ]  # fmt: skip
    batch = load(history_csv(clocked(records)), tmp_path)
    assert batch.facts["tokens_total"] == 140.0


def test_nemo_rl_splits_its_pools(tmp_path: Path) -> None:
    records = [
        {
            "timing/train/total_step_time": 40.0,
            "timing/train/exposed_generation": 10.0,
            "timing/train/policy_training": 20.0,
            "timing/train/weight_sync": 4.0,
            "timing/train/prepare_for_generation/transfer_and_update_weights": 3.0,
            "timing/train/valid_tokens_per_sec_per_gpu": 900.0,
            "timing/validation/total_validation_time": 8.0,
            "train/total_num_tokens": 64_000,
            "train/reward": 0.5,
            "performance/tokens_per_sec": 1600.0,
            "performance/tokens_per_sec_per_gpu": 100.0,
            "performance/training_worker_group_tokens_per_sec": 3200.0,
            "performance/training_worker_group_tokens_per_sec_per_gpu": 400.0,
            "performance/generation_tokens_per_sec": 6400.0,
            "performance/generation_tokens_per_sec_per_gpu": 800.0,
            "efficiency/idle/buffer_starvation_s": 99.0,
            "validation/accuracy": 0.5 + n / 100,
        }
        for n in (1, 2)
    ]
    batch = load(history_csv(clocked(records, offset=1)), tmp_path)
    assert batch.tables["runs"][["framework", "mode"]].to_numpy().tolist() == [["nemo-rl", "async"]]
    assert phases(batch) == {
        "rollout": (20.0, "wait"),
        "train": (40.0, "wall"),
        "weight_sync": (8.0, "exposed"),
        "eval": (16.0, "outside"),
    }
    assert batch.facts["gpu_count_inferred"] == 16.0
    assert {(p.field, p.value) for p in batch.proposals} == {
        ("gpus", 16), ("gpus_train", 8), ("gpus_rollout", 8), ("mode", "async"),
    }  # fmt: skip
    assert batch.facts["tokens_total"] == 128_000.0
    assert batch.facts["unattributed_seconds"] == 80.0 - 68.0
    assert batch.facts["eval_score[validation]"] == 0.52
    assert "efficiency/idle/buffer_starvation_s" in batch.unmapped
    assert "efficiency/idle/buffer_starvation_s" in set(batch.tables["metric_raw"]["key"])


def test_slime_counts_rollouts_and_keeps_optimiser_steps_raw(tmp_path: Path) -> None:
    records = [
        {"rollout/step": 0, "perf/rollout_time": 30.0, "perf/tokens_per_gpu_per_sec": 900.0,
         "rollout/raw_reward": 0.5},
        {"train/step": 0, "train/loss": 0.1},
        {"train/step": 1, "train/loss": 0.2},
        {"rollout/step": 0, "perf/step_time": 50.0, "perf/train_wait_time": 31.0, "perf/train_time": 19.0,
         "perf/actor_train_time": 15.0, "perf/log_probs_time": 3.0, "perf/update_weights_time": 5.0,
         "perf/actor_train_tok_per_s": 8000.0},
        {"eval/step": 0, "eval/aime": 0.25, "eval/aime-truncated_ratio": 0.5},
        {"rollout/step": 1, "perf/rollout_time": 28.0, "rollout/raw_reward": 0.6},
    ]  # fmt: skip
    batch = load(history_csv(clocked(records)), tmp_path)
    assert batch.tables["runs"]["framework"].tolist() == ["slime"]
    assert steps(batch)["step"].tolist() == [0, 1]
    assert phases(batch) == {
        "rollout": (58.0, "wall"),
        "train": (15.0, "wall"),
        "logprob": (3.0, "wall"),
        "weight_sync": (5.0, "outside"),
    }
    assert batch.facts["step_seconds_sum"] == 50.0
    assert batch.facts["eval_score[aime]"] == 0.25
    raw = batch.tables["metric_raw"]
    losses = raw[raw["key"] == "train/loss"]
    assert losses["step"].isna().all()
    assert losses[["x_name", "x"]].to_numpy().tolist() == [["_step", 1.0], ["_step", 2.0]]
    assert any("2 records have no trainer step" in text for text in batch.warnings)
    assert any("leaves out weight_sync" in text for text in batch.warnings)


def test_slime_that_generates_beside_the_training(tmp_path: Path) -> None:
    records = [
        {"rollout/step": n, "perf/rollout_time": 30.0, "perf/train_wait_time": 4.0, "perf/step_time": 24.0,
         "perf/actor_train_time": 19.0}
        for n in (0, 1)
    ]  # fmt: skip
    batch = load(history_csv(clocked(records)), tmp_path)
    assert batch.tables["runs"]["mode"].tolist() == ["async"]
    assert phases(batch) == {"rollout": (8.0, "wait"), "train": (38.0, "wall")}
    assert batch.facts["unattributed_seconds"] == 2.0


def test_tinker_from_wandb(tmp_path: Path) -> None:
    records = [
        {"step": n, "progress/batch": n, "time/total": 12.0, "time/train_step": 4.0, "time/sampling": 6.0,
         "time/sampling_time_max": 5.9, "env/all/total_ac_tokens": 300, "env/all/total_ob_tokens": 700,
         "env/all/total_episodes": 16, "env/all/reward/total": 0.5,
         "test/env/math/reward/total": 0.4 + n / 10}
        for n in (0, 1)
    ]  # fmt: skip
    batch = load(history_csv(clocked(records)), tmp_path)
    assert (batch.facts["tokens_total"], batch.facts["tokens_generated"]) == (2000.0, 600.0)
    assert phases(batch) == {"train": (8.0, "wall"), "rollout": (12.0, "wall")}
    assert batch.facts["eval_score[math]"] == 0.5


def test_prime_rl_trainer_logs_percent_and_a_row_of_zeros(tmp_path: Path) -> None:
    records = [
        {"step": n, "time/step": 10.0, "time/wait_for_batch": 3.0, "time/forward_backward": 6.0,
         "time/broadcast_weights": 2.0, "time/save_weights": 2.0, "perf/throughput": n * 800.0,
         "perf/throughput_per_gpu": n * 100.0, "perf/mfu": n * 20.0, "perf/peak_memory": 5.0 + n}
        for n in (0, 1)
    ]  # fmt: skip
    batch = load(history_csv(clocked(records)), tmp_path)
    assert phases(batch)["weight_sync"] == (4.0, "outside_exposed")
    assert batch.facts["unattributed_seconds"] == 2.0
    assert (batch.facts["mfu_mean"], batch.facts["gpu_count_inferred"]) == (0.2, 8.0)
    assert batch.facts["memory_peak_bytes"] == 6.0 * GIB
    assert batch.facts["throughput_tokens_per_s"] is None
    assert steps(batch)["throughput"].isna().tolist() == [True, False]
    assert ("gpus_train", 8) in {(p.field, p.value) for p in batch.proposals}
    assert batch.tables["step_phases"]["pool"].unique().tolist() == ["train"]


def test_prime_rl_orchestrator_is_another_process(tmp_path: Path) -> None:
    records = [
        {"step": n, "time/step": 11.0, "time/generate_completions": 7.0, "time/wait_for_ckpt": 1.0,
         "progress/tokens": 5000, "progress/samples": 64, "progress/total_tokens": 5000 * (n + 1),
         "reward/mean": 0.5, "batch/off_policy_level/mean": 1.0, "eval/aime/avg@8": 0.25}
        for n in (0, 1)
    ]  # fmt: skip
    batch = load(history_csv(clocked(records)), tmp_path)
    assert steps(batch)["source"].unique().tolist() == ["wandb_history:orchestrator"]
    assert batch.facts["tokens_total"] == 10_000.0
    assert phases(batch) == {"rollout": (14.0, "wall")}, "the wait lies inside generate_completions"
    assert batch.tables["evals"][["benchmark", "metric", "k"]].iloc[0].tolist() == ["aime", "avg", 8]


def test_trl_seconds_and_tokens_are_those_of_the_interval(tmp_path: Path) -> None:
    records = [
        {"train/global_step": n, "train/num_tokens": 1000 * n, "train/step_time": 2.0, "train/reward": 1.5,
         "train/completions/mean_length": 80.0, "train/completions/clipped_ratio": 0.25}
        for n in (10, 20, 30)
    ]  # fmt: skip
    batch = load(history_csv(clocked(records, step_s=60.0)), tmp_path)
    assert batch.tables["runs"]["framework"].tolist() == ["trl"]
    assert steps(batch)["step_s"].tolist() == [20.0] * 3
    assert steps(batch)["tok_total"].tolist() == [10_000.0] * 3
    assert batch.facts["tokens_total"] == 30_000.0
    assert batch.facts["reward_last"] == 1.5
    assert any("stands for up to 10 steps" in text for text in batch.warnings)
    attempt = batch.tables["attempts"].iloc[0]
    assert (attempt["elapsed_s"], attempt["elapsed_basis"]) == (185.0, "progress_bar")


def test_trl_without_rewards_is_supervised(tmp_path: Path) -> None:
    records = [
        {
            "train/global_step": n,
            "train/loss": 1.5,
            "train/num_tokens": 500 * n,
            "train/mean_token_accuracy": 0.5,
        }
        for n in (1, 2)
    ]
    batch = load(history_csv(clocked(records)), tmp_path)
    assert batch.tables["runs"][["framework", "algorithm"]].to_numpy().tolist() == [["trl", "sft"]]
    assert batch.facts["tokens_total"] == 1000.0
    assert batch.facts["reward_mean"] is None


@pytest.mark.parametrize(
    ("keys", "framework"),
    [
        (["timing_s/step"], "verl"), (["critic/score/mean"], "verl"), (["val-core/gsm8k/acc/mean@1"], "verl"),
        (["perf/throughput"], None), (["eval/accuracy"], None), (["reward", "loss", "kl"], None),
        (["train/reward"], None), (["time/total", "time/train"], None), (["perf/step_time"], "slime"),
        (["timing/step", "timing/generate"], "skyrl"), ([], None), (["_step", "step", "loss"], None),
    ],
)  # fmt: skip
def test_the_framework_is_named_only_by_telling_keys(keys: list[str], framework: str | None) -> None:
    assert framework_of(keys)[0] == framework


@pytest.mark.parametrize(
    ("keys", "algorithm"),
    [
        (["loss", "learning_rate"], "sft"), (["train/loss", "train/lr"], "sft"), (["loss"], None),
        (["loss", "lr", "kl"], None), (["policy_loss", "lr"], None), (["loss", "lr", "reward"], None),
        (["rewards/margins", "loss", "lr"], "dpo"),
    ],
)  # fmt: skip
def test_the_algorithm_is_named_only_without_doubt(keys: list[str], algorithm: str | None) -> None:
    assert algorithm_of(None, keys) == algorithm


def test_chart_exports_know_the_units_of_every_framework(tmp_path: Path) -> None:
    keys = ("perf/mfu", "time/forward_backward", "time/step", "perf/peak_memory")
    head = ",".join(["Step", *(f"prime - {key}" for key in keys)])
    batch = load(f"{head}\n0,0.0,6.0,10.0,4.0\n1,25.0,7.0,11.0,5.0\n", tmp_path, expect="wandb_chart_export")
    assert batch.tables["runs"][["framework", "mode"]].to_numpy().tolist() == [["prime-rl", "async"]]
    assert batch.facts["mfu_mean"] == 0.25
    assert batch.facts["memory_peak_bytes"] == 5.0 * GIB
    assert phases(batch) == {"train": (13.0, "wall")}


def test_a_chart_of_a_running_total_is_differenced(tmp_path: Path) -> None:
    head = "Step,a - train/num_tokens,a - train/completions/mean_length"
    batch = load(f"{head}\n1,100,5\n2,250,5\n3,300,5\n", tmp_path, expect="wandb_chart_export")
    assert steps(batch)["tok_total"].tolist() == [100.0, 150.0, 50.0]
    assert batch.facts["tokens_total"] == 300.0
