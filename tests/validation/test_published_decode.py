"""The decode model on published serving points: its constants, and what it says of a chip it never saw."""

import functools

import numpy as np
import pytest

from tests.validation.published import Points, decode_points, errors, fitted

PLATFORMS = ("h100-sxm", "h200-sxm", "b200-hgx")


@functools.cache
def llama(platform: str) -> Points:
    return decode_points("llama-3.1-70b", platform, "fp8")


@pytest.mark.parametrize("platform", PLATFORMS)
def test_three_terms_describe_llama_70b_in_fp8(platform):
    """Bandwidth efficiency near 0.9 to 1, 5 to 7 ms over 80 layers, prefill well below its peak."""
    points = llama(platform)
    factors = fitted(points)
    assert 0.8 < 1 / factors[0] < 1.06
    assert 60e-6 < factors[1] < 90e-6
    assert 0.2 < 1 / factors[2] < 0.6
    assert np.median(np.abs(errors(points, factors))) < 0.11


@pytest.mark.parametrize(
    ("seen", "unseen", "within"),
    [
        ("h100-sxm", "b200-hgx", 0.14),
        ("h100-sxm", "h200-sxm", 0.14),
        ("h200-sxm", "b200-hgx", 0.10),
        ("h200-sxm", "h100-sxm", 0.17),
        ("b200-hgx", "h100-sxm", 0.12),
        ("b200-hgx", "h200-sxm", 0.14),
    ],
)
def test_the_terms_carry_to_a_chip_they_never_saw(seen, unseen, within):
    """Median error 9 to 16 %; one efficiency for the whole step is off by at least half as much again."""
    known, target = llama(seen), llama(unseen)
    three = np.median(np.abs(errors(target, fitted(known))))
    assert three < within
    roof = known.terms[:, 0]
    one_eta = np.median(known.measured_s / roof)
    one = np.median(np.abs(one_eta * target.terms[:, 0] / target.measured_s - 1))
    assert one > 1.5 * three


def test_the_constant_hardly_changes_over_generations_and_models():
    constants = {p: fitted(llama(p))[1] for p in PLATFORMS}
    constants["oss"] = fitted(decode_points("gpt-oss-120b", "h200-sxm", "fp4", "bf16"))[1]
    assert max(constants.values()) < 1.8 * min(constants.values())


@pytest.mark.parametrize(
    ("platform", "engine", "within"),
    [
        ("h200-sxm", "sglang", 0.05),
        ("h200-sxm", "trtllm", 0.06),
        ("b200-hgx", "sglang", 0.11),
        ("b200-hgx", "trtllm", 0.13),
    ],
)
def test_three_terms_describe_a_latent_cache_and_experts(platform, engine, within):
    """DeepSeek-V3 and R1 in FP8 on eight GPUs, every matrix split: copies of the cache count."""
    points = decode_points(
        "deepseek-v3", platform, "fp8", engine=engine, tp="8", moe_tp="8", moe_ep="1", attn_dp="1"
    )
    assert len(points.measured_s) >= 15
    factors = fitted(points)
    assert np.median(np.abs(errors(points, factors))) < within
    assert 50e-6 < factors[1] < 180e-6
