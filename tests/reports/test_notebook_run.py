"""Running a notebook: the same as from scratch after any edits, and no question that nothing changed for."""

import threading
from dataclasses import replace
from types import SimpleNamespace

import duckdb
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.result import Figure, Result
from data.errors import UserError
from reports.notebook import edit
from reports.notebook.document import AnalysisCell, Document, MetricCell, ParameterCell, SqlCell
from reports.notebook.graph import Versions, dependents, fingerprints
from reports.notebook.run import Cancelled, Engine, Output, SqlFacts, run_cell, run_stale, runs, stale
from reports.notebook.values import asked_params, cut_above, metric_of_rows
from tests.reports.test_notebook_graph import paper


class Fake:
    """Answers made of what was asked alone, and a note of each."""

    def __init__(self):
        self.asked, self.versions, self.broken = [], Versions("1", "c", 0), set()

    def ask(self, question, params, cancel):
        self.asked.append(question)
        if question in self.broken:
            raise UserError(f"{question} is broken", "here", "Mend it.")
        number = float(len(question)) + float(params.get("months", 0))
        figure = Figure("f", "F", number, "usd", number - 1, number + 1, "ci95", 7, "full")
        tables = {name: pd.DataFrame({"a": [number]}) for name in ("runs", "months")}
        return Result(question, dict(params), self.versions.data, (figure,), tables)

    def select(self, sql, parameters, tables, cancel):
        self.asked.append(sql)
        text = f"{sql} {sorted(parameters.items())} {[(n, t.to_pylist()) for n, t in sorted(tables.items())]}"
        return SimpleNamespace(
            table=pa.table({"a": [float(len(text))], "b": [text]}),
            rows_scanned=1,
            rows_returned=1,
            cut=False,
            seconds=0.0,
            notes=("a: changed",),
        )

    @property
    def engine(self):
        return Engine(lambda: self.versions, self.ask, self.select)


def seen(outputs):
    """What a person sees of the outputs."""
    return {
        key: (
            one.state,
            one.fingerprint,
            str(one.error),
            one.value,
            one.result and one.result.to_json(),
            one.table and one.table.to_pylist(),
        )
        for key, one in outputs.items()
    }


def test_a_parameter_reruns_its_dependents_and_asks_each_once():
    fake, doc = Fake(), paper()
    first = run_stale(fake.engine, doc, {})
    assert fake.asked == ["ledger", "forecast", doc.cells[4].sql, "gain"]
    assert {one.state for one in first.values()} == {"done"}
    fake.asked.clear()
    assert run_stale(fake.engine, doc, first) == first and fake.asked == []
    later = edit.set_value(doc, "0000000a", 9.0)
    assert stale(later, first, fake.versions) == list(dependents(doc, "0000000a"))
    told = []
    second = run_stale(fake.engine, later, first, on_cell=lambda key, _: told.append(key))
    assert fake.asked == ["forecast", doc.cells[4].sql] and told == list(dependents(doc, "0000000a"))
    assert second["0000000b"] is first["0000000b"]


def test_a_failed_source_blocks_what_uses_it_and_says_which():
    fake, doc = Fake(), paper()
    fake.broken = {"forecast"}
    found = run_stale(fake.engine, doc, {})
    states = {doc.cell(key).name: one.state for key, one in found.items()}
    assert states == {
        "spend": "done", "fc": "failed", "top": "blocked", "drawn": "blocked", "best": "blocked",
        "other": "done",
    }  # fmt: skip
    assert "'fc', which this cell uses, failed: forecast is broken" in str(found["0000000d"].error)
    assert "Mend 'fc'" in str(found["0000000e"].error)
    fake.asked.clear()
    assert run_stale(fake.engine, doc, found) == found and fake.asked == []
    fake.broken = set()
    again = {**found, "0000000c": run_cell(fake.engine, doc, "0000000c", found)}
    assert stale(doc, again, fake.versions) == ["0000000d", "0000000e", "0000000f"]
    assert {one.state for one in run_stale(fake.engine, doc, again).values()} == {"done"}
    assert fake.asked == ["forecast", doc.cells[4].sql]


def test_a_cell_is_not_run_on_an_answer_that_is_out_of_date():
    fake, doc = Fake(), paper()
    first = run_stale(fake.engine, doc, {})
    later = edit.set_value(doc, "0000000a", 9.0)
    alone = run_cell(fake.engine, later, "0000000d", first)
    assert alone.state == "blocked" and "'fc' has not been run since it changed" in str(alone.error)
    some = run_stale(fake.engine, later, first, only=["0000000d"])
    assert stale(later, some, fake.versions) == ["0000000e", "0000000f"]


def test_a_cancel_stops_the_cell_and_leaves_the_rest_for_later():
    fake, doc, cancel = Fake(), paper(), threading.Event()

    def ask(question, params, event):
        if question == "forecast":
            event.set()
            raise duckdb.InterruptException("Interrupted!")
        return fake.ask(question, params, event)

    found = run_stale(replace(fake.engine, ask=ask), doc, {}, cancel=cancel)
    assert set(found) == {"0000000b", "0000000c"}
    assert found["0000000c"].state == "failed" and isinstance(found["0000000c"].error, Cancelled)
    assert stale(doc, found, fake.versions) == ["0000000d", "0000000e", "0000000f", "00000010"]


def test_a_defect_of_one_cell_is_told_in_it_and_the_others_run(caplog):
    fake = Fake()

    def ask(question, params, cancel):
        if question == "ledger":
            raise ZeroDivisionError("division by zero")
        return fake.ask(question, params, cancel)

    found = run_stale(replace(fake.engine, ask=ask), paper(), {})
    assert "defect of the app: ZeroDivisionError" in str(found["0000000b"].error)
    assert found["00000010"].state == "done" and "a cell of a notebook failed" in caplog.text


def valued(question, params, **cell):
    doc = Document(
        cells=(
            ParameterCell(name="p", **cell),
            AnalysisCell(id="000000aa", name="x", question=question, params=params),
        )
    )
    return asked_params(doc, doc.cell("000000aa"))


def test_a_parameter_becomes_what_the_question_wants_or_is_refused_by_name():
    ref = {"$parameter": "p"}
    assert valued("forecast", {"months": ref}, value=3.0) == {"months": 3}
    assert valued("forecast", {"period": ref}, input="date", value="2026-03-31") == {"period": "2026-03"}
    assert valued("gain", {"runs": ref}, input="choice", value="a", choices=("a",)) == {"runs": ["a"]}
    assert valued("gain", {"runs": [ref, "b"]}, input="choice", value="a", choices=("a",)) == {
        "runs": ["a", "b"]
    }
    with pytest.raises(
        UserError, match=r"'8\.5' is not a value of months \(cell x, parameter months from p\)"
    ):
        valued("forecast", {"months": ref}, value=8.5)
    with pytest.raises(UserError, match="parameter after from p"):
        valued("gain", {"after": ref}, input="choice", value="never", choices=("never",))


@pytest.mark.parametrize(
    ("summary", "value", "n"),
    [
        *[("first", 4.0, 1), ("last", 1.0, 1), ("sum", 7.0, 3), ("mean", 7 / 3, 3)],
        *[("min", 1.0, 3), ("max", 4.0, 3), ("count", 3.0, 3)],
    ],
)
def test_a_metric_of_rows_has_no_interval(summary, value, n):
    cell = MetricCell(name="m", source="t", column="a", summary=summary, unit="USD")
    found = metric_of_rows(cell, pa.table({"a": [4, 2, None, 1]}))
    assert (found.value, found.n, found.interval, found.low, found.unit) == (value, n, "none", None, "USD")


@pytest.mark.parametrize(
    ("summary", "known"), [("first", True), ("sum", False), ("max", False), ("count", False)]
)
def test_of_rows_that_were_cut_only_the_first_is_known(summary, known):
    cell = MetricCell(name="m", source="t", column="a", summary=summary)
    rows = pa.table({"a": [4, 2]})
    found = metric_of_rows(cell, rows, SqlFacts(9, 2, True, 0.1))
    assert (found.value is not None) == known and ("'t' were cut" in (found.missing or "")) != known
    resting = metric_of_rows(cell, rows, SqlFacts(9, 2, False, 0.1, partial=("big",)))
    assert resting.value is None and "'big' were cut" in resting.missing


def test_what_rests_on_rows_that_were_cut_names_them_through_every_step():
    big, small, whole, sums = (SqlCell(name=n, sql=f"select * from {t}") for n, t in (
        ("big", "steps"), ("small", "big"), ("whole", "runs"), ("sums", "small, whole")))  # fmt: skip
    doc = Document(cells=(big, whole, small, sums))
    facts = {big.id: SqlFacts(9, 2, True, 0.1), whole.id: SqlFacts(9, 2, False, 0.1)}
    outputs = {key: Output(key, "f", "done", sql=one) for key, one in facts.items()}
    told = cut_above(doc, small, outputs)
    assert told == ("big",)
    outputs[small.id] = Output(small.id, "f", "done", sql=SqlFacts(2, 1, False, 0.1, partial=told))
    assert cut_above(doc, sums, outputs) == ("big",)
    assert cut_above(doc, whole, outputs) == ()


def test_a_metric_takes_the_figure_as_it_is_and_says_what_is_missing():
    fake, doc = Fake(), paper()
    for cell in (
        MetricCell(id="000000b1", name="m1", source="spend", figure="f", label="Spend"),
        MetricCell(id="000000b2", name="m2", source="spend", figure="g"),
        MetricCell(id="000000b3", name="m3", source="spend", figure="f", unit="GPUs"),
        MetricCell(id="000000b4", name="m4", source="top", column="b"),
    ):
        doc = edit.add(doc, cell)
    found = run_stale(fake.engine, doc, {})
    assert found["000000b1"].value == Figure("f", "Spend", 6.0, "usd", 5.0, 7.0, "ci95", 7, "full")
    assert "no figure 'g'" in str(found["000000b2"].error) and "Pick one of f" in str(found["000000b2"].error)
    assert "in usd and not in GPUs" in str(found["000000b3"].error)
    assert "no numbers" in str(found["000000b4"].error)
    none = metric_of_rows(
        MetricCell(name="m", source="t", column="a"), pa.table({"a": pa.array([], pa.int64())})
    )
    assert none.value is None and "has no rows" in none.missing


IDS = [f"0000000{x}" for x in "abcdef"] + ["00000010"]
EDITS = st.lists(
    st.one_of(
        st.tuples(st.just("value"), st.integers(0, 3)),
        st.tuples(st.just("move"), st.sampled_from(IDS), st.integers(-4, 4)),
        st.tuples(st.just("copy"), st.sampled_from(IDS)),
        st.tuples(st.just("delete"), st.sampled_from(IDS)),
        st.tuples(st.just("rename"), st.sampled_from(IDS), st.sampled_from(["one", "two", "spend_x"])),
        st.tuples(st.just("data"), st.integers(1, 2)),
        st.tuples(
            st.just("sql"), st.sampled_from(["SELECT 1", "SELECT * FROM spend_runs", "SELECT $budget"])
        ),
    ),
    max_size=4,
)


def edited(doc, fake, step):
    kind, *rest = step
    if kind == "data":
        fake.versions = Versions(str(rest[0]), "c", 0)
        return doc
    if kind == "sql":
        cells = [cell for cell in doc.cells if isinstance(cell, SqlCell)]
        return edit.replace(doc, edit.changed(cells[0], {"sql": rest[0]})) if cells else doc
    try:
        if kind == "value":
            return edit.set_value(doc, "0000000a", float(rest[0]))
        change = {"move": edit.move, "copy": edit.copy_cell, "delete": edit.delete, "rename": edit.rename}[
            kind
        ]
        return change(doc, *rest)
    except UserError:
        return doc


@given(EDITS)
def test_after_any_edits_running_what_is_stale_equals_running_all(steps):
    fake, doc = Fake(), paper()
    kept = run_stale(fake.engine, doc, {})
    for step in steps:
        before, prints = kept, fingerprints(doc, fake.versions)
        doc = edited(doc, fake, step)
        fake.asked.clear()
        told = []
        kept = run_stale(fake.engine, doc, kept, on_cell=lambda key, _, told=told: told.append(key))
        now = fingerprints(doc, fake.versions)
        same = {
            key
            for key in now
            if prints.get(key) == now[key] and key in before and before[key].state == "done"
        }
        assert not same & set(told) and len(set(told)) == len(told)
        assert len(fake.asked) <= len(told)
        assert stale(doc, kept, fake.versions) == []
        scratch = Fake()
        scratch.versions = fake.versions
        whole = run_stale(scratch.engine, doc, {})
        assert seen(kept) == seen(whole)
        assert set(kept) == {cell.id for cell in doc.cells if runs(cell)}
