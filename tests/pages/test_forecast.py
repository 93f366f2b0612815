"""Forecast: months against a budget, a forecast kept and found again, commitments by the inputs of owning."""

from collections.abc import Callable

from streamlit.testing.v1 import AppTest

import analysis
from data.forecasts import kept, newest_id
from data.store import Store

App = Callable[..., AppTest]


def opened(app: App, **query: str | list[str]) -> AppTest:
    """The page as a link opens it."""
    at = app("forecast.py", **query)
    assert not at.exception
    return at


def said(at: AppTest) -> str:
    parts = [m.value for kind in ("markdown", "caption", "error", "warning") for m in at.get(kind)]
    return "\n".join(parts).replace("\\", "").replace("\u00a0", " ")


def frame(at: AppTest, column: str):
    return next(d.value for d in at.dataframe if column in d.value.columns)


def test_a_budget_of_the_address_is_held_against_each_month(app: App, example: Store) -> None:
    at = opened(app, fo_months="3", fo_budget_usd_month="5000", fo_growth_pct_month="2")
    with example.view() as view:
        asked = {"months": 3, "budget_usd_month": 5000, "growth_frac_month": 0.02}
        alone = analysis.run("forecast", view, asked)
    months = frame(at, "over_frac")
    assert list(months["usd_p50"]) == list(alone.tables["months"]["usd_p50"])
    assert list(months["over_frac"]) == [100 * v for v in alone.tables["months"]["over_frac"]]
    assert set(months["budget_usd"]) == {5000}
    assert " ".join(alone.answer.split()) in said(at)


def test_a_forecast_is_kept_with_its_inputs_and_waits_for_its_months(app: App, loaded: Store) -> None:
    at = opened(app, fo_months="2")
    at.text_input(key="fo_note").set_value("after planning")
    next(b for b in at.button if b.label == "Keep").click().run()
    assert not at.exception
    (one,) = kept(loaded.workspace)
    assert (one.id, one.note, one.params["months"]) == (newest_id(loaded.workspace), "after planning", 2)
    waiting = opened(app, fo_part="Kept forecasts")
    assert "after planning" in list(frame(waiting, "note")["note"])


def test_a_plan_that_cannot_be_read_is_refused_in_words(app: App, example: Store) -> None:
    at = opened(app, fo_plan="math-v4 soon 480")
    assert "plan" in said(at) and at.error


def test_commitments_take_the_inputs_of_owning(app: App, example: Store) -> None:
    at = opened(
        app, fo_part="Commitments", own_gpus="64", own_used="60", own_wacc_pct="10", own_buy="H100 SXM",
        cm_horizon="1 year",
    )  # fmt: skip
    with example.view() as view:
        asked = {
            "gpus": 64,
            "utilisation_frac": 0.6,
            "wacc_frac": 0.1,
            "buy": "h100-sxm",
            "horizon_months": 12,
        }
        alone = analysis.run("commitments", view, asked)
    assert list(frame(at, "own_units")["expected_usd"].dropna()) == list(
        alone.tables["options"]["expected_usd"].dropna()
    )
    assert len(at.get("plotly_chart")) == 2
