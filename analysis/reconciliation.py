"""What of an invoice the runs and jobs explain, to the cent, and the rest line by line."""

from collections.abc import Sequence
from decimal import Decimal
from typing import ClassVar

from analysis.bill import Bill, Charge
from analysis.billlines import Sums, add_lines, read_lines
from analysis.common import figure, result
from analysis.linebearers import bearers, open_lines
from analysis.linecents import line_cents
from analysis.matching import Matched, matched_bill
from analysis.moneyparams import ALL, MoneyParams
from analysis.reconciled import tables
from analysis.result import Figure, Notice, Result
from analysis.shares import BILL, Shares
from analysis.spend import synthetic_notice
from analysis.words import listing, month_words, plural
from data.queries import bills as queries
from data.queries.known import has_uploads
from data.view import View
from models.cents import cents, exact, total

EXACT = "usd_exact"


class ReconciliationParams(MoneyParams):
    """No parameters of its own."""

    question: ClassVar[str] = "reconciliation"


def compute(view: View, params: ReconciliationParams) -> Result:
    """Tables: `lines`, `bearers` (who bears each of them), `open` (not explained), `unmatched` (borne by
    nobody), `by_how`, `by_run`, `by_day`, `by_service`, `totals`, `other_side`, `foreign`. Dollars are cents
    that add up; `effective_usd_exact` is the amount as the file writes it.
    """
    bill, matched = matched_bill(view, params.asked)
    lines = read_lines(bill, matched)
    sums = add_lines(lines)
    shown = line_cents(lines, sums)
    found = tables(bill, matched, lines, sums, shown)
    found |= {"open": open_lines(lines, shown), "bearers": bearers(lines, found["lines"])}
    notices = [*bill.notices, *matched.notices]
    if params.runs or params.platforms:
        words = "A bill is shown whole: the chosen runs and platforms do not narrow it."
        notices.append(Notice("bill_is_whole", words))
    made_up = queries.synthetic(view) & {part.run for part in matched.parts if part.run}
    notices += synthetic_notice(sorted(made_up))
    if not bill.charges:
        notices.append(_no_bill(view, bill))
    return result(
        "reconciliation", view, params, _answer(bill, sums) if bill.charges else notices[-1].text,
        headline=_figures(bill, matched, sums) if bill.charges else (),
        tables=found, assumptions=(*bill.assumptions, *matched.assumptions), notices=notices,
    )  # fmt: skip


def sums_of(view: View, params: MoneyParams, found: Shares) -> Sums | None:
    """Totals of the bill that `found` stands on; None when no GPU charge is in the period."""
    if found.basis != BILL:
        return None
    bill, matched = matched_bill(view, params.asked)
    return add_lines(read_lines(bill, matched))


def period_words(bill: Bill) -> str:
    """'March 2026', or the days that all invoices cover."""
    if bill.period != ALL:
        return month_words(f"{bill.start:%Y-%m}")
    return f"{bill.start:%Y-%m-%d} to {bill.end:%Y-%m-%d}"


def usd(amount: Decimal) -> str:
    """Dollars to the cent: $1,234.50, -$5.00."""
    value = cents(amount)
    return f"{'-' if value < 0 else ''}${abs(value):,.2f}"


def usd_words(amount: float) -> str:
    """`usd` of an amount in cents that a table holds."""
    return usd(exact(amount))


def percent_words(frac: Decimal) -> str:
    """A share as percent with one decimal; never 100 % or 0 % unless it is exactly that."""
    if frac in (0, 1):
        return f"{int(frac * 100)} %"
    shown = round(100 * frac, 1)
    return f"{min(Decimal('99.9'), max(Decimal('0.1'), shown))} %"


def foreign_words(charges: Sequence[Charge]) -> str:
    """Amounts without a rate into dollars: '7.50 EUR in 2 lines', by currency; '' without any."""
    codes = sorted({charge.currency for charge in charges})
    mine = {code: [charge.own for charge in charges if charge.currency == code] for code in codes}
    return listing(
        [
            f"{cents(total(own)):,} {code} in {len(own):,} {plural('line', len(own))}"
            for code, own in mine.items()
        ]
    )


def _answer(bill: Bill, sums: Sums) -> str:
    when = (
        f"the {period_words(bill)} invoice" if bill.period != ALL else f"all invoices, {period_words(bill)}"
    )
    if sums.explained is None:
        when = f"the US dollars of {when}" if bill.foreign else when
        head = (
            f"{when[:1].upper()}{when[1:]} comes to {usd(sums.effective)}, so no share of it is explained: "
            f"{usd(sums.borne)} is, {open_words(sums)}."
        )
    else:
        before = " before credits" if sums.credits else ""
        share = f"{usd(sums.borne)} of {usd(sums.charges)}{before}"
        of = f"the charges{' in US dollars' if bill.foreign else ''} of {when}"
        head = f"Explains {percent_words(sums.explained)} of {of}: {share}{idle_words(sums)}; "
        head += f"{open_words(sums)}.{corrections_words(sums)}"
    more = [head]
    if sums.credits:
        more.append(f"After credits of {usd(-sums.credits)} it comes to {usd(sums.effective)}.")
    if bill.foreign:
        more.append(f"In none of this: {foreign_words(bill.foreign)}, for want of a rate into dollars.")
    if bill.invoice_usd is None:
        more.append("No line states a billed cost.")
    elif cents(bill.invoice_usd) != sums.effective:
        gap = cents(bill.invoice_usd) - sums.effective
        than = f"{usd(abs(gap))} {'more' if gap > 0 else 'less'}"
        more.append(
            f"These are effective (amortised) costs; the invoice asks for {usd(bill.invoice_usd)}, {than}."
        )
    return " ".join(more)


def idle_words(sums: Sums) -> str:
    """'; $5.00 (3.1 %) was billed but held by nobody: ...'; '' where nothing is known to be."""
    parts = (
        (sums.commitments, "commitments that nobody used"),
        (sums.reservations, "reserved capacity in which nothing ran"),
        (sums.capacity, "idle capacity that no workload used"),
        (sums.unheld, "GPU time that no run or job held"),
    )
    named = [f"{usd(amount)} {words}" for amount, words in parts if amount]
    if not named or sums.idle_frac is None:
        return ""
    what = named[0].partition(" ")[2] if len(named) == 1 else " and ".join(named)
    return f"; {usd(sums.idle)} ({percent_words(sums.idle_frac)}) was billed but held by nobody ({what})"


def open_words(sums: Sums) -> str:
    """What nothing explains: '$1.00 (2.1 %) is not explained, in 2 lines', or that no line is left."""
    if not sums.open_lines:
        return "no line is left"
    net = " net" if sums.negative_open else ""
    share = "" if sums.open_frac is None else f" ({percent_words(sums.open_frac)})"
    lines = f"{sums.open_lines:,} {plural('line', sums.open_lines)}"
    return f"{usd(sums.open)}{net}{share} is not explained, in {lines}"


def corrections_words(sums: Sums) -> str:
    """How negative lines that nothing explains count in the shares; '' without any."""
    return " Corrections among them count as amounts." if sums.negative_open else ""


def _no_bill(view: View, bill: Bill) -> Notice:
    when = f" for {period_words(bill)}" if bill.period != ALL else ""
    if bill.foreign:
        words = (
            f"The bill{when} holds {foreign_words(bill.foreign)}, and no rate into dollars: enter one on the "
            "Price book page, and its lines are matched to runs."
        )
        return Notice("bill_without_rate", words, "costs")
    words = (
        f"No bill is loaded{when}: load a FOCUS export, a cost export of Azure or a rate card on the "
        "Telemetry page, and its lines are matched to runs."
    )
    return Notice("no_bill" if has_uploads(view) else "empty_home", words)


def _figures(bill: Bill, matched: Matched, sums: Sums) -> list[Figure]:
    held = sum(held - paid for _, held, paid in matched.unpaid) / 3600
    missing = "the lines add up to nothing, so no share of them is explained"
    frac = None if sums.explained is None else float(sums.explained)
    billed = None if bill.invoice_usd is None else float(cents(bill.invoice_usd))
    return [
        figure("bill_explained", frac, n=len(bill.charges), missing=missing),
        figure("bill_effective", float(sums.effective), unit=EXACT, n=len(bill.charges)),
        figure("bill_billed", billed, unit=EXACT, missing="no line states a billed cost"),
        figure("bill_matched", float(sums.matched), unit=EXACT),
        figure("bill_unused", float(sums.commitments), unit=EXACT),
        figure("bill_reserved", float(sums.reservations), unit=EXACT),
        figure("bill_capacity", float(sums.capacity), unit=EXACT),
        figure("bill_unheld", float(sums.unheld), unit=EXACT),
        figure("bill_open", float(sums.open), unit=EXACT, n=sums.open_lines),
        figure("bill_credits", float(sums.credits), unit=EXACT),
        figure("bill_over_matched", float(len(matched.over)), n=len(bill.charges)),
        figure("held_not_billed", held),
    ]
