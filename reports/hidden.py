"""A report's payload without what its author hides, whatever kind of section it stands in."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reports.redact import (
    HIDDEN_DOLLARS,
    Redaction,
    hide_amounts,
    hide_cell,
    hide_dollars,
    is_money_name,
    is_money_unit,
    names_in,
    replace_names,
)

HIDDEN_TABLE = "Hidden by the author of this report: it is computed from amounts of money."
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_MONEY_WORD = re.compile(
    r"(^|_)(bill|bills|invoice|invoices|charge|charges|budget|paid|spent|rent)(_|$)", re.I
)
_LITERAL = re.compile(r"'((?:[^']|'')*)'")
_WILD = re.compile(r"[%_*?^$.]+")
_TELLING = 3
"""Letters of a pattern from which on it tells a name."""
_NUMBERS_OF_A_PARAMETER = ("value", "low", "high", "step", "choices")


def hide(
    payload: Mapping[str, Any], redaction: Redaction, names: Sequence[str] = (), runs: Sequence[str] = ()
) -> dict[str, Any]:
    """Return the payload as a reader may see it; `names` and `runs` are those that the home knows."""
    out = dict(payload)
    if redaction.names or redaction.runs:
        hidden = _replacements(out, redaction, names, runs)
        out = {**out, "sections": [_without_patterns(s, hidden) for s in out["sections"]]}
        out = replace_names(out, hidden)
    if redaction.dollars:
        money = tainted(out["sections"])
        out["sections"] = [_without_prices(_section_without_dollars(s, money)) for s in out["sections"]]
        out["title"] = hide_amounts(str(out["title"]))
        out = _without_prices(out)
    return out


@dataclass(frozen=True)
class Names:
    """Names of cells' tables and values: those of `money`, and `plain` ones whatever words are in them."""

    money: set[str]
    plain: set[str]


def tainted(sections: Iterable[Mapping[str, Any]]) -> Names:
    """Return the names that a notebook's cells give to amounts of money and what comes of them."""
    found = Names(set(), set())
    for section in sections:
        name, kind = str(section["name"]), section["kind"]
        if kind == "analysis":
            told = {f"{name}_{t}": _shows_money(section, t, rows) for t, rows in section["tables"].items()}
            told[f"{name}_headline"] = any(is_money_unit(str(f["unit"])) for f in section["headline"])
        else:
            told = {name: _is_about_money(section, found)} if name else {}
        for one, money in told.items():
            (found.money if money else found.plain).add(one.lower())
    return found


def _replacements(
    payload: Mapping[str, Any], redaction: Redaction, names: Sequence[str], runs: Sequence[str]
) -> dict[str, str]:
    known = set(names) | set(runs)
    hidden = names_in(_rows(payload), hosts=redaction.names, runs=redaction.runs)
    if runs:
        odd = [
            n for n in hidden if n not in known and hidden[n].startswith(("run ", "campaign ", "checkpoint "))
        ]
        hidden = {n: to for n, to in hidden.items() if n not in odd or not n.isalpha()}
    for number, name in enumerate(sorted(known - set(hidden)), start=1):
        hidden[name] = f"name {number}"
    return hidden


def _without_patterns(section: Mapping[str, Any], hidden: Mapping[str, str]) -> dict[str, Any]:
    """A pattern of SQL, or a part of a name, tells the name that it is meant to find."""
    if not section["sql"]:
        return dict(section)
    names = [n.lower() for n in hidden]

    def told(found: re.Match[str]) -> str:
        part = _WILD.sub("", found.group(1)).lower()
        whole = found.group(1) in hidden
        return (
            "'…'" if len(part) >= _TELLING and not whole and any(part in n for n in names) else found.group(0)
        )

    sql = _LITERAL.sub(told, str(section["sql"]))
    cell = {**section["cell"], "sql": sql} if section["cell"] else section["cell"]
    return {**section, "sql": sql, "cell": cell}


def _section_without_dollars(section: Mapping[str, Any], names: Names) -> dict[str, Any]:
    out = hide_dollars(section)
    for name in ("title", "text", "problem", "sql"):
        out[name] = hide_amounts(str(section[name]))
    out["cell"] = hide_cell(section["cell"])
    out["parameters"] = {
        k: hide_cell(v)
        for k, v in section["parameters"].items()
        if k not in names.money and not is_money_name(k)
    }
    if section["kind"] in {"analysis", "text"} or not _is_about_money(section, names):
        return out
    out |= {"hidden": HIDDEN_TABLE, "sql": "", "tables": {}, "columns": {}, "rows": {}}
    out |= {"figures": [], "hidden_figures": len(section["figures"])}
    out["headline"] = [
        {**f, "value": None, "low": None, "high": None, "missing": HIDDEN_DOLLARS}
        for f in section["headline"]
    ]
    if section["kind"] == "parameter":
        out |= {"hidden": HIDDEN_DOLLARS, "parameters": {}}
    gone = {"sql", *_NUMBERS_OF_A_PARAMETER}
    out["cell"] = {k: v for k, v in (out["cell"] or {}).items() if k not in gone} or None
    return out


def _is_about_money(section: Mapping[str, Any], names: Names) -> bool:
    """Whether a cell of SQL, a chart, a metric or a parameter says, or is computed from, amounts of money."""
    cell = section["cell"] or {}
    said = [str(section["name"]), str(cell.get("column", "")), str(cell.get("figure", ""))]
    units = [str(cell.get("unit") or ""), *[str(f["unit"]) for f in section["headline"]]]
    if section["kind"] == "parameter":
        said += _WORD.findall(str(cell.get("label", "")).replace(" ", "_"))
    if section["kind"] in {"chart", "metric"} and section["source"] in names.money:
        return True
    if section["kind"] == "sql":
        said = _WORD.findall(str(section["sql"]))
        if hide_amounts(str(section["sql"])) != section["sql"]:
            return True
    return (
        any(is_money_unit(u) for u in units)
        or any(_is_money_word(w, names) for w in said)
        or any(is_money_name(c) for columns in section["columns"].values() for c in columns)
    )


def _is_money_word(word: str, names: Names) -> bool:
    low = word.lower()
    told = low in names.money or is_money_name(low) or bool(_MONEY_WORD.search(low))
    return told and low not in names.plain


def _shows_money(section: Mapping[str, Any], table: str, rows: Sequence[Mapping[str, Any]]) -> bool:
    """Whether hiding dollars changes a table of an analysis."""
    bare = {
        **section,
        "headline": [],
        "tables": {table: rows},
        "figures": [],
        "assumptions": [],
        "warnings": [],
    }
    return bool(hide_dollars(bare)["tables"][table] != list(rows))


def _without_prices(part: Mapping[str, Any]) -> dict[str, Any]:
    """The ids of the prices used would tell the prices."""
    return {**part, "versions": {k: v for k, v in part["versions"].items() if k != "prices"}}


def _rows(payload: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
    for section in payload["sections"]:
        for rows in section["tables"].values():
            yield from rows
