"""Sandboxes: Little's law, Erlang C against tables and a simulated queue, and what generation hides."""

import math

import numpy as np
import pytest

from models.sandbox_time import (
    EpisodeLoad,
    episode,
    erlang_c,
    exposed_tool_s,
    in_flight,
    queue,
    steady_batch,
    tool_seconds_on,
)


def test_an_episode_adds_up():
    got = episode(
        EpisodeLoad(turns=4, tokens_per_turn=500, tool_s=3.0, calls_per_turn=2), 0.5, 0.02, wait_s=1.0
    )
    assert (got.first_token_s, got.decode_s, got.tool_s, got.wait_s) == (2, 40, 24, 8)
    assert got.total_s == 74 and got.decode_frac == pytest.approx(40 / 74)


def test_littles_law():
    assert in_flight(20.0, 3.0) == 60


def test_one_server_waits_like_m_m_1():
    got = queue(1, 0.8, 1.0)
    assert got.wait_frac == pytest.approx(0.8) and got.wait_s == pytest.approx(0.8 / 0.2)


def test_erlang_c_by_hand():
    # two servers, one offered: C = 1/3; ten servers, eight offered: 0.4092 (closed sum)
    assert erlang_c(2, 1.0) == pytest.approx(1 / 3)
    terms = [8.0**k / math.factorial(k) for k in range(11)]
    assert erlang_c(10, 8.0) == pytest.approx(terms[10] / 0.2 / (sum(terms[:10]) + terms[10] / 0.2))


def test_mean_wait_of_a_simulated_queue():
    rng = np.random.default_rng(5)
    arrive = np.cumsum(rng.exponential(1 / 3.4, 200_000))
    busy = rng.exponential(1.0, arrive.size)
    free, waited = np.zeros(4), 0.0
    for at, seconds in zip(arrive, busy, strict=True):
        first = int(free.argmin())
        start = max(at, free[first])
        waited += start - at
        free[first] = start + seconds
    assert queue(4, 3.4, 1.0).wait_s == pytest.approx(waited / arrive.size, rel=0.06)


def test_an_overloaded_pool_waits_for_ever():
    got = queue(4, np.array([3.0, 4.0, 5.0, math.nan]), 1.0)
    assert np.asarray(got.wait_s)[1:3].tolist() == [math.inf, math.inf]
    assert np.asarray(got.wait_frac)[1:3].tolist() == [1, 1]
    assert np.isnan(np.asarray(got.wait_s)).tolist() == [False, False, False, True]
    with pytest.raises(ValueError, match="servers"):
        erlang_c(0, 1.0)


def test_a_faster_cpu_speeds_only_its_share():
    assert tool_seconds_on(10.0, 0.6, 1.3) == pytest.approx(4 + 6 / 1.3)
    assert tool_seconds_on(10.0, 0.0, 1.3) == 10


def test_a_steady_batch_solves_the_closed_loop():
    batch = steady_batch(100.0, 1000.0, 30.0, lambda b: 0.01 + 1e-4 * b)
    decode = 1000 * (0.01 + 1e-4 * batch)
    assert batch == pytest.approx(100 * decode / (decode + 30))
    assert steady_batch(100.0, 1000.0, 0.0, lambda b: 0.01 + 0 * b) == pytest.approx(100)
    idle = steady_batch(100.0, 1000.0, np.array([0.0, 10.0, 100.0]), lambda b: 0.01 + 1e-4 * b)
    assert (np.diff(np.asarray(idle)) < 0).all()
    unknown = steady_batch(100.0, 1000.0, 30.0, lambda b: b * np.array([1e-3, np.nan]))
    assert np.isnan(np.asarray(unknown)).tolist() == [False, True]


def test_tools_hide_while_others_fill_the_batch():
    one = episode(EpisodeLoad(turns=1, tokens_per_turn=1000, tool_s=20.0), 0.0, 0.01)
    assert exposed_tool_s(400.0, rollouts=1024, flying=128, one=one) == 0  # 8 x 30 s fit
    assert exposed_tool_s(80.0, rollouts=1024, flying=128, one=one) == pytest.approx(160)
