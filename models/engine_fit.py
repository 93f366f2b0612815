"""Bandwidth and constant of an engine told apart by its own log: decode steps at two batches or more."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from models.decode import DecodeFactors, DecodeLoad, decode_step
from models.factors import Factor
from models.machine import Rates
from models.operating import Operating, engine_load
from models.workload import EnginePoint, Floats, Workload

APART = 2.0
"""Largest over smallest batch of a log that tells the two apart."""
FEWEST = 2


@dataclass(frozen=True)
class EngineFit:
    """Share of the bandwidth and constant of a layer (seconds) that a log shows, each with its factor."""

    eta_bandwidth: float
    layer_s: float
    factors: tuple[Factor, ...]


def engine_fit(
    workload: Workload, at: Operating, rates: Rates, points: Sequence[EnginePoint]
) -> EngineFit | None:
    """Least squares of relative errors: step = bytes / (G BW) x 1 / eta + layers x c0 + links.

    None when batches differ by less than `APART`, when a step is bound by compute, or when no share of the
    peak in (0, 1] with a constant of 0 or more explains them: then a log tells nothing apart.
    """
    batch = np.array([point.batch for point in points], dtype=np.float64)
    if len(batch) < FEWEST or not batch.max() / batch.min() >= APART:
        return None
    seconds = np.array([point.step_s for point in points], dtype=np.float64)
    usual = DecodeFactors(eta_bandwidth=1.0, layer_s=1.0)
    context = np.array([point.context for point in points], dtype=np.float64)
    load = _at(engine_load(workload, workload.engines, at, batch), context)
    ideal = decode_step(workload.llm, load, rates, usual)
    design = np.stack([ideal.memory_s, ideal.constant_s + 0 * batch], axis=1) / seconds[:, None]
    left = 1 - ideal.link_s / seconds
    (slow, layer_s), *_ = np.linalg.lstsq(design, left, rcond=None)
    if not (slow >= 1 and layer_s >= 0) or (ideal.compute_s > ideal.memory_s * slow).any():
        return None
    wrong = float(np.median(np.abs(design @ np.array([slow, layer_s]) - left)))
    return EngineFit(float(1 / slow), float(layer_s), _factors(1 / slow, layer_s, wrong, len(points)))


def _factors(eta: float, layer_s: float, wrong: float, count: int) -> tuple[Factor, ...]:
    words = f"from {count} steps of the engine's log, median error {wrong:.0%}"
    solved = (("eta_bandwidth", eta, "of peak"), ("layer_s", layer_s, "s a layer"))
    return tuple(
        Factor("rollout", name, float(value), value, value, unit, count, True, "measured", words)
        for name, value, unit in solved
    )


def _at(load: DecodeLoad, context: Floats) -> DecodeLoad:
    return DecodeLoad(**{**vars(load), "context": context})
