"""Run details: refused with a remedy, applied to present and future attempts, replaced by later ones."""

import pytest
from pydantic import ValidationError

from data.catalogue import load_catalogue
from data.errors import UserError
from data.ingest import ingest_file
from data.readers.base import Choices
from data.run_details import (
    PoolDetails,
    RunDetails,
    Suggestion,
    current_details,
    missing_for_cost,
    proposals,
    save_details,
)
from tests.data.fakes import content, steps_csv

pytestmark = pytest.mark.usefixtures("fake_readers")


def pool(**more):
    return PoolDetails(**{"pool": "train", "role": "train", "platform": "h100-sxm", "gpus": 8} | more)


@pytest.fixture
def loaded(store):
    ingest_file(store, steps_csv([(n, 10.0, 5.0) for n in range(1, 5)]), "run.csv")
    return store


def allocations(store):
    with store.view() as view:
        return view.rows(
            "SELECT attempt, pool, platform, gpus, seconds, seconds_basis, source FROM allocations "
            "ORDER BY ALL"
        )


def test_details_fill_every_attempt_now_and_later(loaded):
    save_details(loaded, RunDetails(run="run", pools=[pool()], campaign="c", team="t", llm="qwen2.5-7b"))
    assert allocations(loaded) == [(1, "train", "h100-sxm", 8.0, 40.0, "step_sum", "user")]
    ingest_file(loaded, steps_csv([(n, 20.0, 5.0) for n in range(1, 5)]), "run.csv")
    assert [row[:5] for row in allocations(loaded)] == [
        (1, "train", "h100-sxm", 8.0, 40.0),
        (2, "train", "h100-sxm", 8.0, 80.0),
    ]
    with loaded.view() as view:
        assert view.rows("SELECT campaign, llm, framework FROM runs") == [("c", "qwen2.5-7b", "fake")]
        assert view.rows("SELECT campaign, team FROM campaigns") == [("c", "t")]
    assert missing_for_cost(loaded, "run") == []


def test_later_details_replace_earlier_ones_wholly(loaded):
    save_details(
        loaded, RunDetails(run="run", pools=[pool(), pool(pool="b", role="rollout")], llm="qwen2.5-7b")
    )
    save_details(loaded, RunDetails(run="run", pools=[pool(gpus=4, seconds=7.0)], status={1: "failed"}))
    assert allocations(loaded) == [(1, "train", "h100-sxm", 4.0, 7.0, "user", "user")]
    with loaded.view() as view:
        assert view.rows("SELECT llm FROM runs") == [(None,)]
        assert view.rows("SELECT status FROM attempts") == [("failed",)]
    assert current_details(loaded, "run").pools[0].gpus == 4
    kinds = [d.kind for d in loaded.workspace.decisions()]
    assert kinds == ["upload", "run_details", "run_details"]


def test_saving_makes_a_new_data_version(loaded):
    with loaded.view() as view:
        before = view.data_version
    save_details(loaded, RunDetails(run="run", pools=[pool()]))
    with loaded.view() as view:
        assert view.data_version != before


def test_an_upload_with_choices_after_details_changes_only_what_it_names(loaded):
    save_details(loaded, RunDetails(run="run", pools=[pool(price_id=None)], llm="qwen2.5-7b", note="kept"))
    longer = [(n, 10.0, 5.0) for n in range(1, 6)]
    ingest_file(loaded, steps_csv(longer), "run.csv", Choices(campaign="c2"))
    with loaded.view() as view:
        assert view.rows("SELECT campaign, llm, note FROM runs") == [("c2", "qwen2.5-7b", "kept")]
    assert allocations(loaded)[0][3:5] == (8.0, 50.0)


def test_unknown_names_are_refused_naming_the_valid_ones(loaded):
    cases = [
        (RunDetails(run="other", pools=[pool()]), "Choose one of: run"),
        (RunDetails(run="run", pools=[pool(platform="abacus")]), "h100-sxm"),
        (RunDetails(run="run", pools=[pool()], llm="abacus"), "qwen2.5-7b"),
        (RunDetails(run="run", pools=[pool(price_id="gold")]), "h100-sxm-"),
    ]
    before = content(loaded)
    for details, word in cases:
        with pytest.raises(UserError, match=word):
            save_details(loaded, details)
    assert content(loaded) == before
    assert [d.kind for d in loaded.workspace.decisions()] == ["upload"]


def test_a_price_must_be_rent_of_that_platform(loaded):
    catalogue = load_catalogue()
    right = catalogue.price("h100-sxm", "reserved_3y", "neocloud")
    save_details(loaded, RunDetails(run="run", pools=[pool(price_id=right.price_id)]))
    with loaded.view() as view:
        assert view.rows("SELECT price_id FROM allocations") == [(right.price_id,)]
    other = catalogue.price("h200-sxm", "reserved_3y", "neocloud")
    with pytest.raises(UserError, match="of h200-sxm"):
        save_details(loaded, RunDetails(run="run", pools=[pool(price_id=other.price_id)]))


@pytest.mark.parametrize(
    "bad",
    [
        {"gpus": 0},
        {"gpus": -1},
        {"gpus": float("inf")},
        {"gpus": None},
        {"role": "boss"},
        {"seconds": 0},
        {"pool": ""},
    ],
)
def test_impossible_pools_cannot_be_built(bad):
    with pytest.raises(ValidationError):
        pool(**bad)


def test_two_pools_of_one_name_cannot_be_built():
    with pytest.raises(ValidationError, match="same name"):
        RunDetails(run="run", pools=[pool(), pool()])


def test_a_sandbox_needs_cores_only():
    assert PoolDetails(pool="box", role="sandbox", platform="x86-reference", cores=64).gpus is None


def test_proposals_are_kept_with_how_they_were_inferred(loaded):
    assert proposals(loaded, "run") == [Suggestion("gpus", 8, "for tests")]
    missing = {m.field: m for m in missing_for_cost(loaded, "run")}
    assert missing["gpus"].proposal == 8 and missing["gpus"].how == "for tests"
    assert missing["platform"].proposal is None
    with loaded.view() as view:
        assert missing_for_cost(view, "run") == list(missing.values())


def test_a_run_without_times_lacks_time(store):
    ingest_file(
        store, steps_csv([(1, 5.0)], ("step", "tok_gen")), "run.csv", Choices(gpus=8, platform="h100-sxm")
    )
    assert [m.field for m in missing_for_cost(store, "run")] == ["time"]
    save_details(store, RunDetails(run="run", pools=[pool(seconds=60.0)]))
    assert missing_for_cost(store, "run") == []
