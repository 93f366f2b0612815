"""Which cell uses which: hand-worked documents, names in SQL, edits that follow a name, undo and redo."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reports.notebook import edit
from reports.notebook.document import (
    AnalysisCell,
    ChartCell,
    Document,
    DocumentError,
    MetricCell,
    ParameterCell,
    SqlCell,
    TextCell,
)
from reports.notebook.graph import (
    Versions,
    dependents,
    faults,
    fingerprints,
    needs,
    problems,
    sources,
    uses,
)
from reports.notebook.names import names_in, with_names

NOW = Versions("1", "c", 0)


def paper():
    """budget -> fc -> top -> (drawn, best); spend -> top; other stands alone."""
    return Document(
        cells=(
            TextCell(id="00000000", markdown="# Hi"),
            ParameterCell(id="0000000a", name="budget", value=8.0),
            AnalysisCell(id="0000000b", name="spend", question="ledger"),
            AnalysisCell(
                id="0000000c", name="fc", question="forecast", params={"months": {"$parameter": "budget"}}
            ),
            SqlCell(id="0000000d", name="top", sql="SELECT * FROM spend_runs, fc_months LIMIT $budget"),
            ChartCell(id="0000000e", name="drawn", source="top", x="a", y=("b",)),
            MetricCell(id="0000000f", name="best", source="top", column="a"),
            AnalysisCell(id="00000010", name="other", question="gain"),
        )
    )


def test_needs_and_dependents_of_a_worked_paper():
    doc = paper()
    a, b, c, d, e, f = (f"0000000{x}" for x in "abcdef")
    assert uses(doc.cell(d)) == {"spend_runs", "fc_months", "budget"}
    assert sources(doc, d) == {"spend_runs": b, "fc_months": c, "budget": a}
    assert needs(doc, e) == (a, b, c, d) and needs(doc, b) == ()
    assert dependents(doc, a) == (c, d, e, f) and dependents(doc, b) == (d, e, f)
    assert problems(doc) == {}


def changed(before, after, now=NOW, then=NOW):
    old, new = fingerprints(before, now), fingerprints(after, then)
    return {cell.name for cell in after.cells if cell.kind != "text" and old[cell.id] != new[cell.id]}


def test_a_change_reaches_what_depends_on_it_and_nothing_else():
    doc = paper()
    assert changed(doc, edit.set_value(doc, "0000000a", 9.0)) == {"budget", "fc", "top", "drawn", "best"}
    relabelled = edit.changed(doc.cell("0000000a"), {"label": "Budget", "high": 50.0})
    assert changed(doc, edit.replace(doc, relabelled)) == set()
    assert changed(doc, edit.move(doc, "00000010", -9)) == set()
    shown = edit.changed(doc.cell("0000000b"), {"figures": (), "tables": True})
    assert changed(doc, edit.replace(doc, shown)) == set()
    assert changed(doc, edit.rename(doc, "0000000a", "cap")) == {"top", "drawn", "best"}
    everything = {"spend", "fc", "top", "drawn", "best", "other"}
    assert changed(doc, doc, then=Versions("2", "c", 0)) == everything
    assert changed(doc, doc, then=Versions("1", "d", 0)) == everything
    assert changed(doc, doc, then=Versions("1", "c", 0, forecasts=1)) == {"fc", "top", "drawn", "best"}


def test_a_rename_follows_into_every_cell_that_uses_the_name():
    doc = edit.rename(edit.rename(paper(), "0000000a", "cap"), "0000000b", "outlay")
    doc = edit.replace(doc, edit.changed(doc.cell("0000000d"), {"name": "rows"}))
    assert doc.cell("0000000c").params == {"months": {"$parameter": "cap"}}
    assert doc.cell("0000000d").sql == "SELECT * FROM outlay_runs, fc_months LIMIT $cap"
    assert doc.cell("0000000e").source == doc.cell("0000000f").source == "rows"
    assert problems(doc) == {}


def test_a_deleted_or_moved_source_is_said_on_each_cell_that_used_it():
    told = problems(edit.delete(paper(), "0000000a"))
    assert set(told) == {"0000000c", "0000000d"}
    assert all("There is no cell 'budget'" in text for text in told.values())
    assert "There is no table 'spend_runs'" in problems(edit.delete(paper(), "0000000b"))["0000000d"]
    below = problems(edit.move(paper(), "0000000d", 9))
    assert set(below) == {"0000000e", "0000000f"} and "stands below" in below["0000000e"]


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        (SqlCell(name="me", sql="SELECT * FROM me"), "this cell itself"),
        (SqlCell(name="x", sql="SELECT * FROM budget"), "Write \\$budget"),
        (SqlCell(name="x", sql="SELECT * FROM spend"), "spend_headline"),
        (SqlCell(name="x", sql="SELECT $top"), "'top' is an SQL cell and not a parameter"),
        (SqlCell(name="x", sql=" "), "no SQL yet"),
        (ChartCell(name="x", source="spend"), "'spend' is an analysis and not an SQL cell"),
        (ChartCell(name="x"), "no source yet"),
        (MetricCell(name="x", source="drawn"), "'drawn' is a chart"),
        (AnalysisCell(name="x", question="nope"), "no question 'nope'"),
        (AnalysisCell(name="x", question="ledger", params_version=7), "not reinterpreted"),
        (
            AnalysisCell(name="x", question="forecast", params={"plan": [{"$parameter": "no"}]}),
            "no cell 'no'",
        ),
    ],
)
def test_what_cannot_be_run_says_why(cell, words):
    doc = edit.add(paper(), cell)
    with pytest.raises(Exception, match=words):
        raise faults(doc)[cell.id]


def test_a_cell_named_as_a_table_of_the_home_is_refused_where_it_is_read():
    doc = edit.add(Document(), SqlCell(id="000000aa", name="runs", sql="SELECT 1"))
    doc = edit.add(doc, SqlCell(id="000000ab", name="x", sql="SELECT * FROM runs"))
    assert "a table of the home and a cell" in problems(doc)["000000ab"]


@pytest.mark.parametrize(
    ("sql", "tables", "parameters"),
    [
        ("from Top", {"top"}, set()),
        ("select '$x', \"top\".a from top -- $y, from z", {"top"}, set()),
        ("with top as (select * from top where a = $B) select * from top", {"top"}, {"b"}),
        ("with recursive c as (select 1 union all select * from c) from c", set(), set()),
        ("with a as (select 1), b as (from a) select * from a, b, c", {"c"}, set()),
        ("select * from range(10), (values (1)) v(a), main.top, catalogue.prices", {"top"}, set()),
    ],
)
def test_names_in_sql(sql, tables, parameters):
    found = names_in(sql)
    assert (found.tables, found.parameters, found.read) == (tables, parameters, True)


def test_other_names_in_sql_leave_all_else_as_it_is():
    sql = "SELECT top.x, 'top' -- top\nFROM top JOIN a b ON b.x = top.y WHERE top > $p AND $pp"
    assert with_names(sql, {"top": "neu", "a": "c"}, {"p": "q"}) == (
        "SELECT neu.x, 'top' -- top\nFROM neu JOIN c b ON b.x = neu.y WHERE top > $q AND $pp"
    )
    own = "with top as (select * from top) select top.x from top"
    assert (
        with_names(own, {"top": "neu"}, {}) == "with top as (select * from neu AS top) select top.x from top"
    )


def test_edits_keep_names_apart_and_refuse_in_words():
    doc = edit.copy_cell(paper(), "0000000b")
    assert [c.name for c in doc.cells[1:5]] == ["budget", "spend", "spend_2", "fc"]
    assert edit.add(doc, TextCell(markdown="x"), "").cells[0].markdown == "x"
    assert edit.free_name(doc, "Top 10 %") == "top_10" and edit.free_name(doc, "9") == "cell_9"
    for change, words in (
        (lambda: edit.rename(doc, "0000000b", "fc"), "cell 'fc' already"),
        (lambda: edit.rename(doc, "0000000b", "Fc x"), "no name"),
        (lambda: edit.set_value(doc, "0000000a", 900.0), "slider's ends"),
        (lambda: edit.delete(doc, "ffffffff"), "no longer"),
        (lambda: edit.retitle(doc, " "), "at least 1"),
    ):
        with pytest.raises(DocumentError, match=words):
            change()


@given(st.lists(st.sampled_from(["do", "undo", "redo", "type"]), max_size=30))
def test_undo_and_redo_agree_with_a_list_and_a_place_in_it(steps):
    doc = Document()
    history, states, at, key, n = edit.History(doc), [doc], 0, "", 0
    for step in steps:
        if step in ("do", "type"):
            n += 1
            new, wanted = Document(title=str(n)), "cell" if step == "type" else ""
            if wanted and wanted == key:
                states[at:] = [new]
            else:
                states[at + 1 :] = [new]
                at += 1
            history, key = history.do(new, wanted), wanted
        elif step == "undo" and at:
            history, at, key = history.undo(), at - 1, ""
        elif step == "redo" and at + 1 < len(states):
            history, at, key = history.redo(), at + 1, ""
        assert history.present == states[at]
        assert (history.can_undo, history.can_redo) == (at > 0, at + 1 < len(states))
