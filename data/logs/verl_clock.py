"""The clock of a verl console whose step lines carry stamps."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from data.logs.flat_clock import LONGEST_LEAD_S
from data.logs.log_clock import LogClock
from data.logs.verl_attempts import Attempt, is_training

STEP_SECONDS = ("timing_s/step", "perf/time_per_step")


@dataclass(frozen=True)
class StampedSteps:
    """Seconds from the start of an attempt to the end of each step; `started_at` in UTC or unknown."""

    elapsed_s: dict[int, float]
    started_at: datetime | None


def place_steps(
    attempts: Sequence[Attempt], clock: LogClock, moments: dict[int, datetime]
) -> dict[int, StampedSteps]:
    """Clocks by attempt, of those whose trained steps are all stamped (`moments`: line -> stamp as printed).

    The start is the first stamp of the attempt, but not later than the first step needs to end at its stamp.
    """
    placed = {}
    for attempt in attempts:
        trained = [record for record in attempt.records if is_training(record)]
        if not trained or any(record.line not in moments for record in trained):
            continue
        first = trained[0]
        ended = moments[first.line]
        lead = next((s for key in STEP_SECONDS if (s := first.values.get(key, 0.0)) > 0), 0.0)
        start = ended - timedelta(seconds=min(lead, LONGEST_LEAD_S))
        begun = next((at for line, at in clock.stamps if attempt.start_line <= line <= first.line), start)
        if (begun.tzinfo is None) == (start.tzinfo is None):
            start = min(begun, start)
        elapsed = {r.step: (_plain(moments[r.line]) - _plain(start)).total_seconds() for r in trained}
        if max(elapsed.values()) > 0 and min(elapsed.values()) >= 0:
            placed[attempt.number] = StampedSteps(elapsed, clock.utc(start))
    return placed


def _plain(moment: datetime) -> datetime:
    return moment.replace(tzinfo=None)
