"""A platform as the phase models see it. What was not published is None or NaN and stays so: no guesses."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from models.shapes import Num, precision_class


@dataclass(frozen=True)
class Machine:
    """Published peaks of one GPU package and the domains it sits in; None: not published.

    `flops`: dense FLOP/s by precision class (bf16, fp8, fp4). `link_bytes_per_s`: scale-up rate one way a
    GPU; `domain_gpus` share it. `scaleout_bytes_per_s`: network rate one way a GPU.
    """

    platform_id: str
    flops: Mapping[str, float | None] = field(default_factory=dict)
    hbm_bytes_per_s: float | None = None
    hbm_bytes: float | None = None
    link_bytes_per_s: float | None = None
    domain_gpus: int | None = None
    rack_gpus: int | None = None
    node_gpus: int | None = None
    scaleout_bytes_per_s: float | None = None

    def flops_at(self, precision: str) -> float:
        """Dense peak in FLOP/s at a precision, NaN when it was not published."""
        rate = self.flops.get(precision_class(precision))
        return math.nan if rate is None else rate

    def missing(self, precision: str | None = None, *fields: str) -> tuple[str, ...]:
        """Names of the facts a model needs and nobody published: of `fields`, and the rate at `precision`."""
        lacks = [name for name in fields if getattr(self, name) is None]
        if precision is not None and math.isnan(self.flops_at(precision)):
            lacks.insert(0, f"{precision_class(precision)}_dense_flops")
        return tuple(lacks)


@dataclass(frozen=True)
class Rates:
    """Peaks of a GPU at one precision, one number or an array over platforms; NaN: not published.

    FLOP/s dense, bytes a second, bytes, GPUs.
    """

    flops: Num
    hbm_bytes_per_s: Num
    hbm_bytes: Num
    link_bytes_per_s: Num
    domain_gpus: Num

    @classmethod
    def of(cls, machine: Machine, precision: str) -> "Rates":
        """Peaks of one machine at `precision`."""
        return cls(
            machine.flops_at(precision),
            _or_nan(machine.hbm_bytes_per_s),
            _or_nan(machine.hbm_bytes),
            _or_nan(machine.link_bytes_per_s),
            _or_nan(machine.domain_gpus),
        )

    @classmethod
    def stack(cls, machines: Sequence[Machine], precision: str) -> "Rates":
        """Peaks of several machines along the last axis, in their order; draws go along the first."""
        rows = [cls.of(machine, precision) for machine in machines]
        return cls(
            _column([row.flops for row in rows]),
            _column([row.hbm_bytes_per_s for row in rows]),
            _column([row.hbm_bytes for row in rows]),
            _column([row.link_bytes_per_s for row in rows]),
            _column([row.domain_gpus for row in rows]),
        )


def _or_nan(value: float | None) -> float:
    return math.nan if value is None else float(value)


def _column(values: Sequence[Num]) -> npt.NDArray[np.float64]:
    return np.array(values, dtype=np.float64)
