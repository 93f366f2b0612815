"""Prompts: groups share one, cached prefixes cost nothing, weights are read once a chunk."""

from dataclasses import replace

import pytest

from models.machine import Rates
from models.prefill import PrefillLoad, prefill, prompt_tokens_computed, turn_hit_frac
from tests.models.llms import DENSE, MOE, ROUND

RATES = Rates.of(ROUND, "bf16")
LOAD = PrefillLoad(prompts=64.0, prompt_tokens=1000.0, gpus=2, weight_bytes=2.0, group=16.0)


def test_a_group_prefills_its_prompt_once():
    assert prompt_tokens_computed(LOAD) == 64_000
    assert prompt_tokens_computed(replace(LOAD, prefix_cache=False)) == 16 * 64_000
    assert prompt_tokens_computed(replace(LOAD, hit_frac=0.9)) == pytest.approx(6400)


def test_parts_by_hand():
    got = prefill(DENSE, LOAD, RATES, eta_flops=0.5, eta_bandwidth=1.0)
    assert got.matrices_s == pytest.approx(64_000 * 20e9 / (2 * 0.5e15))
    assert got.attention_s == pytest.approx(64_000 * 2 * 40 * 32 * 125 * 1000 / (2 * 0.5e15))
    assert got.memory_s == pytest.approx(64_000 / 8192 * 20e9 / 8e12)
    assert got.total_s == got.compute_s


def test_without_a_shared_prefix_everything_costs_the_group_times_as_much():
    shared, alone = (prefill(DENSE, replace(LOAD, prefix_cache=c), RATES) for c in (True, False))
    assert alone.compute_s == pytest.approx(16 * shared.compute_s)


def test_a_cached_prefix_leaves_the_attention_of_the_rest():
    whole = prefill(DENSE, LOAD, RATES).attention_s
    half = prefill(DENSE, replace(LOAD, hit_frac=0.5), RATES).attention_s
    assert half == pytest.approx(whole * (1 - 0.25))  # S^2 less (S/2)^2
    assert prefill(DENSE, replace(LOAD, hit_frac=1.0), RATES).total_s == pytest.approx(0, abs=1e-12)


def test_few_tokens_are_bound_by_reading_the_weights_once():
    few = prefill(MOE, replace(LOAD, prompts=1.0, prompt_tokens=4.0), RATES, eta_bandwidth=1.0)
    assert few.total_s == few.memory_s == pytest.approx(MOE.weight_bytes_read(4, 2.0) / 8e12)


def test_turns_find_what_came_before():
    # contexts 100, 200, 300: 600 sent, 300 new
    assert turn_hit_frac(3, 100, 100) == pytest.approx(0.5)
    assert turn_hit_frac(1, 100, 100) == 0
