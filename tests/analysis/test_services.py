"""A service run and a GPU run in one table: bills by hand, what does not fit is never priced."""

import json
from pathlib import Path

import pytest

from analysis.offers import Wanted, method_of, offers_for
from analysis.result import Result
from analysis.services import ServicesParams, compute
from charts import services as charts
from data.catalogue import load_catalogue
from data.ingest import ingest_file
from data.readers.base import Choices
from data.store import Store
from tests.analysis.conftest import Home

TOKENS = {"prefill": 2e6, "cached_prefill": 0.0, "sample": 1e6, "train": 3e6}


def offers(method: str, llm: str, size: float, **more: dict[str, float]) -> dict[str, object]:
    tokens = TOKENS if method == "rl" else {"prefill": 0.0, "sample": 0.0, "train": 3e6}
    kept, hours = more.get("kept", tokens), more.get("gpu_hours", {})
    found = offers_for(load_catalogue().service_prices(), Wanted(method, llm, size, tokens, kept, hours))
    return {offer.label: offer for offer in found}


def test_rl_needs_prefill_sample_and_train() -> None:
    """Qwen3-8B on Tinker: 2 x 0.195 + 1 x 0.60 + 3 x 0.44; Prime Intellect does not list that model."""
    found = offers("rl", "qwen3-8b", 8.19)
    tinker = found["Tinker, Qwen3-8B, LoRA"]
    assert tinker.usd == pytest.approx(2 * 0.195 + 0.60 + 3 * 0.44)
    assert tinker.basis == "metered" and tinker.failed_jobs_billed == "unknown"
    prime = found["Prime Intellect"]
    assert not prime.comparable and "no whole price for qwen3-8b" in prime.why_not
    assert prime.usd != prime.usd
    assert "no price for RL" in found["Ori"].why_not


def test_supervised_and_preference_tuning_by_size_class() -> None:
    """8.19B: Together 0.48 (LoRA), 0.54 (full); Fireworks 0.50, 1.00; DPO apart. 3 M tokens."""
    sft = offers("sft", "llama-3.1-8b", 8.19)
    assert sft["Together AI, up to 16B, LoRA"].usd == pytest.approx(3 * 0.48)
    assert sft["Together AI, up to 16B, full"].usd == pytest.approx(3 * 0.54)
    assert sft["Fireworks AI, up to 16B, full"].usd == pytest.approx(3 * 1.0)
    dpo = offers("dpo", "llama-3.1-8b", 8.19)
    assert dpo["Together AI, up to 16B, LoRA"].usd == pytest.approx(3 * 1.20)
    assert "Tinker" in dpo and not dpo["Tinker"].comparable


def test_a_size_between_two_classes_belongs_to_none() -> None:
    found = offers("sft", "some-16.5b", 16.5)
    assert not found["Together AI"].comparable and "16.5B" in found["Together AI"].why_not
    assert found["Fireworks AI, 16.1B-80B, LoRA"].comparable
    unknown = offers("sft", "some-model", float("nan"))
    assert not unknown["Together AI"].comparable and not unknown["Ori"].comparable


def test_gpu_hours_of_a_service_only_for_the_same_gpu() -> None:
    found = offers("rl", "x", 8.0, gpu_hours={"h100-sxm": 10.0})
    assert found["Nebius, HGX H100"].usd == pytest.approx(45)
    assert found["Fireworks AI, H100 80 GB"].usd == pytest.approx(80)
    assert found["Fireworks AI, H100 80 GB"].as_of == "2026-10-07"
    other = offers("rl", "x", 8.0, gpu_hours={"gb200-nvl72": 10.0})
    assert not other["Nebius"].comparable
    both = offers("rl", "x", 8.0, gpu_hours={"h100-sxm": 10.0, "b200-hgx": 1.0})
    assert not both["Nebius"].comparable


def test_failed_attempts_open_the_range() -> None:
    half = {kind: value / 2 for kind, value in TOKENS.items()}
    tinker = offers("rl", "qwen3-8b", 8.19, kept=half)["Tinker, Qwen3-8B, LoRA"]
    assert (tinker.low, tinker.high) == (pytest.approx(tinker.usd / 2), pytest.approx(tinker.usd))


def test_every_service_is_there_once_or_with_offers() -> None:
    book = load_catalogue().service_prices()
    for method in ("rl", "sft", "dpo"):
        found = {offer.provider for offer in offers(method, "qwen3-8b", 8.19).values()}
        assert found == {row.provider for row in book}


def test_methods() -> None:
    assert [method_of(name, 0).name for name in ("grpo", "SFT", "distill", "dpo")] == [
        "rl",
        "sft",
        "sft",
        "dpo",
    ]
    assert (method_of(None, 5.0).name, method_of(None, float("nan")).name) == ("rl", "")


@pytest.fixture
def found(tmp_path: Path) -> Result:
    """A Tinker run and one on 8 H100 for an hour, both Qwen3-8B, 1.2 M prompt and 0.8 M sampled tokens."""
    store = Store.open(tmp_path / "home")
    hosted = [
        {"step": n, "env/all/total_ac_tokens": 400_000, "env/all/total_ob_tokens": 600_000,
         "env/all/total_episodes": 8, "env/all/reward/total": 0.5, "time/total": 10.0}
        for n in range(2)
    ]  # fmt: skip
    path = tmp_path / "hosted.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in hosted))
    ingest_file(store, path, choices=Choices(run="hosted", llm="qwen3-8b"))
    own = tmp_path / "own.jsonl"
    data = {"timing_s/step": 3600.0, "perf/total_num_tokens": 2e6, "response_length/mean": 1000.0}
    own.write_text(json.dumps({"step": 1, "data": data}))
    ingest_file(store, own, choices=Choices(run="own", platform="h100-sxm", gpus=8, llm="qwen3-8b"))
    with store.view() as view:
        return compute(view, ServicesParams())


def test_a_service_run_costs_the_same_as_its_own_service(found: Result) -> None:
    rows = found.tables["side_by_side"]
    mine = rows[rows["run"] == "hosted"].set_index("offer")
    assert mine.loc["this run", "basis"] == "metered"
    assert mine.loc["this run", "usd"] == pytest.approx(1.2 * 0.195 + 0.8 * 0.60 + 2.0 * 0.44)
    assert mine.loc["Tinker, Qwen3-8B, LoRA", "usd"] == pytest.approx(mine.loc["this run", "usd"])


def test_runs_of_both_kinds_stand_in_one_table_with_their_basis(found: Result) -> None:
    rows = found.tables["side_by_side"]
    assert set(rows[rows["offer"] == "this run"]["basis"]) == {"metered", "rent"}
    own = found.tables["runs"].set_index("run").loc["own"]
    assert own["gpu_hours"] == 8.0
    if own["lacking"]:
        assert any(own["lacking"] in n.text for n in found.warnings)
    assert not rows[~rows["comparable"]]["usd"].notna().any()
    assert charts.side_by_side(found).layout.meta["alt"]


def test_break_even_against_a_gpu_run(home: Home) -> None:
    """`steady`: 300 steps of 64,000 sampled and 16,000 prompt tokens, 80 GPU-hours at 2 USD."""
    home.con.execute("UPDATE runs SET llm = 'qwen3-8b'")
    home.con.execute("UPDATE steps SET tok_prompt = tok_total - tok_gen")
    result = compute(home.view(), ServicesParams(runs=("steady",)))
    row = result.tables["side_by_side"].set_index("offer").loc["Tinker, Qwen3-8B, LoRA"]
    prompt, sampled = 300 * 16_000 / 1e6, 300 * 64_000 / 1e6
    bill = prompt * 0.195 + sampled * 0.60 + (prompt + sampled) * 0.44
    assert row["usd"] == pytest.approx(bill)
    assert row["ratio_to_run"] == pytest.approx(bill / 160)
    assert row["breakeven_usd_per_gpu_h"] == pytest.approx(bill / 80)
    assert row["breakeven_tok_per_gpu_h"] == pytest.approx(300 * 80_000 * 2 / bill)
    assert "steady" in result.answer and "Tinker" in result.answer
