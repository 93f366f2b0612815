"""Charts of plans: what is drawn is what the tables say, in both modes, and nothing is drawn of nothing."""

from collections.abc import Callable
from dataclasses import replace

import plotly.graph_objects as go
import pytest

from analysis.forecast_model import NO_TEAM
from analysis.result import Result
from charts import capacity, commitments, forecast, pools, sandbox_plan, sync_engines
from charts.figures import FIGURES
from charts.theme import Mode
from charts.tornado import tornado
from tests.charts import made_plans as made
from tests.charts.made import EVIL, result

ALL: list[tuple[Callable[[], Result], Callable[..., go.Figure]]] = [
    (made.cadence, capacity.probability),
    (made.cadence, capacity.cycle_band),
    (made.cadence, capacity.parts),
    (made.cadence, capacity.saves),
    (made.swings, tornado),
    (made.forecast, forecast.months),
    (made.forecast, forecast.gpu_hours),
    (made.forecast, forecast.groups),
    (made.forecast, forecast.changes),
    (made.scores, forecast.scored),
    (made.pools, pools.splits),
    (made.pools, pools.modes),
    (made.sandboxes, sandbox_plan.by_cores),
    (made.sandboxes, sandbox_plan.cpus),
    (made.weight_sync, sync_engines.engines),
    (made.weight_sync, sync_engines.speeds),
    (made.commitments, commitments.options),
    (made.commitments, commitments.demand),
    (made.commitments, commitments.racks),
    (made.commitments, commitments.regret),
]


@pytest.mark.parametrize(("make", "draw"), ALL)
@pytest.mark.parametrize("mode", ["light", "dark"])
def test_each_says_in_words_what_it_shows_and_trusts_no_name(
    make: Callable[[], Result], draw: Callable[..., go.Figure], mode: Mode
) -> None:
    fig = draw(make(), mode)
    assert fig.data and fig.layout.meta["alt"]
    shown = [str(fig.layout.to_plotly_json().get(part, "")) for part in ("annotations", "title", "yaxis")]
    hovers = [str(trace.customdata) + str(trace.y) + str(trace.name) for trace in fig.data]
    assert "<a href" not in " ".join(shown + hovers)


@pytest.mark.parametrize(("make", "draw"), ALL)
def test_without_its_table_the_reason_is_said(
    make: Callable[[], Result], draw: Callable[..., go.Figure]
) -> None:
    fig = draw(result(make().analysis, "Why not."))
    assert not fig.data and fig.layout.annotations[0].text


def test_every_chart_of_a_plan_goes_into_its_report() -> None:
    drawn = {(make().analysis, draw) for make, draw in ALL if draw is not tornado}
    known = {(question, draw) for question, rows in FIGURES.items() for _, _, draw in rows}
    assert drawn <= known
    questions = ("cadence", "pools", "sandboxes", "weight_sync", "commitments", "forecast")
    assert all(FIGURES[question][-1][2] is tornado for question in questions)


def test_a_tornado_reaches_from_the_answer_to_both_ends() -> None:
    fig = tornado(made.swings(), most=2)
    bars = fig.data[:2]
    ends = {trace.name: [b + x for b, x in zip(trace.base, trace.x, strict=True)] for trace in bars}
    assert list(ends.values()) == [[60.0, 80.0], [150.0, 120.0]]
    assert all(set(trace.base) == {100.0} for trace in bars)
    assert (fig.data[2].name, list(fig.data[2].x)) == ("the answer, 100 h", [100.0, 100.0])
    heads = [note.text for note in fig.layout.annotations]
    assert "length" in heads[0] and "10 – 40 %" in heads[0] and len(heads) == 2
    assert all(trace.marker.pattern.shape is None for trace in bars)
    assumed = tornado(made.swings("user"))
    assert all(trace.marker.pattern.shape == "." for trace in assumed.data[:2])


def test_a_tornado_says_what_it_moves_by_which_rule_and_each_unit_once() -> None:
    levers = (("steps", 150.0, 250.0, "steps"), ("length", 0.5, 1.5, "x"))
    rows = [{"label": label, "low_value": low, "high_value": high, "unit": unit, "cycle_h": 80.0,
             "cycle_h_low": 60.0, "cycle_h_high": 100.0, "source": ""}
            for label, low, high, unit in levers]  # fmt: skip
    fig = tornado(result("cadence", tornado=rows))
    assert fig.layout.meta["title"] == "What moves the cycle time (h)"
    assert "what is drawn from p10 to p90" in fig.layout.meta["subtitle"]
    heads = [note.text for note in fig.layout.annotations]
    assert ">150 – 250 steps<" in heads[0] and ">0.500 – 1.50 x<" in heads[1]


def test_a_tornado_without_an_answer_still_spans_its_ends() -> None:
    rows = [{"label": "length", "low_value": 1.0, "high_value": 2.0, "unit": "x", "cycle_h_low": 60.0,
             "cycle_h_high": 100.0, "source": ""}]  # fmt: skip
    fig = tornado(result("cadence", tornado=rows))
    assert [(t.base[0], t.x[0]) for t in fig.data] == [(80.0, -20.0), (80.0, 20.0)]


def test_probability_marks_the_fleets_and_the_wanted_level() -> None:
    fig = capacity.probability(made.cadence())
    lines = [t for t in fig.data if t.mode == "lines"]
    diamonds = [t for t in fig.data if t.mode == "markers"]
    assert [list(t.y) for t in lines] == [[pytest.approx(v) for v in (10, 96, 99, 97)]] * 2
    assert [(list(t.x), list(t.y)) for t in diamonds] == [([64], [96.0])] * 2
    assert len({t.line.color for t in lines}) == 2
    assert fig.layout.shapes[0].y0 == 95.0
    assert list(fig.layout.xaxis.tickvals) == [32, 64, 128, 256]


def test_lines_on_each_other_are_all_seen_and_explained() -> None:
    """Three platforms that finish on any fleet: the lines beneath are wider, and the words say why."""
    rows = [{"target": t, "platform": t, "gpus": g, "p_finish": 1.0, "chosen": g == 64}
            for t in ("a", "b", "c") for g in (8, 64)]  # fmt: skip
    fig = capacity.probability(result("cadence", params={"wanted": 0.95}, curve=rows))
    widths = [t.line.width for t in fig.data if t.mode == "lines"]
    assert widths == sorted(widths, reverse=True) and len(set(widths)) == 3
    assert "whole racks decide" in fig.layout.meta["subtitle"]
    rows[0]["p_finish"] = 0.9
    late = capacity.probability(result("cadence", params={"wanted": 0.95}, curve=rows))
    assert "whole racks decide" not in late.layout.meta["subtitle"]


def test_the_cycle_says_where_more_gpus_are_slower() -> None:
    fig = capacity.cycle_band(made.cadence())
    assert "fastest at 128 GPUs: beyond that more GPUs are slower" in fig.layout.meta["subtitle"]
    assert fig.layout.shapes[0].y0 == 162.0
    short = capacity.cycle_band(made.cadence(most=3), target="gb300-nvl72")
    assert "fastest at 128 GPUs, the most that were looked at" in short.layout.meta["subtitle"]
    assert list(short.data[1].y) == [95.0, 70.0, 60.0]


def test_the_cycle_is_that_of_the_answer_not_of_the_first_platform() -> None:
    found = made.cadence()
    curve = found.tables["curve"]
    told = found.tables | {"curve": curve.assign(answered=curve["target"] == "gb300-nvl72")}
    fig = capacity.cycle_band(replace(found, tables=told))
    assert fig.layout.meta["subtitle"].startswith("GB300 NVL72")


def test_the_best_period_stands_beside_the_asked_one_and_both_formulas() -> None:
    fig = capacity.saves(made.cadence())
    assert {t.name: (list(t.x), list(t.y)) for t in fig.data if t.mode == "markers"} == {
        "as asked": ([10], [80.0]), "best": ([30], [90.0]),
    }  # fmt: skip
    assert "Young: one every 123 min of work, Daly: 122 min" in fig.layout.meta["subtitle"]


def test_a_forecast_shows_past_band_and_budget() -> None:
    fig = forecast.months(made.forecast())
    names = [t.name for t in fig.data]
    assert names == ["actual", "p10–p90", "p50", "budget $90.0k"]
    assert list(fig.data[3].x) == ["2026-01", "2026-02", "2026-03", "2026-04"]
    assert set(fig.data[3].y) == {90_000.0}
    assert "in part" in fig.data[0].customdata[1]
    assert "budget" not in str([t.name for t in forecast.months(made.forecast(None)).data])
    assert "budget" not in str([t.name for t in forecast.gpu_hours(made.forecast()).data])


def test_kept_forecasts_that_missed_are_crossed_and_counted() -> None:
    fig = forecast.scored(made.scores())
    assert list(fig.data[1].marker.symbol) == ["circle", "x"]
    assert "1 of 2 inside their band" in fig.layout.meta["subtitle"]


def test_balanced_and_present_split_are_marked() -> None:
    marks = {t.name: (t.x[0], t.y[0]) for t in pools.splits(made.pools()).data if t.mode == "markers"}
    assert marks == {"as it is": (4, 150.0), "balanced": (6, 100.0)}


def test_claims_and_forbidden_modes_are_dotted() -> None:
    by_mode = {t.name: t.marker.pattern.shape for t in pools.modes(made.pools()).data}
    assert by_mode == {"allowed": "/", "rollouts too old": "."}
    cpus = {t.name: (t.marker.pattern.shape, list(t.y)) for t in sandbox_plan.cpus(made.sandboxes()).data}
    assert cpus["claim"] == (".", ["Vera"]) and cpus["measured or reference"][1] != [EVIL]
    assert "no speed is published" in sandbox_plan.cpus(made.sandboxes()).layout.meta["subtitle"]


def test_whiskers_of_an_engine_are_its_seconds_in_dollars() -> None:
    fig = sync_engines.engines(made.weight_sync())
    now = next(t for t in fig.data if t.name == "in use")
    assert (now.x[0], now.error_x.array[0], now.error_x.arrayminus[0]) == pytest.approx((100.0, 20.0, 20.0))


def test_who_has_no_team_stands_beside_the_teams() -> None:
    def ticks(*teams: str) -> str:
        rows = [{"kind": kind, "name": name, "usd_mean": 5e4, "usd_p10": 4e4, "usd_p90": 7e4}
                for kind, name in (*(("team", team) for team in teams), ("campaign", "math-v3"))]  # fmt: skip
        return str(forecast.groups(result("forecast", totals=rows)).data[0].y)

    assert "team" not in ticks()
    assert all(team in ticks(NO_TEAM, "evals") for team in (NO_TEAM, "evals"))
