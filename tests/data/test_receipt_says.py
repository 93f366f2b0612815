"""What a receipt says: other choices for the same bytes, assumed zones, untied GPUs, names, costs."""

import io
import json

import pytest

import analysis
from data.ingest import ingest_file, rebuild, undo_upload
from data.readers.base import Choices
from data.run_details import current_details, missing_for_cost, proposals
from data.store import Store
from tests.data.fakes import content
from tests.samples import verl_log

HEAD = "timestamp, index, uuid, name, utilization.gpu [%], power.draw [W]\n"


def smi(gpus=2, samples=10, model="NVIDIA B200", step_s=1):
    rows = [
        f"2026/07/01 12:00:{s * step_s:02d}.000, {g}, GPU-{g}, {model}, {50 + g} %, {400 + g}.00 W"
        for s in range(samples)
        for g in range(gpus)
    ]
    return io.BytesIO((HEAD + "\n".join(rows) + "\n").encode())


def log(*span):
    return io.BytesIO(verl_log(*span).encode())


@pytest.mark.parametrize(
    ("choices", "named"),
    [
        (Choices(timezone="Europe/Berlin"), "timezone Europe/Berlin, not UTC"),
        (Choices(format="ipd_gpu_samples_csv"), "format ipd_gpu_samples_csv, not nvidia_smi_query_csv"),
        (Choices(host="node-7"), "host node-7, not open"),
        (Choices(run="r1"), "run r1, not open"),
    ],
)
def test_the_same_bytes_with_other_choices_say_what_was_not_applied(store, choices, named):
    ingest_file(store, smi(), "gpu.csv")
    before = content(store)
    receipt = ingest_file(store, smi(), "gpu.csv", choices)
    assert receipt.duplicate_of
    (note,) = [text for text in receipt.warnings if "loaded before" in text]
    assert named in note and "Read it differently" in note and "undo" in note
    assert content(store) == before


@pytest.mark.parametrize("choices", [None, Choices(timezone="UTC"), Choices(format="nvidia_smi_query_csv")])
def test_the_same_bytes_with_the_same_choices_ask_for_nothing(store, choices):
    ingest_file(store, smi(), "gpu.csv")
    receipt = ingest_file(store, smi(), "gpu.csv", choices)
    assert not any("not applied" in text for text in receipt.warnings)


def test_an_assumed_zone_is_marked_as_assumed(store):
    receipt = ingest_file(store, smi(), "gpu.csv")
    assert (receipt.timezone, receipt.timezone_assumed) == ("UTC", True)
    undo_upload(store, receipt.upload_id)
    chosen = ingest_file(store, smi(), "gpu.csv", Choices(timezone="UTC"))
    assert (chosen.timezone, chosen.timezone_assumed) == ("UTC", False)


def test_samples_without_a_run_offer_to_be_tied_to_one(store):
    receipt = ingest_file(store, smi(), "gpu.csv")
    assert any("The samples name no run" in text and "--" not in text for text in receipt.warnings)
    with store.view() as view:
        assert view.rows("SELECT DISTINCT platform, run FROM gpus") == [("b200-hgx", None)]


def test_samples_tied_to_a_run_name_its_platform_and_show_under_it(store):
    ingest_file(store, log(1, 10), "train.log")
    receipt = ingest_file(store, smi(), "gpu.csv", Choices(run="grpo-sample"))
    assert receipt.runs == ("grpo-sample",) and not any("name no run" in text for text in receipt.warnings)
    found = {s.field: s for s in proposals(store, "grpo-sample")}
    assert found["platform"].value == "b200-hgx" and "NVIDIA B200" in found["platform"].how
    lacking = {m.field: m for m in missing_for_cost(store, "grpo-sample")}
    assert lacking["platform"].proposal == "b200-hgx" and lacking["gpus"].proposal == 16
    with store.view() as view:
        assert view.rows("SELECT DISTINCT run, platform FROM gpus") == [("grpo-sample", "b200-hgx")]
        result = analysis.run("utilisation", view, {"runs": ["grpo-sample"]})
    assert len(result.tables["gpus"]) == 2
    known, held = 2 * 9.0, 2 * 9.0
    assert result.tables["gpus"]["coverage_frac"].tolist() == pytest.approx([known / held] * 2)
    before = content(store)
    assert rebuild(store) == []
    assert content(store) == before
    assert {s.field for s in proposals(store, "grpo-sample")} == set(found)


def test_a_gpu_that_no_platform_of_the_catalogue_reports_stays_open(store):
    ingest_file(store, log(1, 10), "train.log")
    ingest_file(store, smi(model="NVIDIA GeForce RTX 4090"), "gpu.csv", Choices(run="grpo-sample"))
    assert "platform" not in {s.field for s in proposals(store, "grpo-sample")}


def test_gpus_by_pool_of_an_asynchronous_log_are_proposed(store):
    ingest_file(store, log(1, 5), "a.log")
    with store.transaction() as con:
        con.execute("DELETE FROM proposals WHERE field = 'gpus'")
        for role, gpus in (("train", 32), ("rollout", 16)):
            con.execute(
                "INSERT INTO proposals BY NAME SELECT upload_id, run, ? AS field, ? AS value, ? AS how "
                "FROM run_sources",
                [f"gpus_{role}", json.dumps(gpus), f"{role} in the configuration"],
            )
    (gpus,) = [m for m in missing_for_cost(store, "grpo-sample") if m.field == "gpus"]
    assert gpus.proposal == {"train": 32, "rollout": 16}
    assert gpus.how == "train in the configuration; rollout in the configuration"


@pytest.mark.parametrize("name", ["train.log", "grpo-sample.log"])
def test_a_run_named_in_the_log_is_not_said_to_be_nameless(store, name):
    receipt = ingest_file(store, log(1, 5), name)
    assert receipt.runs == ("grpo-sample",)
    assert not any("names no run" in text for text in receipt.warnings)


COSTS = b"""day,bucket,billed_cost,currency,campaign,run,note
2026-01-31,staff,4200,USD,math,,one engineer
2026-01-31,storage,300,USD,,grpo-sample,
2026-01-31,data,250,EUR,math,,
"""


def spent(store, boundary):
    params = {"runs": ["grpo-sample"], "boundary": boundary}
    with store.view() as view:
        result = analysis.run("ledger", view, params)
    spend = next(f for f in result.headline if f.name == "spend")
    return (
        float(spend.value),
        float(result.tables["ledger"]["usd"].iloc[0]),
        [w.text for w in result.warnings],
    )


def test_booked_costs_count_in_the_full_boundary_and_survive_a_rebuild(store: Store):
    ingest_file(store, log(1, 10), "a.log", Choices(gpus=16, platform="b200-hgx", campaign="math"))
    ingest_file(store, io.BytesIO(COSTS), "costs.csv")
    campaign, of_run, _ = spent(store, "campaign")
    full, full_of_run, warnings = spent(store, "full")
    assert full - campaign == pytest.approx(4500.0)
    assert full_of_run - of_run == pytest.approx(300.0)
    assert any("EUR" in text for text in warnings)
    before = content(store)
    assert rebuild(store) == []
    assert content(store) == before
    assert current_details(store, "grpo-sample").campaign == "math"
