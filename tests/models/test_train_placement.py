"""Ranks of a trainer by memory: by hand, and what more memory buys."""

from dataclasses import replace

import pytest

from models.train_placement import state_bytes_per_gpu, train_placement
from tests.models.llms import DENSE, LLAMA_70B, MOE, ROUND, TWICE, UNPUBLISHED


def test_states_by_hand():
    assert state_bytes_per_gpu(DENSE, 1, 1) == 180e9
    assert state_bytes_per_gpu(DENSE, 4, 16) == 10e9 / 4 * 6.75


def test_the_fewest_ranks_that_fit():
    got = train_placement(DENSE, ROUND, 64, activation_bytes=20e9).best  # 60 + 1.9 GB into 70
    assert (got.tensor, got.pipeline, got.data) == (1, 1, 64)
    large = train_placement(LLAMA_70B, ROUND, 64, activation_bytes=20e9).best
    assert (large.tensor, large.pipeline, large.data) == (8, 1, 8)  # 66.1 GB
    assert large.bytes_per_gpu == pytest.approx(70.55e9 / 8 * 7.5)
    piped = train_placement(MOE, ROUND, 64, activation_bytes=45e9).best
    assert (piped.tensor, piped.pipeline, piped.model_ranks) == (8, 4, 32)


def test_more_memory_takes_fewer_ranks():
    small, large = (train_placement(LLAMA_70B, one, 64, 20e9).best for one in (ROUND, TWICE))
    assert large.model_ranks < small.model_ranks
    wide = train_placement(MOE, TWICE, 64, 140e9, most_tensor=72).best  # 37.5 GB into 40
    assert wide.tensor == 32 and wide.pipeline == 1


def test_what_does_not_fit_or_is_not_published_has_no_placement():
    assert train_placement(MOE, ROUND, 8, 20e9).best is None
    got = train_placement(DENSE, UNPUBLISHED, 8, 1e9)
    assert got.best is None and got.unknown == ("hbm_bytes",)
    assert train_placement(DENSE, replace(ROUND, domain_gpus=None), 8, 1e9).unknown == ("domain_gpus",)
    with pytest.raises(ValueError, match="GPU"):
        train_placement(DENSE, ROUND, 0, 1e9)
