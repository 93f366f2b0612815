"""Metrics of energy and emissions."""

from analysis.formulas.formula import Formula

_ALL = "compute | campaign | full"
_BOUNDS = "bounds: unsampled hours at nothing .. at the limit of the board"

METRICS = (
    Formula(
        "energy_gpu",
        "Energy at the GPU",
        "sum over GPUs of counter differences, else power x seconds, inside the attempts; unsampled "
        "GPU-hours x board limit",
        "kWh",
        _ALL,
        _BOUNDS,
    ),
    Formula(
        "energy_facility",
        "Energy at the meter",
        "(measured GPU energy + measured GPU-hours x (all-in IT power - board limit)) x PUE + unsampled "
        "GPU-hours x all-in IT power x PUE; a figure at the utility meter is never multiplied by PUE",
        "kWh",
        _ALL,
        "bounds: measured GPU energy x lowest PUE .. everything at the highest PUE",
    ),
    Formula(
        "energy_coverage",
        "GPU-hours with measured energy",
        "GPU-hours with a counter or power inside the attempts / allocated GPU-hours",
        "frac",
        _ALL,
        "exact",
    ),
    Formula(
        "energy_per_rollout",
        "Energy per rollout",
        "energy x share of steps that count rollouts / rollouts on the surviving lineage",
        "kWh/rollout",
        _ALL,
        _BOUNDS,
    ),
    Formula(
        "energy_per_step",
        "Energy per step",
        "energy / steps on the surviving lineage",
        "kWh/step",
        _ALL,
        _BOUNDS,
    ),
    Formula(
        "emissions",
        "Emissions",
        "energy x grid intensity (kgCO2e per kWh, given by the user; no default)",
        "kgCO2e",
        _ALL,
        "bounds of the energy; the intensity has none",
    ),
    Formula(
        "emissions_per_rollout",
        "Emissions per rollout",
        "energy per rollout x grid intensity",
        "kgCO2e/rollout",
        _ALL,
        "bounds of the energy; the intensity has none",
    ),
    Formula(
        "emissions_per_step",
        "Emissions per step",
        "energy per step x grid intensity",
        "kgCO2e/step",
        _ALL,
        "bounds of the energy; the intensity has none",
    ),
    Formula(
        "energy_usd",
        "Dollars of energy",
        "energy at the meter x price a kWh (given by the user); a basis of its own, never added to rent",
        "usd",
        _ALL,
        "bounds of the energy; the price has none",
    ),
)
