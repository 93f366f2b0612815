"""Dollars that bought nothing: start-up, work since the last checkpoint, saved work nobody used, holds.

Every dollar is a part of a share of the period, split by time inside its UTC day, so that a run across two
months loses in each month what it lost there.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import pairwise

import pandas as pd

from analysis.frames import Row, known, number, records, text
from analysis.result import Notice
from analysis.shares import Share
from analysis.sharing import week_of
from analysis.words import listing
from data.queries import campaigns as queries
from data.queries.filters import ALL_STEPS
from data.view import View
from models.cents import FULL, apportion, total
from models.lost import AttemptClock, Segment, Step, segments

KIND_WORDS = {
    "start_up": "Start-up before the first step",
    "since_checkpoint": "Work after the last checkpoint that counts",
    "not_used": "Saved work that nothing stands on",
    "after_last_step": "Held after the last step",
    "outside_attempts": "Paid outside any attempt",
    "requeue": "Waiting for the next attempt",
}
HELD = "outside_attempts"
HELD_BY = ("none", "job", "resource", "time", "allocation")
"""How a share without an attempt was matched when that says its GPUs were held outside of all attempts."""
CAUSES = {"start_up": "start-up", "after_last_step": "idle hold", HELD: "idle hold", "requeue": "requeue"}
LOST_NUMBERS = ["usd", "usd_low", "gpu_h", "wall_h"]
LOST = ["run", "attempt", "campaign", "team", "status", "kind", "cause", *LOST_NUMBERS, "weeks", "why"]
LOST += ["resumption"]
BY_NUMBERS = ["usd", "usd_low", "gpu_h"]
BY = ["dimension", "key", *BY_NUMBERS]
DAY_S = 86400.0
EVER = (datetime(1, 1, 1), datetime(9999, 1, 1))
Key = tuple[str, int]


@dataclass
class Loss:
    """One kind of loss of one attempt; amounts by ISO week."""

    run: str
    attempt: int | None
    campaign: str
    team: str
    status: str
    kind: str
    cause: str
    why: str
    sure: bool
    wall_s: float = 0.0
    usd: dict[str, Decimal] = field(default_factory=dict)
    gpu_s: dict[str, float] = field(default_factory=dict)

    @property
    def total(self) -> Decimal:
        """Dollars over all weeks."""
        return total(list(self.usd.values()))


@dataclass(frozen=True)
class Attempts:
    """Attempts with their clocks and lost segments, by (run, attempt)."""

    rows: Mapping[Key, Row]
    segments: Mapping[Key, tuple[Segment, ...]]
    unclear: tuple[str, ...]


def load_attempts(view: View) -> Attempts:
    """Attempts of the home and which of their time bought nothing."""
    rows = {(row["run"], row["attempt"]): row for row in records(queries.attempts(view))}
    steps: dict[Key, list[Step]] = {}
    for row in records(queries.step_clocks(view)):
        step = Step(int(row["step"]), number(row["end_s"]), number(row["step_s"]))
        steps.setdefault((row["run"], row["attempt"]), []).append(step)
    logging = {run for run, _ in steps}
    found = {
        key: tuple(segments(_clock(row, steps.get(key, []), row["run"] in logging)))
        for key, row in rows.items()
    }
    unclear = [row["run"] for key, row in rows.items() if _unclear(row, steps.get(key, []), found[key])]
    return Attempts(rows, found, tuple(dict.fromkeys(unclear)))


def _unclear(row: Row, steps: Sequence[Step], found: Sequence[Segment]) -> bool:
    """Whether an attempt that ended has no end, or neither a clock of its steps nor any lost time."""
    if row["status"] == "running":
        return False
    timed = any(known(step.end_s) for step in steps)
    return not known(_seconds(row["ended_at"])) or not (timed or found)


def _clock(row: Row, steps: list[Step], logs: bool) -> AttemptClock:
    keep = int(row["keep_step"])
    kept = (
        None if keep == ALL_STEPS else -1.0 if keep == -ALL_STEPS else math.nan if keep == -1 else float(keep)
    )
    saved = number(row["saved_step"])
    return AttemptClock(
        _seconds(row["started_at"]), _seconds(row["ended_at"]), row["status"], sorted(steps, key=_by_end),
        kept, int(saved) if known(saved) else None, logs,
    )  # fmt: skip


def _by_end(step: Step) -> tuple[float, int]:
    return (step.end_s if known(step.end_s) else -math.inf, step.step)


def _seconds(moment: object) -> float:
    return math.nan if moment is None or pd.isna(moment) else pd.Timestamp(moment).timestamp()  # type: ignore[arg-type, call-overload]


def losses(
    shares: Sequence[Share], attempts: Attempts, period: tuple[datetime, datetime] = EVER
) -> list[Loss]:
    """Losses with the dollars and GPU-seconds of the shares that lie in them, largest first.

    `period` is [start, end) of the shares: wall time outside of it is not counted.
    """
    span = _seconds(period[0]), _seconds(period[1])
    out: dict[tuple[str, int | None, str], Loss] = {}
    clocked = _clocked(attempts)
    for share in shares:
        if share.run is None or share.kind not in ("gpu", "cpu"):
            continue
        if share.attempt is None:
            if share.run in clocked and share.kind == "gpu" and share.how in HELD_BY:
                loss = out.setdefault((share.run, None, HELD), _outside(share))
                _add(loss, share, share.usd, share.gpu_s or 0.0)
            continue
        row = attempts.rows.get((share.run, share.attempt))
        if row is not None:
            _split(share, row, attempts.segments[share.run, share.attempt], out, span)
    for place, gap_s in _gaps(attempts, span).items():
        mine = next((loss for key, loss in out.items() if key[0] == place[0]), None)
        if mine is not None:
            loss = Loss(
                *place, mine.campaign, mine.team, "", "requeue", "requeue", "no GPU was held", True, gap_s
            )
            out[(*place, "requeue")] = loss
    return sorted(out.values(), key=lambda loss: (-loss.total, loss.run, loss.attempt or 0, loss.kind))


def _clocked(attempts: Attempts) -> set[str]:
    """Runs whose attempts all have a start, and an end unless they run: what lies outside is outside."""
    bad = {
        run
        for (run, _), row in attempts.rows.items()
        if not known(_seconds(row["started_at"]))
        or (row["status"] != "running" and not known(_seconds(row["ended_at"])))
    }
    return {run for run, _ in attempts.rows} - bad


def _outside(share: Share) -> Loss:
    why = "the run pays, but none of its attempts held this"
    names = (share.campaign or "", share.team or "", "")
    return Loss(share.run or "", None, *names, HELD, CAUSES[HELD], why, True)


def _split(
    share: Share,
    row: Row,
    found: Sequence[Segment],
    out: dict[tuple[str, int | None, str], Loss],
    span: tuple[float, float],
) -> None:
    """Give each segment its part of a share by the seconds of the share's day that lie in it."""
    first, last = _seconds(row["started_at"]), _seconds(row["ended_at"])
    day = (first, last) if share.day is None else _day(share.day)
    held = min(last, day[1]) - max(first, day[0])
    if not found or not held > 0:
        return
    inside = [max(0.0, min(s.end_s, day[1]) - max(s.start_s, day[0])) for s in found]
    rest = max(0.0, held - math.fsum(inside))
    parts = apportion(share.usd, [*inside, rest], FULL)[:-1]
    for segment, seconds, usd in zip(found, inside, parts, strict=True):
        if seconds > 0:
            key = (share.run or "", share.attempt, segment.kind)
            loss = out.setdefault(key, _loss(share, row, segment, span))
            _add(loss, share, usd, (share.gpu_s or 0.0) * seconds / held)


def _day(day: date) -> tuple[float, float]:
    start = datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()
    return start, start + DAY_S


def _loss(share: Share, row: Row, segment: Segment, span: tuple[float, float]) -> Loss:
    inside = max(0.0, min(segment.end_s, span[1]) - max(segment.start_s, span[0]))
    whole = segment.start_s <= _seconds(row["started_at"]) and segment.end_s >= _seconds(row["ended_at"])
    cause = ("" if whole else CAUSES.get(segment.kind)) or text(row["cause"]) or row["status"]
    return Loss(
        share.run or "", share.attempt, share.campaign or "", share.team or "", row["status"], segment.kind,
        cause, segment.why, segment.sure, inside,
    )  # fmt: skip


def _add(loss: Loss, share: Share, usd: Decimal, gpu_s: float) -> None:
    week = week_of(share.day)
    loss.usd[week] = loss.usd.get(week, Decimal(0)) + usd
    loss.gpu_s[week] = loss.gpu_s.get(week, 0.0) + gpu_s


def _gaps(attempts: Attempts, span: tuple[float, float]) -> dict[Key, float]:
    """Seconds inside `span` from the end of an attempt to the start of the next one, by (run, attempt)."""
    out: dict[Key, float] = {}
    ordered = sorted(attempts.rows, key=lambda key: (key[0], _start(attempts.rows[key]), key[1]))
    for before, after in pairwise(ordered):
        end, start = _seconds(attempts.rows[before]["ended_at"]), _seconds(attempts.rows[after]["started_at"])
        wait = min(start, span[1]) - max(end, span[0])
        if before[0] == after[0] and start > end and wait > 0:
            out[before] = wait
    return out


def _start(row: Row) -> float:
    start = _seconds(row["started_at"])
    return start if known(start) else math.inf


def lost_rows(found: Sequence[Loss]) -> list[Row]:
    """Rows LOST; wall_h, dollars and GPU-hours are those of the period."""
    return [
        {
            "run": loss.run, "attempt": loss.attempt, "campaign": loss.campaign, "team": loss.team,
            "status": loss.status, "kind": loss.kind, "cause": loss.cause, "usd": loss.total,
            "usd_low": loss.total if loss.sure else Decimal(0),
            "gpu_h": math.fsum(loss.gpu_s.values()) / 3600,
            "wall_h": loss.wall_s / 3600 if loss.wall_s else None, "weeks": ", ".join(sorted(loss.usd)),
            "why": loss.why,
        }
        for loss in found
    ]  # fmt: skip


def by_dimension(found: Sequence[Loss]) -> list[Row]:
    """Rows BY: losses by cause, kind, team, campaign and week, largest first in each."""
    sums: dict[tuple[str, str], list[tuple[Decimal, bool, float]]] = {}
    for loss in found:
        for week, usd in loss.usd.items():
            parts = {"cause": loss.cause, "kind": loss.kind, "team": loss.team, "campaign": loss.campaign}
            for name, key in {**parts, "week": week}.items():
                sums.setdefault((name, key), []).append((usd, loss.sure, loss.gpu_s.get(week, 0.0)))
    rows: list[Row] = [
        {
            "dimension": name, "key": key, "usd": total([usd for usd, _, _ in parts]),
            "usd_low": total([usd for usd, sure, _ in parts if sure]),
            "gpu_h": math.fsum(gpu_s for _, _, gpu_s in parts) / 3600,
        }
        for (name, key), parts in sums.items()
    ]  # fmt: skip
    return sorted(rows, key=lambda row: (row["dimension"], -row["usd"], row["key"]))


def lost_notices(attempts: Attempts, used: set[str]) -> list[Notice]:
    """Runs of the period whose lost time is not known, or only bounded."""
    out = []
    unclear = [run for run in attempts.unclear if run in used]
    if unclear:
        words = (
            f"What {listing(unclear)} lost is not known: an attempt has no end, or no step has a clock. It "
            "counts as nothing lost."
        )
        out.append(Notice("lost_unknown", words, "; ".join(unclear)))
    open_runs = sorted(
        {
            run
            for (run, _), found in attempts.segments.items()
            if run in used and any(not s.sure for s in found)
        }
    )
    if open_runs:
        words = (
            f"No checkpoint is known of an interrupted attempt of {listing(open_runs)}, so all its steps "
            "count as lost: an upper bound."
        )
        out.append(Notice("lost_upper_bound", words, "; ".join(open_runs)))
    return out
