"""The charges of one invoice period in exact dollars: what each is for, when it accrues, what it bought."""

import math
from collections import Counter
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal

import pandas as pd

from analysis.frames import Row, known, number, records, text
from analysis.madeup import EVERYBODY, Scope, counted, left_out, scope_of
from analysis.moneyparams import ALL, MoneyParams
from analysis.result import Assumption, Notice
from analysis.twice import once, twice
from analysis.two_exports import both_said, load_exports
from analysis.words import listing, plural
from data.money.cost_tags import named_in
from data.money.currency import Rate, missing_rate, rate_on, rate_versions
from data.money.machines import gpu_model, gpu_seconds, machine
from data.queries import bills as queries
from data.view import View
from models.accrual import month, month_of, months
from models.cents import FULL, apportion, cents, exact, total

GPU_KINDS = ("gpu", "unused")
BUCKETS = ("gpu", "storage", "evals", "data", "staff")
USD = "USD"
_TEXTS = (
    "provider", "service", "resource_id", "resource_name", "account", "description", "category", "invoice",
    "run", "campaign", "sku",
)  # fmt: skip
_NO_INVOICE = {"rate_card_csv": "a rate card", "opencost_csv": "OpenCost"}
_CPU = frozenset({"cpu", "cpus", "vcpu", "vcpus", "core", "cores", "memory", "ram"})


@dataclass(frozen=True)
class Charge:
    """One line of a bill, as far as it belongs to the period.

    `start`, `end` (exclusive) are the part of its charge period that belongs here; `end` None: a moment or a
    day; both None: no clock. `effective` is what it costs (amortised), `billed` what the invoice asks for, in
    US dollars; `own` and `own_billed` are the same in `currency`. `effective` None: no rate for its currency.
    `gpu_s` None: the bill names no GPU-seconds. `reserved`: a capacity reservation in which nothing ran.
    """

    number: int
    start: datetime | None
    end: datetime | None
    kind: str
    unused: bool
    credit: bool
    correction: bool
    provider: str | None
    service: str | None
    resource_id: str | None
    resource_name: str | None
    account: str | None
    description: str | None
    category: str | None
    invoice: str | None
    sku: str | None
    commitment: str | None
    platform: str | None
    gpu: str | None
    run: str | None
    campaign: str | None
    team: str | None
    job: str | None
    host: str | None
    tagged: bool
    gpu_s: float | None
    currency: str
    own: Decimal
    own_billed: Decimal | None
    effective: Decimal | None
    billed: Decimal | None
    from_billed: bool
    upload_id: str
    rate_day: date | None
    """UTC day on which the whole charge starts: the day of its exchange rate in every month."""
    restated: bool = False
    """In an export of actual costs and in an amortised one: each counts in its own view."""
    reserved: bool = False

    @property
    def is_gpu(self) -> bool:
        """Whether the line bought GPU time (used or not)."""
        return self.kind in GPU_KINDS

    @property
    def day(self) -> date | None:
        """UTC day on which it starts to accrue."""
        return None if self.start is None else self.start.date()


@dataclass(frozen=True)
class Bill:
    """Charges of the invoices of [start, end), in an order that does not depend on files.

    `foreign` have no rate into dollars and are in no sum. `invoice_usd` is the billed total, None when no
    line states one.
    """

    period: str
    start: datetime
    end: datetime
    charges: tuple[Charge, ...]
    foreign: tuple[Charge, ...]
    invoice_usd: Decimal | None
    notices: tuple[Notice, ...]
    assumptions: tuple[Assumption, ...]
    scope: Scope = EVERYBODY

    @property
    def has_gpus(self) -> bool:
        """Whether any line is a GPU charge."""
        return any(charge.is_gpu for charge in self.charges)


def load_bill(view: View, params: MoneyParams) -> Bill:
    """Charges of `params.period`, of one's own or of the example (`Scope`); empty without any cost row."""
    period = params.period or default_period(view)
    span = None if period == ALL else month(period)
    scope = scope_of(view, params)
    rows = records(queries.charges(view, *(span or (None, None))))
    maker = _Maker(view, span)
    told = [values for row in rows if scope.has_upload(row["upload_id"]) and (values := maker.charge(row))]
    told.sort(key=_order)
    made = [Charge(number=n, **values) for n, values in enumerate(told, 1)]
    kept = tuple(charge for charge in made if charge.effective is not None)
    billed = [charge.billed for charge in kept if charge.billed is not None]
    start, end = span or _extent(made)
    apart = [values["effective"] or Decimal(0) for row in rows if not scope.has_upload(row["upload_id"])
             and (values := _Maker(view, span).charge(row))]  # fmt: skip
    return Bill(
        period, start, end, kept, tuple(c for c in made if c.effective is None),
        total(billed) if billed else None, (*maker.notices(made), *left_out(view, scope, apart, span)),
        tuple(maker.assumptions()), scope,
    )  # fmt: skip


def default_period(view: View) -> str:
    """Newest month with a GPU bill, else with allocations, else with any cost row, else everything. The
    example's count only where there is nothing of one's own.
    """
    made_up = queries.synthetic(view)
    for any_owner in (False, True):
        if (at := queries.newest_bill(view, False, any_owner)) is not None:
            return month_of(at)
        rows = [row for row in records(queries.held(view)) if any_owner or row["run"] not in made_up]
        if ends := [span[1] for row in rows if (span := span_of(row)) is not None]:
            return month_of(max(ends) - timedelta(microseconds=1))
        if (at := queries.newest_bill(view, True, any_owner)) is not None:
            return month_of(at)
    return ALL


def span_of(row: Row) -> tuple[datetime, datetime] | None:
    """[start, end) of an allocation: its start and the seconds it was held; None without a clock."""
    start, end, seconds = stamp(row["started_at"]), stamp(row["ended_at"]), number(row["seconds"])
    if not known(seconds):
        return None if start is None or end is None or end <= start else (start, end)
    held = timedelta(seconds=seconds)
    if start is not None:
        return start, start + held
    return None if end is None else (end - held, end)


def stamp(value: object) -> datetime | None:
    """A stamp of a frame as a datetime, None when it is missing."""
    return None if value is None or pd.isna(value) else pd.Timestamp(value).to_pydatetime()  # type: ignore


def _extent(charges: list[Charge]) -> tuple[datetime, datetime]:
    starts = [c.start for c in charges if c.start is not None]
    ends = [c.end or c.start for c in charges if c.start is not None]
    return (
        (min(starts), max(end for end in ends if end is not None)) if starts else (datetime.min, datetime.min)
    )


_ORDER = (
    "provider", "service", "resource_id", "resource_name", "description", "kind", "category", "account",
    "run", "campaign", "currency", "invoice", "commitment", "team", "job", "host",
)  # fmt: skip


def _order(values: Row) -> tuple[object, ...]:
    """What a charge says, in an order that does not depend on files; equal lines may change places."""
    start = values["start"] or datetime.max
    numbers = (values["own"], values["own_billed"] or Decimal(0), values["gpu_s"] or 0.0)
    texts = (values[name] or "" for name in _ORDER)
    return (start, values["end"] or start, *texts, *numbers, values["upload_id"])


class _Maker:
    """Turns rows into charges and remembers what has to be said of them."""

    def __init__(self, view: View, span: tuple[datetime, datetime] | None) -> None:
        self.view, self.book = view, view.catalogue
        self.span = span
        self.rates = rate_versions(view.money)
        self.found: dict[tuple[str, date | None], Rate | None] = {}
        self.flat = set(queries.never_amortised(view))
        commitments = records(queries.commitments(view))
        self.other_commitments = {c["commitment_id"] for c in commitments if c["used"] and not c["gpu"]}
        self.formats, self.exports = queries.formats(view), load_exports(view)
        self.said: Counter[str] = Counter()

    def charge(self, row: Row) -> Row | None:
        """Fields of the `Charge` of a row, None when it has no amount."""
        billed, effective = _amount(row["billed"]), _amount(row["effective"])
        flat = effective is None or (text(row["provider"]) in self.flat and billed is not None)
        own = billed if flat else effective
        if own is None:
            self.said["no_amount"] += 1
            return None
        tags, (kind, unused) = named_in(text(row["tags"])), self._kind(row)
        currency, at = text(row["currency"]), stamp(row["charge_start"]) or stamp(row["day"])
        if restated := self.exports.restates(row, at):
            own, flat, kind, unused = Decimal(0), False, "other", False
        self.said["no_currency"] += currency is None
        values = {name: text(row[name]) for name in _TEXTS} | {
            "start": at, "end": stamp(row["charge_end"]),
            "kind": kind, "unused": unused, "reserved": _is(row["reservation_status"], "unused"),
            "credit": _is(row["category"], "credit"),
            "correction": _is(row["charge_class"], "correction"), "platform": self._platform(row),
            "commitment": text(row["commitment_id"]), "gpu": _model(row), "team": tags.get("team"),
            "job": tags.get("job"), "host": tags.get("host"), "tagged": _by_tag(row, tags),
            "gpu_s": _bought(row, unused) if kind in (*GPU_KINDS, "credit") else None,
            "currency": (currency or USD).upper(), "own": own, "own_billed": billed, "from_billed": flat,
            "upload_id": str(row["upload_id"]), "rate_day": None if at is None else at.date(),
            "restated": restated or self.exports.is_paired(row, at),
        }  # fmt: skip
        if stamp(row["billing_start"]) is None:
            self._cut(values)
        return values | self._dollars(values)

    def _kind(self, row: Row) -> tuple[str, bool]:
        """Kind of a line, and whether it is capacity that nobody used."""
        bucket, category = row["bucket"] or "other", str(row["category"] or "").casefold()
        unused = _is(row["commitment_status"], "unused") or _is(row["reservation_status"], "unused")
        idle = category == "idle"
        if category in ("tax", "credit"):
            return category, False
        if unused and (bucket == "gpu" or row["commitment_id"] not in self.other_commitments):
            return "unused", True
        if idle and bucket == "gpu":
            return "unused", True
        if category == "purchase" and not (bucket == "gpu" and number(row["effective"]) > 0):
            return "purchase", False
        if bucket == "other" and _CPU & set(
            str(row["description"] or "").casefold().replace(",", " ").split()
        ):
            bucket = "cpu"
        return (bucket if bucket in (*BUCKETS, "cpu") else "other"), unused or idle

    def _platform(self, row: Row) -> str | None:
        named = text(row["instance_type"])
        if named and (found := machine(named)):
            return found.platform_id
        platform = (self.book.platform(named) or self.book.platform_of_gpu(named)) if named else None
        return platform.platform_id if platform else None

    def _cut(self, values: Row) -> None:
        """Keep the part of a charge that lies in the period, by seconds; all months add up to the whole."""
        start, end = values["start"], values["end"]
        if self.span is None or start is None or end is None:
            return
        parts = months(start, end)
        if len(parts) == 1:
            return
        place = next(i for i, part in enumerate(parts) if self.span[0] <= part.start < self.span[1])
        weights = [part.seconds for part in parts]
        values |= {"start": parts[place].start, "end": parts[place].end}
        for name in ("own", "own_billed"):
            if values[name] is not None:
                values[name] = apportion(values[name], weights, FULL)[place]
        if values["gpu_s"] is not None:
            values["gpu_s"] *= weights[place] / math.fsum(weights)

    def _dollars(self, values: Row) -> Row:
        """Dollars at the rate of the day on which the whole charge starts, so that its months add up to it;
        None without a rate.
        """
        own, billed, code = values["own"], values["own_billed"], values["currency"]
        if code == USD:
            return {"effective": own, "billed": billed}
        day = values["rate_day"]
        if (code, day) not in self.found:
            self.found[code, day] = rate_on(self.rates, code, day) if day else None
        if (rate := self.found[code, day]) is None:
            return {"effective": None, "billed": None}
        one = rate.usd_per_unit
        return {"effective": own * one, "billed": None if billed is None else billed * one}

    def assumptions(self) -> list[Assumption]:
        """The exchange rates that were used."""
        used = {rate.decision: rate for rate in self.found.values() if rate is not None}
        return [
            Assumption(
                f"dollars a {rate.code} from {rate.date}", float(rate.usd_per_unit), f"USD per {rate.code}",
                rate.status, rate.source, str(rate.date),
            )
            for rate in sorted(used.values(), key=lambda rate: (rate.code, str(rate.date)))
        ]  # fmt: skip

    def notices(self, charges: list[Charge]) -> list[Notice]:
        """What a reader has to know about the amounts."""
        uploads = queries.synthetic_uploads(self.view)
        made_up = [c.effective or Decimal(0) for c in charges if c.upload_id in uploads]
        out = counted(made_up, len(charges))
        if n := self.said["no_amount"]:
            out.append(
                Notice(
                    "charge_no_amount", f"{n} cost {plural('row', n)} without an amount left out.", "costs"
                )
            )
        if n := self.said["no_currency"]:
            words = f"{n} {plural('charge', n)} without a currency counted as US dollars."
            out.append(Notice("currency_assumed", words, "costs"))
        out += [
            self._foreign(code, charges)
            for code in sorted({c.currency for c in charges if c.effective is None})
        ]
        for name in sorted({c.provider or "" for c in charges if c.from_billed and c.own_billed is not None}):
            who = f"{name} states" if name else "Lines without a provider state"
            words = f"{who} no effective (amortised) cost: the billed cost stands in for it."
            out.append(Notice("effective_from_billed", words, name or "costs"))
        bare = [c for c in charges if c.billed is None and c.effective is not None]
        if lacking := [c for c in bare if not c.restated]:
            usd = cents(total([c.effective or Decimal(0) for c in lacking]))
            lines = f"{len(lacking)} {plural('line', len(lacking))}"
            words = (
                f"${usd:,} of effective cost stands on {lines} without a billed cost: no invoice asks for it."
            )
            out.append(Notice("not_invoiced", words, "costs"))
        out += both_said(charges)
        return out + twice(charges) + once(queries.equal_lines(self.view), charges) + self._two_kinds(charges)

    def _two_kinds(self, charges: list[Charge]) -> list[Notice]:
        """A price list or allocation prices beside an invoice: the same machines may count twice."""
        found = {self.formats.get(c.upload_id) for c in charges if c.is_gpu}
        lists = [words for name, words in _NO_INVOICE.items() if name in found]
        if not lists or len(found) == 1:
            return []
        words = (
            f"GPU lines of {listing(lists)} stand beside lines of another file, and all of them count: if "
            "both are about the same machines, take one of the files back."
        )
        return [Notice("two_kinds_of_bill", words, "costs")]

    def _foreign(self, code: str, charges: list[Charge]) -> Notice:
        rows = [c for c in charges if c.effective is None and c.currency == code]
        amount = cents(total([c.own for c in rows]))
        day = min((c.rate_day for c in rows if c.rate_day), default=None)
        why = (
            missing_rate(self.rates, code, day) if day else f"They name no day, so no rate of {code} applies."
        )
        words = f"{amount:,} {code} in {len(rows)} {plural('line', len(rows))} is in no sum of dollars. {why}"
        return Notice("currency_left_out", words, "costs")


def _amount(value: object) -> Decimal | None:
    size = number(value)
    return exact(size) if math.isfinite(size) else None


def _is(value: object, word: str) -> bool:
    return isinstance(value, str) and value.strip().casefold() == word


def _by_tag(row: Row, tags: dict[str, str]) -> bool:
    """Whether the run or campaign of a line is the one that its tags name."""
    return any(row[name] is not None and row[name] == tags.get(name) for name in ("run", "campaign"))


def _model(row: Row) -> str | None:
    return gpu_model(text(row["instance_type"]), text(row["description"]), text(row["sku"]))


def _bought(row: Row, unused: bool) -> float | None:
    """GPU-seconds of a line; an unused commitment states them as its own quantity."""
    more = text(row["instance_type"]), _positive(row["gpus"]), text(row["description"])
    found = gpu_seconds(_float(row["quantity"]), text(row["unit"]), *more)
    if found is None and unused:
        found = gpu_seconds(_float(row["commitment_quantity"]), text(row["commitment_unit"]), *more)
    return found


def _float(value: object) -> float | None:
    size = number(value)
    return size if math.isfinite(size) else None


def _positive(value: object) -> float | None:
    size = _float(value)
    return size if size is not None and size > 0 else None
