"""A frozen report as one HTML file: no request leaves it, no script but our two runs in it."""

import base64
import hashlib
import html
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from analysis.result import Figure
from charts.text import (
    counted,
    figure_quantity,
    instead_of_value,
    interval,
    quantity,
    split_figure,
    unit_tail,
)
from reports.canonical import canonical_json, script_json
from reports.cell_words import blocks, parameter, problem, sql_facts, without_markup
from reports.cells import column_cells, is_percent, measured, plain
from reports.drawn import axis_titles, drawn_rows, patch_of
from reports.freeze import SCHEMA, SYNTHETIC_CODES, FrozenReport, sections_of
from reports.notebook.markdown import to_html
from reports.redact import HIDDEN_DOLLARS, Redaction
from reports.units import named_by_row
from reports.words import FIRST, heading, setting, shown_columns, table_title, value_words

TEMPLATES = Path(__file__).parent / "templates"
EXPIRY_MARK = "<!--ipd:link-->"
FIRST_SCHEMA = 1
HIDDEN = "Hidden by the author"
SHOWN_ROWS = 100
OPEN_ROWS = 25
"""Rows of a statement up to which they stand open."""
DRAWN_ROWS = 50
"""Rows of what a chart draws that stand beneath it for readers without JavaScript."""
DRAWN_HEADS = {"x": "Place", "y": "Place", "bar_from": "Bar from", "bar_to": "Bar to"}
"""Headings of what an axis without a title or a bar gives."""
SMALL_ROWS, SMALL_COLUMNS = 12, 9
OPEN_TABLES = 2
"""Small tables of a section that stand open, from its first on; the rest is folded."""
CSP_CLOSED = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_CSP_META = re.compile(r'<meta http-equiv="Content-Security-Policy" content="([^"]+)">')
_CSP_REACH = 4_000


@dataclass(frozen=True)
class Number:
    """One headline number in words: value with unit, interval, what it counts, or what is missing."""

    label: str
    value: str
    tail: str
    interval: str
    detail: str
    formula: str
    missing: str


@dataclass(frozen=True)
class Table:
    """The first rows of a table as text cells; `numeric` tells which columns are right-aligned."""

    name: str
    columns: list[str]
    numeric: list[bool]
    rows: list[list[str]]
    total: int
    open: bool = False

    @property
    def small(self) -> bool:
        """Whether it may stand open on a page and be printed."""
        return self.total <= SMALL_ROWS and len(self.columns) <= SMALL_COLUMNS


def render(report: FrozenReport, *, live: str = "") -> str:
    """Return the page; it holds `EXPIRY_MARK` once, where a link says until when it opens.

    `live` says what a live view is computed from, in place of the words that nothing changes it. A report of
    schema 1 has the page of its time.
    """
    figures = [f for s in report.sections for f in s["figures"]]
    form = "report_1" if report.schema == FIRST_SCHEMA else "report"
    boot = _template_text(f"{form}.js")
    scripts = [plotly_js(), boot] if figures else []
    page = _environment().get_template(f"{form}.html.j2")
    sections = sections_of(report)
    text: str = page.render(
        report=report,
        sections=[_section(s, report.schema) for s in sections],
        blocks=blocks(sections) if report.schema > FIRST_SCHEMA else [],
        problems=[p for s in sections if (p := problem(s))],
        assumptions=_all_assumptions(sections) if report.payload.get("kind") == "notebook" else [],
        live=live,
        csp=content_policy(scripts),
        style=Markup(_template_text(f"{form}.css")),  # noqa: S704 - our own file
        scripts=[Markup(s) for s in scripts],  # noqa: S704 - our own file and the Plotly wheel's
        figures=Markup(script_json(_both_faces(figures, report.schema))),  # noqa: S704 - escaped
        hidden=Redaction(**report.payload["redaction"]).words(),
        fine_print=_fine_print(report),
        expiry_mark=Markup(EXPIRY_MARK),  # noqa: S704 - a constant
        created=_moment(report.created_at),
    )
    return text


def policy_of(page: str) -> str:
    """Return the content security policy that the page carries, for the HTTP header."""
    found = _CSP_META.search(page, 0, _CSP_REACH)
    return html.unescape(found.group(1)) if found else CSP_CLOSED


def content_policy(scripts: list[str]) -> str:
    """Return a policy that runs exactly these scripts and loads nothing.

    `data:` and `blob:` images are what Plotly's PNG download needs.
    """
    hashes = " ".join(f"'sha256-{_digest(s)}'" for s in scripts) or "'none'"
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )


@cache
def plotly_js() -> str:
    """Return the Plotly library of the installed wheel, about 4.8 MB."""
    from plotly.offline import get_plotlyjs

    return str(get_plotlyjs()).replace("</script", "<\\/script")


@cache
def _template_text(name: str) -> str:
    return (TEMPLATES / name).read_text(encoding="utf-8")


@cache
def _environment() -> Environment:
    return Environment(
        loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )


@cache
def _digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def _both_faces(figures: Sequence[Mapping[str, Any]], schema: int) -> list[dict[str, Any]]:
    """Both specifications of each figure; of the dark one only what differs, for the file's size."""
    if schema == FIRST_SCHEMA:
        return [{k: f[k] for k in ("light", "dark")} for f in figures]
    return [{"light": f["light"], "patch": patch_of(f["light"], f["dark"])} for f in figures]


def _section(section: Mapping[str, Any], schema: int = SCHEMA) -> dict[str, Any]:
    """What a template needs of a section; that of a cell has its kind, name, words and problem."""
    told = {k: section.get(k, "") for k in ("kind", "name", "title", "sql", "source", "hidden", "answer")}
    return told | {
        "question": _question(str(section.get("analysis", ""))),
        "figures": section["figures"],
        "drawn": [_drawn(f) for f in section["figures"]] if schema > FIRST_SCHEMA else [],
        "hidden_figures": section["hidden_figures"],
        "numbers": [_number(f, schema) for f in section["headline"]],
        "tables": _tables(section) if section.get("show_tables", True) else [],
        "assumptions": [_assumption(a, schema) for a in section["assumptions"]],
        "problem": problem(section),
        "prose": Markup(to_html(section.get("text", ""))),  # noqa: S704 - no HTML of the author's is in it
        "facts": sql_facts(section.get("rows", {})),
        "setting": parameter(section) if section.get("kind") == "parameter" else None,
        "warnings": _grouped(section["warnings"]),
        "params": {setting(k): _asked(k, v) for k, v in section["params"].items() if v not in (None, [], "")},
    }


def _question(name: str) -> str:
    """What an analysis asks, in words; '' for another kind of section."""
    from analysis import registry  # on paper alone, and a server of links prints none

    asked = registry.QUESTIONS.get(name)
    return asked.title if asked is not None else ""


def _assumption(raw: Mapping[str, Any], schema: int) -> dict[str, Any]:
    old = schema == FIRST_SCHEMA
    shown = HIDDEN if raw.get("hidden") else _measure(raw["value"], str(raw["unit"]))
    status = str(raw["status"]).replace("_", " ") if old else value_words("status", str(raw["status"]))
    words = "not published" if raw["value"] is None and not (old or raw.get("hidden")) else shown
    return {**raw, "shown": words, "badge": _badge(str(raw["status"])), "words": status}


def _all_assumptions(sections: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Those of a whole notebook, each once, with the cells that rest on it."""
    found: dict[str, dict[str, Any]] = {}
    for section in sections:
        for raw in section["assumptions"]:
            item = found.setdefault(canonical_json(raw), {**_assumption(raw, SCHEMA), "cells": []})
            item["cells"].append(section["name"])
    return list(found.values())


def _drawn(figure: Mapping[str, Any]) -> Table | None:
    """The rows that a figure draws; None where it draws no points."""
    columns, rows = drawn_rows(figure["light"])
    titles = axis_titles(figure["light"])
    if not rows:
        return None
    shown = rows[:DRAWN_ROWS]
    numeric = [all(isinstance(r.get(c), int | float | None) for r in shown) for c in columns]
    cells = [[_point(r.get(c)) for c in columns] for r in shown]
    heads = [without_markup(titles.get(c, DRAWN_HEADS.get(c, c))) for c in columns]
    return Table(str(figure["title"]), heads, numeric, cells, len(rows))


def _point(value: Any) -> str:
    return measured(value) if isinstance(value, int | float) and not isinstance(value, bool) else plain(value)


def _tables(section: Mapping[str, Any]) -> list[Table]:
    """Tables with rows; an empty one tells a reader nothing. A statement has one, under its name."""
    question = str(section.get("analysis", ""))
    if section.get("kind") in {"sql", "chart"}:
        rows = [(n, r) for n, r in section["tables"].items() if r and section["kind"] == "sql"]
        return [_table(n, r, section["columns"][n], as_named=True) for n, r in rows]
    found = [
        _table(table_title(question, name), rows, section["columns"].get(name, []))
        for name, rows in sorted(section["tables"].items(), key=lambda item: _place(item[0]))
        if rows
    ]
    opened = {id(t) for t in [t for t in found if t.small][:OPEN_TABLES]}
    return [replace(t, open=id(t) in opened) for t in found]


def _place(name: str) -> tuple[int, str]:
    return (FIRST.index(name) if name in FIRST else len(FIRST), name)


def _asked(name: str, value: Any) -> str:
    """A parameter's value in the unit that its name tells; a scenario by its name, its inputs are a table."""
    if isinstance(value, list) and value and all(isinstance(one, Mapping) for one in value):
        return ", ".join(
            f"{one.get('name')}: {plain(one.get('question')).replace('_', ' ')}" for one in value
        )
    ratio = is_percent(name) and isinstance(value, int | float) and not isinstance(value, bool)
    return f"{100 * value:.4g}" if ratio else plain(value)


def _number(raw: Mapping[str, Any], schema: int = SCHEMA) -> Number:
    figure = Figure(**raw)
    known = figure.value is not None
    if figure.missing == HIDDEN_DOLLARS and schema > FIRST_SCHEMA:
        label = figure.label or figure.name.replace("_", " ")
        return Number(label, HIDDEN, "", "", "", figure.formula, "")
    detail = [f"{figure.boundary} boundary"] if figure.boundary else []
    if figure.n is not None:
        detail.append(counted(figure))
    value, unit = _in_two(figure, schema) if known else (instead_of_value(figure), "")
    return Number(
        label=figure.label or figure.name.replace("_", " "),
        value=value,
        tail=unit,
        interval=interval(figure),
        detail=" · ".join(detail),
        formula=figure.formula,
        missing="" if known else figure.missing or "",
    )


def _in_two(figure: Figure, schema: int) -> tuple[str, str]:
    """Return the value, and the unit that stands small after it, as on the pages of the app."""
    if schema == FIRST_SCHEMA:
        return figure_quantity(figure), unit_tail(figure.unit)
    value, unit = split_figure(figure)
    return value, unit or unit_tail(figure.unit)


def _grouped(warnings: list[Mapping[str, str]]) -> list[dict[str, str]]:
    """Equal sentences once, with their places; the synthetic mark stands at the top of the page already."""
    places: dict[str, list[str]] = {}
    for item in warnings:
        if item["code"] not in SYNTHETIC_CODES:
            places.setdefault(item["text"], []).append(item["where"])
    return [
        {"text": text, "where": ", ".join(dict.fromkeys(w for w in found if w))}
        for text, found in places.items()
    ]


def _table(title: str, rows: list[Mapping[str, Any]], columns: list[str], *, as_named: bool = False) -> Table:
    """Columns that hold tables of their own, or nothing, stay in the frozen data, not on the page.

    `as_named`: the columns of a statement, under the names that it gave them, all of them.
    """
    shown = rows[:SHOWN_ROWS]
    units = [str(r.get("unit") or r.get("metric") or "") for r in shown] if named_by_row(columns) else None
    if not as_named:
        kept = shown_columns(columns, rows, SMALL_COLUMNS)
        columns = [c for c in kept if not any(_is_nested(r.get(c)) for r in rows)]
    numeric = [
        any(isinstance(r.get(c), int | float) for r in shown)
        and not any(isinstance(r.get(c), str) for r in shown)
        for c in columns
    ]
    cells = [column_cells(c, shown, units) for c in columns]
    headings = [_as_named(c) if as_named else heading(c, percent=is_percent(c)) for c in columns]
    lines = [list(row) for row in zip(*cells, strict=True)]
    return Table(title, headings, numeric, lines, len(rows), open=as_named and len(rows) <= OPEN_ROWS)


def _as_named(column: str) -> str:
    return f"{column} (%)" if is_percent(column) else column


def _is_nested(value: Any) -> bool:
    return isinstance(value, Mapping) or (
        isinstance(value, list) and any(isinstance(v, list | Mapping) for v in value)
    )


def _measure(value: Any, unit: str) -> str:
    """Return an assumption with its unit as people write it; None is an unpublished value."""
    if value is None:
        return "not shown"
    if isinstance(value, int | float) and not isinstance(value, bool):
        _, per, what = unit.partition(" per ")
        tail = f"per {what}" if per and unit.lower().startswith("usd") else unit_tail(unit)
        return f"{quantity(float(value), unit)} {tail}".strip()
    return f"{plain(value)} {unit}".strip()


def _badge(status: str) -> str:
    return {"measured": "solid", "user": "user", "vendor_spec": "vendor"}.get(status, "assumed")


def _fine_print(report: FrozenReport) -> list[tuple[str, str]]:
    versions = dict(report.payload["versions"])
    cutoff = versions.pop("data_cutoff", "")
    names = {
        "app": "App version",
        "formulas": "Formulas",
        "price_book": "Price book",
        "prices": "Prices used",
        "catalogue": "Catalogue",
        "money_decisions": "Own prices and rules",
        "data_version": "Data version",
    }
    lines = [("Data up to", cutoff or "not dated by the files")]
    lines += [(names.get(k, k.replace("_", " ")), v) for k, v in versions.items() if v]
    return [*lines, ("Content hash (SHA-256)", report.hash)]


def _moment(value: datetime | None) -> str:
    return value.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC") if value else ""
