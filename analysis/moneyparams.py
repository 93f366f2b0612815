"""Parameters that every question about a bill or a month shares."""

from typing import Annotated, ClassVar

from pydantic import AfterValidator

from analysis.params import CommonParams
from models.accrual import month

ALL = "all"


def _period(text: str) -> str:
    if text not in ("", ALL):
        try:
            month(text)
        except ValueError:
            raise ValueError("Use a month such as 2026-03, or all.") from None
    return text


Period = Annotated[str, AfterValidator(_period)]
"""A month such as 2026-03 (UTC), "all", or empty."""


class MoneyParams(CommonParams):
    """`period`: "YYYY-MM" (UTC), "all", or empty for the newest month with a bill, else with allocations."""

    question: ClassVar[str] = "money"
    period: Period = ""
