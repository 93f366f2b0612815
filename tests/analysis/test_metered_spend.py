"""A run on a service that is paid by the token: dollars from tokens and the price book, no GPU-hours."""

import json
from pathlib import Path

import pytest

from analysis.ledger import LedgerParams
from analysis.ledger import compute as ledger
from analysis.params import CommonParams
from analysis.spend import Spend, compute_spend
from data.ingest import ingest_file
from data.readers.base import Choices
from data.run_details import PoolDetails, RunDetails, missing_for_cost, save_details
from data.store import Store

RATES = {"prefill": 0.195, "sample": 0.60, "train": 0.44}
"""Qwen3-8B on the list of 2026-07-17, USD per million tokens."""


def rl(step: int) -> dict[str, float]:
    return {"step": step, "env/all/total_ac_tokens": 400_000, "env/all/total_ob_tokens": 600_000,
            "env/all/total_episodes": 8, "env/all/reward/total": 0.5, "time/total": 10.0}  # fmt: skip


def sft(step: int) -> dict[str, float]:
    return {"step": step, "time/get_batch": 1.0, "time/step": 2.0, "num_tokens": 2_000_000,
            "num_loss_tokens": 1_500_000, "train_mean_nll": 1.5, "num_sequences": 4}  # fmt: skip


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(tmp_path / "home")


def load(store: Store, tmp_path: Path, rows: list[dict[str, float]], run: str, llm: str | None) -> None:
    path = tmp_path / f"{run}.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    ingest_file(store, path, choices=Choices(run=run, llm=llm))


def spend(store: Store, **choices: object) -> Spend:
    with store.view() as view:
        return compute_spend(view, CommonParams(**choices))


def test_a_bill_by_hand(store: Store, tmp_path: Path) -> None:
    """Two steps: 1.2 M prompt, 0.8 M sampled, 2.0 M trained (prompt + sampled)."""
    load(store, tmp_path, [rl(0), rl(1)], "trial", "Qwen/Qwen3-8B")
    found = spend(store)
    run = found.runs.iloc[0]
    usd = 1.2 * RATES["prefill"] + 0.8 * RATES["sample"] + 2.0 * RATES["train"]
    assert run["usd"] == pytest.approx(usd)
    assert (run["usd_low"], run["usd_high"]) == (pytest.approx(usd), pytest.approx(usd))
    assert run["basis"] == "metered"
    assert run["gpu_hours"] != run["gpu_hours"]
    assert run["lost_usd"] == 0.0
    named = {a.name.split(" (")[-1].rstrip(")") for a in found.assumptions}
    assert {f"tinker-qwen3-8b-{kind}-2026-07" for kind in RATES} <= named
    assert [n.where for n in found.notices if n.code == "trained_tokens_inferred"] == ["trial"]
    assert not [n for n in found.notices if n.code == "cost_unknown"]
    with store.view() as view:
        assert missing_for_cost(view, "trial") == []


def test_supervised_training_pays_for_every_token_of_its_batches(store: Store, tmp_path: Path) -> None:
    load(store, tmp_path, [sft(0), sft(1)], "sft", "qwen3-8b")
    found = spend(store)
    assert found.runs.iloc[0]["usd"] == pytest.approx(4.0 * RATES["train"])
    assert not [n for n in found.notices if n.code == "trained_tokens_inferred"]


def test_without_its_model_a_run_has_no_dollars_and_asks_for_it(store: Store, tmp_path: Path) -> None:
    load(store, tmp_path, [rl(0)], "trial", None)
    found = spend(store)
    assert found.runs.iloc[0]["usd"] != found.runs.iloc[0]["usd"]
    assert ["model" in n.text for n in found.notices if n.code == "cost_unknown"] == [True]
    with store.view() as view:
        assert [m.field for m in missing_for_cost(view, "trial")] == ["llm"]
    save_details(store, RunDetails(run="trial", llm="qwen3-4b-instruct-2507"))
    assert spend(store).runs.iloc[0]["usd"] > 0


def test_a_model_without_token_price_has_no_dollars(store: Store, tmp_path: Path) -> None:
    load(store, tmp_path, [rl(0)], "trial", "gemma-3-1b")
    found = spend(store)
    assert found.runs.iloc[0]["usd"] != found.runs.iloc[0]["usd"]
    assert any("no token price" in n.text for n in found.notices)


def test_a_console_without_tokens_says_so(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "c.log"
    path.write_text("[trial] Connecting to Tinker\n[trial] 1/2 | loss=0.1 | reward=0.5\n")
    ingest_file(store, path, choices=Choices(llm="qwen3-8b"))
    assert any("no file tells its tokens" in n.text for n in spend(store).notices)
    with store.view() as view:
        assert [m.field for m in missing_for_cost(view, "trial")] == ["tokens"]


def test_own_gpus_come_on_top(store: Store, tmp_path: Path) -> None:
    load(store, tmp_path, [rl(0), rl(1)], "trial", "qwen3-8b")
    bill = spend(store).runs.iloc[0]["usd"]
    pool = PoolDetails(pool="judge", role="judge", platform="h100-sxm", gpus=1, seconds=3600)
    save_details(store, RunDetails(run="trial", llm="qwen3-8b", pools=(pool,)))
    found = spend(store)
    run = found.runs.iloc[0]
    rate = float(found.allocations.iloc[0]["usd_per_h"])
    assert run["usd"] == pytest.approx(bill + rate)
    assert (run["basis"], run["gpu_hours"]) == ("rent + metered", 1.0)


def test_the_ledger_shows_it_with_its_label(store: Store, tmp_path: Path) -> None:
    load(store, tmp_path, [rl(0), rl(1)], "trial", "qwen3-8b")
    with store.view() as view:
        result = ledger(view, LedgerParams())
    row = result.tables["ledger"].iloc[0]
    assert (row["basis"], row["usd"] > 0, row["gpu_hours"] != row["gpu_hours"]) == ("metered", True, True)
    assert "token prices" in result.answer


def test_scores_stand_where_the_token_bill_was(store: Store, tmp_path: Path) -> None:
    rows = [rl(n) | {"test/env/gsm8k/reward/total": 0.5 + n / 20} for n in range(4)]
    load(store, tmp_path, rows, "trial", "qwen3-8b")
    with store.view() as view:
        result = ledger(view, LedgerParams())
    usd = result.tables["ledger"].iloc[0]["usd"]
    assert result.tables["scores"]["x"].tolist()[1:] == pytest.approx([usd * n / 4 for n in (2, 3, 4)])


def test_a_run_on_own_gpus_stands_beside_a_metered_one(store: Store, tmp_path: Path) -> None:
    load(store, tmp_path, [rl(0)], "trial", "qwen3-8b")
    own = tmp_path / "own.jsonl"
    own.write_text(json.dumps({"step": 1, "data": {"timing_s/step": 3600.0, "perf/total_num_tokens": 9e6}}))
    ingest_file(store, own, choices=Choices(run="own", platform="h100-sxm", gpus=8))
    runs = spend(store).runs.set_index("run")
    assert runs["basis"].to_dict() == {"trial": "metered", "own": "rent"}
    assert runs.loc["own", "gpu_hours"] == 8.0
    assert runs.loc["trial", "usd"] > 0 and runs.loc["own", "usd"] > 0
