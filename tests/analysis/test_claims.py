"""Claims on a projected run: where they act, what they leave, and what stands against them."""

import math

import numpy as np
import pytest

from analysis.claimparts import About, Aimed
from analysis.claims import COLUMNS, check_claims, claim_menu, claim_rows
from analysis.pairfactors import pair_factor
from data.catalogue import load_catalogue
from data.claim_scopes import claim_scopes
from data.errors import UserError
from data.shapes import llm_of
from models.claims import LIMITS, Step
from models.stats import log_normal_draws
from tests.models.test_claims import compose

BOOK = load_catalogue()
RUBIN, BLACKWELL, HOPPER = "vera-rubin-nvl72", "gb200-nvl72", "h100-sxm"
RENT = {name: BOOK.price(name, "reserved_3y", "neocloud").usd_per_gpu_h for name in (RUBIN, BLACKWELL)}
OLD = {"rollout_work": 40.0, "rollout_tail": 20.0, "train": 30.0, "weight_sync": 2.0, "env": 8.0}
NEW = {"rollout_work": 16.0, "rollout_tail": 18.0, "train": 20.0, "weight_sync": 2.0, "env": 8.0}


def aimed(seconds=NEW, mode="sync_disaggregated", **other):
    values = {
        "target": RUBIN, "engines": RUBIN, "trainer": RUBIN, "engine_gpus": 64, "trainer_gpus": 64,
        "gen_precision": "bf16", "train_precision": "bf16", "step": Step(seconds, compose(mode)),
    }  # fmt: skip
    return Aimed(**(values | other))


def about(llm="qwen3-30b-a3b", mode="sync_disaggregated", source=HOPPER, sandbox=""):
    return About(llm_of(BOOK, llm), mode, source, sandbox)


def rows(asked, targets=(), run=None, prices=RENT, baseline=OLD):
    targets = targets or (aimed(),)

    def on(target, platform_id):
        return None if baseline is None else Step(baseline, target.step.compose)

    return claim_rows(BOOK, asked, targets, on, run or about(), prices)


def only(asked, *args, **kwargs):
    frame, notices = rows((asked,), *args, **kwargs)
    assert list(frame.columns) == list(COLUMNS) and len(frame) == 1
    return frame.iloc[0], notices


def test_a_quarter_of_the_gpus_is_four_times_the_training_and_nothing_else():
    row, notices = only("rubin-quarter-gpus")
    assert row["applies"] and row["claimed_speed"] == 4
    assert row["step_s_without"] == 64 and row["step_s_with"] == 64 - 20 + 30 / 4
    assert row["left_after"] == pytest.approx(64 / 51.5) and row["ceiling_s"] == 44
    assert row["phase_frac"] == pytest.approx(20 / 64)
    assert row["badge"] == "vendor claim" and row["baseline"] == BLACKWELL
    assert row["model_speed"] == 1.5 and row["contradicts"]
    wanted = 44 / (100 / 4 - 7.5)
    assert f"would have to run {wanted:.2f} times as fast as projected" in row["needed"]
    assert "It assumes FP4; this projection runs in BF16." in row["needed"]
    assert (
        "rollout work 16.0 s, rollout tail 18.0 s, weight sync 2.00 s and sandboxes 8.00 s" in row["needed"]
    )
    assert "no pair of these platforms is published" in row["measured"]
    assert [n.code for n in notices] == ["claim_contradicted"]


def test_a_value_of_ones_own():
    row, _ = only("rubin-quarter-gpus=0.5")
    assert row["value"] == 0.5 and row["step_s_with"] == 64 - 20 + 15


@pytest.mark.parametrize("text", ["rubin-quarter-gpus=0", "rubin-quarter-gpus=x", "rubin-quarter-gpus=nan"])
def test_a_wild_value_is_refused_with_its_limits(text):
    with pytest.raises(UserError, match=r"number from 0\.01 to 2"):
        check_claims(BOOK, (text,))


def test_what_is_no_claim_or_no_speed_is_refused():
    with pytest.raises(UserError, match="not in the catalogue"):
        check_claims(BOOK, ("free-lunch",))
    with pytest.raises(UserError, match="It is a score, not a speed"):
        check_claims(BOOK, ("ultra-swebench-71.7",))


def test_dense_models_get_no_quarter():
    row, notices = only("rubin-quarter-gpus", run=about("llama-3.1-70b"))
    assert not row["applies"] and "mixtures of experts" in row["why_not"] and math.isnan(row["step_s_with"])
    assert [n.code for n in notices] == ["claim_without_effect"] and "mixtures of experts" in notices[0].text


def test_targets_a_claim_does_not_speak_of_are_told_once():
    others = [aimed(target=name, engines=name, trainer=name) for name in ("h200-sxm", "gb300-nvl72")]
    frame, notices = rows(("rubin-quarter-gpus", "perplexity-1.3s"), [*others, aimed()])
    assert frame.groupby("claim_id")["target"].apply(list).to_dict() == {
        "rubin-quarter-gpus": [RUBIN],
        "perplexity-1.3s": ["h200-sxm", "gb300-nvl72", RUBIN],
    }
    frame, notices = rows(("rubin-quarter-gpus",), others)
    assert frame["target"].tolist() == ["h200-sxm"] and not frame["applies"].any()
    assert [n.code for n in notices] == ["claim_without_effect"]


def test_a_claim_about_training_leaves_rollouts_on_rubin_alone():
    mixed = aimed(target=f"{RUBIN}+{BLACKWELL}", trainer=BLACKWELL)
    row, _ = only("rubin-quarter-gpus", (mixed,))
    assert not row["applies"]
    assert row["why_not"] == "It speaks of Vera Rubin NVL72; training runs on GB200 NVL72 here."
    row, _ = only("rubin-max-interactivity", (mixed,))
    assert row["applies"] and row["step_s_with"] == pytest.approx(64 - 18 + 20 / 1.61)


def test_cheaper_tokens_need_both_prices():
    row, _ = only("rubin-token-cost-10x")
    speed = RENT[RUBIN] / RENT[BLACKWELL] / 0.1
    assert row["claimed_speed"] == pytest.approx(speed) == pytest.approx(21.25)
    assert row["step_s_with"] == pytest.approx(64 - 16 + 40 / speed)
    assert "$8.50 against $4.00" in row["needed"] and "21.2 times the tokens" in row["needed"]
    for prices in ({BLACKWELL: 4.0}, {BLACKWELL: 4.0, RUBIN: None}):
        row, _ = only("rubin-token-cost-10x", prices=prices)
        assert not row["applies"]
        assert "without a price of Vera Rubin NVL72 (the price in use) no speed follows" in row["why_not"]


def test_a_claim_made_at_its_own_prices_keeps_them():
    ends = (BOOK.price(name, "own_tco", "owned").usd_per_gpu_h for name in (RUBIN, "gb300-nvl72"))
    row, _ = only("rubin-serving-per-owned-dollar", prices={})
    assert row["claimed_speed"] == pytest.approx(2.2 * next(ends) / next(ends))
    row, _ = only("rubin-serving-per-rental-dollar", prices={})
    assert row["claimed_speed"] == pytest.approx(1.62 * 8.5 / 5)


def test_tokens_a_megawatt_take_the_power_of_both():
    power = [BOOK.fact(name, "all_in_kw_per_gpu").number for name in (RUBIN, "gb300-nvl72")]
    row, _ = only("rubin-serving-per-mw")
    assert row["claimed_speed"] == pytest.approx(2.09 * power[0] / power[1])


def test_sandboxes_follow_the_cpu_and_not_the_gpu():
    row, _ = only("vera-plus-30")
    assert row["applies"] and row["step_s_with"] == pytest.approx(64 - 8 + 8 / 1.3)
    assert row["badge"] == "article only" and "must be CPU work" in row["needed"]
    assert math.isnan(row["model_speed"]) and row["measured"] == ""
    row, _ = only("vera-plus-30", run=about(source=BLACKWELL))
    assert row["why_not"].endswith("the sandboxes of this run are on Grace CPU.")
    row, _ = only("vera-plus-30", run=about(source=BLACKWELL, sandbox="x86-reference"))
    assert row["applies"]
    row, _ = only("vera-plus-30", run=about(source="tpu7x"))
    assert "give the run a sandbox pool" in row["why_not"]
    row, _ = only(
        "vera-plus-30", (aimed(target="gb300-nvl72", engines="gb300-nvl72", trainer="gb300-nvl72"),)
    )
    assert "no pool of this target has it as its host" in row["why_not"]
    row, _ = only("vera-plus-30", (aimed({**NEW, "env": 0.0}),))
    assert "no seconds of sandboxes" in row["why_not"]


def test_a_transfer_scales_with_the_bytes_of_a_copy():
    llm = llm_of(BOOK, "qwen3-30b-a3b")
    seconds = 1.3 * llm.params_total * 2 / 1e12
    wide = aimed(engine_gpus=128, trainer_gpus=256)
    row, _ = only("perplexity-1.3s", (wide,))
    assert row["step_s_with"] == pytest.approx(62 + seconds)
    rate = llm.params_total * 2 / 1e9 / seconds
    assert rate == pytest.approx(1000 / 1.3)
    assert f"{rate / 256:.2f} GB/s from each of 256 trainers and {rate / 128:.2f} GB/s into" in row["needed"]
    assert "The claim does not state its copies." in row["needed"]
    own = llm.params_total * 2 / 1e9 / 2
    assert row["measured"] == f"this run's own update takes 2.00 s, {own:.1f} GB/s for one copy."
    half, _ = only("perplexity-1.3s", (aimed(engine_gpus=128, trainer_gpus=256, gen_precision="fp8"),))
    assert half["step_s_with"] == pytest.approx(62 + seconds / 2)


def test_no_transfer_is_faster_than_its_links():
    few = aimed(engines=BLACKWELL, trainer=BLACKWELL, engine_gpus=8, trainer_gpus=256)
    row, _ = only("perplexity-1.3s", (few,))
    assert not row["applies"]
    assert "reach each of 8 GPUs at 96.2 GB/s; the link of GB200 NVL72 carries 50.0" in row["why_not"]
    near = aimed(engines=BLACKWELL, trainer=BLACKWELL, engine_gpus=8, trainer_gpus=32)
    assert only("perplexity-1.3s", (near,))[0]["applies"]


def test_colocated_engines_have_no_such_transfer():
    row, _ = only("perplexity-1.3s", run=about(mode="sync_colocated"))
    assert "share their GPUs" in row["why_not"]


def test_formats_are_not_mixed():
    here = {"target": "gb300-nvl72", "engines": "gb300-nvl72", "trainer": "gb300-nvl72"}
    for name, model in (("dense", "llama-3.1-70b"), ("hybrid-moe", "nemotron-3-ultra")):
        claim, run = f"nvfp4-vs-mxfp8-{name}", about(model)
        row, _ = only(claim, (aimed(**here),), run)
        assert row["why_not"] == "It compares with FP8; this projection runs in BF16."
        row, _ = only(claim, (aimed(**here, train_precision="fp4"),), run)
        assert "FP4 is in the projection already" in row["why_not"]
        row, _ = only(claim, (aimed(**here, train_precision="fp8"),), run)
        speed = BOOK.claims()[[c.claim_id for c in BOOK.claims()].index(claim)].value
        assert row["step_s_with"] == pytest.approx(44 + 20 / speed)
    row, _ = only(
        "nvfp4-vs-mxfp8-hybrid-moe", (aimed(**here, train_precision="fp8"),), about("qwen3-30b-a3b")
    )
    assert "hybrid mixtures of experts" in row["why_not"]


def test_published_pairs_stand_beside_a_claim():
    here = aimed({**OLD, "train": 12.0}, target=BLACKWELL, engines=BLACKWELL, trainer=BLACKWELL)
    row, notices = only("gb200-vs-h100-training=4", (here,))
    assert row["model_speed"] == 2.5 and row["contradicts"]
    assert "the projection gives 2.50 (2.50 to 2.50), from 19 published pairs of 5 models" in row["measured"]
    assert "means 4.00 times the speed" in notices[0].text


def test_two_projected_platforms_take_the_band_between_them():
    """Draws that move together tell nothing of how far apart the platforms are."""
    noise = log_normal_draws(0.8, 1.25, 2000, 3)
    here = {"target": "gb300-nvl72", "engines": "gb300-nvl72", "trainer": "gb300-nvl72"}
    step = aimed({**NEW, "train": 25 * noise}, **here)
    row, notices = only("gb300-vs-gb200-training", (step,), baseline={**OLD, "train": 30 * noise})
    found = pair_factor(BOOK, "training", BLACKWELL, "gb300-nvl72", precision="bf16", moe=True)
    assert row["model_speed"] == pytest.approx(1.2)
    assert row["model_speed_low"] == pytest.approx(min(1.2 * found.low / found.factor, 1.2 * 0.85))
    assert row["model_speed_high"] == pytest.approx(max(1.2 * found.high / found.factor, 1.2 / 0.85))
    assert not row["contradicts"] and notices == ()


def test_a_claim_inside_the_band_is_not_contradicted():
    spread = {**NEW, "train": 30 / log_normal_draws(2.0, 3.4, 2000, 1)}
    here = aimed(spread, target=BLACKWELL, engines=BLACKWELL, trainer=BLACKWELL)
    row, notices = only("gb200-vs-h100-training", (here,))
    assert not row["contradicts"] and notices == ()
    assert row["model_speed_low"] < 2.62 < row["model_speed_high"]
    assert row["step_s_low"] == row["step_s_high"] == pytest.approx(44 + 30 / 2.62)


def test_intervals_of_the_other_phases_stay():
    spread = {**NEW, "rollout_work": log_normal_draws(10.0, 25.0, 4000, 2)}
    row, _ = only("rubin-quarter-gpus", (aimed(spread),))
    others = spread["rollout_work"] + 18 + 2 + 8 + 7.5
    assert (row["step_s_low"], row["step_s_high"]) == pytest.approx(tuple(np.quantile(others, [0.1, 0.9])))


def test_what_is_left_is_the_ratio_of_the_seconds_shown():
    """Where pools are about as long, draws wait for either: a median of ratios would tell another story."""
    spread = {**NEW, "rollout_work": log_normal_draws(2.0, 8.0, 4000, 4), "rollout_tail": 10.0}
    row, _ = only("rubin-quarter-gpus", (aimed(spread, mode="one_step_off"),))
    assert row["left_after"] == row["step_s_without"] / row["step_s_with"] > 1
    assert row["phase_frac"] == 1 - row["ceiling_s"] / row["step_s_without"]


def test_the_whole_step_needs_nothing_else():
    here = aimed(target=BLACKWELL, engines=BLACKWELL, trainer=BLACKWELL)
    row, _ = only("gb200-h100-grpo", (here,))
    assert row["step_s_with"] == pytest.approx(100 / 1.9) and row["needed"] == "It speaks of the whole step."
    row, _ = only("rl-placement-20", (here,))
    assert row["needed"] == "It speaks of the whole step. The run must do without it today."
    assert row["step_s_with"] == pytest.approx(64 / 1.2) and math.isnan(row["model_speed"])


def test_a_baseline_that_cannot_be_projected_is_said():
    row, _ = only("rubin-quarter-gpus", baseline=None)
    assert row["why_not"] == "The run cannot be projected on GB200 NVL72, which the claim compares with."


def test_claims_stand_alone():
    frame, notices = rows(("rubin-quarter-gpus", "rubin-token-cost-10x", "rubin-serving-per-mw"))
    assert frame["step_s_without"].tolist() == [64] * 3
    overlap = [n for n in notices if n.code == "claims_overlap"]
    assert len(overlap) == 1 and "rubin-token-cost-10x and rubin-serving-per-mw" in overlap[0].text


def test_the_menu_holds_every_claim_that_can_be_tried():
    menu = claim_menu(BOOK)
    scopes = claim_scopes(BOOK)
    tried = {c.claim_id for c in BOOK.claims() if c.quantity in LIMITS and scopes[c.claim_id].acts_on}
    assert set(menu["claim_id"]) == tried and len(tried) > 15
    assert (menu["low_limit"] <= menu["value"]).all() and (menu["value"] <= menu["high_limit"]).all()
    assert menu["badge"].ne("measured").all() and menu["source"].ne("").all()
    frame, _ = rows(tuple(menu["claim_id"]))
    assert (frame["applies"] | frame["why_not"].ne("")).all()
    silent = {c.claim_id for c in BOOK.claims()} - tried
    assert all(scopes[name].why_not for name in silent)
