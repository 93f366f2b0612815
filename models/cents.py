"""Exact money: decimal amounts that are split so that the parts add up to the whole, to the last digit."""

from collections.abc import Sequence
from decimal import ROUND_DOWN, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal, localcontext

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


def to_cents(amounts: Sequence[Decimal], whole: Decimal) -> list[Decimal]:
    """Round amounts to cents so that they add up to `whole` (cents): largest remainder, any sign.

    Each is rounded down; the cents that are left go to the largest remainders, the first of equals first. The
    sum of `amounts` must be within a cent a part of `whole`; ValueError otherwise.
    """
    if not amounts and whole == 0:
        return []
    with localcontext(Context(prec=DIGITS)):
        floors = [one.quantize(CENT, rounding=ROUND_FLOOR) for one in amounts]
        left = int((whole - total(floors)) / CENT)
        bridged = bool(amounts) and -1 <= left <= len(amounts) + 1
        if not bridged or total(floors) + left * CENT != whole:
            raise ValueError(f"{len(amounts)} parts miss {whole} by {left} cents")
        order = sorted(range(len(amounts)), key=lambda i: (floors[i] - amounts[i], i))
        for at in range(abs(left)):
            place = order[at % len(order)] if left > 0 else order[-1 - at % len(order)]
            floors[place] += CENT if left > 0 else -CENT
    return floors


def cents_table(
    amounts: Sequence[Sequence[Decimal]], rows: Sequence[Decimal], columns: Sequence[Decimal]
) -> list[list[Decimal]]:
    """Round a table to cents so that its rows and its columns add up to the given totals (cents).

    Cents that are left go to the cells that lost most; what then is left goes to any cell of its row and
    column. The totals must have the same sum and lie near those of `amounts`; ValueError otherwise.
    """
    out = [[one.quantize(CENT, rounding=ROUND_FLOOR) for one in row] for row in amounts]
    need = [int((whole - sum(row, Decimal(0))) / CENT) for whole, row in zip(rows, out, strict=True)]
    want = [int((whole - sum((row[j] for row in out), Decimal(0))) / CENT) for j, whole in enumerate(columns)]
    if sum(need) != sum(want):
        raise ValueError("rows and columns have different sums")
    cells = [(out[i][j] - amounts[i][j], i, j) for i in range(len(rows)) for j in range(len(columns))]
    for _, i, j in sorted(cell for cell in cells if cell[0]):
        if need[i] > 0 and want[j] > 0:
            out[i][j] += CENT
            need[i], want[j] = need[i] - 1, want[j] - 1
    for i in range(len(rows)):
        for j in range(len(columns)):
            # a row that is above its total gives back where its column is above too
            both = need[i] * want[j] > 0
            more = (min(need[i], want[j]) if need[i] > 0 else max(need[i], want[j])) if both else 0
            out[i][j] += more * CENT
            need[i], want[j] = need[i] - more, want[j] - more
    for i, j in ((i, j) for i in range(len(rows)) for j in range(len(columns)) if need[i] and want[j]):
        out[i][j] += need[i] * CENT
        want[j], need[i] = want[j] - need[i], 0
    if all(abs(one) <= _FEW for one in (*need, *want)) and out:
        _settle(out, need, want)
        return out
    if any(need) or any(want):
        raise ValueError("the totals are too far from the table")
    return out


_FEW = 3
"""Cents by which a row or column may still be off when no cell of both is."""


def _settle(out: list[list[Decimal]], need: Sequence[int], want: Sequence[int]) -> None:
    """Add cents that rows (`need`) and columns (`want`) still lack, at the largest cell."""
    _, row, column = max((abs(one), -i, -j) for i, cells in enumerate(out) for j, one in enumerate(cells))
    for i, lacking in enumerate(need):
        out[i][-column] += lacking * CENT
    for j, lacking in enumerate(want):
        out[-row][j] += lacking * CENT
    out[-row][-column] -= sum(need) * CENT
