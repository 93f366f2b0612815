"""Uploads: reconciled, idempotent by row, atomic; names, attempts and times as a person expects."""

import io
import random

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from data.errors import UnreadableFileError, UserError
from data.ingest import find_upload, ingest_file
from data.readers.base import Choices
from data.store import Store
from tests.data.fakes import COST_TABLES, ROW_TABLES, content, steps_csv, steps_text
from tests.examples import in_turn, some

pytestmark = pytest.mark.usefixtures("fake_readers")
HYPOTHESIS = {
    "deadline": None,
    "suppress_health_check": list(HealthCheck),
    "phases": [Phase.explicit, Phase.reuse, Phase.generate],  # shrinking would upload hundreds of files
}
GPUS = Choices(gpus=8, platform="h100-sxm")


def rows(first, last, jitter=0.0):
    return [(n, 1.0 + n / 7 + jitter, 100.0 * n) for n in range(first, last + 1)]


def one(store, sql):
    with store.view() as view:
        ((value,),) = view.rows(sql)
    return value


def attempts(store):
    with store.view() as view:
        return view.rows("SELECT run, attempt, elapsed_s FROM attempts ORDER BY ALL")


def fresh(tmp_path, name):
    return Store.open(tmp_path / name)


def test_the_same_bytes_twice_write_nothing(store):
    first = ingest_file(store, steps_csv(rows(1, 10)), "a.csv", GPUS)
    before = content(store)
    with store.view() as view:
        version = view.data_version
    again = ingest_file(store, steps_csv(rows(1, 10)), "copy.csv", GPUS)
    assert again.duplicate_of == first.upload_id and first.duplicate_of is None
    assert again.rows_written == {} and again.file == "copy.csv"
    assert any("nothing was written" in w for w in again.warnings)
    assert content(store) == before
    with store.view() as view:
        assert view.data_version == version
    assert [d.kind for d in store.workspace.decisions()] == ["upload"]


def test_the_original_is_kept_byte_for_byte(store):
    data = steps_csv(rows(1, 3)).getvalue().replace(b"\n", b"\r\n")
    receipt = ingest_file(store, io.BytesIO(data), "a.csv")
    assert store.original(receipt.sha256).read_bytes() == data
    assert receipt.line_ending == "crlf"
    assert list(store.spool.iterdir()) == []


@pytest.mark.parametrize("second_name", in_turn(["run.csv", "another name.csv"], turn=1, of=2))
def test_a_longer_copy_costs_what_one_upload_costs(tmp_path, second_name):
    grown, whole = fresh(tmp_path, "grown"), fresh(tmp_path, "whole")
    ingest_file(grown, steps_csv(rows(1, 100)), "run.csv", GPUS)
    receipt = ingest_file(grown, steps_csv(rows(1, 200)), second_name)
    ingest_file(whole, steps_csv(rows(1, 200)), "run.csv", GPUS)
    assert content(grown) == content(whole)
    assert receipt.runs == ("run",) and receipt.rows_written["steps"] == 100
    if second_name != "run.csv":
        assert any("extends that run" in w for w in receipt.warnings)
    grown.close()
    whole.close()


def test_sequential_halves_cost_what_one_upload_costs(tmp_path):
    halves, whole = fresh(tmp_path, "halves"), fresh(tmp_path, "whole")
    ingest_file(halves, steps_csv(rows(1, 100)), "run.csv", GPUS)
    ingest_file(halves, steps_csv(rows(101, 200)), "run.csv")
    ingest_file(whole, steps_csv(rows(1, 200)), "run.csv", GPUS)
    assert content(halves) == content(whole)
    halves.close()
    whole.close()


@settings(max_examples=some(1), **HYPOTHESIS)
@given(st.data())
def test_any_pieces_in_any_order_give_the_whole(tmp_path_factory, data):
    """Pieces that overlap or touch, shuffled rows, repeated uploads: always the tables of one upload."""
    n = data.draw(st.integers(4, 30))
    cuts = sorted(data.draw(st.lists(st.integers(1, n), min_size=1, max_size=3)))
    pieces = [(1, c) for c in cuts] + [(1, n)]
    pieces += [(c, n) for c in data.draw(st.lists(st.integers(1, n), max_size=2))]
    seed = data.draw(st.integers(0, 99))
    folder = tmp_path_factory.mktemp("pieces")
    parts, whole = fresh(folder, "parts"), fresh(folder, "whole")
    for index, (first, last) in enumerate(pieces):
        piece = rows(first, last)
        random.Random(seed + index).shuffle(piece)
        ingest_file(parts, steps_csv(piece), "run.csv", GPUS if index == 0 else None)
    ingest_file(whole, steps_csv(rows(1, n)), "run.csv", GPUS)
    assert content(parts) == content(whole)
    parts.close()
    whole.close()


def test_other_values_open_an_attempt_and_the_receipt_says_why(store):
    ingest_file(store, steps_csv(rows(1, 10)), "run.csv", GPUS)
    receipt = ingest_file(store, steps_csv(rows(6, 12, jitter=0.5)), "run.csv")
    assert [(r, a) for r, a, _ in attempts(store)] == [("run", 1), ("run", 2)]
    assert any("attempt 2" in w and "5 of 5 overlapping steps" in w for w in receipt.warnings)
    with store.view() as view:
        assert view.rows("SELECT attempt, gpus FROM allocations ORDER BY 1") == [(1, 8.0), (2, 8.0)]


def test_a_longer_copy_of_the_second_attempt_extends_the_second(store):
    ingest_file(store, steps_csv(rows(1, 10)), "run.csv")
    ingest_file(store, steps_csv(rows(6, 12, jitter=0.5)), "run.csv")
    ingest_file(store, steps_csv(rows(6, 20, jitter=0.5)), "run.csv")
    with store.view() as view:
        found = view.rows("SELECT attempt, min(step), max(step) FROM steps GROUP BY 1 ORDER BY 1")
    assert found == [(1, 1, 10), (2, 6, 20)]


def test_an_explicit_resume_opens_an_attempt_even_when_steps_touch(store):
    ingest_file(store, steps_csv(rows(1, 10)), "run.csv")
    resumed = [(*r, 10) for r in rows(11, 15)]
    receipt = ingest_file(store, steps_csv(resumed, ("step", "step_s", "tok_gen", "resumed_from")), "run.csv")
    assert [a for _, a, _ in attempts(store)] == [1, 2]
    assert any("resumes from step 10" in w for w in receipt.warnings)


def test_a_restarted_clock_opens_an_attempt(store):
    names = ("step", "step_s", "elapsed_s")
    ingest_file(store, steps_csv([(n, 10.0, 10.0 * n) for n in range(1, 6)], names), "run.csv")
    receipt = ingest_file(
        store, steps_csv([(n, 10.0, 10.0 * (n - 5)) for n in range(6, 9)], names), "run.csv"
    )
    assert [a for _, a, _ in attempts(store)] == [1, 2]
    assert any("clock starts again" in w for w in receipt.warnings)


def test_a_wall_clock_that_goes_on_extends(store):
    names = ("step", "ts")
    ingest_file(store, steps_csv([(n, f"2026-01-01 00:00:{n:02}") for n in range(1, 6)], names), "run.csv")
    ingest_file(store, steps_csv([(n, f"2026-01-01 00:01:{n:02}") for n in range(6, 9)], names), "run.csv")
    assert [a for _, a, _ in attempts(store)] == [1]


def test_exports_of_different_metrics_share_their_rows(store):
    ingest_file(store, steps_csv([(1, 1.5), (2, 2.5)], ("step", "step_s")), "run.csv")
    ingest_file(store, steps_csv([(1, 0.1), (2, 0.2), (3, 0.3)], ("step", "reward_mean")), "run.csv")
    with store.view() as view:
        found = view.rows("SELECT attempt, step, step_s, reward_mean FROM steps ORDER BY step")
    assert found == [(1, 1, 1.5, 0.1), (1, 2, 2.5, 0.2), (1, 3, None, 0.3)]


def test_raw_metrics_alone_tell_two_attempts_apart(store):
    names = ("step", "loss")
    ingest_file(store, steps_csv([(n, 1 / n) for n in range(1, 5)], names), "run.csv")
    ingest_file(store, steps_csv([(n, 1 / n) for n in range(1, 7)], names), "run.csv")
    assert [a for _, a, _ in attempts(store)] == [1]
    ingest_file(store, steps_csv([(n, 2 / n) for n in range(1, 5)], names), "run.csv")
    assert [a for _, a, _ in attempts(store)] == [1, 2]


def test_two_runs_with_equal_settings_but_other_measurements_stay_apart(store):
    names = ("step", "step_s", "rollouts")
    ingest_file(store, steps_csv([(n, 1.0 + n, 512) for n in range(1, 6)], names), "one.csv")
    receipt = ingest_file(store, steps_csv([(n, 1.5 + n, 512) for n in range(1, 6)], names), "two.csv")
    assert receipt.runs == ("two",)


def test_a_shared_configuration_is_no_fingerprint(store):
    ingest_file(store, steps_csv([(n, 512) for n in range(1, 6)], ("step", "rollouts")), "one.csv")
    receipt = ingest_file(store, steps_csv([(n, 512) for n in range(1, 6)], ("step", "rollouts")), "two.csv")
    assert receipt.duplicate_of is not None  # the same bytes; one row more makes it another file
    receipt = ingest_file(store, steps_csv([(n, 512) for n in range(1, 7)], ("step", "rollouts")), "two.csv")
    assert receipt.runs == ("two",)


def test_the_chosen_name_wins_over_the_one_inside(store):
    names = ("run", "step", "step_s")
    receipt = ingest_file(store, steps_csv([("inner", 1, 1.0)], names), "f.csv", Choices(run="mine"))
    assert receipt.runs == ("mine",)
    receipt = ingest_file(store, steps_csv([("inner", 1, 2.0)], names), "f.csv")
    assert receipt.runs == ("inner",)


def test_one_chosen_name_for_two_runs_is_refused(store):
    names = ("run", "step", "step_s")
    with pytest.raises(UserError, match="holds 2 runs"):
        ingest_file(store, steps_csv([("a", 1, 1.0), ("b", 1, 1.0)], names), "f.csv", Choices(run="c"))
    assert content(store, ("runs", "steps")) == {"runs": [], "steps": []}


def test_counts_reconcile_and_the_quarantine_names_lines(store):
    text = steps_text([(1, 1.0, 5), ("x", 1.0, 5), (2, 2.0, 6), ("# note", None, None), (3, "?", 1)])
    receipt = ingest_file(store, io.BytesIO(text.encode()), "run.csv")
    assert (receipt.records, receipt.stored, receipt.quarantined) == (5, 2, 2)
    assert receipt.ignored == {"comment": 1}
    with store.view() as view:
        assert view.rows("SELECT line FROM quarantine ORDER BY line") == [(3,), (6,)]
        stored = view.rows("SELECT records, stored, quarantined, ignored, rows_written FROM uploads")
    assert stored == [(5, 2, 2, 1, receipt.rows_written["steps"])]


CELLS = st.sampled_from(["1", "2", "3", "7", "x", "", "# c", "1.5", "9" * 3])


@settings(max_examples=some(4), **HYPOTHESIS)
@given(st.lists(st.tuples(CELLS, CELLS, CELLS), max_size=15))
def test_every_record_is_accounted_for(tmp_path_factory, cells):
    body = [c for c in cells if any(c)]
    store = fresh(tmp_path_factory.mktemp("cells"), "home")
    receipt = ingest_file(store, steps_csv([(s or "4", *rest) for s, *rest in body]), "run.csv")
    assert receipt.records == len(body)
    assert receipt.records == receipt.stored + receipt.quarantined + sum(receipt.ignored.values())
    assert one(store, "SELECT count(*) FROM quarantine") == receipt.quarantined
    store.close()


def test_choices_become_run_details(store):
    chosen = Choices(gpus_train=8, gpus_rollout=24, platform="h100-sxm", campaign="c1")
    receipt = ingest_file(store, steps_csv(rows(1, 4)), "run.csv", chosen)
    assert receipt.missing_for_cost == ()
    with store.view() as view:
        found = view.rows(
            "SELECT pool, role, platform, gpus, seconds, seconds_basis FROM allocations ORDER BY pool"
        )
        seconds = sum(r[1] for r in rows(1, 4))
        assert found == [
            ("rollout", "rollout", "h100-sxm", 24.0, pytest.approx(seconds), "step_sum"),
            ("train", "train", "h100-sxm", 8.0, pytest.approx(seconds), "step_sum"),
        ]
        assert view.rows("SELECT campaign FROM runs") == [("c1",)]
        assert view.rows("SELECT campaign FROM campaigns") == [("c1",)]


def test_what_is_missing_is_named_with_the_proposal(store):
    receipt = ingest_file(store, steps_csv(rows(1, 4)), "run.csv")
    missing = {m["field"]: m for m in receipt.missing_for_cost}
    assert set(missing) == {"gpus", "platform"}
    assert missing["gpus"]["proposal"] == 8 and missing["gpus"]["how"] == "for tests"
    receipt = ingest_file(store, steps_csv(rows(1, 5)), "run.csv", Choices(platform="h100-sxm"))
    assert {m["field"] for m in receipt.missing_for_cost} == {"gpus"}
    receipt = ingest_file(store, steps_csv(rows(1, 6)), "run.csv", Choices(gpus=4))
    assert receipt.missing_for_cost == ()
    with store.view() as view:
        assert view.rows("SELECT platform, gpus FROM allocations") == [("h100-sxm", 4.0)]


@pytest.mark.parametrize(
    ("choices", "word"),
    [
        (Choices(platform="abacus"), "h100-sxm"),
        (Choices(llm="no-such-model"), "Choose one of"),
        (Choices(gpus=0), "above 0"),
        (Choices(gpus=8, gpus_train=4), "one pool and as two"),
    ],
)
def test_impossible_choices_are_refused_before_anything_is_read(store, choices, word):
    with pytest.raises(UserError, match=word):
        ingest_file(store, steps_csv(rows(1, 4)), "run.csv", choices)
    assert content(store, ("runs", "steps")) == {"runs": [], "steps": []}
    assert list(store.originals.rglob("*")) == []


class Cancelled(Exception):
    pass


@pytest.mark.parametrize("stage", ["spool", "read", "store"])
def test_cancelling_at_any_stage_leaves_nothing(store, stage):
    seen = []

    def progress(name, done, total):
        seen.append(name)
        if name == stage:
            raise Cancelled

    with pytest.raises(Cancelled):
        ingest_file(store, steps_csv(rows(1, 50)), "run.csv", GPUS, progress)
    assert seen[-1] == stage
    assert list(store.spool.iterdir()) == []
    assert [p for p in store.originals.rglob("*") if p.is_file()] == []
    assert all(not found for found in content(store, COST_TABLES + ROW_TABLES).values())
    assert store.workspace.decisions() == []
    receipt = ingest_file(store, steps_csv(rows(1, 50)), "run.csv", GPUS)
    assert receipt.stored == 50 and receipt.duplicate_of is None


def test_a_missing_or_empty_file_is_refused(store, tmp_path):
    with pytest.raises(UnreadableFileError):
        ingest_file(store, tmp_path / "none.csv")
    with pytest.raises(UnreadableFileError):
        ingest_file(store, io.BytesIO(b""), "empty.csv")
    assert list(store.spool.iterdir()) == []


def test_receipts_are_stored_as_shown(store):
    receipt = ingest_file(store, steps_csv(rows(1, 4)), "run.csv", GPUS)
    assert find_upload(store, receipt.sha256) == receipt
    assert find_upload(store, "0" * 64) is None


def test_a_shorter_older_copy_changes_nothing(store):
    ingest_file(store, steps_csv(rows(1, 20)), "run.csv", GPUS)
    before = content(store)
    receipt = ingest_file(store, steps_csv(rows(1, 10)), "old copy.csv")
    assert content(store) == before
    assert receipt.runs == ("run",) and receipt.rows_written == {}


def test_synthetic_files_mark_the_home(store):
    ingest_file(store, steps_csv(rows(1, 4)), "example.csv", Choices(synthetic=True))
    with store.view() as view:
        assert view.home_is_synthetic
        assert view.rows("SELECT synthetic FROM runs") == [(True,)]
    ingest_file(store, steps_csv(rows(1, 5, jitter=1.0)), "own.csv")
    with store.view() as view:
        assert not view.home_is_synthetic


def test_the_cutoff_is_the_newest_stamp(store):
    ingest_file(store, steps_csv([(1, "2026-01-01 00:00:07")], ("step", "ts")), "run.csv")
    with store.view() as view:
        assert str(view.data_cutoff) == "2026-01-01 00:00:07"


def test_too_little_space_is_said_before_copying(store, tmp_path, monkeypatch):
    import shutil
    from collections import namedtuple

    path = tmp_path / "run.csv"
    path.write_text(steps_text(rows(1, 50)))
    usage = namedtuple("usage", "total used free")(10, 10, 10)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
    with pytest.raises(UserError, match="Free some space"):
        ingest_file(store, path)
