"""Rent or own: refuses without a cost of capital, answers with one, keeps the answer as a price."""

from collections.abc import Callable

from streamlit.testing.v1 import AppTest

from data.store import Store

App = Callable[..., AppTest]


def opened(app: App, **query: str) -> AppTest:
    return app(**query).switch_page("tenure.py").run()


def answer(at: AppTest) -> str:
    texts = [m.value.replace("\\", "") for m in at.markdown]
    return next(t for t in texts if "cost of capital" in t or "Cheapest for" in t or "say how many" in t)


def test_without_a_cost_of_capital_the_answer_asks_for_it(app: App, loaded: Store) -> None:
    at = opened(app)
    assert not at.exception
    assert "no published number was found" in answer(at)
    assert len(at.get("plotly_chart")) == 2
    assert at.number_input(key="own_unit_usd").placeholder


def test_with_one_it_compares_and_keeps_the_price(app: App, loaded: Store) -> None:
    at = opened(app, own_wacc_frac="10", own_gpus="64", own_used="60", own_buy="H100 SXM")
    assert not at.exception
    assert "Cheapest for 64 H100 SXM" in answer(at)
    assert len(at.get("plotly_chart")) == 8
    at.button(key="own_use").click().run()
    assert not at.exception
    with loaded.view() as view:
        kept = view.catalogue.versions_of("yours-own-h100-sxm")[-1]
    assert (kept.kind, kept.tier, kept.status) == ("own_tco", "owned", "user")
    assert kept.value is not None and 2 < kept.value < 3
    assert "Hardware" in kept.note and "wacc_frac=0.1" in kept.note
    at.button(key="own_use").click().run()
    with loaded.view() as view:
        assert len(view.catalogue.versions_of("yours-own-h100-sxm")) == 2


def test_an_empty_home_asks_for_a_fleet(app: App) -> None:
    at = opened(app, own_wacc_frac="8")
    assert not at.exception
    assert "say how many GPUs you need" in answer(at)
