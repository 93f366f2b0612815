"""One run from several files: joined by itself where one run fits, else by hand; a rebuild keeps it."""

import io
import json
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from data.errors import UserError
from data.ingest import ingest_file, rebuild, undo_upload
from data.ingest_files import ingest_files
from data.join import Span, _candidate
from data.queries.filters import Filters
from data.queries.uploads import files_of
from data.queries.utilisation import per_gpu
from data.readers.base import Choices
from data.rejoin import join_upload, undo_join
from data.store import Store
from reports.jobs import answer
from tests.examples import some

T0 = 1_780_000_000.0
HELD = Choices(run="nightly", platform="h100-sxm", gpus=8)


def trainer(step: int, at: float, extra: float = 0.0) -> str:
    row = {
        "step": step, "time": T0 + at, "time/step": 50.0 + extra, "time/forward_backward": 30.0 + step / 10,
        "time/wait_for_batch": 10.0, "perf/mfu": 0.3, "perf/throughput": 1000.0 + step + extra,
    }  # fmt: skip
    return json.dumps(row) + "\n"


def orchestrator(step: int, at: float, extra: float = 0.0) -> str:
    row = {
        "step": step, "time": T0 + at, "time/step": 49.0 + extra, "time/generate_completions": 40.0 + extra,
        "progress/samples": 64, "progress/output_tokens": 5000 + step, "reward/mean": 0.1 + 0.01 * step,
    }  # fmt: skip
    return json.dumps(row) + "\n"


def verl(step: int, extra: float = 0.0) -> str:
    data = {
        "timing_s/step": 10.0 + step / 100 + extra, "timing_s/gen": 5.0, "timing_s/update_actor": 3.0,
        "perf/total_num_tokens": 10_000 + step, "critic/rewards/mean": 0.1 + step / 1000 + extra / 100,
    }  # fmt: skip
    return json.dumps({"step": step, "data": data}) + "\n"


def smi(first_s: float, last_s: float, gpus: int = 2, host: str = "") -> str:
    head = "timestamp, index, name, utilization.gpu [%]\n"
    start = datetime.fromtimestamp(T0, UTC)
    seconds = range(int(first_s), int(last_s) + 1, 30)
    return head + "".join(
        f"{start + timedelta(seconds=s):%Y/%m/%d %H:%M:%S}.000, {g}, NVIDIA H100 80GB HBM3, {40 + g} %\n"
        for s in seconds
        for g in range(gpus)
    )


def load(store: Store, text: str, name: str, choices: Choices | None = None):
    return ingest_file(store, io.BytesIO(text.encode()), name, choices)


def run_of(rows: int, write=trainer) -> str:
    return "".join(write(step, 60.0 * (step + 1)) for step in range(rows))


def ledger(store: Store) -> list[dict]:
    table = answer(store, "ledger", {}).tables["ledger"]
    wanted = [c for c in ("run", "usd", "gpu_hours", "lost_usd", "steps", "attempts") if c in table]
    return json.loads(table[wanted].round(6).to_json(orient="records"))


def tied(store: Store) -> set[tuple]:
    with store.view() as view:
        return set(view.rows("SELECT run, attempt FROM gpus"))


def test_a_gpu_log_inside_the_clock_of_one_run_joins_it_and_says_why(store: Store) -> None:
    load(store, run_of(10), "metrics.jsonl", HELD)
    receipt = load(store, smi(-60, 700), "gpu.csv")
    (joined,) = receipt.joins
    assert (joined["run"], joined["attempt"], joined["by"]) == ("nightly", 1, "clock")
    assert joined["confidence"] == 0.7
    assert "lies inside that of attempt 1" in joined["why"] and "taken as UTC" in joined["why"]
    assert tied(store) == {("nightly", 1)}
    with store.view() as view:
        pools = per_gpu(view, Filters(("nightly",)), "gpu_util_frac")
        assert set(zip(pools["pool"], pools["role"], strict=True)) == {("all", "colocated")}
        made_of = files_of(view, "nightly")
    assert list(made_of["name"]) == ["metrics.jsonl", "gpu.csv"]
    before = ledger(store)
    assert rebuild(store) == []
    assert tied(store) == {("nightly", 1)} and ledger(store) == before


@pytest.mark.parametrize(
    ("first", "last", "words"),
    [
        ("2026-03-02 08:00", "2026-03-02 09:30", "2026-03-02 08:00 to 09:30"),
        ("2026-03-02 23:50", "2026-03-03 00:10", "2026-03-02 23:50 to 2026-03-03 00:10"),
        ("2026-03-02 08:00", "2026-04-02 08:00", "2026-03-02 08:00 to 2026-04-02 08:00"),
    ],
)
def test_both_times_of_a_proposal_have_their_day(first: str, last: str, words: str) -> None:
    clock = datetime.fromisoformat(first), datetime.fromisoformat(last)
    assert _candidate("r", [(1, *clock)], Span(*clock)).why == (
        f"its time ({words} UTC) lies inside that of attempt 1 ({words})"
    )


@pytest.mark.parametrize(
    ("text", "why"),
    [(smi(-60, 90_000), "longer than the run"), (smi(0, 300, gpus=9), "more GPUs than the run held")],
)
def test_what_does_not_fit_is_not_joined_by_itself(store: Store, text: str, why: str) -> None:
    load(store, run_of(10), "metrics.jsonl", HELD)
    assert load(store, text, "gpu.csv").joins == (), why
    assert tied(store) == {(None, None)}


def test_two_runs_at_one_time_are_asked_for_unless_the_folder_tells(store: Store, tmp_path: Path) -> None:
    for name, extra in (("one", 0.0), ("two", 1.0)):
        folder = tmp_path / "runs" / name
        folder.mkdir(parents=True)
        rows = "".join(trainer(n, 60.0 * (n + 1), extra) for n in range(6))
        (folder / "metrics.jsonl").write_text(rows)
    (tmp_path / "runs" / "two" / "a gpu log.csv").write_text(smi(0, 300))
    (tmp_path / "runs" / "other.csv").write_text(smi(10, 310).replace("NVIDIA", "Nvidia"))
    intake = ingest_files(store, tmp_path / "runs")
    joins = {r.file: [(j["run"], j["by"]) for j in r.joins] for r in intake.receipts}
    assert joins["runs/two/a gpu log.csv"] == [("two", "clock")]
    assert joins["runs/other.csv"] == []


def test_a_join_by_itself_ends_with_the_logs_it_rests_on(store: Store) -> None:
    log = load(store, run_of(10), "metrics.jsonl", HELD)
    load(store, smi(0, 600), "gpu.csv")
    undo_upload(store, log.upload_id)
    assert tied(store) == {(None, None)}
    assert rebuild(store) == []
    assert tied(store) == {(None, None)}


def test_a_person_corrects_a_join_and_a_rebuild_keeps_it_to_the_cent(store: Store) -> None:
    load(store, run_of(10), "metrics.jsonl", HELD)
    load(store, "".join(verl(n) for n in range(1, 11)), "other.jsonl", Choices(platform="h100-sxm", gpus=8))
    gpu = load(store, smi(0, 600), "gpu.csv")
    join_upload(store, gpu.upload_id, "other")
    assert tied(store) == {("other", None)}
    moved = join_upload(store, "other.jsonl", "nightly", "new")
    assert [(j["run"], j["attempt"]) for j in moved["joins"]] == [("nightly", 2)]
    after = ledger(store)
    assert rebuild(store) == []
    assert ledger(store) == after
    undo_join(store, "other.jsonl")
    assert {row["run"] for row in ledger(store)} == {"nightly", "other"}
    free = join_upload(store, gpu.upload_id[:8], None)
    assert free["runs"] == [] and tied(store) == {(None, None)}
    undo_join(store, gpu.upload_id)
    assert tied(store) == {("other", None)}
    kinds = [d.kind for d in store.workspace.decisions()]
    assert (kinds.count("join"), kinds.count("undo_join")) == (3, 2)


def test_refused_joins_change_nothing(store: Store) -> None:
    log = load(store, run_of(3), "metrics.jsonl", HELD)
    before = ledger(store)
    with pytest.raises(UserError, match="need a run"):
        join_upload(store, log.upload_id, None)
    with pytest.raises(UserError, match="no upload"):
        join_upload(store, "nothing.csv", "nightly")
    with pytest.raises(UserError, match="no attempt"):
        join_upload(store, log.upload_id, "nightly", 0)
    with pytest.raises(UserError, match="Nobody has joined"):
        undo_join(store, log.upload_id)
    assert ledger(store) == before
    assert rebuild(store) == [] and ledger(store) == before


def test_a_join_decided_just_before_a_crash_is_applied_on_opening(tmp_path: Path) -> None:
    store = Store.open(tmp_path)
    load(store, run_of(4), "metrics.jsonl", HELD)
    gpu = load(store, smi(90_000, 90_300), "gpu.csv")
    store.workspace.decide("join", {"run": "nightly"}, upload_sha256=gpu.sha256, run="nightly")
    store.close()
    store = Store.open(tmp_path)
    assert {run for run, _ in tied(store)} == {"nightly"}
    store.close()


def costs(folder: Path, pieces: list[str]) -> list[dict]:
    store = Store.open(folder)
    for piece in pieces:
        load(store, piece, "metrics.jsonl", HELD)
    found = ledger(store)
    store.close()
    return found


@pytest.mark.full
def test_a_push_a_step_with_a_restart_costs_what_one_file_costs(tmp_path: Path) -> None:
    rows = [verl(n) for n in range(1, 9)] + [verl(n, 1.0) for n in range(5, 9)]
    whole = costs(tmp_path / "whole", ["".join(rows)])
    assert costs(tmp_path / "pushed", rows) == whole
    assert whole[0]["lost_usd"] > 0


@pytest.mark.full
def test_two_processes_that_push_in_turn_cost_what_their_files_cost(tmp_path: Path) -> None:
    steps = [(n, 60.0 * (n + 1), 0.0) for n in range(6)] + [(n, 60.0 * n + 2000, 1.0) for n in range(4, 8)]
    mine, theirs = [trainer(*s) for s in steps], [orchestrator(n, at - 5, x) for n, at, x in steps]
    whole = costs(tmp_path / "whole", ["".join(mine), "".join(theirs)])
    in_turn = [row for pair in zip(mine, theirs, strict=True) for row in pair]
    assert costs(tmp_path / "pushed", in_turn) == whole
    hours = (5 + 60 * 6 - 10 + 50 + 3 * 60 + 4) / 3600 * 8
    assert whole[0]["gpu_hours"] == pytest.approx(hours, rel=0.03)


@pytest.mark.full
@settings(
    max_examples=some(1),
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
)
@given(st.data())
def test_overlapping_pieces_in_order_cost_what_the_whole_costs(tmp_path_factory, data) -> None:
    write = data.draw(st.sampled_from([verl, lambda n: trainer(n, 60.0 * (n + 1))]))
    rows = [write(n) for n in range(1, 13)]
    cuts = sorted({0, 12, *data.draw(st.lists(st.integers(1, 11), min_size=1, max_size=3))})
    pieces = []
    for first, last in pairwise(cuts):
        overlap = data.draw(st.integers(0, 3))
        pieces.append("".join(rows[max(first - overlap, 0) : last]))
    folder = tmp_path_factory.mktemp("pieces")
    assert costs(folder / "pieces", pieces) == costs(folder / "whole", ["".join(rows)])


def test_pieces_that_overlap_may_come_out_of_order(tmp_path: Path) -> None:
    rows = [verl(n) for n in range(1, 13)]
    pieces = ["".join(rows[4:9]), "".join(rows[7:]), "".join(rows[:6])]
    assert costs(tmp_path / "pieces", pieces) == costs(tmp_path / "whole", ["".join(rows)])


def test_time_without_a_clock_says_what_it_misses(store: Store) -> None:
    receipt = load(store, "".join(verl(n) for n in range(1, 4)), "metrics.jsonl", HELD)
    assert sum("start-up" in text for text in receipt.warnings) == 1
