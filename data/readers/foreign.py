"""Files that no reader takes yet, recognised by their keys so that the refusal can name them."""

import csv
import json
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_PATH = Path(__file__).with_name("foreign.csv")
_HTTP_HINTS = frozenset(
    {"status_code", "status", "latency_ms", "latency", "latency_s", "method", "path", "url", "endpoint",
     "ttft", "ttft_ms", "request_id"}
)  # fmt: skip


@dataclass(frozen=True)
class Foreign:
    """A known format without a reader: its name, what to call it, and the template that can carry its data.

    `template` is "" where nothing of the file can be used here; `remedy` says how to get what can be read.
    """

    format: str
    title: str
    template: str
    remedy: str = ""

    @property
    def holds_prices(self) -> bool:
        """Whether it is a price list, which the price book imports."""
        return self.format in _PRICE_LISTS


_PRICE_LISTS = ("skypilot_price_list", "gpuhunt_price_list")


@cache
def _signatures() -> tuple[tuple[Foreign, str, tuple[re.Pattern[str], ...]], ...]:
    out = []
    with _PATH.open(encoding="utf-8", newline="") as handle:
        for row in csv.DictReader(handle):
            patterns = tuple(re.compile(row[name], re.MULTILINE) for name in ("pattern", "also") if row[name])
            foreign = Foreign(row["format"], row["title"], row["template"], row["remedy"] or "")
            out.append((foreign, row["place"], patterns))
    return tuple(out)


def recognise(head: str) -> Foreign | None:
    """The first known format (order of foreign.csv) whose signs are all in the head of a file."""
    first = _first_line(head)
    for foreign, place, patterns in _signatures():
        if place == "http_json":
            hit = http_json(head)
        else:
            text = first if place == "header" else head
            hit = all(pattern.search(text) for pattern in patterns)
        if hit:
            return foreign
    return None


def _json_keys(head: str) -> list[str]:
    return list(dict.fromkeys(re.findall(r'"([^"\\]{1,60})"\s*:', head)))


def http_json(head: str) -> bool:
    """JSON with at least two of the keys that logs of requests have."""
    first = _first_line(head)
    keys = {key.lower() for key in _json_keys(head)}
    return first.lstrip().startswith("{") and len(keys & _HTTP_HINTS) >= 2


def _first_line(head: str) -> str:
    return next((line for line in head.split("\n") if line.strip()), "")


def describe(head: str) -> str:
    """What an unknown file looks like, in words: keys of JSON, columns of a table, or kind of text."""
    first = _first_line(head).strip()
    if first.startswith("{"):
        keys = _json_keys(head)
        return f"JSON with the keys {_some(keys)}" if keys else "JSON without keys"
    if first.startswith("["):
        return "a JSON list"
    if _is_json(first):
        return "a single JSON value"
    name, cells = _table(first)
    if cells:
        return f"a table ({name}-separated) with the columns {_some(cells)}"
    return f"text that begins with {first[:60]!r}"


def _table(first: str) -> tuple[str, list[str]]:
    """What separates the cells of a line that looks like a header, and the cells; none when it is none."""
    for delimiter, name in ((",", "comma"), ("\t", "tab"), (";", "semicolon"), ("|", "bar")):
        cells = [cell.strip().strip('"') for cell in first.split(delimiter)]
        if len(cells) >= 3 and all(len(cell) <= 60 for cell in cells):
            return name, cells
    return "", []


def repeated_column(head: str) -> str | None:
    """The first column name that the header of a table has more than once."""
    first = _first_line(head).strip()
    if first.startswith(("{", "[")):
        return None
    seen: set[str] = set()
    for cell in _table(first)[1]:
        if cell and cell in seen and not re.fullmatch(r"[-+.\d]*|true|false|NaN", cell, re.IGNORECASE):
            return cell
        seen.add(cell)
    return None


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def _some(names: list[str]) -> str:
    shown = ", ".join(name or "(blank)" for name in names[:6])
    return f"{shown} and {len(names) - 6} more" if len(names) > 6 else shown
