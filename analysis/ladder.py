"""Paid, allocated, active, effective; and the way down from the whole bill to productive work."""

from collections.abc import Mapping, Sequence
from decimal import Decimal

import pandas as pd

from analysis.frames import Row, table
from analysis.shares import Share
from analysis.waste_lineage import Ends
from analysis.waste_parts import BARS, Bill, Cut, Sheet, by_who, split_of, who
from models.cents import cents, to_cents, total
from models.waste import PARTS, Split

RUNGS = ("paid", "allocated", "active", "effective")
ENDS = ("", "_low", "_high")
NUMBERS = [*(f"{n}{end}" for n in ("gpu_hours", "usd") for end in ENDS), "frac"]
LADDER = ["rung", *NUMBERS, "basis", "missing"]
IDENTITY = ["part", *(f"{n}{end}" for n in ("gpu_s", "usd") for end in ENDS), "frac"]
WATERFALL = ["bar", "kind", "usd", "usd_low", "usd_high", "top_usd", "frac", "runs", "detail"]
ON_RUNGS = ["rung", "who", "run", "usd"]
MOST_NAMES = 20
CENT_USD = 0.01
OUTSIDE = "outside the surviving lineage: it may have been idle, stalled or lost, and is not productive"


def identity(split: Split, sheet: Sheet, unproven_usd: float) -> pd.DataFrame:
    """Five rows (IDENTITY): GPU-seconds and dollars of each part with their bounds; dollars in cents add up
    to the GPU charges.
    """
    usd = parts_usd(sheet)
    dollars = Split(**{n: float(usd[n]) for n in PARTS}, unproven=unproven_usd)
    rows = []
    for part in PARTS:
        low, high = split.bounds(part)
        usd_low, usd_high = dollars.bounds(part)
        row = {"part": part, "gpu_s": getattr(split, part), "gpu_s_low": low, "gpu_s_high": high}
        row |= {"usd": float(usd[part]), "usd_low": usd_low, "usd_high": usd_high}
        rows.append(row | {"frac": float(usd[part]) / dollars.paid if dollars.paid > 0 else None})
    return table(rows, IDENTITY, IDENTITY[1:])


def parts_usd(sheet: Sheet) -> dict[str, Decimal]:
    """Dollars of the five parts, in cents."""
    bars = {bar: sheet.bar(bar) for bar in BARS}
    working = bars["bubble"] + bars["lost"] + bars["productive"]
    return {**{n: bars[n] for n in ("not_allocated", "idle", "stalled", "unknown")}, "working": working}


def ladder(bill: Bill, sheet: Sheet, has_scheduler: bool, basis: str) -> pd.DataFrame:
    """Four rows (LADDER) for the picked charges. What is unknown is in no rung's value and in the high bound
    of every rung below paid, as far as it may belong there.
    """
    usd = parts_usd(sheet)
    loose = _loose(bill, has_scheduler)
    unowned = cents(total([c.share.usd for c in loose]))
    hours = split_of(bill.cuts).times(1 / 3600)
    unowned_h = split_of(loose).unknown / 3600
    unproven = sum(c.unproven for c in bill.cuts)
    out: list[Row] = [_rung("paid", (hours.paid,) * 3, (float(bill.gpu),) * 3, basis)]
    held = hours.paid - hours.not_allocated
    held_usd = float(bill.gpu - usd["not_allocated"])
    words = "scheduler and tags" if has_scheduler else "runs named by the bill; the rest is not known"
    low, low_usd = held - unowned_h, held_usd - float(unowned)
    out.append(_rung("allocated", (low, low, held), (low_usd, low_usd, held_usd), words))
    busy, busy_usd = hours.stalled + hours.working, float(usd["stalled"] + usd["working"])
    unknown_usd = float(usd["unknown"])
    out.append(
        _rung(
            "active",
            (busy, busy, busy + hours.unknown),
            (busy_usd, busy_usd, busy_usd + unknown_usd),
            "allocated, not idle",
        )
    )
    work_usd = float(usd["working"])
    out.append(
        _rung(
            "effective",
            (hours.working, hours.working - hours.unproven, hours.working + hours.unknown),
            (work_usd, work_usd - unproven, work_usd + unknown_usd),
            "active, not stalled",
        )
    )
    whole = float(bill.gpu)
    rows = [row | {"frac": row["usd"] / whole if whole > 0 else None} for row in out]
    return table(rows, LADDER, NUMBERS)


def _loose(bill: Bill, has_scheduler: bool) -> list[Cut]:
    """Charges of which nobody knows whether they were held: on no rung below paid but in its high bound."""
    found = [c for c in bill.cuts if c.slot is None and not c.usd["not_allocated"]]
    return [c for c in found if not has_scheduler or c.share.how == "none"]


def on_rungs(bill: Bill, sheet: Sheet, has_scheduler: bool) -> pd.DataFrame:
    """Who is on each rung (ON_RUNGS), most dollars first; rows of a rung add up to its value to the cent."""
    groups = by_who(_loose(bill, has_scheduler))
    exact = {name: total([c.share.usd for c in cuts]) for name, cuts in groups.items()}
    unowned = to_cents(list(exact.values()), cents(total(list(exact.values())))) if exact else []
    loose = dict(zip(exact, unowned, strict=True))
    runs = {who(c.share): c.share.run for c in bill.cuts}
    rows: list[Row] = []
    for rung in RUNGS:
        usd = {name: _on_rung(rung, sheet.row(name), loose.get(name, Decimal(0))) for name in sheet.names}
        named = sorted((name for name in usd if usd[name]), key=lambda name: (-usd[name], name))
        rows += [{"rung": rung, "who": n, "run": runs[n], "usd": float(usd[n])} for n in named]
    return table(rows, ON_RUNGS, ["usd"])


def _on_rung(rung: str, usd: Mapping[str, Decimal], loose: Decimal) -> Decimal:
    """Dollars of one run, job or nobody on a rung; `loose` of them may not have been held."""
    working = usd["bubble"] + usd["lost"] + usd["productive"]
    below = {"effective": working, "active": working + usd["stalled"]}
    if rung in below:
        return below[rung]
    whole = total(list(usd.values()))
    return whole if rung == "paid" else whole - usd["not_allocated"] - loose


def _rung(rung: str, hours: Sequence[float], usd: Sequence[float], basis: str) -> Row:
    ends = {f"gpu_hours{end}": value for end, value in zip(ENDS, hours, strict=True)}
    ends |= {f"usd{end}": value for end, value in zip(ENDS, usd, strict=True)}
    return {"rung": rung, **ends, "basis": basis, "missing": ""}


def waterfall(bill: Bill, sheet: Sheet, unproven_usd: float, ends: Ends) -> pd.DataFrame:
    """Bars (WATERFALL) from the whole bill to productive work, in cents: what is taken away (kind minus) and
    what is left (kind total). `top_usd`: where the bar begins; `runs`: who is behind it, most first; `frac`:
    of the charges before credits, none for the bill and for what is no GPU time, which credits are in.
    """
    other, unknown = bill.whole - bill.gpu, float(sheet.bar("unknown"))
    rows: list[Row] = [
        {"bar": "bill", "kind": "total", "usd": bill.whole, "top_usd": bill.whole, "runs": [], "detail": ""},
        {"bar": "other", "kind": "minus", "usd": other, "top_usd": bill.whole, "runs": _others(bill.other)}
        | {"detail": _kinds(bill.other)},
    ]
    at = bill.gpu
    for bar in BARS[:-1]:
        usd = sheet.bar(bar)
        rows.append({"bar": bar, "kind": "minus", "usd": usd, "top_usd": at, "runs": behind(sheet, bar)})
        at -= usd
    rows.append(
        {"bar": "productive", "kind": "total", "usd": at, "top_usd": at, "runs": behind(sheet, "productive")}
    )
    charges = float(cents(bill.whole - total([s.usd for s in bill.other if s.kind == "credit"])))
    for row in rows:
        value = float(row["usd"])
        more = {"idle": unknown, "stalled": unknown + unproven_usd}.get(row["bar"], 0.0)
        low, high = value, value + more
        if row["bar"] == "productive":
            low, high = ends.productive_low, ends.productive_high
        elif row["bar"] == "lost":
            low, high = ends.lost_low, ends.lost_high
        elif row["bar"] == "bubble":
            high = ends.bubble_high
        elif row["bar"] == "unknown" and ends.outside >= CENT_USD:
            row["detail"] = f"${ends.outside:,.2f} of it is {OUTSIDE}"
        row |= {"usd": value, "top_usd": float(row["top_usd"]), "usd_low": low, "usd_high": high}
        has_base = charges > 0 and row["bar"] not in ("bill", "other")
        row["frac"] = value / charges if has_base else None
    return table(rows, WATERFALL, ["usd", "usd_low", "usd_high", "top_usd", "frac"])


def behind(sheet: Sheet, bar: str) -> list[str]:
    """Runs and jobs in one bar, the most dollars first; '' is nobody and is left out."""
    place = BARS.index(bar)
    found = [(cells[place], name) for name, cells in zip(sheet.names, sheet.cells, strict=True) if name]
    return [name for usd, name in sorted(found, key=lambda f: (-f[0], f[1])) if usd != 0][:MOST_NAMES]


def _others(shares: Sequence[Share]) -> list[str]:
    sums: dict[str, Decimal] = {}
    for share in shares:
        if who(share):
            sums[who(share)] = sums.get(who(share), Decimal(0)) + share.usd
    return sorted(sums, key=lambda n: (-sums[n], n))[:MOST_NAMES]


def _kinds(shares: Sequence[Share]) -> str:
    sums: dict[str, Decimal] = {}
    for share in shares:
        sums[share.kind] = sums.get(share.kind, Decimal(0)) + share.usd
    listed = sorted(sums.items(), key=lambda item: (-abs(item[1]), item[0]))
    return ", ".join(f"{kind} {'-' if usd < 0 else ''}${abs(cents(usd)):,}" for kind, usd in listed)
