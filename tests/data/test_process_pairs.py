"""Two processes of one run, each with a log of its own: one run and one clock, in any layout."""

import json
import zipfile
from datetime import datetime
from pathlib import Path

import pytest

from data.arrival.names import archive_run, says_nothing
from data.ingest import ingest_file
from data.ingest_files import ingest_files
from data.readers.base import Choices
from data.store import Store

START = 1_767_600_000.0
"""2026-01-05T08:00:00Z"""


def log(keys: dict[str, float], late_s: float, start: float = START) -> str:
    """Four steps of 50 s; the first ends 50 s + `late_s` after `start`."""
    rows = [{"step": n, "time": start + late_s + 50.0 * (n + 1), "time/step": 50.0, **keys} for n in range(4)]
    return "".join(json.dumps(row) + "\n" for row in rows)


TRAINER = log({"time/forward_backward": 30.0, "time/wait_for_batch": 20.0}, late_s=30.0)
ORCHESTRATOR = log({"progress/rollouts": 16, "time/wait_for_policy": 2.0}, late_s=0.0)

LAYOUTS = [
    ("grpo-a/trainer/metrics.jsonl", "grpo-a/orchestrator/metrics.jsonl", "grpo-a"),
    ("trainer/metrics.jsonl", "orchestrator/metrics.jsonl", "night"),
    ("outputs/metrics.jsonl", "outputs/run_default/metrics.jsonl", "night"),
    ("exp/trainer.jsonl", "exp/orchestrator.jsonl", "exp"),
]


@pytest.mark.parametrize(("trainer", "orchestrator", "run"), LAYOUTS)
def test_a_pair_in_one_archive_is_one_run(
    trainer: str, orchestrator: str, run: str, tmp_path: Path, store: Store
) -> None:
    path = tmp_path / "night.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(trainer, TRAINER)
        archive.writestr(orchestrator, ORCHESTRATOR)
    intake = ingest_files(store, path)
    assert [receipt.runs for receipt in intake.receipts] == [(run,), (run,)]
    whys = [join["why"] for receipt in intake.receipts for join in receipt.joins]
    assert any("shares 4 steps with another log of attempt 1 that agrees" in why for why in whys), whys


@pytest.mark.parametrize(
    ("trainer", "orchestrator", "run"),
    [LAYOUTS[0], *(pytest.param(*one, marks=pytest.mark.full) for one in LAYOUTS[1:])],
)
def test_a_pair_in_one_folder_is_one_run(
    trainer: str, orchestrator: str, run: str, tmp_path: Path, store: Store
) -> None:
    for name, text in ((trainer, TRAINER), (orchestrator, ORCHESTRATOR)):
        place = tmp_path / "night" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    ingest_files(store, tmp_path / "night")
    with store.view() as view:
        assert view.rows("SELECT run, attempt FROM attempts") == [(run, 1)]


@pytest.mark.parametrize("first", [TRAINER, ORCHESTRATOR])
def test_the_clock_of_a_pair_is_the_union_of_both(first: str, tmp_path: Path, store: Store) -> None:
    # 8:00:00 to 8:03:20 and 8:00:30 to 8:03:50: 230 s, though each log lasts 200 s
    texts = [first, TRAINER if first == ORCHESTRATOR else ORCHESTRATOR]
    for place, text in enumerate(texts):
        (tmp_path / f"{place}.jsonl").write_text(text)
        ingest_file(store, tmp_path / f"{place}.jsonl", choices=Choices(run="pair"))
    with store.view() as view:
        rows = view.rows("SELECT started_at, elapsed_s, elapsed_basis FROM attempts")
    assert rows == [(datetime(2026, 1, 5, 8, 0), pytest.approx(230.0), "clock")]


def test_a_pair_loaded_one_by_one_is_proposed_as_one_run(tmp_path: Path, store: Store) -> None:
    (tmp_path / "left.jsonl").write_text(TRAINER)
    (tmp_path / "right.jsonl").write_text(ORCHESTRATOR)
    (tmp_path / "far.jsonl").write_text(log({"progress/rollouts": 16, "off_policy/mean": 1}, 0, START + 9e4))
    ingest_file(store, tmp_path / "left.jsonl")
    far = ingest_file(store, tmp_path / "far.jsonl")
    right = ingest_file(store, tmp_path / "right.jsonl")
    assert right.runs == ("right",)
    assert any("join it to left" in warning for warning in right.warnings)
    assert not any("join it to" in warning for warning in far.warnings)


@pytest.mark.parametrize(
    ("name", "run"),
    [("exp.tar.gz", "exp"), ("a/exp.zip", "exp"), ("outputs.zip", None), ("metrics.jsonl.gz", None)],
)
def test_the_run_an_archive_is_named_after(name: str, run: str | None) -> None:
    assert archive_run(name) == run
    assert says_nothing("outputs/run_default/metrics.jsonl") and not says_nothing("exp/metrics.jsonl")
