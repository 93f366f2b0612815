"""What may be asked of a projection: run, platforms, what is held, precision, quotes and claims."""

import math
from collections.abc import Sequence
from typing import ClassVar, Literal

from pydantic import Field, field_validator

from analysis.params import CommonParams

Precision = Literal["bf16", "fp8", "fp4"]
Asked = Literal["same", "bf16", "fp8", "fp4"]
MOST_TARGETS = 24


class ProjectionParams(CommonParams):
    """`run`: '' for the first picked run that can be projected. `targets`: a platform id, or 'A+B' for
    rollouts on A and training on B; empty: platforms of the run's vendor that came after its own.

    `focus`: the target that the answer speaks of, '' for the first of GB200, GB300 and Vera Rubin NVL72 among
    them, else the one with the fewest dollars a step. `hold`: GPUs, step time or
    dollars an hour. `gen_precision`, `train_precision`: on the targets; the `source_` ones are the run's,
    which no log says, nor `replica_gpus`, GPUs of one of its engines (0: not said). `quotes`: 'platform:USD a
    GPU-hour'. `claims`: an id of the catalogue, or 'id=value'.
    """

    question: ClassVar[str] = "projection"
    run: str = ""
    targets: tuple[str, ...] = ()
    focus: str = ""
    hold: Literal["gpus", "step_time", "budget"] = "gpus"
    gen_precision: Asked = "same"
    train_precision: Asked = "same"
    source_gen_precision: Precision = "bf16"
    source_train_precision: Precision = "bf16"
    replica_gpus: int = Field(default=0, ge=0, le=4096)
    quotes: tuple[str, ...] = ()
    claims: tuple[str, ...] = ()
    draws: int = Field(default=10_000, ge=100, le=50_000)
    seed: int = 20260301

    @field_validator("targets")
    @classmethod
    def _few(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if len(value) > MOST_TARGETS:
            raise ValueError(f"at most {MOST_TARGETS} targets, {len(value)} were asked for")
        if any(not part for target in value for part in target.split("+")) or any(
            target.count("+") > 1 for target in value
        ):
            raise ValueError("a target is a platform, or two joined by + (rollouts on the first)")
        return tuple(dict.fromkeys(value))

    @field_validator("quotes")
    @classmethod
    def _priced(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        parse_quotes(value)
        return value

    @property
    def on_source(self) -> tuple[str, str]:
        """Precision of generation and training of the run itself."""
        return self.source_gen_precision, self.source_train_precision

    @property
    def on_target(self) -> tuple[str, str]:
        """Precision of generation and training on the targets."""
        gen = self.source_gen_precision if self.gen_precision == "same" else self.gen_precision
        train = self.source_train_precision if self.train_precision == "same" else self.train_precision
        return gen, train

    @property
    def changes_precision(self) -> bool:
        """True when a target computes at another precision than the run."""
        return self.on_target != self.on_source


def parse_quotes(quotes: Sequence[str]) -> dict[str, float]:
    """'platform:usd' as a mapping; of two for one platform the last counts. Raises ValueError."""
    out = {}
    for text in quotes:
        platform, _, amount = text.rpartition(":")
        try:
            usd = float(amount)
        except ValueError:
            usd = math.nan
        if not platform or not 0 < usd < 10_000:
            raise ValueError(f"a quote is platform:USD a GPU-hour, such as gb200-nvl72:4.2, not {text!r}")
        out[platform] = usd
    return out
