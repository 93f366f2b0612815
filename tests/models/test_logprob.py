"""Scoring: a third of training's FLOP, an efficiency of its own, nothing when the ratio is forced."""

from dataclasses import replace

import pytest

from models.logprob import SHARE_OF_TRAINING, LogprobLoad, logprob
from models.machine import Rates
from models.training import TrainLoad, training
from tests.models.llms import LLAMA_70B, ROUND

RATES = Rates.of(ROUND, "bf16")
LOAD = LogprobLoad(tokens=1e6, seq_len=3000.0, gpus=16)


def test_one_pass_at_the_same_efficiency_is_a_third_of_training():
    train = training(LLAMA_70B, TrainLoad(tokens=1e6, seq_len=3000.0, gpus=16), RATES, eta=0.4)
    assert logprob(LLAMA_70B, LOAD, RATES, eta=0.4).total_s == pytest.approx(train.total_s / 3)
    measured = [
        logprob(LLAMA_70B, LOAD, RATES, eta=0.4 / 3 / s).total_s / train.total_s for s in SHARE_OF_TRAINING
    ]
    assert measured == pytest.approx(list(SHARE_OF_TRAINING))


def test_parts_by_hand_and_passes_and_padding():
    got = logprob(LLAMA_70B, LOAD, RATES, eta=0.5)
    assert got.matrices_s == pytest.approx(1e6 * 2 * (70.55e9 - 128256 * 8192) / (16 * 0.5e15))
    assert got.attention_s == pytest.approx(1e6 * 2 * 80 * 64 * 128 * 3000 / (16 * 0.5e15))
    both = logprob(LLAMA_70B, replace(LOAD, passes=2), RATES, eta=0.5)
    assert both.total_s == pytest.approx(2 * got.total_s)
    assert logprob(LLAMA_70B, replace(LOAD, passes=0), RATES, eta=0.5).total_s == 0
    assert logprob(LLAMA_70B, replace(LOAD, pad_frac=0.5), RATES, eta=0.5).total_s == pytest.approx(
        2 * got.total_s
    )
