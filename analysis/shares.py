"""Who bears which dollars: the one truth that waste, campaigns and reconciliation stand on."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from decimal import Decimal

from analysis.bill import Bill, load_bill, span_of
from analysis.billlines import add_lines, read_lines
from analysis.frames import Row, known, number, records, text
from analysis.kept import kept
from analysis.linecents import gpu_usd
from analysis.madeup import EVERYBODY, Scope, own_rows
from analysis.matching import Matched, matched_bill
from analysis.moneyparams import ALL, MoneyParams
from analysis.parts import NONE, Part
from analysis.prices import price_rows
from analysis.result import Assumption, Notice
from analysis.unbilled import EVALS, TOKENS, Span, Unbilled, beside, load_unbilled
from analysis.words import listing
from data.queries import bills as queries
from data.view import View
from models.accrual import days, overlap_s
from models.cents import FULL, apportion, exact, total

BILL, RATE = "bill", "rate"


@dataclass(frozen=True)
class Share:
    """A part of one charge line on one UTC day; the parts of a charge add up to it exactly.

    `how` is tag, resource, job, time, booked or allocation; "none": nobody is known to have used this part.
    A charge that a tag books to a run which held less than was bought has a part with that run, no attempt
    and how "none": the run bears it, nobody held it. `gpu_s` is None for what is no GPU charge and for bills
    without a quantity; it is negative in corrections. `usd` is the effective (amortised) cost. `known_idle`:
    nobody held it (`how` none), and a scheduler file that covers its machine says so.
    """

    charge: int
    day: date | None
    kind: str
    platform: str | None
    run: str | None
    attempt: int | None
    pool: str | None
    role: str | None
    job: str | None
    campaign: str | None
    team: str | None
    how: str
    gpu_s: float | None
    usd: Decimal
    known_idle: bool = False


@dataclass(frozen=True)
class Shares:
    """All shares of [start, end). `basis` is "bill" when GPU charges exist in the period, else "rate":
    allocations x price book, evaluations and token bills (`unbilled`), beside the cost rows of other kinds.
    `has_scheduler`: a scheduler file lies in the period. GPU time without an owner is not allocated where a
    share is `known_idle`, else of unknown use.

    `invoice_usd` is the billed total of the cost rows (None without any): never added to `usd` of shares.
    """

    period: str
    start: datetime
    end: datetime
    basis: str
    shares: tuple[Share, ...]
    has_scheduler: bool
    invoice_usd: Decimal | None
    notices: tuple[Notice, ...]
    assumptions: tuple[Assumption, ...]
    price_ids: tuple[str, ...]
    scope: Scope = EVERYBODY
    """Whose rows count: samples and jobs beside these shares are those of the same scope."""
    gpu_usd: Decimal | None = None
    """Cents of all GPU lines of the bill, as the reconciliation shows them; None on basis "rate"."""

    @property
    def usd(self) -> Decimal:
        """Effective total of all shares, US dollars."""
        return total([share.usd for share in self.shares])


def by_attempt(shares: Sequence[Share]) -> dict[tuple[str, int], Decimal]:
    """Exact dollars of GPUs, cores and tokens by attempt."""
    parts: dict[tuple[str, int], list[Decimal]] = {}
    for share in shares:
        if share.run and share.attempt is not None and share.kind in ("gpu", "cpu", TOKENS):
            parts.setdefault((share.run, share.attempt), []).append(share.usd)
    return {key: total(usd) for key, usd in parts.items()}


@kept
def load_shares(view: View, params: MoneyParams) -> Shares:
    """Shares of the period; the run and platform filter of `params` does not apply: a bill is whole."""
    bill, matched = matched_bill(view, params.asked)
    jobs = [row for row in records(queries.jobs(view)) if bill.scope.has_upload(row["upload_id"])]
    shares = [_share(part, matched) for part in matched.parts]
    notices, assumptions = [*bill.notices, *matched.notices], [*bill.assumptions, *matched.assumptions]
    ids: tuple[str, ...] = ()
    start, end = bill.start, bill.end
    more = load_unbilled(view, None if bill.period == ALL else (bill.start, bill.end), bill.scope)
    if bill.has_gpus:
        notices += beside(more)
    else:
        rate = _rate_basis(view, params, bill, len(bill.charges))
        shares += [*rate.shares, *_extras(more, max([len(bill.charges), *(s.charge for s in rate.shares)]))]
        notices, ids = [*notices, *rate.notices, *more.notices], rate.ids
        assumptions += [*rate.assumptions, *more.assumptions]
        start, end = _extent(bill, shares, rate.span)
    if params.runs or params.platforms:
        words = "A bill is shown whole: the chosen runs and platforms do not narrow it."
        notices.append(Notice("bill_is_whole", words))
    return Shares(
        bill.period, start, end, BILL if bill.has_gpus else RATE, tuple(shares),
        _covers(jobs, start, end), bill.invoice_usd, tuple(dict.fromkeys(notices)),
        tuple(dict.fromkeys(assumptions)), ids, bill.scope, _gpu_usd(bill, matched),
    )  # fmt: skip


@kept
def rate_shares(view: View, params: MoneyParams) -> Shares:
    """The period on basis "rate" whether or not a bill is there: no cost row counts."""
    bill = replace(load_bill(view, params.asked), charges=(), foreign=(), invoice_usd=None, notices=())
    more = load_unbilled(view, None if bill.period == ALL else (bill.start, bill.end), bill.scope)
    rate = _rate_basis(view, params, bill, 0)
    shares = [*rate.shares, *_extras(more, max([0, *(s.charge for s in rate.shares)]))]
    start, end = _extent(bill, shares, rate.span)
    return Shares(
        bill.period, start, end, RATE, tuple(shares), False, None,
        tuple(dict.fromkeys([*rate.notices, *more.notices])),
        tuple(dict.fromkeys([*rate.assumptions, *more.assumptions])), rate.ids, bill.scope,
    )  # fmt: skip


def _gpu_usd(bill: Bill, matched: Matched) -> Decimal | None:
    lines = read_lines(bill, matched) if bill.has_gpus else []
    return gpu_usd(lines, add_lines(lines)) if lines else None


def _share(part: Part, matched: Matched) -> Share:
    idle = part.how == NONE and part.charge.is_gpu and part.charge.number in matched.known_idle
    return Share(
        part.charge.number, part.day, part.charge.kind, part.platform, part.run, part.attempt, part.pool,
        part.role, part.job, part.campaign, part.team, part.how, part.gpu_s, part.usd, idle,
    )  # fmt: skip


def _extent(bill: Bill, shares: Sequence[Share], held: Span | None) -> Span:
    """The month; for all periods the time from the first charge, allocation or day to the last."""
    if bill.period != ALL:
        return bill.start, bill.end
    spans = [(bill.start, bill.end)] if bill.charges else []
    spans += [held] if held is not None else []
    marks = [datetime.combine(s.day, time()) for s in shares if s.day and s.kind in (EVALS, TOKENS)]
    spans += [(min(marks), max(marks) + timedelta(days=1))] if marks else []
    return (min(s for s, _ in spans), max(e for _, e in spans)) if spans else (bill.start, bill.end)


def _extras(found: Unbilled, last: int) -> list[Share]:
    """Shares of evaluations and token bills, their charges numbered after `last`."""
    return [
        Share(
            last + 1 + row.charge, row.day, row.kind, None, row.run, row.attempt, None, None, None,
            row.campaign, row.team, "booked", None, row.usd,
        )
        for row in found.rows
    ]  # fmt: skip


def _covers(jobs: list[Row], start: datetime, end: datetime) -> bool:
    """Whether any scheduler job with GPUs lies in the period."""
    spans = [span for row in jobs if (span := span_of({**row, "seconds": None})) is not None]
    return any(overlap_s(*span, start, end) > 0 for span in spans)


@dataclass(frozen=True)
class _Rate:
    shares: list[Share]
    notices: list[Notice]
    assumptions: tuple[Assumption, ...]
    ids: tuple[str, ...]
    span: tuple[datetime, datetime] | None


def _rate_basis(view: View, params: MoneyParams, bill: Bill, charges: int) -> _Rate:
    """Allocations x price, each allocation a charge of its own, accrued by UTC day."""
    span = None if bill.period == ALL else (bill.start, bill.end)
    rows, no_clock = _in_period(own_rows(records(queries.held(view)), bill.scope), span)
    priced, assumptions, notices = price_rows(rows, view.catalogue, params.price)
    shares: list[Share] = []
    used, unknown = set(), set()
    for row in priced:
        hours = _hours(row)
        if hours is None:
            unknown.add(row["run"])
        elif known(number(row["usd_per_h"])):
            charges += 1
            shares += _allocation(row, charges, hours, span)
            used.add(row["price_id"])
    said = list(notices)
    if no_clock:
        words = f"{listing(no_clock)}: no start and end is known, so no month holds the cost."
        said.append(Notice("no_clock", words))
    if unknown:
        words = (
            f"{listing(sorted(unknown))}: GPUs or the time they were held are not known: no share is theirs."
        )
        said.append(Notice("cost_unknown", words))
    spans = [clock for row in rows if (clock := span_of(row)) is not None]
    extent = (min(s for s, _ in spans), max(e for _, e in spans)) if spans else None
    return _Rate(shares, said, assumptions, tuple(sorted(used)), extent)


def _in_period(rows: list[Row], span: tuple[datetime, datetime] | None) -> tuple[list[Row], list[str]]:
    """Allocations that touch the period, and runs that have one without a clock (they belong to no month)."""
    if span is None:
        return rows, []
    clocks = [span_of(row) for row in rows]
    inside = [
        row for row, at in zip(rows, clocks, strict=True) if at is not None and overlap_s(*at, *span) > 0
    ]
    return inside, sorted({row["run"] for row, at in zip(rows, clocks, strict=True) if at is None})


def _hours(row: Row) -> Decimal | None:
    """Device-hours of an allocation: GPU-hours, or core-hours of a sandbox; None when they are unknown."""
    size, seconds = number(row["cores"] if row["sandbox"] else row["gpus"]), number(row["seconds"])
    if not (known(size) and known(seconds)) or size <= 0 or seconds < 0:
        return None
    return exact(size) * exact(seconds) / 3600


def _allocation(row: Row, charge: int, hours: Decimal, span: tuple[datetime, datetime] | None) -> list[Share]:
    """Shares of one allocation by UTC day, those in `span` alone; all days together cost hours x price."""
    usd, clock = hours * exact(number(row["usd_per_h"])), span_of(row)
    gpu_s = None if row["sandbox"] else float(hours) * 3600
    share = Share(
        charge, None, "cpu" if row["sandbox"] else "gpu", text(row["platform"]), row["run"],
        int(row["attempt"]), row["pool"], row["role"], None, text(row["campaign"]), text(row["team"]),
        "allocation", gpu_s, usd,
    )  # fmt: skip
    if clock is None:
        return [share]
    parts = days(*clock)
    seconds = [part.seconds for part in parts]
    amounts = apportion(usd, seconds, FULL) if parts else []
    return [
        replace(
            share, day=p.day, usd=amount, gpu_s=None if gpu_s is None else gpu_s * p.seconds / sum(seconds)
        )
        for p, amount in zip(parts, amounts, strict=True)
        if span is None or span[0] <= p.start < span[1]
    ]
