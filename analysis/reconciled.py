"""A reconciled bill as rows and tables: every amount in cents, every table adding up to the same total."""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from typing import TypeVar

import pandas as pd

from analysis.bill import Bill, Charge
from analysis.frames import Row, table
from analysis.matching import Matched
from analysis.parts import NONE, UNHELD, WHY, Part
from analysis.words import listing
from models.cents import cents, total
from models.waste import to_cents

MOST_LINES = 5_000
"""Lines that a table names one by one, the largest unmatched first; the rest is one row."""
LINES = [
    "line", "from_day", "to_day", "provider", "service", "resource", "description", "kind", "effective_usd",
    "billed_usd", "matched_usd", "unmatched_usd", "how", "runs", "status", "why", "gpu_hours",
    "effective_usd_exact",
]  # fmt: skip
LINE_NUMBERS = ["effective_usd", "billed_usd", "matched_usd", "unmatched_usd", "gpu_hours"]
UNMATCHED = [
    "line", "from_day", "to_day", "provider", "service", "resource", "kind", "unmatched_usd", "why",
]  # fmt: skip
SERVICES = ["provider", "service", "lines", "effective_usd", "billed_usd", "matched_usd", "unmatched_usd"]
RUNS = ["run", "job", "campaign", "team", "usd", "gpu_hours", "lines", "days"]
OTHER = ["run", "attempt", "pool", "job", "platform", "held_gpu_hours", "billed_gpu_hours", "gpu_hours"]
HOW_WORDS = {
    "tag": "a tag names the run, campaign or team",
    "booked": "booked to a run or campaign by hand or by a column",
    "resource": "the machine or pool that the run held",
    "job": "the scheduler job that held the machine",
    "time": "same GPU model and time, and all that was held fits",
    NONE: "matched to nobody",
}
BRIDGE = {
    "invoice": "Invoice (billed cost)",
    "purchase": "Purchases that later use is charged to",
    "commitment": "Use and idle time of commitments, paid by a purchase",
    "credit": "Credits that are spread otherwise",
    "not_invoiced": "Cost that no invoice asks for",
    "other": "Other lines whose billed and effective cost differ",
    "effective": "Effective cost (amortised)",
}
HOW_COLUMNS = ["how", "group", "meaning", "usd", "gpu_hours", "lines"]
FOREIGN = ["line", "from_day", "to_day", "provider", "service", "resource", "kind", "currency", "own_cost"]
DAY_NUMBERS = ["matched_usd", "unmatched_usd", "effective_usd"]
_LEAST_GPU_H = 1 / 3600
NO_COST = "lines without cost"
_UNHELD_WORDS = tuple(WHY[reason] for reason in UNHELD)
Bearer = tuple[str | None, str | None, str | None, str | None]
"""Run, job (where no run is known), campaign, team."""
K = TypeVar("K", bound=Hashable)
_MOMENT = timedelta(microseconds=1)


@dataclass(frozen=True)
class Line:
    """A charge with its parts: what is borne by somebody, and what is not (both exact)."""

    charge: Charge
    parts: tuple[Part, ...]
    matched: Decimal
    unmatched: Decimal
    how: str
    status: str
    why: str
    known_idle: bool = False


@dataclass(frozen=True)
class Sums:
    """Totals in cents: effective = matched + unused + unheld + open; all but `matched` is `unmatched`.

    `unheld` is GPU time that nobody held by a scheduler that knows the machine; other time stays in `open`.
    `explained` is exact: 1 less the open amounts, credits counted as amounts.
    """

    effective: Decimal
    matched: Decimal
    unmatched: Decimal
    explained: Decimal | None
    open_lines: int
    negative_open: bool
    unused: Decimal
    unheld: Decimal
    capacity: Decimal = Decimal(0)
    """Of `unused`: idle capacity of a cluster, as OpenCost names it; the rest are commitments."""

    @property
    def commitments(self) -> Decimal:
        """Unused commitments and reservations, in cents."""
        return self.unused - self.capacity

    @property
    def open(self) -> Decimal:
        """What nothing explains, in cents."""
        return self.unmatched - self.unused - self.unheld


def read_lines(bill: Bill, matched: Matched) -> list[Line]:
    parts: dict[int, list[Part]] = defaultdict(list)
    for part in matched.parts:
        parts[part.charge.number].append(part)
    return [_line(charge, tuple(parts[charge.number]), matched) for charge in bill.charges]


def _line(charge: Charge, parts: tuple[Part, ...], matched: Matched) -> Line:
    borne = total([part.usd for part in parts if part.borne])
    rest = total([part.usd for part in parts if not part.borne])
    how = matched.how.get(charge.number, NONE)
    found = {part.how for part in parts if part.how != NONE}
    how = found.pop() if len(found) == 1 else how
    why = WHY[matched.why[charge.number]] if rest and charge.number in matched.why else ""
    idle = charge.number in matched.known_idle and not charge.unused and why in _UNHELD_WORDS
    return Line(charge, parts, borne, rest, how, _status(charge, borne, rest, parts, matched), why, idle)


def _status(charge: Charge, borne: Decimal, rest: Decimal, parts: tuple[Part, ...], matched: Matched) -> str:
    if charge.unused:
        return "unused"
    if charge.credit:
        return "credit"
    if charge.correction:
        return "correction"
    if charge.number in matched.over:
        return "over-matched"
    if not borne and not rest:
        return "matched" if any(part.borne for part in parts) else "no cost"
    return "matched" if not rest else "partly" if borne else "unmatched"


def is_open(line: Line) -> bool:
    """Whether something of it is not explained."""
    return bool(line.unmatched) and not line.charge.unused and not line.known_idle


def add_lines(lines: Sequence[Line]) -> Sums:
    """Totals; `known_idle` of a line says that what no run or job held of it is known to be idle."""
    idle = [line for line in lines if line.known_idle]
    open_lines = [line for line in lines if is_open(line)]
    exact = total([line.matched for line in lines] + [line.unmatched for line in lines])
    effective, matched = cents(exact), cents(total([line.matched for line in lines]))
    gross = total([abs(line.unmatched) for line in open_lines])
    return Sums(
        effective, matched, effective - matched, max(Decimal(0), 1 - gross / exact) if exact > 0 else None,
        len(open_lines), any(line.unmatched < 0 for line in open_lines),
        cents(total([line.unmatched for line in lines if line.charge.unused])),
        cents(total([line.unmatched for line in idle])),
        cents(total([line.unmatched for line in lines if line.why == WHY["idle_capacity"]])),
    )  # fmt: skip


def tables(bill: Bill, matched: Matched, lines: list[Line], sums: Sums) -> dict[str, pd.DataFrame]:
    rows = _rows(lines, sums)
    named = sorted(rows, key=lambda r: (-abs(r["unmatched_usd"]), -abs(r["effective_usd"]), r["line"]))
    opened = [row for row in named if row["_open"]]
    return {
        "lines": table(_capped(named, LINE_NUMBERS), LINES, LINE_NUMBERS),
        "unmatched": table(_capped(opened, ["unmatched_usd"]), UNMATCHED, ["unmatched_usd"]),
        "by_how": _by_how(lines, sums),
        "by_run": _by_run(lines, sums),
        "by_day": _by_day(lines, sums),
        "by_service": _by_service(lines, sums),
        "totals": _totals(bill, lines),
        "other_side": _other_side(matched),
        "foreign": _foreign(bill.foreign),
    }


def _rows(lines: Sequence[Line], sums: Sums) -> list[Row]:
    matched = to_cents([line.matched for line in lines], sums.matched)
    unmatched = to_cents([line.unmatched for line in lines], sums.unmatched)
    billed = [line.charge.billed for line in lines]
    asked = [amount or Decimal(0) for amount in billed]
    asked_cents = to_cents(asked, cents(total(asked)))
    out: list[Row] = []
    for line, ours, rest, own, said in zip(lines, matched, unmatched, asked_cents, billed, strict=True):
        charge = line.charge
        out.append(
            {
                **place_of(charge), "description": charge.description, "kind": charge.kind,
                "effective_usd": float(ours + rest), "billed_usd": None if said is None else float(own),
                "matched_usd": float(ours), "unmatched_usd": float(rest), "how": line.how,
                "runs": _bearers(line.parts), "status": line.status, "why": line.why,
                "gpu_hours": None if charge.gpu_s is None or not charge.is_gpu else charge.gpu_s / 3600,
                "effective_usd_exact": f"{(charge.effective or Decimal(0)).normalize():f}",
                "_open": bool(line.unmatched),
            }
        )  # fmt: skip
    return out


def place_of(charge: Charge) -> Row:
    """The columns that say which line it is."""
    last = charge.end or charge.start
    if charge.end is not None and charge.start is not None:
        last = max(charge.start, charge.end - _MOMENT)
    return {
        "line": charge.number, "from_day": charge.day, "to_day": None if last is None else last.date(),
        "provider": charge.provider, "service": charge.service,
        "resource": charge.resource_name or charge.resource_id,
    }  # fmt: skip


def _bearers(parts: Iterable[Part]) -> str:
    found = dict.fromkeys(_who(part) for part in parts if part.borne)
    return listing(list(found))


def _who(part: Part) -> str:
    if part.run:
        return part.run
    if part.job:
        return f"job {part.job}"
    return f"campaign {part.campaign}" if part.campaign else f"team {part.team}"


def _capped(rows: list[Row], numbers: Sequence[str]) -> list[Row]:
    """The first rows, and one row that holds the sums of all the others."""
    if len(rows) <= MOST_LINES:
        return rows
    rest = rows[MOST_LINES:]
    sums: Row = {name: round(sum(row[name] or 0.0 for row in rest), 2) for name in numbers}
    return [*rows[:MOST_LINES], {"description": f"{len(rest):,} more lines", "service": "…", **sums}]


def _both_in_cents(groups: Mapping[tuple[K, bool], Decimal], sums: Sums) -> dict[tuple[K, bool], float]:
    """Sums by (key, borne) in cents that add up to what is matched and to what is not."""
    ours = _in_cents({key: usd for key, usd in groups.items() if key[1]}, sums.matched)
    rest = _in_cents({key: usd for key, usd in groups.items() if not key[1]}, sums.unmatched)
    return {key: (ours if key[1] else rest)[key] for key in groups}


def _in_cents(groups: Mapping[K, Decimal], whole: Decimal) -> dict[K, float]:
    """Sums by key in cents that add up to `whole`."""
    amounts = to_cents(list(groups.values()), whole)
    return {key: float(amount) for key, amount in zip(groups, amounts, strict=True)}


def _add(pairs: Iterable[tuple[K, Decimal]]) -> dict[K, Decimal]:
    parts: dict[K, list[Decimal]] = {}
    for key, amount in pairs:
        parts.setdefault(key, []).append(amount)
    return {key: total(amounts) for key, amounts in parts.items()}


def _by_how(lines: Sequence[Line], sums: Sums) -> pd.DataFrame:
    """Dollars by how they were matched, then what is matched to nobody by its reason; they add up. `group`:
    matched, idle (explained as paid and idle) or open (not explained).
    """
    order = {name: n for n, name in enumerate(HOW_WORDS)}
    groups: dict[tuple[tuple[str, str, str], bool], list[tuple[Part, Line]]] = {}
    for line in lines:
        for part in line.parts:
            how = part.how if part.how != NONE else line.how
            left = "open" if is_open(line) else "idle" if line.unmatched else "matched"
            key = (how, HOW_WORDS[how], "matched") if part.borne else (NONE, line.why or NO_COST, left)
            groups.setdefault((key, part.borne), []).append((part, line))
    amounts = {key: total([part.usd for part, _ in found]) for key, found in groups.items()}
    shown = _both_in_cents(amounts, sums)
    rows: list[Row] = [
        {"how": how, "group": group, "meaning": meaning, "usd": shown[(how, meaning, group), borne],
         "gpu_hours": sum(part.gpu_s or 0.0 for part, _ in found) / 3600,
         "lines": len({line.charge.number for _, line in found})}
        for ((how, meaning, group), borne), found in groups.items()
    ]  # fmt: skip
    rows.sort(key=lambda row: (order[row["how"]], row["meaning"]))
    return table(rows, HOW_COLUMNS, HOW_COLUMNS[3:])


def _by_run(lines: Sequence[Line], sums: Sums) -> pd.DataFrame:
    """Dollars by who bears them; the last row is what nobody does."""
    pairs = [(_bearer(part), part, line) for line in lines for part in line.parts]
    both = _both_in_cents(_add(((key, part.borne), part.usd) for key, part, _ in pairs), sums)
    shown = {key: usd for (key, _), usd in both.items()}
    hours: dict[Bearer, float] = defaultdict(float)
    numbers: dict[Bearer, set[int]] = defaultdict(set)
    days: dict[Bearer, set[date | None]] = defaultdict(set)
    for key, part, line in pairs:
        hours[key] += (part.gpu_s or 0.0) / 3600
        numbers[key].add(line.charge.number)
        days[key].add(part.day)
    rows: list[Row] = [
        {**dict(zip(RUNS, key, strict=False)), "usd": value, "gpu_hours": hours[key],
         "lines": len(numbers[key]), "days": len(days[key])}
        for key, value in shown.items()
    ]  # fmt: skip
    rows.sort(key=lambda row: (not any(row[name] for name in RUNS[:4]), -row["usd"], _text(row)))
    return table(rows, RUNS, ["usd", "gpu_hours", "lines", "days"])


def _bearer(part: Part) -> Bearer:
    return (part.run, None if part.run else part.job, part.campaign, part.team)


def _text(row: Row) -> str:
    return " ".join(str(row[name] or "") for name in RUNS[:4])


def _by_day(lines: Sequence[Line], sums: Sums) -> pd.DataFrame:
    """Dollars by the UTC day on which they accrue; the last row has no day."""
    pairs = [(part, part.day) for line in lines for part in line.parts]
    names = sorted({day for _, day in pairs}, key=lambda day: (day is None, day or date.min))
    ours, rest = (
        _in_cents(
            {d: total([p.usd for p, day in pairs if day == d and p.borne is borne]) for d in names}, whole
        )
        for borne, whole in ((True, sums.matched), (False, sums.unmatched))
    )
    rows: list[Row] = [
        {"day": day, "matched_usd": ours[day], "unmatched_usd": rest[day],
         "effective_usd": round(ours[day] + rest[day], 2)}
        for day in names
    ]  # fmt: skip
    return table(rows, ["day", "matched_usd", "unmatched_usd", "effective_usd"], DAY_NUMBERS)


def _by_service(lines: Sequence[Line], sums: Sums) -> pd.DataFrame:
    groups: dict[tuple[str | None, str | None], list[Line]] = {}
    for line in lines:
        groups.setdefault((line.charge.provider, line.charge.service), []).append(line)
    ours = _in_cents({k: total([x.matched for x in found]) for k, found in groups.items()}, sums.matched)
    rest = _in_cents({k: total([x.unmatched for x in found]) for k, found in groups.items()}, sums.unmatched)
    asked = {k: total([x.charge.billed or Decimal(0) for x in found]) for k, found in groups.items()}
    billed = _in_cents(asked, cents(total(list(asked.values()))))
    rows: list[Row] = [
        {"provider": key[0], "service": key[1], "lines": len(found), "matched_usd": ours[key],
         "unmatched_usd": rest[key], "effective_usd": round(ours[key] + rest[key], 2),
         "billed_usd": billed[key]}
        for key, found in groups.items()
    ]  # fmt: skip
    rows.sort(key=lambda row: (-row["effective_usd"], str(row["provider"]), str(row["service"])))
    return table(rows, SERVICES, SERVICES[2:])


def _totals(bill: Bill, lines: Sequence[Line]) -> pd.DataFrame:
    """From the invoice to the effective cost, each difference by its reason; `usd` adds up."""
    gaps = _add(
        (_gap(line.charge), (line.charge.effective or Decimal(0)) - (line.charge.billed or Decimal(0)))
        for line in lines
    )
    invoice = cents(bill.invoice_usd or Decimal(0))
    effective = cents(total([line.charge.effective or Decimal(0) for line in lines]))
    named = {key: amount for key in BRIDGE if (amount := gaps.get(key))}
    shown = _in_cents(named, effective - invoice) if named else {}
    rows = [{"part": "invoice", "label": BRIDGE["invoice"], "kind": "total", "usd": float(invoice)}]
    rows += [{"part": key, "label": BRIDGE[key], "kind": "change", "usd": usd} for key, usd in shown.items()]
    rows.append({"part": "effective", "label": BRIDGE["effective"], "kind": "total", "usd": float(effective)})
    return table(rows, ["part", "label", "kind", "usd"], ["usd"])


def _gap(charge: Charge) -> str:
    """Why the effective cost of a line is not its billed cost."""
    if charge.billed is None:
        return "not_invoiced"
    if (charge.category or "").casefold() == "purchase":
        return "purchase"
    if charge.credit:
        return "credit"
    return "commitment" if charge.commitment else "other"


def _other_side(matched: Matched) -> pd.DataFrame:
    """GPU time of runs and jobs in the period that no charge of the bill paid."""
    sums: dict[tuple[object, ...], list[float]] = {}
    for hold, held, paid in matched.unpaid:
        key = hold.run, hold.attempt, hold.pool, hold.job, hold.platform
        found = sums.setdefault(key, [0.0, 0.0])
        found[0] += held / 3600
        found[1] += paid / 3600
    rows: list[Row] = [
        {**dict(zip(OTHER, key, strict=False)), "held_gpu_hours": held, "billed_gpu_hours": paid,
         "gpu_hours": held - paid}
        for key, (held, paid) in sums.items()
        if held - paid > _LEAST_GPU_H
    ]  # fmt: skip
    rows.sort(key=lambda row: (-row["gpu_hours"], str(row["run"]), str(row["job"])))
    return table(rows, OTHER, OTHER[5:])


def _foreign(charges: Sequence[Charge]) -> pd.DataFrame:
    """Lines that have no rate into dollars, in their own currency and outside every sum."""
    rows = [
        {**place_of(c), "kind": c.kind, "currency": c.currency, "own_cost": float(c.own)} for c in charges
    ]
    return table(rows, FOREIGN, ["own_cost"])
