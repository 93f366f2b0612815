"""A measured run on other platforms: identities, hand-worked ratios, published pairs, refusals."""

import json
import math
from collections.abc import Iterator

import pytest

from analysis.formulas import FORMULAS
from analysis.gain import GainParams
from analysis.gain import compute as ask_gain
from analysis.pairfactors import pair_factor
from analysis.projection import ProjectionParams
from analysis.result import Result
from data.catalogue import load_catalogue
from data.errors import UserError
from tests.analysis.conftest import Home, evaluation, pool
from tests.analysis.projecting import PROMPT, RESPONSE, ROLLOUTS, SECONDS, STEP_S, asked, load, row

NEWER = ["h200-sxm", "b200-hgx", "gb200-nvl72", "gb300-nvl72", "vera-rubin-nvl72"]


@pytest.fixture(scope="module")
def home() -> Iterator[Home]:
    home = Home()
    load(home)
    yield home
    home.con.close()


@pytest.fixture(scope="module")
def plain(home: Home) -> Result:
    return asked(home, run="r", targets=["h100-sxm", *NEWER])


def test_the_same_platform_gives_the_measured_step_again(plain: Result) -> None:
    same, measured = row(plain, "h100-sxm"), row(plain, "measured", kind="measured")
    assert same["step_s"] == pytest.approx(STEP_S, rel=1e-9)
    assert same["step_s_low"] == same["step_s_high"] == pytest.approx(STEP_S, rel=1e-9)
    assert measured["step_s"] == pytest.approx(STEP_S) and same["speedup"] == pytest.approx(1)
    assert same["gpus_same_cycle"] == same["gpus"] == 64
    # 64 GPUs x $2 x 100 s; 1,024 rollouts of 1,700 tokens
    assert same["usd_per_step"] == pytest.approx(64 * 2 * 100 / 3600)
    assert same["usd_per_rollout"] == pytest.approx(64 * 2 * 100 / 3600 / ROLLOUTS)
    assert same["tokens_per_s_per_gpu"] == pytest.approx(ROLLOUTS * (PROMPT + RESPONSE) / 100 / 64)
    assert row(plain, "h100-sxm", "breakeven")["usd_per_gpu_h"] == pytest.approx(2.0)


def test_measured_phases_add_up_to_the_step(plain: Result) -> None:
    frame = plain.tables["phases"]
    told = frame[(frame["kind"] == "measured") & frame["exposed"]].set_index("phase")["seconds"]
    assert told.sum() == pytest.approx(STEP_S)
    assert told["rollout_work"] + told["rollout_tail"] + told["prefill"] == pytest.approx(60)
    assert told[["logprob", "train", "weight_sync", "env", "other"]].tolist() == pytest.approx(
        [8, 24, 3, 3, 0.5]
    )
    assert told["unattributed"] == pytest.approx(1.5)


def test_phases_of_a_target_stack_up_to_its_step(plain: Result) -> None:
    frame = plain.tables["phases"]
    for target in NEWER:
        told = frame[(frame["target"] == target) & frame["exposed"]]
        assert told["seconds"].sum() == pytest.approx(row(plain, target)["step_s"], rel=0.03)
        assert (told["seconds_low"] <= told["seconds"]).all() and (
            told["seconds"] <= told["seconds_high"]
        ).all()


def test_training_follows_the_peaks_and_the_factor_of_pairs(plain: Result) -> None:
    book = load_catalogue()
    for target, peaks in (("b200-hgx", 2250 / 989), ("gb200-nvl72", 2500 / 989)):
        factor = pair_factor(book, "training", "h100-sxm", target).factor
        frame = plain.tables["phases"]
        told = frame[(frame["target"] == target) & (frame["phase"] == "train")]
        assert told["seconds"].item() == pytest.approx(SECONDS["train"] / peaks / factor, rel=0.05)
        assert "pairs" in told["basis"].item()


def test_what_follows_no_gpu_stays(plain: Result) -> None:
    frame = plain.tables["phases"]
    for phase, seconds in (("env", 3.0), ("other", 0.5)):
        told = frame[(frame["target"] == "vera-rubin-nvl72") & (frame["phase"] == phase)]
        assert told["seconds"].item() == pytest.approx(seconds, rel=0.02)


def test_no_band_is_tighter_than_other_software(plain: Result) -> None:
    for target in NEWER:
        found = row(plain, target)
        assert found["step_s_low"] <= 0.9 * found["step_s"] and found["step_s_high"] >= 1.1 * found["step_s"]
    assert row(plain, "vera-rubin-nvl72")["basis"] == "left-out platforms"


def test_at_the_break_even_price_a_step_costs_what_it_costs_now(home: Home, plain: Result) -> None:
    even = row(plain, "gb200-nvl72", "breakeven")["usd_per_gpu_h"]
    found = asked(home, run="r", targets=["gb200-nvl72"], quotes=[f"gb200-nvl72:{even!r}"])
    assert row(found, "gb200-nvl72")["usd_per_step"] == pytest.approx(64 * 2 * 100 / 3600, rel=1e-6)
    rows = found.tables["breakeven"]
    assert rows["quote_label"].iloc[0] == "your quote" and rows["verdict"].iloc[0] == "cannot tell"
    # the book's own quote stands beside it
    assert rows["quote_usd_per_gpu_h"].iloc[1] == 4.0 and len(rows) == 2


def test_verdicts_follow_the_quote(home: Home) -> None:
    for quote, verdict in (("gb200-nvl72:0.5", "pays"), ("gb200-nvl72:50", "does not pay")):
        found = asked(home, run="r", targets=["gb200-nvl72"], quotes=[quote])
        assert row(found, "gb200-nvl72")["verdict"] == verdict
        assert found.tables["breakeven"]["verdict"].iloc[0] == verdict


def test_sandboxes_are_in_the_dollars_and_in_the_break_even(empty_home: Home) -> None:
    load(empty_home)
    empty_home.add("allocations", {
        "run": "r", "attempt": 1, "pool": "box", "role": "sandbox", "platform": "x86-reference",
        "cores": 100.0, "seconds": 2000.0, "source": "user",
    })  # fmt: skip
    choice = load_catalogue().core_price("x86-reference")
    assert choice is not None
    side = 100 * choice.usd_per_gpu_h
    found = asked(empty_home, run="r", targets=["gb200-nvl72"])
    assert row(found, "h100-sxm", kind="measured")["usd_per_step"] == pytest.approx(
        (128 + side) * 100 / 3600, rel=1e-3
    )
    step_s = row(found, "gb200-nvl72")["step_s"]
    even = ((128 + side) * 100 / step_s - side) / 64
    assert row(found, "gb200-nvl72", "breakeven")["usd_per_gpu_h"] == pytest.approx(even, rel=1e-3)


def test_equal_dollars_rent_half_as_many_gpus_at_twice_the_price(home: Home) -> None:
    found = row(asked(home, run="r", targets=["gb200-nvl72"], hold="budget"), "gb200-nvl72")
    assert found["gpus"] == 32 and found["racks"] == 1
    half = row(asked(home, run="r", targets=["gb200-nvl72"]), "gb200-nvl72")
    assert half["step_s"] < found["step_s"] < 2 * half["step_s"]


def test_equal_step_time_takes_the_count_that_gives_it(home: Home, plain: Result) -> None:
    count = row(plain, "gb200-nvl72")["gpus_same_cycle"]
    found = row(asked(home, run="r", targets=["gb200-nvl72"], hold="step_time"), "gb200-nvl72")
    assert found["gpus"] == count < 64 and count % 4 == 0
    assert 0.8 * STEP_S < found["step_s"] <= 1.02 * STEP_S


def test_a_platform_for_each_pool(home: Home) -> None:
    found = asked(home, run="r", targets=["vera-rubin-nvl72+h100-sxm"])
    both = row(found, "vera-rubin-nvl72+h100-sxm")
    assert both["platform"] == "Vera Rubin NVL72 + H100 SXM" and both["gpus"] == 64
    frame = found.tables["phases"]
    train = frame[(frame["kind"] == "projected") & (frame["phase"] == "train")]["seconds"].item()
    assert train > SECONDS["train"]  # the same trainer with fewer GPUs


def test_unknown_facts_stay_unknown_and_say_which(home: Home) -> None:
    found = asked(home, run="r", targets=["rubin-ultra-nvl576", "mi455x"])
    lost = row(found, "rubin-ultra-nvl576")
    assert math.isnan(lost["step_s"]) and math.isnan(lost["usd_per_step"])
    assert "dense BF16 peak" in lost["missing"] and "Rubin Ultra" in lost["missing"]
    unpriced = row(found, "mi455x")
    assert unpriced["step_s"] > 0 and math.isnan(unpriced["usd_per_step"])
    assert unpriced["verdict"] == "no quote" and "No price" in unpriced["missing"]
    assert row(found, "mi455x", "breakeven")["usd_per_gpu_h"] > 0


def test_another_precision_is_asked_for_and_said(home: Home) -> None:
    found = asked(home, run="r", targets=["gb200-nvl72"], train_precision="fp8")
    assert "precision_changed" in {n.code for n in found.warnings}
    plain = asked(home, run="r", targets=["gb200-nvl72"])
    seconds = [
        t[(t["kind"] == "projected") & (t["phase"] == "train")]["seconds"].item()
        for t in (r.tables["phases"] for r in (found, plain))
    ]
    assert seconds[0] < seconds[1]
    assert "precision_changed" not in {n.code for n in plain.warnings}
    again = asked(home, run="r", train_precision="fp8").tables["platforms"]
    assert ((again["platform"] == "H100 SXM") & (again["kind"] == "projected")).any()


@pytest.mark.parametrize("gpus", [8, 4])
def test_too_few_gpus_are_refused_with_the_likely_cause(empty_home: Home, gpus: int) -> None:
    load(empty_home, gpus=gpus)
    found = asked(empty_home, run="r", targets=["gb200-nvl72"])
    assert found.tables["platforms"].empty and found.tables["phases"].empty
    assert {"cannot_project"} <= {n.code for n in found.warnings}
    assert "not projected" in found.answer and "count of GPUs is too low" in found.answer
    # 6 x 32.76e9 FLOP a token x 1.74 M tokens in 24 s on 8 GPUs of 989 TFLOP/s: 1.8 times the peak
    flop = 6 * 32.76e9 * ROLLOUTS * (PROMPT + RESPONSE)
    assert flop / (24 * gpus * 989e12) > 1


def test_a_weight_sync_faster_than_its_links_is_doubted_but_kept(empty_home: Home) -> None:
    load(empty_home)
    empty_home.con.execute("delete from allocations")
    for name, role in (("engines", "rollout"), ("learner", "train")):
        empty_home.add("allocations", pool("r", 1, name, role, "h100-sxm", 2000, gpus=64))
    # 65.5 GB over 64 links of 450 GB/s take 2.3 ms at least
    empty_home.con.execute("update step_phases set seconds = 0.001 where phase = 'weight_sync'")
    found = asked(empty_home, run="r", targets=["gb200-nvl72"])
    (doubt,) = [n for n in found.warnings if n.code == "refused"]
    assert "doubtful" in doubt.text and "adapters" in doubt.text
    assert row(found, "gb200-nvl72")["step_s"] > 0


def test_a_point_costs_in_proportion_to_a_step(empty_home: Home) -> None:
    load(empty_home)
    for one in (evaluation("base", None, None, None, 0.50), evaluation("r-20", "r", 1, 20, 0.70)):
        empty_home.add("evals", one)
    empty_home.add("checkpoints", {"checkpoint": "base"}, {
        "checkpoint": "r@20", "run": "r", "attempt": 1, "step": 20, "parent": "base",
    })  # fmt: skip
    found = asked(empty_home, run="r", targets=["gb200-nvl72"])
    before, after = row(found, "h100-sxm", kind="measured"), row(found, "gb200-nvl72")
    assert before["usd_per_point"] > 0
    (gain,) = ask_gain(empty_home.view(), GainParams(runs=("r",))).tables["gains"].to_dict("records")
    assert before["usd_per_point"] == pytest.approx(gain["usd_per_point"], rel=1e-9)
    dollars = after["usd_per_step"] / before["usd_per_step"]
    assert after["usd_per_point"] / before["usd_per_point"] == pytest.approx(dollars, rel=0.05)


def test_without_an_evaluation_no_point_has_a_price(plain: Result) -> None:
    measured = row(plain, "measured", kind="measured")
    assert math.isnan(measured["usd_per_point"]) and "no evaluations" in measured["missing"]


def test_the_answer_names_run_target_interval_and_price(plain: Result) -> None:
    for words in ("Run r takes 100 s a step on 64 H100 SXM", "uncertain from", "moving pays below $"):
        assert words in plain.answer


def test_figures_have_intervals_and_formulas(plain: Result) -> None:
    for name in ("projected_step_s", "break_even_usd_per_gpu_h", "gpus_same_cycle"):
        figure = plain.figure(name)
        assert figure.value is not None and figure.low is not None and figure.high is not None
        assert figure.low <= figure.value <= figure.high and figure.formula == FORMULAS[name].formula
    known = plain.figure("factors_identified")
    assert known.n is not None and known.value is not None and 0 < known.value <= known.n


def test_every_assumption_has_a_status_and_a_source(plain: Result) -> None:
    names = {a.name for a in plain.assumptions}
    assert {"precision of the run's generation", "precision of the run's training"} <= names
    assert any(name.startswith("GB200 NVL72: bf16") for name in names)
    assert all(a.status and a.source for a in plain.assumptions)


def test_shares_of_drivers_add_up(plain: Result) -> None:
    frame = plain.tables["drivers"]
    for _, rows in frame[frame["target"] != "h100-sxm"].groupby("target"):
        assert rows["variance_frac"].sum() == pytest.approx(1, abs=0.02)
        assert rows["seconds_frac"].sum() == pytest.approx(1, abs=0.02)


def test_the_same_question_has_the_same_answer(home: Home, plain: Result) -> None:
    again = asked(home, run="r", targets=["h100-sxm", *NEWER])
    one, other = json.loads(plain.to_json()), json.loads(again.to_json())
    assert one["tables"] == other["tables"] and one["answer"] == other["answer"]


def test_platforms_of_the_vendor_after_the_run_are_the_default(home: Home, empty_home: Home) -> None:
    frame = asked(home).tables["platforms"]
    assert list(frame["target"]) == [
        "h100-sxm", "h200-sxm", "b200-hgx", "gb200-nvl72", "gb300-nvl72", "vera-rubin-nvl72",
    ]  # fmt: skip
    assert frame["kind"].iloc[0] == "measured" and frame["step_s"].notna().all()
    load(empty_home, platform="mi300x")
    assert list(asked(empty_home).tables["platforms"]["target"]) == ["mi300x", "mi325x", "mi355x", "mi455x"]


def test_a_claim_is_tried_on_the_phase_it_speaks_of(home: Home) -> None:
    found = asked(home, run="r", targets=["vera-rubin-nvl72"], claims=["vera-plus-30"])
    told = found.tables["claims"]
    assert list(told["claim_id"]) == ["vera-plus-30"]


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"run": "nobody"}, "There is no run 'nobody'"),
        ({"targets": ["no-such-chip"]}, "no platform with GPUs"),
        ({"targets": ["a+b+c"]}, "targets"),
        ({"quotes": ["gb200-nvl72"]}, "quotes"),
        ({"quotes": ["nowhere:3"]}, "no platform"),
        ({"quotes": ["gb200-nvl72:-1"]}, "quotes"),
        ({"claims": ["no-such-claim"]}, "claim"),
        ({"hold": "nothing"}, "hold"),
    ],
)
def test_bad_parameters_name_the_place(home: Home, params: dict[str, object], words: str) -> None:
    with pytest.raises(UserError) as error:
        asked(home, **params)
    assert words in str(error.value)


def test_an_empty_home_and_a_run_without_gpus_say_what_to_do(empty_home: Home) -> None:
    assert asked(empty_home).tables["platforms"].empty
    load(empty_home)
    empty_home.con.execute("update allocations set gpus = null")
    found = asked(empty_home)
    assert "number of GPUs of pool all of r" in found.answer and "run details" in found.answer
    assert "cannot_project" in {n.code for n in found.warnings}


def test_parameters_survive_an_address() -> None:
    params = ProjectionParams(
        run="r", targets=("a", "a+b"), quotes=("x:1.5",), hold="budget", claims=("c=2",)
    )
    assert ProjectionParams.from_query(params.to_query()) == params


def test_the_replica_is_said_or_taken_from_the_seconds(home: Home) -> None:
    """A replica of 8 GPUs that was said is in the assumptions as said; no prior of it is left."""
    free, said = (asked(home, run="r", targets=["gb200-nvl72"], replica_gpus=n) for n in (0, 8))

    def layout(found: Result) -> tuple[str, str]:
        (one,) = [a for a in found.assumptions if a.name == "layout of the engines"]
        return str(one.value), one.status

    assert "replicas of 8 GPUs" in layout(said)[0] and layout(said)[1] == "user"
    assert layout(free)[1] == "derived"
    names = [set(found.tables["calibration"]["name"]) for found in (free, said)]
    assert "replica_gpus" in names[0] and "replica_gpus" not in names[1]
    nothing = asked(home, run="r", targets=["gb200-nvl72"], replica_gpus=1024)
    assert nothing.tables["platforms"]["step_s"].notna().sum() == 1
    assert "replica of 1024 GPUs" in " ".join(nothing.tables["platforms"]["missing"])
