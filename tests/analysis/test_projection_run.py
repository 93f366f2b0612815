"""What a projection reads of a run, on numbers that can be worked by hand."""

import math
from statistics import NormalDist

import numpy as np
import pandas as pd
import pytest

from analysis.projection_lengths import find_lengths, log_normal, quantile_lengths
from analysis.projection_run import SourceRun, read_run
from tests.analysis.conftest import Home, phases, pool, steps

PRICE = "reserved_3y.neocloud"


def started(home: Home, run: str, mode: str | None, *attempts: int, llm: str | None = "qwen2.5-32b") -> None:
    home.add("runs", {"run": run, "mode": mode, "llm": llm, "synthetic": False})
    for attempt in attempts or (1,):
        home.add("attempts", {"run": run, "attempt": attempt, "status": "completed"})


def colocated(home: Home, run: str, gpus: float | None = 64, platform: str | None = "h100-sxm") -> None:
    home.add("allocations", pool(run, 1, "all", "colocated", platform, 3600, gpus=gpus))


def said(home: Home, run: str, numbers: range, step_s: float, attempt: int = 1, **more: float) -> None:
    known = {"rollouts": 64.0, "groups": 8.0, "tok_prompt": 6400.0, "tok_gen": 64000.0, "len_mean": 1000.0}
    known |= {"len_p50": 900.0, "len_p95": 2500.0, "len_max": 4000.0, **more}
    home.add("steps", *steps(run, attempt, numbers, step_s, **known))


def read(home: Home, run: str) -> SourceRun:
    return read_run(home.view(), run, PRICE)


def means(found: SourceRun) -> dict[str, float]:
    assert found.timed is not None
    return {name: float(values.mean()) for name, values in found.timed.phases.items()}


def test_synchronous_phases_are_summed_by_what_they_are(empty_home: Home) -> None:
    started(empty_home, "r", "sync")
    colocated(empty_home, "r")
    said(empty_home, "r", range(1, 9), 100.0)
    seconds = {"rollout": 50.0, "logprob": 6.0, "ref": 4.0, "train": 20.0, "weight_sync": 5.0, "env": 2.0}
    empty_home.add("step_phases", *phases("r", 1, range(1, 9), {**seconds, "reward": 1.0, "data": 0.5}))
    empty_home.add("step_phases", *phases("r", 1, range(4, 5), {"checkpoint": 16.0}))
    found = read(empty_home, "r")
    assert (found.blocked, found.gaps, found.steps) == ("", (), 8)
    assert found.pools.mode == "sync_colocated" and found.gpus == 64
    assert found.usd_per_h == 64 * 2.0
    # one checkpoint of 16 s in 8 steps: 2 s a step beside 0.5 s of data
    told = {"rollout": 50, "env": 3, "logprob": 10, "train": 20, "sync": 5, "other": 2.5}
    assert means(found) == pytest.approx(told)
    assert found.timed is not None and found.timed.passes == 2
    assert found.tokens is not None and found.tokens.both == 70400
    assert found.lengths is not None and found.lengths.known


def test_a_phase_that_two_pools_time_is_one_event(empty_home: Home) -> None:
    started(empty_home, "r", "sync")
    empty_home.add("allocations", pool("r", 1, "engines", "rollout", "h100-sxm", 3600, gpus=48))
    empty_home.add("allocations", pool("r", 1, "learner", "train", "h100-sxm", 3600, gpus=16))
    said(empty_home, "r", range(1, 9), 100.0)
    for name, parts in (("engines", {"rollout": 60.0, "weight_sync": 4.0}), ("learner", {"train": 30.0})):
        empty_home.add("step_phases", *phases("r", 1, range(1, 9), parts, pool=name))
    empty_home.add("step_phases", *phases("r", 1, range(1, 9), {"weight_sync": 5.0}, pool="learner"))
    empty_home.add(
        "step_phases", *phases("r", 1, range(1, 9), {"rollout": 60.0}, pool="learner", kind="wait")
    )
    found = read(empty_home, "r")
    assert found.pools.mode == "sync_disaggregated"
    assert found.pools.engines is not None and found.pools.engines.gpus == 48
    assert means(found) == pytest.approx({"rollout": 60, "train": 30, "sync": 5})


@pytest.mark.parametrize(
    ("timers", "engines", "words"),
    [
        ([("engines", "rollout", "wall", 40.0)], 40.0, "clock of the rollout pool"),
        (
            [("learner", "rollout", "busy", 55.0), ("learner", "rollout", "wait", 9.0)],
            55.0,
            "timer of generation",
        ),
        ([("learner", "rollout", "wait", 9.0)], 10 + 30 + 9, "worked and waited"),
        ([("learner", "rollout", "wait", 0.1)], None, ""),
    ],
)
def test_seconds_of_engines_that_work_beside_the_trainer(
    empty_home: Home, timers: list[tuple[str, str, str, float]], engines: float | None, words: str
) -> None:
    started(empty_home, "r", "async")
    empty_home.add("allocations", pool("r", 1, "engines", "rollout", "h100-sxm", 3600, gpus=48))
    empty_home.add("allocations", pool("r", 1, "learner", "train", "h100-sxm", 3600, gpus=16))
    said(empty_home, "r", range(1, 9), 50.0)
    worked = {"logprob": 10.0, "train": 30.0}
    empty_home.add("step_phases", *phases("r", 1, range(1, 9), worked, pool="learner"))
    empty_home.add(
        "step_phases", *phases("r", 1, range(1, 9), {"weight_sync": 1.0}, pool="engines", kind="exposed")
    )
    empty_home.add(
        "step_phases", *phases("r", 1, range(1, 9), {"weight_sync": 1.5}, pool="learner", kind="exposed")
    )
    for name, phase, kind, s in timers:
        empty_home.add("step_phases", *phases("r", 1, range(1, 9), {phase: s}, pool=name, kind=kind))
    found = read(empty_home, "r")
    told = {"logprob": 10, "train": 30, "sync": 1.5} | ({} if engines is None else {"rollout": engines})
    assert means(found) == pytest.approx(told)
    assert found.timed is not None and words in found.timed.engines_from
    assert bool(found.gaps) == (engines is None)


def test_timers_on_top_of_the_step_make_it_longer(empty_home: Home) -> None:
    started(empty_home, "r", "sync")
    colocated(empty_home, "r")
    said(empty_home, "r", range(1, 9), 90.0)
    empty_home.add("step_phases", *phases("r", 1, range(1, 9), {"rollout": 60.0, "train": 25.0}))
    empty_home.add("step_phases", *phases("r", 1, range(1, 9), {"weight_sync": 10.0}, kind="outside"))
    found = read(empty_home, "r")
    assert found.step_s == 100.0
    assert means(found) == pytest.approx({"rollout": 60, "train": 25, "sync": 10})


def test_warm_up_and_superseded_steps_are_left_out(empty_home: Home) -> None:
    started(empty_home, "r", "sync")
    empty_home.add("attempts", {
        "run": "r", "attempt": 2, "status": "completed", "resumed_from_step": 10, "resumed_from_attempt": 1,
    })  # fmt: skip
    for attempt in (1, 2):
        empty_home.add("allocations", pool("r", attempt, "all", "colocated", "h100-sxm", 3600, gpus=64))
    said(empty_home, "r", range(1, 3), 400.0)
    said(empty_home, "r", range(3, 13), 100.0)
    said(empty_home, "r", range(11, 13), 130.0, attempt=2)  # 11 and 12 were made again: these count
    empty_home.con.execute("update attempts set status = 'failed' where attempt = 1")
    found = read(empty_home, "r")
    assert found.timed is not None
    assert sorted(found.timed.step_s.tolist()) == [100.0] * 8 + [130.0] * 2
    assert [n.code for n in found.notices] == ["warm_up_left_out"]


def test_attempts_on_other_gpus_are_left_out(empty_home: Home) -> None:
    started(empty_home, "r", "sync", 1, 2)
    empty_home.add("allocations", pool("r", 1, "all", "colocated", "h100-sxm", 3600, gpus=32))
    empty_home.add("allocations", pool("r", 2, "all", "colocated", "h100-sxm", 3600, gpus=64))
    said(empty_home, "r", range(1, 9), 200.0)
    said(empty_home, "r", range(9, 17), 100.0, attempt=2)
    found = read(empty_home, "r")
    assert (found.gpus, found.step_s, found.steps) == (64, 100.0, 8)
    assert "other GPUs" in found.notices[0].text


def test_what_is_missing_is_named_with_its_click(empty_home: Home) -> None:
    started(empty_home, "r", "sync", llm=None)
    assert "load its training log" in read(empty_home, "r").blocked
    empty_home.add("steps", *steps("r", 1, range(1, 9), 100.0))
    assert "names no GPUs" in read(empty_home, "r").blocked
    colocated(empty_home, "r", gpus=None)
    assert "number of GPUs of pool all" in read(empty_home, "r").blocked
    empty_home.con.execute("update allocations set gpus = 64, platform = null")
    assert "platform of pool all" in read(empty_home, "r").blocked
    empty_home.con.execute("update allocations set platform = 'h100-sxm'")
    found = read(empty_home, "r")
    assert not found.blocked and found.step_s == 100.0
    told = " ".join(gap.words for gap in found.gaps)
    for words in ("model of r", "rollouts a step", "prompt tokens", "response lengths", "timer of training"):
        assert words in told
    assert all("Telemetry page" in gap.remedy for gap in found.gaps)


def test_one_pool_cannot_tell_which_gpus_roll_out_beside_training(empty_home: Home) -> None:
    started(empty_home, "r", "async")
    colocated(empty_home, "r")
    said(empty_home, "r", range(1, 9), 100.0)
    found = read(empty_home, "r")
    assert not found.blocked and "which GPUs of r roll out" in found.gaps[0].what


def test_two_pools_without_a_mode_are_refused(empty_home: Home) -> None:
    started(empty_home, "r", None)
    empty_home.add("allocations", pool("r", 1, "engines", "rollout", "h100-sxm", 3600, gpus=48))
    empty_home.add("allocations", pool("r", 1, "learner", "train", "h100-sxm", 3600, gpus=16))
    said(empty_home, "r", range(1, 9), 100.0)
    assert "sync, one step off, async" in read(empty_home, "r").blocked


def row(**values: float) -> pd.DataFrame:
    names = ("len_mean", "len_p50", "len_p95", "len_max", "truncated_frac", "tok_gen", "rollouts")
    return pd.DataFrame([{name: values.get(name, math.nan) for name in names}])


NO_BUCKETS = pd.DataFrame(columns=["bucket_low", "bucket_high", "n"])


def test_quantiles_of_a_log_normal_give_it_back() -> None:
    sigma = 0.7
    told = {p: 1000 * math.exp(sigma * NormalDist().inv_cdf(p)) for p in (0.5, 0.95, 0.9997)}
    found = quantile_lengths(told, told[0.9997])
    # mean of a log-normal: median x exp(sigma^2 / 2); the cut takes almost nothing
    assert found.mean == pytest.approx(1000 * math.exp(sigma**2 / 2), rel=0.01)
    assert found.longest == pytest.approx(told[0.9997])


def test_mean_and_longest_of_many_fix_the_spread() -> None:
    drawn = np.random.default_rng(5).lognormal(math.log(1000) - 0.5**2 / 2, 0.5, (300, 1024))
    told = row(len_mean=float(drawn.mean()), len_max=float(drawn.max(axis=1).mean()))
    found = find_lengths(told, NO_BUCKETS, 1024)
    assert found.known and found.lengths is not None
    assert found.lengths.mean == pytest.approx(float(drawn.mean()), rel=1e-6)
    middle = float(np.interp(0.5, np.cumsum(found.lengths.share), found.lengths.tokens))
    assert middle == pytest.approx(float(np.median(drawn)), rel=0.03)


def test_only_a_mean_is_an_assumption() -> None:
    found = find_lengths(row(tok_gen=64000.0, rollouts=64.0), NO_BUCKETS, 64)
    assert not found.known and "assumed" in found.words and found.remedy
    assert found.lengths is not None and found.lengths.mean == pytest.approx(1000)
    assert find_lengths(row(), NO_BUCKETS, 64).lengths is None


def test_truncated_responses_end_at_the_cap() -> None:
    found = find_lengths(row(len_mean=1500.0, len_max=4096.0, truncated_frac=0.05), NO_BUCKETS, 512)
    assert found.lengths is not None and found.lengths.longest == pytest.approx(4096)
    assert found.lengths.truncated_frac(4095) == pytest.approx(0.05, abs=0.02)
    assert found.lengths.mean == pytest.approx(1500)


def test_a_histogram_goes_first() -> None:
    buckets = pd.DataFrame({"bucket_low": [0.0, 100.0], "bucket_high": [100.0, 300.0], "n": [30.0, 10.0]})
    found = find_lengths(row(len_mean=5.0), buckets, 40)
    assert found.lengths is not None
    assert found.lengths.mean == pytest.approx((30 * 50 + 10 * 200) / 40)


def test_a_mean_beyond_the_longest_is_refused() -> None:
    with pytest.raises(ValueError, match="mean < longest"):
        log_normal(2000, 0.5, 1000)
