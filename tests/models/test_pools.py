"""Prefill and decode apart: matched rates by hand."""

import pytest

from models.pools import RequestCost, matched_prefill_frac, pool_rates, request_cost, whole_pools
from tests.models.llms import DENSE

COST = RequestCost(prefill_gpu_s=1.0, decode_gpu_s=3.0)


def test_cost_of_a_request_by_hand():
    got = request_cost(DENSE, 0.25, 4, 0.02, 8, batch=64, prompt_tokens=1000, output_tokens=500, kv_bytes=1.0)
    assert got.prefill_gpu_s == 1 and got.decode_gpu_s == pytest.approx(500 * 0.02 * 8 / 64)
    assert got.cache_bytes == 1000 * 80_000


def test_the_slower_pool_sets_the_rate():
    got = pool_rates(COST, 8, 12)
    assert (got.prefill_per_s, got.decode_per_s, got.requests_per_s) == (8, 4, 4)
    assert got.slack_frac == pytest.approx(0.5)
    assert pool_rates(RequestCost(1.0, 1.0, 80e6), 1, 1, 40e9).transfer_s == pytest.approx(0.002)


def test_matched_pools_have_no_slack():
    share = matched_prefill_frac(COST)
    assert share == 0.25
    assert pool_rates(COST, 64 * share, 64 * (1 - share)).slack_frac == pytest.approx(0)
    assert whole_pools(COST, 64, 4, 8) == (16, 48)


def test_whole_replicas_only():
    assert whole_pools(COST, 16, 4, 12) == (4, 12)
    with pytest.raises(ValueError, match="replica"):
        whole_pools(COST, 8, 4, 8)
