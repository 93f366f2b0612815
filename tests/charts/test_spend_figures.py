"""Ledger, gain and learning figures: what is drawn, how it is named, and how many points."""

import json

import pandas as pd
import pytest

from charts import figures, gain, learning, ledger, theme
from tests.charts import made

ALL = [
    (made.ledger, ledger.spend_by_phase),
    (made.ledger, ledger.score_by_usd),
    (made.gain, gain.forest),
    (made.learning, learning.curve),
    (made.learning, learning.point_price),
]


@pytest.mark.parametrize("mode", ["light", "dark"])
@pytest.mark.parametrize(("make", "draw"), ALL)
def test_every_figure_is_complete(make, draw, mode) -> None:
    fig = draw(make(), mode)
    assert fig.layout.meta["alt"] and fig.layout.meta["table"] in make().tables
    assert fig.layout.title.text and fig.layout.height > 0
    assert any(unit in fig.layout.xaxis.title.text for unit in ("USD", "points", "GPU-h", "tokens", "step"))
    assert 0 < theme.points(fig) <= theme.MAX_POINTS


@pytest.mark.parametrize(("make", "draw"), ALL)
def test_a_hostile_run_name_is_text_everywhere(make, draw) -> None:
    spec = json.loads(draw(make(), "light").to_json())
    for trace in spec["data"]:
        trace.pop("legendgroup", None)
        if trace["type"] == "bar" and trace.get("orientation") == "h":
            trace.pop("y", None)
    spec["layout"].pop("template", None)
    spec["layout"]["yaxis"].pop("categoryarray", None)
    spec["layout"]["yaxis"].pop("tickvals", None)
    spec["layout"]["meta"].pop("alt")
    assert "<a href" not in json.dumps(spec)
    assert "&lt;" in json.dumps(spec)


@pytest.mark.parametrize(("make", "draw"), ALL)
def test_an_empty_result_gives_a_reason_not_an_empty_plot(make, draw) -> None:
    empty = made.result(make().analysis, answer="Nothing is loaded yet.")
    fig = draw(empty, "light")
    assert not fig.data
    assert len(fig.layout.annotations[0].text) > 20


def test_phase_bars_hold_every_dollar_and_hatch_the_unattributed() -> None:
    result = made.ledger()
    fig = ledger.spend_by_phase(result, "light")
    drawn = sum(pd.Series(trace.x).sum() for trace in fig.data)
    assert drawn == pytest.approx(result.tables["phases"]["usd"].sum())
    hatched = {trace.legendgroup for trace in fig.data if trace.marker.pattern.shape}
    assert hatched == {"unattributed", "outside_steps"}
    assert fig.layout.barmode == "relative"


def test_scores_are_percent_on_screen_and_equal_the_table() -> None:
    result = made.learning()
    fig = learning.curve(result, "light")
    line = next(t for t in fig.data if t.legendgroup == "alpha")
    table = result.tables["points"].query("run == 'alpha'")
    assert list(line.y) == pytest.approx(list(100 * table["score"]))
    assert "%" in fig.layout.yaxis.title.text


@pytest.mark.parametrize(
    ("make", "draw"), [(made.ledger, ledger.score_by_usd), (made.learning, learning.curve)]
)
def test_every_score_has_its_interval_and_the_subtitle_says_so(make, draw) -> None:
    fig = draw(make(), "light")
    for trace in fig.data:
        assert list(trace.error_y.array) == pytest.approx([4.0] * len(trace.y))
        assert list(trace.error_y.arrayminus) == pytest.approx([4.0] * len(trace.y))
    assert "95 %" in fig.layout.meta["subtitle"]


def test_intervals_are_not_promised_where_none_is_drawn() -> None:
    points = made.scores().assign(low=None, high=None)
    bare = ledger.score_by_usd(made.result("ledger", scores=points.to_dict("records")), "light")
    assert "95 %" not in bare.layout.meta["subtitle"]
    assert all(t.error_y.array is None for t in bare.data)
    crowd = ledger.score_by_usd(made.ledger(tuple(f"run-{i}" for i in range(9))), "light")
    assert "too many points" in crowd.layout.meta["subtitle"]
    assert all(t.error_y.array is None for t in crowd.data)


def test_raw_scores_are_not_turned_into_percent() -> None:
    points = made.scores(("alpha",)).assign(kind="points", score=7.0)
    fig = learning.curve(made.result("learning", points=points.to_dict("records")), "light")
    assert set(fig.data[0].y) == {7.0}
    assert "score units" in fig.layout.yaxis.title.text


@pytest.mark.parametrize("x", ["usd", "gpu_hours", "tokens", "steps", "hours"])
def test_the_axis_follows_the_choice(x: str) -> None:
    fig = learning.curve(made.learning(x), "light")
    assert (fig.layout.xaxis.tickprefix == "$") == (x == "usd")


def test_eight_runs_are_coloured_and_the_rest_are_grey() -> None:
    runs = tuple(f"run-{i:02}" for i in range(12))
    fig = ledger.score_by_usd(made.ledger(runs), "light")
    grey = theme.palette("light").grey
    assert sum(t.line.color != grey for t in fig.data) == theme.MAX_COLOURED_RUNS
    assert sum(bool(t.showlegend) for t in fig.data) == theme.MAX_COLOURED_RUNS
    assert all(t.hovertemplate.startswith("<b>run-") for t in fig.data)


def test_many_points_are_thinned_and_keep_their_ends() -> None:
    fig = learning.curve(made.learning(points=5_000), "light")
    assert theme.points(fig) <= theme.MAX_POINTS + 3
    line = next(t for t in fig.data if t.legendgroup == "alpha")
    assert line.x[0] == 0 and line.x[-1] == pytest.approx(100 * 4_999)


def test_forest_draws_the_zero_line_and_leaves_refused_rows_out() -> None:
    fig = gain.forest(made.gain(), "light")
    assert fig.layout.shapes[0].x0 == fig.layout.shapes[0].x1 == 0
    assert {t.name for t in fig.data} == {"Better", "Worse", "Cannot tell"}
    assert sum(len(t.x) for t in fig.data) == 3
    better = next(t for t in fig.data if t.name == "Better")
    assert better.x[0] - better.error_x.arrayminus[0] == pytest.approx(4.1)
    assert better.x[0] + better.error_x.array[0] == pytest.approx(7.7)


def test_every_registered_figure_draws_its_question() -> None:
    results = {"ledger": made.ledger(), "gain": made.gain(), "learning": made.learning()}
    for question, result in results.items():
        drawn = figures.draw(result)
        assert len(drawn) == len(figures.FIGURES[question])
    assert figures.draw(made.result("no such question")) == []


def test_cents_are_written_as_cents_and_never_as_thousandths() -> None:
    drawn = [draw(make(), "light") for make, draw in ALL if draw is not gain.forest]
    for fig in drawn:
        stops = [stop.to_plotly_json() for stop in fig.layout.xaxis.tickformatstops]
        for distance, wanted in ((0.0005, ",.6~r"), (0.05, ",.2f"), (0.5, ",.2f"), (2000, "~s")):
            found = [
                s["value"]
                for s in stops
                if (s["dtickrange"][0] or 0) <= distance <= (s["dtickrange"][1] or distance)
            ]
            assert found[0] == wanted
        hovers = "".join(str(t.hovertemplate) for t in fig.data)
        assert "s}" not in hovers.replace("steps}", "")
