"""What a reader of a shared report need not see: dollars, names of hosts and teams, of runs and campaigns."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

HIDDEN_DOLLARS = "Hidden by the author of this report."
_AMOUNT = r"\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?(?:\s?[kMBT]\b)?"
_MONEY = re.compile(
    rf"(?:[-−]\s?)?\$\s?{_AMOUNT}|\b{_AMOUNT}\s?USD\b|\bUSD\s?{_AMOUNT}|\b{_AMOUNT}\s[A-Z]{{3}}(?= per )"
    rf"|\busd={_AMOUNT}"
)
_PER_DOLLARS = re.compile(
    rf"(?:{_AMOUNT}\s?±\s?)?{_AMOUNT}(?P<what>(?:\s[A-Za-z-]+){{1,3}} per \$)(?P<sum>\s?{_AMOUNT})"
    rf"(?P<where>[^();$]{{0,80}}\(95 % interval )?(?(where)[-−]?{_AMOUNT} to [-−]?{_AMOUNT})"
)
"""Such as `3.46 points per $10k … (95 % interval 2.40 to 4.52)`: with the points the dollars follow."""
_NUMBER = re.compile(rf"{_AMOUNT}")
_MONEY_NAME = re.compile(
    r"(^|_)(usd|costs?|prices?|dollars?|spend|billed|currency|quotes?|per_\d+k)(_|$)", re.IGNORECASE
)
_MONEY_UNIT = re.compile(r"usd|\$|dollar", re.IGNORECASE)
_MONEY_TEXT = re.compile(r"\$|\busd\b|usd_per|dollar", re.IGNORECASE)
_NAME_COLUMNS = {
    "host": "host",
    "team": "team",
    "user_name": "user",
    "user": "user",
    "uuid": "GPU",
    "cluster": "cluster",
}
_RUN_COLUMNS = {
    "run": "run",
    "run_a": "run",
    "run_b": "run",
    "campaign": "campaign",
    "checkpoint": "checkpoint",
    "base_checkpoint": "checkpoint",
}
_SHORTEST_NAME = 2
_PACKED = {"bdata", "dtype"}
_RESULT_SETTINGS = {"analysis", "unit", "interval", "boundary", "status", "code", "versions", "redaction"}
_CELL_SETTINGS = {"kind", "state", "id", "question", "input", "chart", "summary"}
_PLOTLY_SETTINGS = {"type", "mode", "orientation", "xref", "yref", "anchor", "xanchor", "yanchor", "shape"}
_PLOTLY_LOOKS = {"color", "colorscale", "colorway", "symbol", "fill", "fillcolor", "font", "side", "barmode"}
_SETTINGS = (
    _RESULT_SETTINGS
    | _CELL_SETTINGS
    | _PLOTLY_SETTINGS
    | _PLOTLY_LOOKS
    | {"dash", "hoverinfo", "textposition"}
)
_OWN_WORDS = {"title", "text", "sql", "markdown", "label"}
"""Where a person writes: there a name is one in any spelling of capitals."""
_ANY_CASE_FROM = 4
"""Letters of a name from which on capitals do not matter."""
_ROWS = {"tables", "columns", "parameters"}
"""Whose keys are names of things that a person or a file has named."""


@dataclass(frozen=True)
class Redaction:
    """What to hide: `dollars` (amounts, prices and every figure that shows them), `names` (hosts, users,
    teams), `runs` (runs, campaigns, their checkpoints and jobs).
    """

    dollars: bool = False
    names: bool = False
    runs: bool = False

    def to_dict(self) -> dict[str, bool]:
        """Return the JSON form that the report prints."""
        return {"dollars": self.dollars, "names": self.names, "runs": self.runs}

    def words(self) -> str:
        """Return what is hidden, in words; '' when nothing is."""
        parts = ["dollar amounts"] * self.dollars + ["host, user and team names"] * self.names
        parts += ["run and campaign names"] * self.runs
        return ", ".join([*parts[:-2], " and ".join(parts[-2:])])


def hide_dollars(section: Mapping[str, Any]) -> dict[str, Any]:
    """Return a section of a report payload without amounts of money.

    Figures whose text mentions dollars go as a whole: their bar lengths would tell the amount.
    """
    out = dict(section)
    out["answer"] = hide_amounts(str(section["answer"]))
    out["headline"] = [_hide_headline(f) for f in section["headline"]]
    amounts = set(_amounts(section))
    out["tables"], out["columns"] = {}, {}
    for name, rows in section["tables"].items():
        columns = section["columns"].get(name, [])
        gone = {c for c in columns if _MONEY_NAME.search(c) or _repeats(rows, c, amounts)}
        out["columns"][name] = [c for c in columns if c not in gone]
        out["tables"][name] = [_hide_row(row, gone) for row in rows]
    out["assumptions"] = [_hide_assumption(a) for a in section["assumptions"]]
    out["warnings"] = [{**w, "text": hide_amounts(w["text"])} for w in section["warnings"]]
    out["figures"] = [f for f in section["figures"] if not _mentions_money(f)]
    out["hidden_figures"] = len(section["figures"]) - len(out["figures"])
    out["params"] = hide_cell(section["params"])
    return out


def hide_amounts(text: str) -> str:
    """Return a sentence with every amount of money replaced by `$…`, and rates by the dollar by `…`."""
    return _MONEY.sub("$…", _PER_DOLLARS.sub(_hide_rate, text))


def _hide_rate(found: re.Match[str]) -> str:
    ends = f"{found['where']}… to …" if found["where"] else ""
    return f"…{found['what']}…{ends}"


def names_in(
    tables: Iterable[Mapping[str, Any]], *, hosts: bool = True, runs: bool = False
) -> dict[str, str]:
    """Return name -> replacement for names in the columns of table rows that hold some, numbered by order."""
    kinds = (_NAME_COLUMNS if hosts else {}) | (_RUN_COLUMNS if runs else {})
    seen: dict[str, str] = {}
    counts: dict[str, int] = {}
    for row in tables:
        for column, value in row.items():
            kind = kinds.get(column)
            if kind is None or not isinstance(value, str) or len(value) < _SHORTEST_NAME or value in seen:
                continue
            counts[kind] = counts.get(kind, 0) + 1
            seen[value] = f"{kind} {counts[kind]}"
    return seen


def replace_names(payload: Any, names: Mapping[str, str]) -> Any:
    """Return a report payload with every name replaced where it stands as a word, longest first.

    Column names of tables are texts too; keys and settings of Plotly are not. A name of one letter is
    replaced where it is the whole text. What a person wrote is searched in any spelling of capitals.
    """
    if not names:
        return payload
    long = {n: to for n, to in names.items() if len(n) >= _SHORTEST_NAME}
    exact = _swapper(long)
    folded = {n.lower(): to for n, to in long.items() if len(n) >= _ANY_CASE_FROM}
    loose = _swapper(folded, re.IGNORECASE)
    return _walk(
        payload,
        lambda text: names[text] if text in names else exact(text),
        in_rows=False,
        own=lambda text: loose(exact(text)),
    )


def _swapper(names: Mapping[str, str], flags: int = 0) -> Callable[[str], str]:
    if not names:
        return lambda text: text
    words = "|".join(re.escape(n) for n in sorted(names, key=len, reverse=True))
    pattern = re.compile(rf"(?<![A-Za-z0-9])(?:{words})(?![A-Za-z0-9])", flags)
    fold = str.lower if flags else str
    return lambda text: pattern.sub(lambda found: names[fold(found.group(0))], text)


def _walk(value: Any, swap: Callable[[str], str], *, in_rows: bool, own: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return swap(value)
    if isinstance(value, list):
        return [_walk(v, swap, in_rows=in_rows, own=own) for v in value]
    if not isinstance(value, Mapping) or set(value) >= _PACKED:
        return value
    out = {}
    for key, item in value.items():
        if key in _SETTINGS and not in_rows:
            out[key] = item
        elif key == "params" and not in_rows and isinstance(item, Mapping):
            out[key] = {k: _walk(v, swap, in_rows=True, own=own) for k, v in item.items()}
        else:
            told = own if key in _OWN_WORDS and not in_rows else swap
            out[swap(key) if in_rows else key] = _walk(item, told, in_rows=in_rows or key in _ROWS, own=own)
    return out


def _hide_headline(figure: Mapping[str, Any]) -> dict[str, Any]:
    out = dict(figure)
    if _MONEY_UNIT.search(str(figure["unit"])):
        out |= {"value": None, "low": None, "high": None, "missing": HIDDEN_DOLLARS}
    elif figure.get("missing"):
        out["missing"] = hide_amounts(str(figure["missing"]))
    return out


def _amounts(section: Mapping[str, Any]) -> Iterable[float]:
    """Every amount of money in the headline and the tables; 0 and 1 tell nothing."""
    for figure in section["headline"]:
        if _MONEY_UNIT.search(str(figure["unit"])):
            yield from (v for k in ("value", "low", "high") if _tells(v := figure[k]))
    for rows in section["tables"].values():
        for row in rows:
            yield from (v for k, v in row.items() if _MONEY_NAME.search(k) and _tells(v))


def _repeats(rows: list[Mapping[str, Any]], column: str, amounts: set[float]) -> bool:
    """Whether a column of another name (the x of a chart) shows these amounts in half its rows or more."""
    numbers = [v for row in rows if _tells(v := row.get(column))]
    return bool(numbers) and 2 * sum(v in amounts for v in numbers) >= len(numbers)


def _tells(value: Any) -> bool:
    return isinstance(value, int | float) and value not in (0, 1)


def _hide_row(row: Mapping[str, Any], gone: set[str]) -> dict[str, Any]:
    return {k: None if _is_money_row(row, k) else hide_cell(v) for k, v in row.items() if k not in gone}


def is_money_name(name: str) -> bool:
    """Whether a column or parameter of this name holds amounts of money."""
    return bool(_MONEY_NAME.search(name))


def is_money_unit(unit: str) -> bool:
    """Whether numbers in this unit are, or tell, amounts of money."""
    return bool(_MONEY_UNIT.search(unit))


def hide_cell(value: Any) -> Any:
    """Return a value without amounts: in its texts, and under names of money."""
    if isinstance(value, str):
        return hide_amounts(value)
    if isinstance(value, list):
        return [hide_cell(v) for v in value]
    if isinstance(value, Mapping):
        return {k: hide_cell(v) for k, v in value.items() if not _MONEY_NAME.search(k)}
    return value


def _is_money_row(row: Mapping[str, Any], column: str) -> bool:
    """Long tables name unit or metric in a column: numbers, and texts of numbers, are then money too."""
    told = " ".join(
        str(said or "") for name, said in row.items() if name == "metric" or name.endswith("unit")
    )
    value = row[column]
    number = isinstance(value, int | float) or (isinstance(value, str) and bool(_NUMBER.fullmatch(value)))
    return number and bool(_MONEY_UNIT.search(told))


def _hide_assumption(item: Mapping[str, Any]) -> dict[str, Any]:
    out = {k: hide_amounts(v) if isinstance(v, str) else v for k, v in item.items()}
    if _MONEY_UNIT.search(str(item["unit"])) or _MONEY_NAME.search(str(item["name"])):
        out |= {"value": None, "hidden": True}
    return out


def _mentions_money(figure: Mapping[str, Any]) -> bool:
    return any(_MONEY_TEXT.search(text) for text in _texts(figure))


def _texts(value: Any) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        if set(value) >= _PACKED:
            return
        for key, item in value.items():
            yield from _texts(item) if key != "tickformat" else ()
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
