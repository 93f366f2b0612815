"""A report with hidden parts tells none of them: every question of the example, and every kind of cell."""

import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

import analysis
from data.errors import UserError
from data.store import Store
from reports.drawn import values_of
from reports.figures import figures_of
from reports.freeze import FreezeOptions, FrozenReport, options, report_of, result_section, section_defaults
from reports.html import render
from reports.redact import Redaction, is_money_name, is_money_unit

QUICK = {"gain", "generations"}
"""Of both some figures show dollars and some do not."""
DIGITS = 9
TELLING = 5
"""Significant digits from which on a number is no other number by chance."""


@pytest.fixture(scope="module")
def store(example_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    place = tmp_path_factory.mktemp("hidden") / "home"
    shutil.copytree(example_home, place)
    found = Store.open(place)
    yield found
    found.close()


def digits(value: float) -> str:
    return f"{abs(value):.{DIGITS}e}".split("e")[0].rstrip("0")


def numbers(value: Any) -> Iterable[float]:
    if isinstance(value, float | int) and not isinstance(value, bool):
        yield float(value)
    elif isinstance(value, dict):
        inside = values_of(value) if "bdata" in value else value.values()
        for item in inside:
            yield from numbers(item)
    elif isinstance(value, list):
        for item in value:
            yield from numbers(item)


def amounts(section: dict[str, Any]) -> set[str]:
    """The digits of every amount of money in an open section, in whatever unit they are repeated."""
    found = [
        v for f in section["headline"] if is_money_unit(f["unit"]) for v in (f["value"], f["low"], f["high"])
    ]
    for rows in section["tables"].values():
        found += [v for row in rows for k, v in row.items() if is_money_name(k)]
    told = {digits(v) for v in found if isinstance(v, float | int) and not isinstance(v, bool)}
    return {d for d in told if len(d.replace(".", "")) >= TELLING}


def texts(value: Any) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from texts(item)


@pytest.mark.parametrize(
    "question",
    [pytest.param(q, marks=() if q in QUICK else pytest.mark.full) for q in sorted(analysis.QUESTIONS)],
)
def test_no_question_tells_amounts_or_names_that_are_hidden(store: Store, question: str) -> None:
    with store.view() as view:
        try:
            found = analysis.run(question, view, {})
        except UserError as error:
            pytest.skip(str(error))
    section = result_section(found, figures_of(found))
    known = options(store, Redaction(dollars=True, names=True, runs=True))
    report = report_of([section], f"About {known.runs[0].upper()}", known)
    shown = report.sections[0]
    hidden = amounts(section)
    seen = {digits(v) for part in ("tables", "figures", "headline") for v in numbers(shown[part])}
    assert not hidden & seen
    everything = " \n".join(texts(dict(report.payload)))
    assert not [n for n in (*known.names, *known.runs) if not n.isalpha() and n in everything]
    assert known.runs[0].lower() not in report.title.lower()


def section(kind: str, name: str = "", **more: Any) -> dict[str, Any]:
    return {
        **section_defaults(kind),
        "name": name,
        "cell": {"kind": kind, "name": name, "id": "0" * 8},
        **more,
    }


def sql(name: str, statement: str, **row: Any) -> dict[str, Any]:
    return section(
        "sql", name, sql=statement, tables={name: [row]}, columns={name: list(row)}, rows={"returned": 1}
    )


def metric(name: str, source: str, value: float, unit: str = "") -> dict[str, Any]:
    figure = {"name": name, "label": name, "value": value, "unit": unit, "low": None, "high": None,
              "interval": "none", "n": None, "boundary": None, "formula": "", "missing": None}  # fmt: skip
    return section("metric", name, source=source, headline=[figure])


def chart(name: str, source: str, y: float) -> dict[str, Any]:
    spec = {"data": [{"type": "bar", "x": ["math-v3"], "y": [y]}], "layout": {}}
    drawn = {"name": name, "title": name, "alt": "Bars.", "light": spec, "dark": spec}
    return section(
        "chart", name, source=source, figures=[drawn], tables={name: [{"v": y}]}, columns={name: ["v"]}
    )


def frozen(*sections: dict[str, Any], dollars: bool = False, runs: tuple[str, ...] = ()) -> FrozenReport:
    chosen = FreezeOptions(Redaction(dollars=dollars, runs=bool(runs)), runs=runs)
    return report_of(sections, "Notebook", chosen, kind="notebook")


def test_amounts_go_from_words_statements_and_all_that_is_computed_from_them() -> None:
    report = frozen(
        section("text", text="We paid **$41,234** for 7 points."),
        section("parameter", "budget", title="Budget", parameters={"budget": 41234.0},
                cell={"kind": "parameter", "name": "budget", "unit": "USD", "value": 41234.0, "high": 51234}),
        sql("dear", "select run, billed_cost * 2 as x from costs", run="a", x=41234.5),
        sql("under", "select x + 1 as y from dear", y=41235.5),
        sql("rest", "select 51234 - $budget as z", z=10000.25),
        metric("top", "under", 41235.5),
        chart("bars", "under", 41235.5),
        sql("steps", "select count(*) as steps from steps where step > 12345", steps=67890),
        chart("fine", "steps", 67890),
        dollars=True,
    )  # fmt: skip
    stored = report.to_json()
    for told in ("41234", "41,234", "41235", "51234", "10000.25"):
        assert told not in stored and told not in render(report).partition("<script>")[0]
    by = {s["name"]: s for s in report.sections}
    assert by["steps"]["sql"].endswith("> 12345") and by["steps"]["tables"]["steps"] == [{"steps": 67890}]
    assert by["fine"]["figures"] and not by["bars"]["figures"]
    assert [n for n, s in by.items() if s["hidden"]] == ["budget", "dear", "under", "rest", "top", "bars"]
    page = render(report)
    assert "Hidden by the author" in page and "it is computed from amounts of money" in page
    assert "We paid <strong>$…</strong> for 7 points." in page


def test_a_table_of_an_answer_taints_only_where_it_holds_money() -> None:
    answer = section("analysis", "spend", analysis="ledger",
                     tables={"costs": [{"run": "a", "usd": 41234.5}], "steps": [{"run": "a", "steps": 7}]},
                     columns={"costs": ["run", "usd"], "steps": ["run", "steps"]})  # fmt: skip
    report = frozen(
        answer,
        sql("all_costs", "select * from spend_costs", run="a", column1=41234.5),
        sql("all_steps", "select * from spend_steps", run="a", steps=7),
        dollars=True,
    )
    by = {s["name"]: s for s in report.sections}
    assert by["all_costs"]["hidden"] and "41234" not in report.to_json()
    assert not by["all_steps"]["hidden"] and by["all_steps"]["tables"]


def test_run_names_go_from_words_statements_patterns_columns_and_figures() -> None:
    report = frozen(
        section("text", text="MATH-V3 beat math-v3b; x did not."),
        sql("picked", "select * from runs where run = 'math-v3' or run like '%th-v3%' or run = 'x'",
            **{"math-v3": 1, "run": "math-v3", "who": "x"}),
        chart("bars", "picked", 1.0),
        runs=("math-v3", "x"),
    )  # fmt: skip
    stored = report.to_json()
    assert "math-v3" not in stored.lower().replace("math-v3b", "") and "th-v3%" not in stored
    words, picked, bars = report.sections
    assert words["text"] == "run 1 beat math-v3b; x did not."
    assert picked["sql"] == "select * from runs where run = 'run 1' or run like '…' or run = 'x'"
    assert picked["tables"]["picked"] == [{"run 1": 1, "run": "run 1", "who": "name 1"}]
    assert bars["figures"][0]["light"]["data"][0]["x"] == ["run 1"]
    assert "The author has hidden run and campaign names." in render(report)
