"""Bytes and FLOP of model shapes: hand-worked values, limits, and what must rise with what."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.shapes import num, precision_class
from tests.models.llms import DEEPSEEK_V3, DENSE, GPT_OSS, HYBRID, LLAMA_70B, MOE


def test_a_latent_cache_holds_576_values_a_layer():
    for width in (1.0, 2.0):
        assert DEEPSEEK_V3.kv_bytes_per_token(width) == 61 * 576 * width
    assert DEEPSEEK_V3.kv_bytes(1000, 1.0) == 1000 * 61 * 576


def test_grouped_heads_hold_keys_and_values():
    assert LLAMA_70B.kv_bytes_per_token(2.0) == 2 * 80 * 8 * 128 * 2
    assert LLAMA_70B.kv_bytes_per_token(1.0) == 163840


def test_a_sliding_window_fills_up_and_stays():
    assert GPT_OSS.window_tokens == 128
    full, window = 18 * 2 * 8 * 64 * 2, 18 * 2 * 8 * 64 * 2
    assert GPT_OSS.kv_bytes(64, 2.0) == 64 * (full + window)
    assert GPT_OSS.kv_bytes(10_000, 2.0) == 10_000 * full + 128 * window
    assert GPT_OSS.kv_bytes(10_000, 1.0) == GPT_OSS.kv_bytes(10_000, 2.0) / 2


def test_a_recurrent_state_is_whole_from_the_first_token_and_keeps_its_precision():
    assert HYBRID.kv_bytes(0, 1.0) == HYBRID.recurrent_bytes == 49082368
    assert HYBRID.kv_bytes(1000, 1.0) - HYBRID.kv_bytes(0, 1.0) == 1000 * 3072
    assert HYBRID.window_tokens == 0 and HYBRID.moe_layers == 23
    assert LLAMA_70B.recurrent_bytes == GPT_OSS.recurrent_bytes == 0


def test_one_token_reads_the_active_weights_and_many_read_all():
    assert MOE.weights_touched(1) == pytest.approx(10e9)
    assert MOE.weights_touched(1e6) == pytest.approx(100e9)
    assert MOE.experts_hit(1) == pytest.approx(10)
    assert MOE.experts_hit(2) == pytest.approx(10 + 9)  # the second token's ten miss the first ten by 0.9
    assert MOE.weights_touched(2) == pytest.approx(10e9 + 9e9)
    assert MOE.weights_touched(0.01) == pytest.approx(10e9)


def test_a_dense_model_is_one_expert_that_is_always_active():
    alone = replace(DENSE, experts=1, experts_active=1, dense_layers=0)
    batches = np.array([1.0, 7.0, 1e4])
    assert (alone.weights_touched(batches) == DENSE.weights_touched(batches)).all()
    assert alone.one_expert == 0 and not alone.is_moe
    assert alone.params_shared == DENSE.params_shared == 10e9


def test_experts_and_what_they_share_add_up():
    for llm in (MOE, DEEPSEEK_V3, GPT_OSS, HYBRID):
        assert llm.params_shared + llm.experts * llm.one_expert == pytest.approx(llm.params_total)
        assert llm.params_shared + llm.experts_active * llm.one_expert == pytest.approx(llm.params_active)
    # DeepSeek-V3: 58 layers of 3 matrices 7168 x 2048
    assert DEEPSEEK_V3.one_expert == pytest.approx(58 * 3 * 7168 * 2048, rel=2e-3)


@given(st.floats(1, 1e5), st.floats(1, 1e5))
def test_more_tokens_touch_no_fewer_weights(one, other):
    low, high = sorted((one, other))
    for llm in (MOE, DEEPSEEK_V3, DENSE):
        assert llm.weights_touched(low) <= llm.weights_touched(high) * (1 + 1e-12)
        assert llm.weights_touched(high) <= llm.params_total


def test_training_flop_of_a_dense_model_by_hand():
    embedding = 128256 * 8192
    by_hand = 6 * (70.55e9 - embedding) + 6 * 80 * 64 * 128 * 4096
    assert LLAMA_70B.flops_per_token_train(4096) == pytest.approx(by_hand)
    assert LLAMA_70B.flops_per_token_train(4096, "full") == pytest.approx(by_hand * 4 / 3)
    assert LLAMA_70B.flops_per_token_forward(4096) == pytest.approx(by_hand / 3)
    with pytest.raises(ValueError, match="recompute"):
        LLAMA_70B.flops_per_token_train(4096, "some")


def test_a_window_costs_less_attention_than_the_whole_context():
    whole = replace(GPT_OSS, attn_layers=36, state_bytes_per_seq=None)
    assert GPT_OSS.attention_flops_forward(100) == pytest.approx(whole.attention_flops_forward(100))
    long = GPT_OSS.attention_flops_forward(100_000) / whole.attention_flops_forward(100_000)
    assert 0.5 < long < 0.502
    # a token sees w - w^2 / 2S others on average
    near = 4 * 64 * 64 * 18 * (128 - 128**2 / 2000)
    assert GPT_OSS.attention_flops_forward(1000) == pytest.approx(near + 4 * 64 * 64 * 18 * 500)


def test_decode_attention_in_latent_space():
    assert DEEPSEEK_V3.attention_flops_decode(1) == 61 * 2 * 128 * (2 * 512 + 64)
    assert LLAMA_70B.attention_flops_decode(1000) == 4 * 80 * 64 * 128 * 1000


def test_arrays_broadcast_and_the_unknown_stays_unknown():
    grid = MOE.weight_bytes_read(np.array([[1.0], [4.0]]), np.array([1.0, 2.0, math.nan]))
    assert grid.shape == (2, 3) and np.isnan(grid[:, 2]).all() and not np.isnan(grid[:, :2]).any()
    assert math.isnan(num(None)) and num(2) == 2.0


def test_names_of_precisions():
    assert [precision_class(p) for p in ("BF16", "FP8-MX/sub", "MXFP4", "nvfp4", "fp8_e4m3")] == [
        "bf16",
        "fp8",
        "fp4",
        "fp4",
        "fp8",
    ]
    with pytest.raises(ValueError, match="unknown precision"):
        precision_class("int3")


def test_impossible_shapes_are_refused():
    with pytest.raises(ValueError, match="active parameters"):
        replace(DENSE, params_active=11e9)
    with pytest.raises(ValueError, match="experts"):
        replace(MOE, experts_active=101)
