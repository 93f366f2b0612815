"""How many digits leave the app: what a sum or a quotient adds below a millionth of a dollar is no amount."""

from collections.abc import Mapping
from typing import Any

USD_PLACES = 6
_ENDS = {"value", "low", "high"}
SIGNIFICANT = 15
"""Digits that a double holds for sure; the 16th and 17th are its binary noise."""


def is_dollars(column: str) -> bool:
    """Whether a column holds amounts in dollars, not a rate by something nor something by the dollar."""
    parts = column.split("_")
    return "usd" in parts and "per" not in parts and not column.endswith("_frac")


def settled(value: Any, column: str = "") -> Any:
    """Return a value as files and JSON give it: 15 significant digits, dollars from 1 up to six decimals.

    Lists and mappings are settled inside, each value under its own key; anything but a float stays as it is.

    >>> settled(301.669999986, "usd_full"), settled(0.1 + 0.2), settled(0.00000217, "usd")
    (301.67, 0.3, 2.17e-06)
    """
    if isinstance(value, Mapping):
        usd = str(value.get("unit")).lower() in {"usd", "usd_exact"}
        return {
            key: settled(item, "usd" if usd and key in _ENDS else str(key)) for key, item in value.items()
        }
    if isinstance(value, list):
        return [settled(item, column) for item in value]
    if not isinstance(value, float):
        return value
    if is_dollars(column) and abs(value) >= 1:
        return round(value, USD_PLACES)
    return float(f"{value:.{SIGNIFICANT}g}")
