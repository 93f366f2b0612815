"""Seconds and dollars of a weight sync: the one in use, and published engines carried to these pools."""

import math
from dataclasses import dataclass

import pandas as pd

from analysis.frames import Row, records
from analysis.weight_sync_inputs import GIGA, SyncInputs
from models.cost import SECONDS_PER_HOUR
from models.weight_sync import exposed_sync_s

HOURS = 24.0


@dataclass(frozen=True)
class Priced:
    """A sync of `sync_s` in the step that is asked about: exposed seconds, the step with it, dollars."""

    sync_s: float
    exposed_s: float
    step_s: float
    usd_per_step: float
    usd_per_day: float

    @property
    def share_frac(self) -> float:
        """Exposed seconds over the step."""
        return self.exposed_s / self.step_s


def now_s(inputs: SyncInputs, values: dict[str, float]) -> float:
    """Seconds of the sync in use: at your rate where you gave one, else as timed or as published."""
    if not math.isnan(values["gb_per_s"]):
        return inputs.payload_bytes / (values["gb_per_s"] * GIGA)
    return values["sync_s"]


def usd_per_h(inputs: SyncInputs, values: dict[str, float]) -> float:
    """Dollars an hour of the GPUs that stand while weights move; once where one pool does both."""
    trainers = 0.0 if inputs.colocated else values["trainer_gpus"]
    return (trainers + values["engine_gpus"]) * values["usd_per_gpu_h"]


def priced(inputs: SyncInputs, values: dict[str, float], sync_s: float) -> Priced:
    """A sync of `sync_s` in place of the one in use: the rest of the step stays as it is."""
    before = float(exposed_sync_s(values["sync_s"], values["hidden_s"]))
    exposed = float(exposed_sync_s(sync_s, values["hidden_s"]))
    step, hourly = values["step_s"] - before + exposed, usd_per_h(inputs, values)
    day = HOURS * hourly * values["active_frac"] * exposed / step
    return Priced(sync_s, exposed, step, hourly * exposed / SECONDS_PER_HOUR, day)


def saved_usd(inputs: SyncInputs, values: dict[str, float], now: Priced, then: Priced) -> float:
    """Dollars that as many steps as a day holds now would cost less; negative for a slower sync."""
    steps_s = HOURS * values["active_frac"] / now.step_s
    return usd_per_h(inputs, values) * steps_s * (now.exposed_s - then.exposed_s)


def day_usd(inputs: SyncInputs, given: dict[str, float]) -> float:
    """Dollars of the syncs of a day for other inputs."""
    values = {**given, "sync_s": now_s(inputs, given)}
    return priced(inputs, values, values["sync_s"]).usd_per_day


def best_of(engines: pd.DataFrame) -> Row | None:
    """The fastest published engine whose seconds the links can carry, when it beats the sync in use."""
    rows = records(engines)
    able = [row for row in rows[1:] if row["beyond_link"] is not True and row["sync_s"] < rows[0]["sync_s"]]
    return min(able, key=lambda row: row["sync_s"], default=None)
