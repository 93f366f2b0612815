"""Files of a frozen report: page, paper, notebook, text, tables, pictures, each made when it is asked for.

All are made from the frozen payload alone, so that what its author hid is in none of them.
"""

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import pandas as pd

from data.errors import UserError
from reports.freeze import FrozenReport
from reports.precision import settled
from reports.tables import file_stem, report_tables, zip_bytes

__all__ = ["FORMATS", "File", "Format", "file_stem", "frame_csv", "guard", "make", "table_csv", "tables_zip"]

_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n")


@dataclass(frozen=True)
class File:
    """A file to download."""

    name: str
    mime: str
    data: bytes


@dataclass(frozen=True)
class Format:
    """A kind of file: what a menu says of it. `needs_browser`: made by a Chromium on the app's machine."""

    key: str
    label: str
    help: str
    icon: str
    suffix: str
    mime: str
    write: Callable[[FrozenReport], bytes]
    needs_browser: bool = False
    in_menu: bool = True


def make(key: str, report: FrozenReport) -> File:
    """Return a report as a file of this format.

    UserError for an unknown format, for pictures of a report without charts, and where a browser is needed
    and none is found.
    """
    found = _ALL.get(key)
    if found is None:
        raise UserError(f"There is no format '{key}'", "format", f"Use one of {', '.join(_ALL)}.")
    return File(f"{file_stem(report.title)}{found.suffix}", found.mime, found.write(report))


def guard(value: Any) -> Any:
    """Return a cell as it may go into a CSV: text that starts like a formula gets a leading apostrophe.

    Numbers stay numbers, negative ones too (CVE-2021-41270, OWASP CSV injection).
    """
    if isinstance(value, str) and value.lstrip(" ").startswith(_FORMULA_STARTS):
        return "'" + value
    return value


def table_csv(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> str:
    """Return rows as CSV with a header; a missing value is an empty cell."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([guard(c) for c in columns])
    for row in rows:
        writer.writerow(["" if row.get(c) is None else _cell(row[c], c) for c in columns])
    return out.getvalue()


def frame_csv(frame: pd.DataFrame) -> str:
    """Return a result table as CSV, exactly the rows and columns on screen."""
    columns = [str(c) for c in frame.columns]
    rows = [
        {c: None if _missing(v) else v for c, v in zip(columns, values, strict=True)}
        for values in frame.itertuples(index=False, name=None)
    ]
    return table_csv(rows, columns)


def tables_zip(report: FrozenReport) -> bytes:
    """Return every table of a report as CSV in one zip, with the frozen JSON beside them."""
    members: dict[str, str | bytes] = {
        f"{table.stem}.csv": table_csv(table.rows, table.columns) for table in report_tables(report)
    }
    return zip_bytes({**members, "report.json": report.to_json()}, report.created_at)


def parquet_zip(report: FrozenReport) -> bytes:
    """Return every table as Parquet in one zip: exact values, types, and units in the columns' metadata."""
    members: dict[str, str | bytes] = {
        f"{table.stem}.parquet": table.parquet(report) for table in report_tables(report)
    }
    return zip_bytes({**members, "report.json": report.to_json()}, report.created_at)


def _html(report: FrozenReport) -> bytes:
    from reports.html import EXPIRY_MARK, render

    return render(report).replace(EXPIRY_MARK, "", 1).encode()


def _pdf(report: FrozenReport) -> bytes:
    from reports.pictures import pdf

    return pdf(report)


def _ipynb(report: FrozenReport) -> bytes:
    from reports.notebook.ipynb import bundle

    return bundle(report)


def _markdown(report: FrozenReport) -> bytes:
    from reports.notebook.markdown_export import to_markdown

    return to_markdown(report).encode()


def _png(report: FrozenReport) -> bytes:
    return _pictures(report, "png")


def _svg(report: FrozenReport) -> bytes:
    return _pictures(report, "svg")


def _png_dark(report: FrozenReport) -> bytes:
    return _pictures(report, "png", dark=True)


def _svg_dark(report: FrozenReport) -> bytes:
    return _pictures(report, "svg", dark=True)


def _pictures(report: FrozenReport, kind: Literal["png", "svg"], *, dark: bool = False) -> bytes:
    from reports.pictures import chart_files

    return zip_bytes(chart_files(report, kind, dark=dark), report.created_at)


def _cell(value: Any, column: str) -> Any:
    """Every digit that is one, see `settled`."""
    told = settled(value, column)
    return guard(str(told) if isinstance(told, list | dict) else told)


def _missing(value: Any) -> bool:
    return not isinstance(value, list | dict | tuple) and bool(pd.isna(value))


_ZIP = "application/zip"
_FORMATS = (
    Format(
        "html", "HTML report", "One file with interactive charts; opens offline and prints well.",
        ":material/description:", ".html", "text/html", _html,
    ),
    Format(
        "pdf", "PDF", "The report on A4 paper.",
        ":material/picture_as_pdf:", ".pdf", "application/pdf", _pdf, needs_browser=True,
    ),
    Format(
        "ipynb", "Jupyter notebook",
        "A zip: the notebook and the frozen tables that it reads; needs duckdb, pandas and plotly.",
        ":material/terminal:", "-notebook.zip", _ZIP, _ipynb,
    ),
    Format(
        "markdown", "Markdown", "The report as text, with the first 100 rows of each table.",
        ":material/markdown:", ".md", "text/markdown", _markdown,
    ),
    Format(
        "csv", "CSV tables", "Every table, zipped; safe to open in a spreadsheet.",
        ":material/table:", "-csv.zip", _ZIP, tables_zip,
    ),
    Format(
        "parquet", "Parquet tables", "Every table with exact values, types and units, zipped.",
        ":material/database:", "-parquet.zip", _ZIP, parquet_zip,
    ),
    Format(
        "png", "PNG charts", "Every chart as a picture, zipped.",
        ":material/image:", "-png.zip", _ZIP, _png, needs_browser=True,
    ),
    Format(
        "svg", "SVG charts", "Every chart as a drawing that scales, zipped.",
        ":material/shapes:", "-svg.zip", _ZIP, _svg, needs_browser=True,
    ),
    Format(
        "png_dark", "PNG charts, dark", "Every chart as a picture on dark paper, zipped.",
        ":material/image:", "-png-dark.zip", _ZIP, _png_dark, needs_browser=True, in_menu=False,
    ),
    Format(
        "svg_dark", "SVG charts, dark", "Every chart as a drawing on dark paper, zipped.",
        ":material/shapes:", "-svg-dark.zip", _ZIP, _svg_dark, needs_browser=True, in_menu=False,
    ),
)  # fmt: skip
_ALL = {one.key: one for one in _FORMATS}
FORMATS = {one.key: one for one in _FORMATS if one.in_menu}
"""Formats that a menu offers, in its order."""
