"""A cadence: the weekly 235B worked by hand, more GPUs that are slower, sharing, money, refusals."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from analysis.cadence_fleets import failing, job_rates
from analysis.cadence_params import CadenceParams
from analysis.cadence_said import chance_words, deadline_words
from analysis.cadence_source import scratch_of
from analysis.registry import run as ask
from analysis.result import Result
from data.catalogue import load_catalogue
from data.errors import UserError
from data.recipes import recipe
from models.calibration import calibrate
from models.moves import Band, Target
from models.projection import project
from tests.analysis.conftest import Home
from tests.analysis.projecting import load, whole

BOOK = load_catalogue()
QUIET = {
    "failure_rate": 0.0, "cold_start_min": 0, "warm_start_min": 0, "queue_min": 0, "checkpoint_s": 0,
    "evals": 0, "repeat_frac": 0.0,
}  # fmt: skip
"""Nothing beside the steps."""


@pytest.fixture(scope="module")
def home() -> Iterator[Home]:
    home = Home()
    load(home)
    whole(home, "bare", "gb200-nvl72", 64, 332.0)
    yield home
    home.con.close()


def plan(home: Home, **params: Any) -> Result:
    return ask("cadence", home.view(), {"draws": 500, "targets": ["gb200-nvl72"], "most_gpus": 256, **params})


def stated(home: Home, **params: Any) -> Result:
    return plan(home, basis="stated", **params)


def row(result: Result, table: str = "platforms", **wanted: Any) -> dict[str, Any]:
    frame = result.tables[table]
    for name, value in wanted.items():
        frame = frame[frame[name] == value]
    (only,) = frame.to_dict("records")
    return dict(only)


def test_the_weekly_235b_by_hand(home: Home) -> None:
    # 200 x 332 s = 18.44 h on 64 GB200; at 75 % goodput 24.6 h; 64 with spares are one rack of 72
    found = stated(home, goodput=0.75, evals=0, gpus=64, repeat_frac=0.0)
    only = row(found)
    assert (only["racks"], only["fleet_gpus"], only["spare_gpus"]) == (1, 72, 8)
    assert only["cycle_h"] == pytest.approx(24.6, abs=0.05)
    assert only["slack_h"] == pytest.approx(162 - 24.6, abs=0.05)
    # 3-year neocloud rent of the book, the whole week paid: 72 x 168 h
    assert only["usd_per_cycle"] == pytest.approx(72 * 168 * only["usd_per_gpu_h"])
    assert only["usd_per_year"] == pytest.approx(72 * 8760 * only["usd_per_gpu_h"])
    paid = row(stated(home, goodput=0.75, evals=0, gpus=64, repeat_frac=0.0, pay="cycle"))
    assert paid["usd_per_cycle"] == pytest.approx(72 * only["cycle_h"] * only["usd_per_gpu_h"])
    # SWE steps of 20 minutes: 66.7 h, at 75 % 88.9 h
    swe = row(stated(home, goodput=0.75, evals=0, gpus=64, step_s=1200, repeat_frac=0.0))
    assert swe["cycle_h"] == pytest.approx(88.9, abs=0.05)
    # evaluations of 30 minutes come on top, and that is said: Overview's goodput holds them already
    assert "evals_on_top" not in {one.code for one in found.warnings}
    more = stated(home, goodput=0.75, gpus=64, repeat_frac=0.0)
    assert row(more)["cycle_h"] == pytest.approx(24.6 + 0.5, abs=0.05)
    assert "evals_on_top" in {one.code for one in more.warnings}
    # the shape of 512 GPUs: 8 racks
    assert row(stated(home, goodput=0.75, gpus=512))["racks"] == 8


def test_nothing_beside_the_steps(home: Home) -> None:
    found = stated(home, gpus=64, **QUIET)
    assert row(found)["cycle_h"] == pytest.approx(200 * 332 / 3600)
    assert row(found)["goodput_frac"] == pytest.approx(1)
    # two campaigns of their own steps: 100 x 332 + 50 x 1,200, and 60 s of tools a step
    two = stated(home, gpus=64, campaigns=["a:steps=100", "b:steps=50,step_s=1200,tool_s=60"], **QUIET)
    assert row(two)["cycle_h"] == pytest.approx((100 * 332 + 50 * 1260) / 3600)
    assert row(two, "campaigns", campaign="b")["hours"] == pytest.approx(50 * 1260 / 3600)


def test_the_smallest_fleet_does_and_one_unit_less_does_not(home: Home) -> None:
    asked = {"deadline_h": 30, "period_h": 168, "steps": 150, "step_platform": "b200-hgx"}
    found = stated(home, targets=["b200-hgx"], **asked)
    only = row(found)
    assert only["meets"] and only["p_finish"] >= 0.95 and math.isnan(only["racks"])
    assert only["fleet_gpus"] % 8 == 0
    less = row(stated(home, targets=["b200-hgx"], gpus=only["gpus"] - 8, **asked))
    assert less["fleet_gpus"] < only["fleet_gpus"] and less["p_finish"] < 0.95


def test_what_does_not_fit_is_no_fleet(home: Home) -> None:
    # 235.1 B x 18 bytes = 4.23 TB of states; 0.9 x 85.9 GB of an H100: 55 of them, by powers of two 64
    curve = stated(home, targets=["h100-sxm"], step_platform="b200-hgx").tables["curve"]
    assert curve["gpus"].min() == 64
    small = stated(home, gpus=16, targets=["h100-sxm"])
    assert "do not fit 16 H100" in small.answer and "not_planned" in [one.code for one in small.warnings]
    # a model that nobody named needs what its GPUs held: 64 x 198.7 GB are 149 H100
    bare = stated(home, targets=["h100-sxm"], llm="").tables["curve"]
    assert bare["gpus"].min() * 85.9 >= 64 * 198.6


def test_two_sizes_and_the_curve_that_turns(home: Home) -> None:
    # 332 s on 64 and 300 s on 128 with 10 % serial: 33.2 + 149.4 = 182.6 expected, 117.4 s of growth
    found = stated(home, serial_frac=0.1, second_gpus=128, second_step_s=300, **QUIET)
    curve = found.tables["curve"].set_index("gpus")["step_s"]
    assert curve[64] == pytest.approx(332) and curve[128] == pytest.approx(300)
    # fastest at 64 sqrt(298.8 / 117.4) = 102 GPUs: two racks are slower than their first half
    assert curve[192] > curve[128] and curve[256] > curve[192]
    assert row(found)["fastest_gpus"] in (64, 128)
    assert "slower_beyond" in [one.code for one in found.warnings]
    told = {one.code: one.text for one in found.warnings}
    assert "55 %" in told["efficiency"]  # 332 x 64 / (300 x 128)
    # two sizes alone: Amdahl, 2 x 268 - 332 = 204 s stay
    alone = stated(home, second_gpus=128, second_step_s=268, **QUIET).tables["curve"].set_index("gpus")
    assert alone["step_s"][256] == pytest.approx(204 + 128 / 4)
    with pytest.raises(UserError, match="not above the first"):
        stated(home, second_gpus=64, second_step_s=300)


def test_twice_the_length_and_growth(home: Home) -> None:
    # no phases: all of a step may grow, and growth from 1 to 2 is 1.5 on average
    found = stated(home, gpus=64, **QUIET)
    assert row(found, "length", times=2.0)["cycle_h"] == pytest.approx(2 * 200 * 332 / 3600)
    grown = stated(home, gpus=64, length_growth=2, **QUIET)
    assert row(grown)["cycle_h"] == pytest.approx(1.5 * 200 * 332 / 3600)
    # with phases: training and rollouts grow, a weight sync of 3 s and 4.5 s besides do not
    run = plan(home, run="r", gpus=64, targets=["h100-sxm"], **QUIET)
    once, twice = (row(run, "length", times=t)["cycle_h"] * 3600 / 200 for t in (1.0, 2.0))
    assert once == pytest.approx(100)
    assert 2 * 100 - 8 - 5 < twice < 2.6 * 100


def test_lengths_that_grew_in_the_run_are_told() -> None:
    home = Home()
    load(home)
    home.con.execute("UPDATE steps SET len_mean = 1000 + 50 * (step - 1)")  # 20 steps: 1,000 to 1,950
    told = {one.code: one.text for one in plan(home, run="r", gpus=64, targets=["h100-sxm"]).warnings}
    assert "grew 1.95 times" in told["length_grew"] and "length_held" not in told
    home.con.close()


def test_a_run_of_its_own_size_takes_its_measured_step(home: Home) -> None:
    only = row(plan(home, run="r", gpus=64, targets=["h100-sxm"], **QUIET))
    assert (only["kind"], only["cycle_h"]) == ("own", pytest.approx(200 * 100 / 3600))
    shown = ask("projection", home.view(), {"run": "r", "targets": ["gb200-nvl72"], "draws": 500})
    there = shown.tables["platforms"].set_index("target").loc["gb200-nvl72"]
    here = row(plan(home, run="r", gpus=64))
    for end in ("", "_low", "_high"):
        assert here[f"step_s{end}"] == pytest.approx(there[f"step_s{end}"])
    bare = row(plan(home, run="bare", gpus=64, **QUIET))
    assert bare["cycle_h"] == pytest.approx(200 * 332 / 3600)


def test_parts_add_up_to_the_mean_end(home: Home) -> None:
    found = stated(home, maintenance_h=8, gpus=64, failure_rate=0.0)
    parts = found.tables["parts"].set_index("part")["hours"]
    assert parts["evaluations"] == pytest.approx(0.5)
    assert parts["checkpoints"] == pytest.approx(20 * 60 / 3600)
    assert parts["start-ups and queue"] == pytest.approx((49 + 7.4) / 60)
    cycle = row(found)
    assert cycle["cycle_h_low"] < parts.sum() < cycle["cycle_h_high"] + 8


def test_sharing_by_priority(home: Home) -> None:
    alone = row(stated(home, gpus=64))["cycle_h"]
    first = stated(home, gpus=64, share=["other:gpus=64,hours=30,priority=2"])
    assert row(first)["cycle_h"] == pytest.approx(alone)
    assert row(first, "programmes", name="other")["start_h"] == pytest.approx(alone, rel=0.01)
    second = stated(home, gpus=64, share=["other:gpus=64,hours=30,priority=1"], priority=2)
    assert row(second)["cycle_h"] == pytest.approx(alone + 30)
    # 30 h of waiting are too many for a deadline of 24 h: then both run at once, on two racks
    both = row(stated(home, gpus=64, share=["o:gpus=64,hours=30,priority=1"], priority=2, deadline_h=24))
    assert (both["racks"], both["cycle_h"]) == (2, pytest.approx(alone, rel=0.01))
    beside = stated(home, gpus=64, most_gpus=64, share=["big:gpus=500,hours=1"])
    assert "never_starts" in [one.code for one in beside.warnings]


def test_failures_of_huge_jobs_are_not_scaled_down() -> None:
    params = CadenceParams()
    huge = 1.973e-5  # a GPU-hour of the job of 16,384
    assert failing(params, 16_384).usual == pytest.approx(huge * 16_384)
    assert failing(params, 64).usual == pytest.approx(64 / 1024 / 7.9)
    assert failing(params, 64).usual > 6 * huge * 64
    assert failing(params, 64).high == pytest.approx(1 / 7.5)
    assert failing(CadenceParams(failure_rate=1e-4), 64).usual == pytest.approx(64e-4)
    assert job_rates().small_per_h[0] < job_rates().small_per_h[1] < job_rates().small_per_h[2]


def test_best_period_is_marked(home: Home) -> None:
    frame = stated(home, gpus=64).tables["checkpoint"]
    best = frame[frame["best"]].iloc[0]
    assert best["goodput_frac"] == frame["goodput_frac"].max()
    # one failure in 126.4 h, saves of 60 s: sqrt(2 x 60 x 455,040) = 7,390 s less 60, in steps of 332 s
    assert best["checkpoint_steps"] == pytest.approx(7_350 / 332, abs=1)
    chosen = row(stated(home, gpus=64, checkpoint_steps=0))
    assert chosen["checkpoint_steps"] == best["checkpoint_steps"]


def test_no_fleet_is_said_with_the_likeliest(home: Home) -> None:
    found = stated(home, deadline_h=8, most_gpus=512)
    assert "no fleet of up to 512 GPUs" in found.answer
    assert not row(found)["meets"] and row(found)["p_finish"] < 0.95
    assert "not_reached" in [one.code for one in found.warnings]
    assert chance_words(1.0, 10_000) == "more than 99.9 %" and chance_words(0.97, 100) == "97 %"


@pytest.mark.parametrize(
    ("period_h", "deadline_h", "told"),
    [
        (168, 162, "Sunday 18:00"),
        (168, 12.5, "Monday 12:30"),
        (168, 168, "hour 168"),
        (168, 167.9999, "Sunday 23:59"),
        (24, 18, "hour 18.0"),
    ],
)
def test_a_deadline_in_a_week_is_a_day_and_a_time(period_h: float, deadline_h: float, told: str) -> None:
    assert deadline_words(CadenceParams(period_h=period_h, deadline_h=deadline_h)) == told


def test_what_matters_most_stands_first(home: Home) -> None:
    found = stated(home, gpus=64)
    frame = found.tables["tornado"]
    assert (np.diff(frame["swing_h"]) <= 0).all() and len(frame) >= 5
    steps = frame.set_index("input").loc["steps"]
    assert steps["cycle_h_high"] > steps["cycle_h"] > steps["cycle_h_low"]
    assert frame["cycle_h"].nunique() == 1, "the same with nothing moved"
    assert frame["cycle_h"].iloc[0] == found.figure("cadence_cycle_h").value, "and the answer itself"
    # drawn quantities by one rule, p10 to p90: the published ends hold 90 % of the draws, a half-width
    # of 1.645 standard deviations of their side; p10 and p90 stand at 1.282 of them
    usual, high = 1 / (7.9 * 1024), 1 / (7.5 * 64)
    rate = frame.set_index("input").loc["failure_rate"]
    assert rate["high_value"] == pytest.approx(usual * (high / usual) ** (1.2816 / 1.6449), rel=2e-3)
    # a quarter more and less of 200 steps of 332 s: half of 18.4 h and what surrounds it
    assert steps["swing_h"] == pytest.approx(0.5 * 200 * 332 / 3600, rel=0.1)


def test_groups_that_must_not_leave_a_domain(home: Home) -> None:
    assert row(stated(home, gpus=144, domain_group=64, spare_frac=0))["racks"] == 3
    here = row(stated(home, gpus=64, targets=["b200-hgx"], domain_group=64, **QUIET))["cycle_h"]
    free = row(stated(home, gpus=64, targets=["b200-hgx"], **QUIET))["cycle_h"]
    assert here == pytest.approx(1.2 * free)  # published: 1.2 times the throughput inside a domain


@pytest.mark.parametrize(
    ("bad", "told"),
    [
        ({"deadline_h": 100, "period_h": 24}, "after the period"),
        ({"campaigns": ["a:stepz=3"]}, "unknown"),
        ({"campaigns": ["a:steps=x"]}, "no number"),
        ({"share": ["b:gpus=8"]}, "lacks hours"),
        ({"share": ["b:gpus=8,hours=3", "b:gpus=64,hours=9"]}, "a name of its own"),
        ({"second_gpus": 128}, "second size"),
        ({"len_p50": 9e5}, "rise"),
        ({"targets": ["gb200-nvl72+b200-hgx"]}, "one platform"),
        ({"focus": "b200-hgx"}, "not planned"),
        ({"basis": "stated", "step_platform": "abacus"}, "no platform"),
        ({"run": "nobody"}, "no run"),
    ],
)
def test_bad_input_names_the_parameter(home: Home, bad: dict[str, Any], told: str) -> None:
    with pytest.raises(UserError) as found:
        plan(home, **bad)
    assert told in f"{found.value.what} {found.value.remedy}"


def test_from_scratch_says_so_and_is_wide(home: Home) -> None:
    found = plan(home, basis="model", gpus=64)
    only = row(found)
    assert "not_measured" in [one.code for one in found.warnings]
    assert only["step_s_high"] / only["step_s_low"] == pytest.approx(4, rel=0.15)
    # published: 332 s for this model on 64 GB200, its lengths not printed; inside the band from scratch
    assert only["step_s_low"] < 332 < only["step_s_high"]
    small = plan(home, basis="model", step_gpus=4)
    assert [one.code for one in small.warnings] == ["cannot_plan"] and "do not fit 4 GPUs" in small.answer


@pytest.mark.parametrize("recipe_id", ["ultra-rlvr-phase1", "super-rlvr1-b200"])
def test_published_splits_as_a_plausibility_band(recipe_id: str) -> None:
    """Generation over training nodes of a published recipe lies within 2.5 times of the balanced split.

    Of a recipe model, batch, longest sequence and mode (in-flight updates, at most one update old) are known;
    lengths are not, and the split hardly moves with them.
    """
    one = recipe(BOOK, recipe_id)
    nodes = (one.nodes_generation or 0, one.nodes_train or 0)
    longest, found = float(one.max_sequence_length or 0), []
    for part in (4, 16):
        asked = CadenceParams(
            basis="model",
            llm={"ultra": "nemotron-3-ultra", "super": "nemotron-3-super"}[one.model],
            mode="async",
            prompts=one.prompts_per_step or 1,
            group=one.generations_per_prompt or 1,
            len_p50=longest / part,
            len_p95=longest / 2,
            len_max=longest,
            step_gpus=sum(nodes) * (one.gpus_per_node or 1),
            step_platform=one.platform_id,
        )
        _, workload = scratch_of(BOOK, asked)
        found.append(workload.engines.gpus / workload.trainer.gpus)
        assert nodes[0] / nodes[1] / 2.5 < found[-1] < nodes[0] / nodes[1] * 2.5
    assert found[0] == pytest.approx(found[1], rel=0.15)


def test_scratch_projects_to_itself() -> None:
    """Phases made by the models, calibrated and carried to their own pools, are the same phases again."""
    found, workload = scratch_of(BOOK, CadenceParams(basis="model"))
    calibration = calibrate(workload, found.measured)
    exact = Band(1.0, 1.0, 1.0)
    own = Target(workload.engines, workload.trainer, exact, exact, exact, exact, "own")
    drawn = project(workload, found.measured, calibration, [own], 100)
    assert not calibration.refusals
    assert drawn.step_s[0, 0] == pytest.approx(sum(found.seconds.values()))


def test_no_late_draw_is_not_certainty_on_the_card(home: Home) -> None:
    # Wilson by hand: 500 of 500 leave a chance of n / (n + z^2) = 500 / 503.84 = 99.24 %
    found = stated(home, gpus=64).figure("cadence_p_finish")
    assert (found.value, found.interval, found.n) == (1.0, "ci95", 500)
    assert found.low == pytest.approx(500 / (500 + 1.959964**2), abs=1e-6) and found.high == 1


def test_a_cycle_that_never_ends_is_not_in_time(home: Home) -> None:
    """0.64 failures an hour, 1,111 h between saves: a stretch takes e^711 hours, more than a number holds."""
    never = {"failure_rate": 0.01, "step_s": 40_000.0, "checkpoint_steps": 100}
    found = stated(home, gpus=64, **never)
    assert row(found)["p_finish"] == 0 and "< 0.6" not in found.answer and "more than" not in found.answer
    assert not row(found)["meets"] and found.tables["parts"].empty
    assert "has no end: failures come faster" in found.answer and "inf" not in found.answer
    assert found.figure("cadence_cycle_h").missing == "failures come faster than work is saved"
    week, once = (
        stated(home, gpus=64, **never, pay=pay).figure("cadence_usd_per_cycle") for pay in ("period", "cycle")
    )
    assert week.value == 72 * 4.0 * 168 and once.value is None and "failures" in once.missing
    shared = stated(home, gpus=64, share=["b:gpus=64,hours=5,priority=9"], spare_frac=0, **never)
    assert row(shared, "programmes", name="b")["p_finish"] == 0, "what waits for it never starts"


def test_a_few_draws_that_hardly_end_are_not_the_hours_of_a_cycle(home: Home) -> None:
    """Saves every 9.2 h at the published range of failures: the mean is hundreds of times the median."""
    found = stated(home, gpus=64, checkpoint_steps=100)
    cycle, parts = row(found), found.tables["parts"]
    assert cycle["cycle_h_low"] < parts["hours"].sum() < cycle["cycle_h_high"]
    assert parts["frac"].sum() == pytest.approx(1)


def test_the_curve_says_of_which_platform_the_answer_speaks(home: Home) -> None:
    found = stated(home, gpus=64, targets=["gb200-nvl72", "gb300-nvl72"], focus="gb300-nvl72")
    curve = found.tables["curve"]
    assert set(curve.loc[curve["answered"], "target"]) == {"gb300-nvl72"} and "GB300" in found.answer


def test_goodput_has_the_spread_of_the_cycle(home: Home) -> None:
    """Steps kept over wall time: its p10 and p90 are those steps over the p90 and p10 of the cycle."""
    found = stated(home, gpus=64, repeat_frac=0.0)
    good, cycle = found.figure("cadence_goodput"), found.figure("cadence_cycle_h")
    steps = 200 * 332 / 3600
    assert [good.low, good.high] == pytest.approx([steps / cycle.high, steps / cycle.low], rel=1e-3)
    assert good.low < good.value < good.high and good.interval == "p10_p90"


def test_every_input_has_unit_source_and_limits(home: Home) -> None:
    found = stated(home, gpus=64, queue_min=30)
    frame = found.tables["settings"].set_index("name")
    assert (frame["unit"] != "").all() and (frame["source"] != "").all() and frame["value"].notna().all()
    assert (frame["note"] != "").all()
    assert frame.loc["queue_min", ["value", "status", "note"]].tolist() == [30, "user", "may be 0 to 10,080"]
    # 1 / (7.9 h x 1,024) a GPU-hour; high: the whole rate of such a job, 1 / 7.5 h, on 64 GPUs
    rate = frame.loc["failure_rate"]
    assert rate["value"] == pytest.approx(1 / 7.9 / 1024) and rate["high"] == pytest.approx(1 / 7.5 / 64)
    assert frame.loc["checkpoint_s", ["low", "value", "high"]].tolist() == [1, 60, 60]
    assert "goodput" not in frame.index and "second_gpus" not in frame.index
    measured = stated(home, gpus=64, goodput=0.75).tables["settings"].set_index("name")
    assert measured.loc["goodput", "value"] == 0.75 and "checkpoint_s" not in measured.index
