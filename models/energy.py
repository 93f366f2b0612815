"""Energy of GPUs: counters first, facility factors, emissions. Energies in J or kWh, powers in W or kW."""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

J_PER_KWH = 3.6e6
MAX_GPU_W = 5000.0
"""Above twice the largest board power in the catalogue (2.3 kW): a counter that says more has jumped."""
WRAP_J = 2**32 / 1000
"""A counter kept in 32 bits of millijoules starts again here, after 1.7 h at 700 W."""
WRAP_GAP_S = 300.0
"""Over a longer gap a wrap cannot be told from a counter that restarted at 0."""

Move = Literal["counted", "wrapped", "reset", "jumped"]


@dataclass(frozen=True)
class CounterEnergy:
    """Joules that a running counter proves, the seconds they cover, and the seconds it cannot tell."""

    joules: float
    counted_s: float
    unknown_s: float
    resets: int


def counter_move(
    before_j: float, after_j: float, seconds: float, most_j: float = math.inf
) -> tuple[float, Move]:
    """Joules between two readings of one counter, and what happened to it; NaN when nobody can tell.

    A fall is a wrap only when the counter has never read more than 2^32 mJ (`most_j`), the readings are at
    most WRAP_GAP_S apart and the power that follows is possible; else the counter restarted (driver reload,
    other GPU) and what it had counted is lost. A rise of more than MAX_GPU_W is a jump. NVIDIA: millijoules
    since the driver was loaded (NVML nvmlDeviceGetTotalEnergyConsumption).
    """
    if not seconds > 0:
        raise ValueError(f"two readings need time between them: {seconds} s")
    rise, most = after_j - before_j, MAX_GPU_W * seconds
    if rise >= 0:
        return (rise, "counted") if rise <= most else (math.nan, "jumped")
    if most_j <= WRAP_J and seconds <= WRAP_GAP_S and rise + WRAP_J <= most:
        return rise + WRAP_J, "wrapped"
    return math.nan, "reset"


def counter_energy(ts_s: npt.ArrayLike, energy_j: npt.ArrayLike) -> CounterEnergy:
    """Energy of one GPU from its counter readings (NaN: no reading); the reference of the SQL roll-up.

    A counter that never moved has measured nothing: some drivers return a frozen value.
    """
    ts, energy = np.asarray(ts_s, dtype=np.float64), np.asarray(energy_j, dtype=np.float64)
    if ts.shape != energy.shape or ts.ndim != 1 or (np.diff(ts) <= 0).any():
        raise ValueError("readings must be one column each, at rising times")
    read = ~np.isnan(energy)
    ts, energy = ts[read], energy[read]
    most = float(energy.max()) if len(energy) else 0.0
    joules, counted, unknown, resets = 0.0, 0.0, 0.0, 0
    for place in range(1, len(ts)):
        seconds = float(ts[place] - ts[place - 1])
        moved, how = counter_move(float(energy[place - 1]), float(energy[place]), seconds, most)
        resets += how == "reset"
        if math.isnan(moved):
            unknown += seconds
        else:
            joules, counted = joules + moved, counted + seconds
    return CounterEnergy(0.0, 0.0, unknown + counted, resets) if joules == 0 else CounterEnergy(
        joules, counted, unknown, resets
    )  # fmt: skip


def kwh(joules: float) -> float:
    """Kilowatt-hours of joules."""
    return joules / J_PER_KWH


@dataclass(frozen=True)
class PlatformPower:
    """Published power of a platform in kW a GPU; None: not published.

    `gpu_kw`: the board at its limit (TDP). `it_kw`: chip plus its share of host and network
    (all_in_kw_per_gpu), without the building. `utility_kw`: the same at the meter, building included
    (all_in_utility_kw_per_gpu).
    """

    gpu_kw: float | None = None
    it_kw: float | None = None
    utility_kw: float | None = None

    @property
    def host_kw(self) -> float | None:
        """Share of host and network: IT power without the board; None when either is not published."""
        return None if self.gpu_kw is None or self.it_kw is None else max(0.0, self.it_kw - self.gpu_kw)


def facility_kwh(it_kwh: float, pue: float) -> float:
    """Energy at the meter = IT energy x PUE. Raises ValueError for a PUE below 1."""
    if not (math.isfinite(pue) and pue >= 1):
        raise ValueError(f"a PUE is at least 1: {pue}")
    return it_kwh * pue


def figure_kwh(power: PlatformPower, gpu_hours: float, pue: float, at_meter: bool = False) -> float | None:
    """Energy at the meter by published figures: IT kW x PUE x hours, or utility kW x hours without PUE.

    `at_meter` prefers the utility figure; without an IT figure it is the only one. None: neither is
    published.
    """
    if power.utility_kw is not None and (at_meter or power.it_kw is None):
        return power.utility_kw * gpu_hours
    return None if power.it_kw is None else facility_kwh(power.it_kw * gpu_hours, pue)


def emissions_kg(energy_kwh: float, kg_per_kwh: float) -> float:
    """kgCO2e = kWh x grid intensity in kgCO2e per kWh. Raises ValueError for a negative intensity."""
    if not (math.isfinite(kg_per_kwh) and kg_per_kwh >= 0):
        raise ValueError(f"a grid intensity is not negative: {kg_per_kwh}")
    return energy_kwh * kg_per_kwh
