"""Rollouts: phases per step in seconds or dollars, the bottleneck in words, lengths, unit costs."""

import json
from collections.abc import Callable

from streamlit.testing.v1 import AppTest

from data.store import Store

App = Callable[..., AppTest]


def specs(at: AppTest) -> dict[str, dict]:
    drawn = [json.loads(chart.proto.spec) for chart in at.get("plotly_chart")]
    return {s["layout"]["title"]["text"].split("<br>")[0]: s for s in drawn}


def opened(app: App, **query: str | list[str]) -> AppTest:
    return app("rollouts.py", **query)


def test_the_bottleneck_is_said_and_drawn(seen: App) -> None:
    at = opened(seen)
    assert not at.exception
    assert any("of the step" in m.value and "instead of" in m.value for m in at.markdown)
    stack = next(s for title, s in specs(at).items() if "Each step by phase, in seconds" in title)
    assert "(s)" in stack["layout"]["yaxis"]["title"]["text"]
    hatched = {t["name"] for t in stack["data"] if t["marker"].get("pattern", {}).get("shape")}
    assert hatched == {"Unattributed"}


def test_a_step_in_dollars_is_one_click_away(app: App, example: Store) -> None:
    at = opened(app)
    at.get_by_key("ro_unit").set_value("dollars").run()
    assert not at.exception
    stack = next(s for title, s in specs(at).items() if "in dollars" in title and "step" in title)
    assert "USD" in stack["layout"]["yaxis"]["title"]["text"]


def test_lengths_throughput_and_unit_costs_are_drawn(seen: App) -> None:
    titles = " ".join(specs(opened(seen)))
    for words in ("if one phase were free", "per second", "length by step", "length limit", "Unit costs"):
        assert words in titles


def test_no_chart_holds_too_many_points(seen: App) -> None:
    drawn = specs(opened(seen)).values()
    assert drawn
    for spec in drawn:
        assert sum(len(t.get("customdata", [])) for t in spec["data"]) <= 4_500


def test_an_empty_home_offers_the_example(app: App) -> None:
    at = opened(app)
    assert not at.exception
    assert any("example" in b.label.lower() for b in at.button)
