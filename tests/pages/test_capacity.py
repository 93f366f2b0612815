"""Capacity: inputs in the user's words reach the question, and scenarios are saved, compared and shared."""

from collections.abc import Callable
from urllib.parse import parse_qs, urlsplit

import pytest
from streamlit.testing.v1 import AppTest

import analysis
from data.scenarios import Scenarios
from data.store import Store
from pages.parts.capacity_plans import PLANS
from pages.parts.scenario_bar import address_of

App = Callable[..., AppTest]
STATED = {
    "ca_basis": "A known step", "ca_step_s": "600", "ca_step_gpus": "64", "ca_step_on": "H100 SXM",
    "ca_on": ["H100 SXM", "GB200 NVL72", "GB300 NVL72"], "ca_steps": "400",
}  # fmt: skip


def opened(app: App, **query: str | list[str]) -> AppTest:
    """The page as a link opens it."""
    at = app("capacity.py", **query)
    assert not at.exception
    assert not at.error, [e.value for e in at.error]
    return at


def answer(at: AppTest) -> str:
    return next(m.value.replace("\\", "") for m in at.markdown if "rack" in m.value or "GPUs" in m.value)


def frame(at: AppTest, column: str):
    return next(d.value for d in at.dataframe if column in d.value.columns)


def click(at: AppTest, label: str) -> AppTest:
    next(b for b in at.button if b.label == label).click().run()
    assert not at.exception
    return at


def test_weekly_by_saturday_at_noon_with_ninety_percent_is_what_the_question_is_asked(
    app: App, example: Store
) -> None:
    at = opened(app, **STATED, ca_day="Saturday", ca_hour="12:00", ca_sure="90", ca_pay="While it runs")
    asked = {
        "basis": "stated", "step_s": 600, "step_gpus": 64, "step_platform": "h100-sxm", "steps": 400,
        "targets": ["h100-sxm", "gb200-nvl72", "gb300-nvl72"], "period_h": 168, "deadline_h": 5 * 24 + 12,
        "wanted": 0.9, "pay": "cycle",
    }  # fmt: skip
    with example.view() as view:
        alone = analysis.run("cadence", view, asked)
    shown = frame(at, "p_finish")
    assert list(shown["platform"]) == list(alone.tables["platforms"]["platform"])
    assert list(shown["gpus"]) == list(alone.tables["platforms"]["gpus"])
    assert answer(at) == " ".join(alone.answer.split()).replace(" %", "\u00a0%")
    assert at.number_input(key="ca_steps").value == 400
    assert len(at.get("plotly_chart")) == 2


def test_what_is_refused_stands_beside_the_form_under_the_title(app: App, example: Store) -> None:
    at = app("capacity.py", **STATED, ca_share="evals:gpus=8,hours=3\nevals:gpus=64,hours=9")
    assert [title.value for title in at.title] == ["Capacity"] and not at.exception
    (told,) = at.columns[1].error
    assert "two programmes are called" in told.value and "Value error" not in told.value
    assert "'evals:gpus=8,hours=3, evals" in told.value.replace("\\", "")


def test_what_an_address_asks_in_vain_is_named(app: App, example: Store) -> None:
    at = app("capacity.py", **STATED, ca_sure="400", ca_every="hourly", ca_goodput="0.5")
    said = " ".join(w.value.replace("\\", "") for w in at.warning)
    assert "'400', which is no number from 50 to 99.9" in said and "'hourly'" in said
    assert "'ca_goodput'" in said, "percents are called percents in the address"
    assert not at.exception


@pytest.fixture
def compared(app: App, loaded: Store) -> tuple[AppTest, Scenarios]:
    """A view that was saved, changed, and held against what was saved."""
    at = opened(app, **STATED)
    at.text_input(key="sc_name").set_value("as it is")
    click(at, "Save")
    at.number_input(key="ca_steps").set_value(800.0).run()
    at.multiselect(key="sc_with").set_value(["as it is"]).run()
    assert not at.exception
    return at, Scenarios(loaded.workspace)


def test_a_scenario_is_saved_compared_copied_deleted_and_brought_back(
    app: App, compared: tuple[AppTest, Scenarios]
) -> None:
    at, book = compared
    inputs = frame(at, "input")
    differing = inputs[inputs["differs"] != ""]
    assert [list(row) for row in differing.drop(columns=["unit", "differs"], errors="ignore").to_numpy()] == [
        [differing["input"].iloc[0], "800", "400"]
    ]
    assert "They differ in 1 input" in " ".join(m.value for m in at.markdown)
    shared = [b.key for b in at.button if str(b.key).startswith("share_")]
    assert shared == ["share_cadence"], "one share bar freezes the view with its comparison"
    (kept,) = book.all()
    assert dict(kept.content.asked[0].params)["steps"] == 400
    query = parse_qs(urlsplit(address_of(kept)).query)
    assert query["ca_on"] == STATED["ca_on"] and "sc_with" not in query
    at.button(key="sc_manage").click().run()
    at.button(key=f"sc_copy_{kept.id}").click().run()
    at.button(key=f"sc_delete_{kept.id}").click().run()
    assert [one.name for one in book.all()] == ["as it is (copy)"]
    at.button(key="sc_undo").click().run()
    assert not at.exception
    assert {one.name for one in book.all()} == {"as it is (copy)", "as it is"}


@pytest.mark.parametrize("part", ["Pools", "Sandboxes", "Weight sync"])
@pytest.mark.parametrize("basis", ["A measured run", "From scratch"])
def test_each_plan_answers_from_a_run_and_from_scratch(
    app: App, example: Store, part: str, basis: str
) -> None:
    prefix = {"Pools": "po", "Sandboxes": "sb", "Weight sync": "ws"}[part]
    at = opened(app, ca_part=part, **{f"{prefix}_basis": basis})
    assert len(at.get("plotly_chart")) == 1 and len(at.dataframe) >= 1
    assert "nan" not in {f.placeholder for f in at.number_input}
    offered = {str(one.key).removeprefix(f"{prefix}_") for one in at.number_input}
    fields = [one for box in PLANS[part].boxes.values() for one in box]
    assert offered == {one.in_address for one in fields}


@pytest.mark.parametrize("page", ["capacity.py", "forecast.py"])
def test_an_empty_home_offers_the_example_and_keeps_the_inputs(app: App, page: str) -> None:
    at = app(page)
    assert not at.exception and not at.error
    assert "Nothing is loaded yet" in " ".join(m.value for m in at.markdown)
    assert "telemetry" in [one.proto.page for one in at.get("page_link")]
    assert not [b.key for b in at.button if str(b.key).startswith("share_")]
    assert at.number_input


def _two_plans() -> None:
    import streamlit as st

    from pages.parts.choose import planned_run

    part = st.radio("Plan", ["ca", "po"], key="part")
    st.write(planned_run(f"{part}_run", ["first", "second"], 300) or "none")


def test_a_run_that_was_picked_for_one_plan_is_the_first_choice_of_the_others() -> None:
    at = AppTest.from_function(_two_plans).run()
    assert at.selectbox[0].value == ""
    at.selectbox(key="ca_run").set_value("second").run()
    at.radio(key="part").set_value("po").run()
    assert at.selectbox(key="po_run").value == "second" and at.markdown[-1].value == "second"
    assert at.query_params["po_run"] == "second"
    assert not at.exception
