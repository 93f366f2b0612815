"""GPU utilisation: a measure by name with what it proves, a map, a timeline, coverage."""

import json
from collections.abc import Callable

from streamlit.testing.v1 import AppTest

from data.store import Store

App = Callable[..., AppTest]


def opened(app: App, **query: str | list[str]) -> AppTest:
    return app("utilisation.py", **query)


def words(at: AppTest) -> str:
    return " ".join(m.value.replace("\\", "") for m in [*at.markdown, *at.caption])


def test_a_measure_is_shown_with_what_it_does_not_prove(seen: App) -> None:
    at = opened(seen)
    assert not at.exception
    assert "Does not prove" in words(at)
    tables = [json.loads(c.proto.spec)["layout"]["meta"]["table"] for c in at.get("plotly_chart")]
    assert tables == ["ladder", "heat", "timeline", "track"]


def test_heat_rows_are_gpus_and_values_are_percent(seen: App) -> None:
    at = opened(seen)
    heat = json.loads(at.get("plotly_chart")[1].proto.spec)
    trace = heat["data"][0]
    assert (trace["zmin"], trace["zmax"]) == (0, 100)
    assert len(heat["layout"]["yaxis"]["ticktext"]) > 1
    assert "UTC" in heat["layout"]["xaxis"]["title"]["text"]


def test_a_measure_nobody_recorded_is_said_and_not_replaced(app: App, example: Store) -> None:
    at = opened(app)
    at.selectbox(key="ut_measure").set_value("gfx_activity").run()
    assert not at.exception
    assert "GFX activity (AMD): not recorded" in " ".join(c.value.replace("\\", "") for c in at.caption)
    answer = next(
        m.value.replace("\\", "")
        for m in at.markdown
        if "was not recorded; recorded:" in m.value.replace("\\", "")
    )
    assert "GFX activity (AMD)" in answer
    figures = [str(h.value) for h in at.get("html") if "ipd-figures" in str(h.value)]
    assert "Not known" in figures[1].split("</div>")[0]


def test_the_address_picks_run_and_measure(app: App, example: Store) -> None:
    at = opened(app, ut_run="gb200-sync", ut_measure="GFX activity (AMD)").run()
    assert not at.exception and not at.warning
    assert at.selectbox(key="ut_run").value == "gb200-sync"
    assert at.selectbox(key="ut_measure").value == "gfx_activity"


def test_a_measure_that_does_not_exist_is_named(app: App, example: Store) -> None:
    at = opened(app, ut_measure="warp_speed")
    assert any("warp" in w.value for w in at.warning)
    assert at.selectbox(key="ut_measure").value == "gpu_util"


def test_an_empty_home_offers_the_example(app: App) -> None:
    at = opened(app)
    assert not at.exception
    assert any("example" in b.label.lower() for b in at.button)


def test_a_stall_is_listed_with_its_length_dollars_and_evidence(app: App, example: Store) -> None:
    at = opened(app, ut_run="h100-async")
    assert not at.exception
    assert "GPU-hours" in words(at)
    at.number_input(key="ut_stall_min").set_value(600.0).run()
    assert not at.exception
    assert "No stall was found" in words(at)
