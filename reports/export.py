"""Tables of a report or result as CSV files that a spreadsheet opens without running anything."""

import csv
import io
import re
import zipfile
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from reports.freeze import FrozenReport
from reports.precision import settled

_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n")
_UNSAFE_NAME = re.compile(r"[^A-Za-z0-9._-]+")
_NAME_LIMIT = 60


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
    out = io.BytesIO()
    used: set[str] = set()
    stamp = report.created_at.timetuple()[:6]
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for section in report.sections:
            for name, rows in section["tables"].items():
                text = table_csv(rows, section["columns"].get(name, []))
                _add(archive, _unique(f"{section['analysis']}-{name}", used) + ".csv", text, stamp)
            if section["headline"]:
                columns = [
                    "name",
                    "label",
                    "value",
                    "low",
                    "high",
                    "interval",
                    "unit",
                    "n",
                    "boundary",
                    "missing",
                ]
                text = table_csv(section["headline"], columns)
                _add(archive, _unique(f"{section['analysis']}-headline", used) + ".csv", text, stamp)
            if section["assumptions"]:
                columns = ["name", "value", "unit", "status", "source", "date"]
                text = table_csv(section["assumptions"], columns)
                _add(archive, _unique(f"{section['analysis']}-assumptions", used) + ".csv", text, stamp)
        _add(archive, "report.json", report.to_json(), stamp)
    return out.getvalue()


def file_stem(title: str) -> str:
    """Return a file name without surprises: letters, digits, dot, dash."""
    stem = _UNSAFE_NAME.sub("-", title).strip("-.")[:_NAME_LIMIT]
    return stem or "report"


def _cell(value: Any, column: str) -> Any:
    """Every digit that is one, see `settled`."""
    told = settled(value, column)
    return guard(str(told) if isinstance(told, list | dict) else told)


def _missing(value: Any) -> bool:
    return not isinstance(value, list | dict | tuple) and bool(pd.isna(value))


def _unique(name: str, used: set[str]) -> str:
    stem = file_stem(name)
    number = 2
    chosen = stem
    while chosen in used:
        chosen = f"{stem}-{number}"
        number += 1
    used.add(chosen)
    return chosen


def _add(archive: zipfile.ZipFile, name: str, text: str, stamp: tuple[int, ...]) -> None:
    info = zipfile.ZipInfo(name, stamp)  # type: ignore[arg-type]
    info.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(info, text)
