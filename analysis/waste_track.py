"""Phases of one run over time, and which of their conditions its log does not meet."""

import pandas as pd

from analysis.frames import table
from analysis.result import Notice
from data.queries import waste as queries
from data.view import View

TRACK = ["start", "end", "step_first", "step_last", "pool", "phase", "seconds", "frac"]
TRACK_BINS = 150
NO_TRACK = "no_track"


def track_of(view: View, run: str) -> tuple[pd.DataFrame, list[Notice]]:
    """Rows of TRACK of a run, and a notice (NO_TRACK) that says what is missing where there is none."""
    if not run:
        return table([], TRACK), []
    rows = queries.track(view, run, TRACK_BINS)
    return rows, [] if len(rows) else [Notice(NO_TRACK, _why(run, queries.track_gaps(view, run)), run)]


def _why(run: str, has: dict[str, int]) -> str:
    if not has["steps"]:
        return f"No step of {run} is loaded, so there are no phases to lay over time: load its training log."
    if not has["phases"] and not has["timed"]:
        return f"The log of {run} has no step times and no timers of phases."
    if not has["phases"]:
        return f"The log of {run} times its steps, but no phase of them: log timers such as timing_s/gen."
    if not has["placed"]:
        return (
            f"The log of {run} times the phases of its steps, but says of no step at what time of day it "
            "was: Rollouts shows them by step."
        )
    return f"The log of {run} times phases, but of no step that has both a length and a time of day."
