"""What a free phase saves when the clocks of the pools are whole, in part, or not in the file."""

import pandas as pd
import pytest

from analysis.freephase import NO_CLOCK, OVERLAP, OWN_PART, PART_CLOCK, with_free

STEP_S = 60.0


def free(*rows: tuple[str, str, str, float]) -> pd.DataFrame:
    """Rows (pool, phase, kind, mean_s) of one asynchronous run, indexed by them."""
    frame = pd.DataFrame(rows, columns=["pool", "phase", "kind", "mean_s"])
    frame = frame.assign(run="r", mode="async", step_mean_s=STEP_S)
    return with_free(frame).set_index(["pool", "phase", "kind"])


TRAINER = [("train", "train", "wall", 33.0), ("train", "rollout", "wait", 26.0)]


def test_a_pool_that_times_a_second_of_its_step_is_not_the_shorter_one() -> None:
    # the trainer times 33 + 26 of 60 s, the orchestrator 1 + 2 of 60 s: its generation has no timer
    found = free(
        *TRAINER, ("rollout", "data", "wall", 1.0), ("rollout", "weight_sync", "wait", 2.0),
        ("rollout", "unattributed", "rest", 59.0),
    )  # fmt: skip
    train, wait = found.loc[("train", "train", "wall")], found.loc[("train", "rollout", "wait")]
    assert pd.isna(train["step_if_free_s"]) and train["free_note"] == PART_CLOCK
    assert wait["step_if_free_s"] == 34.0
    assert wait["speedup_if_free"] == pytest.approx(60 / 34)
    own = found.loc[("rollout", "data", "wall")]
    assert pd.isna(own["step_if_free_s"]) and own["free_note"] == OWN_PART
    assert pd.isna(found.loc[("rollout", "weight_sync", "wait"), "step_if_free_s"])


def test_the_trainer_alone_says_the_same() -> None:
    found = free(*TRAINER)
    assert found.loc[("train", "train", "wall"), "free_note"] == NO_CLOCK
    assert found.loc[("train", "rollout", "wait"), "step_if_free_s"] == 34.0


def test_two_whole_clocks_are_compared() -> None:
    found = free(*TRAINER, ("rollout", "rollout", "wall", 55.0))
    assert found["free_note"].tolist().count(OVERLAP) == 2
    # without generation the trainer's 33 s remain: 60 - (55 - 33)
    assert found.loc[("rollout", "rollout", "wall"), "step_if_free_s"] == 38.0
    assert found.loc[("train", "train", "wall"), "step_if_free_s"] == 60.0


def test_a_pool_that_waits_does_not_set_the_pace() -> None:
    # 33 s of training against 31 timed seconds of rollouts, yet the trainer waits: 31 s are not all of it
    found = free(*TRAINER, ("rollout", "rollout", "wall", 31.0))
    assert found["step_if_free_s"].dropna().to_dict() == {("train", "rollout", "wait"): 34.0}
