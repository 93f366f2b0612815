"""Cells of a notebook in the words of a report's page."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from charts.text import quantity
from reports.cells import plain

STATES = {
    "failed": "Failed",
    "blocked": "Not run",
    "stale": "Out of date",
    "not_run": "Not run",
}
CARDS = frozenset({"metric", "parameter"})
_TAGS = re.compile(r"<br\s*/?>|</?[a-zA-Z][^<>]*>")


def problem(section: Mapping[str, Any]) -> dict[str, str] | None:
    """Return {state, name, text} of a cell that is not as it should be; None for one that is."""
    state = str(section.get("state", "done"))
    if state == "done":
        return None
    name = str(section["name"] or section["title"] or section["kind"])
    return {"state": STATES[state], "name": name, "text": str(section["problem"])}


def blocks(sections: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return places of sections in order of the page: metrics and parameters side by side share a block."""
    found: list[dict[str, Any]] = []
    for place, section in enumerate(sections):
        cards = section["kind"] in CARDS
        if cards and found and found[-1]["cards"]:
            found[-1]["places"].append(place)
        else:
            found.append({"cards": cards, "kind": section["kind"], "places": [place]})
    return found


def parameter(section: Mapping[str, Any]) -> dict[str, str]:
    """Return {label, value, range} of a parameter cell."""
    cell = section["cell"] or {}
    label, name = str(section["title"]), str(section["name"])
    if name not in section["parameters"]:
        return {"label": label, "value": "Hidden by the author", "range": ""}
    value, unit = section["parameters"][name], str(cell.get("unit") or "")
    if cell.get("input") == "slider":
        ends = f"{_measure(cell.get('low'), unit)} to {_measure(cell.get('high'), unit)}"
        return {"label": label, "value": _measure(value, unit), "range": f"of {ends}"}
    choices = cell.get("choices") or []
    return {
        "label": label,
        "value": f"{plain(value)} {unit}".strip(),
        "range": f"of {', '.join(map(plain, choices))}" if choices else "",
    }


def sql_facts(rows: Mapping[str, Any]) -> str:
    """Return what a statement read and gave, '1,234 rows scanned · 20 returned · a column changed'; or ''."""
    parts = []
    if rows.get("scanned") is not None:
        parts.append(f"{rows['scanned']:,} rows scanned")
    if rows.get("returned") is not None:
        cut = ", cut at the limit: there are more" if rows.get("cut") else ""
        parts.append(f"{rows['returned']:,} returned{cut}")
    parts.extend(rows.get("notes", ()))
    return " · ".join(parts)


def without_markup(text: str) -> str:
    """Return a label of a figure as it is seen: Plotly's tags are none of a reader's."""
    return " ".join(_TAGS.sub(" ", text).split()) if "<" in text else text


def _measure(value: Any, unit: str) -> str:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return quantity(float(value), unit) if number else plain(value)
