"""A claim, the run it is tried on, and the projected step it changes: what analysis/claims.py works with."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from data.catalogue import Catalogue
from data.catalogue_types import Claim
from data.claim_scopes import WHOLE, ClaimScope
from models.claims import Step
from models.projection import PHASES
from models.shapes import Llm
from models.step_time import Mode

REWARD = "reward"
"""Part of a projected step's `env` that is no sandbox time as far as the log says: a phase of its own."""


@dataclass(frozen=True)
class About:
    """The run behind a projection. `source`: platform of its engines; `sandbox`: the CPU platform its
    sandboxes run on, empty when nobody said.
    """

    llm: Llm
    mode: Mode
    source: str
    sandbox: str = ""


@dataclass(frozen=True)
class Aimed:
    """A projected step on one target: platforms, GPUs and precision (bf16, fp8, fp4) of both pools."""

    target: str
    engines: str
    trainer: str
    engine_gpus: int
    trainer_gpus: int
    gen_precision: str
    train_precision: str
    step: Step


Baseline = Callable[[Aimed, str], Step | None]
"""The same run with the same GPUs and precisions on another platform; None when it cannot be projected."""


@dataclass(frozen=True)
class Asked:
    """A claim that is switched on, at a value."""

    claim: Claim
    scope: ClaimScope
    value: float

    @property
    def whole(self) -> bool:
        """True when it speaks of the whole step."""
        return WHOLE in self.scope.acts_on

    @property
    def phases(self) -> tuple[str, ...]:
        """Phases of a step that it acts on."""
        return (*PHASES, REWARD) if self.whole else self.scope.acts_on


@dataclass(frozen=True)
class Setting:
    """What every row is judged against."""

    catalogue: Catalogue
    about: About
    baseline: Baseline
    prices: Mapping[str, float | None]


@dataclass(frozen=True)
class Effect:
    """A claim at work: the step it gives, the speed it means (NaN: plain seconds), what it is measured by."""

    claimed: Step
    speed: float
    baseline: Step | None
