"""Intelligence per dollar: the verdict first, a forest plot with its zero line, an axis to choose."""

import json
from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from data.store import Store

App = Callable[..., AppTest]


def opened(app: App, **query: str | list[str]) -> AppTest:
    return app("intelligence.py", **query)


def specs(at: AppTest) -> list[dict]:
    return [json.loads(c.proto.spec) for c in at.get("plotly_chart")]


def test_verdicts_come_in_words_before_the_forest(seen: App) -> None:
    at = opened(seen)
    assert not at.exception
    verdicts = [
        m.value for m in at.markdown if "-badge[" in m.value and "MATH-500" in m.value.replace("\\", "")
    ]
    assert verdicts and any(word in verdicts[0] for word in ("better", "cannot tell", "worse"))
    forest = specs(at)[0]
    assert forest["layout"]["meta"]["table"] == "gains"
    assert forest["layout"]["shapes"][0]["x0"] == 0
    assert "points" in forest["layout"]["xaxis"]["title"]["text"]


@pytest.mark.parametrize(
    ("x", "unit"),
    [
        pytest.param("gpu_hours", "GPU-h", marks=pytest.mark.full),
        ("tokens", "tokens"),
        pytest.param("usd", "USD", marks=pytest.mark.full),
    ],
)
def test_the_axis_can_be_chosen(app: App, example: Store, x: str, unit: str) -> None:
    at = opened(app)
    at.get_by_key("in_x").set_value(x).run()
    assert not at.exception
    curve = next(s for s in specs(at) if s["layout"]["meta"]["table"] == "points")
    assert unit in curve["layout"]["xaxis"]["title"]["text"]


def test_runs_are_grouped_by_platform_generation(seen: App) -> None:
    at = opened(seen)
    tables = [d.value for d in at.dataframe]
    grouped = next(t for t in tables if "generation" in t.columns and "runs" in t.columns)
    assert set(grouped["generation"]) == {"Hopper", "Blackwell"}
    assert grouped["runs"].sum() == 3


def test_another_baseline_changes_the_comparison(app: App, example: Store) -> None:
    at = opened(app)
    at.selectbox(key="in_before").set_value("first_logged").run()
    assert not at.exception
    gains = next(d.value for d in at.dataframe if "before_label" in d.value.columns)
    assert set(gains["before_label"]) == {"first logged"}


def test_the_address_restores_the_controls_and_a_bad_one_is_named(app: App, example: Store) -> None:
    at = opened(app, in_benchmark="MATH-500", in_x="GPU-hours", in_after="Tomorrow")
    assert not at.exception
    assert at.selectbox(key="in_benchmark").value == "math-500"
    assert at.get_by_key("in_x").value == "gpu_hours"
    assert any("Tomorrow" in w.value for w in at.warning)
    gains = next(d.value for d in at.dataframe if "before_label" in d.value.columns)
    assert set(gains["benchmark"]) == {"MATH-500"}


def test_an_empty_home_offers_the_example(app: App) -> None:
    at = opened(app)
    assert not at.exception
    assert any("example" in b.label.lower() for b in at.button)


def test_the_front_and_the_buckets_are_drawn_and_every_lever_is_in_the_address(
    app: App, example: Store
) -> None:
    at = opened(
        app,
        in_rate="Log-odds per $1k",
        in_correlation="0.5",
        in_weigh="MATH-500",
        in_front="Every checkpoint",
    )
    assert not at.exception
    drawn = {s["layout"]["meta"]["table"]: s for s in specs(at)}
    assert {"gains", "rates", "points", "candidates", "buckets"} <= set(drawn)
    assert "Nats per $1,000" in drawn["rates"]["layout"]["xaxis"]["title"]["text"]
    assert at.number_input(key="in_correlation").value == 0.5
    weighted = next(d.value for d in at.dataframe if "name" in d.value.columns and "gain" in d.value.columns)
    assert set(weighted["name"]) == {"Gain, weighted 100 % MATH-500"}
