"""The waste identity in words: the answer, its figures, and what has to be said beside them."""

from dataclasses import dataclass
from typing import Any

from analysis.common import figure
from analysis.formulas import FORMULAS
from analysis.ladder import parts_usd
from analysis.moneyparams import ALL
from analysis.result import Figure, Notice
from analysis.shares import BILL, Shares
from analysis.waste_held import Unbilled, held_words, unbilled_notice
from analysis.waste_lineage import Ends
from analysis.waste_parts import Bill, Sheet
from analysis.waste_samples import Evidence
from analysis.words import count, listing, money, month_words, percent
from models.waste import Split

LOW_COVERAGE = 0.9
OPEN_FRAC = 0.005
MOST_MACHINES = 5
BARE = "GPU-Util alone cannot tell a hang"


@dataclass(frozen=True)
class Answered:
    """Everything the words are made of. `split`: GPU-seconds; `unproven`: working dollars without a proof of
    progress.
    """

    run: str
    found: Shares
    bill: Bill
    sheet: Sheet
    split: Split
    evidence: Evidence
    unproven: float
    ends: Ends
    unbilled: Unbilled | None = None

    @property
    def basis(self) -> str:
        """Where paid dollars come from."""
        return "bill" if self.found.basis == BILL else "allocations x price, no bill"

    @property
    def dollars(self) -> Split:
        """The five parts in dollars."""
        usd = {name: float(value) for name, value in parts_usd(self.sheet).items()}
        return Split(**usd, unproven=self.unproven)


def period_words(period: str) -> str:
    """'March 2026', or 'all months'."""
    return "all months" if period == ALL else month_words(period)


def answer(told: Answered) -> str:
    """The identity in one sentence, with its bounds and its coverage."""
    usd, when = told.dollars, f"in {period_words(told.found.period)}"
    whose = f"{told.run}'s GPUs" if told.run else "GPUs"
    if not usd.paid > 0:
        return f"Nothing was paid for {whose} {when}."
    head = f"paid for {whose} {when}"
    if told.unbilled is not None:
        head = f"billed for {held_words(told.unbilled, told.run)} {when}"
    text = f"Of {money(usd.paid)} {head}, {percent(usd.working / usd.paid)} worked"
    low, high = usd.bounds("working")
    if high - low > 0.005 * usd.paid:
        text += f" ({percent(low / usd.paid)} to {percent(high / usd.paid)}: {_open(usd)})"
    wasted = [
        f"{percent(part / usd.paid)} {word}"
        for part, word in (
            (usd.not_allocated, "was not allocated"),
            (usd.idle, "idle"),
            (usd.stalled, "stalled"),
        )
        if part > 0
    ]
    if wasted:
        text += f", {listing(wasted)}"
    proof = ", which is no proof of progress" if usd.unproven > 0.005 * usd.paid else ""
    of = " of these dollars" if told.unbilled is not None else ""
    return f"{text}; coverage {percent(usd.coverage)}{of}{proof}."


def _open(usd: Split) -> str:
    """What lies between the bounds: time of which nothing is known, work that nothing proves."""
    reasons = [
        f"{percent(part / usd.paid)} {words}"
        for part, words in (
            (usd.unknown, "is unknown"),
            (usd.unproven, "looks busy without proof of progress"),
        )
        if part > 0
    ]
    return listing(reasons)


def _part(name: str, usd: Split, value: float | None, high: float | None, **more: Any) -> Figure:
    """A part of what was paid, at least `value`. Where none of it was seen and what is not known may all be
    that, it has no value, and the reason names the most that it can be.
    """
    most = high or 0.0
    is_share = FORMULAS[name].unit == "frac"
    in_usd = most * usd.paid if is_share else most
    if value is None or value > 0 or in_usd <= OPEN_FRAC * usd.paid:
        return figure(name, value, low=value, high=high, **more)
    words = percent(most) if is_share else money(most)
    return figure(name, None, **{**more, "missing": f"it is at most {words}: {_open(usd)}"})


def figures(told: Answered) -> list[Figure]:
    """Paid, working, waste, stalled, productive, coverage."""
    usd, lacks = told.dollars, "no GPU charge is in this period"
    low, high = usd.bounds("working")
    stalled = usd.bounds("stalled")[1]
    n = told.evidence.gpus or None
    paid = round(usd.paid, 2) if usd.paid > 0 else None
    ends = {"interval": "bounds", "boundary": "bill" if told.found.basis == BILL else "campaign"}

    work = float(told.sheet.bar("productive"))

    def share(amount: float) -> float | None:
        return amount / paid if paid else None

    return [
        figure("gpu_paid", paid, boundary=ends["boundary"], missing=lacks),
        figure(
            "working_share", share(usd.working), low=share(low), high=share(high), n=n,
            missing=lacks, **ends,
        ),
        _part("waste_share", usd, share(usd.waste), share(usd.waste_high), n=n, missing=lacks, **ends),
        _part("stalled_usd", usd, usd.stalled if paid else None, stalled, n=n, missing=lacks, **ends),
        figure(
            "productive_usd", work if paid else None, low=told.ends.productive_low,
            high=told.ends.productive_high, n=n, missing=lacks, **ends,
        ),
        figure("waste_coverage", usd.coverage if paid else None, n=n, missing=lacks),
    ]  # fmt: skip


def notices(told: Answered) -> list[Notice]:
    """What limits the numbers, the heaviest first."""
    usd, evidence, found = told.dollars, told.evidence, told.found
    out: list[Notice] = [] if told.unbilled is None else [unbilled_notice(told.unbilled, told.run)]
    if found.basis != BILL:
        foreign = any(notice.code == "currency_left_out" for notice in found.notices)
        lacks = "has no rate into US dollars" if foreign else "is not loaded"
        words = f"The bill of this period {lacks}: paid is allocated GPU-hours x price, so nothing that was "
        out.append(Notice("no_bill", words + "bought and never allocated is in it."))
    elif not found.has_scheduler:
        words = "No scheduler file covers this period: what the bill does not tie to a run is unknown, not "
        out.append(Notice("no_scheduler", words + "unallocated and not waste."))
    if usd.paid > 0 and usd.coverage < LOW_COVERAGE:
        words = f"Only {percent(usd.coverage)} of the GPU dollars is known to be one or the other: read the "
        out.append(Notice("coverage_low", words + "bounds, not the value."))
    out += _doubts(told)
    unsaid = [c for c in told.bill.cuts if c.share.gpu_s is None]
    if unsaid:
        words = (
            f"{money(float(sum(c.share.usd for c in unsaid)))} of GPU charges name no GPU-hours: they are "
        )
        out.append(Notice("gpu_hours_unsaid", words + "in the dollars and not in the GPU-hours."))
    if evidence.coarse:
        words = "Idle and stalled spells are so many that their ends are whole minutes here."
        out.append(Notice("whole_minutes", words))
    return out


def _stalled_phases(told: Answered) -> list[Notice]:
    """A stall lies inside a phase of the log, which the productive dollars are spread by."""
    runs = {cut.share.run for cut in told.bill.cuts if cut.share.run}
    rows = {name: told.sheet.row(name) for name in told.sheet.names if name in runs}
    held = {name: row for name, row in rows.items() if row["stalled"] > 0 and row["productive"] > 0}
    words = "of stalls lie inside phases of its log, and no file says in which: one of them gets too much of"
    return [
        Notice("stall_in_phases", f"{name}: {money(float(row['stalled']))} {words} productive work.", name)
        for name, row in list(held.items())[:5]
    ]


def _doubts(told: Answered) -> list[Notice]:
    """Where samples prove less than they seem to, or contradict what was paid."""
    evidence = told.evidence
    out = _unproven(evidence)
    out += _shared(evidence)
    for slot, seen_s, held_s in told.bill.contradicted[:5]:
        name = slot.owner.run or f"job {slot.owner.job}"
        when = f" on {slot.day}" if slot.day else ""
        words = (
            f"{name}{when}: {count(seen_s / 3600)} GPU-hours are sampled and {count(held_s / 3600)} paid, so "
            "all of them count as unknown: check start, end, GPUs and the time zone of the samples."
        )
        out.append(Notice("samples_outside_allocation", words, name))
    out += _stalled_phases(told)
    if evidence.loose:
        words = f"{count(evidence.loose)} sampled GPUs belong to no run or job: name the run of their file."
        out.append(Notice("gpus_without_run", words))
    if told.bill.unpriced_s > 0:
        words = f"{count(told.bill.unpriced_s / 3600)} sampled GPU-hours of runs that no charge names."
        out.append(Notice("sampled_not_charged", words))
    return out


def _unproven(evidence: Evidence) -> list[Notice]:
    """GPU-Util alone, and other busy time that nothing proves to be work."""
    out = []
    if evidence.bare_s > 0:
        words = (
            f"{BARE}: {count(evidence.bare_s / 3600)} GPU-hours with GPU-Util alone and no step counter that "
            "advances count as working, and as stalled in the high bound."
        )
        out.append(Notice("util_alone", words))
    rest_s = sum(one.unproven for one in evidence.measured.values()) - evidence.bare_s
    if rest_s > 1:
        words = (
            f"{count(rest_s / 3600)} GPU-hours look busy while nothing proves progress: "
            "no tensor or memory activity and no step counter that advances, or a counter that stands. They "
            "count as working, and as stalled in the high bound."
        )
        out.append(Notice("progress_unproven", words))
    return out


def _shared(evidence: Evidence) -> list[Notice]:
    """Machines of which jobs held GPUs that no file names."""
    out = []
    for machine in [m for m in evidence.unplaced if m.gpu_s >= 60][:MOST_MACHINES]:
        names = listing([owner.run or f"job {owner.job}" for owner in machine.holders[:MOST_MACHINES]])
        words = (
            f"No file says which of the {count(machine.gpus)} GPUs sampled on {machine.host} {names} held: "
            f"{count(machine.gpu_s / 3600)} GPU-hours that were held there count as unknown, as the GPUs did "
            "different things, or more were held than are sampled. Name the run of each GPU's samples."
        )
        out.append(Notice("shared_node", words, machine.host))
    return out
