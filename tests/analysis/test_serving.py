"""Build and serve: research example E to its digits, tokens and prices from evaluations, what is missing."""

import math

import pytest

from analysis.registry import run
from analysis.result import Result
from analysis.serving import ServingParams, compute
from data.errors import UserError
from tests.analysis.conftest import Home, evaluation


def ask(home: Home, **params: object) -> Result:
    return compute(home.view(), ServingParams(**params))


@pytest.fixture
def swe(home: Home) -> Home:
    """The run steady, 63.5 to 71.7 % of 500 tasks."""
    home.con.execute("UPDATE evals SET score = 0.635 WHERE eval_id = 'base'")
    home.con.execute("UPDATE evals SET score = 0.717 WHERE eval_id = 'steady-300'")
    return home


E = {"run": "steady", "campaign_usd": 58_000, "usd_before": 1.2, "usd_after": 1.2}


def test_the_research_example(swe: Home) -> None:
    """$1.20 / .635 = $1.89, / .717 = $1.67; 58,000 / 0.216 = 268k; tokens +15 %: 1.38 / .717 = $1.92."""
    found = ask(swe, **E)
    assert f"{found.figure('usd_per_success_before').value:.2f}" == "1.89"
    assert f"{found.figure('usd_per_success_after').value:.2f}" == "1.67"
    even = found.figure("break_even_successes")
    assert f"{even.value / 1e3:.0f}k" == "268k"
    assert even.low is not None and even.low < even.value
    # (58,000 + 100,000 x 1.2) / 71,700
    assert found.figure("lifetime_usd_per_success").value == pytest.approx(178_000 / 71_700)
    longer = ask(swe, **E, longer=1.15)
    assert f"{longer.figure('usd_per_success_after').value:.2f}" == "1.92"
    assert longer.figure("break_even_successes").value is None and "never pays back" in longer.answer
    assert math.isinf(longer.tables["break_even"]["successes"].iloc[0])


def test_the_price_of_a_platform(swe: Home) -> None:
    """$2 / (1,000 tok/s x 3,600 x 0.5) x 1e6 = $1.11; 2,000 tokens: $0.00222 an attempt."""
    found = ask(
        swe, run="steady", serve_on="h100-sxm", tok_per_s_per_gpu=1000, util_frac=0.5, tokens_before=2000,
        tokens_after=2000,
    )  # fmt: skip
    assert found.figure("serving_usd_per_mtok").value == pytest.approx(2 / 1.8)
    assert found.tables["served"]["usd_per_attempt"].tolist() == pytest.approx([2 / 1.8 * 2e-3] * 2)
    with pytest.raises(UserError, match="no platform"):
        run("serving", swe.view(), {"serve_on": "abacus"})


def test_tokens_and_dollars_that_the_evaluations_took(swe: Home) -> None:
    """500 tasks took 1e6 tokens and $2 before, 1.5e6 after: $2 a million; 2,000 and 3,000 an attempt."""
    swe.con.execute("UPDATE evals SET tokens = 1e6, usd = 2 WHERE eval_id = 'base'")
    swe.con.execute("UPDATE evals SET tokens = 1.5e6 WHERE eval_id = 'steady-300'")
    found = ask(swe, run="steady")
    assert found.tables["served"]["tokens"].tolist() == pytest.approx([2000, 3000])
    assert found.tables["served"]["usd_per_attempt"].tolist() == pytest.approx([0.004, 0.006])
    # 0.004 / .635 is less than 0.006 / .717: better and dearer
    assert "never pays back" in found.answer


def test_each_side_costs_what_its_own_evaluation_paid(swe: Home) -> None:
    """$2 and $3 over 500 attempts: $0.004 and $0.006, though the second took twice the tokens (inputs cost
    too). With 1.5 times the tokens after, $0.009. A million tokens in service: $3 over 2e6 = $1.50.
    """
    swe.con.execute("UPDATE evals SET tokens = 1e6, usd = 2 WHERE eval_id = 'base'")
    swe.con.execute("UPDATE evals SET tokens = 2e6, usd = 3 WHERE eval_id = 'steady-300'")
    found = ask(swe, run="steady")
    assert found.tables["served"]["usd_per_attempt"].tolist() == pytest.approx([0.004, 0.006])
    assert found.figure("serving_usd_per_mtok").value == pytest.approx(1.5)
    longer = ask(swe, run="steady", longer=1.5)
    assert longer.tables["served"]["usd_per_attempt"].tolist() == pytest.approx([0.004, 0.009])
    # no tokens counted: dollars of an attempt are enough
    swe.con.execute("UPDATE evals SET tokens = NULL")
    assert ask(swe, run="steady").tables["served"]["usd_per_attempt"].tolist() == pytest.approx(
        [0.004, 0.006]
    )


def test_a_price_of_tokens_that_nothing_used_is_not_shown(swe: Home) -> None:
    """At $1.20 an attempt outright, the $2 a million tokens of an evaluation speak of another service."""
    swe.con.execute("UPDATE evals SET tokens = 1e6, usd = 2 WHERE eval_id = 'base'")
    found = ask(swe, **E)
    assert found.figure("serving_usd_per_mtok").value is None
    assert "typed" in (found.figure("serving_usd_per_mtok").missing or "")
    assert "generated tokens in service" not in {a.name for a in found.assumptions}


def test_what_an_attempt_takes_is_of_the_scores_that_are_compared(swe: Home) -> None:
    """The same checkpoint at high effort took ten times the tokens: another score, another service."""
    swe.con.execute("UPDATE evals SET tokens = 1e6, usd = 2 WHERE eval_id = 'base'")
    swe.con.execute("UPDATE evals SET tokens = 1.5e6, usd = 3 WHERE eval_id = 'steady-300'")
    high = evaluation("steady-300-high", "steady", 1, 300, 0.80)
    swe.add("evals", {**high, "effort": "high", "tokens": 1.5e7, "usd": 30.0})
    found = ask(swe, run="steady")
    assert found.tables["served"]["score"].tolist() == pytest.approx([0.635, 0.717])
    assert found.tables["served"]["tokens"].tolist() == pytest.approx([2000, 3000])


def test_the_correlation_is_measured_where_tasks_are(swe: Home) -> None:
    """(1,1), (1,1), (0,1), (0,0): covariance 1/8 over sqrt(1/4 x 3/16) = 0.577."""
    tasks = {"base": (1, 1, 0, 0), "steady-300": (1, 1, 1, 0)}
    for name, passed in tasks.items():
        swe.add(
            "eval_tasks",
            *({"eval_id": name, "task": f"t{n}", "repeat": 0, "passed": p} for n, p in enumerate(passed)),
        )
    told = {a.name: a for a in ask(swe, **E).assumptions}["correlation of a task's two results"]
    assert told.value == pytest.approx(1 / math.sqrt(3)) and told.status == "measured"


def test_what_is_missing_is_said(swe: Home) -> None:
    assert "or USD per attempt" in ask(swe).answer
    assert ask(swe).figure("usd_per_success").missing
    swe.con.execute("DELETE FROM evals")
    assert "upload both" in ask(swe).answer
