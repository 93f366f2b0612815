"""Rent or own: refuses without a cost of capital, answers with one, keeps the answer as a price."""

from collections.abc import Callable

from streamlit.testing.v1 import AppTest

from data.store import Store

App = Callable[..., AppTest]


def opened(app: App, **query: str) -> AppTest:
    return app("tenure.py", **query)


def answer(at: AppTest) -> str:
    texts = [m.value.replace("\\", "") for m in at.markdown]
    return next(t for t in texts if "cost of capital" in t or "Cheapest for" in t or "say how many" in t)


def test_without_a_cost_of_capital_the_answer_asks_for_it(seen: App) -> None:
    at = opened(seen)
    assert not at.exception
    assert "no published number was found" in answer(at)
    assert len(at.get("plotly_chart")) == 2
    assert at.number_input(key="own_unit_usd").placeholder
    at.button(key="own_try_10").click().run()  # the click that supplies it
    assert not at.exception and "Cheapest for" in answer(at)
    assert at.number_input(key="own_wacc_pct").value == 10
    assert at.text_input(key="sc_name")  # scenarios, once there is an answer to save


def test_with_one_it_compares_and_keeps_the_price(app: App, loaded: Store) -> None:
    at = opened(app, own_wacc_pct="10", own_gpus="64", own_used="60", own_buy="H100 SXM")
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


def test_an_old_address_that_called_a_percent_a_fraction_is_refused_in_words(
    app: App, example: Store
) -> None:
    at = opened(app, own_wacc_frac="10", own_network_frac="5", own_gpus="64", own_buy="H100 SXM")
    assert not at.exception
    said = " ".join(w.value.replace("\\", "") for w in at.warning)
    assert "'own_wacc_frac=10'" in said and "'own_wacc_pct'" in said and "'own_network_pct'" in said
    assert at.number_input(key="own_wacc_pct").value is None
    assert at.number_input(key="own_network_pct").value is None
    assert "no published number was found" in answer(at)
    at.number_input(key="own_wacc_pct").set_value(10.0).run()
    assert "Cheapest for 64 H100 SXM" in answer(at)


def test_an_empty_home_asks_for_a_fleet(app: App) -> None:
    at = opened(app, own_wacc_pct="8")
    assert not at.exception
    assert "say how many GPUs you need" in answer(at)
