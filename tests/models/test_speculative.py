"""Drafted tokens: what a verified step yields, and where it stops to pay."""

from dataclasses import replace

import numpy as np
import pytest

from models.decode import DecodeFactors, DecodeLoad
from models.machine import Rates
from models.speculative import acceptance_of, speculate, tokens_per_step
from tests.models.llms import DENSE, MOE, ROUND

RATES, FACTORS = Rates.of(ROUND, "bf16"), DecodeFactors()
LOAD = DecodeLoad(batch=1.0, context=1000.0, gpus=1, weight_bytes=2.0, kv_bytes=2.0)


def test_expected_tokens_by_hand():
    assert tokens_per_step(0.8, 3) == pytest.approx(1 + 0.8 + 0.64 + 0.512)
    assert tokens_per_step(0.0, 5) == 1 and tokens_per_step(1.0, 5) == 6
    assert tokens_per_step(0.7, 0) == pytest.approx(1)


def test_acceptance_is_the_inverse():
    assert tokens_per_step(acceptance_of(2.9, 3), 3) == pytest.approx(2.9)
    with pytest.raises(ValueError, match="drafted"):
        acceptance_of(4.5, 3)


def test_no_draft_changes_nothing():
    got = speculate(DENSE, LOAD, RATES, FACTORS, acceptance=0.8, drafted=0, draft_step_s=1e-3)
    assert got.factor == pytest.approx(1) and got.draft_s == 0


def test_it_pays_where_memory_bounds_and_not_where_compute_does():
    batches = np.array([1.0, 32.0, 4096.0])
    load = replace(LOAD, batch=batches, context=10.0)
    got = speculate(DENSE, load, RATES, FACTORS, acceptance=0.8, drafted=3, draft_step_s=2e-4)
    small, medium, large = np.asarray(got.factor)
    assert 2.5 < small < 2.95 and small == pytest.approx(medium, rel=0.01) and large < 1


def test_a_mixture_gains_less_because_drafts_touch_more_experts():
    load = replace(LOAD, batch=2.0)
    gains = [
        speculate(llm, load, RATES, FACTORS, acceptance=0.8, drafted=3, draft_step_s=2e-4).factor
        for llm in (DENSE, MOE)
    ]
    assert gains[1] < gains[0]
