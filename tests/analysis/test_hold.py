"""Holding a score (M14) and dollars of tokens beside gain per dollar (M15), worked by hand on one run.

`steady`: 60 to 70 % on 500 tasks for $160 in 10 hours.
"""

import math

import pytest

from analysis.hold import HoldParams, compute
from analysis.result import Result
from analysis.token_cost import TokenCostParams, identity
from analysis.token_cost import compute as token_cost
from analysis.unit_economics import UnitEconomicsParams
from analysis.unit_economics import compute as unit_economics
from tests.analysis.conftest import Home


def ask(home: Home, **params: object) -> Result:
    return compute(home.view(), HoldParams(run="steady", **params))


def test_a_linear_fall(home: Home) -> None:
    """A point a week: from 70 to 60 % in 70 days, so $160 / 70 x 30 = $68.6 a month."""
    found = ask(home, fall_points=1, law="linear")
    assert found.figure("cycle_period_days").value == pytest.approx(70)
    held = found.figure("usd_to_hold")
    assert held.value == pytest.approx(160 / 70 * 30) and held.low < held.value < held.high
    # halfway up a cycle still costs $160, and the fall from 70 to 65 % takes 35 days
    assert ask(home, fall_points=1, law="linear", target=0.65).figure("usd_to_hold").value == pytest.approx(
        137.14, rel=1e-4
    )


def test_an_exponential_fall(home: Home) -> None:
    """ln(.70 / .60) / ln(.70 / .69) weeks."""
    days = math.log(0.70 / 0.60) / math.log(0.70 / 0.69) * 7
    found = ask(home, fall_points=1)
    assert found.figure("cycle_period_days").value == pytest.approx(days)
    saw = found.tables["saw"]
    assert saw["score"].min() >= 0.6 - 1e-9 and saw["day"].iloc[-1] == pytest.approx(3 * days)


def test_what_cannot_be_held_is_said(home: Home) -> None:
    late = ask(home, fall_points=1, law="linear", cycle_days=80)
    assert late.figure("usd_to_hold").value is None
    assert "falls through 60 % in 70.0 days, sooner than a cycle of 80.0 days ends" in late.answer
    high = ask(home, fall_points=1, target=0.75)
    assert "does not lift the score above 75 %" in high.answer
    silent = ask(home)
    assert "say how fast the score falls" in silent.answer
    assert len(silent.tables["sensitivity"]) == 4 and not silent.tables["sensitivity"]["asked"].any()


def test_tokens_beside_gain_per_dollar(home: Home) -> None:
    """19.2 M generated, 18 M trained tokens for $160: $8.33 and $8.89; 0.521 points a million, 62.5 a $1k."""
    home.con.execute("UPDATE steps SET tok_trained = 60000 WHERE run = 'steady'")
    rows = token_cost(home.view(), TokenCostParams()).tables["tokens"].set_index("run")
    r = rows.loc["steady"]
    assert r["usd_per_mtok_generated"] == pytest.approx(160 / 19.2)
    assert r["usd_per_mtok_trained"] == pytest.approx(160 / 18)
    assert r["points_per_mtok"] == pytest.approx(10 / 19.2)
    assert r["points_per_1000_usd"] == pytest.approx(62.5) and identity(dict(r)) == pytest.approx(62.5)
    assert math.isnan(rows.loc["apart", "usd_per_mtok_trained"])


def test_dropped_rollouts_are_not_informative(home: Home) -> None:
    """$160 / 19,200 rollouts / (5 of 8 groups x 48 of 64 kept) = $0.01778."""
    before = unit_economics(home.view(), UnitEconomicsParams(runs=("steady",)))
    assert before.figure("usd_per_informative").value == pytest.approx(160 / 19_200 / 0.625)
    assert "dropped_unknown" in {w.code for w in before.warnings}
    home.con.execute("UPDATE steps SET dropped = 16 WHERE run = 'steady'")
    found = unit_economics(home.view(), UnitEconomicsParams(runs=("steady",))).figure("usd_per_informative")
    assert found.value == pytest.approx(160 / 19_200 / 0.625 / 0.75)
    assert found.low < found.value < found.high
