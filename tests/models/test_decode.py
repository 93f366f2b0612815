"""One decode step: parts by hand, limits in the batch, and what scales with which peak."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.decode import (
    LAYER_S,
    DecodeFactors,
    DecodeLoad,
    capacity,
    decode_step,
    held_bytes,
    kv_copies,
    prefill_tokens_per_step,
)
from models.machine import Rates
from tests.models.llms import DEEPSEEK_V3, DENSE, HYBRID, LLAMA_70B, MOE, ROUND, TWICE

IDEAL = DecodeFactors(eta_bandwidth=1.0, eta_flops=1.0, eta_prefill=1.0, eta_link=1.0, layer_s=0.0)
ROUND_BF16 = Rates.of(ROUND, "bf16")
LOAD = DecodeLoad(batch=10.0, context=1000.0, gpus=1, weight_bytes=2.0, kv_bytes=2.0)


def test_parts_of_a_step_by_hand():
    step = decode_step(DENSE, LOAD, ROUND_BF16, replace(IDEAL, layer_s=80e-6))
    assert step.weights_s == pytest.approx(20e9 / 4e12)  # 5 ms
    assert step.kv_s == pytest.approx(10 * 1000 * 160_000 / 4e12)  # 0.4 ms
    assert step.compute_s == pytest.approx(10 * (20e9 + 4 * 40 * 32 * 125 * 1000) / 1e15)
    assert step.constant_s == pytest.approx(3.2e-3)
    assert step.link_s == 0 and step.prefill_s == 0
    assert step.bound_s == step.memory_s
    assert step.total_s == pytest.approx(0.005 + 0.0004 + 0.0032)


def test_a_small_batch_is_bound_by_memory_and_a_large_one_by_compute():
    short = replace(LOAD, context=0.0)
    one = decode_step(DENSE, replace(short, batch=1e-9), ROUND_BF16, IDEAL)
    assert one.total_s == pytest.approx(20e9 / 4e12)  # B -> 0: the weights once
    many = decode_step(DENSE, replace(short, batch=1e7), ROUND_BF16, IDEAL)
    assert many.total_s == pytest.approx(1e7 * 20e9 / 1e15)  # B -> inf: all FLOP at the peak
    ridge = 1e15 * 2 / (2 * 4e12)  # bytes a weight x FLOP/s over 2 x bandwidth
    at = decode_step(DENSE, replace(short, batch=ridge), ROUND_BF16, IDEAL)
    assert at.memory_s == pytest.approx(at.compute_s)


def test_a_mixture_reads_its_active_weights_for_one_and_all_for_many():
    one = decode_step(MOE, replace(LOAD, batch=1.0), ROUND_BF16, IDEAL)
    many = decode_step(MOE, replace(LOAD, batch=1e4), ROUND_BF16, IDEAL)
    assert one.weights_s == pytest.approx(20e9 / 4e12)
    assert many.weights_s == pytest.approx(200e9 / 4e12)


def test_only_memory_scales_with_bandwidth_and_the_constant_with_nothing():
    faster = Rates(1e15, 8e12, 100e9, 500e9, 8)
    factors = DecodeFactors()
    load = replace(LOAD, prefill_tokens=100.0, gpus=4)
    slow = decode_step(DENSE, load, ROUND_BF16, factors)
    fast = decode_step(DENSE, load, faster, factors)
    assert fast.memory_s == pytest.approx(slow.memory_s / 2)
    assert (fast.constant_s, fast.prefill_s, fast.link_s) == (slow.constant_s, slow.prefill_s, slow.link_s)
    assert slow.total_s < 2 * fast.total_s


def test_prompts_between_steps_cost_their_flop():
    assert prefill_tokens_per_step(65.0, 1000.0, 2000.0) == 32
    assert prefill_tokens_per_step(65.0, 1000.0, 2000.0, 0.75) == 8
    assert prefill_tokens_per_step(1.0, 1000.0, 2000.0) == 0
    load = replace(LOAD, prefill_tokens=32.0, prompt_tokens=1000.0)
    step = decode_step(DENSE, load, ROUND_BF16, replace(IDEAL, eta_prefill=0.5))
    assert step.prefill_s == pytest.approx(32 * DENSE.flops_per_token_forward(1000) / 0.5e15)


def test_bytes_on_the_links_by_hand():
    tensor = decode_step(DENSE, replace(LOAD, gpus=4, attention_tp=4), ROUND_BF16, IDEAL)
    assert tensor.link_s == pytest.approx(40 * 2 * (2 * 3 / 4) * 10 * 4000 * 2 / 500e9)
    spread = replace(LOAD, gpus=4, attention_tp=1, expert_parallel=True, batch=8.0)
    expert = decode_step(MOE, spread, ROUND_BF16, IDEAL)
    # a GPU has 2 tokens: 10 copies in one byte, back in two, 3 of 4 leave
    assert expert.link_s == pytest.approx(40 * 2 * 10 * 4000 * 3 * 3 / 4 / 500e9)


def test_a_latent_cache_is_copied_to_every_tensor_rank():
    split = replace(LOAD, gpus=8, attention_tp=8)
    assert kv_copies(DEEPSEEK_V3, split) == 8
    assert kv_copies(DEEPSEEK_V3, replace(split, attention_tp=1)) == 1
    assert kv_copies(LLAMA_70B, split) == 1
    assert kv_copies(LLAMA_70B, replace(split, gpus=16, attention_tp=16)) == 2
    # a recurrent state is split by heads, its cache of two heads is copied
    assert held_bytes(HYBRID, split) == pytest.approx(4 * 1000 * 6144 + 49082368)


def test_spread_experts_keep_a_copy_of_the_rest_on_every_attention_group():
    spread = replace(LOAD, gpus=8, attention_tp=2, expert_parallel=True)
    held = capacity(MOE, spread, ROUND_BF16).weight_bytes
    assert held == pytest.approx(2 * (MOE.params_total + 3 * MOE.params_shared))


def test_memory_caps_the_batch():
    fits = capacity(DENSE, LOAD, ROUND_BF16, other_bytes=6e9)
    assert fits.cache_bytes == pytest.approx(90e9 - 20e9 - 6e9)
    assert fits.batch == 400  # 64 GB over 160 MB
    assert capacity(MOE, LOAD, ROUND_BF16).batch == 0  # 200 GB of weights on 100 GB
    twice = capacity(DENSE, LOAD, Rates.of(TWICE, "bf16"), other_bytes=6e9)
    assert twice.batch == 962  # 154 GB: more than twice as many, weights are held once


def test_the_constant_is_what_was_fitted():
    assert LAYER_S == (70e-6, 80e-6, 90e-6)
    assert [80e3 * each for each in LAYER_S] == pytest.approx([5.6, 6.4, 7.2])  # ms over 80 layers


@given(
    batch=st.floats(1, 4096),
    context=st.floats(1, 1e5),
    grow=st.floats(1, 10),
    llm=st.sampled_from([DENSE, MOE, DEEPSEEK_V3, HYBRID]),
)
def test_a_step_grows_with_batch_and_context_and_shrinks_with_every_peak(batch, context, grow, llm):
    load = replace(LOAD, batch=batch, context=context, gpus=8, attention_tp=8)
    base = decode_step(llm, load, ROUND_BF16, DecodeFactors()).total_s
    slack = base * 1e-9
    assert (
        decode_step(llm, replace(load, batch=batch * grow), ROUND_BF16, DecodeFactors()).total_s
        >= base - slack
    )
    longer = decode_step(llm, replace(load, context=context * grow), ROUND_BF16, DecodeFactors())
    assert longer.total_s >= base - slack
    for name in ("flops", "hbm_bytes_per_s", "link_bytes_per_s"):
        better = replace(ROUND_BF16, **{name: getattr(ROUND_BF16, name) * grow})
        assert decode_step(llm, load, better, DecodeFactors()).total_s <= base + slack
    assert np.isfinite(base) and base > 0
