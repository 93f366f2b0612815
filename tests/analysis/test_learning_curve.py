"""A run whose scores lie on a known curve: what the next point and a target cost, worked by hand."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from analysis import learning_words
from analysis.learning_curve import CurveParams, compute
from analysis.learning_fit import Along, Fitted
from analysis.result import Result
from data.errors import UserError
from models.curve_compare import Comparison, Rival
from tests.analysis.conftest import Home, _attempt, evaluation, pool, steps

R0, TOP, MID, B = 0.40, 0.72, 8000.0, 1.2
EVALS = (2, 4, 6, 8, 10, 12, 15, 18)


def score(gpu_h: float) -> float:
    return R0 + (TOP - R0) / (1 + (MID / gpu_h) ** B)


@pytest.fixture
def known(empty_home: Home) -> Home:
    """1,000 H100 for 20 steps of an hour: 20,000 GPU-h x $2; exact scores of the research example B."""
    home = empty_home
    home.add("runs", {"run": "big", "campaign": "c", "synthetic": False})
    home.add("attempts", _attempt("big", 1, 0, 20 * 3600, "completed"))
    home.add("allocations", pool("big", 1, "all", "colocated", "h100-sxm", 20 * 3600, gpus=1000))
    home.add("steps", *steps("big", 1, range(1, 21), 3600.0, tok_gen=1e6, rollouts=64))
    home.add("evals", *(evaluation(f"e{n}", "big", 1, n, score(1000.0 * n)) for n in EVALS))
    home.add("evals", evaluation("e0", "big", 1, 0, R0))
    return home


def ask(home: Home, **params: object) -> Result:
    return compute(home.view(), CurveParams(**{"warm_up": "none", **params}))


def test_cost_to_a_score_is_price_times_amount(known: Home) -> None:
    """C*(0.65) = 8,000 (0.25 / 0.07)^(1/1.2) = 23,109 GPU-h; at $2 that is $46.2k.

    Research example B: $63.6k at $2.75.
    """
    found = ask(known, target=0.65, fit_in="gpu_hours")
    assert found.figure("cost_to_target").value == pytest.approx(63_600 * 2 / 2.75, rel=1e-3)
    row = found.tables["targets"].iloc[0]
    assert row["amount"] == pytest.approx(23_112, rel=1e-3) and row["beyond"] == pytest.approx(
        23_112 / 18e3, rel=1e-3
    )
    # the same curve in steps of 1,000 GPU-h, and in tokens of a million a step
    for fit_in in ("steps", "tokens"):
        again = ask(known, target=0.65, fit_in=fit_in)
        assert again.figure("cost_to_target").value == pytest.approx(46_220, rel=2e-3)


def test_marginal_point_is_rate_over_slope(known: Home) -> None:
    """$2 x 0.01 / R'(18,000), the slope by a difference of the curve itself."""
    slope = (score(18_010) - score(17_990)) / 20
    assert ask(known).figure("usd_per_next_point").value == pytest.approx(0.02 / slope, rel=1e-3)


def test_budget_and_stop_line(known: Home) -> None:
    found = ask(known, budget_usd=80_000, worth_usd=7_600 * 2 / 2.75)
    assert found.figure("score_at_budget").value == pytest.approx(score(40_000), abs=1e-4)
    # at $7.6k a point and $2.75 (example B at 20k GPU-h, here at $2): where the marginal point costs that
    stop = found.tables["stop"].iloc[0]
    at = stop["usd"] / 2
    slope = (score(at + 10) - score(at - 10)) / 20
    assert 0.02 / slope == pytest.approx(7_600 * 2 / 2.75, rel=1e-3)


def test_the_stop_line_is_what_had_been_spent_by_then(known: Home) -> None:
    """Tokens that come faster and faster: early ones were dearer than the mean of the run, and were paid."""
    known.con.execute("UPDATE steps SET tok_gen = 1e6 * step")
    found = ask(known, worth_usd=1_000, fit_in="tokens")
    stop, points = found.tables["stop"].iloc[0], found.tables["points"]
    # between the evaluations, which cost $2,000 a step: n (n + 1) / 2 million tokens by step n
    assert points["amount"].max() == 18 * 19 / 2 * 1e6 > stop["amount"] > points["amount"].min()
    by_then = np.interp(stop["amount"], points["amount"], points["usd"])
    assert stop["usd"] == pytest.approx(by_then)
    assert stop["usd"] > 1.05 * stop["amount"] * 36_000 / points["amount"].max()


def test_beyond_the_top_is_not_reachable_in_words(known: Home) -> None:
    found = ask(known, target=0.8)
    figure = found.figure("cost_to_target")
    assert figure.value is None and figure.missing.startswith("not reachable")
    assert "80 % is not reachable" in found.answer


def test_a_restart_adds_dollars_and_no_learning(home: Home) -> None:
    """Attempt 1 died at step 6, resumed from 4: by step 12 it made 14 steps, of which 12 taught."""
    from analysis.learning import LearningParams
    from analysis.learning import compute as learning

    home.con.execute("UPDATE steps SET tok_gen = 1e6, rollouts = 32 WHERE run = 'broken'")
    points = learning(home.view(), LearningParams(x="rollouts")).tables["points"]
    last = points[(points["run"] == "broken") & (points["steps"] == 12)].iloc[0]
    assert (last["tokens"], last["tokens_kept"]) == (14e6, 12e6)
    assert last["x"] == 14 * 32 and last["rollouts_kept"] == 12 * 32
    # 4 of 6 steps of 4 GPU-h survived, and all 8 GPU-h of the second attempt
    assert last["gpu_hours_kept"] == pytest.approx(4 * 4 / 6 + 8) and last["gpu_hours"] == pytest.approx(12)


@pytest.mark.full
def test_every_axis_has_the_last_point_where_the_files_put_it(known: Home) -> None:
    ends = {"usd": 36_000, "gpu_hours": 18_000, "tokens": 18e6, "rollouts": 18 * 64, "steps": 18, "hours": 18}
    for axis, end in ends.items():
        points = ask(known, x=axis).tables["points"]
        assert points["x"].iloc[-1] == pytest.approx(end), axis


def test_beyond_the_last_evaluation_the_mean_rate_counts() -> None:
    along = Along(np.array([0.0, 1.0, 2.0]), np.array([0.0, 10.0, 40.0]))
    assert along.at(np.array([0.5, 1.5, 3.0])).tolist() == [5.0, 25.0, 60.0]


def test_what_is_missing_is_said(known: Home) -> None:
    known.con.execute("UPDATE allocations SET platform = 'gb300-nvl72'")
    found = ask(known)
    assert found.figure("cost_to_target").value is None and "GB300" in found.answer
    assert found.figure("curve_top").value == pytest.approx(TOP, abs=1e-3)
    known.con.execute("DELETE FROM evals WHERE step > 6")
    few = ask(known)
    assert few.answer.startswith(
        "No learning curve: big has 3 evaluations on MATH-500 after its start; a curve needs 5"
    )
    assert all(f.value is None and f.missing for f in few.headline)
    with pytest.raises(UserError, match="no run 'ghost'"):
        ask(known, run="ghost")


@pytest.mark.parametrize(
    ("verdicts", "words"),
    [
        (("sigmoid", "sigmoid"), None),
        (("cannot tell", "cannot tell"), "cannot tell the sigmoid from power law and power law to a top."),
        (("power law", "neither"), "speak for power law against the sigmoid; neither the sigmoid nor power"),
    ],
)
def test_the_shapes_that_are_not_ruled_out_are_one_sentence(
    verdicts: tuple[str, str], words: str | None
) -> None:
    names = ("power law", "power law to a top")
    rivals = [Rival(n, 1.0, 0.0, (0.0, 0.0), (0.0, 0.0), v) for n, v in zip(names, verdicts, strict=True)]
    compared = Comparison(10, 5, 0.01, 0.01, tuple(rivals))
    told = learning_words._rivals(Fitted("big", "b", pd.DataFrame(), None, compared=compared))
    assert len(told) == (words is not None)
    assert words is None or words in told[0].text


def test_unknown_ends_survive_json(known: Home) -> None:
    rows = ask(known, target=0.8).to_dict()["tables"]["targets"]
    assert rows[0]["usd"] is None and not math.isnan(rows[0]["reachable_frac"])


def test_a_platform_at_half_the_price_halves_every_dollar(known: Home) -> None:
    """A step at half the dollars and a quarter of the seconds: $23.1k instead of $46.2k, 23.1 h over 4."""
    from analysis.learning_fit import fit, load
    from analysis.learning_money import priced
    from analysis.learning_platforms import Placed, _lines, _row
    from models.curve_profile import amount_draws

    params = CurveParams(warm_up="none", fit_in="gpu_hours")
    spend, _, points, _ = load(known.view(), params)
    found = fit("big", points, spend, params)
    assert found.curve is not None
    half, quarter = np.full(500, 0.5), np.full(500, 0.25)
    one = Placed("b200-hgx", "B200", "projected", 8, 1.0, half, quarter, np.ones(500), 0.5, 0.25)
    row = _row(found, found.curve, one, float(found.curve.fit.amount(0.65)), np.full(500, 23_112.0))
    assert row["usd"] == pytest.approx(23_110, rel=1e-3) and row["hours"] == pytest.approx(
        23.11 / 4, rel=1e-3
    )
    assert row["verdict"] == "cheaper" and row["cheaper_frac"] == 1
    # the run's own row is what the next point says of it, with the quotes of its price
    between = replace(found, factors=np.exp(np.linspace(-0.2, 0.2, 500)))
    own = Placed("h100-sxm", "H100", "measured", 8, 2.0, np.ones(500), np.ones(500), between.factors)
    told, row = (
        priced(between, CurveParams(target=0.65, warm_up="none")),
        _row(between, found.curve, own, float(found.curve.fit.amount(0.65)), amount_draws(found.curve, 0.65)),
    )
    for name, said in (("usd", told.cost.interval), ("usd_per_point", told.marginal)):
        assert (row[name], row[f"{name}_low"], row[f"{name}_high"]) == pytest.approx(
            (said.value, said.low, said.high), rel=1e-6
        )
    assert row["usd_high"] / row["usd_low"] > 1.4
    lines = _lines(found, found.curve, [one])
    # dollars d buy d / ($2 / 2) GPU-hours there
    assert lines["score"].to_numpy() == pytest.approx([score(usd) for usd in lines["usd"]], abs=1e-3)
