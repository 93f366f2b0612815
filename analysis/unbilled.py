"""What evaluations and hosted services cost by the telemetry, where no cost row has it.

On basis "rate" they are charges of their own, of kind `evals` and `tokens`. A bill stays what it is: there
they are only said, so that shares add up to the invoice.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal

from analysis.bill import span_of, stamp
from analysis.frames import Row, known, number, records, text
from analysis.madeup import EVERYBODY, Scope, own_rows
from analysis.metered import Metered, metered_costs
from analysis.result import Assumption, Notice
from analysis.words import listing
from data.queries import bills as queries
from data.queries import spend as spend_queries
from data.queries.filters import Filters
from data.services import METERED_SERVICES
from data.view import View
from models.accrual import days
from models.cents import FULL, apportion, cents, exact, total

EVALS, TOKENS = "evals", "tokens"
_WORDS = {EVALS: "evaluations", TOKENS: "runs that are paid by the token"}
Span = tuple[datetime, datetime]


@dataclass(frozen=True)
class Extra:
    """Dollars of one evaluation or one attempt on a hosted service on one UTC day (None: it has no clock).

    `charge` numbers those that belong together, from 0.
    """

    charge: int
    kind: str
    day: date | None
    run: str | None
    attempt: int | None
    campaign: str | None
    team: str | None
    usd: Decimal


@dataclass(frozen=True)
class Unbilled:
    """`rows` of the period; `notices` say what a cost row bills already and what has no clock."""

    rows: tuple[Extra, ...]
    notices: tuple[Notice, ...]
    assumptions: tuple[Assumption, ...]


def load_unbilled(view: View, span: Span | None, scope: Scope = EVERYBODY) -> Unbilled:
    """Evaluations and token bills of `scope` inside `span` (None: all) that no cost row of the home bills."""
    heads = own_rows(records(spend_queries.runs(view, Filters())), scope)
    metered = metered_costs(view, Filters(), heads)
    every = [*_evals(view, scope), *_tokens(view, metered)]
    booked = records(queries.booked(view)) if every else []
    services = {row["run"]: METERED_SERVICES.get(str(row["framework"]), "") for row in heads}
    free: list[Row] = []
    billed: list[Row] = []
    for row in every:
        (billed if _is_booked(row, booked, services) else free).append(row)
    timed = [row for row in free if span is None or row["span"] is not None]
    loose = {row["run"] or "evaluations of no run" for row in free if row["span"] is None} if span else set()
    rows = [extra for charge, row in enumerate(timed) for extra in _by_day(charge, row, span)]
    told = [extra for row in billed if span is None or row["span"] for extra in _by_day(0, row, span)]
    notices = [*metered.notices, *_billed(told)]
    if loose:
        words = f"{listing(sorted(loose))}: evaluations or tokens have no clock, so no month has their cost."
        notices.append(Notice("no_clock", words))
    return Unbilled(tuple(rows), tuple(notices), metered.assumptions)


def beside(found: Unbilled) -> list[Notice]:
    """What stands beside a bill: dollars that no line of it has and that are in no sum."""
    out = []
    for kind, words in _WORDS.items():
        usd = total([row.usd for row in found.rows if row.kind == kind])
        if usd:
            said = (
                f"${cents(usd):,} of {words} is in no line of the bill by its tags: it stands beside the "
                "bill and in no total here, so that totals stay those of the invoice."
            )
            out.append(Notice("beside_the_bill", said, kind))
    return out


def _evals(view: View, scope: Scope) -> list[Row]:
    rows = []
    for row in records(queries.evaluations(view)):
        if not scope.has_upload(row["upload_id"]):
            continue
        at = stamp(row["at"])
        rows.append({**row, "kind": EVALS, "usd": exact(number(row["usd"])), "span": at and (at, at)})
    return rows


def _tokens(view: View, metered: Metered) -> list[Row]:
    if not metered.rows:
        return []
    clocks = {(row["run"], row["attempt"]): row for row in records(queries.attempts(view))}
    rows = []
    for bill in metered.rows:
        usd, head = number(bill["usd"]), clocks.get((bill["run"], bill["attempt"]))
        if known(usd) and usd and head is not None:
            rows.append({**head, "kind": TOKENS, "usd": exact(usd), "span": span_of(head)})
    return rows


def _is_booked(row: Row, booked: Sequence[Row], services: dict[str, str]) -> bool:
    """Whether a cost row may be about the same dollars: an evaluation's, or one of the service or the run."""
    for cost in booked:
        if row["kind"] == EVALS:
            if cost["bucket"] == EVALS and _names(cost, row):
                return True
            continue
        service = services.get(row["run"], "").casefold()
        named = (text(cost[name]) or "" for name in ("provider", "service"))
        if cost["run"] == row["run"] or (service and any(service in name.casefold() for name in named)):
            return True
    return False


def _names(cost: Row, row: Row) -> bool:
    """Whether a cost row is the run's, its campaign's, or nobody's (then it may be anybody's)."""
    run, campaign = text(cost["run"]), text(cost["campaign"])
    if run is not None:
        return run == text(row["run"])
    return campaign is None or campaign == text(row["campaign"])


def _billed(rows: Sequence[Extra]) -> list[Notice]:
    out = []
    for kind, words in _WORDS.items():
        usd = total([row.usd for row in rows if row.kind == kind])
        if usd:
            said = (
                f"Cost rows bill {words} already: the ${cents(usd):,} that telemetry has for them is "
                "left out, so that nothing counts twice."
            )
            out.append(Notice("billed_already", said, kind))
    return out


def _by_day(charge: int, row: Row, span: Span | None) -> Iterator[Extra]:
    def extra(day: date | None, usd: Decimal) -> Extra:
        attempt = number(row["attempt"])
        return Extra(
            charge, row["kind"], day, text(row["run"]), int(attempt) if known(attempt) else None,
            text(row["campaign"]), text(row["team"]), usd,
        )  # fmt: skip

    clock, inside = row["span"], _inside(span)
    if clock is None:
        yield extra(None, row["usd"])
    elif clock[1] <= clock[0]:
        if inside(clock[0]):
            yield extra(clock[0].date(), row["usd"])
    else:
        parts = days(*clock)
        amounts = apportion(row["usd"], [part.seconds for part in parts], FULL)
        for part, usd in zip(parts, amounts, strict=True):
            if inside(part.start):
                yield extra(part.day, usd)


def _inside(span: Span | None) -> Callable[[datetime], bool]:
    return lambda at: span is None or span[0] <= at < span[1]
