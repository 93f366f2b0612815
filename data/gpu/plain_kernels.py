"""Compiled loops over the bytes of plain rows: cells are known words, or decimal numbers with a known unit.

Whatever is not such a cell ends the scan with a status other than DONE; nothing is guessed. `numba` is dear
to import, so only `data.gpu.plain` imports this module, and only for files that are worth it.
"""

from typing import Any

import numba as nb
import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba.extending import intrinsic
from numpy.typing import NDArray

from data.parse.jit import compiled, inlined, part

DONE, NOT_PLAIN, MORE_WORDS = 0, 1, 2
WORD, IDENTITY, NUMBER = 0, 1, 2
PAD_BYTES = 16
"""Bytes that must be readable behind the end of the text."""
EXACT = 1 << 53
"""Whole numbers up to here, and powers of ten up to 22, are exact: their quotient is rounded once."""
MOST_DIGITS = 18
MOST_DECIMALS = 22
TENS = 10.0 ** np.arange(MOST_DECIMALS + 1)
EIGHT_ZEROS, LOW_BITS = 0x3030303030303030, 0x7F7F7F7F7F7F7F7F
HIGH_BITS, UP_TO_TEN = -0x7F7F7F7F7F7F7F80, 0x7676767676767676
"""In each of eight bytes: the character 0, all bits but the highest, the highest, and what lifts 10 to it."""
PAIRS, HUNDRED_AND_MILLION, ONE_AND_TEN_THOUSAND = 0x000000FF000000FF, 0x000F424000000064, 0x0000271000000001
"""Of four numbers below 100: every second one, and what they weigh."""
SPACE, LF, CR, QUOTE, MINUS, POINT, ZERO = 32, 10, 13, 34, 45, 46, 48


def _address(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    text = context.make_array(signature.args[0])(context, builder, args[0])
    return builder.gep(text.data, [args[1]])


def _byte_at(typing: Any, text: Any, at: Any) -> Any:  # noqa: ARG001
    """text[at] as a whole number, without a check of `at`."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.zext(builder.load(_address(context, builder, signature, args)), ir.IntType(64))

    return nb.int64(text, nb.int64), code


def _eight_at(typing: Any, text: Any, at: Any) -> Any:  # noqa: ARG001
    """The eight bytes at text[at] as one number, without a check of `at`."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        place = builder.bitcast(_address(context, builder, signature, args), ir.IntType(64).as_pointer())
        found = builder.load(place)
        found.align = 1
        return found

    return nb.int64(text, nb.int64), code


def _lowest_bit(typing: Any, word: Any) -> Any:  # noqa: ARG001
    """Place of the lowest bit that is set, 64 when none is."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:  # noqa: ARG001
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 0))

    return nb.int64(nb.int64), code


_byte: Any = intrinsic(_byte_at)
_eight: Any = intrinsic(_eight_at)
_lowest: Any = intrinsic(_lowest_bit)


@inlined
def _same(text: Any, a: int, b: int, size: int) -> Any:
    """Whether `size` bytes at two places are equal; looks at most 7 bytes past the first difference."""
    k = 0
    while k + 8 <= size:
        if _eight(text, a + k) != _eight(text, b + k):
            return False
        k += 8
    if k == size:
        return True
    return (_eight(text, a + k) ^ _eight(text, b + k)) << (64 - 8 * (size - k)) == 0


@part
def _hash(text: Any, at: int, size: int, seed: int) -> Any:
    found, k = seed ^ size, 0
    while k < size:
        eight = _eight(text, at + k)
        if k + 8 > size:
            eight <<= 64 - 8 * (size - k)
        found = (found ^ eight) * 0x2545F4914F6CDD1D
        found ^= (found >> 29) & 0x7FFFFFFFF
        k += 8
    return found


@part
def _end(text: Any, at: int, stop: int, delimiter: int) -> Any:
    """Where the cell at `at` ends; -1 when it holds a quote, or when the row has another width."""
    while True:
        sign = _byte(text, at)
        if sign == stop:
            return at
        if sign in (delimiter, LF, CR, QUOTE):
            return -1
        at += 1


@inlined
def _digits(text: Any, at: int) -> tuple[int, int]:
    """(how many of the eight bytes at `at` are digits before the first other byte, the number they make).

    All eight bytes at once: a loop guesses wrong where most numbers end. Bytes are in order of their weight
    on every machine that numba knows.
    """
    eight = _eight(text, at) ^ EIGHT_ZEROS
    others = (((eight & LOW_BITS) + UP_TO_TEN) | eight) & HIGH_BITS
    count = _lowest(others) >> 3
    eight = (eight << (56 - 8 * count)) << 8 if count < 8 else eight
    eight = eight * 10 + (eight >> 8)
    pairs, others = eight & PAIRS, (eight >> 16) & PAIRS
    return count, (pairs * HUNDRED_AND_MILLION + others * ONE_AND_TEN_THOUSAND) >> 32


@inlined
def _number(
    text: Any, at: int, stop: int, suffixes: Any, k: int, size: int, tens: Any
) -> tuple[int, float, bool]:
    """(place behind the cell, its number, whether it has a point or many digits); the place is -1 when it
    holds no plain number."""
    while _byte(text, at) == SPACE:
        at += 1
    negative = _byte(text, at) == MINUS
    if negative:
        at += 1
    digits, whole = _digits(text, at)
    value, first, is_long = float(whole), at, digits == 8
    at += digits
    if _byte(text, at) == POINT:
        decimals, whole = _digits(text, at + 1)
        at, digits = at + 1 + decimals, digits + decimals
        value = (value * tens[decimals] + float(whole)) / tens[decimals]
        is_long = is_long or decimals == 8
        has_point = True
    else:
        has_point = False
    if is_long:
        at, digits, value = _long_number(text, first, tens)
        has_point = True
    if digits == 0:
        return -1, 0.0, False
    for n in range(size):
        if _byte(text, at + n) != suffixes[k, n]:
            return -1, 0.0, False
    if _byte(text, at + size) != stop:
        return -1, 0.0, False
    return at + size + 1, -value if negative else value, has_point or negative


@part
def _long_number(text: Any, at: int, tens: Any) -> tuple[int, int, float]:
    """(place behind the digits and the point, how many digits there are, the number), digit by digit.

    No digits are said where there are too many for a number that is rounded once.
    """
    whole, first, point = 0, at, -1
    digit = _byte(text, at) - ZERO
    while 0 <= digit <= 9 or (digit == POINT - ZERO and point < 0):
        if digit < 0:
            point = at
        else:
            whole = whole * 10 + digit
        at += 1
        digit = _byte(text, at) - ZERO
    digits = at - first - (point >= 0)
    if digits > MOST_DIGITS or whole > EXACT:
        return at, 0, 0.0
    value = float(whole)
    if point >= 0:
        value /= tens[at - point - 1]
    return at, digits, value


@part
def _missing(
    text: Any, at: int, stop: int, delimiter: int, words: Any, ends: Any, absent: Any, k: int
) -> Any:
    """Place behind a cell that is one of `words`; -1 when it is none. absent[k, 1]: the word seen last."""
    end = _end(text, at, stop, delimiter)
    if end < 0:
        return -1
    size = end - at
    for turn in range(-1, len(ends) - 1):
        one = absent[k, 1] if turn < 0 else turn
        begin = ends[one]
        if ends[one + 1] - begin != size:
            continue
        n = 0
        while n < size and words[begin + n] == _byte(text, at + n):
            n += 1
        if n == size:
            absent[k, 0] += 1
            absent[k, 1] = one
            return end + 1
    return -1


@part
def _find(text: Any, at: int, size: int, k: int, slots: Any, words: Any, states: Any) -> Any:
    """Number of a word; -1 when there is no room for it."""
    mask = slots.shape[1] - 1
    slot = _hash(text, at, size, 0) & mask
    known = np.int64(slots[k, slot])
    while known >= 0 and not (words[k, known, 1] == size and _same(text, at, words[k, known, 0], size)):
        slot = (slot + 1) & mask
        known = np.int64(slots[k, slot])
    if known < 0:
        known = states[k, 0]
        if known == words.shape[1]:
            return -1
        states[k, 0] += 1
        slots[k, slot], words[k, known, 0], words[k, known, 1] = known, at, size
    return known


@inlined
def _word(text: Any, at: int, stop: int, delimiter: int, k: int, slots: Any, words: Any, states: Any) -> Any:
    """Place behind a cell of word column k, whose number is then in states[k, 1]; below 0 on failure."""
    last = states[k, 1]
    if last >= 0:
        size = words[k, last, 1] + 1
        if _same(text, at, words[k, last, 0], size):
            words[k, last, 3] += 1
            return at + size
        guess = words[k, last, 2]
        if guess >= 0:
            size = words[k, guess, 1] + 1
            if _same(text, at, words[k, guess, 0], size):
                words[k, guess, 3] += 1
                states[k, 1] = guess
                return at + size
    end = _end(text, at, stop, delimiter)
    if end < 0:
        return -NOT_PLAIN
    known = _find(text, at, end - at, k, slots, words, states)
    if known < 0:
        return -MORE_WORDS
    if last >= 0:
        words[k, last, 2] = known
    words[k, known, 3] += 1
    states[k, 1] = known
    return end + 1


@inlined
def _identity(text: Any, at: int, stop: int, delimiter: int, k: int, known: Any, guess: int) -> Any:
    """(place behind the cell, below 0 on failure; the guessed combination, -1 when the cell is another)."""
    if guess >= 0 and _same(text, at, known[guess, k, 0], known[guess, k, 1] + 1):
        return at + known[guess, k, 1] + 1, guess
    end = _end(text, at, stop, delimiter)
    return (end + 1 if end >= 0 else -NOT_PLAIN), -1


@part
def _combination(text: Any, row: Any, slots: Any, cells: Any, state: Any) -> Any:
    """Number of the combination of cells in `row` (starts and sizes); -1 when there is no room for it."""
    found, many = 0, row.shape[0]
    for k in range(many):
        found = _hash(text, row[k, 0], row[k, 1], found)
    mask = len(slots) - 1
    slot = found & mask
    known = np.int64(slots[slot])
    while known >= 0:
        k = 0
        while (
            k < many
            and cells[known, k, 1] == row[k, 1]
            and _same(text, row[k, 0], cells[known, k, 0], row[k, 1])
        ):
            k += 1
        if k == many:
            return known
        slot = (slot + 1) & mask
        known = np.int64(slots[slot])
    known = state[0]
    if known == cells.shape[0]:
        return -1
    state[0] += 1
    slots[slot] = known
    for k in range(many):
        cells[known, k, 0], cells[known, k, 1] = row[k, 0], row[k, 1]
    return known


@inlined
def _note(value: float, is_odd: bool, ends: Any, k: int) -> None:
    """Keep the least and the largest number, and whether some number needs more than four bytes, or two.

    `is_odd`: more than a natural number below 10^7, which never does.
    """
    if value < ends[k, 0]:
        ends[k, 0] = value
    if value > ends[k, 1]:
        ends[k, 1] = value
    if not is_odd:
        return
    if np.float64(np.float32(value)) != value:
        ends[k, 2] = 1.0
    if np.floor(value) != value or np.copysign(1.0, value) < 0.0:
        ends[k, 3] = 1.0


_I64_2, _I32_2, _F64_2 = nb.int64[:, ::1], nb.int32[:, ::1], nb.float64[:, ::1]
_I64_3 = nb.int64[:, :, ::1]
_B, _I64, _I32, _F64 = nb.uint8[::1], nb.int64[::1], nb.int32[::1], nb.float64[::1]


@compiled(
    nb.types.UniTuple(nb.int64, 3)(  # type: ignore[no-untyped-call]
        _B, nb.int64, nb.int64, nb.int64,
        _I64_2, nb.uint8[:, ::1], _B, _I64, _F64,
        _I32_2, _I64_3, _I64_2,
        _I32, _I64_3, _I64_2, _I64,
        _I64_2, _I32, _I32, _F64_2, _F64_2, _I64_2,
    )
)  # fmt: skip
def scan(
    text: NDArray[np.uint8], begin: int, end: int, delimiter: int,
    columns: Any, suffixes: Any, missing: Any, missing_ends: Any, tens: Any,
    slots: Any, words: Any, states: Any,
    combo_slots: Any, combo_cells: Any, combos: Any, combo_state: Any,
    cells: Any, time_of: Any, combo_of: Any, numbers: Any, ends: Any, absent: Any,
) -> tuple[int, int, int]:  # fmt: skip
    """Rows of text[begin:end], which ends with a newline: (status, rows, column that ended the scan).

    `columns`: kind, place among its kind and size of the suffix, by column; word column 0 is the time.
    Filled: word and combination of each row; numbers (NaN where missing); `ends` by number column: least,
    largest, not a single, not a natural number; `absent`: missing cells and the word seen last; `words` and
    `combo_cells`: start and size; what came next and rows, of combinations in `combos`. `cells`: of a row.
    """
    row, at, last = 0, begin, -1
    width = columns.shape[0]
    while at < end:
        guess = combos[last, 0] if last >= 0 else -1
        for c in range(width):
            # Masked, the compiler knows that it is not below 0 and need not be counted from the end.
            kind, k = columns[c, 0], columns[c, 1] & 0xFFFF
            stop = delimiter if c < width - 1 else LF
            if kind == NUMBER:
                behind, value, is_odd = _number(text, at, stop, suffixes, k, columns[c, 2], tens)
                if behind < 0:
                    behind = _missing(text, at, stop, delimiter, missing, missing_ends, absent, k)
                    value = np.nan
                else:
                    _note(value, is_odd, ends, k)
                numbers[k, row] = value
            elif kind == IDENTITY:
                behind, guess = _identity(text, at, stop, delimiter, k, combo_cells, guess)
                cells[k, 0], cells[k, 1] = at, behind - 1 - at
            else:
                behind = _word(text, at, stop, delimiter, k, slots, words, states)
            if behind < 0:
                return (MORE_WORDS if behind == -MORE_WORDS else NOT_PLAIN), row, c
            at = behind
        if guess < 0:
            guess = _combination(text, cells, combo_slots, combo_cells, combo_state)
            if guess < 0:
                return MORE_WORDS, row, -1
            if last >= 0:
                combos[last, 0] = guess
        combos[guess, 1] += 1
        combo_of[row], time_of[row] = guess, states[0, 1]
        last = guess
        row += 1
    return DONE, row, -1


@compiled(nb.void(_B, _I64_2, _B, _I32))
def gather(text: Any, places: Any, out: Any, offsets: Any) -> None:
    """Copy the words at places (start, size) one behind the other; `offsets` says where each begins."""
    at = 0
    for k in range(len(places)):
        offsets[k] = at
        for n in range(places[k, 1]):
            out[at + n] = text[places[k, 0] + n]
        at += places[k, 1]
    offsets[len(places)] = at
