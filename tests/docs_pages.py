"""The pages of docs/ that are written from tables: templates.md and formats.md."""

import csv
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

from data.readers import REGISTRY
from data.readers.templates import template_docs, templates

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
FORMATS_CSV = ROOT / "data" / "schema" / "formats.csv"
FOREIGN_CSV = ROOT / "data" / "readers" / "foreign.csv"
GROUPS = (
    "RL runs",
    "GPUs and clusters",
    "Money",
    "Quality",
    "Sandboxes",
    "Own templates",
    "Anything else",
)
COLUMNS = ("format", "group", "made_by", "reads", "cannot_know", "per_record")


@cache
def formats() -> tuple[dict[str, str], ...]:
    """Rows of data/schema/formats.csv in file order."""
    return _rows(FORMATS_CSV)


@cache
def foreign() -> tuple[dict[str, str], ...]:
    """Rows of data/readers/foreign.csv in file order."""
    return _rows(FOREIGN_CSV)


def _rows(path: Path) -> tuple[dict[str, str], ...]:
    with path.open(encoding="utf-8", newline="") as handle:
        return tuple(csv.DictReader(handle))


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines)


def template_tables() -> str:
    """The whole of docs/templates.md."""
    parts = [
        "# Templates\n\nWritten by `.venv/bin/python -m tests.test_docs` from `data/schema`, and compared "
        "with it by a test. How files are read: [files.md](files.md). Required columns are marked; a column "
        "may carry any of its other names. Times are UTC unless they carry an offset; ratios are 0..1 or "
        "written with `%`.\n"
    ]
    for template in templates().values():
        parts.append(f"\n## {template.name}\n\n`{template.format}`. {template.what}\n\n")
        rows = [list(row.values()) for row in template_docs(template.name)]
        head = list(template_docs(template.name)[0])
        parts.append(_table(head, [[f"`{row[0]}`", *row[1:]] for row in rows]))
    return "".join(parts)


def format_tables() -> str:
    """The whole of docs/formats.md."""
    titles = {reader.format: reader.title for reader in REGISTRY}
    parts = [
        "# Formats\n\nWritten by `.venv/bin/python -m tests.test_docs` from `data/schema/formats.csv`, and "
        "compared with the readers by a test. A file is recognised by its content. Archives (zip, tar, gz, "
        "bz2, xz) and folders of these files load too. What becomes of every record: [files.md](files.md). "
        "What no file knows, such as platform, price and mostly the number of GPUs, is asked for: "
        "[run-details.md](run-details.md).\n"
    ]
    for group in GROUPS:
        parts.append(f"\n## {group}\n\n")
        if group == "Own templates":
            parts.append("Every column: [templates.md](templates.md).\n\n")
        rows = [
            [f"`{row['format']}`: {titles.get(row['format'], '').removeprefix('our template: ')}"]
            + [row[name] for name in ("made_by", "reads", "cannot_know", "per_record")]
            for row in formats()
            if row["group"] == group
        ]
        parts.append(_table(["format", "how to get it", "read", "cannot know", "one record"], rows))
    parts.append(
        "\n## Recognised and refused\n\nThe refusal names the format and says what to do instead.\n\n"
    )
    parts.append(_table(["format", "what it is", "instead"], [_refused(row) for row in foreign()]))
    return "".join(parts)


def _refused(row: dict[str, str]) -> list[str]:
    instead = row["remedy"] or f"Fill in the template `{row['template']}` with its numbers."
    return [f"`{row['format']}`", row["title"], instead]
