"""Console logs through the store: a log that grew extends its attempt, whatever was uploaded first."""

import io
from collections.abc import Callable
from pathlib import Path

import pytest

from data.arrival.spool import spool_bytes
from data.ingest import ingest_file
from data.readers import choose
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
    pytest.param(make, parts, id=f"{make.__name__}-{name}", marks=[pytest.mark.full] * (make is not shown))
    for name, parts, shown in (("grew", GREW, nemo), ("older copy later", OLDER_LATER, trl))
    for make in MADE
]
"""The store settles what a longer copy adds and in which order: in the quick tests a reader with a block a
step shows the one, a reader with a line a step the other. What it rests on is tested of all readers below."""


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


@pytest.mark.parametrize("make", MADE)
def test_the_longer_copy_of_a_log_begins_with_the_rows_of_the_shorter(
    make: Callable[[int], str], tmp_path: Path
) -> None:
    short, long = (rows_read(make, last, tmp_path / str(last)) for last in (6, 12))
    assert {step for _, step, *_ in long} == set(range(1, 13))
    assert [row for row in long if row[1] <= 6] == short


def rows_read(make: Callable[[int], str], last: int, folder: Path) -> list[tuple[object, ...]]:
    """Attempt, step, key and value of every number that the reader finds in steps 1 to `last`."""
    choices = Choices(run="spring", timezone="UTC")
    text = "".join(make(n) for n in range(1, last + 1))
    source = spool_bytes(text.encode(), "run.log", folder)
    (folder / "work").mkdir()
    tables = choose(source, choices).read(source, choices, folder / "work").tables
    raw = tables["metric_raw"][["attempt", "step", "key", "value"]].dropna(subset="step")
    steps = tables["steps"]
    numbers = steps.select_dtypes("number").columns.difference(["attempt", "step"])
    cells = steps.melt(["attempt", "step"], numbers, var_name="key").dropna()
    found = [row for frame in (raw, cells[raw.columns]) for row in frame.itertuples(index=False, name=None)]
    return sorted((int(attempt), int(step), str(key), float(value)) for attempt, step, key, value in found)
