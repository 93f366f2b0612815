"""Gain per dollar, log-odds, weights, an assumed correlation, the best of many: the rules, by hand."""

import math

import numpy as np
import pytest

from analysis.gain import GainParams, compute
from analysis.result import Result
from data.errors import UserError
from models.selection import best_of
from reports.freeze import FreezeOptions, freeze
from reports.redact import Redaction
from tests.analysis.conftest import Home, evaluation
from tests.analysis.test_gain import add_tasks, ask, row_of

TABLE_5 = [
    # benchmark, n, SFT, RLVR | gain, low, high (points) | points per $10k, low, high | nats, errors cut (%)
    ("swe-bench-verified", 500, 63.5, 65.8, 2.3, -1.9, 6.5, 0.29, -0.24, 0.83, 0.10, 6),
    ("tau2-bench-telecom", 114, 55.7, 82.7, 27.0, 18.8, 35.2, 3.46, 2.40, 4.52, 1.34, 61),
    ("livecodebench-v6", 454, 85.5, 87.4, 1.9, -1.2, 5.0, 0.24, -0.16, 0.65, 0.16, 13),
    ("hle", 2158, 19.7, 25.6, 5.9, 4.1, 7.7, 0.76, 0.53, 0.98, 0.34, 7),
    ("imo-answer-bench", 400, 85.1, 84.5, -0.6, -4.1, 2.9, -0.08, -0.53, 0.37, -0.05, -4),
]
"""Worked example A: one stage, published scores, its assumed cost of $77 972 and correlation of 0.5."""


def printed(value: float, digits: int) -> object:
    return pytest.approx(value, abs=0.5 * 10**-digits + 1e-9)


def one_stage(home: Home) -> None:
    """The stage as a run with five benchmarks of totals that cost a bill of $77 972, with no range."""
    home.clear()
    home.add("runs", {"run": "rlvr", "algorithm": "grpo", "mode": "async", "synthetic": False})
    seconds = 77_972 / 3.0 / 4 * 3600
    home.add(
        "attempts",
        {"run": "rlvr", "attempt": 1, "elapsed_s": seconds, "elapsed_basis": "clock", "status": "completed"},
    )
    home.add(
        "allocations",
        {
            "run": "rlvr", "attempt": 1, "pool": "all", "role": "colocated", "platform": "b200-hgx",
            "seconds": seconds, "seconds_basis": "clock", "source": "user", "gpus": 4,
        },
    )  # fmt: skip
    for name, n, before, after, *_ in TABLE_5:
        for tag, step, score in (("sft", 0, before), ("rlvr", 178, after)):
            row = {
                **evaluation(f"{name}-{tag}", "rlvr", 1, step, score / 100),
                "benchmark": name,
                "n_tasks": n,
            }
            home.add("evals", row)


def test_worked_example_a_to_the_printed_digits(home: Home) -> None:
    one_stage(home)
    result = ask(home, correlation=0.5)
    gains = result.tables["gains"].set_index("benchmark_id")
    rates = result.tables["rates"].set_index("benchmark_id")
    assert len(gains) == 5
    by_name = {row["n"]: name for name, row in gains.iterrows()}
    for _, n, _, _, gain, low, high, rate, rate_low, rate_high, nats, cut in TABLE_5:
        row, per = gains.loc[by_name[n]], rates.loc[by_name[n]]
        assert [row["gain"], row["low"], row["high"]] == printed([gain, low, high], 1)
        ten = [10 * per[f"points_per_1000_usd{end}"] for end in ("", "_low", "_high")]
        assert ten == printed([rate, rate_low, rate_high], 2)
        assert row["odds"] == printed(nats, 2)
        assert 100 * row["error_cut"] == printed(cut, 0)
        assert row["verdict"] == ("better" if low > 0 else "cannot tell")
        assert (per["boundary"], per["formulas"]) == ("campaign", "2")
        assert per["price_date"]
    assumed = [a for a in result.assumptions if a.name.startswith("Correlation")]
    assert {(a.value, a.status) for a in assumed} == {(0.5, "assumed")}


def test_the_rate_of_log_odds_by_hand(home: Home) -> None:
    """steady: logit(0.70) - logit(0.60) = 0.44183 nats for $160."""
    found = ask(home, runs=("steady",))
    rate = found.tables["rates"].iloc[0]
    assert rate["nats_per_1000_usd"] == pytest.approx(0.441833 / 0.160, rel=1e-5)
    assert rate["points_per_1000_usd"] == pytest.approx(10 / 0.160)
    # joint draws: inside of what dividing the ends by the ends of the price would give
    assert rate["points_per_1000_usd_low"] > rate["low"] / (rate["usd_high"] / 1000)
    assert rate["points_per_1000_usd_high"] < rate["high"] / (rate["usd_low"] / 1000)


def test_an_interval_with_zero_keeps_its_rate_and_ranks_nothing(home: Home) -> None:
    rate = ask(home).tables["rates"].set_index("run").loc["broken"]
    assert rate["points_per_1000_usd_low"] < 0 < rate["points_per_1000_usd_high"]
    assert (rate["verdict"], rate["reason"]) == ("cannot tell", "not distinguishable from zero")


def test_twelve_unequal_clusters_warn_and_name_their_method(home: Home) -> None:
    rng = np.random.default_rng(1)
    before = (rng.random(60) < 0.5).astype(float)
    add_tasks(home, "base", list(before), 12)
    add_tasks(home, "steady-300", list(np.where(rng.random(60) < 0.3, 1.0, before)), 12)
    result = ask(home, runs=("steady",))
    row = row_of(result, "steady")
    assert row["effective_clusters"] == pytest.approx(12)
    assert "Satterthwaite" in row["method"] and row["estimand"] == "tasks"
    said = next(w.text for w in result.warnings if w.code == "few_clusters")
    assert "12.0 equal ones" in said
    assert row["mdd"] > 0


def test_the_estimand_is_what_is_asked_for(home: Home) -> None:
    """Three tasks of one repository won, the one of another not: 3/4 over tasks, 1/2 over clusters."""
    for name, passed in (("base", [0, 0, 0, 0]), ("steady-300", [1, 1, 1, 0])):
        home.add(
            "eval_tasks",
            *[
                {"eval_id": name, "task": f"t{i}", "cluster": "a" if i < 3 else "b", "repeat": 0, "passed": p}
                for i, p in enumerate(passed)
            ],
        )
    assert row_of(ask(home), "steady")["gain"] == pytest.approx(75)
    assert row_of(ask(home, estimand="clusters"), "steady")["gain"] == pytest.approx(50)


def test_the_best_of_many_is_corrected_by_all_candidates(home: Home) -> None:
    rng = np.random.default_rng(5)
    before = (rng.random(200) < 0.6).astype(float)
    sides = [np.where(rng.random(200) < 0.1, 1 - before, before) for _ in range(2)]
    for name, passed in zip(("base", "steady-150", "steady-300"), (before, *sides), strict=True):
        add_tasks(home, name, list(passed), 200)
        home.con.execute(f"UPDATE evals SET score = {passed.mean()}, n_tasks = 200 WHERE eval_id = '{name}'")
    result = ask(home, runs=("steady",), after="best")
    row = row_of(result, "steady")
    by_hand = best_of(before, np.array(sides), [f"c{i}" for i in range(200)], seed=GainParams().seed)
    assert row["inflation"] == pytest.approx(100 * by_hand.inflation) and by_hand.inflation > 0
    assert row["gain"] == pytest.approx(row["seen_gain"] - row["inflation"])
    assert row["low"] <= row["seen_low"]
    assert math.isnan(row["odds"])
    assert row["selection"] == "joint draws of all candidates"


def test_the_best_of_many_totals_is_lowered_by_the_bound(home: Home) -> None:
    """Two candidates of 500 tasks at 0.70: 100 x sqrt(0.21 / 500) / sqrt(pi) = 1.156 points."""
    row = row_of(ask(home, runs=("steady",), after="best"), "steady")
    assert (row["seen_gain"], row["inflation"]) == pytest.approx((10.0, 1.15625), abs=1e-4)
    assert row["gain"] == pytest.approx(8.84375, abs=1e-4)
    assert row_of(ask(home, runs=("steady",)), "steady")["gain"] == pytest.approx(10.0)


def second_benchmark(home: Home) -> None:
    for name, run, step, score in (("b-0", "steady", 0, 0.20), ("b-300", "steady", 300, 0.26)):
        home.add("evals", {**evaluation(name, run, 1, step, score), "benchmark": "own", "n_tasks": 400})


def test_weights_stand_in_the_name_and_runs_without_a_benchmark_say_so(home: Home) -> None:
    second_benchmark(home)
    result = ask(home, weights=("math-500:3", "own:1"))
    table = result.tables["weighted"].set_index("run")
    steady, gains = table.loc["steady"], result.tables["gains"].set_index(["run", "benchmark_id"])
    parts = [gains.loc[("steady", b)] for b in ("math-500", "own")]
    assert steady["gain"] == pytest.approx(0.75 * 10 + 0.25 * 6)
    low = math.hypot(*(w * (p["gain"] - p["low"]) for w, p in zip((0.75, 0.25), parts, strict=True)))
    assert steady["low"] == pytest.approx(steady["gain"] - low)
    assert steady["name"] == "Gain, weighted 75 % MATH-500 + 25 % own"
    assert table.loc["broken", "reason"] == "no gain with an interval on own"
    assert result.figure("gain_weighted").label == steady["name"]
    assert ask(home).tables["weighted"].empty


@pytest.mark.parametrize("bad", ["math-500", "math-500:0", ":2", "math-500:x", "math-500:inf"])
def test_a_weight_that_is_none_is_named(home: Home, bad: str) -> None:
    with pytest.raises(UserError, match="no weight"):
        ask(home, weights=(bad,))


def test_energy_is_asked_for(home: Home) -> None:
    """steady has no samples: its energy has a lower bound of nothing, and no rate comes of that."""
    found: Result = compute(home.view(), GainParams(rate="points_per_mwh", runs=("steady",)))
    rate = found.tables["rates"].iloc[0]
    assert rate["kwh"] > 0 and rate["kwh_low"] == 0
    assert math.isnan(rate["points_per_mwh"])
    assert ask(home, runs=("steady",)).tables["rates"]["kwh"].isna().all()


def test_a_report_that_hides_dollars_hides_what_would_tell_them(home: Home) -> None:
    """A gain and its gain per dollar together are the spend."""
    section = freeze([ask(home)], "t", FreezeOptions(Redaction(dollars=True))).sections[0]
    assert not [c for rows in section["tables"].values() for row in rows for c in row if "usd" in c]
    told = {f["name"]: f["value"] for f in section["headline"]}
    assert told["gain"] == pytest.approx(10) and told["gain_per_usd"] is None is told["odds_per_usd"]
    assert "Gain per dollar" not in str([f["title"] for f in section["figures"]])
