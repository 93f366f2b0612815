"""The real readers through the store: growing logs, our templates, rows that name no attempt."""

import io
import json

import pytest

from data.ingest import ingest_file, rebuild
from data.readers.base import Choices
from data.store import Store
from tests.data.fakes import content

GPUS = Choices(gpus=8, platform="h100-sxm")
RUNS_FORMAT = Choices(format="ipd_runs_csv")


def csv_of(text):
    return io.BytesIO(("\n".join(line.strip() for line in text.strip().splitlines()) + "\n").encode())


def verl(first, last, jitter=0.0):
    lines = []
    for step in range(first, last + 1):
        values = {
            "training/global_step": step,
            "timing_s/step": 100 + step / 7 + jitter,
            "timing_s/gen": 60 + step / 9 + jitter,
            "timing_s/update_actor": 30.5,
            "perf/total_num_tokens": 100_000 + step,
            "critic/score/mean": 0.25 + step / 1000,
            "actor/pg_loss": 0.01 * step + jitter,
        }
        if step % 5 == 0:
            values["val-core/openai/gsm8k/reward/mean@1"] = 0.5 + step / 100
        lines.append(json.dumps({"step": step, "data": values}))
    return io.BytesIO(("\n".join(lines) + "\n").encode())


@pytest.mark.parametrize(
    "pieces",
    [
        [(1, 10), (1, 20)],
        pytest.param([(1, 10), (11, 20)], marks=pytest.mark.full),
        pytest.param([(1, 20), (1, 10)], marks=pytest.mark.full),
    ],
)
def test_a_growing_verl_log_costs_what_one_upload_costs(tmp_path, pieces):
    grown, whole = Store.open(tmp_path / "grown"), Store.open(tmp_path / "whole")
    for index, (first, last) in enumerate(pieces):
        ingest_file(grown, verl(first, last), "run.jsonl", GPUS if index == 0 else None)
    ingest_file(whole, verl(1, 20), "run.jsonl", GPUS)
    assert content(grown) == content(whole)
    with whole.view() as view:
        assert view.rows("SELECT count(*), count(DISTINCT step) FROM steps") == [(20, 20)]
        assert view.rows("SELECT count(*) FROM evals") == [(4,)]
        seconds = sum(100 + n / 7 for n in range(1, 21))
        assert view.rows("SELECT gpus, seconds FROM allocations") == [(8.0, pytest.approx(seconds))]
    grown.close()
    whole.close()


def test_checkpoints_of_a_second_attempt_get_a_name_of_their_own(store):
    ingest_file(store, verl(1, 10), "run.jsonl")
    ingest_file(store, verl(6, 15, jitter=0.5), "run.jsonl")
    with store.view() as view:
        found = view.rows("SELECT checkpoint, attempt, step FROM evals ORDER BY attempt, step")
        assert found == [
            ("run@5", 1, 5),
            ("run@10", 1, 10),
            ("run@2.10", 2, 10),
            ("run@15", 2, 15),
        ]
        ids = view.rows("SELECT eval_id, checkpoint FROM evals")
        assert all(eval_id.startswith(checkpoint) for eval_id, checkpoint in ids)
        assert view.rows("SELECT checkpoint FROM checkpoints ORDER BY 1") == sorted((c,) for c, _, _ in found)


RUNS = """
    run,campaign,attempt,status,elapsed_s,pool,role,platform,gpus
    r,c,1,failed,1000,train,train,h100-sxm,8
    r,c,1,failed,1000,rollout,rollout,h100-sxm,16
    r,c,2,completed,500,train,train,h100-sxm,8
"""


def test_a_table_of_runs_fills_runs_attempts_and_allocations(store):
    receipt = ingest_file(store, csv_of(RUNS), "runs.csv", RUNS_FORMAT)
    assert receipt.missing_for_cost == ()
    assert receipt.rows_written == {"runs": 1, "attempts": 2, "allocations": 3}
    with store.view() as view:
        assert view.rows("SELECT attempt, status, elapsed_s, elapsed_basis FROM attempts ORDER BY 1") == [
            (1, "failed", 1000.0, "user"),
            (2, "completed", 500.0, "user"),
        ]
        assert view.rows("SELECT attempt, pool, gpus, seconds, source FROM allocations ORDER BY ALL") == [
            (1, "rollout", 16.0, 1000.0, "file"),
            (1, "train", 8.0, 1000.0, "file"),
            (2, "train", 8.0, 500.0, "file"),
        ]


def test_a_corrected_table_of_runs_replaces_what_it_corrects(store):
    ingest_file(store, csv_of(RUNS), "runs.csv", RUNS_FORMAT)
    ingest_file(
        store, csv_of(RUNS.replace("500", "700").replace("completed", "cancelled")), "runs.csv", RUNS_FORMAT
    )
    with store.view() as view:
        assert view.rows("SELECT attempt, status, elapsed_s FROM attempts ORDER BY 1") == [
            (1, "failed", 1000.0),
            (2, "cancelled", 700.0),
        ]
        assert view.rows("SELECT count(*) FROM allocations") == [(3,)]


def test_steps_that_name_their_attempt_are_taken_at_their_word(store):
    head = "run,attempt,step,step_s,reward_mean\n"
    body = "".join(f"r,2,{n},{10 + n},0.5\n" for n in range(1, 6))
    ingest_file(store, io.BytesIO((head + body).encode()), "steps.csv")
    receipt = ingest_file(store, io.BytesIO((head + body.replace(",13,", ",99,")).encode()), "steps.csv")
    with store.view() as view:
        assert view.rows("SELECT attempt, elapsed_s FROM attempts") == [(2, 11 + 12 + 99 + 14 + 15)]
    assert any("replaced" in w for w in receipt.warnings)


def test_rows_without_an_attempt_go_to_the_attempt_that_holds_their_step(store):
    ingest_file(store, verl(1, 10), "r.jsonl")
    ingest_file(store, verl(6, 15, jitter=0.5), "r.jsonl")
    evals = "run,step,benchmark,score\nr,3,math,0.1\nr,8,math,0.2\nr,14,math,0.3\n"
    ingest_file(store, io.BytesIO(evals.encode()), "evals.csv")
    with store.view() as view:
        found = view.rows(
            "SELECT step, attempt, checkpoint FROM evals WHERE benchmark = 'math' ORDER BY step"
        )
    assert found == [(3, 1, "r@3"), (8, 2, "r@8"), (14, 2, "r@14")]


def test_hardware_without_attempt_and_times_holds_for_every_attempt(store):
    ingest_file(store, verl(1, 10), "r.jsonl")
    hardware = "run,role,platform,gpus\nr,colocated,h100-sxm,8\n"
    ingest_file(store, io.BytesIO(hardware.encode()), "allocations.csv")
    ingest_file(store, verl(6, 15, jitter=0.5), "r.jsonl")
    with store.view() as view:
        found = view.rows("SELECT attempt, pool, gpus, seconds > 0 FROM allocations ORDER BY 1")
    assert found == [(1, "all", 8.0, True), (2, "all", 8.0, True)]


def test_overlapping_exports_of_sandbox_calls_do_not_count_twice(store):
    head = "run,step,env,busy_s\n"
    calls = [f"r,{n // 2},python,{0.5 if n % 3 else 0.7}\n" for n in range(10)]
    ingest_file(store, io.BytesIO((head + "".join(calls[:6])).encode()), "calls.csv")
    ingest_file(store, io.BytesIO((head + "".join(calls)).encode()), "calls.csv")
    with store.view() as view:
        assert view.rows("SELECT count(*) FROM env_events")[0][0] == len(calls)


def test_everything_together_survives_a_rebuild(store):
    ingest_file(store, csv_of(RUNS), "runs.csv", RUNS_FORMAT)
    ingest_file(store, verl(1, 10), "r.jsonl", Choices(run="r"))
    ingest_file(store, verl(6, 15, jitter=0.5), "r.jsonl", Choices(run="r"))
    before = content(store)
    assert rebuild(store) == []
    assert content(store) == before
