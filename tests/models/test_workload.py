"""What a run may say, and what contradicts itself."""

from dataclasses import replace

import numpy as np
import pytest

from models.workload import Measured, Pool
from tests.models.llms import ROUND, TWICE
from tests.models.measured_runs import workload


def test_tokens_of_a_step_by_hand():
    run = workload()
    assert run.response_tokens == pytest.approx(1024 * run.lengths.mean)
    assert run.tokens == pytest.approx(1024 * (500 + run.lengths.mean))
    assert run.mean_seq_len == pytest.approx(500 + run.lengths.mean)


def test_a_pool_takes_the_class_of_a_precision():
    assert Pool(ROUND, 8, "NVFP4").precision == "fp4"
    assert Pool(ROUND, 8, "fp8").bytes_per_weight == 1
    assert workload().cached_bytes(Pool(ROUND, 8, "bf16")) == 2
    assert workload(kv_bytes=1.0).cached_bytes(Pool(ROUND, 8, "bf16")) == 1
    with pytest.raises(ValueError, match="precision"):
        Pool(ROUND, 8, "int3")
    with pytest.raises(ValueError, match="GPU"):
        Pool(ROUND, 0, "bf16")


def test_one_pool_counts_once_and_two_add_up():
    run = workload()
    assert run.gpus(run.engines, run.trainer) == 64
    assert run.gpus(run.engines, Pool(TWICE, 64, "bf16")) == 128
    apart = workload(mode="async", trainer=Pool(ROUND, 32, "bf16"))
    assert apart.gpus(apart.engines, apart.trainer) == 96


def test_what_contradicts_itself_is_refused():
    with pytest.raises(ValueError, match="same GPUs"):
        workload(trainer=Pool(ROUND, 32, "bf16"))
    with pytest.raises(ValueError, match="mode"):
        workload(mode="semi")
    with pytest.raises(ValueError, match="rollouts"):
        workload(rollouts=0)


def test_only_whole_steps_count():
    seen = Measured(train_s=np.array([1.0, 3.0, np.nan, 5.0]), step_s=np.array([9.0, np.nan, 9.0, 11.0]))
    assert seen.n_steps == 2 and seen.mean("train_s") == 3 and seen.mean("step_s") == 10
    assert np.isnan(seen.mean("sync_s")) and not seen.has_phases
    with pytest.raises(ValueError, match="steps differ"):
        _ = Measured(train_s=np.ones(3), step_s=np.ones(2)).known


def test_the_standard_error_of_a_mean_by_hand():
    seen = Measured(train_s=np.array([8.0, 10.0, 12.0]))
    assert seen.mean_sigma("train_s") == pytest.approx(2 / 10 / 3**0.5)
    assert replace(seen, train_s=np.array([8.0])).mean_sigma("train_s") == 0
    assert seen.mean_sigma("sync_s") == 0
