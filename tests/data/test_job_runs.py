"""Scheduler jobs find their run by name, comment or output file, and lose it again with the run."""

from pathlib import Path

import pytest

from data.ingest import ingest_file, rebuild, undo_upload
from data.readers.base import Choices
from data.store import Store

RUNS = """run,started_at,ended_at,pool,role,platform,gpus
math-v3,2026-03-02 00:00:00,2026-03-02 10:00:00,all,colocated,h100_sxm,8
slurm-77,2026-03-02 00:00:00,2026-03-02 10:00:00,all,colocated,h100_sxm,8
train,2026-03-02 00:00:00,2026-03-02 10:00:00,all,colocated,h100_sxm,8
"""
JOBS = """JobID|JobName|Account|Comment|State|Start|End|AllocTRES|NodeList
71|math-v3|lab||FAILED|2026-03-02T00:00:00|2026-03-02T02:00:00|gres/gpu=8|node-a
72|math-v3|lab||COMPLETED|2026-03-02T02:00:00|2026-03-02T10:00:00|gres/gpu=8|node-a
72.batch|batch|lab||COMPLETED|2026-03-02T02:00:00|2026-03-02T10:00:00|gres/gpu=8|node-a
73|sweep|eval|math-v3|COMPLETED|2026-03-02T09:00:00|2026-03-02T10:00:00|gres/gpu=4|node-b
74|math-v3|lab||COMPLETED|2026-04-02T02:00:00|2026-04-02T10:00:00|gres/gpu=8|node-a
75|train|lab||RUNNING|2026-03-02T02:00:00|Unknown|gres/gpu=8|node-[c-d]
76|bash|lab||COMPLETED|2026-03-02T02:00:00|2026-03-02T10:00:00||node-a
77|wrap|lab||COMPLETED|2026-03-02T02:00:00|2026-03-02T10:00:00|gres/gpu=2|node-e
"""
FOUND = {
    "71": ("math-v3", "name"), "72": ("math-v3", "name"), "73": ("math-v3", "comment"),
    "77": ("slurm-77", "output file"),
}  # fmt: skip
"""74 ran a month later, `train` is a name that any run may have, and `bash` is no run."""


def load(store: Store, folder: Path, name: str, text: str, choices: Choices | None = None) -> str:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return ingest_file(store, path, choices=choices or Choices()).upload_id


def named(store: Store) -> dict[str, tuple[str, str]]:
    with store.view() as view:
        rows = view.rows("SELECT job_id, run, run_by FROM scheduler_jobs WHERE run IS NOT NULL")
    return {job: (run, how) for job, run, how in rows}


@pytest.mark.parametrize("jobs_first", [True, False])
def test_jobs_find_runs_in_any_order(store: Store, tmp_path: Path, jobs_first: bool) -> None:
    files = [("jobs.txt", JOBS), ("runs.csv", RUNS)]
    ids = {name: load(store, tmp_path, name, text) for name, text in files[:: 1 if jobs_first else -1]}
    assert named(store) == FOUND
    rebuild(store)
    assert named(store) == FOUND
    undo_upload(store, ids["runs.csv"])
    assert named(store) == {}


def test_every_job_keeps_its_own_facts(store: Store, tmp_path: Path) -> None:
    load(store, tmp_path, "jobs.txt", JOBS)
    with store.view() as view:
        rows = view.rows(
            "SELECT job_id, account, state, gpus, node_list, epoch(ended_at - started_at) / 3600 "
            "FROM scheduler_jobs ORDER BY job_id"
        )
    assert rows[0] == ("71", "lab", "FAILED", 8.0, "node-a", 2.0)
    assert rows[2] == ("73", "eval", "COMPLETED", 4.0, "node-b", 1.0)
    assert rows[4] == ("75", "lab", "RUNNING", 8.0, "node-[c-d]", None)
    assert len(rows) == 7


def test_what_a_person_says_of_a_file_stays(store: Store, tmp_path: Path) -> None:
    load(store, tmp_path, "runs.csv", RUNS)
    load(store, tmp_path, "jobs.txt", JOBS, Choices(run="other"))
    assert set(named(store).values()) == {("other", "file")}
    again = JOBS.replace("8|node-a", "8|node-z", 1)
    load(store, tmp_path, "more.txt", again)
    assert set(named(store).values()) == {("other", "file")}


def test_receipts_say_which_jobs_are_tied_to_which_runs(store: Store, tmp_path: Path) -> None:
    def told(name: str, text: str) -> str:
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        receipt = ingest_file(store, path, choices=Choices())
        assert not any("scheduler job" in text for text in receipt.warnings)
        return " ".join([*receipt.tied, *receipt.untied])

    none = "None of the 7 scheduler jobs in this file is tied to a run"
    assert none in told("jobs.txt", JOBS.replace("77|wrap", "78|wrap"))
    later = told("runs.csv", RUNS)
    assert (
        "loaded before and tied to runs of this file: 3, math-v3 (2 by name), math-v3 (1 by comment)" in later
    )
    own = told("more.txt", JOBS)
    assert "new or changed: 1 of 1 tied to runs, slurm-77 (1 by output file)" in own
    assert "loaded before and tied to runs of this file" not in own
