"""The frame: navigation, shared controls, the address, and what a bad address says."""

import io
from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from data.examples.generate import remove_example
from data.ingest import ingest_file
from data.store import Store
from pages.parts import state

App = Callable[..., AppTest]


def _warnings(at: AppTest) -> str:
    return " ".join(w.value.replace("\\", "") for w in at.warning)


def test_an_empty_home_shows_the_frame_and_offers_the_example(app: App) -> None:
    at = app()
    assert not at.exception
    assert at.multiselect(key="runs").disabled
    assert at.selectbox(key="price").value == "reserved_3y.neocloud"
    assert at.get_by_key("boundary").value == "campaign"
    assert any("example" in b.label for b in at.button)
    assert not at.warning


def test_no_parameter_means_all_runs_and_the_defaults(seen: App) -> None:
    at = seen()
    assert not at.exception
    assert at.multiselect(key="runs").options == ["gb200-async", "gb200-sync", "h100-sync"]
    common = at.session_state["_page_state"].common
    assert common.runs == ()
    assert common.platforms == ()
    assert (common.price, common.boundary) == ("reserved_3y.neocloud", "campaign")


def test_an_address_restores_every_shared_control(app: App, example: Store) -> None:
    at = app(
        runs=["h100-sync", "gb200-async"],
        price="on_demand.neocloud",
        boundary="full",
        platforms=["gb200-nvl72"],
    )
    assert not at.exception
    assert not at.warning
    common = at.session_state["_page_state"].common
    assert common.runs == ("h100-sync", "gb200-async")
    assert (common.price, common.boundary) == ("on_demand.neocloud", "full")
    assert common.platforms == ("gb200-nvl72",)
    assert at.query_params["runs"] == ["h100-sync", "gb200-async"]


BAD = {
    "runs": (["gone", "h100-sync"], "run 'gone'"),
    "price": ("on_demand.moon", "price 'on_demand.moon'"),
    "boundary": ("half", "cost boundary 'half'"),
    "platforms": (["tpu-v9"], "platform 'tpu-v9'"),
    "run": ("h100-sync", "'run', which no control"),
}


def test_every_bad_value_is_named_and_the_page_still_works(app: App, example: Store) -> None:
    at = app(**{param: value for param, (value, _) in BAD.items()})
    assert not at.exception
    for _, named in BAD.values():
        assert named in _warnings(at)
    assert at.session_state["_page_state"].common.runs == ("h100-sync",)


@pytest.mark.parametrize("param", [pytest.param(param, marks=pytest.mark.full) for param in BAD])
def test_a_bad_value_alone_is_named(app: App, example: Store, param: str) -> None:
    value, named = BAD[param]
    assert named in _warnings(app(**{param: value}))


def test_an_empty_price_is_named(app: App) -> None:
    at = app(price="")
    assert not at.exception
    assert "an empty price" in _warnings(at)


def test_the_notice_stays_until_its_control_is_used(app: App, example: Store) -> None:
    at = app(price="on_demand.moon")
    at.run()
    assert "on_demand.moon" in _warnings(at)
    at.selectbox(key="price").select("on_demand.neocloud").run()
    assert not at.warning


def test_the_notice_can_be_dismissed(app: App, example: Store) -> None:
    at = app(runs=["gone"])
    at.button(key="dismiss_notices").click().run()
    assert not at.warning


def test_a_run_that_goes_while_it_is_picked_is_named(app: App, loaded: Store) -> None:
    at = app(runs=["h100-sync"])
    remove_example(loaded)
    at.run()
    assert not at.exception
    assert "run 'h100-sync'" in _warnings(at)
    assert at.session_state["_page_state"].common.runs == ()


def test_shared_controls_survive_a_change_of_page(app: App, example: Store) -> None:
    at = app(runs=["gb200-sync"], boundary="compute")
    for page in ("telemetry.py", "overview.py"):
        at.switch_page(page).run()
        assert not at.exception
        common = at.session_state["_page_state"].common
        assert (common.runs, common.boundary) == (("gb200-sync",), "compute")


def test_the_synthetic_example_is_labelled_and_leaves_with_one_click(app: App, loaded: Store) -> None:
    at = app()
    assert any("Synthetic example" in c.value for c in at.sidebar.caption)
    at.button(key="remove_example").click().run()
    assert not at.exception
    assert at.multiselect(key="runs").options == []
    assert not any("Synthetic example" in c.value for c in at.sidebar.caption)


def test_the_foot_says_cut_off_book_and_version(seen: App) -> None:
    foot = " ".join(c.value for c in seen().sidebar.caption)
    assert "Data until 02 Nov 2026" in foot
    assert "Price book 20" in foot
    assert "Version 0." in foot


def _beside_the_example(store: Store) -> None:
    """A run of one's own in the home of the example."""
    steps = "run,attempt,step,step_s,tok_prompt,tok_gen\nmine,1,1,95,10000,75000\nmine,1,2,95,10000,75000\n"
    ingest_file(store, io.BytesIO(steps.encode()), "steps.csv")


def _runs(at: AppTest) -> tuple[str, ...]:
    assert not at.exception
    return at.session_state["_page_state"].common.runs


def _lines(at: AppTest) -> list[str]:
    return [c.value for c in at.sidebar.caption]


def test_own_runs_leave_the_example_out_until_it_is_asked_for(app: App, loaded: Store) -> None:
    assert not app().toggle
    _beside_the_example(loaded)
    at = app()
    assert _runs(at) == ("mine",) and "Example left out" in _lines(at)
    assert at.multiselect(key="runs").placeholder == "Your 1 run"
    assert set(at.dataframe[0].value["run"]) == {"mine"}
    at.toggle(key="example").set_value(True).run()
    assert _runs(at) == () and "Example shown beside yours" in _lines(at) and not at.warning
    assert at.multiselect(key="runs").placeholder == "All 4 runs"
    at.multiselect(key="runs").select("h100-sync").run()
    assert _runs(at) == ("h100-sync",) and "Only the picked runs" in _lines(at)


@pytest.mark.full
def test_an_address_says_whether_the_example_is_shown(app: App, loaded: Store) -> None:
    """One with picked runs, as it was copied before there was a switch, shows these."""
    assert "'example'" not in _warnings(app(example="true"))
    _beside_the_example(loaded)
    assert _runs(app(runs=["h100-sync", "mine"])) == ("h100-sync", "mine")
    both = app(example="true")
    assert _runs(both) == () and both.query_params["example"] == "true"
    assert both.multiselect(key="runs").placeholder == "All 4 runs" and not both.warning
    bad = app(example="perhaps")
    assert _runs(bad) == ("mine",) and "example 'perhaps'" in _warnings(bad)


def test_a_page_without_the_router_says_so() -> None:
    def script() -> None:
        from pages.parts.state import current

        current()

    at = AppTest.from_function(script).run()
    assert at.exception


@pytest.mark.parametrize("text", ["*bold*", "a_b_c", "$1 and $2", ":red[x]", "[a](http://x)", "`x`", "<b>"])
def test_names_never_act_as_markdown(text: str) -> None:
    escaped = state.escape(text)
    assert escaped.replace("\\", "").replace("\u200b", "") == text
    for position, char in enumerate(escaped):
        if char in "*_$:[`<":
            assert escaped[position - 1] == "\\"


def test_what_happened_to_the_home_is_said_until_it_is_dismissed(app: App, example: Store) -> None:
    example.notices.append("Telemetry was rebuilt from 3 original files.")
    try:
        at = app()
        assert any("rebuilt from 3" in item.value for item in at.info)
        at.button(key="home_notices_dismiss").click().run()
        assert not any("rebuilt" in item.value for item in at.info)
        example.notices.append("Another thing.")
        assert [item.value for item in at.run().info if "thing" in item.value or "rebuilt" in item.value] == [
            "Another thing."
        ]
    finally:
        example.notices.clear()
