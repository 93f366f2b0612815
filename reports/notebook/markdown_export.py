"""A frozen report as Markdown: the same paper as text, in which no name of a run or column is markup."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC
from typing import Any

from markdown_it import MarkdownIt

from reports.freeze import FrozenReport, sections_of
from reports.html import SHOWN_ROWS, Table
from reports.html import _fine_print as fine_print
from reports.html import _section as words_of
from reports.redact import Redaction

__all__ = [
    "fence",
    "fine_print",
    "inline",
    "opening",
    "safe_markdown",
    "table_lines",
    "to_markdown",
    "words",
    "words_of",
]

SYNTHETIC = "**Synthetic example data.** Generated to show the product; nothing here was measured."
SAFE_LINKS = ("http://", "https://", "mailto:", "#")
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_MARKUP = re.compile(r"[\\`*_\[\]|~$&<>]")
_LINE_START = re.compile(r"^(?:#{1,6}(?=\s|$)|[-+=](?=\s|$)|[-=]+$|\d{1,9}(?=[.)](?:\s|$)))")
_TAG = re.compile(r"<(?=[A-Za-z/!?])")
_BACKTICKS = re.compile(r"`+")
_CODE_TOKENS = {"fence", "code_block"}


def to_markdown(report: FrozenReport) -> str:
    """Return title, answers, headline with intervals, assumptions with badges, tables, SQL, fine print.

    Tables show their first 100 rows. Charts are told by their alternative text. Names are escaped, so that
    none ends a table, a fence or a link; HTML in text cells is shown as text.
    """
    lines = opening(report)
    for section in sections_of(report):
        lines += ["", *_section_lines(section)]
    lines += ["", "---", "", *(f"- {inline(name)}: {inline(value)}" for name, value in fine_print(report))]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip() + "\n"


def opening(report: FrozenReport) -> list[str]:
    """Return the lines of title, date, and what a reader has to know first."""
    created = report.created_at.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")
    lines = [f"# {inline(report.title)}", "", f"Intelligence per Dollar · frozen at {created}"]
    if report.synthetic:
        lines += ["", f"> {SYNTHETIC}"]
    hidden = Redaction(**report.payload["redaction"]).words()
    return [*lines, "", f"> The author has hidden {hidden}."] if hidden else lines


def words(section: Mapping[str, Any]) -> list[str]:
    """Return what a section says before its tables and charts: title, answer, what it lacks, notices."""
    lines = []
    title = section.get("title") or section.get("name")
    if title:
        lines += [f"## {inline(title)}", ""]
    if section.get("answer"):
        lines += [f"**{inline(section['answer'])}**" if title else f"## {inline(section['answer'])}", ""]
    lines += [f"> {inline(section[key])}\n" for key in ("problem", "hidden") if section.get(key)]
    for notice in words_of(section)["warnings"]:
        where = f" ({inline(notice['where'])})" if notice["where"] else ""
        lines += [f"> {inline(notice['text'])}{where}", ""]
    return lines


def inline(text: object) -> str:
    """Return text as one line of Markdown that shows it as it is.

    >>> inline("a|b <script> [x](y)"), inline("# no title")
    ('a\\\\|b &lt;script&gt; \\\\[x\\\\](y)', '\\\\# no title')
    """
    line = " ".join(str(text).split())
    escaped = _MARKUP.sub(lambda m: _ENTITIES.get(m.group(0)) or "\\" + m.group(0), line)
    return _LINE_START.sub(_at_start, escaped)


def fence(code: str, language: str = "") -> str:
    """Return code in a fence that nothing in it can close."""
    longest = max((len(m.group(0)) for m in _BACKTICKS.finditer(code)), default=0)
    marks = "`" * max(3, longest + 1)
    return f"{marks}{language}\n{code.rstrip()}\n{marks}"


def table_lines(
    columns: Sequence[str], rows: Iterable[Sequence[str]], numeric: Sequence[bool] = ()
) -> list[str]:
    """Return a table; cells are escaped, numbers stand at the right."""
    sides = ["---:" if i < len(numeric) and numeric[i] else "---" for i in range(len(columns))]
    return [_row(columns), f"| {' | '.join(sides)} |", *(_row(row) for row in rows)]


def safe_markdown(text: str) -> str:
    """Return a person's Markdown without HTML, pictures, and links that are no web or mail address.

    What is taken out is shown as text. Code keeps its characters.
    """
    lines = text.replace("\x00", "").splitlines()
    code = _code_lines(text)
    shown = [line if i in code else _TAG.sub("&lt;", line) for i, line in enumerate(lines)]
    if _loads_or_runs("\n".join(shown)):
        shown = [line if i in code else line.replace("[", "\\[") for i, line in enumerate(shown)]
    return "\n".join(shown)


def _at_start(found: re.Match[str]) -> str:
    return found.group(0) + "\\" if found.group(0)[0].isdigit() else "\\" + found.group(0)


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(inline(c) or ' ' for c in cells)} |"


def _code_lines(text: str) -> set[int]:
    tokens = MarkdownIt("commonmark").parse(text)
    return {n for t in tokens if t.type in _CODE_TOKENS and t.map for n in range(*t.map)}


def _loads_or_runs(text: str) -> bool:
    parser = MarkdownIt("commonmark")
    parser.validateLink = lambda url: True  # type: ignore[method-assign] # noqa: ARG005 - every target is looked at here
    inside = [child for token in parser.parse(text) for child in token.children or []]
    targets = [str(t.attrGet("href") or "") for t in inside if t.type == "link_open"]
    return any(t.type == "image" for t in inside) or any(
        not target.strip().lower().startswith(SAFE_LINKS) for target in targets
    )


def _section_lines(section: Mapping[str, Any]) -> Iterator[str]:
    kind = section["kind"]
    if kind == "text":
        yield safe_markdown(str(section["text"]))
        return
    if kind == "parameter":
        yield from parameter_lines(section)
        return
    yield from words(section)
    if section["sql"]:
        yield from (fence(str(section["sql"]), "sql"), "", *scanned_lines(section))
    told = words_of(section)
    yield from _headline_lines(section)
    for figure in section["figures"]:
        yield from (f"*Chart: {inline(figure['title'])}.* {inline(figure['alt'])}", "")
    if section["hidden_figures"]:
        yield from (f"{section['hidden_figures']} charts that show dollars are left out.", "")
    for table in told["tables"]:
        yield from _table(table)
    yield from assumption_lines(told["assumptions"])
    asked = [f"{inline(k)}: {inline(v)}" for k, v in told["params"].items()]
    yield from ([f"What was asked: {' · '.join(asked)}", ""] if asked else [])


def parameter_lines(section: Mapping[str, Any]) -> list[str]:
    """Return a parameter's label, value with unit, and range."""
    told = words_of(section)["setting"]
    return [f"**{inline(told['label'])}:** {inline(told['value'])} {inline(told['range'])}".rstrip(), ""]


def scanned_lines(section: Mapping[str, Any]) -> list[str]:
    """Return how many rows a statement read and gave."""
    told = words_of(section)["facts"]
    return [inline(told), ""] if told else []


def _headline_lines(section: Mapping[str, Any]) -> list[str]:
    numbers = words_of(section)["numbers"]
    if not numbers:
        return []
    rows = [(n.label, n.value, n.tail, n.interval, n.missing or n.detail, n.formula) for n in numbers]
    return [
        *table_lines(("Number", "Value", "Unit", "Interval", "About", "Formula"), rows, (False, True)),
        "",
    ]


def assumption_lines(items: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the table of what was not measured, each with its badge."""
    if not items:
        return []
    rows = [
        (
            str(a["name"]),
            a["shown"],
            f"[{a.get('words') or str(a['status']).replace('_', ' ')}]",
            str(a["source"]),
            str(a["date"]),
        )
        for a in items
    ]
    head = ("What", "Value", "Status", "Source", "Date")
    return ["Assumptions:", "", *table_lines(head, rows, (False, True)), ""]


def _table(table: Table) -> list[str]:
    more = f", the first {SHOWN_ROWS} shown" if table.total > len(table.rows) else ""
    rows = f"{table.total:,} row{'' if table.total == 1 else 's'}"
    head = f"**{inline(table.name)}** · {rows}{more}"
    return [head, "", *table_lines(table.columns, table.rows, table.numeric), ""]
