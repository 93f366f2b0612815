"""Manifests of a run: settings and no steps."""

import json
from datetime import datetime
from pathlib import Path

import pytest

from data.errors import UnreadableFileError
from data.ingest import ingest_file
from data.readers.base import Batch, Choices
from data.readers.registry import choose, sniff_all
from data.readers.run_manifest import RunManifestReader
from data.store import Store
from tests.data.verl_files import jsonl, spooled, values

MANIFEST: dict[str, object] = {
    "run_id": "trial",
    "start_ts": 1767600000,
    "start_iso": "2026-01-05T16:00:00+08:00",
    "restart_epoch": 0,
    "algorithm": "GRPO",
    "model": "Qwen/Qwen3-8B",
    "model_path": "/data/models/Qwen3-8B",
    "verl_commit": "0123abc",
    "seed": 7,
    "hardware": "4x NVIDIA H20 96GB, NVLink full mesh",
    "trainer_log": "logs/trial/trainer.log",
}


def read(value: object, folder: Path, zone: str | None = None) -> Batch:
    source = spooled(json.dumps(value, indent=2) + "\n", folder, "manifest.json")
    return RunManifestReader().read(source, Choices(timezone=zone), folder)


def test_a_manifest_by_hand(tmp_path: Path) -> None:
    batch = read(MANIFEST, tmp_path)
    facts = batch.facts
    assert (facts["records"], facts["steps_count"], facts["run_names"]) == (1, 0, "trial")
    assert (facts["gpus"], facts["gpu_model"]) == (4, "NVIDIA H20 96GB")
    assert (facts["time_first_epoch_s"], facts["time_zone"]) == (1767600000.0, "+08:00")
    run = batch.tables["runs"].iloc[0]
    assert (run["algorithm"], run["framework"], run["framework_version"]) == ("grpo", "verl", "0123abc")
    attempt = batch.tables["attempts"].iloc[0]
    assert attempt["started_at"] == datetime(2026, 1, 5, 8, 0)
    assert attempt["elapsed_s"] is None
    assert {(p.field, p.value) for p in batch.proposals} == {("llm", "qwen3-8b"), ("gpus", 4)}
    assert "steps" not in batch.tables
    assert "trainer_log" in batch.unmapped


def test_a_stamp_without_zone_fixes_no_instant_until_a_person_names_it(tmp_path: Path) -> None:
    plain = {"run_name": "trial", "started_at": "2026-01-05T08:00:00", "ended_at": "2026-01-05T09:00:00",
             "model": "x/y", "num_gpus": 8, "status": "finished"}  # fmt: skip
    assert read(plain, tmp_path).facts["time_first_epoch_s"] is None
    batch = read(plain, tmp_path / "z", "+01:00")
    assert batch.facts["time_first_epoch_s"] == 1767600000.0 - 3600
    attempt = batch.tables["attempts"].iloc[0]
    assert (attempt["elapsed_s"], attempt["elapsed_basis"], attempt["status"]) == (
        3600.0,
        "clock",
        "completed",
    )
    assert batch.facts["gpus"] == 8


def test_the_platform_is_proposed_when_the_driver_name_is_known(tmp_path: Path) -> None:
    batch = read({**MANIFEST, "hardware": "8 x NVIDIA H100 80GB HBM3"}, tmp_path)
    assert ("platform", "h100-sxm") in {(p.field, p.value) for p in batch.proposals}


@pytest.mark.parametrize("manifest_first", [True, False])
def test_manifest_and_log_are_one_attempt(manifest_first: bool, tmp_path: Path, store: Store) -> None:
    (tmp_path / "manifest.json").write_text(json.dumps(MANIFEST))
    (tmp_path / "log.jsonl").write_text(jsonl({s: values(s) for s in (1, 2)}))
    names = ["manifest.json", "log.jsonl"]
    for name in names if manifest_first else reversed(names):
        ingest_file(store, tmp_path / name, choices=Choices(run="trial"))
    with store.view() as view:
        rows = view.rows("SELECT attempt, started_at, elapsed_s FROM attempts")
    assert rows == [(1, datetime(2026, 1, 5, 8, 0), 40.0)]


def test_it_is_told_from_logs_and_summaries(tmp_path: Path) -> None:
    text = json.dumps(MANIFEST, indent=2)
    assert choose(spooled(text, tmp_path, "x.json"), Choices()).format == "run_manifest_json"
    for index, other in enumerate(
        ['{"_runtime": 3, "_step": 2, "train/loss": 0.1, "run_id": "a"}', '{"run_id": "a", "step": 1}',
         json.dumps({**MANIFEST, "log_history": []}), jsonl({1: values(1)})]
    ):  # fmt: skip
        source = spooled(other, tmp_path / str(index), "x.json")
        judged = {reader.format: sniff.confidence for reader, sniff in sniff_all(source)}
        assert judged["run_manifest_json"] < 0.5


@pytest.mark.parametrize("text", ["{", "[]", '{"a": 1}', '"text"'])
def test_what_is_no_manifest(text: str, tmp_path: Path) -> None:
    source = spooled(text, tmp_path, "x.json")
    with pytest.raises(UnreadableFileError):
        RunManifestReader().read(source, Choices(), tmp_path)
