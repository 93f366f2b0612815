"""How phases become a step: sums, maxima, stalls, lag, and the split of GPUs."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.step_time import MODES, Phases, amdahl, best_split, step_time

PHASES = Phases(work_s=40.0, tail_s=20.0, logprob_s=10.0, train_s=30.0, sync_s=5.0, tools_s=4.0, other_s=3.0)


def test_a_colocated_step_is_the_sum():
    got = step_time(PHASES, "sync_colocated")
    assert got.total_s == 40 + 20 + 4 + 10 + 30 + 5 + 3
    assert got.generation_s == 64 and got.trainer_stall_s == got.engine_stall_s == 0


def test_two_pools_in_turn_wait_for_each_other():
    got = step_time(PHASES, "sync_disaggregated")
    assert got.total_s == 112 and got.trainer_stall_s == 64 and got.engine_stall_s == 40


def test_one_step_off_takes_the_longer_pool():
    got = step_time(PHASES, "one_step_off")
    assert got.total_s == 64 + 5 + 3
    assert got.trainer_stall_s == got.generation_s == 24 and got.engine_stall_s == 0
    trainer = step_time(replace(PHASES, train_s=90.0), "one_step_off")
    assert trainer.total_s == 100 + 8 and trainer.engine_stall_s == 36 and trainer.generation_s == 0


def test_streams_hide_the_tail_behind_the_lag():
    assert step_time(PHASES, "async", lag=0).total_s == step_time(PHASES, "one_step_off").total_s
    assert step_time(PHASES, "async", lag=1).total_s == max(44, 32, 40) + 8
    long = replace(PHASES, tail_s=160.0)
    assert [step_time(long, "async", lag=k).total_s - 8 for k in (0, 1, 3, 9)] == [204, 102, 51, 44]


def test_a_weight_update_beside_other_work_is_not_paid():
    assert step_time(replace(PHASES, hidden_sync_s=4.0), "async").sync_s == 1
    assert step_time(replace(PHASES, hidden_sync_s=9.0), "async").sync_s == 0


@given(*[st.floats(0, 1e4)] * 6, st.floats(0, 8))
def test_less_synchrony_is_never_slower_and_no_mode_beats_its_longest_phase(
    work, tail, score, train, sync, other, lag
):
    phases = Phases(work, tail, score, train, sync, other_s=other)
    total = {mode: step_time(phases, mode, lag).total_s for mode in MODES}
    assert total["sync_colocated"] == total["sync_disaggregated"]
    assert total["async"] <= total["one_step_off"] * (1 + 1e-12) <= total["sync_colocated"] * (1 + 1e-9)
    assert total["async"] >= max(work, score + train) * (1 - 1e-12)


def test_phases_may_be_draws():
    got = step_time(replace(PHASES, train_s=np.array([10.0, 90.0, np.nan])), "one_step_off")
    assert np.asarray(got.total_s)[:2].tolist() == [72, 108] and np.isnan(np.asarray(got.total_s)[2])


def test_an_unknown_mode_is_refused():
    with pytest.raises(ValueError, match="mode"):
        step_time(PHASES, "semi")


def test_the_best_split_equalises_the_pools():
    got = best_split(64, engine_gpu_s=3000.0, trainer_gpu_s=1000.0)
    assert (got.engine_gpus, got.trainer_gpus) == (48, 16)
    assert got.cycle_s == pytest.approx(62.5) and got.slack_frac == pytest.approx(0)
    tail = best_split(64, engine_gpu_s=3000.0, trainer_gpu_s=1000.0, serial_s=60.0, unit=4)
    assert tail.cycle_s > got.cycle_s and tail.engine_gpus > got.engine_gpus
    with pytest.raises(ValueError, match="split"):
        best_split(8, 1.0, 1.0)


def test_what_is_left_after_amdahl():
    got = step_time(PHASES, "sync_colocated")
    assert amdahl(got, got.train_s, 4.0) == pytest.approx(112 - 30 + 7.5)
