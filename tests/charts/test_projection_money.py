"""Dollars, GPUs and break-even prices: numbers of the tables, bands and verdicts that a reader can check."""

import numpy as np
import pytest

from charts import projection_bars as money_charts
from charts import projection_breakeven as even
from charts import theme
from charts.drawn import drawn
from tests.charts import made_projection as made
from tests.charts.test_projection import MODES, bars, words


@MODES
@pytest.mark.parametrize("column", list(money_charts.MEASURES))
def test_bars_are_the_known_values_of_the_table(column: str, mode: theme.Mode) -> None:
    result = made.projection()
    fig = money_charts.bars(result, column, mode)
    values = {y: x for t in bars(fig) for x, y in zip(t.x, t.y, strict=True)}
    known = result.tables["platforms"].dropna(subset=[column])
    assert values == pytest.approx(dict(zip(known["platform"], known[column], strict=True)))
    assert ("USD" in fig.layout.xaxis.title.text) == money_charts.MEASURES[column].usd
    assert {t.name: t.marker.pattern.shape for t in bars(fig)} == {"measured": None, "projected": "/"}
    assert fig.layout.meta["alt"]


def test_a_platform_without_a_price_says_so_and_has_no_bar() -> None:
    fig = money_charts.dollars(made.projection())
    assert "Vera Rubin NVL72" not in {y for t in bars(fig) for y in t.y}
    assert words(fig).count(money_charts.NO_PRICE) == 2


def test_a_step_time_out_of_reach_is_said() -> None:
    assert "no number of GPUs" in words(money_charts.gpus(made.projection()))


def test_an_unknown_gain_is_said() -> None:
    rows = [r | {"usd_per_point": made.NAN} for r in made.platforms()]
    fig = money_charts.per_point(made.projection(platforms=rows))
    assert not fig.data and "gain of this run is not known" in words(fig)


def test_dollar_whiskers() -> None:
    fig = money_charts.dollars(made.projection())
    bar = next(t for t in bars(fig) if t.name == "projected")
    usd = made.step_s("gb200-nvl72") * 64 * 4.4 / 3600
    assert bar.x[0] == pytest.approx(usd)
    assert bar.error_x.array[0] == pytest.approx(0.2 * usd)


@MODES
def test_the_break_even_band_and_its_quotes(mode: theme.Mode) -> None:
    fig = even.breakeven(made.projection(), mode)
    band = bars(fig)[0]
    for target, (_, low, high) in made.BREAK_EVEN.items():
        place = list(band.y).index(made.NAMES[target])
        assert (band.base[place], band.base[place] + band.x[place]) == pytest.approx((low, high))
    marks = {t.name: list(t.x) for t in fig.data if t.name.startswith("Quote")}
    assert marks == {"Quote: pays": [3.0], "Quote: does not pay": [4.4], "Quote: cannot tell": [3.2]}
    assert "no quote of this kind" in words(fig) and "$3.00 pays" in words(fig)
    assert "its step time is not known" in words(fig)


def test_verdicts_differ_in_shape_and_not_in_colour_alone() -> None:
    fig = even.breakeven(made.projection())
    shapes = [t.marker.symbol for t in fig.data if t.name.startswith("Quote")]
    assert len(set(shapes)) == len(shapes) == 3


def test_without_a_price_of_the_source_there_is_no_break_even() -> None:
    rows = [r | {"usd_per_gpu_h": made.NAN, "words": ""} for r in made.breakeven()]
    for draw in (even.breakeven, even.slope):
        fig = draw(made.projection(breakeven=rows))
        assert not fig.data and "no break-even" in words(fig)


@MODES
@pytest.mark.parametrize("target", list(made.BREAK_EVEN))
def test_the_slope_crosses_one_at_the_break_even(target: str, mode: theme.Mode) -> None:
    fig = even.slope(made.projection(), mode, target)
    price, low, high = made.BREAK_EVEN[target]
    line = next(t for t in fig.data if t.name == made.NAMES[target])
    assert np.interp(price, line.x, line.y) == pytest.approx(1)
    assert line.line.color == theme.palette(mode).accent
    frame = drawn(fig)
    band = frame[frame["series"] == "band"]
    at = "USD a GPU-hour on the new platform"
    assert np.interp(low, band[at], band["high"]) == pytest.approx(1)
    assert np.interp(high, band[at], band["low"]) == pytest.approx(1)
    others = [t for t in fig.data if t.mode == "lines" and t.name in made.NAMES.values() and t is not line]
    assert {t.line.color for t in others} == {theme.palette(mode).grey}


def test_quotes_lie_on_the_line_of_their_platform() -> None:
    fig = even.slope(made.projection(), "light", "gb200-nvl72")
    marks = [t for t in fig.data if t.mode == "markers"]
    assert [(t.x[0], t.y[0]) for t in marks] == [
        pytest.approx((4.4, 4.4 / 3.57)),
        pytest.approx((3.2, 3.2 / 3.57)),
    ]
    assert fig.layout.xaxis.range[1] > 4.9, "every break-even price is on the axis"


def test_judges_and_sandboxes_cost_something_at_a_price_of_nothing() -> None:
    """A fifth of today's step pays for sandboxes; a step that is 1.62 times as fast pays 0.2 / 1.62 of it."""
    rows = made.platforms()
    rows[0]["usd_per_step"] /= 0.8
    fig = even.slope(made.projection(platforms=rows), "light", "gb200-nvl72")
    line = next(t for t in fig.data if t.name == "GB200 NVL72")
    assert line.y[0] == pytest.approx(0.2 * 58.5 / 95)
    assert np.interp(3.57, line.x, line.y) == pytest.approx(1)


def test_an_unknown_target_of_the_slope_shows_another_that_it_names() -> None:
    fig = even.slope(made.projection(), "light", "nobody")
    assert "Vera Rubin NVL72 + GB200 NVL72" in fig.layout.meta["subtitle"]
