"""Every check fires on the mistake it is named after, by hand-worked numbers, and stays silent otherwise."""

import re
from pathlib import Path

import pytest

import analysis
from analysis.checks import CHECKS, find_checks, notices
from data.queries.filters import Filters
from tests.analysis.conftest import Home, _attempt, phases, pool, steps

DOCS = Path(__file__).resolve().parents[2] / "docs"


def failed(home: Home, code: str) -> list[dict]:
    question = CHECKS[code].touches[0]
    table = find_checks(home.view(), Filters(), question)
    return table[table["check_name"] == code].to_dict("records")


def codes(home: Home) -> set[str]:
    asked = {question for check in CHECKS.values() for question in check.touches}
    found = (find_checks(home.view(), Filters(), question)["check_name"] for question in asked)
    return {code for names in found for code in names}


@pytest.fixture
def sound(home: Home) -> Home:
    """Runs whose numbers agree with each other."""
    home.con.execute("UPDATE steps SET throughput_basis = 'per_gpu' WHERE run = 'steady'")
    home.con.execute("UPDATE steps SET elapsed_s = step * 120 WHERE run = 'steady'")
    home.con.execute("UPDATE steps SET mfu_frac = 0.4, mem_peak_bytes = 70e9 WHERE run = 'steady'")
    return home


def test_sound_runs_fail_no_check(sound: Home) -> None:
    assert codes(sound) == set()
    assert not [n for n in analysis.run("bottleneck", sound.view()).warnings if n.code in CHECKS]


def test_a_wrong_rate_names_its_step(sound: Home) -> None:
    sound.con.execute("UPDATE steps SET throughput = 150 WHERE run = 'steady' AND step = 9")
    (row,) = failed(sound, "throughput_against_tokens")
    # 150 tokens/s/GPU x 8 GPUs x 100 s
    assert (row["step"], row["expected"], row["found"]) == (9, 80000, 120000)


@pytest.mark.parametrize(
    ("basis", "rate", "code", "said"),
    [("per_gpu", 800, "rate_of_cluster", 640000), ("cluster", 100, "rate_of_one_gpu", 10000)],
)
def test_a_rate_of_the_wrong_kind_is_told_once(sound: Home, basis: str, rate: float, code: str, said: float):
    sound.con.execute(
        f"UPDATE steps SET throughput = {rate}, throughput_basis = '{basis}' WHERE run = 'steady'"
    )
    (row,) = failed(sound, code)
    assert (row["steps"], row["expected"], row["found"]) == (300, 80000, said)
    assert failed(sound, "throughput_against_tokens") == []


def test_phases_longer_than_the_step(sound: Home) -> None:
    sound.add("step_phases", *phases("steady", 1, range(7, 8), {"other": 40.0}))
    (row,) = failed(sound, "phases_exceed_step")
    assert (row["step"], row["expected"], row["found"]) == (7, 100, 130)


def test_a_step_timer_that_covers_a_quarter_of_the_clock(home: Home) -> None:
    home.con.execute("UPDATE steps SET step_s = 30 WHERE run = 'steady'")
    home.con.execute("DELETE FROM step_phases")
    (row,) = failed(home, "step_time_against_clock")
    assert (row["expected"], row["found"]) == (36000, 9000)
    (notice,) = [
        n for n in analysis.run("ledger", home.view()).warnings if n.code == "step_time_against_clock"
    ]
    assert "25 % of 36,000 s is inside steps" in notice.text


def test_the_pace_of_the_steps_wins_over_the_whole_clock(home: Home) -> None:
    """Ten hours of which one was spent starting: the steps themselves keep the pace of their timer."""
    home.con.execute("UPDATE attempts SET elapsed_s = 360000 WHERE run = 'steady'")
    assert len(failed(home, "step_time_against_clock")) == 1
    home.con.execute("UPDATE steps SET elapsed_s = 330000 + step * 100 WHERE run = 'steady'")
    assert failed(home, "step_time_against_clock") == []


def test_the_pace_of_stamps_alone(home: Home) -> None:
    """300 steps 200 s apart of which 100 s are in the timer: half of the pace, whatever the whole clock."""
    home.con.execute("UPDATE attempts SET elapsed_s = 30000 WHERE run = 'steady'")
    home.con.execute("DELETE FROM step_phases")
    home.con.execute(
        "UPDATE steps SET elapsed_s = null, ts = timestamp '2026-03-02' + to_seconds(200 * step) "
        "WHERE run = 'steady'"
    )
    (row,) = failed(home, "step_time_against_clock")
    assert (row["expected"], row["found"]) == (60000, 30000)


@pytest.mark.parametrize(("framework", "seconds", "fires"), [("trl", 200, True), ("verl", 100, False)])
def test_a_log_of_every_tenth_step_against_the_clock(
    home: Home, framework: str, seconds: int, fires: bool
) -> None:
    """TRL's records hold the seconds of ten steps each, verl's those of one."""
    home.con.execute(f"UPDATE runs SET framework = '{framework}' WHERE run = 'steady'")
    home.con.execute("DELETE FROM steps WHERE run = 'steady' AND step % 10 <> 0")
    home.con.execute("DELETE FROM step_phases")
    home.con.execute(f"UPDATE steps SET step_s = {seconds} WHERE run = 'steady'")
    found = [(row["expected"], row["found"]) for row in failed(home, "step_time_against_clock")]
    assert found == ([(36000, 6000)] if fires else [])


def test_missing_step_numbers(home: Home) -> None:
    home.con.execute("DELETE FROM steps WHERE run = 'steady' AND step % 10 = 5")
    home.con.execute("DELETE FROM step_phases WHERE run = 'steady' AND step % 10 = 5")
    (row,) = failed(home, "steps_missing")
    assert (row["expected"], row["found"]) == (300, 270)


def test_a_log_of_every_tenth_step_is_not_told_as_missing(home: Home) -> None:
    home.con.execute("DELETE FROM steps WHERE run = 'steady' AND step % 10 <> 0")
    home.con.execute("DELETE FROM step_phases WHERE run = 'steady' AND step % 10 <> 0")
    assert failed(home, "steps_missing") == []


def test_a_running_total_in_a_per_step_column(home: Home) -> None:
    home.con.execute("UPDATE steps SET rollouts = 64 * step WHERE run = 'steady'")
    (row,) = failed(home, "looks_cumulative")
    assert (row["subject"], row["expected"], row["found"], row["steps"]) == ("rollouts", 64, 19200, 300)


def test_growing_responses_are_no_running_total(home: Home) -> None:
    """Responses that get longer at every step, fourfold in the end, are what learning looks like."""
    home.con.execute("UPDATE steps SET tok_gen = 20000 + 200 * step WHERE run = 'steady'")
    assert failed(home, "looks_cumulative") == []


def test_percent_under_the_name_of_a_ratio(home: Home) -> None:
    rows = [
        {"run": "steady", "attempt": 1, "step": n, "key": key, "value": value * n}
        for n in range(1, 11)
        for key, value in (("response/clip_ratio", 3.0), ("lr_ratio", 0.05), ("tokens", 9.0))
    ]
    home.add("metric_raw", *rows)
    (row,) = failed(home, "percent_in_a_ratio")
    assert (row["subject"], row["found"]) == ("response/clip_ratio", 30)
    assert row["expected"] == 3


def test_scores_in_two_units(home: Home) -> None:
    home.con.execute("UPDATE evals SET score = 66, score_kind = 'points' WHERE eval_id = 'steady-150'")
    (row,) = failed(home, "scores_in_two_units")
    assert (row["run"], row["expected"], row["found"]) == ("steady", 0.70, 66)


def test_more_memory_than_the_gpu_has(home: Home) -> None:
    home.con.execute("UPDATE steps SET mem_peak_bytes = 87e9 WHERE run = 'steady' AND step > 100")
    (row,) = failed(home, "memory_above_hbm")
    assert (row["subject"], row["expected"], row["found"]) == ("h100-sxm", 80 * 2**30, 87e9)


def test_mfu_that_nobody_reaches_and_mfu_from_an_unknown_peak(home: Home) -> None:
    home.con.execute("UPDATE steps SET mfu_frac = 0.85 WHERE run = 'steady'")
    assert [row["found"] for row in failed(home, "mfu_implausible")] == [0.85]
    home.con.execute("UPDATE runs SET framework = 'prime-rl'")
    home.con.execute("UPDATE allocations SET platform = 'gb300-nvl72' WHERE run = 'steady'")
    assert failed(home, "mfu_implausible") == []
    assert [row["subject"] for row in failed(home, "mfu_peak_unknown")] == ["gb300-nvl72"]


def test_slow_first_steps(home: Home) -> None:
    home.con.execute("UPDATE steps SET step_s = 400 WHERE run = 'steady' AND step <= 2")
    home.con.execute("DELETE FROM step_phases")
    (row,) = failed(home, "warm_up_steps")
    assert (row["step"], row["steps"], row["expected"], row["found"]) == (1, 2, 100, 400)


def test_a_slow_step_in_the_middle_is_no_warm_up(home: Home) -> None:
    home.con.execute("UPDATE steps SET step_s = 400 WHERE run = 'steady' AND step = 50")
    assert failed(home, "warm_up_steps") == []
    (row,) = failed(home, "slow_steps")
    assert (row["step"], row["expected"], row["found"]) == (50, 100, 400)
    home.con.execute("UPDATE steps SET step_s = 300 WHERE run = 'steady' AND step = 50")
    assert failed(home, "slow_steps") == []


def test_a_projection_says_that_a_hang_is_in_its_average(home: Home) -> None:
    asked = {"run": "steady"}
    assert "slow_steps" not in {n.code for n in analysis.run("projection", home.view(), asked).warnings}
    home.con.execute("UPDATE steps SET step_s = 400 WHERE run = 'steady' AND step = 50")
    said = {n.code: n.text for n in analysis.run("projection", home.view(), asked).warnings}
    assert "Step 50: 400 s, 100 s is usual" in said["slow_steps"]


def test_a_single_step_fails_nothing(empty_home: Home) -> None:
    empty_home.add("runs", {"run": "one", "synthetic": False})
    empty_home.add("attempts", _attempt("one", 1, 0, 60, "completed"))
    empty_home.add("allocations", pool("one", 1, "all", "colocated", "h100-sxm", 60, gpus=8))
    empty_home.add("steps", *steps("one", 1, range(1, 2), 50.0, rollouts=1))
    assert codes(empty_home) == set()


def test_many_cases_become_one_sentence(sound: Home) -> None:
    sound.con.execute("UPDATE steps SET throughput = 150 WHERE run = 'steady' AND step IN (9, 12, 20)")
    table = find_checks(sound.view(), Filters(), "bottleneck")
    (notice,) = notices(table)
    assert notice.text.endswith("Step 9: 120,000 tokens by the rate, 80,000 logged (and 2 more like it).")


def test_every_check_has_its_section_in_the_docs() -> None:
    text = (DOCS / "checks.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^### .+? · `(\w+)`$", text, re.MULTILINE)) == set(CHECKS)
    for check in CHECKS.values():
        assert f"### {check.title} · `{check.code}`" in text
        assert check.says in " ".join(text.split())
