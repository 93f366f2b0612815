"""What may be asked of the worked example: stages, the assumed cost, and numbers nobody published."""

from collections.abc import Sequence
from typing import ClassVar, Literal

from pydantic import Field, field_validator, model_validator

from analysis.params import CommonParams

STAGES = {"sft": "SFT", "rlvr": "RLVR", "mopd1": "MOPD 1", "mopd2": "MOPD 2"}
"""Stages of the student in the order they were trained."""
GROUP = "T5"
MOST_TASKS = 1_000_000


class NemotronParams(CommonParams):
    """`before`, `after`: stages of the student. `group`: which published table; never two at once.

    Cost: published GPUs and steps x `step_minutes` / `goodput` x `usd_per_gpu_h`, all three assumed; or
    `campaign_usd` outright. `spread`: 90 % of the price lies between cost / spread and cost x spread.
    `correlation` of a task's two results, and `tasks` ('benchmark:n') where none is published, are assumed.
    """

    question: ClassVar[str] = "nemotron"
    group: str = GROUP
    before: Literal["sft", "rlvr", "mopd1", "mopd2"] = "sft"
    after: Literal["sft", "rlvr", "mopd1", "mopd2"] = "rlvr"
    step_minutes: float = Field(default=7.0, gt=0, le=1440)
    goodput: float = Field(default=0.75, gt=0, le=1)
    usd_per_gpu_h: float = Field(default=2.75, gt=0, le=1000)
    campaign_usd: float | None = Field(default=None, gt=0, le=1e12)
    spread: float = Field(default=1.0, ge=1, le=10)
    correlation: float = Field(default=0.5, ge=-1, le=1)
    tasks: tuple[str, ...] = ()
    seed: int = 20260301

    @field_validator("tasks")
    @classmethod
    def _counted(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        parse_tasks(value)
        return value

    @model_validator(mode="after")
    def _forward(self) -> "NemotronParams":
        order = list(STAGES)
        if order.index(self.after) <= order.index(self.before):
            raise ValueError(f"after must be a later stage than before, of {', '.join(order)}")
        return self


def parse_tasks(tasks: Sequence[str]) -> dict[str, int]:
    """'benchmark:n' as a mapping. Raises ValueError for what is no whole number above 1."""
    out = {}
    for text in tasks:
        name, _, number = text.rpartition(":")
        if not name or not number.isdecimal() or not 1 < int(number) <= MOST_TASKS:
            raise ValueError(f"tasks are benchmark:number, such as gdpval:220, not {text!r}")
        out[name] = int(number)
    return out
