"""Peaks of machines: what was not published stays unknown through every model."""

import math

import numpy as np

from models.decode import DecodeFactors, DecodeLoad, capacity, decode_step
from models.machine import Rates
from tests.models.llms import LLAMA_70B, ROUND, TWICE, UNPUBLISHED


def test_peaks_by_name_of_precision():
    assert ROUND.flops_at("MXFP8") == 2e15
    assert math.isnan(ROUND.flops_at("nvfp4")) and math.isnan(UNPUBLISHED.flops_at("fp8"))


def test_missing_facts_have_names():
    assert UNPUBLISHED.missing("fp8", "hbm_bytes_per_s", "domain_gpus") == (
        "fp8_dense_flops",
        "hbm_bytes_per_s",
    )
    assert ROUND.missing("bf16", "hbm_bytes") == ()


def test_an_unpublished_peak_makes_the_total_unknown_and_no_other_platform():
    rates = Rates.stack([ROUND, UNPUBLISHED, TWICE], "bf16")
    load = DecodeLoad(batch=8.0, context=1000.0, gpus=4, weight_bytes=2.0, kv_bytes=2.0)
    step = decode_step(LLAMA_70B, load, rates, DecodeFactors())
    assert np.isnan(np.asarray(step.total_s)).tolist() == [False, True, False]
    assert np.isnan(np.asarray(capacity(LLAMA_70B, load, rates).batch)).tolist() == [False, True, False]


def test_draws_run_along_the_first_axis_and_platforms_along_the_last():
    rates = Rates.stack([ROUND, TWICE], "fp8")
    eta = np.linspace(0.5, 1.0, 11)[:, None]
    load = DecodeLoad(batch=8.0, context=1000.0, gpus=4, weight_bytes=1.0, kv_bytes=1.0)
    total = np.asarray(decode_step(LLAMA_70B, load, rates, DecodeFactors(eta_bandwidth=eta)).total_s)
    assert total.shape == (11, 2)
    one = decode_step(LLAMA_70B, load, Rates.of(TWICE, "fp8"), DecodeFactors(eta_bandwidth=float(eta[3, 0])))
    assert total[3, 1] == one.total_s
