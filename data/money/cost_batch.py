"""Rows of a provider's cost export -> table `costs` and its canonical facts, the same for every exporter."""

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import islice

import pandas as pd

from data.facts_base import source_facts
from data.money.cost_tags import tagged
from data.money.cost_words import bucket_of
from data.parse.csvio import TEXT_LIMIT, CsvLayout, CsvRow, CsvRows, no_rows
from data.parse.last_line import BY_HAND
from data.parse.values import is_missing
from data.readers.base import Batch, Choices, Progress, SetAside, Source
from data.readers.template_rows import Fields, Row, RowParser
from data.readers.template_tables import frame_of
from data.tables import tables
from models.accrual import days

LEARN_ROWS = 500
CHUNK_ROWS = 20_000
MOST_VALUES = 60
"""A column with more distinct texts gets no facts by text."""
MOST_TEXTS = 100_000
"""Texts of which it is remembered whether they say that there is no value."""
MOST_DAYS = 1_200
"""A charge over a longer period (more than three years) is not spread over its days."""
EMPTY = "no cell of the row holds a value"
BACKWARDS = "the charge period ends before it starts"
AMOUNTS = (
    "billed_cost", "effective_cost", "list_cost", "contracted_cost", "quantity", "commitment_quantity",
)  # fmt: skip
FACTS = ("billed_cost", "effective_cost", "list_cost")
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}$")

Complete = Callable[[Row, Mapping[str, str]], list[Row]]
"""Typed row and the texts of its record by header name -> the rows to store (one, or parts of it)."""


@dataclass(frozen=True)
class CostFormat:
    """One exporter: which header (index) is which column of `costs`, by which columns facts are split.

    `texts` are indices whose text `complete` needs. `zone` is what the exporter's stamps are in, where its
    specification says so.
    """

    name: str
    mapped: Mapping[int, str]
    split_by: tuple[int, ...]
    texts: tuple[int, ...]
    complete: Complete
    clean: Callable[[int, str], str] | None = None
    zone: str | None = None


@dataclass
class _Totals:
    """Sums while reading; amounts are kept apart by currency because they cannot be added."""

    start: datetime | None = None
    end: datetime | None = None
    days_only: bool = True
    negative: int = 0
    missing: Counter[int] = field(default_factory=Counter)
    empty: dict[str, bool] = field(default_factory=dict)
    records: Counter[tuple[int, str]] = field(default_factory=Counter)
    sums: dict[tuple[int, str, str], float] = field(default_factory=dict)
    too_many: set[int] = field(default_factory=set)
    values: dict[int, set[str]] = field(default_factory=dict)

    def count_missing(self, cells: Sequence[str]) -> None:
        """Count the cells that hold no value, by column."""
        for i, text in enumerate(cells):
            known = self.empty.get(text)
            if known is None:
                if len(self.empty) > MOST_TEXTS:
                    self.empty.clear()
                known = self.empty[text] = is_missing(text)
            if known:
                self.missing[i] += 1


def read_costs(
    form: CostFormat, source: Source, layout: CsvLayout, choices: Choices, progress: Progress
) -> Batch:
    """Read every record; amounts in the file's currency, negative ones included, missing ones null.

    A charge that lasts several UTC days is spread over them by time, so that days can be summed; its period
    stays in `charge_start` and `charge_end` (exclusive). Raises UnreadableFileError when no row is there.
    """
    layout = replace(layout, open_end=BY_HAND)
    parser = _parser(form, source, layout)
    totals, frames, chunk = _Totals(), [], []
    aside: list[SetAside] = []
    rows, stored = CsvRows(source, layout, progress), 0
    for row, parsed, texts in _charges(form, rows, parser, aside):
        stored += 1
        parts = form.complete(parsed, texts)
        _count(totals, form, row, parts)
        chunk += [day for part in parts for day in _by_day(_booked(part, choices))]
        if len(chunk) >= CHUNK_ROWS:
            frames.append(frame_of("costs", chunk))
            chunk = []
    if not rows.counts.records:
        raise no_rows(source, layout, rows.counts)
    frames += [frame_of("costs", chunk)] if chunk else []
    batch = Batch(form.name, records=rows.counts.records, stored=stored)
    batch.set_aside = [*rows.counts.set_aside, *aside, *parser.bad]
    batch.tables["costs"] = pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()
    batch.timezone = form.zone
    batch.mapped = {layout.header[i]: f"costs.{name}" for i, name in form.mapped.items()}
    batch.unmapped = [name for i, name in enumerate(layout.header) if name and i not in form.mapped]
    batch.facts = _facts(form, source, layout, rows, parser, totals, batch.tables["costs"])
    _warn(batch, totals)
    batch.warnings += rows.counts.said()
    batch.reconcile()
    return batch


def _charges(
    form: CostFormat, rows: CsvRows, parser: RowParser, aside: list[SetAside]
) -> Iterator[tuple[CsvRow, Row, dict[str, str]]]:
    """Records that hold something: as read, typed, and the texts that `complete` needs; others to `aside`."""
    layout = parser.layout
    for raw in rows:
        row = _cleaned(form, raw)
        parsed = parser.parse(row)
        if isinstance(parsed, SetAside):
            aside.append(parsed)
            continue
        texts = {layout.header[i]: row.cells[i].strip() for i in form.texts if i < len(row.cells)}
        if not any(texts.values()) and all(value is None for value in parsed.values()):
            aside.append(SetAside(row.line, EMPTY, layout.delimiter.join(row.cells)[:TEXT_LIMIT]))
            continue
        if _runs_backwards(parsed):
            aside.append(SetAside(row.line, BACKWARDS, layout.delimiter.join(row.cells)[:TEXT_LIMIT]))
            continue
        parsed["line"] = row.line
        _tags(parsed, row, parser)
        yield row, parsed, texts


def _runs_backwards(row: Row) -> bool:
    start, end = row.get("charge_start"), row.get("charge_end")
    return isinstance(start, datetime) and isinstance(end, datetime) and end < start


def _parser(form: CostFormat, source: Source, layout: CsvLayout) -> RowParser:
    schema = {column.name: column for column in tables()["costs"]}
    by_index = {i: schema[name] for i, name in sorted(form.mapped.items())}
    parser = RowParser(layout, Fields(by_index, dict.fromkeys(by_index), ()), None)
    parser.learn([_cleaned(form, row) for row in islice(CsvRows(source, layout), LEARN_ROWS)])
    return parser


def _cleaned(form: CostFormat, row: CsvRow) -> CsvRow:
    if form.clean is None:
        return row
    return CsvRow(row.line, tuple(form.clean(i, text) for i, text in enumerate(row.cells)))


def _tags(row: Row, source: CsvRow, parser: RowParser) -> None:
    """Tags are JSON, at times without the outer braces; what is no JSON is set aside, its row stays."""
    text = row.get("tags")
    if text is None:
        return
    for candidate in (str(text), "{" + str(text) + "}"):
        try:
            found = json.loads(candidate)
        except ValueError:
            continue
        row["tags"] = json.dumps(found, ensure_ascii=False, sort_keys=True) if found else None
        return
    row["tags"] = None
    name = next(parser.layout.header[i] for i, c in parser.fields.by_index.items() if c.name == "tags")
    parser.bad.append(SetAside(source.line, "tags that are not JSON", str(text)[:500], name))


def _booked(row: Row, choices: Choices) -> Row:
    row = {"run": choices.run, "campaign": choices.campaign, **row}
    if row.get("bucket") is None:
        row["bucket"] = bucket_of(row)
    start = row.get("charge_start")
    if row.get("day") is None and isinstance(start, datetime):
        row["day"] = start.date()
    return row


def _by_day(row: Row) -> list[Row]:
    """One row a UTC day of the charge period; the parts of each amount add up to the amount."""
    start, end = row.get("charge_start"), row.get("charge_end")
    if not isinstance(start, datetime) or not isinstance(end, datetime) or end <= start:
        return [row]
    if (end - start).days > MOST_DAYS or len(parts := days(start, end)) == 1:
        return [row]
    whole = {name: value for name in AMOUNTS if isinstance(value := row.get(name), float)}
    given: dict[str, list[float]] = {name: [] for name in whole}
    out = []
    for n, one in enumerate(parts):
        last, share = n == len(parts) - 1, one.seconds / (end - start).total_seconds()
        for name, value in whole.items():
            rest = math.fsum([value, *(-amount for amount in given[name])])
            given[name].append(rest if last else value * share)
        out.append({**row, **{name: amounts[-1] for name, amounts in given.items()}, "day": one.day})
    return out


def _count(totals: _Totals, form: CostFormat, row: CsvRow, parts: Sequence[Row]) -> None:
    totals.count_missing(row.cells)
    for part in parts:
        start, end = part.get("charge_start"), part.get("charge_end")
        if isinstance(start, datetime):
            totals.start = min(totals.start or start, start)
        if isinstance(end, datetime):
            totals.end = max(totals.end or end, end)
        billed = part.get("billed_cost")
        totals.negative += isinstance(billed, float) and billed < 0
    for i, name in form.mapped.items():
        if name == "charge_start" and i < len(row.cells) and row.cells[i].strip():
            totals.days_only &= bool(_DAY.match(row.cells[i].strip()))
    for i in form.split_by:
        if i < len(row.cells) and i not in totals.too_many:
            _split(totals, i, row.cells[i].strip(), parts)


def _split(totals: _Totals, i: int, text: str, parts: Sequence[Row]) -> None:
    known = totals.values.setdefault(i, set())
    known.add(text)
    if len(known) > MOST_VALUES:
        totals.too_many.add(i)
        return
    totals.records[(i, text)] += 1
    for part in parts:
        for name in FACTS:
            value = part.get(name)
            if isinstance(value, float):
                key = (i, text, name)
                totals.sums[key] = totals.sums.get(key, 0.0) + value


def _facts(
    form: CostFormat,
    source: Source,
    layout: CsvLayout,
    rows: CsvRows,
    parser: RowParser,
    totals: _Totals,
    costs: pd.DataFrame,
) -> dict[str, object]:
    counts, facts = rows.counts, source_facts(source)
    facts |= {
        "format": form.name,
        "records": counts.records,
        "columns": layout.columns,
        "header_repeated": counts.header_repeated,
        "partial_last_line": counts.partial_last_line,
        "ragged_rows": counts.ragged_rows,
        "missing_cells": parser.missing,
        "time_zone": "+00:00" if form.zone == "UTC" else None,
    }
    facts |= {f"missing_cells[{name}]": totals.missing[i] for i, name in enumerate(layout.header) if name}
    for (i, text), n in totals.records.items():
        if i not in totals.too_many:
            facts[f"records[{layout.header[i]}={text}]"] = n
    for (i, text, name), value in totals.sums.items():
        if i not in totals.too_many:
            facts[f"{name}[{layout.header[i]}={text}]"] = value
    return facts | _money(costs) | _period(totals)


def _money(costs: pd.DataFrame) -> dict[str, object]:
    """Sums of the whole file; none of them where rows have several currencies."""
    found: dict[str, object] = {}
    currencies = _words(costs, "currency")
    found["currency"] = ";".join(currencies) or None
    if len(currencies) > 1:
        return found
    for name in FACTS:
        found[name] = total(costs, name)
    if "commitment_status" in costs and total(costs, "effective_cost") is not None:
        unused = costs[costs["commitment_status"].astype(str).str.casefold() == "unused"]
        found["unused_commitment_cost"] = total(unused, "effective_cost") or 0.0
    return found


def total(costs: pd.DataFrame, name: str) -> float | None:
    """Sum of the amounts that are there; None when none is."""
    if name not in costs:
        return None
    there = costs[name].dropna()
    return math.fsum(there) if len(there) else None


def _words(costs: pd.DataFrame, name: str) -> list[str]:
    return sorted({str(word) for word in costs[name].dropna()}) if name in costs else []


def _period(totals: _Totals) -> dict[str, object]:
    start, end = totals.start, totals.end
    shown: dict[str, object] = {}
    for name, at in (("charge_period_start", start), ("charge_period_end", end)):
        if at is not None:
            shown[name] = at.date().isoformat() if totals.days_only else f"{at.isoformat()}Z"
    if start is not None and not totals.days_only:
        shown["time_first_epoch_s"] = start.replace(tzinfo=UTC).timestamp()
        shown["span_s"] = ((end or start) - start).total_seconds()
    return shown


def _warn(batch: Batch, totals: _Totals) -> None:
    costs = batch.tables["costs"]
    currencies = _words(costs, "currency")
    amount = "effective_cost" if total(costs, "effective_cost") is not None else "billed_cost"
    if len(currencies) > 1:
        batch.warnings.append(f"The amounts are in {', '.join(currencies)}: they were not added up.")
    if not currencies and total(costs, amount) is not None:
        batch.warnings.append("The file names no currency: sums of money count the amounts as USD.")
    if totals.negative:
        said = "1 row is" if totals.negative == 1 else f"{totals.negative} rows are"
        counts = "it counts" if totals.negative == 1 else "they count"
        batch.warnings.append(f"{said} negative (credits, corrections); {counts}.")
    if idle := batch.facts.get("unused_commitment_cost"):
        money = f"{idle:,.2f} {currencies[0]}" if currencies else f"{idle:,.2f}"
        batch.warnings.append(
            f"{money} of the effective cost is for commitments that nobody used: paid idle capacity."
        )
    batch.warnings += [
        f"{provider} bills {billed:,.2f} but leaves EffectiveCost at 0: sums of EffectiveCost miss it."
        for provider, billed in _never_amortised(costs)
    ]
    batch.warnings += _loose(tagged(costs))


def _loose(costs: pd.DataFrame) -> list[str]:
    """What to say of rows that neither the person, a column nor a tag books to a run or campaign."""
    booked = pd.Series(False, costs.index)
    for name in ("run", "campaign"):
        if name in costs:
            booked |= costs[name].notna()
    loose, lines = len(_lines(costs[~booked])), len(_lines(costs))
    if not loose:
        return []
    matched = (
        "Money matches lines of machines and GPUs to runs by itself, by machine, job and time. What it "
        "leaves over (data, staff, services) is in no run's spend until you book or tag it to a run or "
        "campaign."
    )
    if loose == lines:
        return [f"The file names no run and no campaign. {matched}"]
    return [f"{loose} of {lines} lines name no run and no campaign. {matched}"]


def _lines(costs: pd.DataFrame) -> "pd.Index[int]":
    """Lines of the file that rows stand for: a charge of several days is one line."""
    return pd.Index(costs["line"].unique()) if "line" in costs else costs.index


def _never_amortised(costs: pd.DataFrame) -> list[tuple[str, float]]:
    """Providers whose effective cost is 0 throughout although they bill: (provider, billed)."""
    if not {"provider", "effective_cost", "billed_cost"} <= set(costs.columns):
        return []
    amounts = costs[["effective_cost", "billed_cost"]].abs()
    sums = amounts.groupby(costs["provider"]).sum()
    empty = sums[(sums["effective_cost"] == 0) & (sums["billed_cost"] > 0)]
    return [(str(provider), float(billed)) for provider, billed in empty["billed_cost"].items()]
