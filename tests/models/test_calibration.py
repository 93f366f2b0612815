"""Factors found again in seconds that were made with them; what one run cannot tell; what is refused."""

from dataclasses import replace

import numpy as np
import pytest

from models.calibration import Calibration, calibrate
from models.decode import DecodeFactors, DecodeLoad, decode_step
from models.factors import Factor
from models.machine import Rates
from models.operating import operate
from models.rollout_split import fit_rollout
from models.workload import EnginePoint, Measured, Pool
from tests.models.llms import DEEPSEEK_V3, DENSE, GPT_OSS, HYBRID, LLAMA_70B, MOE, ROUND, TWICE, UNPUBLISHED
from tests.models.measured_runs import (
    ETA_LOGPROB,
    ETA_TRAIN,
    decoded,
    measured,
    over_steps,
    point,
    scored_s,
    trained_s,
    workload,
)

JITTER = np.array([0.9, 1.0, 1.05, 1.1, 0.95])


def factors(found: Calibration) -> dict[str, Factor]:
    return {one.name: one for one in found.factors}


@pytest.mark.parametrize("llm", [DENSE, LLAMA_70B, MOE, GPT_OSS, HYBRID])
@pytest.mark.parametrize("eta", [0.3, 0.62, 0.95])
def test_factors_are_found_again(llm, eta):
    run = workload(llm)
    found = calibrate(run, measured(run, DecodeFactors(eta_bandwidth=eta)))
    got = factors(found)
    assert got["eta_bandwidth"].value == pytest.approx(eta, rel=1e-6)
    assert got["eta_bandwidth"].identified and got["eta_bandwidth"].basis == "measured"
    assert got["eta_train"].value == pytest.approx(ETA_TRAIN)
    assert got["eta_logprob"].value == pytest.approx(ETA_LOGPROB)
    assert got["sync_rate"].value == pytest.approx(40) and got["sync_rate"].unit == "GB/s"
    assert found.unattributed_s == pytest.approx(3) and found.overlap == 1
    assert not found.refusals and not found.unknown


@pytest.mark.parametrize("max_batch", [None, 32])
@pytest.mark.parametrize("llm", [DENSE, MOE])
def test_work_and_tail_are_those_of_the_closed_form(llm, max_batch):
    run = workload(llm, max_batch=max_batch)
    known = DecodeFactors(eta_bandwidth=0.62)
    made, full_s = decoded(run, known)
    split = calibrate(run, measured(run, known)).split
    assert split.work_s == pytest.approx(made.work_s, rel=1e-6)
    assert split.tail_s == pytest.approx(made.tail_s, rel=1e-6)
    assert split.prefill_s == pytest.approx(made.prefill_s)
    assert split.tpot_full_s == pytest.approx(full_s, rel=1e-6)
    assert split.work_s + split.tail_s + split.prefill_s == pytest.approx(made.total_s, rel=1e-12)


def test_a_step_of_a_dense_tail_reads_the_weights_by_hand():
    run = workload()
    split = calibrate(run, measured(run)).split
    assert split.tpot_tail_s == pytest.approx(10e9 / (8 * 4e12 * 0.62) + 40 * 80e-6, rel=1e-3)
    assert split.tail_batch == pytest.approx(1)


def test_a_tail_of_experts_is_not_that_of_one_sequence():
    run = workload(MOE)
    assert 2 < calibrate(run, measured(run)).split.tail_batch < 20


def test_the_constant_rests_on_its_prior():
    run = workload()
    got = factors(calibrate(run, measured(run)))
    constant = got["layer_s"]
    assert (constant.low, constant.value, constant.high) == (70e-6, 80e-6, 90e-6)
    assert constant.basis == "prior" and not constant.identified
    assert not got["eta_prefill"].identified and got["eta_prefill"].basis == "prior"
    assert "70 to 90 us give" in got["eta_bandwidth"].words


def log(batches, eta=0.55, layer_s=110e-6):
    load = DecodeLoad(
        batch=np.array(batches), context=np.full(len(batches), 3000.0), gpus=8, weight_bytes=1.0,
        kv_bytes=1.0, attention_tp=8,
    )  # fmt: skip
    known = DecodeFactors(eta_bandwidth=eta, layer_s=layer_s)
    seconds = decode_step(LLAMA_70B, load, Rates.of(ROUND, "fp8"), known).total_s
    return [EnginePoint(batch, 3000.0, step_s) for batch, step_s in zip(batches, seconds, strict=True)]


def test_two_batches_tell_bandwidth_and_constant_apart():
    run = workload(LLAMA_70B)
    slow = measured(run, DecodeFactors(eta_bandwidth=0.55, layer_s=110e-6))
    got = factors(calibrate(run, slow, log([4.0, 128.0])))
    assert got["eta_bandwidth"].value == pytest.approx(0.55, rel=1e-6) and got["eta_bandwidth"].identified
    assert got["layer_s"].value == pytest.approx(110e-6, rel=1e-6) and got["layer_s"].identified
    assert got["overhead"].value == pytest.approx(1, rel=1e-6)
    assert factors(calibrate(run, slow))["eta_bandwidth"].value != pytest.approx(0.55, rel=0.05)


def test_one_batch_size_tells_nothing_apart():
    run = workload(LLAMA_70B)
    slow = measured(run, DecodeFactors(eta_bandwidth=0.55, layer_s=110e-6))
    for points in (log([100.0, 128.0]), log([128.0]), log([4.0, 128.0], layer_s=-20e-6)):
        assert factors(calibrate(run, slow, points))["layer_s"].basis == "prior"


def test_an_engine_without_much_of_a_constant_is_solved_for_it():
    run = workload()
    got = factors(calibrate(run, measured(run, DecodeFactors(eta_bandwidth=0.9, layer_s=5e-6))))
    assert got["layer_s"].value == pytest.approx(5e-6, rel=1e-6) and got["layer_s"].identified
    assert got["eta_bandwidth"].value == 0.9 and got["eta_bandwidth"].basis == "prior"


def test_faster_than_usual_engines_reach_one_share_of_both_peaks():
    run = workload(LLAMA_70B)
    seen = measured(run, DecodeFactors(eta_bandwidth=0.97, eta_flops=0.97, layer_s=0.0))
    got = factors(calibrate(run, seen))
    assert got["eta_bandwidth"].value == pytest.approx(0.97, rel=1e-6) and "layer_s" not in got


def test_more_than_the_peak_is_refused_and_not_clipped():
    machine = replace(ROUND, link_bytes_per_s=1e18)
    run = workload(LLAMA_70B, engines=Pool(machine, 64, "fp8"), trainer=Pool(machine, 64, "bf16"))
    fast = measured(run, DecodeFactors(eta_bandwidth=1.3, eta_flops=1.3, layer_s=0.0))
    found = calibrate(run, fast)
    refusal = next(one for one in found.refusals if one.phase == "rollout")
    assert refusal.value == pytest.approx(1.3, rel=1e-3)
    assert any("GPUs" in cause for cause in refusal.causes) and found.split is None
    assert "eta_bandwidth" not in factors(found)


@pytest.mark.parametrize("phase", ["train", "logprob"])
def test_seconds_of_eight_nodes_beside_the_gpus_of_one_are_refused(phase):
    whole = workload(gpus=256)
    one_node = workload(gpus=8)
    seen = measured(one_node, **{f"{phase}_s": (trained_s if phase == "train" else scored_s)(whole)})
    found = calibrate(one_node, seen)
    refusal = next(one for one in found.refusals if one.phase == phase)
    assert refusal.value == pytest.approx(32 * (ETA_TRAIN if phase == "train" else ETA_LOGPROB))
    assert "count of GPUs" in refusal.causes[0] and "sparsity" in refusal.causes[1]
    assert f"eta_{phase}" not in factors(found)


def test_a_weight_update_faster_than_its_link_is_refused():
    run = workload(mode="one_step_off")
    least_s = 10e9 / (64 * 500e9)
    slow, fast = (calibrate(run, measured(run, sync_s=least_s * by)) for by in (1.01, 0.5))
    assert not slow.refusals
    assert [one.phase for one in fast.refusals] == ["weight_sync"]
    assert fast.refusals[0].value == pytest.approx(2)


def test_prompts_that_leave_no_time_to_decode_are_refused():
    run = workload(prompt_tokens=2_000_000.0, group=1)
    found = calibrate(run, replace(measured(workload()), step_s=None))
    assert found.refused("rollout") and "prefix" in found.refusals[0].causes[0]


def test_long_prompts_take_half_of_the_phase_and_say_so():
    run = workload(prompt_tokens=30_000.0, group=1)
    found = calibrate(run, replace(measured(workload()), step_s=None, train_s=np.array([500.0])))
    eta = factors(found)["eta_prefill"]
    whole = found.split.work_s + found.split.tail_s + found.split.prefill_s
    if eta.value > 0.4:
        assert found.split.prefill_s == pytest.approx(whole / 2, rel=1e-6) and "half" in eta.words
    assert eta.value <= 1 and not eta.identified


def test_phases_that_add_up_to_more_than_the_step_are_refused():
    run = workload()
    seen = measured(run)
    total = float(sum(column[0] for name, column in seen.known.items() if name != "step_s"))
    nested = calibrate(run, replace(seen, step_s=np.array([total / 1.2])))
    assert nested.refused("step") and nested.refusals[0].value == pytest.approx(1.2)
    near = calibrate(run, replace(seen, step_s=np.array([total / 1.05])))
    assert not near.refusals and near.overlap == pytest.approx(1 / 1.05)
    assert factors(near)["overlap"].value == pytest.approx(1 / 1.05) and near.unattributed_s == 0


def test_the_spread_is_that_over_steps():
    run = workload()
    one = measured(run)
    got = factors(calibrate(run, over_steps(one, JITTER)))
    eta = ETA_TRAIN / JITTER
    assert got["eta_train"].value == pytest.approx(ETA_TRAIN / JITTER.mean())
    assert (got["eta_train"].low, got["eta_train"].high) == pytest.approx(tuple(np.quantile(eta, [0.1, 0.9])))
    assert got["eta_train"].n_steps == 5
    assert got["eta_bandwidth"].low < got["eta_bandwidth"].value < got["eta_bandwidth"].high
    assert np.isnan(factors(calibrate(run, one))["eta_train"].low)


@pytest.mark.parametrize("mode", ["sync_disaggregated", "one_step_off"])
def test_two_pools_are_composed_in_their_own_mode(mode):
    run = workload(mode=mode)
    seen = measured(run)
    t = {name: column[0] for name, column in seen.known.items()}
    engines, trainer = t["rollout_s"] + t["env_s"], t["logprob_s"] + t["train_s"]
    cycle = engines + trainer if mode == "sync_disaggregated" else max(engines, trainer)
    found = calibrate(run, seen)
    assert found.unattributed_s == pytest.approx(t["step_s"] - cycle - t["sync_s"] - t["other_s"])
    assert factors(found)["eta_bandwidth"].value == pytest.approx(0.62, rel=1e-6)


def streaming(lag, batch, eta, **changed):
    """A run that keeps `batch` sequences a replica in flight, with seconds of a decode step by the model."""
    run = workload(mode="async", lag=lag, **changed)
    load = DecodeLoad(batch, 500 + run.lengths.mean_residual, 8, 1.0, 1.0, attention_tp=8)
    step_s = float(decode_step(DENSE, load, Rates.of(ROUND, "fp8"), DecodeFactors(eta_bandwidth=eta)).total_s)
    prompts_s = calibrate(workload(), measured(workload())).split.prefill_s
    work_s = 128 * run.lengths.mean / batch * step_s
    return run, work_s, step_s, calibrate(run, measured(run, rollout_s=work_s + prompts_s))


def test_a_cap_of_running_sequences_tells_what_streams_achieve():
    run, work_s, step_s, found = streaming(7.0, 64.0, 0.62, max_batch=64)
    assert factors(found)["eta_bandwidth"].value == pytest.approx(0.62, rel=1e-6)
    assert found.operating.batch == 64 and found.split.work_s == pytest.approx(work_s)
    longest_s = float(run.lengths.expected_longest(1024)) * step_s
    assert longest_s < 8 * work_s and found.split.waits
    assert found.split.tail_s == pytest.approx(longest_s - work_s)


def test_streams_without_a_cap_hold_what_usual_engines_need():
    _, work_s, _, found = streaming(7.0, 100.0, 0.9)
    assert found.operating.batch == pytest.approx(100, rel=1e-6) and found.split.work_s == pytest.approx(
        work_s
    )
    flight = factors(found)["in_flight"]
    assert (flight.low, flight.high) == (1, 8 * 128) and not flight.identified and flight.basis == "prior"
    assert factors(found)["eta_bandwidth"].basis == "prior"


def test_streams_faster_than_usual_are_solved_at_their_largest_batch():
    _, _, _, found = streaming(0.0, 128.0, 0.97)
    assert found.operating.batch == 128
    assert factors(found)["eta_bandwidth"].value == pytest.approx(0.97, rel=1e-6)


def test_responses_that_outlast_the_lag_hold_up_no_step():
    _, _, _, found = streaming(1.0, 128.0, 0.9)
    late = factors(found)["longest_response"]
    assert late.value > 1 and "dropped" in late.words and not found.refusals
    assert found.split.tail_s == 0 and not found.split.waits


def test_streams_that_no_batch_explains_are_refused():
    run = workload(mode="async", lag=1.0)
    ideal = DecodeLoad(256.0, 500 + run.lengths.mean_residual, 8, 1.0, 1.0, attention_tp=8)
    bound_s = decode_step(
        DENSE, ideal, Rates.of(ROUND, "fp8"), DecodeFactors(1.0, 1.0, 1.0, 1.0, 0.0)
    ).bound_s
    least_s = 128 * run.lengths.mean / 256 * float(bound_s)
    found = calibrate(run, measured(run, rollout_s=least_s * 0.8))
    assert found.refused("rollout") and found.refusals[0].value == pytest.approx(1 / 0.8, rel=0.02)


def test_a_mean_alone_does_not_tell_a_tail():
    run = workload(lengths=point(3000.0), tail_known=False)
    found = calibrate(run, measured(workload()))
    tail = factors(found)["tail_frac"]
    assert (tail.low, tail.value, tail.high) == pytest.approx((0.2, 0.5, 0.8))
    assert tail.basis == "prior" and not tail.identified and "p95" in tail.words
    assert not factors(found)["eta_bandwidth"].identified
    assert found.split.work_s == pytest.approx(found.split.tail_s)


def test_an_unknown_tail_leaves_the_work_what_its_peaks_need():
    """Engines near the peak: a tail of 80 % would put the work above it."""
    run = workload(LLAMA_70B, lengths=point(3000.0), tail_known=False)
    known = measured(replace(run, tail_known=True), DecodeFactors(eta_bandwidth=0.95, layer_s=5e-6))
    found = calibrate(run, known)
    low, _, high = found.split.tail_range
    least_s = (1 - high) * (found.split.work_s + found.split.tail_s)
    ideal = DecodeLoad(128.0, 500 + 1500, 8, 1.0, 1.0, attention_tp=8)
    step_s = decode_step(LLAMA_70B, ideal, Rates.of(ROUND, "fp8"), DecodeFactors(1.0, 1.0, 1.0, 1.0, 0.0))
    assert 0 < low < high < 0.8 and least_s == pytest.approx(3000 * float(step_s.bound_s))
    assert not found.refusals


def test_unknown_facts_are_named():
    dark = Pool(UNPUBLISHED, 64, "bf16")
    run = workload(engines=dark, trainer=replace(dark, precision="fp8"))
    found = calibrate(run, measured(workload()))
    assert found.split is None and "eta_train" not in factors(found) and not found.refusals
    assert set(found.unknown) == {
        "unpublished: hbm_bytes_per_s", "unpublished: hbm_bytes", "unpublished: fp8_dense_flops",
    }  # fmt: skip


def test_a_model_that_fits_no_replica_is_named():
    run = workload(LLAMA_70B, replica_gpus=1, engines=Pool(replace(ROUND, hbm_bytes=40e9), 64, "bf16"))
    found = calibrate(run, measured(workload()))
    assert found.unknown == ("round: no sequence fits a replica of 1 GPUs on 64",)


def test_a_replica_is_chosen_where_the_run_does_not_say_one():
    run = workload(LLAMA_70B, replica_gpus=None)
    found = calibrate(run, measured(workload(LLAMA_70B)))
    assert found.operating.replica_gpus in (1, 2, 4, 8)
    bigger = replace(run, engines=Pool(TWICE, 64, "fp8"), trainer=Pool(TWICE, 64, "bf16"))
    wide = calibrate(bigger, measured(workload(LLAMA_70B)))
    assert wide.operating.replicas * wide.operating.replica_gpus <= 64


def test_what_was_not_timed_is_unattributed():
    run = workload()
    seen = measured(run)
    part = calibrate(run, replace(seen, logprob_s=None, env_s=None))
    assert part.unattributed_s == pytest.approx(3 + seen.logprob_s[0] + 6)
    assert "eta_logprob" not in factors(part)
    whole = calibrate(run, Measured(step_s=np.array([100.0, 110.0])))
    assert whole.step_s == 105 and not whole.factors and whole.split is None
    with pytest.raises(ValueError, match="no step"):
        calibrate(run, Measured())
    composed = calibrate(run, replace(seen, step_s=None, unattributed_s=np.array([4.0])))
    assert composed.unattributed_s == 4 and composed.step_s == pytest.approx(seen.step_s[0] + 1)


def test_an_unsaid_replica_is_the_one_that_tells_the_seconds():
    """The best rate would be another replica than the one of two GPUs that made the seconds."""
    told = workload(LLAMA_70B, replica_gpus=2)
    seen = measured(told, DecodeFactors())
    found = calibrate(replace(told, replica_gpus=None), seen)
    assert found.operating.replica_gpus == 2
    size = factors(found)["replica_gpus"]
    assert size.basis == "prior" and not size.identified and size.low <= 2 <= size.high
    assert factors(found)["eta_bandwidth"].value == pytest.approx(0.9, rel=1e-3)


def test_no_replica_is_refused_while_another_explains_the_seconds():
    """Spread experts leave all of the attention to every GPU of a wide replica: that alone takes longer
    than engines that split every matrix 32 ways, which is what made the seconds.
    """
    small = replace(ROUND, hbm_bytes=60e9)
    pools = {"engines": Pool(small, 256, "fp8"), "trainer": Pool(small, 256, "bf16")}
    told = workload(DEEPSEEK_V3, replica_gpus=32, **pools)
    seen = measured(told, DecodeFactors(eta_bandwidth=0.9, layer_s=2e-6))
    spread = operate(told, told.engines, 32, spread=True)
    assert fit_rollout(told, spread, seen.rollout_s).refusals[0].value > 1
    assert not calibrate(told, seen).refusals
    free = calibrate(replace(told, replica_gpus=None), seen)
    assert not free.refusals and not free.operating.expert_parallel
    nothing = replace(seen, rollout_s=seen.rollout_s / 50, step_s=None)
    assert calibrate(replace(told, replica_gpus=None), nothing).refused("rollout")
