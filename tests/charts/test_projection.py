"""Step time by phase and platform: what is drawn adds up to the step, in the mark of how it is known."""

from typing import Any

import pandas as pd
import plotly.graph_objects as go
import pytest

from charts import figures, theme
from charts import projection as charts
from charts.drawn import drawn
from tests.charts import made_projection as made

MODES = pytest.mark.parametrize("mode", ["light", "dark"])


def bars(fig: go.Figure) -> list[go.Bar]:
    return [t for t in fig.data if t.type == "bar"]


def total_of(fig: go.Figure, platform: str) -> float:
    return sum(x for t in bars(fig) for x, y in zip(t.x, t.y, strict=True) if y == platform)


def words(fig: go.Figure) -> str:
    return " ".join(str(a.text).replace("<br>", " ") for a in fig.layout.annotations)


@MODES
def test_phases_of_a_row_add_up_to_its_step(mode: theme.Mode) -> None:
    fig = charts.by_phase(made.projection(), mode)
    for target, seconds in made.SECONDS.items():
        assert total_of(fig, made.NAMES[target]) == pytest.approx(sum(seconds))
    assert fig.layout.meta["alt"] and "seconds" in fig.layout.xaxis.title.text
    assert theme.points(fig) <= theme.MAX_POINTS


@MODES
def test_measured_is_solid_projected_hatched_and_unattributed_crossed(mode: theme.Mode) -> None:
    for trace in bars(charts.by_phase(made.projection(), mode)):
        shape = trace.marker.pattern.shape
        if trace.legendgroup == "unattributed":
            assert shape == "x"
        else:
            measured = set(trace.y) == {"H100 SXM"}
            assert shape == (None if measured else "/"), trace.name


@MODES
def test_every_phase_has_its_own_colour(mode: theme.Mode) -> None:
    colours = {p: charts.phase_marker(p, "measured", mode) for p in made.PHASES if p != "unattributed"}
    assert len({m["color"] for m in colours.values()}) == len(colours)


def test_rows_follow_the_table_and_an_unknown_one_says_why() -> None:
    fig = charts.by_phase(made.projection())
    assert list(fig.layout.yaxis.categoryarray) == list(made.NAMES.values())
    assert fig.layout.yaxis.range[0] > fig.layout.yaxis.range[1], "the oldest platform stands on top"
    assert "not published" in words(fig)
    assert total_of(fig, "Rubin Ultra NVL576") == 0


def test_whiskers_are_p10_to_p90_of_the_total() -> None:
    fig = charts.by_phase(made.projection())
    total = next(t for t in fig.data if t.name == charts.TOTAL)
    place = list(total.y).index("GB200 NVL72")
    step = made.step_s("gb200-nvl72")
    assert total.x[place] - total.error_x.arrayminus[place] == pytest.approx(0.8 * step)
    assert total.x[place] + total.error_x.array[place] == pytest.approx(1.2 * step)


def test_the_whole_step_rule_stands_beside_the_phases() -> None:
    fig = charts.by_phase(made.projection())
    rule = next(t for t in fig.data if t.name == charts.RULE)
    assert dict(zip(rule.y, rule.x, strict=True))["GB200 NVL72"] == pytest.approx(
        1.1 * made.step_s("gb200-nvl72")
    )


def test_hidden_time_is_left_out_and_said() -> None:
    rows = [r | {"exposed": r["phase"] != "train"} for r in made.phases()]
    fig = charts.by_phase(made.projection(phases=rows))
    assert "overlaps" in fig.layout.meta["subtitle"]
    assert 25.0 not in [x for t in bars(fig) if t.legendgroup == "train" for x in t.x]


def test_time_of_either_pool_fills_the_bar_up_to_the_step() -> None:
    rows = [r | ({"seconds": 0.0} if r["phase"] == "train" else {}) for r in made.phases()]
    fig = charts.by_phase(made.projection(phases=rows))
    either = next(t for t in bars(fig) if t.name == charts.EITHER)
    assert dict(zip(either.y, either.x, strict=True))["GB200 NVL72"] == pytest.approx(10)
    assert either.marker.pattern.shape == "."
    assert total_of(fig, "GB200 NVL72") == pytest.approx(made.step_s("gb200-nvl72"))
    assert charts.EITHER not in {t.name for t in charts.by_phase(made.projection()).data}


def test_a_step_without_phases_is_one_bar_that_says_so() -> None:
    fig = charts.by_phase(made.projection(phases=pd.DataFrame(made.phases()).iloc[:0]))
    assert {t.name for t in bars(fig)} == {charts.WHOLE}
    assert total_of(fig, "GB200 NVL72") == pytest.approx(made.step_s("gb200-nvl72"))


def test_a_negative_rest_is_drawn_left_of_zero() -> None:
    rows = [r | ({"seconds": -3.0} if r["phase"] == "unattributed" else {}) for r in made.phases()]
    fig = charts.by_phase(made.projection(phases=rows))
    assert fig.layout.barmode == "relative"
    assert min(x for t in bars(fig) for x in t.x) == -3


def test_the_csv_names_platform_phase_and_seconds() -> None:
    frame = drawn(charts.by_phase(made.projection()))
    row = frame[(frame["series"] == "Train") & (frame["y"] == "GB200 NVL72")]
    assert row["seconds a step"].tolist() == [10.0]
    total = frame[(frame["series"] == charts.TOTAL) & (frame["y"] == "GB200 NVL72")].iloc[0]
    assert (total["low"], total["high"]) == pytest.approx((0.8 * 58.5, 1.2 * 58.5))
    assert frame["seconds a step"].notna().all()


def test_two_targets_of_one_name_keep_apart() -> None:
    table = made.platforms()
    table[1]["platform"] = table[2]["platform"] = "Same <i>name</i>"
    names = charts.row_names(pd.DataFrame(table))
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_nothing_to_project_is_said_in_words(mode: theme.Mode) -> None:
    fig = charts.by_phase(made.empty(), mode)
    assert not fig.data and "say which platform ran it" in words(fig)


def test_made_up_data_says_so() -> None:
    assert "ynthetic" in charts.by_phase(made.projection(synthetic=True)).layout.meta["subtitle"]


def test_text_of_a_file_is_no_markup() -> None:
    rows: list[dict[str, Any]] = made.platforms()
    rows[1]["platform"] = "<b>x</b>"
    fig = charts.by_phase(made.projection(platforms=rows))
    assert "<b>x</b>" not in "".join(str(t.y) for t in fig.data)


def test_reports_draw_every_figure_of_the_question() -> None:
    drawn = figures.draw(made.projection())
    assert len(drawn) == len(figures.FIGURES["projection"])
    assert all(f.layout.meta["alt"] and theme.points(f) <= theme.MAX_POINTS for f in drawn)
    assert figures.draw(made.empty()) == []
