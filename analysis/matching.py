"""Charges -> the runs and jobs that held what they bought; the parts of a charge add up to it exactly."""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from decimal import Decimal

from analysis.bill import Bill, Charge, load_bill
from analysis.following import Bond, bonds
from analysis.holds import Hold, Holds, host_names, load_holds, machine_names
from analysis.kept import kept
from analysis.known_idle import assumption, known_idle, not_covered, schedulers, unheld_gpus
from analysis.moneyparams import ALL, MoneyParams
from analysis.parts import NONE, Part
from analysis.paying import Key, Ledger, Paid, pay, span
from analysis.result import Assumption, Notice
from analysis.words import listing, plural
from data.view import View
from models.accrual import days
from models.cents import FULL, apportion

_MOMENT = timedelta(microseconds=1)
_HOLDS = "{said} held no GPU then, so {holder} bears what it held and {said} the rest"


@dataclass(frozen=True)
class Matched:
    """Every part of every charge, in the order of the charges.

    `how`: the step that found holders of a charge (tag, booked, resource, job, time), by charge number.
    `why`: the key of `WHY` for what of a charge nobody bears. `over`: (held, bought) GPU-seconds of charges
    that are claimed by more than they bought. `unpaid`: GPU-seconds that a hold has beyond every charge.
    """

    parts: tuple[Part, ...]
    notices: tuple[Notice, ...]
    how: dict[int, str] = field(default_factory=dict)
    why: dict[int, str] = field(default_factory=dict)
    over: dict[int, tuple[float, float]] = field(default_factory=dict)
    unpaid: tuple[tuple[Hold, float, float], ...] = ()
    has_jobs: bool = False
    known_idle: frozenset[int] = frozenset()
    assumptions: tuple[Assumption, ...] = ()


@kept
def matched_bill(view: View, params: MoneyParams) -> tuple[Bill, Matched]:
    """The bill of a period and what it is matched to; with the period alone, so that answers are shared."""
    bill = load_bill(view, params)
    return bill, match(view, bill)


def match(view: View, bill: Bill) -> Matched:
    """Match in order: what a tag or a person says, the machine, the job, then kind and time alone."""
    holds = load_holds(view, None if bill.period == ALL else _reach(bill), bill.scope)
    matcher = _Matcher(bill, holds)
    matcher.run()
    parts = [part for charge in bill.charges for part in matcher.parts(charge)]
    unpaid = tuple(
        (hold, held, max(0.0, held - matcher.ledger.free(hold, bill.start, bill.end)))
        for hold in holds.holds
        if (held := hold.gpu_s(bill.start, bill.end)) > 0
    )
    known = schedulers(view)
    idle = frozenset(charge.number for charge in bill.charges if known_idle(charge, known))
    free = [part for part in parts if unheld_gpus(part, matcher.why)]
    sure = sum(part.gpu_s or 0.0 for part in free if part.charge.number in idle)
    unsure = [part for part in free if part.charge.number not in idle] if holds.has_jobs else []
    return Matched(
        tuple(parts), (*matcher.notices(), *not_covered(unsure)), matcher.how, matcher.why, matcher.over,
        unpaid, holds.has_jobs, idle, (assumption(sure),) if sure else (),
    )  # fmt: skip


def _reach(bill: Bill) -> tuple:  # type: ignore[type-arg]
    """The period, and the time of charges that its invoice has from other months."""
    spans = [span(charge) for charge in bill.charges if charge.start is not None]
    return min([bill.start, *(s for s, _ in spans)]), max([bill.end, *(e for _, e in spans)])


def _at(part: Part, charge: Charge) -> bool:
    """Whether a part accrues on a day of the charge."""
    if part.day is None or charge.start is None:
        return True
    start, end = span(charge)
    return start.date() <= part.day <= (end - _MOMENT).date()


class _Matcher:
    def __init__(self, bill: Bill, holds: Holds) -> None:
        self.bill, self.all = bill, holds
        self.ledger = Ledger(holds.holds)
        self.weights: dict[int, dict[Key, float]] = {}
        self.how: dict[int, str] = {}
        self.why: dict[int, str] = {}
        self.over: dict[int, tuple[float, float]] = {}
        self.bonds = bonds(bill.charges)
        self.disputed: dict[tuple[str, str], set[int]] = {}
        self.by_host: dict[str, list[Hold]] = defaultdict(list)
        self.by_group: dict[str, list[Hold]] = defaultdict(list)
        self.by_account: dict[str, list[Hold]] = defaultdict(list)
        for hold in holds.holds:
            for name in host_names(hold.host):
                self.by_host[name].append(hold)
            for name in hold.groups:
                self.by_group[name.casefold()].append(hold)
            if hold.account:
                self.by_account[hold.account.casefold()].append(hold)

    def run(self) -> None:
        """Every step takes the charges that no step before it could place."""
        self._step(self._claimed, "claim")
        self._step(lambda c: self._named(c, self.by_host, "host"), "exact")
        self._step(lambda c: self._named(c, self.by_group, "group"), "exact")
        self._step(self._of_account, "fit")
        kinds = {c.gpu for c in self._open() if c.is_gpu} | {h.gpu for h in self.all.holds}
        one_kind = len(kinds - {None}) <= 1
        shy = {c.provider for c in self.bill.charges if self.how.get(c.number) == "resource"}
        self._step(lambda c: self._of_kind(c, one_kind, shy), "fit")

    def _open(self) -> list[Charge]:
        return [c for c in self.bill.charges if c.number not in self.weights]

    def _step(self, find: Callable[[Charge], tuple[Hashable, str, list[Hold]] | None], mode: str) -> None:
        groups: dict[Hashable, tuple[str, list[Hold], list[Charge]]] = {}
        for charge in self._open():
            if charge.start is None or charge.unused or charge.kind in ("tax", "purchase"):
                continue
            if charge.number in self.bonds:
                continue
            if (found := find(charge)) is not None:
                key, how, holds = found
                groups.setdefault(key, (how, holds, []))[2].append(charge)
        for how, holds, charges in groups.values():
            paid = pay(charges, holds, self.ledger, mode)
            self._keep(paid, how, charges)

    def _keep(self, paid: Paid, how: str, charges: list[Charge]) -> None:
        for charge in charges:
            if charge.number in paid.weights:
                self.weights[charge.number] = paid.weights[charge.number]
                self.how[charge.number] = how
                self.why.pop(charge.number, None)
            elif charge.number in paid.short:
                self.why[charge.number] = "short"
        self.over |= paid.over

    def _claimed(self, charge: Charge) -> tuple[Hashable, str, list[Hold]] | None:
        """Holds of the run, campaign or job that a tag or a person names, on the machine if that is named."""
        if not charge.is_gpu and not charge.credit:
            return None
        how = "tag" if charge.tagged else "booked"
        mine: Iterable[Hold] = ()
        if charge.run:
            key, mine = ("run", charge.run), (h for h in self.all.holds if h.run == charge.run)
        elif charge.campaign:
            key, mine = (
                ("campaign", charge.campaign),
                (h for h in self.all.holds if h.campaign == charge.campaign),
            )
        elif charge.job:
            key, how = ("job", charge.job), "job"
            mine = (h for h in self.all.holds if h.job == charge.job)
        else:
            return None
        there = list(mine)
        names = machine_names(charge)
        on_it = [hold for hold in there if names & host_names(hold.host)]
        if not on_it:
            self._dispute(charge, names)
        return ((*key, tuple(sorted(names))), how, on_it) if on_it else (key, how, there)

    def _dispute(self, charge: Charge, names: set[str]) -> None:
        """Remember who, by samples or the scheduler, held the machine that a tag gives to somebody else."""
        start, end = span(charge)
        for hold in (hold for name in sorted(names) for hold in self.by_host.get(name, ())):
            if hold.gpu_s(start, end) > 0:
                said = charge.run or charge.campaign or f"job {charge.job}"
                held = hold.run or f"job {hold.job}"
                self.disputed.setdefault((said, held), set()).add(charge.number)

    def _named(
        self, charge: Charge, index: dict[str, list[Hold]], kind: str
    ) -> tuple[Hashable, str, list[Hold]] | None:
        """Holds on the machine, or in the pool, partition or cluster, that the line names as its resource."""
        names = machine_names(charge) if kind == "host" else host_names(charge.resource_name)
        name = min((name for name in names if name in index), default=None)
        if name is None or (kind == "group" and not charge.is_gpu):
            return None
        return (kind, name), "resource", index[name]

    def _of_account(self, charge: Charge) -> tuple[Hashable, str, list[Hold]] | None:
        name = (charge.account or "").casefold()
        if not charge.is_gpu or name not in self.by_account:
            return None
        holds = [h for h in self.by_account[name] if charge.gpu in (h.gpu, None) or h.gpu is None]
        return (name, charge.gpu), "job", holds

    def _of_kind(
        self, charge: Charge, one_kind: bool, shy: set[str | None]
    ) -> tuple[Hashable, str, list[Hold]] | None:
        """Holds of the same GPU model; where the provider's lines name machines, those without one alone."""
        if not charge.is_gpu:
            return None
        bare = charge.provider in shy and bool(machine_names(charge))
        fits = [
            h for h in self.all.holds
            if (one_kind or (h.gpu == charge.gpu and h.gpu is not None)) and not (bare and h.host)
        ]  # fmt: skip
        sure = [hold for hold in fits if not hold.loose]
        if not sure and charge.start is not None and any(h.gpu_s(*span(charge)) > 0 for h in fits):
            self.why[charge.number] = "loose"
        return (None if one_kind else charge.gpu, bare), "time", sure

    def parts(self, charge: Charge) -> list[Part]:
        """The parts of a charge; together they are its effective cost, exactly."""
        found = self.weights.get(charge.number)
        if found is None:
            return self._followed(charge, self.bonds.get(charge.number)) or self._unheld(charge)
        keys = sorted(found, key=lambda key: (key[1] or date.min, key[0].number if key[0] else 1 << 62))
        sizes = [found[key] for key in keys]
        amounts = apportion(charge.effective or Decimal(0), sizes, FULL)
        whole, seconds = sum(sizes), charge.gpu_s if charge.is_gpu else None
        if any(hold is None for hold, _ in keys) and not (charge.run or charge.campaign or charge.team):
            self.why[charge.number] = "idle"
        return [
            self._part(charge, key, None if seconds is None else seconds * size / whole, usd)
            for key, size, usd in zip(keys, sizes, amounts, strict=True)
        ]

    def _part(self, charge: Charge, key: Key, gpu_s: float | None, usd: Decimal) -> Part:
        hold, day = key
        campaign, team = self._bearers(charge, hold)
        if hold is None:
            return Part(
                charge,
                day,
                charge.run,
                None,
                None,
                None,
                None,
                campaign,
                team,
                charge.platform,
                NONE,
                gpu_s,
                usd,
            )
        how = self.how[charge.number]
        how = "job" if how == "resource" and hold.run is None else how
        return Part(
            charge, day, hold.run, hold.attempt, hold.pool, hold.role, hold.job, campaign, team,
            hold.platform or charge.platform, how, gpu_s, usd,
        )  # fmt: skip

    def _followed(self, charge: Charge, bond: Bond | None) -> list[Part]:
        """Parts of a credit or correction in the proportions of the lines it goes with; [] without any."""
        donors = [part for line in bond or () for part in self.parts(line) if _at(part, charge)]
        weights = [abs(part.usd) for part in donors]
        if not any(weights):
            return []
        self.how[charge.number] = self.how.get(donors[0].charge.number, NONE)
        if left := [part for part in donors if not part.borne]:
            self.why.setdefault(charge.number, self.why.get(left[0].charge.number, "nobody"))
        bought, whole = charge.gpu_s if charge.is_gpu else None, sum(weights, Decimal(0))
        amounts = apportion(charge.effective or Decimal(0), weights, FULL)
        return [
            replace(
                part, charge=charge, usd=usd, platform=part.platform or charge.platform,
                gpu_s=None if bought is None else bought * float(weight / whole),
            )
            for part, weight, usd in zip(donors, weights, amounts, strict=True)
        ]  # fmt: skip

    def _bearers(self, charge: Charge, hold: Hold | None) -> tuple[str | None, str | None]:
        """(campaign, team) of a part: those of the holder, else what the line says."""
        own = self.all.owners.get(charge.run or "", (None, None))
        campaign = (hold.campaign if hold else None) or charge.campaign or own[0]
        team = (hold.team if hold else None) or charge.team or own[1] or self.all.teams.get(campaign or "")
        return campaign, team

    def _unheld(self, charge: Charge) -> list[Part]:
        """A charge without a known holder, by UTC day: whole to whom the line names, else nobody's."""
        campaign, team = self._bearers(charge, None)
        said = charge.run or charge.campaign
        how = NONE if not said or self._proven_idle(charge) else "tag" if charge.tagged else "booked"
        if how == NONE and team and not said and not charge.is_gpu:
            how = "tag"
        if how != NONE:
            self.how[charge.number] = how
        elif not (said or team):
            self.why.setdefault(charge.number, self._reason(charge))
        spans = days(charge.start, charge.end) if charge.start and charge.end else []
        seconds = [one.seconds for one in spans] or [1.0]
        amounts = apportion(charge.effective or Decimal(0), seconds, FULL)
        bought = charge.gpu_s if charge.is_gpu else None
        at: list[date | None] = [one.day for one in spans] or [charge.day]
        return [
            Part(
                charge, day, charge.run, None, None, None, None, campaign, team, charge.platform, how,
                None if bought is None else bought * s / sum(seconds), usd,
            )
            for day, s, usd in zip(at, seconds, amounts, strict=True)
        ]  # fmt: skip

    def _proven_idle(self, charge: Charge) -> bool:
        """Whether all that the line names had clocks and held nothing while it was charged."""
        if not charge.is_gpu or charge.start is None:
            return False
        if charge.run:
            return charge.run in self.all.owners and charge.run not in self.all.untimed
        runs = [run for run, (campaign, _) in self.all.owners.items() if campaign == charge.campaign]
        return bool(runs) and not self.all.untimed & set(runs)

    def _reason(self, charge: Charge) -> str:
        if charge.unused:
            idle = (charge.category or "").casefold() == "idle"
            return "idle_capacity" if idle else "reserved" if charge.reserved else "unused"
        if charge.kind in ("tax", "credit", "purchase"):
            return charge.kind
        if charge.start is None:
            return "no_clock"
        if not charge.is_gpu:
            return "no_gpu"
        return "nobody" if charge.gpu_s is not None else "no_quantity"

    def notices(self) -> list[Notice]:
        """Over-matched lines, runs that may be jobs, lines whose quantity is not stated."""
        out = []
        if self.over:
            n = len(self.over)
            held, bought = (sum(pair[i] for pair in self.over.values()) / 3600 for i in (0, 1))
            words = (
                f"{n} {plural('line', n)} over-matched: runs and jobs held {held:,.2f} GPU-hours of machines "
                f"that bought {bought:,.2f}. Their dollars are shared in proportion."
            )
            out.append(Notice("over_matched", words, "costs"))
        out += self._disputes()
        if self.all.ambiguous:
            words = (
                f"{listing(self.all.ambiguous)} may be jobs of the scheduler file under other names: say "
                "which run a job is, or name jobs like runs, and their machines are known."
            )
            out.append(Notice("run_may_be_job", words, "scheduler_jobs"))
        vague = [
            c for c in self.bill.charges if c.kind == "gpu" and c.gpu_s is None and c.number in self.weights
        ]
        if vague:
            n = len(vague)
            words = (
                f"{n} GPU {plural('line', n)} without a quantity in GPU- or machine-hours: whoever held the "
                "machines bears all of it, and what of it was not allocated is not known."
            )
            out.append(Notice("no_quantity", words, "costs"))
        return out

    def _disputes(self) -> list[Notice]:
        """Lines whose tag names one, while another held the machine: who bears them then."""
        out = []
        for (said, holder), lines in sorted(self.disputed.items()):
            for ours, ending in ((True, "the tag counts"), (False, _HOLDS.format(said=said, holder=holder))):
                n = sum((self.how.get(line) in ("tag", "booked")) is ours for line in lines)
                words = (
                    f"{n} {plural('line', n)} of {said} by a tag {'names' if n == 1 else 'name'} a "
                    f"machine that {holder} held then by samples or the scheduler: {ending}."
                )
                out += [Notice("tag_and_holder_differ", words, said)] if n else []
        return out
