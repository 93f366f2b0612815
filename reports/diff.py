"""What differs between two frozen reports: data, prices, formulas, parameters, numbers, assumptions, rows."""

import math
import re
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from analysis import registry
from charts.text import quantity
from reports.canonical import canonical_json
from reports.cells import is_identifier, plain
from reports.freeze import FrozenReport, sections_of
from reports.redact import HIDDEN_DOLLARS

DATA = {"data_version": "Data version", "data_cutoff": "Data up to"}
PRICES = {
    "price_book": "Price book",
    "prices": "Prices used",
    "catalogue": "Catalogue",
    "money_decisions": "Own prices and rules",
}
FORMULAS = {"formulas": "Formulas", "app": "App version"}
WITHIN = "within the intervals"
OUTSIDE = "outside the intervals"
_VERSION = re.compile(r"@\d+\b")
"""Of a price in the name of an assumption: another version is the same assumption with another value."""
DIGITS = 12
"""Significant digits that a number is compared by: sums of many numbers differ in their last ones."""


@dataclass(frozen=True)
class VersionChange:
    """One thing that pins a report, with what it was in either."""

    name: str
    then: str
    now: str


@dataclass(frozen=True)
class ParameterChange:
    """A parameter of a section that was asked with another value; '' where it was not asked."""

    section: str
    name: str
    then: str
    now: str


@dataclass(frozen=True)
class NumberChange:
    """A number in either report; `change` = now - then in `unit`, None where one is missing.

    `within`: whether each value lies in the other's interval (where it has one); None for exact numbers.
    `note` says why a number is missing, or what `within` says.
    """

    section: str
    label: str
    unit: str
    then: float | None
    now: float | None
    change: float | None
    within: bool | None
    note: str = ""

    def words(self) -> tuple[str, str, str]:
        """Return then, now and change with their unit, '' for what is missing."""
        shown = ["" if v is None else quantity(v, self.unit) for v in (self.then, self.now, self.change)]
        sign = "+" if self.change is not None and self.change > 0 else ""
        return shown[0], shown[1], sign + shown[2]


@dataclass(frozen=True)
class AssumptionChange:
    """An assumption that is new, gone, or has another value, status, source or date."""

    name: str
    then: str
    now: str


@dataclass(frozen=True)
class TableChange:
    """Counts of rows of one table: in one report alone, or in both with other numbers."""

    section: str
    table: str
    then: int
    now: int
    added: int
    removed: int
    changed: int


@dataclass(frozen=True)
class Diff:
    """All that differs between report `a` (then) and report `b` (now)."""

    a: str
    b: str
    data: tuple[VersionChange, ...]
    prices: tuple[VersionChange, ...]
    formulas: tuple[VersionChange, ...]
    parameters: tuple[ParameterChange, ...]
    numbers: tuple[NumberChange, ...]
    assumptions: tuple[AssumptionChange, ...]
    tables: tuple[TableChange, ...]
    sections: tuple[str, ...]
    unchanged_numbers: int

    @property
    def same(self) -> bool:
        """Whether nothing differs that a reader sees."""
        found = (self.data, self.prices, self.formulas, self.parameters, self.numbers, self.assumptions)
        return not any((*found, self.tables, self.sections))

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return asdict(self) | {"same": self.same}

    def to_markdown(self) -> str:
        """Return the differences as Markdown."""
        from reports.diff_words import markdown

        return markdown(self)


def diff(a: FrozenReport, b: FrozenReport) -> Diff:
    """Compare two reports of any schema, as their readers see them."""
    return compare(
        (a.hash, a.payload["versions"], sections_of(a)), (b.hash, b.payload["versions"], sections_of(b))
    )


Side = tuple[str, Mapping[str, str], Sequence[Mapping[str, Any]]]


def compare(a: Side, b: Side) -> Diff:
    """Compare two sides (hash, versions, sections); sections are matched by cell name, else by question."""
    first, second = _keyed(a[2]), _keyed(b[2])
    both = [(first[key], second[key]) for key in first if key in second]
    numbers = [n for pair in both for n in _numbers(*pair)]
    moved = [n for n in numbers if n.note or not _equal(n.then, n.now)]
    return Diff(
        a=a[0],
        b=b[0],
        data=_versions(a[1], b[1], DATA),
        prices=_versions(a[1], b[1], PRICES),
        formulas=_versions(a[1], b[1], FORMULAS),
        parameters=tuple(p for pair in both for p in _parameters(*pair)),
        numbers=tuple(moved),
        assumptions=tuple(_assumptions(a[2], b[2])),
        tables=tuple(t for pair in both for t in _tables(*pair)),
        sections=tuple(_only(first, second, "gone") + _only(second, first, "new") + _said(both)),
        unchanged_numbers=len(numbers) - len(moved),
    )


def title_of(section: Mapping[str, Any]) -> str:
    """Return how a section is named in a comparison."""
    asked = registry.QUESTIONS.get(str(section["analysis"]))
    question = asked.title if asked is not None else section["analysis"]
    return str(section["name"] or section["title"] or question or section["kind"])


def _keyed(sections: Iterable[Mapping[str, Any]]) -> dict[tuple[str, ...], Mapping[str, Any]]:
    found: dict[tuple[str, ...], Mapping[str, Any]] = {}
    seen: Counter[tuple[str, ...]] = Counter()
    for section in sections:
        told = str(section["name"] or section["analysis"])
        key = (str(section["kind"]), told)
        seen[key] += 1
        found[(*key, str(seen[key]))] = section
    return found


def _versions(
    a: Mapping[str, str], b: Mapping[str, str], names: Mapping[str, str]
) -> tuple[VersionChange, ...]:
    """A version that either report does not tell (hidden, or none then) is not compared."""
    pairs = [(label, a.get(key), b.get(key)) for key, label in names.items()]
    return tuple(VersionChange(n, str(x), str(y)) for n, x, y in pairs if x and y and other_version(x, y))


def other_version(a: object, b: object) -> bool:
    """Whether two versions differ; of several, sections in another order list the same ones otherwise."""
    return set(str(a).split(", ")) != set(str(b).split(", "))


def _parameters(a: Mapping[str, Any], b: Mapping[str, Any]) -> list[ParameterChange]:
    out = []
    for field in ("params", "parameters"):
        for name in dict.fromkeys([*a[field], *b[field]]):
            then, now = a[field].get(name), b[field].get(name)
            if _settled(then) != _settled(now):
                out.append(ParameterChange(title_of(a), name, _shown(then), _shown(now)))
    if a["sql"] != b["sql"]:
        out.append(ParameterChange(title_of(a), "SQL", str(a["sql"]), str(b["sql"])))
    return out


def _numbers(a: Mapping[str, Any], b: Mapping[str, Any]) -> list[NumberChange]:
    then = {f["name"]: f for f in a["headline"]}
    now = {f["name"]: f for f in b["headline"]}
    names = dict.fromkeys([*then, *now])
    out = [_number(title_of(a), then.get(name), now.get(name)) for name in names]
    counted = [s["rows"].get("returned") for s in (a, b)]
    if None not in counted:
        change = counted[1] - counted[0]
        out.append(NumberChange(title_of(a), "Rows", "rows", counted[0], counted[1], change, None))
    return out


def _number(section: str, then: Mapping[str, Any] | None, now: Mapping[str, Any] | None) -> NumberChange:
    known = now or then or {}
    label, unit = str(known["label"] or known["name"]), str(known["unit"])
    old: float | None = then["value"] if then else None
    new: float | None = now["value"] if now else None
    if then and now and then["unit"] != now["unit"]:
        note = f"counted in {now['unit']}, before in {then['unit']}"
        return NumberChange(section, label, unit, None, new, None, None, note)
    if old is None or new is None:
        return NumberChange(section, label, unit, old, new, None, None, _missing(then, now))
    if _equal(old, new):
        return NumberChange(section, label, unit, old, new, 0.0, None)
    inside = [_in_interval(new, then), _in_interval(old, now)]
    told = [one for one in inside if one is not None]
    within = all(told) if told else None
    note = "" if within is None else WITHIN if within else OUTSIDE
    return NumberChange(section, label, unit, old, new, new - old, within, note)


def _missing(then: Mapping[str, Any] | None, now: Mapping[str, Any] | None) -> str:
    if then is None or now is None:
        return "only in the later report" if then is None else "only in the earlier report"
    said = [f["missing"] or "no value" for f in (then, now) if f["value"] is None]
    if said == [HIDDEN_DOLLARS] * len(said):
        return "hidden by the author"
    if len(said) > 1:
        return "" if said[0] == said[1] else f"no number in either: {said[1]}"
    return f"no number {'then' if then['value'] is None else 'now'}: {said[0]}"


def _in_interval(value: float, figure: Mapping[str, Any] | None) -> bool | None:
    """Whether a value lies in a figure's interval; an end that is missing is open. None: it has none."""
    if figure is None or figure["interval"] in {"exact", "none"}:
        return None
    low, high = figure["low"], figure["high"]
    if low is None and high is None:
        return None
    return (low is None or low <= value) and (high is None or value <= high)


def _assumptions(a: Sequence[Mapping[str, Any]], b: Sequence[Mapping[str, Any]]) -> list[AssumptionChange]:
    then, now = _assumed(a), _assumed(b)
    names = dict.fromkeys([*then, *now])
    return [
        AssumptionChange(n, then.get(n, ""), now.get(n, ""))
        for n in names
        if then.get(n, "") != now.get(n, "")
    ]


def _assumed(sections: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    found: dict[str, list[str]] = {}
    for item in (one for section in sections for one in section["assumptions"]):
        value = "hidden" if item.get("hidden") else _shown(item["value"]) or "not published"
        status = str(item["status"]).replace("_", " ")
        about = ", ".join(str(part) for part in (status, item["source"], item["date"]) if part)
        words = f"{value} {item['unit']} ({about})"
        said = found.setdefault(_VERSION.sub("", str(item["name"])), [])
        if words not in said:
            said.append(words)
    return {name: "; ".join(words) for name, words in found.items()}


def _tables(a: Mapping[str, Any], b: Mapping[str, Any]) -> list[TableChange]:
    out = []
    for name in dict.fromkeys([*a["tables"], *b["tables"]]):
        then, now = a["tables"].get(name, []), b["tables"].get(name, [])
        added, removed, changed = row_changes(then, now)
        if added or removed or changed:
            out.append(TableChange(title_of(a), name, len(then), len(now), added, removed, changed))
    return out


def row_changes(then: Sequence[Mapping[str, Any]], now: Sequence[Mapping[str, Any]]) -> tuple[int, int, int]:
    """Return how many rows were added, removed and changed.

    Equal rows cancel. Of the rest, one whose texts and identifiers (step, attempt) name exactly one row
    on either side is that row with other measured numbers: changed. Order does not matter.
    """
    left, right = (Counter(canonical_json(_settled(dict(r))) for r in rows) for rows in (then, now))
    old, new = _names(then, left - right), _names(now, right - left)
    changed = sum(1 for key, count in old.items() if count == 1 and new.get(key) == 1)
    return new.total() - changed, old.total() - changed, changed


def _names(rows: Iterable[Mapping[str, Any]], wanted: Counter[str]) -> Counter[Hashable]:
    """What names each of the wanted rows: all of it that is no measured number."""
    rest, found = wanted.copy(), Counter[Hashable]()
    for row in rows:
        text = canonical_json(_settled(dict(row)))
        if rest[text] > 0:
            rest[text] -= 1
            found[tuple((k, str(v)) for k, v in sorted(row.items()) if _names_a_row(k, v))] += 1
    return found


def _names_a_row(column: str, value: Any) -> bool:
    return isinstance(value, str | bool) or (isinstance(value, int) and is_identifier(column))


def _only(a: Mapping[Any, Mapping[str, Any]], b: Mapping[Any, Mapping[str, Any]], word: str) -> list[str]:
    return [f"{title_of(s)} ({s['kind']}): {word}" for key, s in a.items() if key not in b]


def _said(both: Iterable[tuple[Mapping[str, Any], Mapping[str, Any]]]) -> list[str]:
    """Sections whose state or words changed."""
    out = []
    for a, b in both:
        if a["state"] != b["state"]:
            out.append(f"{title_of(b)}: {a['state']} before, {b['state']} now")
        if a["kind"] == "text" and a["text"] != b["text"]:
            out.append("Words were changed")
    return out


def _settled(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    if isinstance(value, Mapping):
        return {k: _settled(v) for k, v in value.items()}
    return [_settled(v) for v in value] if isinstance(value, list | tuple) else value


def _equal(a: float | None, b: float | None) -> bool:
    return a == b or (a is not None and b is not None and math.isclose(a, b, rel_tol=10.0**-DIGITS))


def _shown(value: Any) -> str:
    if value is None or value == "" or value == []:
        return ""
    return canonical_json(value) if isinstance(value, Mapping) else plain(value)
