"""Numbers inside answer sentences: three significant digits, the unit beside them."""

import math
from collections.abc import Sequence

_TERMS = {"reserved_3y": "3-year", "contract_1y": "1-year", "on_demand": "on-demand"}

_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
    "November", "December",
)  # fmt: skip


def digits3(value: float) -> str:
    """Return three significant digits with thousands separated.

    >>> digits3(41234.5), digits3(0.012345), digits3(0)
    ('41,200', '0.0123', '0')
    """
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else str(value)
    rounded = round(value, 2 - math.floor(math.log10(abs(value))))
    places = max(0, 2 - math.floor(math.log10(abs(rounded))))
    return f"{rounded:,.{places}f}"


def money(value: float) -> str:
    """Return dollars: $41.2k, $7.03, -$5.00.

    >>> money(41234.5), money(7.03), money(-5)
    ('$41.2k', '$7.03', '-$5.00')
    """
    size, sign = abs(value), "-" if value < 0 else ""
    for scale, letter in ((1e9, "B"), (1e6, "M"), (1e3, "k")):
        if size >= 0.9995 * scale:
            return f"{sign}${digits3(size / scale)}{letter}"
    return f"{sign}${digits3(size)}"


def count(value: float) -> str:
    """Return a whole number with thousands separated, short from ten thousand up."""
    for scale, letter in ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e4, "k")):
        if abs(value) >= scale:
            return f"{digits3(value / (1e3 if letter == 'k' else scale))}{letter}"
    return f"{value:,.0f}" if value == int(value) else digits3(value)


def percent(frac: float) -> str:
    """Return a fraction as percent: '31 %', '0.42 %'; what is not all of it never reads as '100 %'."""
    pct = 100 * frac
    if 99 < pct < 100:
        return f"{min(99.9, round(pct, 1)):.1f} %"
    return f"{pct:.0f} %" if abs(pct) >= 10 or pct == 0 else f"{digits3(pct)} %"


def percent3(frac: float) -> str:
    """Return a fraction as percent with the three digits that a card shows beside it: '57.3 %'."""
    return percent(frac) if 0.99 < frac < 1 else f"{digits3(100 * frac)} %"


def month_words(month: str) -> str:
    """A month in full, in English wherever this runs: `2026-03` is 'March 2026'."""
    year, number = month.split("-")
    return f"{_MONTHS[int(number) - 1]} {int(year)}"


def plus_minus(value: float, low: float, high: float) -> str:
    """Return '5.9 ± 1.8', or '5.9 (3.0 to 7.1)' when the interval is lopsided by more than a tenth."""
    up, down = high - value, value - low
    if up > 0 and abs(up - down) <= 0.1 * max(up, down):
        return f"{value:.1f} ± {(up + down) / 2:.1f}"
    return f"{value:.1f} ({low:.1f} to {high:.1f})"


def listing(names: Sequence[str], most: int = 4) -> str:
    """Return 'a, b and c'; beyond `most` the rest is counted."""
    shown = list(names[:most])
    rest = len(names) - len(shown)
    if rest:
        shown.append(f"{rest} more")
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}" if shown else ""


def price_words(price: str, boundary: str, metered: bool = False) -> str:
    """Return '(3-year neocloud rent, campaign boundary)'; `metered`: paid by the token alone."""
    if metered:
        return f"(token prices, {boundary} boundary)"
    kind, _, tier = price.partition(".")
    if kind == "own_tco":
        return f"(cost of owning, {boundary} boundary)"
    words = _TERMS.get(kind, kind.replace("_", " "))
    return f"({f'{words} {tier}'.strip()} rent, {boundary} boundary)"


def plural(noun: str, number: float) -> str:
    """Return the noun with an s unless there is exactly one: '1 run', '2 runs'."""
    return noun if number == 1 else f"{noun}s"
