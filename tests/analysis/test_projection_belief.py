"""Two models of one step: which one is believed, and what is said where they disagree."""

import math

import numpy as np
import pytest

from analysis.projection_belief import apart, cause_of, stretched
from analysis.projection_seen import spread
from analysis.registry import run as ask
from analysis.result import Result
from tests.analysis.conftest import Home, phases, pool, steps
from tests.analysis.projecting import asked, load, row, whole

RNG = np.random.default_rng(5)


def drawn(middle: float, sigma: float) -> np.ndarray:
    return middle * np.exp(sigma * RNG.standard_normal(20_000))


@pytest.mark.parametrize("middle", [150.0, 40.0])
def test_a_band_reaches_to_the_far_end_of_a_model_that_disagrees(middle: float) -> None:
    ours, other = drawn(80.0, 0.1), drawn(middle, 0.2)
    assert apart(ours, other)
    before, rule, after = spread(ours), spread(other), spread(stretched(ours, other))
    assert after[1] == pytest.approx(before[1], rel=1e-4)
    far, near = (2, 0) if middle > 80 else (0, 2)
    assert after[far] == pytest.approx(rule[far], rel=1e-3)
    assert after[near] == pytest.approx(before[near])


def test_models_that_agree_leave_the_band_alone() -> None:
    ours, other = drawn(80.0, 0.1), drawn(84.0, 0.5)
    assert not apart(ours, other) and stretched(ours, other) is ours
    unknown = np.full(5, math.nan)
    assert not apart(ours, unknown) and stretched(ours, unknown) is ours


def test_the_cause_is_the_part_with_the_largest_gap_in_the_direction_of_the_whole() -> None:
    """By hand, of 100 s: the rule keeps 40 s where phases keep none, and has 20 s less of the rest."""
    parts = {"kept": 0.4, "rollout": 0.3, "compute": 0.1, "rest": 0.0}
    seconds = {"rollout_work": 20.0, "rollout_tail": 5.0, "train": 10.0, "other": 20.0}
    draws = {name: np.full(3, value) for name, value in seconds.items()}
    found = cause_of(100.0, parts, draws)
    assert found is not None and (found.part, found.whole_s, found.phases_s) == ("kept", 40.0, 0.0)
    slower = cause_of(100.0, {**parts, "kept": 0.0}, {**draws, "train": np.full(3, 40.0)})
    assert slower is not None and slower.part == "compute"
    assert cause_of(100.0, {}, draws) is None


def notice(result: Result, code: str) -> str:
    (found,) = [n.text for n in result.warnings if n.code == code]
    return found


def test_a_disagreement_is_said_with_its_ratio_and_cause_and_widens_the_band(empty_home: Home) -> None:
    load(empty_home)
    found = asked(empty_home, targets=["vera-rubin-nvl72"])
    step, rule = row(found, "vera-rubin-nvl72"), row(found, "vera-rubin-nvl72", "whole_step")
    assert rule["apart"] and rule["cause"]
    assert step["step_s"] == pytest.approx(rule["phases_s"], rel=1e-3)
    assert step["step_s_high"] == pytest.approx(rule["high"], rel=0.01)
    assert step["step_s_low"] == pytest.approx(rule["phases_low"])
    said = notice(found, "rules_differ")
    assert f"{rule['step_s'] / rule['phases_s']:.2f} times as long" in said and rule["cause"] in said
    believed = notice(found, "believed")
    assert "phases" in believed and "never" in believed and "12 pairs" in believed
    assert found.figure("projected_step_s").interval == "two_models"
    assert "the rule for whole steps says" in found.answer
    money = row(found, "vera-rubin-nvl72", "breakeven")
    assert money["usd_per_gpu_h_low"] < money["usd_per_gpu_h"] * rule["phases_s"] / rule["step_s"]


def test_published_pairs_on_half_the_gpus_are_reconciled(empty_home: Home) -> None:
    """Geometric mean over models of the nine node-matched pairs of the catalogue, each model once."""
    load(empty_home)
    found = asked(empty_home, targets=["gb200-nvl72"])
    said = notice(found, "published_pairs")
    models = [(0.993837, 0.955224), (1.09722, 0.980603), (1.3202, 0.770302), (1.17172,), (1.05, 1.0133)]
    means = [math.prod(ratios) ** (1 / len(ratios)) for ratios in models]
    assert f"x {math.prod(means) ** (1 / 5):.2f} on half as many GPUs (9 pairs of 5 models)" in said
    ratio = row(found, "gb200-nvl72", "whole_step")["ratio"]
    assert f"on the 64 GPUs here it gives x {ratio:.2f}, {1 / ratio:.2f} times as fast" in said


def test_the_answer_speaks_of_the_platform_asked_for(empty_home: Home) -> None:
    load(empty_home)
    both = ["b200-hgx", "vera-rubin-nvl72", "rubin-ultra-nvl576"]
    assert "on 64 B200 HGX" in asked(empty_home, targets=both, focus="b200-hgx").answer
    rubin = asked(empty_home, targets=both, focus="vera-rubin-nvl72")
    assert "on 64 Vera Rubin NVL72" in rubin.answer
    assert rubin.figure("projected_step_s").label == "Step on 64 Vera Rubin NVL72"
    ultra = asked(empty_home, targets=both, focus="rubin-ultra-nvl576")
    assert "Rubin Ultra NVL576 cannot be projected" in ultra.answer
    assert ultra.figure("projected_step_s").value is None


@pytest.mark.parametrize(("targets", "about"), [
    (["h200-sxm", "vera-rubin-nvl72", "gb300-nvl72", "gb200-nvl72"], "GB200 NVL72"),
    (["h200-sxm", "vera-rubin-nvl72", "gb200-nvl72+h100-sxm"], "Vera Rubin NVL72"),
    (["h200-sxm", "rubin-ultra-nvl576"], "H200 SXM"),
    ([], "GB200 NVL72"),
])  # fmt: skip
def test_without_a_focus_the_answer_is_about_the_first_rack_of_blackwell_or_rubin(
    empty_home: Home, targets: list[str], about: str
) -> None:
    load(empty_home)
    found = asked(empty_home, targets=targets)
    assert f"; on 64 {about} it would" in found.answer
    assert found.figure("projected_step_s").label == f"Step on 64 {about}"
    rows = (
        found.tables["platforms"].query("kind == 'projected' and step_s <= 100").dropna(subset="usd_per_step")
    )
    least = rows.loc[rows["usd_per_step"].idxmin(), "platform"]
    cheapest = [n.text for n in found.warnings if n.code == "cheapest_target"]
    assert len(cheapest) == (least != about) and all(f"64 {least}," in text for text in cheapest)


def test_a_platform_that_cannot_be_projected_says_that_alone(empty_home: Home) -> None:
    load(empty_home)
    found = asked(empty_home, targets=["gb200-nvl72", "rubin-ultra-nvl576"])
    said = [n for n in found.warnings if "Rubin Ultra" in n.text]
    assert [n.code for n in said] == ["target_unknown"]
    shown = set(asked(empty_home).tables["platforms"]["platform"])
    assert shown.isdisjoint({"B300 HGX", "Rubin Ultra NVL576"})
    told = [n.text for n in asked(empty_home).warnings if n.code != "believed"]  # that one names tested pairs
    assert not any("B300 HGX" in text or "Ultra NVL576" in text for text in told)


@pytest.mark.parametrize(("llm", "kind", "words"), [
    (None, "model", "the model of r is not named"),
    ("gpt-4o", "shape", "the catalogue has no shape of gpt-4o"),
])  # fmt: skip
def test_only_the_model_is_missing_and_only_that_is_said(
    empty_home: Home, llm: str | None, kind: str, words: str
) -> None:
    load(empty_home, llm=llm)
    found = asked(empty_home, targets=["gb200-nvl72"])
    assert [(g["kind"], g["run"]) for g in found.tables["gaps"].to_dict("records")] == [(kind, "r")]
    assert f"for {words}" in found.answer
    told = [found.answer, *(n.text for n in found.warnings), *(str(f.missing) for f in found.headline)]
    assert not any("phases are not known" in text or "not timed" in text for text in told)


def test_a_log_without_timers_is_said_as_that(empty_home: Home) -> None:
    whole(empty_home, "w", "h100-sxm", 32, 400.0)
    empty_home.con.execute("update runs set llm = 'qwen2.5-32b'")
    kinds = set(asked(empty_home, targets=["gb200-nvl72"]).tables["gaps"]["kind"])
    assert {"timers", "tokens", "lengths"} <= kinds and not {"model", "shape"} & kinds


def test_gpus_that_do_not_fill_nodes_are_named(empty_home: Home) -> None:
    load(empty_home, gpus=60)
    assert "60 GPUs on nodes of 8 (H100 SXM" in notice(
        asked(empty_home, targets=["b200-hgx"]), "partial_nodes"
    )
    empty_home.clear()
    load(empty_home, gpus=64)
    found = asked(empty_home, targets=["b200-hgx"])
    assert not [n for n in found.warnings if n.code in ("partial_nodes", "training_small")]


def small_training(home: Home, named: str) -> None:
    """97 s of rollouts, 2 of training and 1 of `named` in a step of 100 s."""
    home.add("runs", {"run": "r", "mode": "sync", "llm": "qwen2.5-32b", "synthetic": False})
    home.add("attempts", {"run": "r", "attempt": 1, "status": "completed"})
    home.add("allocations", pool("r", 1, "all", "colocated", "h100-sxm", 2000, gpus=64))
    tokens = {"tok_prompt": 1e4, "tok_gen": 7.5e4, "tok_trained": 8.5e4}
    lengths = {"len_mean": 1500.0, "len_p50": 1300.0, "len_p95": 3300.0, "len_max": 6000.0}
    home.add("steps", *steps("r", 1, range(1, 13), 100.0, rollouts=50.0, groups=5.0, **tokens, **lengths))
    home.add("step_phases", *phases("r", 1, range(1, 13), {"rollout": 90.0, "train": 2.0, named: 8.0}))


def test_training_of_two_percent_carries_little(empty_home: Home) -> None:
    small_training(empty_home, "env")
    assert "2.00 s of a step of r, 2.00 %" in notice(
        asked(empty_home, targets=["b200-hgx"]), "training_small"
    )


def test_a_cpu_claim_acts_on_sandboxes_and_never_on_rewards(empty_home: Home) -> None:
    """8 s at 1.3 times the speed leave 6.15 s; as rewards they are no sandbox work and stay."""
    claim = {"targets": ["vera-rubin-nvl72"], "claims": ["vera-plus-30"]}
    small_training(empty_home, "env")
    boxes = row(asked(empty_home, **claim), "vera-rubin-nvl72", "claims")
    assert boxes["applies"]
    assert boxes["step_s_without"] - boxes["step_s_with"] == pytest.approx(8 - 8 / 1.3, rel=0.15)
    empty_home.clear()
    small_training(empty_home, "reward")
    rewards = row(asked(empty_home, **claim), "vera-rubin-nvl72", "claims")
    assert not rewards["applies"] and "nothing to shorten" in rewards["why_not"]
    assert " s of rewards" in rewards["why_not"]


def test_a_focus_that_is_no_target_is_refused(empty_home: Home) -> None:
    load(empty_home)
    with pytest.raises(Exception, match="not projected"):
        ask("projection", empty_home.view(), {"targets": ["b200-hgx"], "focus": "gb200-nvl72"})
