"""A reconciled bill as rows and tables: every amount in cents, every table adding up to the same total."""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from datetime import date, timedelta
from decimal import Decimal
from typing import TypeVar

import pandas as pd

from analysis.bill import Bill, Charge
from analysis.billlines import CREDITS, MATCHED, Line, Sums, is_open, rest_of
from analysis.frames import Row, table
from analysis.linecents import LineCents, group_cents
from analysis.matching import Matched
from analysis.parts import NONE, WHY, Part
from analysis.words import listing
from models.cents import cents, to_cents, total

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
    "restated": "Actual costs, in the amortised export as cost",
    "not_invoiced": "Cost that no invoice asks for",
    "other": "Other lines whose billed and effective cost differ",
    "effective": "Effective cost (amortised)",
}
HOW_COLUMNS = ["how", "group", "meaning", "usd", "gpu_hours", "lines"]
FOREIGN = ["line", "from_day", "to_day", "provider", "service", "resource", "kind", "currency", "own_cost"]
DAY_NUMBERS = ["matched_usd", "unmatched_usd", "effective_usd"]
_LEAST_GPU_H = 1 / 3600
NO_COST = "lines without cost"
Bearer = tuple[str | None, str | None, str | None, str | None]
"""Run, job (where no run is known), campaign, team."""
How = tuple[str, str, str]
"""How, its words, group."""
K = TypeVar("K", bound=Hashable)
_MOMENT = timedelta(microseconds=1)


def tables(
    bill: Bill, matched: Matched, lines: list[Line], sums: Sums, shown: Mapping[int, LineCents]
) -> dict[str, pd.DataFrame]:
    """Every table of the lines but `open` and `bearers`; `shown` are the cents of each line."""
    rows = _rows(lines, shown)
    named = sorted(rows, key=lambda r: (-abs(r["unmatched_usd"]), -abs(r["effective_usd"]), r["line"]))
    opened = [row for row in named if row["_open"]]
    return {
        "lines": table(_capped(named, LINE_NUMBERS), LINES, LINE_NUMBERS),
        "unmatched": table(_capped(opened, ["unmatched_usd"]), UNMATCHED, ["unmatched_usd"]),
        "by_how": _by_how(lines, sums, shown),
        "by_run": _by_run(lines, sums, shown),
        "by_day": _by_day(lines, sums, shown),
        "by_service": _by_service(lines, shown),
        "totals": _totals(bill, lines),
        "other_side": _other_side(matched),
        "foreign": _foreign(bill.foreign),
    }


def _rows(lines: Sequence[Line], shown: Mapping[int, LineCents]) -> list[Row]:
    out: list[Row] = []
    for line in lines:
        own = shown[line.charge.number]
        charge = line.charge
        out.append(
            {
                **place_of(charge), "description": charge.description, "kind": charge.kind,
                "effective_usd": float(own.effective),
                "billed_usd": None if own.billed is None else float(own.billed),
                "matched_usd": float(own.matched), "unmatched_usd": float(own.unmatched), "how": line.how,
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


def _matched(lines: Sequence[Line], shown: Mapping[int, LineCents]) -> dict[int, tuple[Decimal, Decimal]]:
    return {x.charge.number: (x.matched, shown[x.charge.number].matched) for x in lines}


def _unmatched(lines: Sequence[Line], shown: Mapping[int, LineCents]) -> dict[int, tuple[Decimal, Decimal]]:
    return {x.charge.number: (x.unmatched, shown[x.charge.number].unmatched) for x in lines}


def _whole(lines: Sequence[Line], shown: Mapping[int, LineCents]) -> dict[int, tuple[Decimal, Decimal]]:
    return {x.charge.number: (x.matched + x.unmatched, shown[x.charge.number].effective) for x in lines}


def _in_cents(groups: Mapping[K, Decimal], whole: Decimal) -> dict[K, float]:
    """Sums by key in cents that add up to `whole`."""
    amounts = to_cents(list(groups.values()), whole)
    return {key: float(amount) for key, amount in zip(groups, amounts, strict=True)}


def _add(pairs: Iterable[tuple[K, Decimal]]) -> dict[K, Decimal]:
    parts: dict[K, list[Decimal]] = {}
    for key, amount in pairs:
        parts.setdefault(key, []).append(amount)
    return {key: total(amounts) for key, amounts in parts.items()}


def _by_how(lines: Sequence[Line], sums: Sums, shown: Mapping[int, LineCents]) -> pd.DataFrame:
    """Dollars by how they were matched, then what is matched to nobody by its reason; they add up. `group`:
    matched, idle (held by nobody), open (not explained) or credits (whoever bears them).
    """
    order = {name: n for n, name in enumerate(HOW_WORDS)}
    groups: dict[How, list[tuple[Part, Line]]] = {}
    for line in lines:
        for part in line.parts:
            groups.setdefault(_how(part, line), []).append((part, line))
    usd: dict[How, Decimal] = defaultdict(Decimal)
    for rest, whole in {MATCHED: sums.borne, **sums.rests, CREDITS: sums.credits}.items():
        known = _KNOWN.get(rest, _unmatched)(lines, shown)
        mine = [
            (key, line.charge.number, part.usd)
            for key, found in groups.items() for part, line in found
            if (MATCHED if part.borne and not line.charge.credit else rest_of(line)) == rest
        ]  # fmt: skip
        for key, amount in group_cents(mine, known, whole).items():
            usd[key] += amount
    rows: list[Row] = [
        {"how": how, "group": group, "meaning": meaning, "usd": float(usd[how, meaning, group]),
         "gpu_hours": sum(part.gpu_s or 0.0 for part, _ in found) / 3600,
         "lines": len({line.charge.number for _, line in found})}
        for (how, meaning, group), found in groups.items()
    ]  # fmt: skip
    rows.sort(key=lambda row: (order[row["how"]], row["meaning"]))
    return table(rows, HOW_COLUMNS, HOW_COLUMNS[3:])


_KNOWN = {MATCHED: _matched, CREDITS: _whole}


def _how(part: Part, line: Line) -> How:
    if line.charge.credit:
        return NONE, WHY["credits"], CREDITS
    if part.borne:
        how = part.how if part.how != NONE else line.how
        return how, HOW_WORDS[how], "matched"
    return NONE, line.why or NO_COST, "open" if is_open(line) else "idle" if line.unmatched else "matched"


def _by_run(lines: Sequence[Line], sums: Sums, cents_of: Mapping[int, LineCents]) -> pd.DataFrame:
    """Dollars by who bears them; the last row is what nobody does."""
    pairs = [(_bearer(part), part, line) for line in lines for part in line.parts]
    ours = [(key, line.charge.number, part.usd) for key, part, line in pairs if part.borne]
    shown = group_cents(ours, _matched(lines, cents_of), sums.matched)
    if any(not part.borne for _, part, _ in pairs):
        shown[None, None, None, None] = sums.unmatched
    hours: dict[Bearer, float] = defaultdict(float)
    numbers: dict[Bearer, set[int]] = defaultdict(set)
    days: dict[Bearer, set[date | None]] = defaultdict(set)
    for key, part, line in pairs:
        hours[key] += (part.gpu_s or 0.0) / 3600
        numbers[key].add(line.charge.number)
        days[key].add(part.day)
    rows: list[Row] = [
        {**dict(zip(RUNS, key, strict=False)), "usd": float(value), "gpu_hours": hours[key],
         "lines": len(numbers[key]), "days": len(days[key])}
        for key, value in shown.items()
    ]  # fmt: skip
    rows.sort(key=lambda row: (not any(row[name] for name in RUNS[:4]), -row["usd"], _text(row)))
    return table(rows, RUNS, ["usd", "gpu_hours", "lines", "days"])


def _bearer(part: Part) -> Bearer:
    return (part.run, None if part.run else part.job, part.campaign, part.team)


def _text(row: Row) -> str:
    return " ".join(str(row[name] or "") for name in RUNS[:4])


def _by_day(lines: Sequence[Line], sums: Sums, shown: Mapping[int, LineCents]) -> pd.DataFrame:
    """Dollars by the UTC day on which they accrue; the last row has no day."""
    pairs = [(part.day, line.charge.number, part) for line in lines for part in line.parts]
    names = sorted({day for day, _, _ in pairs}, key=lambda day: (day is None, day or date.min))
    ours, rest = (
        group_cents([(day, n, p.usd) for day, n, p in pairs if p.borne is borne], known, whole)
        for borne, known, whole in (
            (True, _matched(lines, shown), sums.matched), (False, _unmatched(lines, shown), sums.unmatched),
        )
    )  # fmt: skip
    none = Decimal(0)
    rows: list[Row] = [
        {"day": day, "matched_usd": float(ours.get(day, none)), "unmatched_usd": float(rest.get(day, none)),
         "effective_usd": float(ours.get(day, none) + rest.get(day, none))}
        for day in names
    ]  # fmt: skip
    return table(rows, ["day", "matched_usd", "unmatched_usd", "effective_usd"], DAY_NUMBERS)


def _by_service(lines: Sequence[Line], shown: Mapping[int, LineCents]) -> pd.DataFrame:
    """Sums of the lines of each service, in cents."""
    groups: dict[tuple[str | None, str | None], list[LineCents]] = {}
    for line in lines:
        groups.setdefault((line.charge.provider, line.charge.service), []).append(shown[line.charge.number])
    rows: list[Row] = [
        {"provider": key[0], "service": key[1], "lines": len(found),
         "matched_usd": float(sum(x.matched for x in found)),
         "unmatched_usd": float(sum(x.unmatched for x in found)),
         "effective_usd": float(sum(x.effective for x in found)),
         "billed_usd": float(sum(x.billed or 0 for x in found))}
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
    if charge.restated:
        return "restated"
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
