"""What may be asked of a cadence: the programme, where its step comes from, failures, the fleet."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from pydantic import Field, field_validator, model_validator

from analysis.params import CommonParams
from analysis.projection_params import Asked, Precision, parse_quotes
from models.step_time import Mode

MOST_TARGETS = 8
MOST_CAMPAIGNS = 12
Hours = Annotated[float, Field(ge=0, le=8784)]


@dataclass(frozen=True)
class CampaignSpec:
    """One campaign as asked: steps, and what differs from the run or the stated step.

    `length`: times the response length, at the start; `growth`: length at the end over that at the start;
    `rollouts`: times the rollouts of a step; `tool_s`: seconds a step of tools that nothing hides; `step_s`:
    a step of its own on the GPUs of the source, 0 without one.
    """

    name: str
    steps: int
    length: float
    growth: float
    rollouts: float
    tool_s: float
    evals: float
    step_s: float


@dataclass(frozen=True)
class ShareSpec:
    """Another programme of the fleet: GPUs, median hours of its cycle, p90 over p50, priority."""

    name: str
    gpus: int
    hours: float
    spread: float
    priority: int


class CadenceParams(CommonParams):
    """`basis`: a measured run, a step that is stated, or a model from scratch.

    `campaigns`: 'name:steps=200,length=2,growth=1.3,rollouts=1,tool_s=60,evals=2,step_s=1200'; what is left
    out is the programme's. `share`: 'name:gpus=64,hours=30,priority=2,spread=1.2'. `targets`: platforms;
    empty: the source's own and the next ones. Hours count from the start of the period. Zero means: `gpus`
    the smallest fleet, `checkpoint_steps` the best period, `domain_group` no group. None means: published
    figures.
    """

    question: ClassVar[str] = "cadence"
    basis: Literal["run", "stated", "model"] = "run"
    run: str = ""
    targets: tuple[str, ...] = ()
    focus: str = ""
    quotes: tuple[str, ...] = ()
    steps: int = Field(default=200, ge=1, le=100_000)
    campaigns: tuple[str, ...] = ()
    length_times: float = Field(default=1.0, ge=0.1, le=20)
    length_growth: float = Field(default=1.0, ge=0.2, le=10)
    rollouts_times: float = Field(default=1.0, ge=0.05, le=64)
    tool_s: float = Field(default=0.0, ge=0, le=36_000)
    evals: int = Field(default=1, ge=0, le=1000)
    eval_min: float = Field(default=30.0, ge=0, le=1440)
    period_h: float = Field(default=168.0, ge=1, le=8784)
    deadline_h: float = Field(default=162.0, ge=0.5, le=8784)
    wanted: float = Field(default=0.95, ge=0.5, le=0.999)
    gpus: int = Field(default=0, ge=0, le=131_072)
    most_gpus: int = Field(default=2048, ge=1, le=131_072)
    step_s: float = Field(default=332.0, gt=0, le=1e6)
    step_gpus: int = Field(default=64, ge=1, le=131_072)
    step_platform: str = "gb200-nvl72"
    serial_frac: float | None = Field(default=None, ge=0, lt=1)
    second_gpus: int = Field(default=0, ge=0, le=131_072)
    second_step_s: float = Field(default=0.0, ge=0, le=1e6)
    repeat_frac: float = Field(default=0.08, ge=0, le=0.5)
    source_gen_precision: Precision = "bf16"
    source_train_precision: Precision = "bf16"
    gen_precision: Asked = "same"
    train_precision: Asked = "same"
    llm: str = "qwen3-235b-a22b"
    mode: Mode = "sync_colocated"
    prompts: int = Field(default=128, ge=1, le=65_536)
    group: int = Field(default=16, ge=1, le=1024)
    prompt_tokens: float = Field(default=1000.0, ge=1, le=1e6)
    len_p50: float = Field(default=4000.0, ge=1, le=1e6)
    len_p95: float = Field(default=16_000.0, ge=1, le=1e6)
    len_max: float = Field(default=32_768.0, ge=1, le=1e6)
    passes: float = Field(default=1.0, ge=0, le=8)
    failure_rate: float | None = Field(default=None, ge=0, le=0.01)
    restart_min: float = Field(default=20.0, ge=0, le=1440)
    cold_start_min: float = Field(default=49.0, ge=0, le=1440)
    warm_start_min: float = Field(default=20.0, ge=0, le=1440)
    walltime_h: float = Field(default=48.0, ge=1, le=8784)
    queue_min: float = Field(default=7.4, ge=0, le=10_080)
    checkpoint_steps: int = Field(default=10, ge=0, le=10_000)
    checkpoint_s: float = Field(default=60.0, ge=0, le=3600)
    spare_frac: float = Field(default=0.125, ge=0, le=1)
    repair_h: float = Field(default=24.0, ge=0, le=720)
    maintenance_h: float = Field(default=0.0, ge=0, le=720)
    goodput: float | None = Field(default=None, ge=0.05, le=1)
    domain_group: int = Field(default=0, ge=0, le=4096)
    share: tuple[str, ...] = ()
    priority: int = Field(default=1, ge=1, le=99)
    pay: Literal["period", "cycle"] = "period"
    draws: int = Field(default=10_000, ge=100, le=50_000)
    seed: int = 20260301

    @field_validator("targets")
    @classmethod
    def _few(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if len(value) > MOST_TARGETS:
            raise ValueError(f"at most {MOST_TARGETS} platforms, {len(value)} were asked for")
        return tuple(dict.fromkeys(value))

    @field_validator("quotes")
    @classmethod
    def _priced(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        parse_quotes(value)
        return value

    @field_validator("campaigns")
    @classmethod
    def _campaigns(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if len(value) > MOST_CAMPAIGNS:
            raise ValueError(f"at most {MOST_CAMPAIGNS} campaigns, {len(value)} were asked for")
        for text in value:
            _keyed(text, _CAMPAIGN)
        return value

    @field_validator("share")
    @classmethod
    def _shares(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if len(value) > MOST_TARGETS:
            raise ValueError(f"at most {MOST_TARGETS} programmes, {len(value)} were asked for")
        names = [share_of(text).name for text in value]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"two programmes are called {twice[0]!r}: give each a name of its own")
        return value

    @model_validator(mode="after")
    def _together(self) -> "CadenceParams":
        if self.deadline_h > self.period_h:
            raise ValueError(
                f"a deadline of {self.deadline_h:g} h lies after the period of {self.period_h:g} h"
            )
        if not self.len_p50 < self.len_p95 < self.len_max:
            raise ValueError("lengths must rise: len_p50 < len_p95 < len_max")
        if bool(self.second_gpus) != bool(self.second_step_s):
            raise ValueError("a second size needs both its GPUs and its step")
        return self

    def specs(self) -> tuple[CampaignSpec, ...]:
        """Campaigns in order; one of the programme's steps when none are named."""
        usual = {
            "steps": float(self.steps),
            "length": self.length_times,
            "growth": self.length_growth,
            "rollouts": self.rollouts_times,
            "tool_s": self.tool_s,
            "evals": float(self.evals),
            "step_s": 0.0,
        }
        out = []
        for text in self.campaigns or ("campaign:",):
            name, given = _keyed(text, _CAMPAIGN)
            found = usual | given
            if "length" in given:
                found["length"] = given["length"] * self.length_times
            out.append(_spec(name, found))
        return tuple(out)

    def sharers(self) -> tuple[ShareSpec, ...]:
        """Other programmes of the fleet."""
        return tuple(share_of(text) for text in self.share)


_CAMPAIGN: Mapping[str, tuple[float, float]] = {
    "steps": (1, 100_000),
    "length": (0.1, 20),
    "growth": (0.2, 10),
    "rollouts": (0.05, 64),
    "tool_s": (0, 36_000),
    "evals": (0, 1000),
    "step_s": (0.001, 1e6),
}
_SHARE: Mapping[str, tuple[float, float]] = {
    "gpus": (1, 131_072),
    "hours": (0.01, 8784),
    "spread": (1, 10),
    "priority": (1, 99),
}


def _spec(name: str, found: Mapping[str, float]) -> CampaignSpec:
    return CampaignSpec(
        name=name,
        steps=int(found["steps"]),
        length=found["length"],
        growth=found["growth"],
        rollouts=found["rollouts"],
        tool_s=found["tool_s"],
        evals=found["evals"],
        step_s=found["step_s"],
    )


def share_of(text: str) -> ShareSpec:
    """A programme from 'name:gpus=64,hours=30,priority=2'. Raises ValueError."""
    name, given = _keyed(text, _SHARE)
    if missing := [key for key in ("gpus", "hours") if key not in given]:
        raise ValueError(f"{text!r} lacks {' and '.join(missing)}")
    return ShareSpec(
        name, int(given["gpus"]), given["hours"], given.get("spread", 1.0), int(given.get("priority", 2))
    )


def _keyed(text: str, known: Mapping[str, tuple[float, float]]) -> tuple[str, dict[str, float]]:
    """Name and numbers of 'name:key=number,...'. Raises ValueError naming the key and its limits."""
    name, _, rest = text.partition(":")
    if not name.strip():
        raise ValueError(f"{text!r} has no name: write name:key=number,…")
    out = {}
    for part in (one for one in rest.split(",") if one.strip()):
        key, _, amount = part.partition("=")
        key = key.strip()
        if key not in known:
            raise ValueError(f"{key!r} of {name} is unknown; use {', '.join(known)}")
        try:
            value = float(amount)
        except ValueError:
            raise ValueError(f"{key} of {name} is no number: {amount!r}") from None
        low, high = known[key]
        if not low <= value <= high:
            raise ValueError(f"{key} of {name} must lie between {low:g} and {high:g}: {value:g}")
        out[key] = value
    return name.strip(), out
