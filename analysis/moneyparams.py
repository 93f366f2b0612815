"""Parameters that every question about a bill or a month shares."""

from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator

from analysis.params import CommonParams
from models.accrual import month

ALL = "all"
AUTO, WITH = "auto", "with"


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
    """`period`: "YYYY-MM" (UTC), "all", or empty for the newest month with a bill, else with allocations.
    `example`: auto leaves the example out where the home holds data of one's own, with counts it too.
    """

    question: ClassVar[str] = "money"
    period: Period = ""
    example: Literal["auto", "with"] = "auto"

    @property
    def asked(self) -> "MoneyParams":
        """The part that decides which bill it is: answers about it are shared by this."""
        return MoneyParams(period=self.period, example=self.example)
