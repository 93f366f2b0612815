"""What rests on a resumption that nobody stated: attempts kept because of step numbers, and its bound."""

import math
from collections.abc import Collection, Mapping, Sequence
from decimal import Decimal

from analysis.frames import Row, known, number
from analysis.result import Notice
from models.cents import cents, total

Key = tuple[str, int]
ASSUMED = "assumed from step numbers"
WHOLE = ("completed", "running")
CODE = "resumption_assumed"
REMEDY = "To settle it, give \"resumed from step\" under 'Attempts and how they ended' in its run details."


def resting(tries: Mapping[Key, Row]) -> set[Key]:
    """Interrupted attempts of which a part counts as surviving only if an assumed resumption is right.

    `tries`: attempts by (run, attempt) with status, kept_frac, resumed_from_attempt and resumed_assumed.
    """
    found: set[Key] = set()
    for (run, _), row in tries.items():
        if not row["resumed_assumed"]:
            continue
        parent = _parent(run, row)
        while parent in tries and parent not in found and tries[parent]["status"] not in WHOLE:
            if not number(tries[parent]["kept_frac"]) > 0:
                break
            found.add(parent)
            parent = _parent(run, tries[parent])
    return found


def _parent(run: str, row: Row) -> Key:
    parent = number(row["resumed_from_attempt"])
    if not known(parent):
        parent = row["attempt"] - 1 if known(number(row["resumed_from_step"])) else -1
    return run, int(parent)


def resumption_notices(rows: Sequence[Row], tries: Mapping[Key, Row]) -> list[Notice]:
    """A sentence a run: what was assumed, what counts as lost (USD), and the most that it could be.

    The least is what counts: an attempt did its first logged step anew, so it stands on nothing later. The
    most is all of the attempts that rest on the assumption.
    """
    rest = resting(tries)
    out = []
    for run in sorted({run for run, _ in rest}):
        mine = [row for row in rows if (row["run"], row["attempt"]) in rest and row["run"] == run]
        least = math.fsum(row["usd"] - row["usd_kept"] for row in mine)
        most = math.fsum(row["usd"] for row in mine)
        bound = ""
        if known(most):
            bound = f" ${least:,.2f} counts as lost; from nothing, up to ${most:,.2f} would be."
        out.append(Notice(CODE, f"{_assumed(run, tries, rest)}{bound} {REMEDY}", run))
    return out


def paid_notices(tries: Mapping[Key, Row], usd: Mapping[Key, Decimal]) -> list[Notice]:
    """The same of what was paid in a period: `usd` by attempt, as the bill has it, of which any are named."""
    rest = resting(tries)
    out = []
    for run in sorted({run for run, _ in rest & set(usd)}):
        most = cents(total([amount for key, amount in usd.items() if key in rest and key[0] == run]))
        words = (
            f"{_assumed(run, tries, rest)} Lost and productive work rest on it: from nothing, up to "
            f"${most:,} of this period would be lost. {REMEDY}"
        )
        out.append(Notice(CODE, words, run))
    return out


def _assumed(run: str, tries: Mapping[Key, Row], rest: Collection[Key]) -> str:
    said = [
        f"attempt {attempt} from step {int(row['resumed_from_step'])} of attempt "
        f"{int(row['resumed_from_attempt'])}"
        for (name, attempt), row in sorted(tries.items())
        if name == run and row["resumed_assumed"] and _parent(run, row) in rest
    ]
    return f"Where {run} resumed is {ASSUMED}, no file says it: {', '.join(said)}."
