"""New weights on the engines: copies, precision, pipelining; published transfers as arithmetic."""

import math
from dataclasses import replace

import pytest

from models.weight_sync import (
    SyncLoad,
    SyncRates,
    achieved_bytes_per_s,
    exposed_sync_s,
    scaled_rate,
    weight_sync,
    wire_bound,
)

LOAD = SyncLoad(params=100e9, sent_bytes=2.0)


def test_a_trillion_parameters_in_fp8_in_1_3_seconds():
    """256 trainers in BF16 to 128 engines in FP8 (Perplexity Research, 2025-09): 769 GB/s for one copy."""
    load = SyncLoad(params=1e12, sent_bytes=1.0)
    rate = achieved_bytes_per_s(load, 1.3)
    assert rate / 1e9 == pytest.approx(769.2, abs=0.1)
    assert rate / 256 / 1e9 == pytest.approx(3.0, abs=0.01)  # sent by each trainer
    assert rate / 128 / 1e9 == pytest.approx(6.0, abs=0.01)  # received by each engine
    assert weight_sync(load, SyncRates(transfer_bytes_per_s=rate)).total_s == pytest.approx(1.3)
    # at 400 Gbit/s a GPU one copy needs 0.16 s, and eight (replicas of 16 GPUs) 1.25 s
    assert wire_bound(load, 256, 128, 50e9).total_s == pytest.approx(0.156, abs=1e-3)
    assert wire_bound(replace(load, copies=8), 256, 128, 50e9).total_s == pytest.approx(1.25)


def test_published_verl_transfers_by_rate():
    """Qwen3-30B-A3B on 16 + 16 H20: 15.76 s, 4.38 s with its checkpoint engine (fully_async.md @1dda039)."""
    load = SyncLoad(params=30.53e9, sent_bytes=2.0)
    plain, engine = (achieved_bytes_per_s(load, seconds) / 1e9 for seconds in (15.76, 4.38))
    assert (plain, engine) == (pytest.approx(3.88, abs=0.02), pytest.approx(13.95, abs=0.05))


def test_sending_in_the_engines_precision_halves_the_bytes():
    rates = SyncRates(transfer_bytes_per_s=100e9)
    assert weight_sync(LOAD, rates).total_s == pytest.approx(2.0)
    assert weight_sync(replace(LOAD, sent_bytes=1.0), rates).total_s == pytest.approx(1.0)


def test_copies_load_the_link_and_not_the_gathering():
    rates = SyncRates(
        200e9, gather_bytes_per_s=400e9, convert_bytes_per_s=800e9, load_bytes_per_s=400e9, fixed_s=0.1
    )
    got = weight_sync(replace(LOAD, copies=4), rates)
    assert (got.gather_s, got.convert_s, got.transfer_s, got.load_s) == (0.5, 0.25, 4.0, 2.0)
    assert got.total_s == pytest.approx(6.85)


def test_pipelining_leaves_the_slowest_stage():
    rates = SyncRates(200e9, gather_bytes_per_s=400e9, load_bytes_per_s=400e9, fixed_s=0.1)
    plain, some, many = (weight_sync(LOAD, rates, chunks=c).total_s for c in (1, 4, 1e9))
    assert plain == pytest.approx(1.0 + 0.5 + 0.5 + 0.1)
    assert some == pytest.approx(1.0 + 1.0 / 4 + 0.1)
    assert many == pytest.approx(1.1)


def test_calibration_is_the_inverse_and_refuses_what_cannot_be():
    rate = achieved_bytes_per_s(LOAD, 5.0, fixed_s=1.0)
    assert rate == pytest.approx(50e9)
    assert math.isnan(achieved_bytes_per_s(LOAD, 0.5, fixed_s=1.0))


def test_the_scarcer_side_bounds_the_wire():
    got = wire_bound(
        replace(LOAD, copies=8, source_copies=1), sender_gpus=64, receiver_gpus=16, link_bytes_per_s=50e9
    )
    assert got.sending_s == pytest.approx(200e9 / (64 * 50e9))
    assert got.total_s == got.receiving_s == pytest.approx(8 * 200e9 / (16 * 50e9))


def test_a_rate_scales_with_endpoints():
    assert scaled_rate(100e9, 16, 64) == 400e9
    assert scaled_rate(100e9, 16, 16, link_ratio=2) == 200e9


def test_only_what_is_not_hidden_stops_generation():
    assert exposed_sync_s(5.0, 3.0) == 2 and exposed_sync_s(5.0, 9.0) == 0
