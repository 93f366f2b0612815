"""Exact money: decimal amounts that are split so that the parts add up to the whole, to the last digit."""

from collections.abc import Sequence
from decimal import ROUND_DOWN, ROUND_HALF_EVEN, Context, Decimal, localcontext

CENT = Decimal("0.01")
FULL = Decimal("1E-12")
"""Quantum of parts that are shown nowhere and only added up again: far below a cent, still exact."""
DIGITS = 60
_FLOAT_DIGITS = 15


def exact(amount: float | Decimal) -> Decimal:
    """The decimal number that a stored double was written as.

    A decimal of at most 15 significant digits survives the way through a double unchanged (IEEE 754). Raises
    ValueError for NaN and infinities: a missing amount is no amount.
    """
    value = amount if isinstance(amount, Decimal) else Decimal(f"{amount:.{_FLOAT_DIGITS}g}")
    if not value.is_finite():
        raise ValueError(f"{amount} is no amount of money")
    return value


def total(amounts: Sequence[Decimal]) -> Decimal:
    """Sum without rounding."""
    with localcontext(Context(prec=DIGITS)):
        return sum(amounts, Decimal(0))


def cents(amount: Decimal) -> Decimal:
    """Rounded to 0.01, half to even."""
    with localcontext(Context(prec=DIGITS)):
        return amount.quantize(CENT, rounding=ROUND_HALF_EVEN)


def apportion(whole: Decimal, weights: Sequence[float | Decimal], quantum: Decimal = CENT) -> list[Decimal]:
    """Parts of `whole` in proportion to `weights` that add up to it exactly.

    Largest remainder (Hamilton): every part is rounded towards 0 to a multiple of `quantum`, the quanta that
    are left go to the parts that lost most, the first of equals first; what `whole` has below one quantum
    goes to the largest part. A negative whole gives the mirrored parts. Raises ValueError for no weights, a
    negative weight, or weights that are all 0 beside a whole that is not.
    """
    if len(weights) == 1 and weights[0] > 0:
        return [whole]
    shares = [exact(weight) for weight in weights]
    if any(share < 0 for share in shares):
        raise ValueError("a weight is negative")
    with localcontext(Context(prec=DIGITS)):
        base = sum(shares, Decimal(0))
        if base == 0:
            if whole == 0:
                return [Decimal(0)] * len(shares)
            raise ValueError("no weight is above 0, so nothing says whose the amount is")
        size, sign = abs(whole), -1 if whole < 0 else 1
        quanta = (size / quantum).to_integral_value(rounding=ROUND_DOWN)
        ideal = [quanta * share / base for share in shares]
        given = [part.to_integral_value(rounding=ROUND_DOWN) for part in ideal]
        left = int(quanta - sum(given, Decimal(0)))
        order = sorted(range(len(shares)), key=lambda i: (given[i] - ideal[i], i))
        for i in order[:left]:
            given[i] += 1
        parts = [count * quantum for count in given]
        largest = max(range(len(shares)), key=lambda i: (shares[i], -i))
        parts[largest] += size - quanta * quantum
        return [sign * part for part in parts]
