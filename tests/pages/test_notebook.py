"""Notebook page: what re-runs, undo, two tabs, the address, templates, and inputs as they are stored."""

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
import streamlit
from streamlit.testing.v1 import AppTest

from analysis import QUESTIONS, parse
from analysis.params import CommonParams
from data.notebooks import Notebooks, Saved
from data.scenarios import Asked, Content, Scenarios
from data.store import Store
from pages.parts import notebook_paper, notebook_run
from pages.parts import notebook_session as session
from pages.parts.notebook_add import _with
from pages.parts.notebook_inputs import inputs
from pages.parts.notebook_new import chart_of_what_is_left, lost_columns
from pages.parts.notebook_outputs import KEPT
from pages.parts.notebook_place import put
from pages.parts.notebook_run import _JOB
from pages.parts.notebook_scenarios import picked_cases
from pages.parts.notebook_session import _catch_up
from pages.parts.state import PageState, publish
from reports.notebook import edit
from reports.notebook.document import (
    REFERENCE,
    AnalysisCell,
    AnyCell,
    ChartCell,
    Document,
    MetricCell,
    ParameterCell,
    SqlCell,
    TextCell,
    parse_document,
)
from reports.notebook.graph import fingerprints
from reports.notebook.run import Output, versions_of
from reports.notebook.templates import TEMPLATES

App = Callable[..., AppTest]
WORDS = TextCell(id="00000001", markdown="# Why\n\n<script>alert(1)</script> [x](javascript:alert(1))")
LEAST = ParameterCell(id="00000002", name="least", value=10.0, low=0, high=200, label="Least step")
USES = SqlCell(id="00000003", name="late", sql="select count(*) as n from steps where step >= $least")
NOT = SqlCell(id="00000004", name="every", sql="select count(*) as n from steps")
NUMBER = MetricCell(id="00000005", name="number", source="late", column="n", label="Late steps")


def kept(store: Store, *cells: AnyCell, title: str = "Plan") -> Saved:
    return Notebooks(store.workspace).create(Document(title=title, cells=cells).to_json())


def opened(app: App, notebook: Saved) -> AppTest:
    at = app("notebook.py", nb=str(notebook.id))
    assert not at.exception
    return ran(at)


def ran(at: AppTest) -> AppTest:
    """The page once the run beside it has ended."""
    if _JOB in at.session_state:
        at.session_state[_JOB].thread.join(60)
        at.run()
    assert not at.exception
    return at


def stopped(at: AppTest) -> None:
    """Whatever runs beside the page is told to stop, and has."""
    if _JOB in at.session_state:
        at.session_state[_JOB].cancel.set()
        at.session_state[_JOB].thread.join(60)


def outputs(store: Store, notebook: Saved) -> dict[str, Output]:
    document = document_of(store, notebook.id)
    return KEPT.of(str(store.home), notebook.id, fingerprints(document, versions_of(store)))


def document_of(store: Store, number: int) -> Document:
    return parse_document(Notebooks(store.workspace).get(number).document)


def stale_words(at: AppTest) -> int:
    return sum("stale" in m.value for m in at.markdown)


def test_a_parameter_re_runs_what_rests_on_it_and_nothing_else(app: App, loaded: Store) -> None:
    notebook = kept(loaded, WORDS, LEAST, USES, NOT, NUMBER)
    at = opened(app, notebook)
    before = outputs(loaded, notebook)
    assert {one.state for one in before.values()} == {"done"}
    assert not stale_words(at)
    with loaded.view() as view:
        held = {n: view.rows("select count(*) from steps where step >= ?", [n])[0][0] for n in (0, 10, 20)}
    assert before[USES.id].table.to_pylist() == [{"n": held[10]}]
    at.toggle[0].set_value(True).run()
    at.slider[0].set_value(20.0).run()
    assert stale_words(at) == 2 and len(at.button(key="nb_run").label) > 0
    assert outputs(loaded, notebook)[USES.id].table.to_pylist() == [{"n": held[10]}]
    at.button(key="nb_run").click().run()
    ran(at)
    after = outputs(loaded, notebook)
    assert not stale_words(at)
    assert after[USES.id].table.to_pylist() == [{"n": held[20]}]
    assert after[NUMBER.id].value.value == held[20]
    assert after[NOT.id].token == before[NOT.id].token
    assert {key for key in after if after[key].token != before[key].token} == {USES.id, NUMBER.id}


def test_a_run_that_ends_while_the_page_is_drawn_leaves_nothing_stale(
    app: App, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its last answer came after the page had looked for answers and before it looked for the run."""
    drawn = notebook_paper.show_head

    def slow(*args: Any) -> None:
        drawn(*args)
        notebook_run.wait()

    monkeypatch.setattr(notebook_paper, "show_head", slow)
    monkeypatch.setattr(notebook_run, "AT_ONCE_S", 0.0)
    at = app("notebook.py", nb=str(kept(store, NOT).id))
    assert not at.exception
    assert not stale_words(at)


class Said(dict[str, Any]):
    """What a session holds, without a browser."""

    to_dict = dict.copy


def test_the_echo_of_a_replaced_widget_changes_nothing(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A rename draws a new field of SQL; the browser sends the value of the old one once more."""
    monkeypatch.setattr(streamlit, "session_state", Said())
    publish(PageState(store, CommonParams(), "light"))
    notebook = kept(store, LEAST, USES)

    def drawn() -> session.Open:
        return session.opened(Notebooks(store.workspace).get(notebook.id))

    field = drawn().key(USES.id, "sql")
    streamlit.session_state[field] = USES.sql
    session.change(lambda document: edit.rename(document, LEAST.id, "first"))
    renamed = drawn().document
    assert "$first" in renamed.cells[1].sql
    put(USES.id, field, "sql")
    assert drawn().document == renamed == document_of(store, notebook.id)
    streamlit.session_state[field] = "select 7 as n"  # typed before the new field came
    put(USES.id, field, "sql")
    assert drawn().document.cells[1].sql == "select 7 as n"
    field = drawn().key(USES.id, "sql")
    streamlit.session_state[field] = "select 8 as n"  # sent together with a click that draws anew
    session.change(lambda document: edit.rename(document, LEAST.id, "second"))
    put(USES.id, field, "sql")
    assert drawn().document.cells[1].sql == "select 8 as n"


def test_every_change_is_saved_undone_and_done_again(app: App, store: Store) -> None:
    notebook = kept(store, WORDS, LEAST)
    at = opened(app, notebook)
    at.menu_button(key=f"nb_menu_{LEAST.id}").click("Move up").run()
    at.menu_button(key=f"nb_menu_{WORDS.id}").click("Delete").run()
    assert [c.id for c in document_of(store, notebook.id).cells] == [LEAST.id]
    at.button(key="nb_undo").click().run()
    assert [c.id for c in document_of(store, notebook.id).cells] == [LEAST.id, WORDS.id]
    at.button(key="nb_undo").click().run()
    assert [c.id for c in document_of(store, notebook.id).cells] == [WORDS.id, LEAST.id]
    at.button(key="nb_redo").click().run()
    at.button(key="nb_redo").click().run()
    assert [c.id for c in document_of(store, notebook.id).cells] == [LEAST.id]
    assert any("saved" in c.value and "UTC" in c.value for c in at.caption)


def test_of_two_tabs_the_second_save_overwrites_nothing(app: App, store: Store) -> None:
    notebook = kept(store, WORDS, LEAST)
    mine, theirs = opened(app, notebook), opened(app, notebook)
    theirs.slider[0].set_value(70.0).run()
    mine.slider[0].set_value(40.0).run()
    assert document_of(store, notebook.id).cells[1].value == 70.0
    told = " ".join(m.value for m in mine.markdown)
    assert "value = 40.0" in told and "value = 70.0" in told and "least" in told
    copy = next(one for one in Notebooks(store.workspace).all() if one.id != notebook.id)
    assert parse_document(copy.document).cells[1].value == 40.0
    mine.button(key="nb_mine").click().run()
    assert str(copy.id) in mine.query_params["nb"] and mine.slider[0].value == 40.0
    theirs.slider[0].set_value(71.0).run()
    assert document_of(store, notebook.id).cells[1].value == 71.0
    again = opened(app, notebook)
    theirs.slider[0].set_value(72.0).run()
    again.slider[0].set_value(41.0).run()
    again.button(key="nb_theirs").click().run()
    assert again.slider[0].value == 72.0
    gone = Notebooks(store.workspace).all(deleted=True)
    assert [parse_document(one.document).cells[1].value for one in gone] == [41.0]


def test_a_run_that_ends_late_does_not_take_back_what_a_second_click_saved(app: App, store: Store) -> None:
    """Two clicks in a row: the run of the first one has read the notebook before the second one is saved."""
    notebook = kept(store, WORDS, LEAST)
    at = opened(app, notebook)
    now = at.session_state["_notebook_open"]
    at.slider[0].set_value(40.0).run()
    _catch_up(now, notebook)
    assert now.document.cells[1].value == 40.0 and now.clash is None and not now.said
    at.slider[0].set_value(50.0).run()
    assert document_of(store, notebook.id).cells[1].value == 50.0 and now.clash is None


@pytest.mark.parametrize(("asked", "why"), [("99", "does not hold"), ("x'1", "no notebook's number")])
def test_a_wrong_number_in_the_address_is_named(app: App, store: Store, asked: str, why: str) -> None:
    kept(store, WORDS)
    at = app("notebook.py", nb=asked)
    assert not at.exception
    assert asked in at.warning[0].value.replace("\\", "") and why in at.warning[0].value
    assert any(b.label == "Plan" for b in at.button)


def test_a_deleted_notebook_comes_back(app: App, store: Store) -> None:
    notebook = kept(store, WORDS)
    at = app("notebook.py")
    at.button(key=f"nb_del_{notebook.id}").click().run()
    lost = app("notebook.py", nb=str(notebook.id))
    assert "was deleted" in lost.warning[0].value
    at.button(key="nb_list_undo").click().run()
    assert [one.id for one in Notebooks(store.workspace).all()] == [notebook.id]


def test_a_template_opens_as_a_notebook_of_its_own(app: App, store: Store) -> None:
    at = app("notebook.py")
    assert {f"nb_use_{t.key}" for t in TEMPLATES} <= {b.key for b in at.button}
    first = TEMPLATES[0]
    for _ in range(2):
        at = app("notebook.py")
        at.button(key=f"nb_use_{first.key}").click().run()
        assert not at.exception
        stopped(at)
    titles = [one.title for one in Notebooks(store.workspace).all()]
    assert len(titles) == len(set(titles)) == 2


def test_a_percent_is_stored_as_a_ratio_and_a_parameter_stands_for_an_input(app: App, store: Store) -> None:
    cell = AnalysisCell(id="00000006", name="lost", question="waste")
    notebook = kept(store, LEAST, cell)
    at = opened(app, notebook)
    at.button(key=f"nb_edit_{cell.id}").click().run()
    next(n for n in at.number_input if n.key.startswith(f"nb_{cell.id}_idle_sm_frac")).set_value(7.0).run()
    assert document_of(store, notebook.id).cells[1].params == {"idle_sm_frac": 0.07}
    tie = next(m for m in at.menu_button if m.key.startswith(f"nb_{cell.id}_tie_idle_min"))
    tie.click("least").run()
    assert document_of(store, notebook.id).cells[1].params["idle_min"] == {REFERENCE: "least"}
    assert any(t.value == "= least" and t.disabled for t in at.text_input)


def test_every_input_of_every_question_keeps_its_default() -> None:
    for question, asked in QUESTIONS.items():
        shown = inputs(question)
        fields = asked.params.model_fields
        assert {one.name for one in shown} == set(fields) - {"cases"}, question
        given = {
            one.name: (one.default * one.scale) / one.scale if one.kind == "number" else one.default
            for one in shown
            if one.default is not None
        }
        made = parse(question, given)
        assert all(getattr(made, one.name) == pytest.approx(one.default) for one in shown), question
    by_name = {one.name: one for one in inputs("cadence")}
    assert by_name["eval_min"].label == "Minutes of an evaluation"
    assert (by_name["wanted"].label, by_name["wanted"].scale) == ("Certainty (%)", 100.0)
    assert {one.name: one for one in inputs("waste")}["stall_min"].label == "Stall (minutes)"


def test_added_cells_get_free_names_and_still_use_each_other() -> None:
    document = Document(cells=(SqlCell(name="rows", sql="select 1"), LEAST))
    added = (
        SqlCell(name="rows", sql="select 2"),
        ChartCell(name="chart", source="rows"),
        LEAST,
        AnalysisCell(name="lost", question="waste", params={"idle_min": {REFERENCE: "least"}}),
    )
    made, ids = _with(document, added)
    assert [c.name for c in made.cells] == ["rows", "least", "rows_2", "chart", "least_2", "lost"]
    assert len(set(ids)) == 4 and made.cells[3].source == "rows_2"
    assert made.cells[5].params == {"idle_min": {REFERENCE: "least_2"}}


def test_a_chart_leaves_out_the_columns_that_its_rows_lost() -> None:
    rows = SqlCell(name="rows", sql="select 1")
    table = pa.table({"run": ["a"], "step": [1], "n": [2.0]})
    output = Output(rows.id, "", "done", table=table)
    whole = ChartCell(name="c", source="rows", x="step", y=("n", "gone"), colour="run", facet="away")
    assert lost_columns(whole, table.column_names) == ["gone", "away"]
    left = chart_of_what_is_left(whole, rows, output)
    assert left == {"x": "step", "y": ("n",), "colour": "run", "facet": ""}
    bare = ChartCell(name="c", source="rows", x="was", y=("gone",))
    assert chart_of_what_is_left(bare, rows, output) == {
        "x": "run",
        "y": ("step",),
        "colour": "",
        "facet": "",
    }
    assert lost_columns(whole.model_copy(update=left), table.column_names) == []


def test_scenarios_are_picked_by_name_and_an_earlier_version_comes_back(app: App, loaded: Store) -> None:
    saved = Scenarios(loaded.workspace)
    for name, gpus in (("small", 8.0), ("large", 64.0)):
        params = {"wacc_frac": 0.1, "gpus": gpus, "utilisation_frac": 0.5}
        asked = Asked("tenure", params, QUESTIONS["tenure"].params.version)
        saved.save(name, Content((asked,), "tenure.py", {}, ""))
    cell = AnalysisCell(id="00000009", name="both", question="scenarios", figures=())
    notebook = kept(loaded, cell)
    at = opened(app, notebook)
    at.button(key=f"nb_edit_{cell.id}").click().run()
    (choice,) = [one for one in at.multiselect if one.label.startswith("Scenarios")]
    choice.set_value(["small", "large"]).run()
    ran(at)
    held = document_of(loaded, notebook.id).cells[0]
    assert [case["params"]["gpus"] for case in held.params["cases"]] == [8.0, 64.0]
    values = outputs(loaded, notebook)[cell.id].result.tables["values"]
    assert set(values["scenario"]) == {"small", "large"} and values["value"].notna().any()
    at.button(key="nb_versions").click().run()
    assert any("Analysis both was different" in one.value for one in at.markdown)
    at.button(key="nb_version_back").click().run()
    assert document_of(loaded, notebook.id).cells[0].params == {}
    at.button(key="nb_undo").click().run()
    assert document_of(loaded, notebook.id).cells[0] == held
    stopped(at)


def test_a_scenario_stays_as_it_was_picked() -> None:
    saved = {"a": Content((Asked("tenure", {"gpus": 2.0}, 1),)), "b": Content((Asked("tenure", {}, 1),))}
    held = [{"name": "a", "question": "tenure", "params": {"gpus": 1.0}, "version": 1}]
    gone = [{"name": "gone", "question": "ledger", "params": {}, "version": 1}]
    picked = picked_cases(["gone", "a", "b"], [*held, *gone], saved)
    assert [(case["name"], case["params"]) for case in picked] == [
        ("gone", {}),
        ("a", {"gpus": 1.0}),
        ("b", {}),
    ]
    assert picked_cases(["a"], [], saved)[0]["params"] == {"gpus": 2.0}
