"""What of one file of cost lines is matched to runs and jobs already, and what is not."""

from dataclasses import dataclass
from decimal import Decimal

from analysis.billlines import Sums, add_lines, read_lines
from analysis.matching import matched_bill
from analysis.moneyparams import ALL, WITH, MoneyParams
from analysis.reconciled import HOW_WORDS
from analysis.reconciliation import usd
from analysis.words import listing, plural
from data.queries import bills as queries
from data.view import View
from models.cents import total


@dataclass(frozen=True)
class FileBill:
    """Cents of one upload: `sums` over all of its lines with a rate into US dollars, and who bears them.

    `how`: what lines were matched by, in words, the largest amount first. `without_rate`: lines in a
    currency without a rate, which are in no sum.
    """

    sums: Sums
    lines: int
    bearers: tuple[str, ...]
    how: tuple[str, ...]
    without_rate: int


def file_bill(view: View, upload_id: str) -> FileBill | None:
    """The bill of an upload over all months; None where it holds no cost line that counts."""
    asked = WITH if upload_id in queries.synthetic_uploads(view) else "auto"
    bill, matched = matched_bill(view, MoneyParams(period=ALL, example=asked))
    lines = [line for line in read_lines(bill, matched) if line.charge.upload_id == upload_id]
    foreign = sum(1 for charge in bill.foreign if charge.upload_id == upload_id)
    if not lines and not foreign:
        return None
    parts = [part for line in lines for part in line.parts if part.borne]
    by_how: dict[str, Decimal] = {}
    for name in dict.fromkeys(part.how for part in parts):
        by_how[name] = total([part.usd for part in parts if part.how == name])
    names = dict.fromkeys(
        part.run or (f"job {part.job}" if part.job else part.campaign or part.team or "") for part in parts
    )
    ranked = sorted(by_how, key=lambda name: -abs(by_how[name]))
    words = tuple(HOW_WORDS[name] for name in ranked)
    return FileBill(add_lines(lines), len(lines), tuple(filter(None, names)), words, foreign)


def file_words(found: FileBill) -> str:
    """What is matched, what is not and why, to the cent, and what a person could still do."""
    sums = found.sums
    out = []
    if found.lines:
        out.append(_matched_words(found))
        rests = ", ".join(
            f"{usd(amount)} {words}"
            for amount, words in (
                (sums.commitments, "of commitments that nobody used"),
                (sums.reservations, "of reserved capacity in which nothing ran"),
                (sums.capacity, "of idle cluster capacity"),
                (sums.unheld, "of GPU time that no run and no job held"),
                (sums.credits_loose, "of credits that nobody gets"),
                (sums.open, "that no run or job explains"),
            )
            if amount
        )
        if rests:
            out.append(f"Not matched: {rests}.")
        if sums.open:
            out.append("Only that last amount is worth booking to a run or campaign by hand.")
        elif sums.matched:
            out.append("Nothing has to be booked by hand.")
    if found.without_rate:
        noun, verb = plural("line", found.without_rate), "is" if found.without_rate == 1 else "are"
        out.append(
            f"{found.without_rate:,} {noun} {verb} in a currency without a rate: add it to the price book."
        )
    return " ".join(out)


def _matched_words(found: FileBill) -> str:
    sums = found.sums
    if not sums.matched and not found.bearers:
        return f"None of its {usd(sums.effective)} is matched to a run or job yet."
    by = f" by {listing(list(found.how), 2)}" if found.how else ""
    who = listing(list(found.bearers), 3)
    return f"{usd(sums.matched)} of its {usd(sums.effective)} is matched to {who}{by}."
