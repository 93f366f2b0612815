"""GPUs for a wanted step: the smallest whole count, or the floor that no count beats."""

from dataclasses import replace

import numpy as np
import pytest

from models.calibration import calibrate
from models.gpu_count import GpuCount, gpus_for_step_time
from models.projection import Band, project
from models.workload import Pool
from tests.models.llms import MOE, ROUND, TWICE, UNPUBLISHED
from tests.models.measured_runs import measured, target, workload

TENTHS = Band(1.0, 0.8, 1.25)


def counted(run, to, wanted_s, **changed) -> GpuCount:
    seen = measured(run)
    return gpus_for_step_time(run, seen, calibrate(run, seen), to, wanted_s, draws=400, **changed)


def median(run, to, engines, trainer) -> float:
    seen = measured(run)
    sized = replace(to, engines=replace(to.engines, gpus=engines), trainer=replace(to.trainer, gpus=trainer))
    found = project(run, seen, calibrate(run, seen), [sized], 400)
    return float(np.median(found.step_s))


@pytest.mark.parametrize("unit", [4, 8, 72])
def test_one_unit_less_is_too_slow(unit):
    run = workload(rollouts=4096, max_batch=64)
    to = target(TWICE, decode=TENTHS, training=TENTHS)
    wanted_s = 0.7 * median(run, to, 64, 64)
    got = counted(run, to, wanted_s, unit=unit)
    assert got.gpus % unit == 0 and got.gpus == got.engines == got.trainer
    assert median(run, to, got.gpus, got.gpus) == pytest.approx(got.step_s[1]) and got.step_s[1] <= wanted_s
    assert median(run, to, got.gpus - unit, got.gpus - unit) > wanted_s
    assert got.gpus_low <= got.gpus <= got.gpus_high and got.reachable


def test_the_floor_is_the_tail_and_what_stays():
    """Unlimited GPUs: every response on a replica of its own, no training; the longest response remains."""
    run = workload()
    seen = measured(run)
    got = counted(run, target(replace(ROUND, platform_id="twin")), 10.0)
    split = calibrate(run, seen).split
    stays = sum(seen.mean(name) for name in ("sync_s", "env_s", "other_s")) + 3
    longest_s = float(run.lengths.expected_longest(1024)) * split.tpot_tail_s
    assert got.gpus is None and not got.reachable and np.isnan(got.step_s).all()
    assert got.floor_s == pytest.approx(longest_s + stays, rel=0.03)


def test_a_limit_is_not_a_floor():
    run = workload(rollouts=4096, max_batch=64)
    to = target(TWICE)
    wanted_s = 0.7 * median(run, to, 64, 64)
    got = counted(run, to, wanted_s, most=64)
    assert got.gpus is None and got.reachable


def test_the_runs_own_step_takes_its_own_gpus():
    run = workload()
    seen = measured(run)
    got = counted(run, target(ROUND), seen.mean("step_s"))
    assert got.gpus == got.gpus_high == 64 and got.step_s == pytest.approx([seen.mean("step_s")] * 3)


def test_two_pools_keep_their_ratio():
    run = workload(mode="one_step_off", trainer=Pool(ROUND, 32, "bf16"), rollouts=4096, max_batch=64)
    to = replace(target(TWICE), engines=Pool(TWICE, 64, "fp8"), trainer=Pool(TWICE, 32, "bf16"))
    wanted_s = 0.6 * median(run, to, 64, 32)
    got = counted(run, to, wanted_s)
    assert got.engines + got.trainer == got.gpus and got.engines / got.gpus == pytest.approx(2 / 3, abs=0.05)
    assert median(run, to, got.engines, got.trainer) <= wanted_s


def test_unknown_facts_are_named_and_nothing_is_counted():
    got = counted(workload(), target(UNPUBLISHED), 100.0)
    assert got.gpus is None and np.isnan(got.floor_s) and not got.reachable
    assert "unpublished: hbm_bytes_per_s" in got.unknown
    with pytest.raises(ValueError, match="unit"):
        counted(workload(), target(TWICE), 100.0, unit=0)


def test_no_count_holds_less_memory_than_states_that_no_model_explains():
    """100 B parameters need over 600 GB a copy with their gradients; six GPUs of 100 GB trained them all the
    same (offloaded), so a platform of the same memory a GPU needs six as well, however fast it is.
    """
    run = workload(MOE, engines=Pool(ROUND, 6, "fp8"), trainer=Pool(ROUND, 6, "bf16"), replica_gpus=2)
    quick = replace(
        ROUND,
        platform_id="quick",
        flops={name: rate and rate * 20 for name, rate in ROUND.flops.items()},
        hbm_bytes_per_s=ROUND.hbm_bytes_per_s * 20,
    )
    seen = measured(workload(MOE, gpus=8, replica_gpus=2))
    asked = (run, seen, calibrate(run, seen), target(quick, gpus=6), seen.mean("step_s"))
    got = gpus_for_step_time(*asked, unit=1, draws=400)
    assert got.gpus == 6
    few = project(run, seen, calibrate(run, seen), [target(quick, gpus=5)], 200)
    assert np.isnan(few.step_s).all() and "hold less than those of the run" in few.unknown[0][0]
