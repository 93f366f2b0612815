"""Jobs of a scheduler are attempts of their run: hand-worked GPU-hours, dollars, lost work, split steps."""

import io
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from analysis.campaigns import CampaignsParams
from analysis.campaigns import compute as campaigns
from analysis.ledger import LedgerParams
from analysis.ledger import compute as ledger
from data.ingest import ingest_file, rebuild, undo_upload
from data.job_attempts import Job, LogAttempt, place, status_of
from data.job_fold import Held
from data.job_pools import of_jobs
from data.queries.uploads import files_of, listing
from data.readers.base import Choices
from data.rejoin import join_upload
from data.store import Store
from tests.examples import in_turn

DAY = datetime(2026, 10, 31)
STEPS = (
    "run,step,ts,step_s,rollouts\n"
    + "\n".join(f"kestrel,{n},2026-11-01T0{n - 1}:00:00Z,3600,8" for n in (1, 2, 3, 4))
    + "\n"
)
"""Four steps of an hour, 31 October 23:00 to 1 November 03:00."""
HEAD = "JobID|JobName|State|Start|End|ElapsedRaw|AllocTRES\n"
FAILED = "41|kestrel|FAILED|2026-10-31T20:00:00|2026-10-31T22:30:00|9000|gres/gpu:h100=64\n"
DONE = "42|kestrel|COMPLETED|2026-10-31T22:50:00|2026-11-01T03:50:00|18000|gres/gpu:h100=64\n"


def at(hours: float) -> datetime:
    return DAY + timedelta(hours=hours)


def job(name: str, start: float, end: float | None, state: str = "FAILED", gpus: float = 8.0) -> Job:
    seconds = None if end is None else (end - start) * 3600
    return Job(name, None, state, at(start), None if end is None else at(end), seconds, gpus)


def log(attempt: int, *ends: float, first: int = 1, **more: object) -> LogAttempt:
    stamps = tuple((first + n, at(end)) for n, end in enumerate(ends))
    steps = (stamps[0][0], stamps[-1][0]) if stamps else None
    return LogAttempt(attempt, stamps=stamps, steps=steps, **more)  # type: ignore[arg-type]


def told(placed: object) -> list[tuple[object, ...]]:
    return [
        (p.attempt, p.job.job_id, p.log.attempt if p.log else None, p.parent, p.parent_step)
        for p in placed.pieces  # type: ignore[attr-defined]
    ]


def load(store: Store, text: str, name: str, **choices: object) -> str:
    chosen = Choices(**choices)  # type: ignore[arg-type]
    return ingest_file(store, io.BytesIO(text.encode()), name, chosen).upload_id


def answers(store: Store) -> dict[str, float]:
    with store.view() as view:
        (row,) = ledger(view, LedgerParams()).tables["ledger"].to_dict("records")
        money = {p: campaigns(view, CampaignsParams(period=p)).tables["campaigns"] for p in MONTHS}
    names = ("gpu_hours", "usd", "lost_usd", "goodput_frac", "status", "attempts")
    out = {name: row[name] for name in names}
    for period, table in money.items():
        (only,) = table.to_dict("records")
        out |= {f"{name} {period}": float(only[name]) for name in ("usd_full", "gpu_h", "usd_failed")}
    return out


MONTHS = ("all", "2026-10", "2026-11")
BOTH = {
    "gpu_hours": 480.0, "usd": 960.0, "lost_usd": 320.0, "goodput_frac": 256 / 480, "status": "completed",
    "attempts": 2, "usd_full all": 960.0, "gpu_h all": 480.0, "usd_failed all": 320.0,
    "usd_full 2026-10": 469.33, "gpu_h 2026-10": 160 + 64 * 70 / 60, "usd_failed 2026-10": 320.0,
    "usd_full 2026-11": 490.67, "gpu_h 2026-11": 64 * 230 / 60, "usd_failed 2026-11": 0.0,
}  # fmt: skip
"""64 GPUs at $2.00: 2.5 h failed = 160 GPU-h; 5 h = 320 GPU-h, of it 1 h 10 min in October; 4 h in steps."""


@pytest.mark.parametrize("jobs_first", in_turn([True, False], of=2))
def test_a_failed_and_a_completed_job_cost_the_same_on_every_page(store: Store, jobs_first: bool) -> None:
    if jobs_first:
        jobs = load(store, HEAD + FAILED + DONE, "jobs.txt", timezone="UTC")
    load(store, STEPS, "steps.csv", platform="h100-sxm", gpus=64)
    if not jobs_first:
        jobs = load(store, HEAD + FAILED + DONE, "jobs.txt", timezone="UTC")
    assert answers(store) == pytest.approx(BOTH)
    rebuild(store)
    assert answers(store) == pytest.approx(BOTH)
    undo_upload(store, jobs)
    after = answers(store)
    assert (after["gpu_hours"], after["usd"], after["attempts"]) == (256.0, 512.0, 1)


def test_jobs_joined_by_hand_count_as_jobs_that_were_found(store: Store) -> None:
    load(store, STEPS, "steps.csv", platform="h100-sxm", gpus=64)
    load(store, (HEAD + FAILED + DONE).replace("kestrel", "wrap"), "jobs.txt", timezone="UTC")
    assert answers(store)["gpu_hours"] == 256.0
    receipt = join_upload(store, "jobs.txt", "kestrel", 1)
    assert answers(store) == pytest.approx(BOTH)
    assert [joined["attempt"] for joined in receipt["joins"]] == [None]


def test_steps_without_a_time_of_day_belong_to_the_only_job_long_enough(store: Store) -> None:
    bare = "\n".join(
        ",".join(c for i, c in enumerate(line.split(",")) if i != 2) for line in STEPS.split("\n")
    )
    load(store, bare, "steps.csv", platform="h100-sxm", gpus=64)
    load(store, HEAD + FAILED + DONE, "jobs.txt", timezone="UTC")
    assert answers(store) == pytest.approx(BOTH)
    with store.view() as view:
        notes = [n.text for n in ledger(view, LedgerParams()).warnings if n.code == "jobs_unclear"]
    assert len(notes) == 1 and "no time of day" in notes[0] and "job 42" in notes[0]


def test_one_log_of_a_requeued_job_is_split_where_the_job_was(store: Store) -> None:
    """Steps 1 and 2 end inside the first start of job 42, steps 3 and 4 inside its second."""
    jobs = (
        "42|kestrel|NODE_FAIL|2026-10-31T22:50:00|2026-11-01T01:20:00|9000|gres/gpu:h100=64\n"
        "42|kestrel|COMPLETED|2026-11-01T01:40:00|2026-11-01T03:10:00|5400|gres/gpu:h100=64\n"
    )
    load(store, HEAD + jobs, "jobs.txt", timezone="UTC")
    load(store, STEPS, "steps.csv", platform="h100-sxm", gpus=64)
    parts = "SELECT attempt, list(step ORDER BY step) FROM steps GROUP BY attempt ORDER BY attempt"
    clocks = "SELECT attempt, status, cause, elapsed_s, resumed_from_step, resumed_from_attempt FROM attempts"
    for text in (STEPS, STEPS + "kestrel,5,2026-11-01T03:05:00Z,300,8\n"):
        load(store, text, f"steps{len(text)}.csv")
        last = [3, 4, 5] if "kestrel,5" in text else [3, 4]
        with store.view() as view:
            assert view.rows(parts) == [(1, [1, 2]), (2, last)]
            assert view.rows(f"{clocks} ORDER BY attempt") == [
                (1, "failed", "NODE_FAIL", 9000.0, None, None),
                (2, "completed", None, 5400.0, 2, 1),
            ]
    found = answers(store)
    assert (found["gpu_hours"], found["lost_usd"]) == (256.0, 0.0)
    assert found["goodput_frac"] == pytest.approx((4 * 3600 + 300) / (9000 + 5400))


def test_a_clock_of_stamps_starts_with_the_first_step_and_leaves_long_pauses_out(store: Store) -> None:
    later = "kestrel,5,2026-11-02T06:00:00Z,3600,8\n"
    load(store, STEPS, "steps.csv", platform="h100-sxm", gpus=64)
    sql = "SELECT started_at, ended_at, elapsed_s, elapsed_basis FROM attempts"
    with store.view() as view:
        assert view.rows(sql) == [(at(23), at(27), 14400.0, "log_clock")]
    load(store, STEPS + later, "more.csv")
    with store.view() as view:
        assert view.rows(sql) == [(at(23), at(54), 5 * 3600.0, "log_clock")]
        (spend,) = [f for f in ledger(view, LedgerParams()).headline if f.name == "spend"]
    assert (spend.value, spend.interval) == (640.0, "quote_range_least")


def test_a_log_belongs_to_the_job_it_lies_in_and_the_others_are_attempts_of_their_own() -> None:
    jobs = [job("a", 0, 2), job("b", 3, 9, "COMPLETED"), job("c", 10, 11, "CANCELLED")]
    assert told(place(jobs, [log(1, 4, 5, 6)])) == [
        (2, "a", None, None, None), (1, "b", 1, None, None), (3, "c", None, None, None),
    ]  # fmt: skip


def test_a_restart_inside_one_job_divides_its_window() -> None:
    placed = place([job("a", 0, 10, "COMPLETED")], [log(1, 2, 3), log(2, 6, 7, first=2, start=at(5))])
    assert [(p.start, p.end, p.last) for p in placed.pieces] == [
        (at(0), at(5), False), (at(5), at(10), True),
    ]  # fmt: skip


def test_a_log_that_begins_in_the_middle_stands_on_the_job_before_it() -> None:
    """What of that job survives is not known: its steps have no log, so it is not wholly lost."""
    placed = place([job("a", 0, 2), job("b", 3, 9, "COMPLETED")], [log(1, 4, 5, first=41)])
    assert told(placed) == [(2, "a", None, None, None), (1, "b", 1, 2, 40)]


def test_a_job_that_may_be_the_log_in_another_zone_is_not_counted_beside_it() -> None:
    placed = place([job("a", 7, 10, "COMPLETED")], [log(1, 1, 2, 3)])
    assert placed.pieces == () and "another time zone" in placed.notes[0]


def test_steps_longer_than_any_job_leave_open_what_survived() -> None:
    jobs = [job("a", 0, 2), job("b", 3, 5, "COMPLETED")]
    placed = place(jobs, [LogAttempt(1, step_sum_s=3 * 3600, steps=(1, 9))])
    assert told(placed) == [(2, "a", None, None, None), (1, "b", 1, 2, None)]
    assert "not known" in placed.notes[0]


def test_a_job_beside_a_larger_one_is_no_second_attempt() -> None:
    (piece,) = place([job("a", 0, 10, "COMPLETED"), job("eval", 8, 9, gpus=4.0)], []).pieces
    assert (piece.job.job_id, [one.job_id for one in piece.beside]) == ("a", ["eval"])
    pool = {
        "pool": "all",
        "role": "colocated",
        "platform": "h100-sxm",
        "gpus": 8.0,
        "cores": None,
        "price_id": None,
    }
    rows = of_jobs([pool], Held(piece.job, piece.beside))
    assert [(row["pool"], row["gpus"], row.get("started_at")) for row in rows] == [
        ("all", 8.0, None), ("job eval", 4.0, at(8)),
    ]  # fmt: skip


def test_a_job_of_another_size_holds_its_own_gpus() -> None:
    pool = {
        "pool": "all",
        "role": "colocated",
        "platform": "h100-sxm",
        "gpus": 64.0,
        "cores": None,
        "price_id": None,
    }
    (row,) = of_jobs([pool], Held(job("a", 0, 1, gpus=16.0)))
    assert row["gpus"] == 16.0


@pytest.mark.parametrize(
    ("state", "status"),
    [
        ("COMPLETED", ("completed", None)), ("FAILED", ("failed", "FAILED")),
        ("CANCELLED", ("cancelled", None)),
        ("TIMEOUT", ("failed", "TIMEOUT")), ("OUT_OF_MEMORY", ("failed", "OUT_OF_MEMORY")),
        ("PREEMPTED", ("cancelled", "PREEMPTED")), ("RUNNING", ("running", None)), ("", ("unknown", None)),
    ],
)  # fmt: skip
def test_states_of_the_scheduler(state: str, status: tuple[str, str | None]) -> None:
    assert status_of(state) == status


def test_an_older_home_gets_the_attempts_of_its_jobs_when_it_is_opened(tmp_path: Path) -> None:
    """A home of schema 5: jobs are tied to the run, and its one attempt is that of the log."""
    store = Store.open(tmp_path)
    load(store, STEPS, "steps.csv", platform="h100-sxm", gpus=64)
    load(store, HEAD + FAILED + DONE, "jobs.txt", timezone="UTC")
    with store.transaction() as con:
        con.execute("UPDATE steps SET attempt = 1")
        con.execute("DELETE FROM attempts WHERE attempt <> (SELECT min(attempt) FROM steps)")
        con.execute("UPDATE attempts SET status = 'unknown', elapsed_s = 14400, elapsed_basis = 'log_clock'")
        con.execute(
            "DELETE FROM allocations WHERE (run, attempt) NOT IN (SELECT (run, attempt) FROM attempts)"
        )
        con.execute("DROP TABLE job_attempts")
        con.execute("DELETE FROM schema_migrations WHERE version >= 6")
        con.execute("DELETE FROM meta WHERE key = 'derivation'")
    store.close()
    store = Store.open(tmp_path)
    try:
        assert answers(store) == pytest.approx(BOTH)
        assert any("derived anew" in said for said in store.notices)
    finally:
        store.close()
    again = Store.open(tmp_path)
    assert not again.notices
    again.close()


def test_gpus_of_the_run_details_that_no_job_held_are_said(store: Store) -> None:
    """16 GPUs were filled in, both jobs held 64: 16 count for 7.5 hours, and that is no secret."""
    load(store, STEPS, "steps.csv", platform="h100-sxm", gpus=16)
    load(store, HEAD + FAILED + DONE, "jobs.txt", timezone="UTC")
    with store.view() as view:
        result = ledger(view, LedgerParams())
    assert result.tables["ledger"]["gpu_hours"].tolist() == [16 * 7.5]
    (said,) = [n.text for n in result.warnings if n.code == "jobs_unclear"]
    assert said.startswith("The pools of kestrel have 16 GPUs, and its scheduler jobs held 64: ")


def test_the_list_of_uploads_names_the_runs_of_a_scheduler_file(store: Store) -> None:
    load(store, STEPS, "steps.csv", platform="h100-sxm", gpus=64)
    load(store, HEAD + FAILED + DONE, "jobs.txt", timezone="UTC")
    with store.view() as view:
        tied = listing(view).set_index("name")["tied"]
    assert {name: list(runs) for name, runs in tied.items()} == {"jobs.txt": ["kestrel"], "steps.csv": []}


def test_a_run_is_made_of_the_scheduler_file_too(store: Store) -> None:
    load(store, STEPS, "steps.csv", platform="h100-sxm", gpus=64)
    load(store, HEAD + FAILED + DONE, "jobs.txt", timezone="UTC")
    with store.view() as view:
        assert sorted(files_of(view, "kestrel")["name"]) == ["jobs.txt", "steps.csv"]
