"""Every table of a frozen report, under a file name and under the name that a notebook's SQL gives it."""

import io
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from data.rows import arrow_table
from reports.freeze import FrozenReport, sections_of
from reports.units import named_by_row, unit_of
from reports.words import heading, table_title

HEADLINE_COLUMNS = (
    "name",
    "label",
    "value",
    "low",
    "high",
    "interval",
    "unit",
    "n",
    "boundary",
    "formula",
    "missing",
)
ASSUMPTION_COLUMNS = ("name", "value", "unit", "status", "source", "date")
HEADLINE, ASSUMPTIONS = "headline", "assumptions"
_UNIT_BY_ROW = {"value", "low", "high", "given", "default"}
_UNSAFE_NAME = re.compile(r"[^A-Za-z0-9._-]+")
_NAME_LIMIT = 60
_OPEN = 0o644


@dataclass(frozen=True)
class ReportTable:
    """A table: `stem` names its files, unique in the report; `sql_name` is its name in SQL, else ''."""

    stem: str
    sql_name: str
    section: int
    table: str
    title: str
    columns: tuple[str, ...]
    rows: Sequence[Mapping[str, Any]]

    def arrow(self, report: FrozenReport) -> pa.Table:
        """Return it with types, units and headings in the metadata of its columns."""
        by_row = named_by_row(self.columns)
        about = {
            "report": report.hash,
            "section": str(self.section + 1),
            "table": self.table,
            "title": self.title,
        }
        return arrow_table(self.rows, self.columns, lambda c: _about(c, by_row), about)

    def parquet(self, report: FrozenReport) -> bytes:
        """Return it as one Parquet file."""
        return parquet_bytes(self.arrow(report))


def report_tables(report: FrozenReport) -> list[ReportTable]:
    """Return all tables in the order of the report: of each section its tables, headline and assumptions."""
    used: set[str] = set()
    return [
        ReportTable(
            unique_stem(f"{name}-{table}", used), sql_name, number, table, title, tuple(columns), rows
        )
        for number, section in enumerate(sections_of(report))
        for name in [section_name(section)]
        for table, sql_name, title, columns, rows in _of_section(section, name)
    ]


def section_name(section: Mapping[str, Any]) -> str:
    """Return the name of a section's cell, else its question, else its kind."""
    return str(section.get("name") or section.get("analysis") or section.get("kind") or "section")


def parquet_bytes(table: pa.Table) -> bytes:
    """Return a table as one compressed Parquet file."""
    out = io.BytesIO()
    pq.write_table(table, out, compression="zstd")
    return out.getvalue()


def file_stem(title: str) -> str:
    """Return a file name without surprises: letters, digits, dot, dash."""
    stem = _UNSAFE_NAME.sub("-", title).strip("-.")[:_NAME_LIMIT].rstrip("-.")
    return stem or "report"


def unique_stem(name: str, used: set[str]) -> str:
    """Return a file name that differs from those used also where capitals do not count, and note it."""
    stem = file_stem(name)
    number, chosen = 2, stem
    while chosen.lower() in used:
        chosen = f"{stem}-{number}"
        number += 1
    used.add(chosen.lower())
    return chosen


def zip_bytes(members: Mapping[str, str | bytes], made: datetime) -> bytes:
    """Return files as one zip, all of one time; equal files give equal bytes."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            info = zipfile.ZipInfo(name, made.timetuple()[:6])
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = _OPEN << 16
            archive.writestr(info, content)
    return out.getvalue()


def _of_section(
    section: Mapping[str, Any], name: str
) -> Iterator[tuple[str, str, str, Sequence[str], Sequence[Mapping[str, Any]]]]:
    question = str(section.get("analysis") or "")
    kind = section["kind"] if section["name"] else ""
    for table, rows in section["tables"].items():
        columns = section["columns"].get(table) or list(dict.fromkeys(k for r in rows for k in r))
        sql_name = {"sql": name, "analysis": f"{name}_{table}"}.get(kind, "")
        yield table, sql_name, table_title(question, table), columns, rows
    if section.get(HEADLINE):
        yield (
            HEADLINE,
            f"{name}_{HEADLINE}" if kind == "analysis" else "",
            "Headline",
            HEADLINE_COLUMNS,
            section[HEADLINE],
        )
    if section.get(ASSUMPTIONS):
        yield ASSUMPTIONS, "", "Assumptions", ASSUMPTION_COLUMNS, section[ASSUMPTIONS]


def _about(column: str, by_row: bool) -> dict[str, str]:
    unit = "named by each row" if by_row and column in _UNIT_BY_ROW else unit_of(column)
    return {"label": heading(column), **({"unit": unit} if unit else {})}
