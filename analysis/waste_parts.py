"""Charges of a bill split by what samples say: exact parts first, cents at the end, so that all adds up."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from analysis.frames import Row, known
from analysis.linecents import near_cents
from analysis.shares import Share, Shares
from analysis.waste_inside import Inside
from analysis.waste_owners import Owner
from analysis.waste_samples import Evidence, Key
from models.cents import FULL, apportion, cents, cents_table, total
from models.waste import Measured, Split, fits, shares

BARS = ("not_allocated", "idle", "stalled", "unknown", "bubble", "lost", "productive")
"""Columns of the exact split; bubble, lost and productive together are the working part."""
MEASURED = ("idle", "stalled", "unknown", "bubble", "lost", "productive")
GPU_KINDS = ("gpu", "unused")
EPOCH = date(1970, 1, 1).toordinal()


@dataclass(frozen=True)
class Slot:
    """What samples and charges are matched by; None where one of the two does not say."""

    owner: Owner
    day: date | None


@dataclass(frozen=True)
class Cut:
    """One GPU charge and its parts: `usd` by bar (exact, adds up to the charge), GPU-seconds as a Split."""

    share: Share
    slot: Slot | None
    usd: Mapping[str, Decimal]
    gpu_s: Split | None
    unproven: float


@dataclass(frozen=True)
class Bill:
    """All GPU charges of a period, cut; `other` the rest of the bill; amounts in cents add up to `whole`."""

    cuts: tuple[Cut, ...]
    other: tuple[Share, ...]
    whole: Decimal
    gpu: Decimal
    contradicted: tuple[tuple[Slot, float, float], ...]
    slots: "Slots"
    rates: Mapping[Slot, float]
    unpriced_s: float
    """Known GPU-seconds of owners that no charge of the period names."""


def of_run(found: Shares, run: str) -> list[Share]:
    """The charges that one run bears; all of the bill for ''."""
    return [s for s in found.shares if run in ("", s.run)]


def cut_bill(
    listed: Sequence[Share],
    has_scheduler: bool,
    evidence: Evidence,
    inside: Inside,
    gpu_usd: Decimal | None = None,
) -> Bill:
    """Split every GPU charge: nobody's time is not allocated (unknown without a scheduler file), the rest by
    the samples of its owner and day. `gpu_usd`: cents of all GPU charges, where lines of a bill have them.
    """
    gpu = [s for s in listed if s.kind in GPU_KINDS]
    other = tuple(s for s in listed if s.kind not in GPU_KINDS)
    slots = Slots.of([s for s in gpu if _owned(s)], evidence)
    held = slots.allocated()
    measured = slots.measured(evidence)
    splits, over = {}, []
    for slot, allocated_s in held.items():
        one = measured.get(slot, Measured())
        splits[slot] = shares(allocated_s, one) if known(allocated_s) else Split(unknown=1.0)
        if known(allocated_s) and one.known > 0 and not fits(allocated_s, one):
            over.append((slot, one.known, allocated_s))
    cuts = tuple(_cut(s, slots, splits, has_scheduler, evidence, inside) for s in gpu)
    return Bill(
        cuts=cuts,
        other=other,
        whole=cents(total([s.usd for s in listed])),
        gpu=cents(total([s.usd for s in gpu])) if gpu_usd is None else gpu_usd,
        contradicted=tuple(over),
        slots=slots,
        rates=slots.rates(),
        unpriced_s=sum(one.known for slot, one in measured.items() if slot not in held),
    )


def _owned(share: Share) -> bool:
    return share.kind == "gpu" and share.how != "none" and bool(share.run or share.job)


@dataclass(frozen=True)
class Slots:
    """How finely charges and samples of one run or job can be matched: by attempt, pool and day where every
    charge names one, else by the run as a whole.
    """

    shares: Sequence[Share]
    fine: Mapping[str, tuple[bool, bool, bool]]

    @staticmethod
    def of(owned: Sequence[Share], evidence: Evidence) -> "Slots":
        fine = {}
        seen: dict[str, set[Owner]] = {}
        for owner, _ in evidence.measured:
            seen.setdefault(_base(owner.run, owner.job), set()).add(owner)
        groups: dict[str, list[Share]] = {}
        for share in owned:
            groups.setdefault(_base(share.run, share.job), []).append(share)
        for base, group in groups.items():
            there = seen.get(base, set())
            attempts, pools = {s.attempt for s in group}, {s.pool for s in group}
            fine[base] = (
                None not in attempts and all(o.attempt in attempts for o in there),
                None not in pools and all(o.pool in pools for o in there),
                all(s.day is not None for s in group),
            )
        return Slots(owned, fine)

    def slot(self, owner: Owner, day: date | None) -> Slot | None:
        by = self.fine.get(_base(owner.run, owner.job))
        if by is None:
            return None
        attempt, pool = owner.attempt if by[0] else None, owner.pool if by[1] else None
        return Slot(Owner(owner.run, attempt, pool, owner.job), day if by[2] else None)

    def of_share(self, share: Share) -> Slot | None:
        job = None if share.run else share.job
        return self.slot(Owner(share.run, share.attempt, share.pool, job), share.day)

    def allocated(self) -> dict[Slot, float]:
        """Paid GPU-seconds by slot, NaN where a charge of it has no quantity."""
        out: dict[Slot, float] = {}
        for share in self.shares:
            slot = self.of_share(share)
            if slot is not None:
                out[slot] = out.get(slot, 0.0) + (float("nan") if share.gpu_s is None else share.gpu_s)
        return out

    def measured(self, evidence: Evidence) -> dict[Slot, Measured]:
        out: dict[Slot, Measured] = {}
        for key, one in evidence.measured.items():
            slot = self.key_slot(key)
            if slot is not None:
                out[slot] = out.get(slot, Measured()) + one
            elif one.known > 0:
                loose = Slot(key[0], key[1])
                out[loose] = out.get(loose, Measured()) + one
        return out

    def key_slot(self, key: Key) -> Slot | None:
        return self.slot(*key)

    def rates(self) -> dict[Slot, float]:
        """US dollars a GPU-second by slot; left out where a charge has no quantity."""
        usd: dict[Slot, float] = {}
        for share in self.shares:
            slot = self.of_share(share)
            if slot is not None:
                usd[slot] = usd.get(slot, 0.0) + float(share.usd)
        return {slot: usd[slot] / held for slot, held in self.allocated().items() if known(held) and held > 0}


def _base(run: str | None, job: str | None) -> str:
    return f"run:{run}" if run else f"job:{job}"


def is_unheld(share: Share, has_scheduler: bool) -> bool:
    """Whether it is GPU time that nobody held, whoever bears it: not allocated. Without a scheduler file in
    the period only unused commitments are known to be that.
    """
    idle = share.kind == "gpu" and share.how == "none" and share.known_idle
    return share.kind == "unused" or (idle and has_scheduler)


def _cut(
    share: Share,
    slots: Slots,
    splits: Mapping[Slot, Split],
    has_scheduler: bool,
    evidence: Evidence,
    inside: Inside,
) -> Cut:
    if is_unheld(share, has_scheduler):
        return _whole(share, "not_allocated", Split(not_allocated=1.0))
    slot = slots.of_share(share) if _owned(share) else None
    if slot is None or slot not in splits:
        return _whole(share, "unknown", Split(unknown=1.0))
    split = splits[slot]
    bubble, lost = inside.of_slot(slot.owner, evidence)
    weights = {
        "idle": split.idle,
        "stalled": split.stalled,
        "unknown": split.unknown,
        "bubble": split.working * bubble,
        "lost": split.working * (1 - bubble) * lost,
        "productive": split.working * (1 - bubble) * (1 - lost),
    }
    parts = dict(zip(MEASURED, apportion(share.usd, [weights[n] for n in MEASURED], FULL), strict=True))
    usd = {name: parts.get(name, Decimal(0)) for name in BARS}
    return Cut(share, slot, usd, split, float(share.usd) * split.unproven)


def _whole(share: Share, bar: str, split: Split) -> Cut:
    return Cut(share, None, {n: share.usd if n == bar else Decimal(0) for n in BARS}, split, 0.0)


def who(share: Share) -> str:
    """Name of who bears a charge: the run, else the scheduler job, else '' for nobody."""
    return share.run or (f"job {share.job}" if share.job else "")


def by_who(cuts: Iterable[Cut]) -> dict[str, list[Cut]]:
    """Cuts by who bears them."""
    groups: dict[str, list[Cut]] = {}
    for cut in cuts:
        groups.setdefault(who(cut.share), []).append(cut)
    return groups


@dataclass(frozen=True)
class Sheet:
    """Cents by who and bar; rows add up to the charges of each, columns to the parts, all to the GPU bill."""

    names: tuple[str, ...]
    cells: tuple[tuple[Decimal, ...], ...]

    def bar(self, bar: str) -> Decimal:
        """Dollars of one bar."""
        return total([row[BARS.index(bar)] for row in self.cells])

    def row(self, name: str) -> dict[str, Decimal]:
        """Dollars of one run or job by bar."""
        return dict(zip(BARS, self.cells[self.names.index(name)], strict=True))


def in_cents(bill: Bill) -> Sheet:
    """Round the exact parts once, so that every table made from the sheet agrees to the cent."""
    groups = by_who(bill.cuts)
    names = tuple(sorted(groups, key=lambda n: (n == "", n)))
    exact = [[total([c.usd[b] for c in groups[n]]) for b in BARS] for n in names]
    if not names:
        return Sheet((), ())
    rows = near_cents([total(row) for row in exact], bill.gpu)
    columns = near_cents([total([row[j] for row in exact]) for j in range(len(BARS))], bill.gpu)
    return Sheet(names, tuple(tuple(row) for row in cents_table(exact, rows, columns)))


def split_of(cuts: Iterable[Cut]) -> Split:
    """GPU-seconds of charges that have a quantity, by part."""
    out = Split()
    for cut in cuts:
        if cut.share.gpu_s is not None and cut.gpu_s is not None:
            out = out + cut.gpu_s.times(cut.share.gpu_s)
    return out


def spell_rows(evidence: Evidence, bill: Bill, kind: str) -> list[Row]:
    """Spells of one kind that the identity holds, with `rate`: dollars a GPU-second of their slot.

    Left out: those of owners without a charge, of charges without GPU-hours, and of slots where samples and
    charges contradict each other, since all of that is unknown there.
    """
    over = {slot for slot, _, _ in bill.contradicted}
    out = []
    for row in evidence.spells:
        if row["kind"] == kind:
            day = date.fromordinal(EPOCH + int(row["day"]))
            slot = bill.slots.slot(row["owner"], day)
            if slot is not None and slot in bill.rates and slot not in over:
                out.append({**row, "rate": bill.rates[slot]})
    return out
