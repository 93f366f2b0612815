"""docs/weight-transfer.md: every figure is worked out from the models and the published rows."""

import re

import pytest

from data.catalogue import load_catalogue
from models.weight_sync import (
    SyncLoad,
    SyncRates,
    achieved_bytes_per_s,
    scaled_rate,
    weight_sync,
    wire_bound,
)
from tests.docs_pages import DOCS
from tests.validation.published import rows

TEXT = (DOCS / "weight-transfer.md").read_text(encoding="utf-8")
PAGE = " ".join(TEXT.split())
BOOK = load_catalogue()
CLAIM = {c.claim_id: c for c in BOOK.claims()}["perplexity-1.3s"]
RENT = BOOK.price("h100-sxm", "reserved_3y", "neocloud")
PUBLISHED = {row["row_id"]: row for row in rows("weight_sync")}
GIGA, STEP_S = 1e9, 300.0
SEEN = {
    "P0618": "verl, default, Qwen3-30B-A3B on H20",
    "P0619": "verl, checkpoint engine, Qwen3-30B-A3B on H20",
    "W0005": "NeMo RL, Qwen3.5-397B on H100",
    "W0003": "NeMo RL, DeepSeek-V3 on H100",
    "W0004": "NeMo RL, DeepSeek-V3 on GB200",
    "W0007": "NeMo RL, DeepSeek-V3, NCCL broadcast",
    "W0002": "Perplexity, Qwen3-235B, second-hand",
    "W0008": "NeMo RL, DeepSeek-V3, NIXL",
    "W0001": "Perplexity, Kimi-K2",
    "W0006": "NeMo RL, Nemotron 3 Ultra on GB200",
}


def table(heading):
    """Rows of the first table under a heading, by first cell."""
    text = TEXT.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    found = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if "|" in line
    ]
    return {cells[0]: cells[1:] for cells in found[2:]}


def rounds_to(cell, exact):
    """True when the cell is `exact` at the digits it shows."""
    said = cell.replace(",", "").split()[0]
    return f"{exact:.{len(said.partition('.')[2])}f}" == said


def same_copy_s(row):
    """Seconds of one FP8 copy of a trillion parameters into 128 GPUs at the row's own rate a GPU."""
    rate = float(row["payload_gb"]) * GIGA / float(row["sync_s"])
    return float(SyncLoad(1e12, 1.0).payload_bytes / scaled_rate(rate, float(row["n_infer_gpus"]), 128))


def test_the_claim_is_the_one_of_the_catalogue():
    row, said = PUBLISHED["W0001"], table("What was said")
    assert float(row["sync_s"]) == CLAIM.value == 1.3
    assert said["from"][0] == f"{row['n_train_gpus']} training GPUs, {row['train_precision']}"
    assert said["to"][0] == f"{row['n_infer_gpus']} inference GPUs, {row['infer_precision']}"
    assert CLAIM.source_date in said["source"][0] and "copies" in said["not stated"][0]


def test_what_it_implies():
    found = table("What it implies")
    assert [int(key) for key in found] == [1, 2, 4, 8, 16]
    for copies, cells in found.items():
        load = SyncLoad(1e12, 1.0, copies=float(copies), source_copies=float(copies))
        rate = float(achieved_bytes_per_s(load, 1.3)) / GIGA
        wire = float(wire_bound(load, 256, 128, 50 * GIGA).total_s)
        exact = (128 / float(copies), rate, rate / 256, rate / 128, wire)
        assert all(rounds_to(*pair) for pair in zip(cells, exact, strict=True)), (copies, exact)
        assert (wire <= 1.3) == (float(copies) <= 8)
    line = float(wire_bound(SyncLoad(1e12, 1.0, 8.0, 8.0), 256, 128, 50 * GIGA).total_s) / 1.3
    assert f"at 8 with {100 * line:.0f} % of the line" in PAGE
    rate = achieved_bytes_per_s(SyncLoad(1e12, 1.0), 1.3)
    assert f"it would take {weight_sync(SyncLoad(1e12, 2.0), SyncRates(rate)).total_s:.1f} s" in PAGE


def test_what_others_measured():
    found = table("What others measured")
    assert list(found) == list(SEEN.values())
    slowest = [same_copy_s(PUBLISHED[name]) for name in SEEN]
    assert slowest == sorted(slowest, reverse=True)
    assert f"a factor of {max(slowest) / min(slowest):.0f}:" in PAGE
    for name, label in SEEN.items():
        row, cells = PUBLISHED[name], found[label]
        one = float(row["payload_gb"]) / float(row["sync_s"])
        exact = (float(row["n_infer_gpus"]), float(row["sync_s"]), one, same_copy_s(row))
        assert all(rounds_to(*pair) for pair in zip(cells, exact, strict=False)), (label, exact)
        copies = re.search(r"(\d+) cop(?:y|ies)", row["note"])
        if copies is None:
            assert cells[4] == "not stated"
        else:
            load = SyncLoad(float(row["params_total_b"]) * GIGA, 2.0, copies=float(copies[1]))
            arrived = float(achieved_bytes_per_s(load, float(row["sync_s"]))) / float(row["n_infer_gpus"])
            assert rounds_to(cells[4], arrived / GIGA) and f"({copies[0]})" in cells[4]


def test_what_a_slower_transfer_costs():
    seconds = {
        "the claim": 1.3,
        "NeMo RL, DeepSeek-V3 on H100": same_copy_s(PUBLISHED["W0003"]),
        "verl, checkpoint engine": same_copy_s(PUBLISHED["P0619"]),
        "verl, default": same_copy_s(PUBLISHED["P0618"]),
    }
    found = table("What a slower transfer costs")
    assert list(found) == list(seconds)
    assert f"price `{RENT.price_id}`, ${RENT.usd_per_gpu_h:.2f} a GPU-hour" in PAGE
    for label, taken in seconds.items():
        share = taken / (STEP_S + taken)
        usd_per_s = 384 * RENT.usd_per_gpu_h / 3600
        exact = (taken, 100 * share, usd_per_s * taken, usd_per_s * 86400 * share)
        assert all(rounds_to(*pair) for pair in zip(found[label], exact, strict=True)), (label, exact)


@pytest.mark.parametrize(
    ("step_s", "words"), [(300.0, "a step of 300 s gets"), (30.0, "at a step of 30 s it")]
)
def test_what_is_left_of_the_whole_step(step_s, words):
    slow = same_copy_s(PUBLISHED["P0618"])
    left = (step_s + slow) / (step_s + 1.3)
    assert words in PAGE or words.capitalize() in PAGE
    assert f"{left:.2f} times" in PAGE
    assert f"{slow / 1.3:.0f} times as fast" in PAGE


def test_the_unknown_rate_is_that_of_one_and_eight_copies():
    rates = [float(achieved_bytes_per_s(SyncLoad(1e12, 1.0, k), 1.3)) / 128 / GIGA for k in (1.0, 8.0)]
    assert f"{rates[0]:.0f} GB/s or {rates[1]:.0f}." in PAGE
