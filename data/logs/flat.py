"""The engine for RL logs that are rows of raw metric keys, whatever the framework and the file format."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

import pandas as pd

from data.logs.flat_attempts import DUPLICATE, FlatAttempt, Row, split
from data.logs.flat_clock import begin_with_first_step, clock_of_stamps, not_below_steps
from data.logs.flat_facts import flat_facts, flat_proposals, flat_warnings
from data.logs.flat_frames import length_rows, raw_rows
from data.logs.flat_map import SFT, Mapping, add_attempt
from data.logs.flat_modes import algorithm_of, measured_mode, mode_of
from data.logs.framework import framework_of
from data.logs.keymap import EvalKey, KeyRule
from data.logs.verl import Tables, settle_score_kinds
from data.readers.base import Batch, Proposal, SetAside, Source

__all__ = ["FlatFile", "FlatRun", "Row", "framework_of", "make_batch"]


@dataclass
class FlatRun:
    """One run of a file, its rows in file order.

    `framework`, `mode`: as in data/schema/keymap.csv; None: told from the keys. `pool`: trainer or
    orchestrator where two processes write the same key names. `elapsed_s`: the run's own clock at its end.
    `whole`: the rows are last values of a finished run, as a summary holds them: amounts of single steps
    (seconds, tokens of a step) say nothing of the run and stay raw metrics. `rules`, `scores`: what a person
    said the keys are; they replace the key map.
    """

    run: str
    rows: list[Row]
    framework: str | None = None
    mode: str | None = None
    algorithm: str | None = None
    llm: str | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    elapsed_s: float | None = None
    elapsed_basis: str | None = None
    status: str = "unknown"
    proposals: list[Proposal] = field(default_factory=list)
    pool: str | None = None
    whole: bool = False
    rules: dict[str, KeyRule] | None = None
    scores: dict[str, EvalKey] = field(default_factory=dict)


@dataclass
class FlatFile:
    """What a reader hands over besides runs; `records` counts all, `facts` win over those of the engine."""

    format: str
    source_name: str
    records: int
    ignored: Counter[str] = field(default_factory=Counter)
    set_aside: list[SetAside] = field(default_factory=list)
    partial_last_line: int = 0
    warnings: list[str] = field(default_factory=list)
    names_runs: bool = False
    facts: dict[str, object] = field(default_factory=dict)


def make_batch(file: FlatFile, runs: list[FlatRun], source: Source) -> Batch:
    """Coalesce, split, map, count and judge; `Batch.reconcile` has been called.

    Raises RuntimeError when the reader's numbers of records do not add up.
    """
    tables = Tables()
    batch = Batch(file.format, records=file.records, names_runs=file.names_runs)
    ignored = Counter(file.ignored)
    done = [_run(run, file, tables, ignored) for run in runs]
    settle_score_kinds(tables)
    batch.ignored = ignored
    batch.set_aside = file.set_aside + tables.set_aside
    whole = sum(1 for item in batch.set_aside if item.column is None)
    batch.stored = file.records - whole - sum(ignored.values())
    batch.tables = _frames(tables, done)
    batch.resumed_assumed = {
        (one.run.run, a.number) for one in done for a in one.attempts if a.resumed_from_step is not None
    }
    for one in done:
        used, unused = one.mapping.key_use()
        batch.mapped |= used
        batch.unmapped += [key for key in unused if key not in batch.unmapped]
    batch.proposals = [p for one in done for p in flat_proposals(one, batch.tables)]
    batch.facts = flat_facts(file, done, batch, source) | file.facts
    batch.warnings = [*file.warnings, *flat_warnings(done, batch)]
    if ignored[DUPLICATE] > file.ignored[DUPLICATE]:
        n = ignored[DUPLICATE] - file.ignored[DUPLICATE]
        batch.warnings.append(f"{n} records came twice with equal values and count once.")
    batch.clock_from_stamps = bool(done) and all(one.own_stamps for one in done)
    batch.reconcile()
    return batch


@dataclass
class Done:
    """A run after mapping: what the facts, proposals and warnings are made of.

    `by_stamps`: its clock is the stamps of its records; `own_stamps`: those in the rows themselves.
    """

    run: FlatRun
    mapping: Mapping
    attempts: list[FlatAttempt]
    by_stamps: bool = False
    own_stamps: bool = False

    @property
    def framework(self) -> str | None:
        """Name of the framework as `runs.framework` holds it."""
        name = self.mapping.framework
        return name.removesuffix(SFT) if name else None


def _run(run: FlatRun, file: FlatFile, tables: Tables, ignored: Counter[str]) -> Done:
    keys = list(dict.fromkeys(key for row in run.rows for key in row.values))
    framework = run.framework or (framework_of(keys)[0] if run.rules is None else None)
    if framework == "tinker" and run.algorithm == "sft":
        framework += SFT
    if framework and framework.endswith(SFT):
        run.algorithm = "sft"
    run.mode = run.mode or mode_of(framework, keys) or measured_mode(framework, run.rows)
    if run.rules is None:
        run.algorithm = run.algorithm or algorithm_of(framework, keys)
    mapping = Mapping(run.run, file.source_name, framework, run.mode, keys, run.pool, run.whole)
    mapping.given, mapping.given_scores = run.rules, run.scores
    attempts, repeated = split(run.rows, mapping.once, mapping.training, mapping.per_call)
    if repeated:
        ignored[DUPLICATE] += repeated
    open_clock = run.elapsed_s is None and run.started_at is None and not run.whole
    stamped = open_clock and clock_of_stamps(attempts)
    if stamped:
        run.elapsed_basis = "clock"
    for before, attempt in zip([None, *attempts], attempts, strict=False):
        known, timers = len(tables.steps), len(tables.step_phases)
        add_attempt(tables, mapping, attempt, before)
        if open_clock and run.elapsed_basis == "clock":
            begin_with_first_step(attempt, tables.steps[known:], tables.step_phases[timers:])
    return Done(run, mapping, attempts, open_clock and run.elapsed_basis == "clock", stamped)


def _frames(tables: Tables, done: Iterable[Done]) -> dict[str, pd.DataFrame]:
    frames = tables.frames()
    done = list(done)
    frames["runs"] = pd.DataFrame(
        [
            {
                "run": one.run.run,
                "framework": one.framework,
                "algorithm": one.run.algorithm,
                "mode": one.run.mode,
            }
            for one in done
        ]
    ).drop_duplicates("run")
    rows = [row for one in done for row in _attempt_rows(one)]
    frames["attempts"] = pd.DataFrame(rows).drop_duplicates(["run", "attempt"])
    if (lengths := length_rows((one.run.run, one.attempts) for one in done)) is not None:
        frames["length_hist"] = lengths
    raw = [frame for one in done if (frame := raw_rows(one.run.run, one.attempts)) is not None]
    if raw:
        frames["metric_raw"] = pd.concat(raw, ignore_index=True)
    return frames


def _attempt_rows(one: Done) -> list[dict[str, object]]:
    rows = []
    for index, attempt in enumerate(one.attempts):
        following = one.attempts[index + 1] if index + 1 < len(one.attempts) else None
        last = following is None
        elapsed, basis = elapsed_of(one, attempt, last)
        parent = [a.number for a in one.attempts[:index] if attempt.resumed_from_step in a.by_step]
        rows.append(
            {
                "run": one.run.run,
                "attempt": attempt.number,
                "started_at": (one.run.started_at if index == 0 else None) or attempt.started_at,
                "ended_at": (one.run.ended_at if last else None) or attempt.ended_at,
                "elapsed_s": elapsed,
                "elapsed_basis": basis,
                "status": one.run.status if last else "failed",
                "cause": None if last else _cause(following),
                "resumed_from_step": attempt.resumed_from_step,
                "resumed_from_attempt": parent[-1] if parent else None,
                "last_checkpoint_step": one.mapping.saved.get(attempt.number),
            }
        )
    return rows


def _cause(following: FlatAttempt | None) -> str | None:
    if following is None or following.first_step is None:
        return None
    step = following.first_step
    return f"ended before its last step; a later attempt in the same log starts at step {step}"


def elapsed_of(one: Done, attempt: FlatAttempt, last: bool) -> tuple[float | None, str | None]:
    """Seconds of an attempt and where they come from: the run's clock, else the sum of its timers."""
    run = one.run
    if run.elapsed_s is not None and last and len(one.attempts) == 1:
        return run.elapsed_s, run.elapsed_basis or "progress_bar"
    total = one.mapping.seconds.get(attempt.number)
    if attempt.elapsed_s and one.by_stamps:
        return not_below_steps(attempt.elapsed_s, total)
    if attempt.elapsed_s is not None and not one.own_stamps:
        return attempt.elapsed_s, run.elapsed_basis or "progress_bar"
    return (total, "step_sum") if total is not None else (None, None)
