"""A run on other pools: itself again on its own, faster on faster chips, and never surer than it may be."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.calibration import calibrate
from models.projection import PHASES, Band, project
from models.step_time import MODES, Phases, step_time
from models.transfer import PRIOR_SHARES, StepCase, step_ratio
from models.workload import Measured, Pool
from tests.models.llms import DENSE, LLAMA_70B, MOE, ROUND, TWICE, UNPUBLISHED
from tests.models.measured_runs import measured, middle, over_steps, projected, target, workload

JITTER = np.array([0.9, 1.0, 1.05, 1.1, 0.95])
TENTHS = Band(1.0, math.exp(-0.5), math.exp(0.5))
TWIN = replace(ROUND, platform_id="twin")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("llm", [DENSE, MOE])
@pytest.mark.parametrize("tail_known", [True, False])
def test_the_runs_own_pools_give_the_measured_step(mode, llm, tail_known):
    run = workload(llm, mode=mode, tail_known=tail_known)
    seen = over_steps(measured(run), JITTER)
    found = projected(run, target(ROUND, step=TENTHS, decode=TENTHS), target(TWICE), seen=seen)
    assert found.same == (True, False)
    assert found.step_s[:, 0] == pytest.approx(np.full(2000, seen.mean("step_s")), rel=1e-12)
    assert found.whole_step_s[:, 0] == pytest.approx(seen.mean("step_s"), rel=1e-12)
    phases = found.breakdown()
    assert phases["train"][:, 0] == pytest.approx(seen.mean("train_s"))
    rollout = sum(phases[name][1, 0] for name in ("rollout_work", "rollout_tail", "prefill"))
    if mode != "async":
        assert rollout == pytest.approx(seen.mean("rollout_s"), rel=1e-12)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("max_batch", [None, 32])
def test_the_same_chip_under_another_name_keeps_every_phase(mode, max_batch):
    run = workload(MOE, mode=mode, max_batch=max_batch)
    own, twin = projected(run, target(ROUND), target(TWIN)).moves
    assert (own.same, twin.same) == (True, False)
    for phase in PHASES:
        assert twin.seconds[phase] == pytest.approx(own.seconds[phase], rel=1e-9), phase
    assert twin.whole_ratio == pytest.approx(1)


@settings(max_examples=30, deadline=None)
@given(
    st.sampled_from(MODES),
    st.sampled_from([DENSE, LLAMA_70B, MOE]),
    st.sampled_from([None, 24]),
    *[st.floats(1, 4)] * 3,
)
def test_a_faster_chip_is_never_slower(mode, llm, max_batch, flops, bandwidth, memory):
    run = workload(llm, mode=mode, max_batch=max_batch)
    faster = replace(
        ROUND,
        platform_id="faster",
        flops={name: rate and rate * flops for name, rate in ROUND.flops.items()},
        hbm_bytes_per_s=ROUND.hbm_bytes_per_s * bandwidth,
        hbm_bytes=ROUND.hbm_bytes * memory,
    )
    own, new = projected(run, target(ROUND), target(faster), draws=100).moves
    for phase in PHASES:
        assert new.seconds[phase] <= own.seconds[phase] * (1 + 1e-9), phase
    assert new.whole_ratio <= 1 + 1e-9


def test_a_factor_may_say_that_a_faster_chip_is_slower():
    run = workload()
    slower = target(TWICE, training=Band(0.4, 0.3, 0.5))
    found = projected(run, target(TWICE), slower)
    assert middle(found, "train", 1) == pytest.approx(middle(found, "train") / 0.4)
    assert middle(found, "train", 1) > measured(run).mean("train_s")


def test_training_and_scoring_follow_the_dense_peak_by_hand():
    run = workload()
    seen = measured(run)
    found = projected(run, target(TWICE, training=Band(0.8, 0.7, 0.9), prefill=Band(0.5, 0.4, 0.6)))
    assert middle(found, "train") == pytest.approx(seen.mean("train_s") / 2 / 0.8)
    assert middle(found, "logprob") == pytest.approx(seen.mean("logprob_s") / 2 / 0.8)
    assert middle(found, "prefill") == pytest.approx(calibrate(run, seen).split.prefill_s / 2 / 0.5)
    for phase, name in (("env", "env_s"), ("other", "other_s"), ("weight_sync", "sync_s")):
        assert middle(found, phase) == pytest.approx(seen.mean(name))
    assert middle(found, "unattributed") == pytest.approx(3)


def test_precision_changes_only_where_it_is_asked():
    run = workload()
    same, eight, four = projected(
        run,
        target(TWICE),
        target(TWICE, precisions=("fp8", "fp8")),
        target(TWICE, precisions=("fp4", "bf16")),
    ).moves
    assert eight.seconds["train"] == pytest.approx(same.seconds["train"] / 2**0.5)
    assert any("fp8 instead of bf16" in words for words in eight.cautions) and not same.cautions
    assert 0.7 * same.seconds["rollout_work"] < four.seconds["rollout_work"] < same.seconds["rollout_work"]
    assert four.seconds["prefill"] == pytest.approx(same.seconds["prefill"] / 2**0.3)
    assert four.seconds["weight_sync"] == pytest.approx(same.seconds["weight_sync"] * 9 / 16)
    none = projected(run, target(TWIN, precisions=("fp4", "bf16")))
    assert none.unknown == (("twin: fp4_dense_flops",),) and np.isnan(none.step_s).all()


def test_the_tail_does_not_shrink_with_gpus():
    run = workload()
    few, many = projected(run, target(TWIN), target(TWIN, gpus=512)).moves
    assert many.seconds["rollout_tail"] == pytest.approx(few.seconds["rollout_tail"])
    assert many.seconds["train"] == pytest.approx(few.seconds["train"] / 8)
    assert few.seconds["rollout_work"] / 8 < many.seconds["rollout_work"] < few.seconds["rollout_work"]
    assert "data-parallel scaling to another count of GPUs" in many.cautions
    part = projected(run, target(TWIN, gpus=512, fixed_frac=0.2)).moves[0]
    assert any(words.endswith("; 20% of the work stays") for words in part.cautions)


def test_work_of_many_waves_halves_with_twice_the_gpus():
    run = workload(max_batch=8)
    few, many = projected(run, target(TWIN), target(TWIN, gpus=128)).moves
    assert many.seconds["rollout_work"] == pytest.approx(few.seconds["rollout_work"] / 2)
    assert many.seconds["rollout_tail"] >= few.seconds["rollout_tail"] * (1 - 1e-9)


def test_a_fixed_share_does_not_follow_the_gpus():
    run = workload(max_batch=8)
    few, many = projected(run, target(TWIN), target(TWIN, gpus=256, fixed_frac=0.2)).moves
    for phase in ("rollout_work", "train", "logprob", "prefill"):
        assert many.seconds[phase] == pytest.approx(few.seconds[phase] * (0.2 + 0.8 / 4)), phase
    same = projected(run, target(TWIN, fixed_frac=0.2)).moves[0]
    assert same.seconds["train"] == pytest.approx(few.seconds["train"])


def test_more_memory_holds_a_bigger_batch():
    """A GPU of 100 GB has 19 GB beside the weights, one of 300 GB ten times that, and 256 sequences wait."""
    run = workload(LLAMA_70B, rollouts=16384, replica_gpus=1)
    small, big = projected(run, target(TWIN), target(replace(TWIN, hbm_bytes=300e9))).moves
    assert small.operating.capped_by == "memory"
    assert big.operating.batch > 5 * small.operating.batch
    assert big.seconds["rollout_work"] < small.seconds["rollout_work"] / 2


def test_a_replica_grows_only_where_it_does_not_fit():
    run = workload(LLAMA_70B, replica_gpus=1)
    small = replace(TWIN, hbm_bytes=60e9)
    kept, grown = projected(run, target(TWICE), target(small)).moves
    assert kept.operating.replica_gpus == 1 and kept.operating.kept
    assert grown.operating.replica_gpus == 2 and not grown.operating.kept
    assert any("replicas of 2 GPUs" in words for words in grown.cautions)
    tiny = projected(run, target(replace(TWIN, hbm_bytes=5e9, domain_gpus=8)))
    assert tiny.unknown[0][0] == "twin: the model does not fit a replica of up to 8 GPUs"
    assert "training states do not fit" in tiny.unknown[0][1]


def test_unknown_facts_leave_their_phases_unknown():
    run = workload()
    found = projected(run, target(replace(TWICE, hbm_bytes_per_s=None)), target(UNPUBLISHED))
    part = found.moves[0]
    assert found.unknown[0] == ("twice: hbm_bytes_per_s",)
    assert math.isnan(part.seconds["rollout_work"]) and part.seconds["train"] > 0
    assert np.isnan(found.step_s).all() and np.isnan(found.whole_step_s).all()
    assert set(found.unknown[1]) == {
        "unpublished: fp8_dense_flops", "unpublished: hbm_bytes_per_s", "unpublished: hbm_bytes",
    }  # fmt: skip
    assert math.isnan(found.breakdown()["step_s"][1, 0])


def test_a_missing_band_is_unknown():
    nobody = Band(1.1, math.nan, math.nan)
    found = projected(workload(), target(TWICE, training=nobody), target(TWICE, decode=nobody))
    assert found.unknown == (("twice: band of training",), ("twice: band of decode",))
    assert np.isnan(found.step_s).all()


def test_a_refused_phase_is_not_projected():
    run = workload()
    seen = measured(run, train_s=measured(run).mean("train_s") / 10)
    found = projected(run, target(ROUND), target(TWICE), seen=seen)
    assert found.step_s[0, 0] == pytest.approx(seen.mean("step_s"))
    assert "train: refused" in found.unknown[1][0] and np.isnan(found.step_s[:, 1]).all()
    assert found.moves[1].seconds["logprob"] > 0


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(MODES), st.floats(0, 8), *[st.floats(0.1, 500)] * 5)
def test_what_is_exposed_adds_up_to_the_step(mode, lag, rollout, train, score, sync, env):
    run = workload(mode=mode, lag=lag)
    base = measured(run)
    seen = replace(
        base, rollout_s=base.rollout_s * max(rollout, 1), train_s=base.train_s * max(train / 50, 1),
        logprob_s=base.logprob_s * max(score / 50, 1), sync_s=np.array([sync]), env_s=np.array([env]),
        step_s=None,
    )  # fmt: skip
    found = projected(run, target(TWICE, decode=TENTHS), seen=seen, draws=100)
    assert sum(found.exposed.values())[:, 0] == pytest.approx(found.step_s[:, 0], rel=1e-9)
    assert found.recomposed({})[:, 0] == pytest.approx(found.step_s[:, 0], rel=1e-12)
    assert (found.exposed["rollout_tail"] <= found.phases["rollout_tail"] * (1 + 1e-12)).all()


def test_streams_are_composed_as_streams():
    run = workload(mode="async", lag=1.0)
    seen = measured(run, rollout_s=90.0, train_s=50.0, logprob_s=20.0, step_s=101.0)
    found = projected(run, target(TWICE, training=Band(0.5, 0.4, 0.6)), seen=seen)
    s = {phase: draws[:, 0] for phase, draws in found.phases.items()}
    flow = s["rollout_work"] + s["prefill"] + s["env"]
    engines = np.maximum(flow, (flow + s["rollout_tail"]) / 2)
    rest = s["weight_sync"] + s["other"] + s["unattributed"]
    assert found.step_s[:, 0] == pytest.approx(np.maximum(engines, s["train"] + s["logprob"]) + rest)
    phases = Phases(s["rollout_work"] + s["prefill"], s["rollout_tail"], s["logprob"], s["train"],
                    s["weight_sync"], s["env"], other_s=s["other"] + s["unattributed"])  # fmt: skip
    assert found.step_s[:, 0] == pytest.approx(np.asarray(step_time(phases, "async", 1.0).total_s))
    assert (found.step_s[:, 0] < sum(s.values())).all()


def test_streams_keep_their_sequences_in_flight():
    """Twice the GPUs make a step's tokens in half the time, until the lag allows no more in flight."""
    run = workload(mode="async", lag=7.0, max_batch=64)
    seen = measured(run, rollout_s=60.0)
    few, many, most = projected(run, *(target(TWIN, gpus=n) for n in (64, 128, 4096)), seen=seen).moves
    assert many.operating.batch == few.operating.batch == 64
    assert many.seconds["rollout_work"] == pytest.approx(few.seconds["rollout_work"] / 2)
    assert most.operating.batch == pytest.approx(1024 / 512 * 8)
    loose = replace(run, max_batch=None)
    held = projected(loose, target(TWIN), target(TWIN, gpus=128), seen=seen).operating
    assert 1 < held[0].batch < 1024 and held[1].batch == pytest.approx(held[0].batch)


def test_streams_hold_no_bigger_batch_than_pays():
    """Memory capped the batch and the longest response the step: more memory must not make it longer."""
    run = workload(LLAMA_70B, mode="async", lag=0.0, rollouts=16384, replica_gpus=1)
    seen = measured(run, rollout_s=measured(replace(run, mode="one_step_off")).mean("rollout_s") / 2)
    small, big = projected(run, target(TWIN), target(replace(TWIN, hbm_bytes=400e9)), seen=seen).moves

    def engines_s(one):
        work = one.seconds["rollout_work"] + one.seconds["prefill"]
        return max(work, work + one.seconds["rollout_tail"])

    assert small.operating.capped_by == "memory" and big.operating.batch_cap > 5 * small.operating.batch
    assert engines_s(big) <= engines_s(small) * (1 + 1e-9)


def test_pools_on_two_platforms():
    """Rollouts stay where they were, training moves: only its phases change."""
    run = workload(mode="one_step_off")
    seen = measured(run)
    found = projected(run, target(ROUND), target(ROUND, trainer=TWICE), target(TWICE, trainer=ROUND))
    for phase in PHASES:
        want = 0.5 if phase in ("train", "logprob") else 1.0
        assert middle(found, phase, 1) == pytest.approx(middle(found, phase) * want), phase
    assert middle(found, "train", 2) == pytest.approx(seen.mean("train_s"))
    assert middle(found, "rollout_work", 2) < middle(found, "rollout_work")
    assert found.gpus.tolist() == [128, 128, 128]
    apart = projected(workload(), target(TWICE, trainer=ROUND))
    assert apart.gpus[0] == 128 and any("two pools" in words for words in apart.cautions[0])


def test_rate_counts_tokens_of_all_gpus():
    run = workload()
    found = projected(run, target(TWICE, gpus=32))
    assert found.tokens_per_s_per_gpu == pytest.approx(run.tokens / found.step_s / 32)


def test_copies_of_weights_go_to_more_engines_at_the_measured_rate():
    run = workload(mode="one_step_off", trainer=Pool(ROUND, 32, "bf16"))
    seen = measured(workload(mode="one_step_off"))
    sized = [
        replace(target(TWIN), engines=Pool(TWIN, engines, "fp8"), trainer=Pool(TWIN, trainer, "bf16"))
        for engines, trainer in ((64, 32), (128, 32), (128, 64), (16, 32))
    ]
    found = project(run, seen, calibrate(run, seen), sized, 100)
    times = [one.seconds["weight_sync"] / seen.mean("sync_s") for one in found.moves]
    assert times == pytest.approx([1, 2, 1, 0.25 / 0.5])


def test_a_step_without_phases_follows_the_rule_for_whole_steps():
    run = workload()
    seen = Measured(step_s=np.array([90.0, 110.0]))
    found = projected(run, target(ROUND), target(TWICE, gpus=32, step=Band(0.9, 0.7, 1.2)), seen=seen)
    ratio = step_ratio(StepCase(2.0, 2.0, 0.5), PRIOR_SHARES) / 0.9
    assert found.basis == "whole step" and found.whole_step_ratio == pytest.approx([1, ratio])
    assert found.step_s[:, 0] == pytest.approx(100)
    assert np.median(found.step_s[:, 1]) == pytest.approx(100 * ratio, rel=0.02)
    assert np.isnan(found.phases["train"]).all() and not found.unknown[1]
    with pytest.raises(ValueError, match="phases"):
        found.recomposed({"train": 0.5})


def test_a_phase_made_faster_leaves_the_rest():
    run = workload()
    found = projected(run, target(TWICE))
    faster = found.recomposed({"train": 0.25})
    assert faster == pytest.approx(found.step_s - 0.75 * found.phases["train"])
    with pytest.raises(ValueError, match="tea"):
        found.recomposed({"tea": 0.5})


@pytest.mark.parametrize("llm", [DENSE, LLAMA_70B, MOE])
@pytest.mark.parametrize("max_batch", [None, 32])
def test_there_and_back_again(llm, max_batch):
    """Seconds projected to a chip of twice the peaks, taken as measured there, give the run again: exactly
    where peaks alone scale, within a tenth where decoding keeps its constant.
    """
    run, factor = workload(llm, max_batch=max_batch), 0.8
    seen = measured(run)
    there = target(TWICE, training=Band(factor, 0.7, 0.9), decode=Band(factor, 0.7, 0.9))
    moved = projected(run, there).moves[0]
    made = sum(moved.seconds[phase] for phase in ("rollout_work", "rollout_tail", "prefill"))
    columns = {"rollout_s": made, "train_s": moved.seconds["train"], "logprob_s": moved.seconds["logprob"]}
    columns |= {"sync_s": moved.seconds["weight_sync"], "env_s": 6.0, "other_s": 2.0}
    after = Measured(
        **{name: np.array([value]) for name, value in columns.items()},
        step_s=np.array([sum(columns.values()) + 3]),
    )
    on = replace(run, engines=there.engines, trainer=there.trainer)
    turned = Band(1 / factor, 1 / 0.9, 1 / 0.7)
    back = projected(on, target(ROUND, training=turned, decode=turned), seen=after).moves[0]
    again = sum(back.seconds[phase] for phase in ("rollout_work", "rollout_tail", "prefill"))
    assert again == pytest.approx(seen.mean("rollout_s"), rel=0.1)
    for phase, name in (("train", "train_s"), ("logprob", "logprob_s"), ("weight_sync", "sync_s")):
        assert back.seconds[phase] == pytest.approx(seen.mean(name)), phase
    assert back.seconds["unattributed"] == pytest.approx(3)
