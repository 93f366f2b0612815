"""Published runs by generation: like with like, pairs with count and interval, own runs laid over."""

import csv
import math
from pathlib import Path

import pytest

from analysis import run
from analysis.generations import ORDER, GenerationsParams, choices, compute, identity_ratio, reference_table
from analysis.refpairs import blend, pairs
from data.catalogue import load_catalogue
from data.errors import UserError
from tests.analysis.conftest import Home, _attempt, pool, steps

SHARED = Path(__file__).parents[3] / "shared" / "published" / "pairs.csv"
PRICE = "reserved_3y.neocloud"


@pytest.fixture
def full(empty_home: Home) -> Home:
    empty_home.book = load_catalogue()
    return empty_home


def ask(home: Home, **params: object):
    return compute(home.view(), GenerationsParams.model_validate(params))


def add_run(
    home: Home, name: str = "mine", platform: str | None = "h100-sxm", gpus: float = 16, **more: object
) -> None:
    """Ten steps of 100 s with 1.6 M tokens each: 1,000 tokens/s/GPU on 16 GPUs."""
    known = {"framework": "verl", "framework_version": "0.7.1", "mode": "sync", "llm": "llama-3.1-8b"}
    row = {"rollouts": 2048, "tok_gen": 1.2e6, "tok_total": 1.6e6}
    row |= {
        k: more.pop(k) for k in list(more) if k in {"throughput", "throughput_basis", "tok_total", "tok_gen"}
    }
    home.add("runs", {"run": name, "campaign": "c", "synthetic": False, **known, **more})
    home.add("attempts", _attempt(name, 1, 0, 2000, "completed"))
    home.add("allocations", pool(name, 1, "all", "colocated", platform, 2000, gpus=gpus))
    home.add("steps", *steps(name, 1, range(1, 11), 100.0, **row))


def test_dollars_of_a_published_row_by_hand(full: Home) -> None:
    row = reference_table(full.book, PRICE).set_index("row_id").loc["P0010"]
    # 16 H100 at $2, 1581 tokens/s/GPU, 92.8 s, 2048 rollouts
    assert row["usd_per_step"] == pytest.approx(16 * 2 * 92.8 / 3600)
    assert row["usd_per_rollout"] == pytest.approx(16 * 2 * 92.8 / 3600 / 2048)
    assert row["usd_per_mtok"] == pytest.approx(2 / (1581 * 3600) * 1e6)
    assert row["usd_per_step_low"] == pytest.approx(row["usd_per_step"] * 1.3 / 2)


def test_a_missing_price_leaves_no_dollars_and_a_sentence(full: Home) -> None:
    frame = reference_table(full.book, PRICE)
    h20 = frame[frame["platform_id"] == "h20"]
    assert len(h20) and h20["usd_per_step"].isna().all() and h20["usd_missing"].str.contains("H20").all()
    priced = frame[frame["price_id"].notna()]
    assert priced["usd_missing"].eq("").all()
    result = ask(full, stack="verl 2026-08")
    assert "h20" in [w.where for w in result.warnings if w.code == "price_missing"]


def test_prompts_are_not_taken_for_rollouts(full: Home) -> None:
    frame = reference_table(full.book, PRICE).set_index("row_id")
    assert frame.loc["P0613", "rollouts_per_step"] == 64 and math.isnan(frame.loc["P0613", "usd_per_rollout"])


def test_the_token_identity_flags_vendor_rows_too(full: Home) -> None:
    by_id = {r.row_id: r for r in full.book.rl_runs()}
    assert identity_ratio(by_id["P0022"]) == pytest.approx(14.1 * 512 * 67.6 / (512 * 761))
    assert identity_ratio(by_id["P0578"]) is None
    result = ask(full)
    off = [w.where for w in result.warnings if w.code == "identity_off"]
    assert any(w.startswith("P0022") for w in off) and not any(w.startswith("P0010") for w in off)
    frame = result.tables["reference"].set_index("row_id")
    assert frame["identity_off"].equals((frame["identity_ratio"] - 1).abs() > 0.15)


def test_default_shows_one_framework_version(full: Home) -> None:
    result = ask(full)
    assert set(result.tables["reference"]["stack"]) == {"nemo-rl v0.5"}
    assert "versions_mixed" not in {w.code for w in result.warnings}
    assert "versions_mixed" in {w.code for w in ask(full, stack="all").warnings}
    assert len(ask(full, stack="all").tables["reference"]) == 70
    assert {"Hopper", "Blackwell"} <= set(result.tables["reference"]["family"])


def test_pairs_differ_in_the_platform_alone(full: Home) -> None:
    frame = reference_table(full.book, PRICE)
    rows = frame.set_index("row_id")
    found = pairs(frame, ORDER).to_dict("records")
    assert found
    for pair in found:
        a, b = rows.loc[pair["row_a"]], rows.loc[pair["row_b"]]
        assert a["platform_id"] != b["platform_id"]
        for column in (
            "model",
            "framework",
            "framework_version",
            "sync_mode",
            "train_precision",
            "policy_lag",
        ):
            assert a[column] == b[column]
        assert a["n_gpus"] in (b["n_gpus"], 2 * b["n_gpus"])
        assert pair["ratio_b_over_a"] == pytest.approx(b[pair["metric"]] / a[pair["metric"]])


@pytest.mark.skipif(not SHARED.is_file(), reason="the published pairs are not beside the project")
def test_pairs_are_those_that_were_published(full: Home) -> None:
    with SHARED.open(encoding="utf-8") as handle:
        theirs = [r for r in csv.DictReader(handle) if r["set"] == "rl_step"]
    ours = pairs(reference_table(full.book, PRICE), ORDER).set_index(["row_a", "row_b", "metric"])
    for row in theirs:
        found = ours.loc[(row["row_a"], row["row_b"], row["metric"])]
        assert found["ratio_b_over_a"] == pytest.approx(float(row["ratio_b_over_a"]), rel=1e-4)
        assert row["matched_on"].startswith(found["matched"])
    assert len(ours.groupby(["row_a", "row_b"])) == len(theirs)


def test_no_blend_without_count_and_interval(full: Home) -> None:
    result = ask(full, stack="all")
    for figure in result.headline:
        if figure.name != "own_runs":
            assert figure.low and figure.high and figure.n and figure.interval == "ci95"
            assert figure.low < figure.value < figure.high
    few = blend(pairs(reference_table(full.book, PRICE), ORDER))
    lonely = few[few["models"] < 3]
    assert len(lonely) and lonely[["ratio", "low", "high"]].isna().all(axis=None)
    answer = ask(full, model="Qwen3 32B").answer
    assert (
        "no mean is given" in answer and "x 1.05 (Qwen3 32B, 32 x GB200 NVL72 against 64 x H100 SXM" in answer
    )


def test_geometric_mean_of_the_pairs_by_hand(full: Home) -> None:
    table = ask(full).tables["pairs"]
    step = table[(table["metric"] == "step_time_s") & (table["matched"] == "node_matched")]
    logs: dict[str, list[float]] = {}
    for row in step.to_dict("records"):
        logs.setdefault(row["model"], []).append(math.log(row["ratio_b_over_a"]))
    mean = sum(sum(v) / len(v) for v in logs.values()) / len(logs)
    figure = ask(full).figure("step_time_s:H100 SXM>GB200 NVL72:node_matched")
    assert figure.value == pytest.approx(math.exp(mean)) and figure.n == 9 and len(logs) == 5


def test_mixed_scaling_and_vendor_numbers_are_said(full: Home) -> None:
    result = ask(full)
    assert {"scaling_mixed", "vendor_measured"} <= {w.code for w in result.warnings}
    assert (
        "9 published pairs, 5 models, nemo-rl v0.5" in result.answer
        and "no clear difference" in result.answer
    )
    assert result.tables["reference"]["badge"].eq("measured by vendor").all()


def test_filters_keep_like_with_like(full: Home) -> None:
    add_run(full)
    add_run(full, "other", llm="qwen3-32b")
    result = ask(full, model="Llama 3.1 8B", mode="sync")
    assert set(result.tables["reference"]["model"]) == {"Llama 3.1 8B"}
    assert set(result.tables["reference"]["mode"]) == {"sync"}
    assert list(result.tables["runs"]["run"]) == ["mine"]
    assert ask(full, mode="async").tables["runs"].empty


def test_own_run_by_hand(full: Home) -> None:
    add_run(full)
    row = ask(full).tables["runs"].iloc[0]
    assert (row["family"], row["platform"], row["model"]) == ("Hopper", "H100 SXM", "Llama 3.1 8B")
    assert row["tokens_per_s_per_gpu"] == pytest.approx(1000) and row["step_time_s"] == 100
    assert row["usd_per_step"] == pytest.approx(16 * 2 * 100 / 3600)
    assert row["usd_per_mtok"] == pytest.approx(16 * 2 * 100 / 3600 / 1.6)
    assert row["usd_per_rollout"] == pytest.approx(16 * 2 * 100 / 3600 / 2048)
    assert row["throughput_basis"].startswith("prompt and generated") and row["missing"] == ""


def test_generated_tokens_are_not_compared_silently(full: Home) -> None:
    add_run(full, tok_total=None)
    result = ask(full)
    assert result.tables["runs"]["throughput_basis"].iloc[0].startswith("generated tokens only")
    assert "basis_differs" in {w.code for w in result.warnings}


def test_a_wrong_number_of_gpus_is_noticed(full: Home) -> None:
    add_run(full, gpus=8, throughput=1000.0, throughput_basis="per_gpu: prompt and generated tokens")
    result = ask(full)
    assert result.tables["runs"]["identity_ratio"].iloc[0] == pytest.approx(0.5)
    assert ("identity_off", "mine") in {(w.code, w.where) for w in result.warnings}
    assert any("-50 %" in w.text for w in result.warnings)


def test_an_incomplete_run_says_what_is_missing(full: Home) -> None:
    add_run(full, platform=None)
    add_run(full, "priceless", platform="h20")
    frame = ask(full).tables["runs"].set_index("run")
    assert frame.loc["mine", "missing"] == "not known: platform"
    assert frame.loc["priceless", "missing"] == "not known: price"
    assert frame["usd_per_step"].isna().all() and frame["tokens_per_s_per_gpu"].notna().all()


def test_pools_on_two_platforms_are_priced_apart(full: Home) -> None:
    full.add("runs", {"run": "split", "campaign": "c", "synthetic": False, "mode": "async"})
    full.add("attempts", _attempt("split", 1, 0, 2000, "completed"))
    full.add("allocations", pool("split", 1, "train", "train", "gb200-nvl72", 2000, gpus=4))
    full.add("allocations", pool("split", 1, "rollout", "rollout", "h100-sxm", 2000, gpus=8))
    full.add("allocations", pool("split", 1, "box", "sandbox", "x86-reference", 2000, cores=64))
    full.add("steps", *steps("split", 1, range(1, 5), 60.0, tok_total=720_000))
    row = ask(full).tables["runs"].iloc[0]
    assert row["family"] == "Mixed" and row["n_gpus"] == 12
    assert row["usd_per_step"] == pytest.approx((4 * 4.0 + 8 * 2.0) * 60 / 3600)
    assert row["tokens_per_s_per_gpu"] == pytest.approx(1000)


@pytest.mark.parametrize(
    "bad", [{"stack": "verl 99"}, {"model": "GPT-9"}, {"mode": "sideways"}, {"price": "free.lunch"}]
)
def test_unknown_values_are_refused(full: Home, bad: dict[str, str]) -> None:
    with pytest.raises(UserError):
        run("generations", full.view(), bad)


@pytest.mark.full
def test_every_offered_choice_works(full: Home) -> None:
    offered = choices(full.book)
    assert offered["stack"] and offered["model"]
    for stack in offered["stack"]:
        assert len(ask(full, stack=stack).tables["reference"])
    for model in offered["model"]:
        result = ask(full, stack="all", model=model)
        assert set(result.tables["reference"]["model"]) == {model}
        result.to_json()


def test_every_platform_has_its_place_in_time(full: Home) -> None:
    assert {r.platform_id for r in full.book.rl_runs()} <= set(ORDER)
