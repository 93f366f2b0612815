"""Carrying a published figure to another platform: hand-worked values and what must hold for any."""

from dataclasses import replace

import numpy as np
import pytest

from models.shapes import Llm
from models.transfer import (
    DECODE_GRID,
    PRIOR_SHARES,
    Chip,
    DecodeCase,
    StepCase,
    TrainingCase,
    decode_log_ratios,
    decode_terms,
    fixed_share,
    shared_gap,
    step_ratio,
    training_log_ratio,
)

DENSE = Llm(
    model_id="dense",
    params_total=70e9,
    params_active=70e9,
    layers=80,
    hidden=8192,
    n_heads=64,
    n_kv_heads=8,
    head_dim=128,
    attention="gqa",
    kv_bytes_per_token_bf16=327_680,
    vocab=128_256,
    max_context=131_072,
    attn_layers=80,
)
READ = 70e9 - 128_256 * 8192  # a table of input embeddings is looked up, not read
OLD = Chip(flops=2e15, hbm_bytes_per_s=3.35e12, hbm_bytes=80e9)
NEW = Chip(flops=4.5e15, hbm_bytes_per_s=8e12, hbm_bytes=180e9)
CASE = DecodeCase(
    llm=DENSE, a=OLD, b=NEW, gpus=4, batch=16, prompt=1024, output=1024, tpot_s=9e-3,
    bytes_per_weight=1, kv_bytes=1,
)  # fmt: skip


def test_terms_by_hand():
    memory, compute = decode_terms(CASE, OLD)
    cache = 1536 * 163_840
    assert memory == pytest.approx((READ + 16 * cache) / (4 * 3.35e12))
    assert compute == pytest.approx(2 * 70e9 * 16 * 2 / (4 * 2e15))


def test_the_batch_is_capped_by_memory_only_where_gpus_are_known():
    many = replace(CASE, batch=5000, gpus=1, a=replace(OLD, hbm_bytes=100e9))
    room = (0.9 * 100e9 - 70e9) / (1536 * 163_840)
    memory, _ = decode_terms(many, many.a)
    assert memory == pytest.approx((READ + room * 1536 * 163_840) / 3.35e12)
    free, _ = decode_terms(replace(many, gpus_known=False), many.a)
    assert free == pytest.approx((READ + 5000 * 1536 * 163_840) / 3.35e12)


def test_same_chip_keeps_the_time():
    assert decode_log_ratios(replace(CASE, b=OLD)) == pytest.approx(0, abs=1e-12)
    assert len(decode_log_ratios(CASE)) == len(DECODE_GRID)


def test_a_constant_step_does_not_follow_the_bandwidth():
    slow = np.exp(decode_log_ratios(replace(CASE, tpot_s=1.0)).mean())
    bound = np.exp(decode_log_ratios(replace(CASE, tpot_s=6e-3)).mean())
    assert slow == pytest.approx(1, abs=0.01)
    assert 3.35 / 8 < bound < 0.7


def test_more_bandwidth_is_never_slower():
    ratios = [
        decode_log_ratios(replace(CASE, b=replace(NEW, hbm_bytes_per_s=rate))).mean()
        for rate in (3e12, 5e12, 8e12, 22e12)
    ]
    assert ratios == sorted(ratios, reverse=True)


def test_without_a_shape_half_follows_the_bandwidth():
    blind = decode_log_ratios(replace(CASE, llm=None))
    assert np.median(np.exp(blind)) == pytest.approx(0.5 + 0.5 * 3.35 / 8)
    assert blind.std() > 0.1


def test_shared_gap_believes_one_model_by_half():
    assert shared_gap(np.array([]), []) == 0
    assert shared_gap(np.array([0.2, 0.4, 0.3]), ["m"] * 3) == pytest.approx(0.15)
    assert shared_gap(np.array([0.3, 0.6]), ["m", "n"]) == pytest.approx(0.3)


def training(b: str, **changed: object) -> TrainingCase:
    base = TrainingCase(
        platform_a="gb200-nvl72", platform_b=b, precision="fp8", moe=False, base=0.1, format_gain=0.0,
        cross=False, minutes=False, model_parallel=None, cell=b,
    )  # fmt: skip
    return replace(base, **changed)


def test_training_learns_a_platform_from_other_pairs():
    cases = [training("gb300-nvl72", cell=str(i)) for i in range(40)] + [
        training("gb300-nvl72"),
        training("x"),
    ]
    train = np.arange(42) < 40
    found = training_log_ratio(cases, np.full(42, 0.3), train, ~train)
    assert found[0] == pytest.approx(0.3, abs=0.01)
    assert found[1] == pytest.approx(0.1, abs=0.05)


def test_training_knows_peaks_when_it_knows_nothing_else():
    cases = [training("gb300-nvl72", base=0.5, format_gain=0.4)]
    nobody = np.array([False])
    assert training_log_ratio(cases, np.array([9.0]), nobody, ~nobody) == pytest.approx([0.7])


def test_a_measured_row_never_reaches_its_own_prediction():
    cases = [training("gb300-nvl72", cell=str(i)) for i in range(6)]
    train = np.arange(6) < 5
    measured = np.array([0.3, 0.2, 0.25, 0.3, 0.2, 0.0])
    first = training_log_ratio(cases, measured, train, ~train)
    measured[5] = 9.0
    assert training_log_ratio(cases, measured, train, ~train) == pytest.approx(first)


def test_step_by_hand():
    case = StepCase(bandwidth=2.0, flops=2.5, gpus=0.5)
    assert step_ratio(case, PRIOR_SHARES) == pytest.approx(0.5 * (0.5 + 0.5 / 1.0) + 0.4 / 1.25 + 0.1)
    assert step_ratio(case, PRIOR_SHARES, 1.0) == 1
    assert step_ratio(StepCase(1, 1, 1), PRIOR_SHARES) == pytest.approx(1)


def test_fixed_share_is_shrunk_by_models():
    assert fixed_share(np.array([]), np.array([]), []) == 0
    assert fixed_share(np.array([0.9]), np.array([0.8]), ["m"]) == pytest.approx(0.25)
    both = fixed_share(np.array([1.2, 0.9]), np.array([0.8, 0.8]), ["m", "n"])
    assert both == pytest.approx((1.0 + 0.5) / 3)
    assert fixed_share(np.array([0.9]), np.array([1.0]), ["m"]) == 0
