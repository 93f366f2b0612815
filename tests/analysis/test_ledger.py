"""The ledger, its sentence, and how a question is asked."""

from datetime import date

import pytest

from analysis import run
from analysis.formulas import DOC, FORMULAS, markdown
from analysis.result import Result
from data.errors import UserError
from tests.analysis.conftest import Home


def ledger(home: Home, **params: object) -> Result:
    return run("ledger", home.view(), params)


def test_the_answer_line(home: Home) -> None:
    assert ledger(home).answer == (
        "Campaign math cost $204 (3-year neocloud rent, campaign boundary) and gained 10.0 ± 5.9 points "
        "on MATH-500: $20.4 per point; 2.28 % of the money went to waiting and failed attempts."
    )


def test_a_row_a_run(home: Home) -> None:
    table = ledger(home).tables["ledger"].set_index("run")
    assert list(table.index) == ["apart", "broken", "steady"]
    assert table["status"].to_dict() == {"apart": "running", "broken": "completed", "steady": "completed"}
    assert table["attempts"].to_dict() == {"apart": 1, "broken": 2, "steady": 1}
    assert table["steps"].to_dict() == {"apart": 10, "broken": 12, "steady": 300}
    steady = table.loc["steady"]
    assert (steady["usd"], steady["rollouts"], steady["usd_per_rollout"]) == pytest.approx(
        (160, 19200, 160 / 19200)
    )
    assert (steady["last_benchmark"], steady["last_score"], steady["gain"]) == (
        "MATH-500",
        0.70,
        pytest.approx(10),
    )
    assert sum(part["usd"] for part in steady["usd_by_phase"]) == pytest.approx(160)
    assert steady["scores"] == [0.60, 0.66, 0.70]
    # half of the run's attempts report rollouts: their share of the money is counted
    assert table.loc["broken", "usd_per_rollout"] == pytest.approx(36 * (4 / 12) / 128)


def test_headline_figures_carry_interval_boundary_and_formula(home: Home) -> None:
    result = ledger(home)
    assert [f.name for f in result.headline] == ["spend", "gain", "usd_per_point", "goodput"]
    spend = result.figure("spend")
    assert (spend.interval, spend.boundary, spend.formula) == (
        "quote_range",
        "campaign",
        FORMULAS["spend"].formula,
    )
    assert result.figure("goodput").value == pytest.approx(279200 / 345600)


def test_versions_pin_everything(home: Home) -> None:
    versions = ledger(home).versions
    assert set(versions) >= {"app", "formulas", "prices", "catalogue", "data_version", "data_cutoff"}
    assert "h100-sxm-reserved-3y-neocloud-2026-07@1" in versions["prices"]
    assert versions["data_cutoff"] == "2026-03-09T00:00:00Z"


def test_one_run_without_pools_leaves_the_sum_of_the_others_and_no_total(home: Home) -> None:
    """steady 80 GPU-h and apart 4 GPU-h of H100 at $2 (quotes $1.5 to $4), apart's sandbox $0.252."""
    home.con.execute("DELETE FROM allocations WHERE run = 'broken'")
    result = ledger(home)
    assert result.figure("spend").value is None
    part = result.figure("spend_known")
    assert part.value == pytest.approx(168.252) and part.label == "Sum without broken"
    sandbox = part.value - 168
    assert (part.low, part.high) == pytest.approx((84 * 1.5 + sandbox, 84 * 4 + sandbox), abs=0.2)
    assert result.figure("usd_per_point").value is None
    assert result.tables["campaigns"]["usd"].isna().all()
    assert result.answer.startswith(
        "Campaign math has no total yet: 2 of its 3 runs cost $168 (3-year neocloud rent, campaign "
        "boundary), and broken is not in that sum. It gained 10.0"
    )
    assert "broken has no cost: fill in its pools" in result.answer
    home.con.execute("UPDATE runs SET campaign = NULL")
    assert ledger(home).answer.startswith(
        "The 3 runs without a campaign have no total yet: 2 of them cost $168 "
    )


def test_booked_costs_of_a_campaign_are_in_its_known_sum_at_the_full_boundary(home: Home) -> None:
    home.con.execute("DELETE FROM allocations WHERE run = 'broken'")
    before = ledger(home, boundary="full").figure("spend_known").value
    booked = {"billed_cost": 40.0, "effective_cost": 40.0, "currency": "USD", "bucket": "data"}
    home.add("costs", {**booked, "campaign": "math", "day": date(2026, 3, 3)})
    assert ledger(home, boundary="full").figure("spend_known").value == pytest.approx(before + 40)
    assert ledger(home).figure("spend_known").value == pytest.approx(168.252)


def test_a_campaign_with_an_unpriced_run_is_not_pushed_aside_by_a_small_one(home: Home) -> None:
    home.con.execute("DELETE FROM allocations WHERE run = 'broken'")
    home.con.execute("UPDATE runs SET campaign = 'small' WHERE run = 'apart'")
    assert ledger(home).answer.startswith("Campaign math has no total yet: 1 of its 2 runs cost $160 ")


def test_a_missing_price_is_in_the_sentence(home: Home) -> None:
    home.con.execute("UPDATE allocations SET platform = 'gb300-nvl72' WHERE run = 'steady'")
    answer = ledger(home).answer
    assert "no total yet" in answer and "steady is not in that sum" in answer
    assert "GB300 NVL72" in answer


def test_an_estimate_of_time_says_at_least(home: Home) -> None:
    home.con.execute("UPDATE allocations SET seconds_basis = 'step_sum'")
    result = ledger(home)
    assert "cost at least $204" in result.answer


def test_goodput_needs_the_time_that_gpus_were_held(home: Home) -> None:
    """Steps of 279,200 GPU-s in 345,600 that no clock times: at most 81 %, no value."""
    home.con.execute("UPDATE allocations SET seconds_basis = 'step_sum'")
    result = ledger(home)
    goodput = result.figure("goodput")
    assert (goodput.value, goodput.low, goodput.high) == (None, None, None)
    assert goodput.missing is not None
    assert goodput.missing.startswith("it is at most 81 %: ")
    assert "sacct" in goodput.missing
    assert result.tables["ledger"]["goodput_frac"].isna().all()
    home.con.execute("UPDATE allocations SET seconds_basis = 'user'")
    assert ledger(home).figure("goodput").value == pytest.approx(279200 / 345600)


def test_runs_without_a_campaign(home: Home) -> None:
    home.con.execute("UPDATE runs SET campaign = NULL")
    assert ledger(home, runs=["steady"]).answer.startswith("Run steady cost $160")
    assert ledger(home).answer.startswith("The 3 runs without a campaign cost")


@pytest.mark.parametrize(
    ("question", "params", "names"),
    [
        ("ledger", {"boundary": "all"}, ["boundary", "compute", "campaign", "full"]),
        ("ledger", {"price": "cheap"}, ["price", "reserved_3y.neocloud"]),
        ("ledger", {"runs": ["nope"]}, ["runs", "'nope'", "steady"]),
        ("ledger", {"platforms": ["abacus"]}, ["platforms", "h100-sxm"]),
        ("gain", {"benchmark": "sudoku"}, ["benchmark", "math-500"]),
        ("learning", {"x": "lines"}, ["x", "gpu_hours"]),
        ("learning", {"y": 1}, ["'y'", "benchmark"]),
        ("utilisation", {"measure": "speed"}, ["measure", "sm_active"]),
        ("astrology", {}, ["astrology", "ledger"]),
    ],
)
def test_a_bad_parameter_is_named_with_its_alternatives(
    home: Home, question: str, params: dict[str, object], names: list[str]
) -> None:
    with pytest.raises(UserError) as caught:
        run(question, home.view(), params)
    for name in names:
        assert name in str(caught.value)


def test_url_values_and_json_values_are_the_same_question(home: Home) -> None:
    from_url = run("gain", home.view(), {"after": ["last"], "runs": ["steady"], "boundary": ["full"]})
    from_json = run("gain", home.view(), {"after": "last", "runs": ["steady"], "boundary": "full"})
    assert from_url.to_json() == from_json.to_json()


def test_the_ledger_does_not_depend_on_row_order(home: Home) -> None:
    first = ledger(home).to_json()
    home.shuffle()
    assert ledger(home).to_json() == first


def test_metrics_page_is_the_formulas() -> None:
    assert DOC.read_text(encoding="utf-8") == markdown(), "run analysis.formulas.write()"


def test_waste_is_at_most_when_the_survival_of_an_attempt_is_unknown(home: Home) -> None:
    assert "; up to" not in ledger(home).answer
    home.con.execute("UPDATE steps SET step_s = NULL WHERE run = 'broken' AND attempt = 1")
    result = ledger(home)
    assert "lineage_unknown" in {w.code for w in result.warnings}
    assert "; up to " in result.answer and "of the money went to waiting" in result.answer


def test_several_runs_without_a_campaign_have_no_dollars(home: Home) -> None:
    home.con.execute("UPDATE runs SET campaign = NULL")
    home.con.execute("UPDATE allocations SET gpus = NULL")
    assert ledger(home).answer.startswith("The 3 runs without a campaign have no dollar figure yet")
    for name in ("unit_economics", "rollouts", "gain", "bottleneck", "utilisation"):
        assert "campaign has" not in run(name, home.view(), {}).answer


def test_the_last_score_is_of_the_benchmark_that_the_gain_is_about(home: Home) -> None:
    for name in ("steady", "broken", "apart"):
        home.con.execute(
            "INSERT INTO evals SELECT * REPLACE (? AS eval_id, ? AS run, ? AS checkpoint, 1 AS attempt, "
            "4 AS step, 'hellaswag' AS benchmark, 0.51 AS score) FROM evals WHERE run = 'steady' LIMIT 1",
            [f"{name}-h", name, f"{name}@4"],
        )
    table = ledger(home).tables["ledger"].set_index("run")
    steady = table.loc["steady"]
    assert (steady["gain_benchmark"], steady["last_benchmark"], steady["last_score"]) == (
        "MATH-500",
        "MATH-500",
        0.70,
    )
    assert table.loc["apart", "last_benchmark"] == "hellaswag"


def test_the_kind_of_a_last_score_is_told(home: Home) -> None:
    home.con.execute("UPDATE evals SET score_kind = 'points', score = 3.2 WHERE run = 'steady'")
    table = ledger(home).tables["ledger"].set_index("run")
    assert (table.loc["steady", "last_kind"], table.loc["steady", "last_score"]) == ("points", 3.2)


@pytest.mark.parametrize(
    ("question", "figure"),
    [
        ("unit_economics", "usd_per_rollout"),
        ("unit_economics", "usd_per_mtok"),
        ("bottleneck", "usd_by_phase"),
    ],
)
def test_ranges_of_a_lower_bound_say_at_least_everywhere(home: Home, question: str, figure: str) -> None:
    """Without a clock both ends are least values: at least $a – $b by price, not a range of quotes."""
    params = {"runs": ["steady"]}
    kinds = [run(question, home.view(), params).figure(figure).interval]
    home.con.execute("UPDATE attempts SET elapsed_basis = 'step_sum', started_at = NULL, ended_at = NULL")
    home.con.execute("UPDATE allocations SET seconds_basis = 'step_sum', started_at = NULL, ended_at = NULL")
    kinds.append(run(question, home.view(), params).figure(figure).interval)
    assert kinds == ["quote_range", "quote_range_least"]
