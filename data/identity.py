"""Which run and which attempt the rows of a file belong to."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import duckdb
import numpy as np
import pandas as pd

from data.arrival.names import run_name_of, unnamed
from data.attempt_match import Evidence, clock_goes_on, evidence, fingerprint, partner
from data.errors import UserError
from data.job_runs import said_by_file
from data.join import NEW_ATTEMPT, Join
from data.readers.base import Batch, Choices
from data.sql import number as sql_number

RUN_TABLES = (
    "runs",
    "attempts",
    "allocations",
    "steps",
    "step_phases",
    "metric_raw",
    "length_hist",
    "checkpoints",
    "evals",
    "env_events",
    "gpus",
    "scheduler_jobs",
    "costs",
)
"""Tables whose rows may name a run; all but the first seven may leave it empty."""

BY_STEP = frozenset({"step_phases", "length_hist", "evals", "checkpoints"})

Local = tuple[str, int]
Why = tuple[str, float, str]
"""By what, how sure (0..1), and the sentence after "because"."""
SHOWN_JOINS = 60


@dataclass
class Identity:
    """Local names -> names in the home, and the sentences that say what was decided."""

    runs: dict[str, str] = field(default_factory=dict)
    attempts: dict[Local, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    explicit: bool = False
    """The file names its attempts itself (our own templates): they are taken at their word."""
    joins: list[dict[str, object]] = field(default_factory=list)
    """Run and attempt of each local attempt, with `by`, `confidence` and the sentence `why`."""

    def attempt(self, run: str, local_attempt: int) -> int:
        """Attempt in the home; local attempts that carry no step rows keep their number."""
        return self.attempts.get((run, local_attempt), local_attempt)


def identify(
    con: duckdb.DuckDBPyConnection, batch: Batch, name: str, choices: Choices, join: Join | None = None
) -> Identity:
    """Decide runs and attempts of a batch against what is stored.

    Run: the person's choice, else the name inside the file, else a stored attempt with equal step rows, else
    the file's stem. Attempt: the stored one whose overlapping rows are equal or that these rows continue,
    else a new one. A `join` wins over both; its run is in `choices`. Raises UserError when one run name is
    chosen for a file that holds several runs.
    """
    found = Identity(explicit=_names_attempts(batch))
    locals_ = _local_runs(batch)
    if choices.run and len(locals_) > 1:
        raise UserError(
            f"The file holds {len(locals_)} runs ({', '.join(locals_[:5])}), one name was chosen",
            name,
            "Leave the run name open, or split the file.",
        )
    why: dict[str, Why] = {}
    for local in locals_:
        found.runs[local], why[local] = _named(con, batch, local, name, choices, join, found.notes)
    for local in locals_:
        if set(batch.tables) == {"scheduler_jobs"}:
            _joined(
                found, found.runs[local], None, why[local], 1.0, "each job is an attempt by its own clock"
            )
        else:
            _attempts(con, batch, local, found, join, why[local])
    return found


def apply(
    con: duckdb.DuckDBPyConnection,
    batch: Batch,
    identity: Identity,
    choices: Choices,
    join: Join | None = None,
) -> None:
    """Rewrite the keys `run` and `attempt` in every table of the batch.

    Rows of a file that has no step rows and names no attempts go to the last attempt that holds their step.
    """
    for table, frame in batch.tables.items():
        if table == "gpus" and choices.run:
            batch.tables[table] = frame.assign(run=choices.run)
            if join is not None and join.attempt is not None:
                attempt = max(identity.attempts.values())
                batch.tables[table] = batch.tables[table].assign(attempt=attempt)
        elif "run" in frame:
            batch.tables[table] = _renamed(frame, identity)
            if "resumed_from_attempt" in frame:
                parents = _attempt_numbers(frame, "resumed_from_attempt", identity)
                batch.tables[table] = batch.tables[table].assign(resumed_from_attempt=parents)
    if "scheduler_jobs" in batch.tables:
        batch.tables["scheduler_jobs"] = said_by_file(batch.tables["scheduler_jobs"])
    told = identity.explicit or (join is not None and join.attempt is not None)
    if not told and not _has_steps(batch):
        for table in BY_STEP & set(batch.tables):
            batch.tables[table] = _attempt_by_step(con, batch.tables[table])
    batch.proposals = [
        type(p)(identity.runs.get(p.run, p.run), p.field, p.value, p.how) for p in batch.proposals
    ]


def _local_runs(batch: Batch) -> list[str]:
    names: dict[str, None] = {}
    for table in RUN_TABLES:
        frame = batch.tables.get(table)
        if frame is not None and "run" in frame:
            names.update(dict.fromkeys(str(r) for r in frame["run"].dropna().unique()))
    return list(names)


def _named(
    con: duckdb.DuckDBPyConnection,
    batch: Batch,
    local: str,
    file_name: str,
    choices: Choices,
    join: Join | None,
    notes: list[str],
) -> tuple[str, Why]:
    if join is not None and join.run:
        return join.run, (join.by, join.confidence, join.why)
    if choices.run:
        return choices.run, ("name", 1.0, "the run was named with the upload")
    stem = run_name_of(file_name)
    if local and (batch.names_runs or not unnamed(local, file_name)):
        return local, ("name", 1.0, "the file names the run")
    twin = fingerprint(con, batch, local)
    if twin is not None:
        if twin != stem:
            notes.append(f"Step rows equal those of run {twin}: the file extends that run.")
        return twin, ("rows", 0.95, "its step rows equal those of the run")
    notes.append(f"The file names no run: it is called {stem} after the file.")
    other = partner(con, local)
    if other is not None and other != stem:
        notes.append(
            f"Run {other} holds the log of another process with the same steps at the same time: if both are "
            f"one run, choose 'Belongs to another run' on its card and join it to {other}."
        )
    return stem, ("file name", 0.7, "the file names no run, so it is called after the file or its folder")


def _attempts(
    con: duckdb.DuckDBPyConnection, batch: Batch, local: str, found: Identity, join: Join | None, why: Why
) -> None:
    run = found.runs[local]
    resumed = _resumed(batch, local)
    floor = 0
    for number in _local_attempts(batch, local):
        sure, reason = 1.0, "the file numbers its attempts"
        if join is not None and join.attempt is not None:
            fresh = join.attempt == NEW_ATTEMPT
            chosen = _next_attempt(con, run, floor) if fresh else max(int(join.attempt), floor + 1)
            reason = ""
        elif found.explicit:
            chosen = number
        else:
            seen = evidence(con, batch, local, number, run)
            picked, sure, reason = _choose(con, run, (local, number), seen, floor, resumed.get(number), batch)
            chosen = _next_attempt(con, run, floor) if picked is None else picked
            if picked is None and seen:
                reason = _why_new(seen, resumed.get(number))
                found.notes.append(f"Opened attempt {chosen} of run {run}: {reason}. {_ADVICE}")
        found.attempts[(local, number)] = floor = chosen
        whole_run = join is not None and join.attempt is None and not _has_steps(batch)
        _joined(found, run, None if whole_run else chosen, why, sure, reason)


def _has_steps(batch: Batch) -> bool:
    return "steps" in batch.tables or "metric_raw" in batch.tables


def _joined(found: Identity, run: str, attempt: int | None, why: Why, sure: float, reason: str) -> None:
    by, named, sentence = why
    joined: dict[str, object] = {
        "run": run,
        "attempt": attempt,
        "by": by,
        "confidence": round(min(named, sure), 2),
        "why": f"{sentence}; {reason}" if reason else sentence,
    }
    if len(found.joins) < SHOWN_JOINS and joined not in found.joins:
        found.joins.append(joined)


def _names_attempts(batch: Batch) -> bool:
    return batch.format.startswith("ipd_") and any(
        name.split(".")[-1] == "attempt" for name in batch.mapped.values()
    )


def _choose(
    con: duckdb.DuckDBPyConnection,
    run: str,
    local: Local,
    seen: list[Evidence],
    floor: int,
    resumed_from: int | None,
    batch: Batch,
) -> tuple[int | None, float, str]:
    """The stored attempt that these rows belong to (None for a new one), how sure (0..1), and why."""
    free = [e for e in seen if e.attempt > floor]
    equal = [e for e in free if e.overlap and not e.different]
    if equal:
        best = max(equal, key=lambda e: (e.compared, e.overlap, e.attempt))
        return best.attempt, 0.99, f"{_steps(best.overlap)} with attempt {best.attempt} and equal values"
    other_log = [
        e for e in free if e.other_overlap and e.other_far <= 0.2 * e.other_overlap and not e.overlap
    ]
    if other_log:
        best = max(other_log, key=lambda e: (e.other_overlap - e.other_far, e.attempt))
        agree = f"{_steps(best.other_overlap)} with another log of attempt {best.attempt} that agrees"
        return best.attempt, 0.9, agree
    if resumed_from is not None or not free:
        return None, 1.0 if not seen else 0.9, "it is the first file of the run" if not seen else ""
    latest = max(free, key=lambda e: e.attempt)
    apart = not latest.overlap and not latest.other_overlap
    clocks = ("ts",) if batch.clock_from_stamps else ("elapsed_s", "ts")
    if apart and clock_goes_on(con, *local, run, latest.attempt, clocks):
        has_steps = _has_steps(batch)
        goes_on = f"its rows go on where attempt {latest.attempt} stands"
        return latest.attempt, 0.8 if has_steps else 1.0, goes_on if has_steps else ""
    return None, 0.9, ""


def _steps(n: int) -> str:
    return f"it shares {n} step{'s' if n > 1 else ''}"


def _next_attempt(con: duckdb.DuckDBPyConnection, run: str, floor: int) -> int:
    return max(sql_number(con, "SELECT max(attempt) FROM attempt_sources WHERE run = ?", [run]), floor) + 1


_ADVICE = "If it is another run, choose 'Belongs to another run' on its card."


def _why_new(seen: list[Evidence], resumed_from: int | None) -> str:
    latest = max(seen, key=lambda e: e.attempt)
    if resumed_from is not None:
        return f"it resumes from step {resumed_from}"
    if latest.different:
        return f"{latest.different} of {latest.compared} overlapping steps have other values"
    return "its clock starts again"


def _resumed(batch: Batch, local: str) -> dict[int, int]:
    frame = batch.tables.get("attempts")
    if frame is None or "resumed_from_step" not in frame:
        return {}
    rows = frame[(frame["run"] == local) & frame["resumed_from_step"].notna()]
    return {int(a): int(s) for a, s in zip(rows["attempt"], rows["resumed_from_step"], strict=True)}


def _local_attempts(batch: Batch, local: str) -> list[int]:
    numbers: set[int] = set()
    for table in RUN_TABLES:
        frame = batch.tables.get(table)
        if frame is not None and {"run", "attempt"} <= set(frame.columns):
            numbers.update(int(a) for a in frame.loc[frame["run"] == local, "attempt"].dropna().unique())
    return sorted(numbers) or [1]


def _renamed(frame: pd.DataFrame, identity: Identity) -> pd.DataFrame:
    if "attempt" not in frame:
        return frame.assign(run=_mapped(frame["run"], identity.runs))
    return frame.assign(
        run=_mapped(frame["run"], identity.runs), attempt=_attempt_numbers(frame, "attempt", identity)
    )


def _attempt_by_step(con: duckdb.DuckDBPyConnection, frame: pd.DataFrame) -> pd.DataFrame:
    if not {"run", "attempt", "step"} <= set(frame.columns):
        return frame
    held = con.execute(
        "SELECT run, step, max(attempt) AS held FROM steps "
        "WHERE run IN (SELECT unnest(?::VARCHAR[])) GROUP BY ALL",
        [[str(r) for r in frame["run"].dropna().unique()]],
    ).fetchall()
    known = {(run, step): attempt for run, step, attempt in held}
    numbers = [
        known.get((run, None if pd.isna(step) else int(step)), attempt)
        for run, step, attempt in zip(frame["run"], frame["step"], frame["attempt"], strict=True)
    ]
    return frame.assign(attempt=pd.Series(numbers, index=frame.index, dtype="Int64"))


def _attempt_numbers(frame: pd.DataFrame, column: str, identity: Identity) -> pd.Series:
    """Numbers in the home for a column of local attempt numbers; empty cells stay empty."""
    run_codes, runs = pd.factorize(frame["run"])
    local_codes, locals_ = pd.factorize(frame[column])
    known = (run_codes >= 0) & (local_codes >= 0)
    pairs, at = np.unique((run_codes * len(locals_) + local_codes)[known], return_inverse=True)
    met = [(str(runs[p // len(locals_)]), int(locals_[p % len(locals_)])) for p in pairs]
    numbers = np.zeros(len(frame), dtype=np.int64)
    numbers[known] = np.array([identity.attempt(*pair) for pair in met], dtype=np.int64)[at]
    return pd.Series(pd.array(numbers, dtype="Int64"), index=frame.index).where(known)


def _mapped(names: "pd.Series[str]", mapping: Mapping[str, str]) -> "pd.Series[str]":
    return names.map(lambda n: n if pd.isna(n) else mapping.get(str(n), str(n)))
