"""Made-up data is marked on the drawing itself, and the CSV of a chart holds what is drawn."""

import pandas as pd
import plotly.graph_objects as go

from analysis.result import Notice, Result
from charts import theme
from charts.drawn import drawn
from charts.synthetic import marked


def result(*made_up: str) -> Result:
    notice = Notice("synthetic", "made up", "; ".join(made_up))
    runs = pd.DataFrame({"run": ["a", "b"], "y": [1.0, 2.0]})
    return Result("q", {}, "", tables={"t": runs}, warnings=(notice,) if made_up else ())


@marked
def chart(found: Result) -> go.Figure:
    rows = found.tables["t"]
    fig = go.Figure(go.Scatter(x=rows["run"], y=rows["y"], name="line"))
    return theme.apply(fig, title="Title", subtitle="under it", alt="A line.", table="t", x="Run", y="Y (s)")


def test_a_chart_of_made_up_runs_says_so_and_keeps_its_plot() -> None:
    plain, synthetic = chart(result()), chart(result("a", "b"))
    assert "ynthetic" not in plain.layout.title.text and "Synthetic" in synthetic.layout.title.text
    assert "under it" in synthetic.layout.title.text
    assert "Synthetic" in synthetic.layout.meta["alt"]
    room = [f.layout.height - f.layout.margin.t - f.layout.margin.b for f in (plain, synthetic)]
    assert room[0] == room[1]


def test_real_runs_beside_made_up_ones_are_not_called_made_up() -> None:
    assert "Includes synthetic" in chart(result("a")).layout.title.text


def test_the_csv_holds_the_points_drawn_under_their_axis_titles() -> None:
    frame = drawn(chart(result()))
    assert list(frame.columns) == ["series", "Run", "Y (s)"]
    assert frame["Y (s)"].tolist() == [1.0, 2.0]


def test_interval_ends_and_cells_are_part_of_the_drawing() -> None:
    bars = go.Figure(go.Bar(x=[1.0], y=["a"], error_x={"array": [0.5], "arrayminus": [0.25]}))
    assert drawn(bars)[["low", "high"]].iloc[0].tolist() == [0.75, 1.5]
    band = go.Figure(go.Bar(x=[1.5], y=["a"], base=[3.25], orientation="h"))
    assert drawn(band)[["x", "bar_from", "bar_to"]].iloc[0].tolist() == [1.5, 3.25, 4.75]
    heat = go.Figure(go.Heatmap(x=[1, 2], y=[0, 1], z=[[1, 2], [3, 4]], text=[["g0"] * 2, ["g1"] * 2]))
    cells = drawn(heat)
    assert cells["value"].tolist() == [1, 2, 3, 4] and cells["series"].tolist() == ["g0", "g0", "g1", "g1"]
