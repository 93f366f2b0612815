"""Lines of a bill opened up: who bears each of them, and the ones that nothing explains."""

from collections.abc import Mapping, Sequence
from decimal import Decimal

import pandas as pd

from analysis.billlines import Line, is_open
from analysis.frames import Row, records, table
from analysis.linecents import LineCents
from analysis.parts import Part
from analysis.reconciled import UNMATCHED, place_of
from models.cents import exact, to_cents, total

NUMBERS = ["gpu_hours", "usd"]
BEARERS = ["line", "run", "attempt", "job", "campaign", "team", "how", *NUMBERS]


def open_lines(lines: Sequence[Line], shown: Mapping[int, LineCents]) -> pd.DataFrame:
    """Lines that nothing explains, the largest amount first; `unmatched_usd` adds up to `Sums.open`."""
    rows: list[Row] = [
        {**place_of(line.charge), "kind": line.charge.kind, "why": line.why,
         "unmatched_usd": float(shown[line.charge.number].unmatched)}
        for line in lines if is_open(line)
    ]  # fmt: skip
    rows.sort(key=lambda row: (-abs(row["unmatched_usd"]), row["line"]))
    return table(rows, UNMATCHED, ["unmatched_usd"])


def bearers(lines: Sequence[Line], shown: pd.DataFrame) -> pd.DataFrame:
    """Who bears each line of table `lines` (`shown`), nobody included; parts of a line add up to it."""
    named = records(shown.dropna(subset=["line"]))
    amounts = {int(row["line"]): (row["matched_usd"], row["unmatched_usd"]) for row in named}
    rows: list[Row] = []
    for line in lines:
        number = line.charge.number
        if number in amounts:
            for borne, whole in zip((True, False), amounts[number], strict=True):
                mine = [part for part in line.parts if part.borne is borne]
                rows += _split(number, mine, exact(whole))
    rows.sort(key=lambda row: (row["line"], -abs(row["usd"])))
    return table(rows, BEARERS, NUMBERS)


def _split(number: int, parts: Sequence[Part], whole: Decimal) -> list[Row]:
    groups: dict[tuple[object, ...], list[Part]] = {}
    for part in parts:
        job = None if part.run else part.job
        key = part.run, part.attempt, job, part.campaign, part.team, part.how
        groups.setdefault(key, []).append(part)
    amounts = (
        to_cents([total([part.usd for part in mine]) for mine in groups.values()], whole) if groups else []
    )
    return [
        {"line": number, **dict(zip(BEARERS[1:7], key, strict=True)), "usd": usd, "gpu_hours": _hours(mine)}
        for (key, mine), usd in zip(groups.items(), amounts, strict=True)
        if usd or _hours(mine)
    ]  # fmt: skip


def _hours(parts: Sequence[Part]) -> float:
    return sum(part.gpu_s or 0.0 for part in parts) / 3600
