"""A part of a charge and who bears it, and the reasons why nobody does."""

from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from analysis.bill import Charge

NONE = "none"
WHY = {
    "unused": "a commitment or reservation that nobody used: paid idle",
    "reserved": "reserved and unused: a capacity reservation in which nothing ran, paid idle",
    "idle_capacity": "capacity that no workload used: paid idle",
    "idle": "more GPU-hours than the holders held: paid, not allocated",
    "nobody": "no run or job is known to have held it: not allocated, or its holder is not loaded",
    "short": "more GPUs of this kind were held than the lines bought: whose they are is open",
    "loose": "only runs that may be jobs of the scheduler held GPUs of this kind then",
    "no_gpu": "no GPU charge: no tag names who it is for",
    "no_quantity": "the bill does not say how many GPU-hours it bought, and no tag or machine names a holder",
    "no_clock": "the line has no time, and no tag names who it is for",
    "tax": "tax: no tag names who it is for",
    "credit": "credit: neither tag nor machine says what it reduces",
    "credits": "credits, apart from the charges, whoever bears them",
    "purchase": "purchase: its cost is in the lines that it covers",
}


UNHELD = ("idle", "nobody")
"""Reasons that say that no run or job is known to have held the rest."""


@dataclass(frozen=True)
class Part:
    """A part of a charge on a UTC day, and who bears it."""

    charge: Charge
    day: date | None
    run: str | None
    attempt: int | None
    pool: str | None
    role: str | None
    job: str | None
    campaign: str | None
    team: str | None
    platform: str | None
    how: str
    gpu_s: float | None
    usd: Decimal

    @property
    def borne(self) -> bool:
        """Whether a run, job, campaign or team bears it."""
        return any((self.run, self.job, self.campaign, self.team))
