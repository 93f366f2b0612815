"""Console logs through the store: a log that grew extends its attempt, whatever was uploaded first."""

import io
from collections.abc import Callable
from pathlib import Path

import pytest

from data.ingest import ingest_file
from data.readers.base import Choices
from data.store import Store


def nemo(n: int) -> str:
    return (
        f"===== Step {n}/99 =====\n📊 Training Results:\n  • Loss: 0.0100\n  • Avg Reward: {n / 100:.4f}\n"
        f"⏱️  Timing:\n  • Total step time: {20 + n}.00s\n  • policy_training: {8 + n}.00s (40.0%)\n"
    )


def trl(n: int) -> str:
    return (
        f" {n}%|█  | {n}/99 [00:{n:02d}<09:00,  1.00s/it]\n"
        f"{{'loss': {n / 7}, 'num_tokens': {1000 * n}, 'reward': {n / 100}, 'learning_rate': 1e-06}}\n"
    )


def slime(n: int) -> str:
    front = f"[2026-01-02 03:{n:02d}"
    return (
        f"{front}:00] r.py:1 - perf {n}: {{'rollout/response_len/mean': {100 + n}, 'perf/rollout_time': 9}}\n"
        f"{front}:20] t.py:1 - step {n}: {{'train/loss': {n / 9}}}\n"
        f"{front}:30] t.py:1 - perf {n}: {{'perf/train_time': 9.0, 'perf/step_time': {n + 30}.0}}\n"
    )


def openrlhf(n: int) -> str:
    return (
        f"INFO 08-13 12:{n:02d}:00 p.py:5] Global step {n}: {{'policy_loss': {n / 7}, 'reward': {n / 9}, "
        f"'rollout/num_samples': 16.0, 'timing/ppo_train': 9.0, 'timing/step_total': {20 + n}.0}}\n"
    )


def areal(n: int) -> str:
    cells = f"│ timeperf/train_step │ {20 + n}.5 │ ppo_actor/n_tokens │ {1000 + n} │\n"
    done = f"Epoch 1/1 Step {n}/99 Train step {n}/99 done."
    return f"[AReaL] 20260102-03:{n:02d}:00.000 StatsLogger INFO: {done}\n╒═╕\n{cells}╘═╛\n"


def skyrl(n: int) -> str:
    body = f"{{'generate/batch_num_seq': '64',\n 'timing/step': '{20 + n}.0000',\n 'timing/generate': '9.0'}}"
    return f"2026-01-02 03:{n:02d}:00 | INFO - Step {n}: \n{body}\n"


MADE = [nemo, trl, slime, openrlhf, areal, skyrl]


def load(store: Store, make: Callable[[int], str], first: int, last: int) -> None:
    text = "".join(make(n) for n in range(first, last + 1))
    ingest_file(store, io.BytesIO(text.encode()), "run.log", Choices(run="spring", timezone="UTC"))


def told(store: Store) -> list[tuple[object, ...]]:
    with store.view() as view:
        steps = view.rows(
            "select run, attempt, step, max(step_s), max(tok_total), max(reward_mean) from steps "
            "group by all order by all"
        )
        return [*steps, *view.rows("select run, attempt, round(elapsed_s, 6) from attempts order by all")]


GREW, OLDER_LATER = [(1, 6), (1, 12)], [(1, 12), (1, 6)]
CASES = [
    *(pytest.param(make, GREW, id=f"{make.__name__}-grew") for make in MADE),
    *(
        pytest.param(
            make,
            OLDER_LATER,
            id=f"{make.__name__}-older copy later",
            marks=[pytest.mark.full] * (make is not nemo),
        )
        for make in MADE
    ),
]
"""The order of uploads is settled by the store, whatever reader: in the quick tests one reader shows it."""


@pytest.mark.parametrize(("make", "parts"), CASES)
def test_a_growing_log_is_one_attempt(
    make: Callable[[int], str], parts: list[tuple[int, int]], tmp_path: Path
) -> None:
    whole, grown = Store.open(tmp_path / "whole"), Store.open(tmp_path / "grown")
    load(whole, make, 1, 12)
    for first, last in parts:
        load(grown, make, first, last)
    assert told(grown) == told(whole)
    assert len(told(whole)) == 13
    whole.close()
    grown.close()
