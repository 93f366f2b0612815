"""Numbers as people read them: three significant digits, thousands separated, the unit beside them."""

import math

from analysis.result import Figure

_SCALES = ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e4, "k"))
_UNIT_WORDS = {
    "usd": "USD",
    "usd_per_point": "USD per point",
    "usd_per_rollout": "USD per rollout",
    "usd_per_gpu_h": "USD per GPU-hour",
    "gpu_h": "GPU-hours",
    "frac": "%",
    "points": "points",
    "s": "s",
    "count": "",
    "": "",
}
INTERVAL_WORDS = {
    "ci95": "95 % interval",
    "p10_p90": "p10–p90",
    "quote_range": "range of published quotes",
    "bounds": "lower and upper bound",
    "exact": "",
}


def significant(value: float, digits: int = 3) -> str:
    """Return `value` with `digits` significant digits and thousands separated by a comma.

    >>> significant(41234.5), significant(0.012345), significant(0)
    ('41,200', '0.0123', '0')
    """
    if value == 0:
        return "0"
    if not math.isfinite(value):
        raise ValueError(f"not a finite number: {value}")
    places = digits - 1 - math.floor(math.log10(abs(value)))
    rounded = round(value, places)
    shown = max(0, digits - 1 - math.floor(math.log10(abs(rounded))))
    return f"{rounded:,.{shown}f}"


def compact(value: float) -> str:
    """Return three significant digits with k, M, B, T from ten thousand up: 41.2k."""
    for scale, letter in _SCALES:
        size = abs(value)
        if size >= scale:
            base = 1e3 if letter == "k" else scale
            return f"{significant(value / base)}{letter}"
    return significant(value)


def usd(value: float) -> str:
    """Return dollars: $41.2k, $7.03, $0.0123, -$5.00."""
    sign = "-" if value < 0 else ""
    return f"{sign}${compact(abs(value))}"


def quantity(value: float | None, unit: str) -> str:
    """Return a number with its unit as on screen; fractions become percent, dollars get their sign."""
    if value is None or not math.isfinite(value):
        return "not known"
    kind = unit.strip()
    low = kind.lower()
    if low in {"frac", "fraction", "ratio"}:
        return f"{significant(100 * value)} %"
    if low == "usd" or low.startswith(("usd/", "usd_per", "usd per", "$")):
        return usd(value)
    word = _UNIT_WORDS.get(low, kind.replace("_", " "))
    return f"{compact(value)} {word}".strip()


def unit_tail(unit: str) -> str:
    """Return what follows a dollar figure: 'per point' for usd_per_point, '' for plain dollars."""
    low = unit.strip().lower().replace("_", " ").replace("usd/", "usd per ")
    for head in ("usd ", "$ "):
        if low.startswith(head):
            return low[len(head) :].replace("gpu h", "GPU-hour")
    return ""


def interval(figure: Figure) -> str:
    """Return 'low–high (kind of interval)' or ± when it is symmetric to the digits shown; '' when exact."""
    if figure.value is None or figure.low is None or figure.high is None or figure.interval == "exact":
        return ""
    word = INTERVAL_WORDS.get(figure.interval, figure.interval.replace("_", " "))
    up, down = figure.high - figure.value, figure.value - figure.low
    if up > 0 and abs(up - down) <= 0.02 * up and not figure.unit.lower().startswith(("usd", "$")):
        return f"± {quantity(up, figure.unit)} ({word})"
    return f"{quantity(figure.low, figure.unit)} – {quantity(figure.high, figure.unit)} ({word})"
