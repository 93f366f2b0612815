"""Runs and attempts behind what a campaign, team or week costs: rows in cents that add up to its cells."""

import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from analysis.frames import Row
from analysis.sharing import LINE_WORDS, Line, week_of
from models.cents import to_cents, total

NUMBERS = ["gpu_h", "usd"]
BEHIND = ["campaign", "team", "week", "what", "run", "attempt", "job", "status", *NUMBERS]
Cell = tuple[tuple[str, str], str, str]
Holder = tuple[str, int | None, str]


def behind(
    lines: Sequence[Line], cells: Mapping[Cell, Decimal], attempts: Mapping[tuple[str, int], Row]
) -> list[Row]:
    """Rows BEHIND: the dollars of each cell (bearer, line, week) by run, attempt and scheduler job."""
    groups: dict[Cell, dict[Holder, list[Line]]] = {}
    for line in lines:
        cell = (line.campaign, line.team), line.line, week_of(line.share.day)
        holder = line.share.run or "", line.share.attempt, "" if line.share.run else line.share.job or ""
        groups.setdefault(cell, {}).setdefault(holder, []).append(line)
    out: list[Row] = []
    for (bearer, kind, week), holders in groups.items():
        sums = [total([line.usd for line in mine]) for mine in holders.values()]
        amounts = to_cents(sums, cells[bearer, kind, week])
        for ((run, attempt, job), mine), usd in zip(holders.items(), amounts, strict=True):
            held = [line.share.gpu_s or 0.0 for line in mine if line.share.kind == "gpu" and not line.rule]
            about: Mapping[str, Any] = attempts.get((run, attempt), {}) if attempt is not None else {}
            out.append(
                {"campaign": bearer[0], "team": bearer[1], "week": week, "what": LINE_WORDS[kind],
                 "run": run, "attempt": attempt, "job": job, "status": about.get("status") or "",
                 "gpu_h": math.fsum(held) / 3600, "usd": usd}
            )  # fmt: skip
    return sorted(out, key=_order)


def _order(row: Row) -> tuple[Any, ...]:
    return (row["campaign"], row["team"], row["week"], -row["usd"], row["run"], row["attempt"] or 0)
