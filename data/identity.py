"""Which run and which attempt the rows of a file belong to."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import duckdb
import pandas as pd

from data.attempt_match import Evidence, clock_goes_on, evidence, fingerprint
from data.errors import UserError
from data.names import run_name_of, unnamed
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


@dataclass
class Identity:
    """Local names -> names in the home, and the sentences that say what was decided."""

    runs: dict[str, str] = field(default_factory=dict)
    attempts: dict[Local, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    explicit: bool = False
    """The file names its attempts itself (our own templates): they are taken at their word."""

    def attempt(self, run: str, local_attempt: int) -> int:
        """Attempt in the home; local attempts that carry no step rows keep their number."""
        return self.attempts.get((run, local_attempt), local_attempt)


def identify(con: duckdb.DuckDBPyConnection, batch: Batch, name: str, choices: Choices) -> Identity:
    """Decide runs and attempts of a batch against what is stored.

    Run: the person's choice, else the name inside the file, else a stored attempt with equal step rows, else
    the file's stem. Attempt: the stored one whose overlapping rows are equal or that these rows continue,
    else a new one. Raises UserError when one run name is chosen for a file that holds several runs.
    """
    found = Identity(explicit=_names_attempts(batch))
    locals_ = _local_runs(batch)
    if choices.run and len(locals_) > 1:
        raise UserError(
            f"The file holds {len(locals_)} runs ({', '.join(locals_[:5])}), one name was chosen",
            name,
            "Leave the run name open, or split the file.",
        )
    for local in locals_:
        found.runs[local] = choices.run or _run_name(con, batch, local, name, found.notes)
    for local in locals_:
        _attempts(con, batch, local, found)
    return found


def apply(con: duckdb.DuckDBPyConnection, batch: Batch, identity: Identity, choices: Choices) -> None:
    """Rewrite the keys `run` and `attempt` in every table of the batch.

    Rows of a file that has no step rows and names no attempts go to the last attempt that holds their step.
    """
    for table, frame in batch.tables.items():
        if table == "gpus" and choices.run:
            batch.tables[table] = frame.assign(run=choices.run)
        elif "run" in frame:
            batch.tables[table] = _renamed(frame, identity)
            if "resumed_from_attempt" in frame:
                parents = _attempt_numbers(frame, "resumed_from_attempt", identity)
                batch.tables[table] = batch.tables[table].assign(resumed_from_attempt=parents)
    if not identity.explicit and "steps" not in batch.tables and "metric_raw" not in batch.tables:
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


def _run_name(
    con: duckdb.DuckDBPyConnection, batch: Batch, local: str, file_name: str, notes: list[str]
) -> str:
    stem = run_name_of(file_name)
    if local and (batch.names_runs or not unnamed(local, file_name)):
        return local
    twin = fingerprint(con, batch, local)
    if twin is not None:
        if twin != stem:
            notes.append(f"Step rows equal those of run {twin}: the file extends that run.")
        return twin
    notes.append(f"The file names no run: it is called {stem} after the file.")
    return stem


def _attempts(con: duckdb.DuckDBPyConnection, batch: Batch, local: str, found: Identity) -> None:
    run = found.runs[local]
    resumed = _resumed(batch, local)
    floor = 0
    for number in _local_attempts(batch, local):
        if found.explicit:
            found.attempts[(local, number)] = number
            continue
        seen = evidence(con, batch, local, number, run)
        chosen = _choose(con, run, (local, number), seen, floor, resumed.get(number))
        if chosen is None:
            chosen = _next_attempt(con, run, floor)
            if seen:
                found.notes.append(_why_new(run, chosen, seen, resumed.get(number)))
        found.attempts[(local, number)] = floor = chosen


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
) -> int | None:
    """The stored attempt that these rows belong to, None for a new one."""
    free = [e for e in seen if e.attempt > floor]
    equal = [e for e in free if e.overlap and not e.different]
    if equal:
        return max(equal, key=lambda e: (e.compared, e.overlap, e.attempt)).attempt
    other_log = [
        e for e in free if e.other_overlap and e.other_far <= 0.2 * e.other_overlap and not e.overlap
    ]
    if other_log:
        return max(other_log, key=lambda e: (e.other_overlap - e.other_far, e.attempt)).attempt
    if resumed_from is not None or not free:
        return None
    latest = max(free, key=lambda e: e.attempt)
    apart = not latest.overlap and not latest.other_overlap
    if apart and clock_goes_on(con, *local, run, latest.attempt):
        return latest.attempt
    return None


def _next_attempt(con: duckdb.DuckDBPyConnection, run: str, floor: int) -> int:
    return max(sql_number(con, "SELECT max(attempt) FROM attempt_sources WHERE run = ?", [run]), floor) + 1


def _why_new(run: str, attempt: int, seen: list[Evidence], resumed_from: int | None) -> str:
    latest = max(seen, key=lambda e: e.attempt)
    if resumed_from is not None:
        reason = f"it resumes from step {resumed_from}"
    elif latest.different:
        reason = f"{latest.different} of {latest.compared} overlapping steps have other values"
    else:
        reason = "its clock starts again"
    advice = "If it is another run, undo this upload and name the run."
    return f"Opened attempt {attempt} of run {run}: {reason}. {advice}"


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
    codes, pairs = pd.MultiIndex.from_frame(frame[["run", column]]).factorize()
    numbers = [None if pd.isna(a) or pd.isna(r) else identity.attempt(str(r), int(a)) for r, a in list(pairs)]
    table = pd.Series([*numbers, None], dtype="Int64")
    return table.iloc[codes].set_axis(frame.index)


def _mapped(names: "pd.Series[str]", mapping: Mapping[str, str]) -> "pd.Series[str]":
    return names.map(lambda n: n if pd.isna(n) else mapping.get(str(n), str(n)))
