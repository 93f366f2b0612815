"""What a reader of a shared report need not see: dollars, host and team names."""

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
    r"(^|_)(usd|cost|price|dollars?|spend|billed|currency|quotes?|per_\d+k)(_|$)", re.IGNORECASE
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
_SHORTEST_NAME = 2
_PACKED = {"bdata", "dtype"}
_RESULT_SETTINGS = {"analysis", "unit", "interval", "boundary", "status", "code", "versions", "redaction"}
_PLOTLY_SETTINGS = {"type", "mode", "orientation", "xref", "yref", "anchor", "xanchor", "yanchor", "shape"}
_PLOTLY_LOOKS = {"color", "colorscale", "colorway", "symbol", "fill", "fillcolor", "font", "side", "barmode"}
_SETTINGS = _RESULT_SETTINGS | _PLOTLY_SETTINGS | _PLOTLY_LOOKS | {"dash", "hoverinfo", "textposition"}


@dataclass(frozen=True)
class Redaction:
    """What to hide: `dollars` (amounts, prices and every figure that shows them), `names` (hosts, teams)."""

    dollars: bool = False
    names: bool = False

    def to_dict(self) -> dict[str, bool]:
        """Return the JSON form that the report prints."""
        return {"dollars": self.dollars, "names": self.names}

    def words(self) -> str:
        """Return what is hidden, in words; '' when nothing is."""
        parts = ["dollar amounts"] * self.dollars + ["host, user and team names"] * self.names
        return " and ".join(parts)


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
    out["params"] = _hide_cell(section["params"])
    return out


def hide_amounts(text: str) -> str:
    """Return a sentence with every amount of money replaced by `$…`, and rates by the dollar by `…`."""
    return _MONEY.sub("$…", _PER_DOLLARS.sub(_hide_rate, text))


def _hide_rate(found: re.Match[str]) -> str:
    ends = f"{found['where']}… to …" if found["where"] else ""
    return f"…{found['what']}…{ends}"


def names_in(tables: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Return name -> replacement for hosts, teams, users and clusters in table rows, numbered by order."""
    seen: dict[str, str] = {}
    counts: dict[str, int] = {}
    for row in tables:
        for column, value in row.items():
            kind = _NAME_COLUMNS.get(column)
            if kind is None or not isinstance(value, str) or len(value) < _SHORTEST_NAME or value in seen:
                continue
            counts[kind] = counts.get(kind, 0) + 1
            seen[value] = f"{kind} {counts[kind]}"
    return seen


def replace_names(payload: Any, names: Mapping[str, str]) -> Any:
    """Return a report payload with every name replaced where it stands as a word, longest first.

    Column names of tables are texts too; keys and settings of Plotly are not.
    """
    if not names:
        return payload
    words = "|".join(re.escape(n) for n in sorted(names, key=len, reverse=True))
    pattern = re.compile(rf"(?<![A-Za-z0-9])(?:{words})(?![A-Za-z0-9])")
    return _walk(payload, lambda text: pattern.sub(lambda found: names[found.group(0)], text), in_rows=False)


def _walk(value: Any, swap: Callable[[str], str], *, in_rows: bool) -> Any:
    if isinstance(value, str):
        return swap(value)
    if isinstance(value, list):
        return [_walk(v, swap, in_rows=in_rows) for v in value]
    if not isinstance(value, Mapping) or set(value) >= _PACKED:
        return value
    out = {}
    for key, item in value.items():
        if key in _SETTINGS and not in_rows:
            out[key] = item
        else:
            out[swap(key) if in_rows else key] = _walk(
                item, swap, in_rows=in_rows or key in {"tables", "columns"}
            )
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
    return {k: None if _is_money_row(row, k) else _hide_cell(v) for k, v in row.items() if k not in gone}


def _hide_cell(value: Any) -> Any:
    if isinstance(value, str):
        return hide_amounts(value)
    if isinstance(value, list):
        return [_hide_cell(v) for v in value]
    if isinstance(value, Mapping):
        return {k: _hide_cell(v) for k, v in value.items() if not _MONEY_NAME.search(k)}
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
        out["value"] = None
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
