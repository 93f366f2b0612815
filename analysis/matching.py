"""Charges -> the runs and jobs that held what they bought; the parts of a charge add up to it exactly."""

from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from analysis.bill import Bill, Charge
from analysis.result import Notice
from data.view import View
from models.accrual import days
from models.cents import FULL, apportion


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


@dataclass(frozen=True)
class Matched:
    """Every part of every charge, in the order of the charges."""

    parts: tuple[Part, ...]
    notices: tuple[Notice, ...]


def match(view: View, bill: Bill) -> Matched:  # noqa: ARG001 (holds come next)
    """Parts of every charge."""
    parts = [part for charge in bill.charges for part in _plain(charge)]
    return Matched(tuple(parts), ())


def _plain(charge: Charge) -> list[Part]:
    how = "none" if charge.run is None and charge.campaign is None else "tag" if charge.tagged else "booked"
    usd = charge.effective or Decimal(0)
    spans = days(charge.start, charge.end) if charge.start and charge.end else []
    seconds = [span.seconds for span in spans]
    amounts = apportion(usd, seconds, FULL) if spans else [usd]
    gpu = charge.gpu_s if charge.is_gpu else None
    shares = [None if gpu is None else gpu * s / sum(seconds) for s in seconds] if spans else [gpu]
    at = [span.day for span in spans] if spans else [charge.day]
    return [
        Part(
            charge, day, charge.run, None, None, None, charge.job, charge.campaign, charge.team,
            charge.platform, how, gpu_s, amount,
        )
        for day, gpu_s, amount in zip(at, shares, amounts, strict=True)
    ]  # fmt: skip
