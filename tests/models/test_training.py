"""A policy update: parts by hand, MFU, recomputation, bubbles, and priors within what was published."""

from dataclasses import replace

import pytest

from models.machine import Rates
from models.training import MFU_PRIORS, TrainLoad, implied_mfu, training
from tests.models.llms import DENSE, LLAMA_70B, MOE, ROUND, TWICE

RATES = Rates.of(ROUND, "bf16")
LOAD = TrainLoad(tokens=1e6, seq_len=2000.0, gpus=8)


def test_parts_by_hand():
    got = training(DENSE, LOAD, RATES, eta=0.5)
    assert got.matrices_s == pytest.approx(1e6 * 6 * 10e9 / (8 * 0.5e15))  # 15 s
    assert got.attention_s == pytest.approx(1e6 * 6 * 40 * 32 * 125 * 2000 / (8 * 0.5e15))
    assert (got.recompute_s, got.padding_s, got.bubble_s, got.optimiser_s) == (0, 0, 0, 0)
    assert got.total_s == pytest.approx(15 + 0.48)
    assert got.mfu == pytest.approx(0.5)


def test_recomputation_costs_a_third_and_does_not_count_as_useful():
    plain, again = (training(DENSE, replace(LOAD, recompute=r), RATES, eta=0.5) for r in ("none", "full"))
    assert again.total_s == pytest.approx(plain.total_s * 4 / 3)
    assert again.mfu == pytest.approx(0.375)
    with pytest.raises(ValueError, match="recompute"):
        training(DENSE, replace(LOAD, recompute="selective"), RATES, eta=0.5)


def test_pipeline_bubble_padding_and_optimiser():
    busy = training(DENSE, LOAD, RATES, eta=0.5).total_s
    piped = training(DENSE, replace(LOAD, stages=8, virtual=2, microbatches=14), RATES, eta=0.5)
    assert piped.bubble_s == pytest.approx(busy * 7 / 28)
    padded = training(DENSE, replace(LOAD, pad_frac=0.2), RATES, eta=0.5)
    assert padded.total_s == pytest.approx(busy / 0.8) and padded.mfu == pytest.approx(0.4)
    stepped = training(DENSE, replace(LOAD, updates=16), RATES, eta=0.5, optimiser_s=0.25)
    assert stepped.optimiser_s == 4 and stepped.total_s == pytest.approx(busy + 4)


def test_a_mixture_pays_for_active_weights_only():
    dense, mixture = (training(llm, replace(LOAD, seq_len=0.0), RATES, eta=0.4) for llm in (DENSE, MOE))
    assert mixture.total_s == pytest.approx(dense.total_s)


def test_twice_the_peak_halves_the_update_and_more_gpus_divide_it():
    base = training(DENSE, LOAD, RATES, eta=0.4).total_s
    assert training(DENSE, LOAD, Rates.of(TWICE, "bf16"), eta=0.4).total_s == pytest.approx(base / 2)
    assert training(DENSE, replace(LOAD, gpus=32), RATES, eta=0.4).total_s == pytest.approx(base / 4)


def test_implied_mfu_is_the_inverse():
    total = training(LLAMA_70B, LOAD, RATES, eta=0.37).total_s
    assert implied_mfu(LLAMA_70B, 1e6 / total / 8, 2000.0, RATES) == pytest.approx(0.37)


def test_priors_rise_and_never_pass_the_peak():
    for low, usual, high in MFU_PRIORS.values():
        assert 0 < low < usual <= high < 0.6
