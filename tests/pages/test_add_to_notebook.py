"""A chart becomes a cell of a notebook that asks the same, and goes again with one click."""

from collections.abc import Callable

from streamlit.testing.v1 import AppTest

from data.notebooks import Notebooks
from data.store import Store
from pages.parts.notebook_menu import ADD, SQL
from reports.notebook.document import Document, TextCell, parse_document

App = Callable[..., AppTest]
CHART = "hw_price_dots"


def documents(store: Store) -> dict[str, Document]:
    return {one.title: parse_document(one.document) for one in Notebooks(store.workspace).all()}


def asked(app: App, **query: str) -> AppTest:
    """The dialog of a chart of the catalogue, which needs no data."""
    at = app("hardware.py", **query)
    at.menu_button(key=f"tonb_{CHART}").click(ADD).run()
    assert not at.exception
    return at


def clicked(at: AppTest, key: str) -> AppTest:
    at.button(key=key).click().run()
    assert not at.exception and not at.error
    return at


def test_a_chart_goes_into_a_new_notebook_and_is_taken_back(app: App, store: Store) -> None:
    at = asked(app, hw_kind="on demand")
    assert not documents(store)  # nothing is made before the person says so
    at.text_input(key="tonb_title").set_value("Quotes *now*").run()
    clicked(at, "tonb_add")
    (document,) = documents(store).values()
    (cell,) = document.cells
    assert (cell.question, cell.figures) == ("platforms", ("price_dots:on_demand",))
    assert cell.params["compare"] == list(at.multiselect(key="hw_compare").value)
    (book,) = Notebooks(store.workspace).all()
    link = next(e.proto for e in at.get("page_link") if e.proto.label == "Open it")
    assert f"nb={book.id}" in link.query_string
    assert any("Quotes \\*now\\*" in m.value for m in at.markdown)
    clicked(at, "tonb_undo")
    assert not documents(store)
    assert [one.title for one in Notebooks(store.workspace).all(deleted=True)] == ["Quotes *now*"]


def test_it_lands_where_the_person_says_and_undo_leaves_what_was_there(app: App, store: Store) -> None:
    book = Notebooks(store.workspace)
    for title in ("Plan", "Plan", "Other"):
        book.create(Document(title=title, cells=(TextCell(markdown=title),)).to_json())
    at = asked(app)
    box = at.selectbox(key="tonb_which")
    first, second = sorted(one.id for one in book.all() if one.title == "Plan")
    assert box.options == ["Other", f"Plan (no. {second})", f"Plan (no. {first})", "A new notebook"]
    box.set_value(first).run()
    clicked(at, "tonb_add")
    kinds = {one.id: [c.kind for c in parse_document(one.document).cells] for one in book.all()}
    assert kinds[first] == ["text", "analysis"] and kinds[second] == ["text"]
    clicked(at, "tonb_undo")
    assert [c.kind for c in parse_document(book.get(first).document).cells] == ["text"]
    assert len(book.all()) == 3


def test_the_selects_behind_a_chart_become_cells_that_run(app: App, example: Store) -> None:
    at = app("overview.py")
    at.menu_button(key="tonb_overview-spend-by-phase").click(SQL).run()
    assert not at.exception
    shown = [code.value for code in at.code]
    assert shown and all(sql.lstrip().lower().startswith(("select", "with")) for sql in shown)
    assert any("step_phases" in sql for sql in shown)
    label = at.button(key="tonb_add").label
    assert label == f"Open as {len(shown)} SQL cells"


def test_a_whole_view_goes_into_a_notebook_one_cell_a_question(app: App, store: Store) -> None:
    at = app("hardware.py")
    clicked(at, "tonb_view_platforms")
    clicked(at, "tonb_add")
    (document,) = documents(store).values()
    assert [(cell.question, cell.figures) for cell in document.cells] == [("platforms", None)]
