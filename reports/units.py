"""The unit of a column from its name: names end in their unit, or say what by what."""

from collections.abc import Iterable

_UNITS = {
    "usd": "USD",
    "s": "s",
    "ms": "ms",
    "h": "h",
    "min": "min",
    "days": "days",
    "months": "months",
    "years": "years",
    "frac": "ratio, 0 to 1",
    "pct": "%",
    "points": "points",
    "bytes": "bytes",
    "gb": "GB",
    "gib": "GiB",
    "gbps": "GB/s",
    "tflops": "TFLOP/s",
    "w": "W",
    "kw": "kW",
    "mw": "MW",
    "j": "J",
    "kwh": "kWh",
    "mwh": "MWh",
    "kg": "kg",
    "mhz": "MHz",
    "tokens": "tokens",
    "tok": "tokens",
    "mtok": "million tokens",
    "steps": "steps",
    "gpus": "GPUs",
    "rollouts": "rollouts",
}
_ENDS = {
    "low",
    "high",
    "mean",
    "median",
    "avg",
    "sum",
    "total",
    "p10",
    "p50",
    "p90",
    "most",
    "least",
    "exact",
}
_ALONE = {"usd", "steps", "gpus", "points", "tokens", "rollouts"}
"""Units that are a column's whole name."""
_WHOLE = {
    "gain": "points",
    "mdd": "points",
    "gpu_h": "GPU-hours",
    "gpu_hours": "GPU-hours",
    "core_hours": "core-hours",
}


def named_by_row(columns: Iterable[str]) -> bool:
    """Whether a column names the unit of each row; beside a `ratio` it names what the ratio is of."""
    found = set(columns)
    return bool({"unit", "metric"} & found) and "ratio" not in found


def unit_of(column: str) -> str:
    """Return the unit that a column's name tells, '' where it tells none.

    >>> unit_of("step_s"), unit_of("usd_per_gpu_h_low"), unit_of("gpu_hours"), unit_of("run")
    ('s', 'USD per gpu h', 'GPU-hours', '')
    """
    parts = column.lower().split("_")
    while len(parts) > 1 and parts[-1] in _ENDS:
        parts.pop()
    name = "_".join(parts)
    if name in _WHOLE:
        return _WHOLE[name]
    if "per" in parts[1:-1]:
        at = parts.index("per")
        what = _UNITS.get(parts[at - 1]) or " ".join(parts[:at])
        return f"{what} per {' '.join(parts[at + 1 :])}"
    if name.endswith(("_gpu_h", "_gpu_hours")):
        return "GPU-hours"
    if parts[-1] in _UNITS:
        return _UNITS[parts[-1]] if len(parts) > 1 or parts[-1] in _ALONE else ""
    return "USD" if "usd" in parts else ""
