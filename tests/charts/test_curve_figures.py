"""Learning curves, serving, holding and the worked example as figures, from results made by hand."""

import json
import math
import re
from pathlib import Path

import pandas as pd
import pytest

from analysis.result import Figure, Result
from charts import buckets, frontier, gain, learning, learning_curve, nemotron, serving, unit_economics
from charts.figures import FIGURES
from charts.text import instead_of_value, interval_parts
from reports.figures import figures_of


def made(analysis: str, tables: dict[str, pd.DataFrame], **params: object) -> Result:
    return Result(analysis=analysis, params=params, answer="Said.", tables=tables)


def curve(**params: object) -> Result:
    names = ["amount", "usd", "x", "score", "low", "high", "seen"]
    rows = [
        (1, 10, 10, 0.5, 0.45, 0.55, True),
        (2, 20, 20, 0.6, 0.55, 0.65, True),
        (4, 40, 40, 0.7, 0.6, 0.8, False),
    ]
    band = pd.DataFrame(rows, columns=names).assign(run="a", kind="fraction", benchmark="MATH-500")
    points = pd.DataFrame(
        {
            "x": [0.0, 10, 20],
            "score": [0.4, 0.5, 0.61],
            "low": 0.35,
            "high": 0.66,
            "used": [False, True, True],
        }
    )
    points = points.assign(run="a", kind="fraction", benchmark="MATH-500", n=500)
    marginal = pd.DataFrame(
        {
            "run": "a",
            "usd": [10, 20, 40],
            "usd_per_point": [1.0, 2.0, math.inf],
            "usd_per_point_low": [0.5, 1, 2],
            "usd_per_point_high": [2, math.inf, math.inf],
            "seen": [True, True, False],
        }
    )
    tables = {
        "band": band,
        "points": points,
        "marginal": marginal,
        "targets": pd.DataFrame({"score": [0.65]}),
        "budget": pd.DataFrame({"budget_usd": [30.0]}),
        "stop": pd.DataFrame({"usd": [math.inf]}),
    }
    return made("learning_curve", tables, **params)


def test_the_curve_goes_on_dotted_from_its_last_measured_point() -> None:
    fig = learning_curve.fitted(curve(x="usd"))
    by_name = {t.name: t for t in fig.data}
    dotted = by_name["beyond the last evaluation"]
    assert (
        list(dotted.x) == [20, 40] and list(dotted.y) == pytest.approx([60, 70]) and dotted.line.dash == "dot"
    )
    assert list(by_name["start or left out"].x) == [0]
    said = [a.text for a in fig.layout.annotations]
    # a stop line at infinity is nowhere
    assert said == ["target 65.0 %", "budget $30.0"]
    near = curve(x="usd")
    near.tables["stop"]["usd"] = 29.0
    labels = [a for a in learning_curve.fitted(near).layout.annotations if "$" in a.text]
    # upright text across the target and the band cannot be read; two lines close by have a row each
    assert [(a.textangle, a.y, a.xanchor) for a in labels] == [(None, 0, "right")] * 2
    assert labels[1].yshift - labels[0].yshift >= 16
    near.tables["stop"]["usd"] = 5.0
    assert learning_curve.fitted(near).layout.annotations[-1].xanchor == "left"
    assert not [a for a in learning_curve.fitted(curve(x="tokens")).layout.annotations if "budget" in a.text]


def test_infinite_numbers_are_no_points_of_a_log_axis() -> None:
    fig = learning_curve.marginal(curve(worth_usd=1.5))
    drawn = [v for t in fig.data for v in t.y]
    assert all(math.isfinite(v) for v in drawn) and max(drawn) == 20  # ten times the highest value
    worth = next(t for t in fig.data if t.name == "worth $1.50")
    assert list(worth.y) == [1.5, 1.5] and fig.layout.yaxis.type == "log"
    json.loads(fig.to_json())
    flat = curve()
    flat.tables["marginal"]["usd_per_point"] = math.inf
    assert "no point is left" in learning_curve.marginal(flat).layout.annotations[0].text


def test_a_frozen_report_holds_every_picture_of_the_page() -> None:
    """Each chart that a section of Intelligence per dollar draws is one of its question's figures."""
    frozen = {draw for rows in FIGURES.values() for _, _, draw in rows}
    parts = Path(__file__).parents[2] / "pages" / "parts"
    homes = {"intelligence_frontier": {"charts": frontier, "bucket_charts": buckets}}
    homes |= {f"intelligence_{name}": {"charts": chart} for name, chart in (
        ("gain", gain), ("learning", learning_curve), ("nemotron", nemotron), ("serving", serving),
        ("hold", serving), ("spent", learning), ("units", unit_economics),
    )}  # fmt: skip
    seen = 0
    for part, named in homes.items():
        for chart, draw in re.findall(r"picture\((\w+)\.(\w+),", (parts / f"{part}.py").read_text()):
            assert getattr(named[chart], draw) in frozen, f"{part}: {draw}"
            seen += 1
    assert seen >= 14
    assert [f.name for f in figures_of(curve(x="usd"))] == ["fitted", "marginal"]


def test_an_open_end_is_an_arrow() -> None:
    rows = pd.DataFrame(
        {
            "platform": ["A", "B"],
            "kind": ["measured", "projected"],
            "usd": [100.0, 50.0],
            "usd_low": [80.0, 40.0],
            "usd_high": [120.0, math.inf],
        }
    )
    fig = learning_curve.platform_costs(made("learning_platforms", {"platforms": rows}))
    arrow = next(t for t in fig.data if t.name == "no upper end")
    assert list(arrow.y) == [1] and arrow.x[0] > 120
    assert [d[2] for d in fig.data[0].customdata] == ["$120", "no upper end"]


def test_a_card_says_that_an_end_is_open() -> None:
    told = Figure("cost_to_target", "Cost", 921.0, "usd", low=488.0, high=None, interval="ci95")
    assert interval_parts(told) == ("$488 or more, no upper end", "95 % interval")


@pytest.mark.parametrize(
    ("missing", "word"),
    [
        ("not reachable: the curve ends below 80 %", "Not reachable"),
        ("never pays back: a solved task gets no cheaper", "Never"),
        ("not distinguishable from zero", "Cannot tell"),
        ("refused: harness a against b", "Not comparable"),
        ("the spend is not known", "Not known"),
        (None, "Not known"),
    ],
)
def test_an_answer_without_a_number_is_not_called_unknown(missing: str | None, word: str) -> None:
    assert instead_of_value(Figure("x", "X", None, "usd", missing=missing)) == word


def test_a_success_that_never_comes_is_not_drawn() -> None:
    rows = pd.DataFrame(
        {
            "attempts": [1e2, 1e3] * 2,
            "state": ["before"] * 2 + ["after"] * 2,
            "usd_per_success": [1, 1, math.inf, 2.0],
            "usd_per_success_low": [0.9, 0.9, 1, 1.5],
            "usd_per_success_high": [1.1, 1.1, math.inf, 3],
        }
    )
    fig = serving.lifetime(made("serving", {"lifetime": rows}))
    after = next(t for t in fig.data if str(t.name).startswith("After"))
    assert list(after.x) == [1e3] and fig.layout.xaxis.type == "log"


def test_what_cannot_be_held_has_no_bar() -> None:
    rows = pd.DataFrame(
        {
            "points_per_week": [1.0, 5.0],
            "usd": [60.0, math.inf],
            "usd_low": [50.0, 70],
            "usd_high": [math.inf, math.inf],
            "asked": [True, False],
        }
    )
    fig = serving.sensitivity(made("hold", {"sensitivity": rows}, period_days=30))
    assert list(fig.data[0].x) == ["1"] and fig.data[0].error_y.array[0] == pytest.approx(120)
    assert "30 days" in fig.layout.title.text


def test_the_example_draws_points_where_no_cost_is_known() -> None:
    rows = pd.DataFrame(
        {
            "benchmark": ["A", "B"],
            "gain": [5.0, 1.0],
            "low": [2.0, math.nan],
            "high": [8.0, math.nan],
            "n": [100, None],
            "per_10k": [math.nan] * 2,
            "before_score": 0.5,
            "after_score": 0.55,
            "verdict": ["better", ""],
        }
    )
    fig = nemotron.rates(made("nemotron", {"gains": rows}))
    assert fig.layout.xaxis.title.text == "Gain (percentage points)"
    assert list(fig.layout.yaxis.ticktext) == ["A"]


@pytest.mark.parametrize(
    "draw",
    [
        learning_curve.fitted,
        learning_curve.marginal,
        learning_curve.by_platform,
        learning_curve.platform_costs,
        serving.lifetime,
        serving.saw,
        serving.sensitivity,
        nemotron.rates,
    ],
)
def test_nothing_to_draw_says_why(draw) -> None:  # type: ignore[no-untyped-def]
    fig = draw(made("any", {}))
    assert not fig.data and "Said." in " ".join(a.text for a in fig.layout.annotations)
