"""A chart of a person's own rows: extremes kept, what is left out told, words where nothing can be drawn."""

import pandas as pd
import pytest

from charts import theme
from charts.custom import draw


def frame(n=20_000):
    y = [float(i % 7) for i in range(n)]
    if n > 9_999:
        y[7_777], y[9_999] = 500.0, -500.0
    return pd.DataFrame({"t": range(n), "y_s": y, "who": [f"<b>{i % 12}</b>" for i in range(n)]})


@pytest.mark.parametrize("chart", ["line", "area", "scatter"])
def test_few_points_keep_the_least_and_the_greatest(chart):
    fig = draw(frame(), chart=chart, x="t", y=["y_s"])
    assert theme.points(fig) <= 4_000
    assert max(fig.data[0].y) == 500 and min(fig.data[0].y) == -500
    assert (fig.layout.meta["returned"], fig.layout.meta["drawn"]) == (20_000, len(fig.data[0].y))
    assert "of 20,000 points drawn" in fig.layout.meta["alt"]


def test_bars_beyond_forty_are_summed_into_other_and_nothing_is_lost():
    rows = pd.DataFrame({"who": [f"w{i}" for i in range(100)], "usd": [float(i) for i in range(100)]})
    fig = draw(rows, chart="bar", x="who", y=["usd"])
    assert len(fig.data[0].x) == 40 and sum(fig.data[0].y) == 4950
    assert dict(zip(fig.data[0].x, fig.data[0].y, strict=True))["other (61)"] == sum(range(61))


def test_at_most_eight_series_and_names_are_no_markup():
    fig = draw(frame(500), chart="line", x="t", y=["y_s"], colour="who")
    assert len(fig.data) == 8 and {t.name for t in fig.data} >= {"others"}
    assert "<b>0" not in fig.to_json() and "7 of 12 have a colour, 5 are grey" in fig.layout.meta["alt"]


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"chart": "line", "x": "t", "y": ["who"]}, "holds no numbers"),
        ({"chart": "line", "x": "t", "y": ["no"]}, "no column 'no'"),
        ({"chart": "bar", "x": "t"}, "Pick a column for y"),
        ({"chart": "heat_map", "x": "t", "y": ["who", "y_s"]}, "one column for y"),
    ],
)
def test_what_cannot_be_drawn_is_said(asked, words):
    fig = draw(frame(9), **asked)
    assert not fig.data and words in fig.layout.meta["alt"] and fig.layout.meta["drawn"] == 0
    assert "has no rows" in draw(frame(0), chart="line", x="t", y=["y_s"]).layout.meta["alt"]


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_a_run_has_the_colour_that_it_has_everywhere_and_is_named_when_it_is_the_only_one(mode):
    home = ["late", "early", "third"]
    rows = pd.DataFrame({"run": ["early", "third"] * 3, "step": range(6), "y_s": [1.0] * 6})
    everywhere = theme.run_colours(home, mode)
    for shown in (rows, rows[rows["run"] == "third"]):
        fig = draw(shown, chart="line", x="step", y=["y_s"], colour="run", runs=home, mode=mode)
        assert {t.name: t.line.color for t in fig.data} == {run: everywhere[run] for run in set(shown["run"])}
        assert all(t.showlegend for t in fig.data)
    assert not draw(rows, chart="line", x="step", y=["y_s"]).data[0].showlegend


@pytest.mark.parametrize(
    ("column", "unit", "words"),
    [("usd", "USD", "USD"), ("usd", "EUR", "USD (EUR)"), ("step_s", "s", "Step time (s)")],
)
def test_the_unit_of_an_axis_stands_there_once(column, unit, words):
    fig = draw(pd.DataFrame({"n": [1], column: [2.0]}), chart="line", x="n", y=[column], unit=unit)
    assert fig.layout.yaxis.title.text == words


RATIOS = pd.DataFrame({"use_frac": [0.2, 1.0], "mfu_frac": [0.3, 0.4], "step_s": [9.0, 8.0]})


@pytest.mark.parametrize(
    ("asked", "axis", "percent"),
    [
        ({"chart": "line", "x": "use_frac", "y": ["step_s"]}, "xaxis", True),
        ({"chart": "line", "x": "step_s", "y": ["use_frac"]}, "yaxis", True),
        ({"chart": "line", "x": "step_s", "y": ["use_frac", "mfu_frac"]}, "yaxis", True),
        ({"chart": "histogram", "x": "use_frac"}, "xaxis", True),
        ({"chart": "heat_map", "x": "use_frac", "y": ["step_s"]}, "xaxis", True),
        ({"chart": "heat_map", "x": "step_s", "y": ["use_frac"]}, "yaxis", True),
        ({"chart": "box", "x": "use_frac", "y": ["step_s"]}, "xaxis", False),
        ({"chart": "line", "x": "step_s", "y": ["use_frac"], "unit": "of 1"}, "yaxis", False),
        ({"chart": "line", "x": "mfu_frac", "y": ["step_s", "use_frac"]}, "yaxis", False),
    ],
)
def test_an_axis_says_percent_where_its_ticks_are_percent_and_nowhere_else(asked, axis, percent):
    """The rows hold 0.2: beside '%' a tick has to say 20."""
    fig = draw(RATIOS, **asked)
    found = fig.layout[axis]
    told = (found.tickformat or "").endswith(("%", "p")), "(%)" in found.title.text
    assert told == (percent, percent)
    if not percent:
        assert not any("%" in (t.name or "") for t in fig.data)


def test_texts_along_x_are_names_shortened_but_never_merged_and_leave_the_legend_alone():
    months = pd.DataFrame({"month": ["2026-11", "2026-12"], "usd": [1.0, 2.0]})
    assert draw(months, chart="line", x="month", y=["usd"]).layout.xaxis.type == "category"
    head, tail = "a-run-of-a-long-name-", "-with-the-same-end"
    runs = [f"{head}{n:03d}{tail}" for n in range(4)]
    rows = pd.DataFrame({"who": runs * 2, "usd": range(8), "team": ["x"] * 4 + ["y"] * 4})
    fig = draw(rows, chart="bar", x="who", y=["usd"], colour="team")
    assert {x for t in fig.data for x in t.x} == set(runs) == set(fig.layout.xaxis.tickvals)
    assert max(map(len, fig.layout.xaxis.ticktext)) <= 28
    assert fig.layout.legend.yref == "container" and fig.layout.height > 400


def test_each_panel_has_its_name_over_itself():
    rows = pd.DataFrame({"t": range(5), "y_s": range(5), "who": list("abcde")})
    fig = draw(rows, chart="scatter", x="t", y=["y_s"], facet="who")
    shown = {note.text: note.x for note in fig.layout.annotations}
    panels = [fig.layout[t.xaxis.replace("x", "xaxis")].domain[0] for t in fig.data]
    assert shown == dict(zip("abcde", panels, strict=True)) and len(set(panels)) == 3


def test_a_chart_of_a_result_that_was_cut_says_so():
    rows = pd.DataFrame({"who": ["a", "a"], "usd": [1.0, 2.0]})
    said = draw(rows, chart="bar", x="who", y=["usd"], cut=True).layout.meta["alt"]
    assert "only the first 2 rows: the result was cut" in said
    assert "cut" not in draw(rows, chart="bar", x="who", y=["usd"]).layout.meta["alt"]


def test_the_scale_of_a_heat_map_says_what_its_colours_count():
    asked = {"chart": "heat_map", "x": "use_frac", "y": ["mfu_frac"]}
    assert draw(RATIOS, **asked).data[0].colorbar.title.text == "Rows"
    assert draw(RATIOS, **asked, colour="step_s").data[0].colorbar.title.text == "Step time (s)"
    assert draw(RATIOS, **asked, colour="step_s", unit="ms").data[0].colorbar.title.text == "Step time (ms)"
