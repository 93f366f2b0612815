"""What the answer rests on, and what claims would leave of it."""

import pytest

from charts import projection_drivers as charts
from charts import theme
from tests.charts import made_projection as made
from tests.charts.test_projection import MODES, words


@MODES
def test_drivers_are_shares_of_one_target(mode: theme.Mode) -> None:
    fig = charts.drivers(made.projection(), mode, "gb200-nvl72")
    seconds = next(t for t in fig.data if t.name == charts.SECONDS)
    blur = next(t for t in fig.data if t.name == charts.VARIANCE)
    assert sum(seconds.x) == pytest.approx(100)
    assert seconds.y[0] == "Rollout: full batch" and seconds.x[0] == pytest.approx(100 * 16 / 58.5)
    assert dict(zip(blur.y, blur.x, strict=True))["Train"] == pytest.approx(60)
    assert seconds.marker.symbol != blur.marker.symbol
    assert "GB200 NVL72" in fig.layout.meta["subtitle"]


def test_shares_below_a_percent_are_not_spelled_out() -> None:
    tiny = {"train": 1e-17, "env": -3e-6, "prefill": 0.0}
    rows = [r | {"variance_frac": tiny.get(r["phase"], r["variance_frac"])} for r in made.drivers()]
    told = words(charts.drivers(made.projection(drivers=rows), "light", "gb200-nvl72"))
    assert "17 % of the step, under 1 % of the uncertainty" in told
    assert "0.00" not in told and "-0" not in told


def test_no_drivers_are_said() -> None:
    fig = charts.drivers(made.empty())
    assert not fig.data and "not timed" in words(fig)


@MODES
def test_claims_show_the_step_without_and_with_them(mode: theme.Mode) -> None:
    fig = charts.claims(made.projection(), mode)
    step = made.step_s("vera-rubin-nvl72")
    ends = {t.name: list(t.x) for t in fig.data if t.type == "scatter"}
    assert ends["without the claim"] == [pytest.approx(step)]
    assert ends["with the claim"] == [pytest.approx(step - 4.5)]
    change = next(t for t in fig.data if t.type == "bar")
    assert change.base[0] + change.x[0] == pytest.approx(step - 4.5)
    assert change.marker.pattern.shape == ".", "assumed is dotted"
    assert "of the whole step" in words(fig) and "<a href" not in words(fig)


def test_a_claim_that_does_not_apply_draws_nothing() -> None:
    rows = [r | {"applies": False} for r in made.claims()]
    fig = charts.claims(made.projection(claims=rows))
    assert not fig.data and "No claim is switched on" in words(fig)


def test_reports_draw_no_claims_when_none_is_asked() -> None:
    assert not charts.claims(made.empty()).data
