"""A GPU count that contradicts the log's own is remarked where it is given and where dollars use it."""

import pytest

from analysis.params import CommonParams
from analysis.spend import compute_spend
from data.gpu.claims import contradicted
from data.ingest import ingest_file
from data.readers.base import Choices
from data.run_details import PoolDetails, RunDetails, save_details
from tests.data.fakes import steps_csv

pytestmark = pytest.mark.usefixtures("fake_readers")
STEPS = [(n, 10.0, 5.0) for n in range(1, 5)]


def told(rows):
    """What `contradicted` says of run r for stored pools and claims given as plain rows."""
    return contradicted(lambda sql, params: rows["held" if "allocations" in sql else "claims"], ["r"])


@pytest.mark.parametrize(("gpus", "remarked"), [(8, False), (16, True)])
def test_the_receipt_of_an_upload_says_so(store, gpus, remarked):
    receipt = ingest_file(store, steps_csv(STEPS), "run.csv", Choices(gpus=gpus, platform="h100-sxm"))
    said = [w for w in receipt.warnings if "its log counts 8 (for tests)" in w]
    assert bool(said) == remarked
    assert not remarked or "16 GPUs were given" in said[0]


def test_run_details_are_held_against_the_log_wherever_dollars_show(store):
    ingest_file(store, steps_csv(STEPS), "run.csv", Choices(gpus=8, platform="h100-sxm"))
    pools = (PoolDetails(pool="all", role="colocated", platform="h100-sxm", gpus=12),)
    for details, found in ((None, []), (RunDetails(run="run", pools=pools), ["run"])):
        if details:
            save_details(store, details)
        with store.view() as view:
            notices = compute_spend(view, CommonParams()).notices
        assert [n.where for n in notices if n.code == "gpus_contradicted"] == found


@pytest.mark.parametrize(
    ("held", "claims", "words"),
    [
        ((48, 32, 16), {"gpus_train": 32, "gpus_rollout": 16}, None),
        ((48, 32, 16), {"gpus_train": 32, "gpus_rollout": 24}, "16 rollout GPUs were given, but"),
        ((48, 32, 16), {"gpus_train": 33}, "32 training GPUs were given, but"),
        ((48, 32, 16), {"gpus": 64}, "48 GPUs were given, but"),
        (
            (64, None, None),
            {"gpus_train": 32, "gpus_rollout": 16},
            "64 GPUs were given, but its log counts 48",
        ),
        ((64, None, None), {"gpus_train": 32}, None),
        ((100, None, None), {"gpus": 101}, None),
    ],
)
def test_pools_are_held_against_what_counts_them(held, claims, words):
    rows = {"held": [("r", *held)], "claims": [("r", f, str(v), "config") for f, v in claims.items()]}
    found = told(rows)
    assert (words is None and not found) or words in found["r"]
