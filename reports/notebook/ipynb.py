"""A frozen report as a Jupyter notebook with its data: drawn and asked again from Parquet files beside it."""

import ast
import json
import keyword
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from pprint import pformat
from typing import Any

import nbformat
import sqlglot
from nbformat import NotebookNode, v4
from sqlglot import exp

from reports.freeze import FrozenReport, sections_of
from reports.notebook.markdown_export import (
    assumption_lines,
    fence,
    fine_print,
    inline,
    opening,
    parameter_lines,
    safe_markdown,
    scanned_lines,
    words,
    words_of,
)
from reports.notebook.redraw import layout_json, split
from reports.tables import (
    ASSUMPTIONS,
    HEADLINE,
    ReportTable,
    file_stem,
    parquet_bytes,
    report_tables,
    section_name,
    unique_stem,
    zip_bytes,
)

_HERE = Path(__file__).parent
_README = """{title}

Unpack the whole zip, start Jupyter in its folder and run {notebook}. It needs duckdb, pandas and plotly and
nothing else: every number, table and chart is read from tables/ and figures/, which hold what was frozen at
{created}. SQL cells that use only earlier cells' results are run again on the frozen tables, without access
to files or network; others show their statement and the frozen rows.

The last cell asks the same questions of a home of today where it finds a checkout of Intelligence per Dollar,
and puts both numbers side by side. Without one it says that it was skipped.

report.json is the frozen report; its content hash is {hash}.
"""


def bundle(report: FrozenReport) -> bytes:
    """Return the zip: notebook, tables/*.parquet, figures/*.parquet and *.json, report.json, README.txt."""
    stem = file_stem(report.title)
    tables, figures = report_tables(report), figure_files(report)
    members: dict[str, str | bytes] = {
        f"{stem}.ipynb": json.dumps(notebook(report, tables, figures), ensure_ascii=False, indent=1),
        "README.txt": _readme(report, f"{stem}.ipynb"),
        "report.json": report.to_json(),
        "tables.json": json.dumps(_listed(tables), ensure_ascii=False, indent=1),
    }
    members |= {f"tables/{t.stem}.parquet": t.parquet(report) for t in tables}
    for (section, number), name in figures.items():
        rest, columns = split(report.sections[section]["figures"][number]["light"])
        members[f"figures/{name}.json"] = layout_json(rest)
        members[f"figures/{name}.parquet"] = parquet_bytes(columns)
    return zip_bytes(members, report.created_at)


def figure_files(report: FrozenReport) -> dict[tuple[int, int], str]:
    """Return (section, number in it) -> file stem of every chart, in page order."""
    used: set[str] = set()
    return {
        (place, number): unique_stem(f"{section_name(section)}-{figure['name']}", used)
        for place, section in enumerate(sections_of(report))
        for number, figure in enumerate(section["figures"])
    }


def notebook(
    report: FrozenReport, tables: Sequence[ReportTable], figures: Mapping[tuple[int, int], str]
) -> NotebookNode:
    """Return the notebook of a bundle with these files. Cells are numbered: equal reports, equal bytes."""
    cells = [_words_cell("\n".join(opening(report))), _code_cell(_code("in_bundle.py"))]
    for place, section in enumerate(sections_of(report)):
        own = [t for t in tables if t.section == place]
        names = [name for (where, _), name in figures.items() if where == place]
        earlier = {t.sql_name for t in tables if t.section < place}
        cells += _section_cells(section, own, names, earlier, _parameters(report, place))
    cells += _again_cells(report)
    cells.append(_words_cell("\n".join(f"- {inline(k)}: {inline(v)}" for k, v in fine_print(report))))
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"
    made: NotebookNode = v4.new_notebook(cells=cells)  # type: ignore[no-untyped-call]
    made.metadata = {
        "kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"},
        "language_info": {"name": "python"},
    }
    nbformat.validate(made)
    return made


def asks_only(sql: str, tables: set[str], parameters: Sequence[str]) -> list[str] | None:
    """Return the parameters that a statement binds when it reads these tables and no other, else None.

    None also for what is no single SELECT, for functions that are tables, and for unknown parameters.
    """
    try:
        parsed = sqlglot.parse(sql, dialect="duckdb")
    except sqlglot.errors.SqlglotError:
        return None
    if len(parsed) != 1 or not isinstance(parsed[0], exp.Query):
        return None
    statement = parsed[0]
    inside = {cte.alias_or_name.lower() for cte in statement.find_all(exp.CTE)}
    known = inside | {name.lower() for name in tables}
    for table in statement.find_all(exp.Table):
        plain = isinstance(table.this, exp.Identifier) and not table.db and not table.catalog
        if not plain or table.name.lower() not in known:
            return None
    used = {str(p.name) for p in statement.find_all(exp.Parameter, exp.Placeholder)}
    return sorted(used) if used <= set(parameters) else None


def _words_cell(text: str) -> NotebookNode:
    return v4.new_markdown_cell(text)  # type: ignore[no-untyped-call,no-any-return]


def _code_cell(code: str) -> NotebookNode:
    return v4.new_code_cell(code)  # type: ignore[no-untyped-call,no-any-return]


def _section_cells(
    section: Mapping[str, Any],
    tables: Sequence[ReportTable],
    figures: Sequence[str],
    earlier: set[str],
    parameters: Sequence[str],
) -> Iterator[NotebookNode]:
    kind = section["kind"]
    if kind == "text":
        yield _words_cell(safe_markdown(str(section["text"])))
        return
    if kind == "parameter":
        yield _words_cell("\n".join(parameter_lines(section)))
        yield from (_code_cell(_assignment(section, k, v)) for k, v in section["parameters"].items())
        return
    said = [*words(section), *assumption_lines(words_of(section)["assumptions"])]
    if section.get("hidden_figures"):
        said.append(f"{section['hidden_figures']} charts that show dollars are left out.")
    if any(line.strip() for line in said):
        yield _words_cell("\n".join(said).strip())
    if section.get("params"):
        yield _code_cell(f"{_variable(section)} = {_literal(section['params'])}\n{_variable(section)}")
    yield from (_code_cell(f"table({t.stem!r})") for t in tables if t.table == HEADLINE)
    yield from (_code_cell(f"figure({name!r})") for name in figures)
    shown = kind != "chart" and section.get("show_tables", True)
    rows = [t for t in tables if shown and t.table not in {HEADLINE, ASSUMPTIONS}]
    for one in rows:
        if kind == "sql":
            yield from _sql_cells(section, one, earlier, parameters)
        else:
            yield _code_cell(f"table({one.stem!r})")


def _sql_cells(
    section: Mapping[str, Any], rows: ReportTable, earlier: set[str], parameters: Sequence[str]
) -> Iterator[NotebookNode]:
    """The statement and its rows: asked again where it needs nothing but what is frozen here."""
    sql = str(section["sql"])
    used = asks_only(sql, earlier, parameters) if sql and not section["rows"].get("cut") else None
    if used is not None:
        yield _code_cell(f"rerun({rows.stem!r}, {_text(sql)}, {used!r})")
        return
    why = "It reads the telemetry, which is not in this bundle; these are its frozen rows."
    told = [fence(sql, "sql"), "", why, *scanned_lines(section)] if sql else [why]
    yield _words_cell("\n".join(told))
    yield _code_cell(f"table({rows.stem!r})")


def _again_cells(report: FrozenReport) -> list[NotebookNode]:
    asked = [
        {"question": s["analysis"], "params": s["params"], "headline": s["headline"]}
        for s in sections_of(report)
        if s["kind"] == "analysis" and s["analysis"] and s["headline"]
    ]
    if not asked:
        return []
    keys = ("name", "label", "unit", "value")
    short = [{**one, "headline": [{k: f[k] for k in keys} for f in one["headline"]]} for one in asked]
    return [
        _words_cell("## Beside a checkout: frozen and recomputed"),
        _code_cell(f"ASKED = {_literal(short)}\n\n{_code('in_bundle_again.py')}"),
    ]


def _parameters(report: FrozenReport, before: int) -> list[str]:
    sections = sections_of(report)[:before]
    return [k for s in sections if s["kind"] == "parameter" for k in s["parameters"]]


def _assignment(section: Mapping[str, Any], name: str, value: Any) -> str:
    """A parameter as a variable of its own too, unless the notebook or Python has that name."""
    is_date = (section.get("cell") or {}).get("input") == "date"
    told = f"date.fromisoformat({value!r})" if is_date else _literal(value)
    given = f"parameters[{name!r}] = {told}"
    free = name.isidentifier() and not keyword.iskeyword(name) and name not in _taken()
    return f"{name} = {given}" if free else given


def _variable(section: Mapping[str, Any]) -> str:
    return "params_" + re.sub(r"[^A-Za-z0-9]", "_", file_stem(section_name(section)))


@cache
def _taken() -> frozenset[str]:
    """Names that the first code cell needs."""
    tree = ast.parse((_HERE / "in_bundle.py").read_text(encoding="utf-8"))
    return frozenset(n.id for n in ast.walk(tree) if isinstance(n, ast.Name)) | frozenset(
        n.name for n in tree.body if isinstance(n, ast.FunctionDef)
    ) | {"json", "math", "go", "pd", "duckdb", "display"}  # fmt: skip


def _literal(value: Any) -> str:
    """A value as Python, wrapped; texts are literals, whatever stands in them."""
    return pformat(value, width=100, sort_dicts=False)


def _text(text: str) -> str:
    """A text over several lines where it can be read so, else as one literal."""
    lines = text.splitlines()
    plain = "\\" not in text and '"""' not in text and not text.endswith('"')
    return (
        f'"""{text}"""'
        if plain and text == "\n".join(lines) and text.replace("\n", "").isprintable()
        else repr(text)
    )


def _code(name: str) -> str:
    """The source of a cell, without the docstring that tells of its file."""
    source = (_HERE / name).read_text(encoding="utf-8")
    first = ast.parse(source).body[1].lineno
    return "\n".join(source.splitlines()[first - 1 :]).strip()


def _listed(tables: Sequence[ReportTable]) -> list[dict[str, Any]]:
    return [
        {
            "file": t.stem,
            "sql_name": t.sql_name,
            "section": t.section + 1,
            "title": t.title,
            "rows": len(t.rows),
        }
        for t in tables
    ]


def _readme(report: FrozenReport, name: str) -> str:
    created = report.created_at.strftime("%Y-%m-%d %H:%M UTC")
    return _README.format(title=report.title, notebook=name, created=created, hash=report.hash)
