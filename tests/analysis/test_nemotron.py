"""The worked example of research page A, to the digits printed there, and what it refuses."""

import pytest

from analysis.nemotron import NemotronParams, compute
from analysis.registry import run
from analysis.result import Result
from data.errors import UserError
from tests.analysis.conftest import Home

PRINTED = {
    "swe-bench-verified": "+2.3 (-1.9, 6.5) 0.29 (-0.24, 0.83) 0.10 6",
    "tau3-telecom": "+27.0 (18.8, 35.2) 3.46 (2.40, 4.52) 1.34 61",
    "livecodebench-v6": "+1.9 (-1.2, 5.0) 0.24 (-0.16, 0.65) 0.16 13",
    "hle": "+5.9 (4.1, 7.7) 0.76 (0.53, 0.98) 0.34 7",
    "imo-answerbench": "-0.6 (-4.1, 2.9) -0.08 (-0.53, 0.37) -0.05 -4",
}


def ask(home: Home, **params: object) -> Result:
    return compute(home.view(), NemotronParams(**params))


@pytest.fixture
def bare(empty_home: Home) -> Home:
    return empty_home


def test_the_stage_as_the_research_prints_it(bare: Home) -> None:
    """1,024 GPUs x 178 steps x 7 min = 21,265 GPU-h, / 0.75 = 28,353, x $2.75 = $77,972."""
    found = ask(bare)
    assert f"{found.figure('assumed_stage_usd').value:.0f}" == "77972"
    parts = found.tables["cost"].set_index("part")["value"]
    assert f"{parts['productive GPU-hours']:.0f} {parts['billed GPU-hours']:.0f}" == "21265 28353"
    rows = found.tables["gains"].set_index("benchmark_id")
    for name, printed in PRINTED.items():
        r = rows.loc[name]
        assert (
            f"{r['gain']:+.1f} ({r['low']:.1f}, {r['high']:.1f}) {r['per_10k']:.2f} ({r['per_10k_low']:.2f}, "
            f"{r['per_10k_high']:.2f}) {r['log_odds']:.2f} {100 * r['error_cut_frac']:.0f}"
        ) == printed
    assert "3.46 points per $10k on TauBench Telecom" in found.answer
    assert "nothing distinguishable from zero on" in found.answer and "SWE-Bench Verified" in found.answer
    statuses = {a.name: a.status for a in found.assumptions}
    assert (
        statuses["minutes a step of the stage"] == "assumed" and statuses["GPUs of the stage"] == "published"
    )


def test_the_whole_way_at_a_typed_total(bare: Home) -> None:
    """SFT to MOPD 2 at $400k, price log-normal 0.8 to 1.25 (90 %): +8.2 (4.1, 12.3), 0.20 (0.10, 0.34)."""
    rows = (
        ask(bare, after="mopd2", campaign_usd=400_000, spread=1.25).tables["gains"].set_index("benchmark_id")
    )
    r = rows.loc["swe-bench-verified"]
    assert f"{r['gain']:.1f} ({r['low']:.1f}, {r['high']:.1f})" == "8.2 (4.1, 12.3)"
    assert r["per_10k"] == pytest.approx(0.205) and f"{r['per_10k_low']:.2f}" == "0.10"
    assert r["per_10k_high"] == pytest.approx(0.335, abs=0.01)
    last = ask(bare, before="mopd1", after="mopd2").tables["gains"].set_index("benchmark_id")
    r = last.loc["swe-bench-verified"]
    assert (
        f"{r['gain']:+.1f} ({r['low']:.1f}, {r['high']:.1f}) {r['verdict']}" == "+1.6 (-2.4, 5.6) cannot tell"
    )


def test_what_is_not_published_stays_unknown_until_typed(bare: Home) -> None:
    found = ask(bare, before="rlvr", after="mopd1")
    assert found.figure("assumed_stage_usd").value is None and "type what the stages cost" in found.answer
    assert found.tables["gains"]["per_10k"].isna().all()
    rows = ask(bare).tables["gains"].set_index("benchmark_id")
    assert rows.loc["gdpval", ["low", "n"]].isna().all() and rows.loc["gdpval", "verdict"] == ""
    typed = ask(bare, tasks=("gdpval:220",)).tables["gains"].set_index("benchmark_id")
    # 1.96 sqrt((.232 x .768 + .289 x .711 - sqrt of their product) / 220) = 5.79 points
    assert typed.loc["gdpval", "high"] - typed.loc["gdpval", "gain"] == pytest.approx(5.795, abs=0.02)


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"group": "T10"}, "different tables are not compared"),
        ({"group": "T9"}, "no group of comparable scores 'T9'"),
        ({"tasks": ["nonsense:5"]}, "nonsense is no benchmark of this table"),
        ({"tasks": ["hle:x"]}, "tasks are benchmark:number"),
        ({"before": "mopd2", "after": "sft"}, "after must be a later stage"),
    ],
)
def test_refusals_say_what_to_do(bare: Home, params: dict[str, object], words: str) -> None:
    with pytest.raises(UserError) as error:
        run("nemotron", bare.view(), params)
    assert words in str(error.value)
