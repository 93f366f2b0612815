"""Telemetry = originals + decisions: undo equals never having loaded it, a rebuild equals what was there."""

import random
import shutil

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import data.readers
from data.errors import UserError
from data.ingest import ingest_file, rebuild, remove_example, undo_upload
from data.load import TELEMETRY_END
from data.readers.base import Choices
from data.run_details import PoolDetails, RunDetails, save_details
from data.store import Store
from tests.data.conftest import copied, made_home
from tests.data.fakes import choose_fake, content, gpu_csv, gpu_tables, steps_csv
from tests.examples import some

pytestmark = pytest.mark.usefixtures("fake_readers")
GPUS = Choices(gpus=8, platform="h100-sxm")
SLOW = {
    "deadline": None,
    "suppress_health_check": list(HealthCheck),
    "phases": [Phase.explicit, Phase.reuse, Phase.generate],
}


def rows(first, last, jitter=0.0):
    return [(n, 1.0 + n / 7 + jitter, 100.0 * n) for n in range(first, last + 1)]


def details(run, gpus):
    pools = [PoolDetails(pool="p", role="train", platform="h200-sxm", gpus=gpus)]
    return RunDetails(run=run, pools=pools, campaign="camp", status={1: "completed"})


def fill(store):
    """Two runs, an extension, a second attempt, details in between, GPU samples."""
    ids = [ingest_file(store, steps_csv(rows(1, 10)), "a.csv", GPUS).upload_id]
    save_details(store, details("a", 4))
    ids.append(ingest_file(store, steps_csv(rows(1, 20)), "longer a.csv").upload_id)
    ids.append(ingest_file(store, steps_csv(rows(8, 30, jitter=0.5)), "a.csv").upload_id)
    ids.append(ingest_file(store, steps_csv(rows(1, 5, jitter=9)), "b.csv", GPUS).upload_id)
    ids.append(ingest_file(store, gpu_csv(0, 50), "gpu.csv").upload_id)
    ids.append(ingest_file(store, gpu_csv(30, 90), "gpu later.csv").upload_id)
    return ids


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """A closed home after `fill`, and the ids of its uploads in their order."""
    ids = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(data.readers, "choose", choose_fake, raising=False)
        home = made_home(tmp_path_factory.mktemp("filled") / "home", lambda store: ids.extend(fill(store)))
    return home, ids


@pytest.fixture
def full_store(filled, tmp_path):
    yield from copied(filled[0], tmp_path / "home")


def test_deleting_the_telemetry_and_opening_gives_the_same_content(filled, tmp_path):
    shutil.copytree(filled[0], tmp_path, dirs_exist_ok=True)
    store = Store.open(tmp_path)
    before, samples = content(store), gpu_tables(store)
    uploads = content(store, ("uploads",), without=())
    store.close()
    (tmp_path / "telemetry.duckdb").unlink()
    for part in (tmp_path / "parts").iterdir():
        part.unlink()
    store = Store.open(tmp_path)
    assert content(store) == before
    assert gpu_tables(store) == samples
    assert content(store, ("uploads",), without=()) == uploads
    assert any("rebuilt from 6 original files" in n for n in store.notices)
    store.close()


def test_rebuilding_an_open_home_gives_the_same_content_and_a_new_version(full_store):
    store = full_store
    before, samples = content(store), gpu_tables(store)
    with store.view() as view:
        version = view.data_version
    assert rebuild(store) == []
    assert content(store) == before
    assert gpu_tables(store) == samples
    with store.view() as view:
        assert view.data_version != version
    receipt = ingest_file(store, steps_csv(rows(1, 40)), "a.csv")
    assert receipt.rows_written["steps"] == 20  # the longer copy of attempt 1


@settings(max_examples=some(2), **SLOW)
@given(st.integers(0, 5), st.integers(0, 3))
def test_undo_equals_never_having_loaded_it(tmp_path_factory, filled, which, seed):
    home, ids = filled
    place = tmp_path_factory.mktemp("undo") / "home"
    shutil.copytree(home, place)
    store = Store.open(place)
    undone = [ids[which]]
    if seed:
        undone.append(random.Random(seed).choice([i for i in ids if i != ids[which]]))
    for upload_id in undone:
        undo_upload(store, upload_id)
    after, samples = content(store), gpu_tables(store)
    assert rebuild(store) == []
    assert content(store) == after
    assert gpu_tables(store) == samples
    assert [d.kind for d in store.workspace.decisions()].count("undo_upload") == len(undone)
    store.close()


@pytest.mark.full
def test_undoing_everything_leaves_an_empty_home_that_takes_the_files_again(filled, full_store):
    store, ids = full_store, filled[1]
    before, samples = content(store), gpu_tables(store)
    for upload_id in ids:
        undo_upload(store, upload_id)
    empty = content(store)
    assert all(not found for table, found in empty.items() if table != "run_settings")
    assert gpu_tables(store) == {"gpu_minutes": [], "gpu_coverage": [], "samples": []}
    assert list(store.parts.iterdir()) == []
    fill(store)
    assert content(store) == before
    assert gpu_tables(store) == samples


def test_undoing_the_middle_of_three_keeps_the_others(store):
    ingest_file(store, steps_csv(rows(1, 10)), "a.csv", GPUS)
    middle = ingest_file(store, steps_csv(rows(1, 20)), "a.csv")
    with store.view() as view:
        assert view.rows("SELECT max(step) FROM steps") == [(20,)]
    undo_upload(store, middle.upload_id)
    with store.view() as view:
        assert view.rows("SELECT max(step), count(*) FROM steps") == [(10, 10)]
        assert view.rows("SELECT gpus, seconds FROM allocations") == [
            (8.0, pytest.approx(sum(r[1] for r in rows(1, 10))))
        ]


def test_unknown_uploads_cannot_be_undone(store):
    with pytest.raises(UserError, match="no upload"):
        undo_upload(store, "0" * 16)
    assert store.workspace.decisions() == []


def test_undo_refuses_when_an_original_it_needs_is_gone(store):
    first = ingest_file(store, steps_csv(rows(1, 10)), "a.csv", GPUS)
    second = ingest_file(store, steps_csv(rows(1, 20)), "a.csv")
    store.original(first.sha256).unlink()
    before = content(store)
    with pytest.raises(UserError, match="original"):
        undo_upload(store, second.upload_id)
    assert content(store) == before


def test_a_rebuild_says_which_original_is_gone_and_keeps_the_rest(store):
    lost = ingest_file(store, steps_csv(rows(1, 10)), "a.csv", GPUS)
    ingest_file(store, steps_csv(rows(1, 5, jitter=3)), "b.csv", GPUS)
    store.original(lost.sha256).unlink()
    (problem,) = rebuild(store)
    assert "a.csv" in problem
    with store.view() as view:
        assert view.rows("SELECT run FROM runs") == [("b",)]


def test_removing_the_example_leaves_own_data(store):
    made_up = Choices(synthetic=True, gpus=8, platform="h100-sxm")
    ingest_file(store, steps_csv(rows(1, 10)), "example.csv", made_up)
    ingest_file(store, steps_csv(rows(1, 5, jitter=3)), "own.csv", GPUS)
    assert remove_example(store) == 1
    with store.view() as view:
        assert view.rows("SELECT run FROM runs") == [("own",)]
        assert not view.home_is_synthetic
    assert remove_example(store) == 0
    rebuild(store)
    with store.view() as view:
        assert view.rows("SELECT run FROM runs") == [("own",)]


def test_the_cutoff_moves_back_when_the_example_goes(store):
    own = [(1, "2026-01-01 00:00:07")]
    made_up = [(1, "2026-11-02 13:27:00")]
    ingest_file(store, steps_csv(own, ("step", "ts")), "own.csv")
    ingest_file(store, steps_csv(made_up, ("step", "ts")), "example.csv", Choices(synthetic=True))
    with store.view() as view:
        assert str(view.data_cutoff) == "2026-11-02 13:27:00"
    remove_example(store)
    with store.view() as view:
        assert str(view.data_cutoff) == "2026-01-01 00:00:07"


def test_the_end_of_a_paid_month_moves_no_cutoff_unless_bills_are_all_there_is(store):
    with store.transaction() as con:
        con.execute("INSERT INTO costs BY NAME SELECT TIMESTAMP '2026-12-01' AS charge_end, 'c' AS upload_id")
        con.execute(TELEMETRY_END)
    with store.view() as view:
        assert str(view.data_cutoff) == "2026-12-01 00:00:00"
    ingest_file(store, steps_csv([(1, "2026-01-01 00:00:07")], ("step", "ts")), "own.csv")
    with store.view() as view:
        assert str(view.data_cutoff) == "2026-01-01 00:00:07"


def test_gpu_samples_in_overlapping_pieces_are_those_of_one_file(tmp_path):
    pieces, whole = Store.open(tmp_path / "pieces"), Store.open(tmp_path / "whole")
    for first, last in ((40, 90), (0, 50), (85, 120), (0, 120)):
        ingest_file(pieces, gpu_csv(first, last), f"from {first} to {last}.csv")
    receipt = ingest_file(whole, gpu_csv(0, 120), "whole.csv")
    assert receipt.rows_written["gpu_samples"] == 2 * 119  # one second of each GPU is a gap
    assert gpu_tables(pieces) == gpu_tables(whole)
    with pieces.view() as view:
        assert view.rows("SELECT count(*) FROM gpu_parts") == [(1,)]
        ((known, unknown),) = view.rows("SELECT sum(known_s), sum(unknown_s) FROM gpu_coverage")
    assert known + unknown == pytest.approx(2 * 119)
    pieces.close()
    whole.close()


def test_other_measures_of_the_same_stamps_fill_the_gaps(store):
    ingest_file(store, gpu_csv(0, 60, measure="gpu_util"), "util.csv")
    ingest_file(store, gpu_csv(0, 60, measure="power_w"), "power.csv")
    with store.view() as view:
        sql = view.gpu_parts_sql(["g0"])
        assert view.rows(f"SELECT count(*), count(gpu_util), count(power_w) FROM {sql}") == [(59, 59, 59)]
        assert view.rows("SELECT DISTINCT measure FROM gpu_minutes ORDER BY 1") == [
            ("gpu_util",),
            ("power_w",),
        ]


def test_a_view_keeps_reading_the_parts_it_saw(store):
    ingest_file(store, gpu_csv(0, 60), "one.csv")
    with store.view() as view:
        ingest_file(store, gpu_csv(0, 90), "two.csv")
        assert view.rows(f"SELECT max(ts) - min(ts) FROM {view.gpu_parts_sql()}")[0][0].total_seconds() == 59
    ingest_file(store, steps_csv(rows(1, 3)), "a.csv")
    assert len(list(store.parts.iterdir())) == 1
