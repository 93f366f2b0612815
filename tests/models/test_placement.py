"""Replicas and batches chosen for a machine: memory, link domain, layout, and facts that are missing."""

from dataclasses import replace

import pytest

from models.decode import DecodeFactors
from models.placement import Demand, placements, replica_sizes
from tests.models.llms import DEEPSEEK_V3, DENSE, LLAMA_70B, ROUND, TWICE, UNPUBLISHED

FACTORS = DecodeFactors()
DEMAND = Demand(gpus=64, sequences=2048, context=4000, weight_bytes=1.0, kv_bytes=1.0, precision="fp8")


def test_sizes_stay_inside_the_domain():
    assert replica_sizes(ROUND, 64) == (1, 2, 4, 8)
    assert replica_sizes(TWICE, 72) == (1, 2, 4, 8, 16, 32, 64, 72)
    assert replica_sizes(TWICE, 6) == (1, 2, 4)


def test_the_best_is_the_fastest_of_those_that_fit():
    got = placements(LLAMA_70B, ROUND, DEMAND, FACTORS)
    assert [one.replica_gpus for one in got.tried] == [1, 2, 4, 8]
    assert got.best == max(got.tried, key=lambda one: one.tokens_per_s_per_gpu)
    single = got.tried[0]
    assert single.batch == single.batch_cap == 29 and single.capped_by == "memory"  # 19.45 GB over 655 MB
    assert got.tried[3].batch == 256 and got.tried[3].capped_by == "demand"
    rate = got.best.batch * got.best.replicas / got.best.step_s / 64
    assert got.best.tokens_per_s_per_gpu == pytest.approx(rate)


def test_more_memory_takes_smaller_replicas_or_larger_batches():
    small = placements(LLAMA_70B, ROUND, DEMAND, FACTORS)
    large = placements(LLAMA_70B, replace(ROUND, hbm_bytes=300e9), DEMAND, FACTORS)
    assert large.tried[0].batch_cap > 3 * small.tried[0].batch_cap
    assert large.best.tokens_per_s_per_gpu >= small.best.tokens_per_s_per_gpu


def test_a_model_beyond_the_domain_goes_over_the_network_and_says_so():
    got = placements(DEEPSEEK_V3, ROUND, DEMAND, FACTORS)  # 671 GB into 8 x 90 GB: no room for a copy each
    assert placements(DEEPSEEK_V3, TWICE, DEMAND, FACTORS).best.domains == 1
    assert {one.domains for one in got.tried} == {1}  # as one tensor group it fits
    assert {one.layout for one in got.tried} == {"tensor"}
    beyond = placements(DEEPSEEK_V3, replace(ROUND, hbm_bytes=80e9), DEMAND, FACTORS)
    assert beyond.best is not None and beyond.best.domains > 1
    unknown = replace(ROUND, hbm_bytes=80e9, scaleout_bytes_per_s=None)
    assert placements(DEEPSEEK_V3, unknown, DEMAND, FACTORS).unknown == ("scaleout_bytes_per_s",)


def test_unknown_facts_give_no_placement_and_their_names():
    got = placements(DENSE, UNPUBLISHED, DEMAND, FACTORS)
    assert got.best is None and got.unknown == ("fp8_dense_flops", "hbm_bytes", "hbm_bytes_per_s")
    assert placements(DENSE, replace(ROUND, link_bytes_per_s=None), DEMAND, FACTORS).unknown == (
        "link_bytes_per_s",
    )


def test_a_bound_on_the_step_shuts_out_slow_placements():
    free = placements(LLAMA_70B, ROUND, DEMAND, FACTORS)
    quick = min(one.step_s for one in free.tried)
    got = placements(LLAMA_70B, ROUND, replace(DEMAND, slowest_step_s=quick), FACTORS)
    assert got.best.step_s == quick and len(got.tried) == len(free.tried)
    assert placements(LLAMA_70B, ROUND, replace(DEMAND, slowest_step_s=1e-6), FACTORS).best is None


def test_prompts_in_between_slow_the_step():
    plain = placements(LLAMA_70B, ROUND, DEMAND, FACTORS).tried[-1]
    mixed = placements(
        LLAMA_70B, ROUND, replace(DEMAND, prompt_tokens=1000, output_tokens=3000), FACTORS
    ).tried[-1]
    assert mixed.step_s > plain.step_s


def test_more_replicas_than_sequences_give_no_tokens_nobody_asked_for():
    few = placements(LLAMA_70B, TWICE, replace(DEMAND, sequences=3), FACTORS)
    assert few.tried
    for one in few.tried:
        assert one.tokens_per_s_per_gpu == pytest.approx(min(one.batch * one.replicas, 3) / one.step_s / 64)
