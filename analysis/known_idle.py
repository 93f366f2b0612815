"""Charges whose time without a holder is known to be idle: a scheduler file covers their machine."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from analysis.bill import Charge, stamp
from analysis.frames import records
from analysis.holds import host_names, machine_names
from analysis.parts import UNHELD, Part
from analysis.paying import span
from analysis.result import Assumption, Notice
from analysis.words import plural
from data.queries import bills as queries
from data.slurm_fields import nodes_of
from data.view import View
from models.accrual import month, month_of
from models.cents import cents, total

RULE = (
    "nobody held it by a scheduler file that names the machine, was loaded after the charge ended and has a "
    "first job no later than in the month of the charge"
)


@dataclass
class Scheduler:
    """What the files of one cluster (of one file, where it names no cluster) know.

    `hosts`: machine -> start of its first GPU job without an end, None without such a job: from then on
    nobody knows what of the machine is free.
    """

    first: datetime | None = None
    loaded: datetime | None = None
    has_gpus: bool = False
    hosts: dict[str, datetime | None] = field(default_factory=dict)

    def covers(self, names: Iterable[str], end: datetime) -> bool:
        """Whether it knows all that was held of the machine by a charge that ends then."""
        if not self.has_gpus or self.first is None or self.loaded is None or self.loaded < end:
            return False
        if end <= month(month_of(self.first))[0]:
            return False
        named = [self.hosts[name] for name in names if name in self.hosts]
        return bool(named) and all(still is None or still >= end for still in named)


def schedulers(view: View) -> dict[str, Scheduler]:
    """Schedulers by cluster, or by upload where a file names none."""
    out: dict[str, Scheduler] = {}
    for row in records(queries.job_machines(view)):
        one = out.setdefault(str(row["scheduler"]), Scheduler())
        one.first = _pick(min, one.first, stamp(row["first"]))
        one.loaded = _pick(max, one.loaded, stamp(row["loaded"]))
        one.has_gpus |= bool(row["has_gpus"])
        for node in nodes_of(str(row["node_list"])):
            for name in host_names(node):
                one.hosts[name] = _pick(min, one.hosts.get(name), stamp(row["unended"]))
    return out


def _pick(
    choose: Callable[[list[datetime]], datetime], left: datetime | None, right: datetime | None
) -> datetime | None:
    known = [at for at in (left, right) if at is not None]
    return choose(known) if known else None


def known_idle(charge: Charge, known: Mapping[str, Scheduler]) -> bool:
    """Whether what nobody held of the charge is known to be idle; never without a machine name or a clock."""
    if charge.start is None:
        return False
    names, end = machine_names(charge), span(charge)[1]
    return any(one.covers(names, end) for one in known.values())


def assumption(gpu_s: float) -> Assumption:
    """How it is known that GPU time was idle."""
    return Assumption("GPU time known to be idle", gpu_s / 3600, "GPU-hours", "derived", RULE, "")


def unheld_gpus(part: Part, why: Mapping[int, str]) -> bool:
    """Whether it is GPU time that no run or job is known to have held, and nobody bears."""
    charge = part.charge
    return charge.is_gpu and not (part.borne or charge.unused) and why.get(charge.number) in UNHELD


def not_covered(parts: Sequence[Part]) -> list[Notice]:
    """Time without a holder on machines of which no scheduler file says that they were free."""
    if not parts:
        return []
    n, usd = len({part.charge.number for part in parts}), cents(total([part.usd for part in parts]))
    words = (
        f"${usd:,} of GPU time in {n} {plural('line', n)} has no known holder, and no scheduler file that "
        "names its machine was loaded after it: whether it was idle is not known."
    )
    return [Notice("scheduler_lacks_machine", words, "scheduler_jobs")]
