"""Colours, marks and frames: stable, legible, and honest about what nobody attributed."""

import itertools

import plotly.graph_objects as go
import pytest
from hypothesis import given
from hypothesis import strategies as st

from charts import theme


def luminance(colour: str) -> float:
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, two: str) -> float:
    high, low = sorted((luminance(one), luminance(two)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_run_colours_stand_out_from_the_page(mode: theme.Mode) -> None:
    colours = theme.palette(mode)
    assert len(set(colours.runs)) == len(colours.runs) >= 10
    assert all(contrast(c, colours.surface) >= 3 for c in colours.runs)
    assert contrast(colours.text, colours.surface) >= 7
    assert contrast(colours.quiet, colours.surface) >= 4.5


def simulate_deuteranopia(colour: str) -> tuple[float, ...]:
    """Machado et al. 2009, severity 1, applied to linear light."""
    rgb = [(int(colour[i : i + 2], 16) / 255) ** 2.2 for i in (1, 3, 5)]
    rows = ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881))
    return tuple(max(0.0, sum(w * c for w, c in zip(row, rgb, strict=True))) ** (1 / 2.2) for row in rows)


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_no_two_run_colours_merge_without_green_cones(mode: theme.Mode) -> None:
    seen = [simulate_deuteranopia(c) for c in theme.palette(mode).runs]
    for one, two in itertools.combinations(seen, 2):
        assert sum((a - b) ** 2 for a, b in zip(one, two, strict=True)) ** 0.5 > 0.06


NAMES = st.lists(st.text(max_size=10), max_size=24, unique=True)


@given(NAMES, NAMES)
def test_a_run_keeps_its_colour_when_others_come_later(runs: list[str], later: list[str]) -> None:
    before = theme.run_colours(runs)
    after = theme.run_colours([*runs, *later])
    assert {run: after[run] for run in runs} == before


@pytest.mark.parametrize("mode", ["light", "dark"])
@given(runs=st.lists(st.text(max_size=10), min_size=1, max_size=10, unique=True))
def test_ten_runs_of_a_home_have_ten_colours(mode: theme.Mode, runs: list[str]) -> None:
    assert len(set(theme.run_colours(runs, mode).values())) == len(runs)


def test_a_figure_takes_the_colours_of_the_home() -> None:
    home = theme.run_colours([f"run-{i}" for i in range(9)])
    styles = theme.run_styles(["run-7", "run-3"], colours=home)
    assert {run: style["colour"] for run, style in styles.items()} == {r: home[r] for r in ("run-3", "run-7")}


@given(st.sets(st.text(max_size=10), min_size=1, max_size=30))
def test_runs_of_one_figure_differ_in_colour_or_marker(runs: set[str]) -> None:
    styles = theme.run_styles(runs)
    marks = [(s["colour"], s["symbol"]) for s in styles.values()]
    assert len(set(marks)) == len(marks)


def test_names_are_spread_over_the_palette() -> None:
    used = [theme.run_colours([f"run-{i}"])[f"run-{i}"] for i in range(200)]
    assert len(set(used)) == len(theme.LIGHT.runs)


def test_unattributed_and_projected_are_hatched_assumed_dotted_measured_solid() -> None:
    assert theme.phase_marker("unattributed")["pattern"]["shape"]
    assert theme.phase_marker("outside_steps")["pattern"]["shape"]
    assert "pattern" not in theme.phase_marker("rollout")
    assert "pattern" not in theme.status_marker("#000000", "measured")
    assert theme.status_marker("#000000", "projected")["pattern"]["shape"] == "/"
    assert theme.status_marker("#000000", "assumed")["pattern"]["shape"] == "."
    assert (theme.status_dash("measured"), theme.status_dash("assumed")) == ("solid", "dot")


def test_phases_come_in_step_order_and_unknown_ones_are_kept() -> None:
    order = theme.ordered_phases({"unattributed", "train", "zzz", "rollout"})
    assert order == ["rollout", "train", "zzz", "unattributed"]


def test_phase_names_cannot_carry_markup() -> None:
    assert "<" not in theme.phase_label("<b>x</b>")


def figure(names: list[str]) -> go.Figure:
    return go.Figure([go.Scatter(x=[1, 2], y=[3, 4], name=n) for n in names])


def test_a_dressed_figure_says_what_it_shows() -> None:
    fig = theme.apply(
        figure(["a", "b", "c"]),
        title="Step time",
        alt="two\n lines",
        table="steps",
        x="step",
        y="seconds (s)",
    )
    meta = fig.layout.meta
    assert (meta["alt"], meta["table"], meta["mode"]) == ("two lines", "steps", "light")
    assert fig.layout.title.text == "<b>Step time</b>"
    assert fig.layout.yaxis.title.text == "seconds (s)"
    assert fig.layout.legend.orientation == "h" and fig.layout.legend.y < 0


def test_the_legend_gets_its_own_room() -> None:
    few = theme.apply(figure(["a", "b"]), title="t", alt="a", table="x")
    many = theme.apply(figure([f"run {i}" for i in range(14)]), title="t", alt="a", table="x")
    grown = many.layout.height - few.layout.height
    assert grown > 0
    assert many.layout.margin.b - few.layout.margin.b == grown
    assert (few.layout.legend.yanchor, many.layout.legend.yanchor) == ("top", "bottom")


def test_long_titles_wrap_for_a_phone() -> None:
    fig = theme.apply(figure(["a"]), title="word " * 30, alt="a", table="x")
    assert all(len(line) <= theme.TITLE_WRAP + len("<b></b>") for line in fig.layout.title.text.split("<br>"))


def test_a_chart_without_words_is_refused() -> None:
    with pytest.raises(ValueError, match="alternative text"):
        theme.apply(figure(["a"]), title="t", alt=" ", table="x")


def test_an_empty_chart_gives_its_reason_escaped() -> None:
    fig = theme.empty("no <b>evals</b> yet", title="Score", table="curve")
    assert "&lt;b&gt;evals" in fig.layout.annotations[0].text
    assert fig.layout.meta["alt"] == "Score: no <b>evals</b> yet"


@given(st.integers(0, 10**6), st.integers(1, 5000))
def test_thinning_meets_the_limit(rows: int, limit: int) -> None:
    assert -(-rows // theme.thin(rows, limit)) <= limit


def test_points_count_cells_and_the_longest_side() -> None:
    fig = go.Figure([go.Heatmap(z=[[1, 2], [3, 4]]), go.Scatter(x=[1, 2, 3], y=[1, 2, 3])])
    assert theme.points(fig) == 7


def test_a_run_keeps_its_marker_and_dash_whatever_else_is_drawn() -> None:
    runs = [f"run-{i}" for i in range(14)]
    home = theme.run_colours(runs)
    whole = theme.run_styles(runs, colours=home)
    marks = [(s["colour"], s["symbol"], s["dash"]) for s in whole.values()]
    assert len(set(marks)) == len(runs)
    assert sum(s["dash"] != "solid" for s in whole.values()) == 4
    for run in runs:
        assert theme.run_styles([run], colours=home)[run] == whole[run]


def test_the_words_over_a_chart_take_less_room_than_its_margin() -> None:
    one, three = (
        theme.apply(figure(["a"]), title="Step time", subtitle=words, alt="a", table="x")
        for words in ("", "a phase that nobody told " * 4)
    )
    for fig, lines, under in ((one, 1, 8), (three, 3, theme.PANEL_NAME_PX)):
        assert fig.layout.title.text.count("<br>") == lines - 1
        assert fig.layout.margin.t - theme.heading_px(fig) == under
    assert theme.heading_px(one) >= 8 + 16, "the figure's own title, 16 px below its upper edge, is covered"
    assert theme.heading_px(go.Figure()) == 0
