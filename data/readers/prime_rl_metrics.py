"""prime-rl's file monitor: `metrics.jsonl` of the trainer or of the orchestrator, several objects a step."""

import re
from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path
from typing import Literal

import pandas as pd

from data.errors import UnreadableFileError
from data.logs.flat import FlatFile, FlatRun, Row, make_batch
from data.logs.json_rows import epoch_of, numbers, read_json_log, shown, step_of
from data.logs.verl_batch import run_name
from data.readers.base import PROCESS_MARK, Batch, Choices, Progress, SetAside, Sniff, Source, no_progress

Pool = Literal["trainer", "orchestrator"]

TRAINER_KEYS = frozenset(
    {"time/forward_backward", "time/wait_for_batch", "time/broadcast_weights", "time/load_data", "perf/mfu",
     "perf/throughput_per_gpu", "perf/peak_memory", "optim/grad_norm", "optim/lr"}
)  # fmt: skip
ORCHESTRATOR_KEYS = frozenset(
    {"progress/rollouts", "progress/samples", "progress/problems", "progress/tasks", "progress/input_tokens",
     "progress/output_tokens", "progress/total_rollouts", "progress/total_samples", "off_policy/mean",
     "off_policy/max", "batch/off_policy_level/mean", "time/wait_for_policy", "time/wait_for_ckpt",
     "time/generate_completions", "time/pack"}
)  # fmt: skip
OWN_KEYS = (TRAINER_KEYS - {"optim/grad_norm", "optim/lr"}) | ORCHESTRATOR_KEYS
"""optim/* is written by others too."""

_KEY = re.compile(r'"([^"\\]+)"\s*:')
_HEADS = frozenset({"step", "time"})
_WALL_CLOCK = "inference/"
_LONGEST_LEAD_S = 86_400.0


class PrimeRlMetricsReader:
    """JSON lines of prime-rl's FileMonitor."""

    format = "prime_rl_metrics_jsonl"
    title = "prime-rl metrics (JSON lines)"

    def sniff(self, source: Source) -> Sniff:
        """`step`, `time` and keys that only prime-rl's two processes write."""
        if not source.head.lstrip().startswith("{"):
            return Sniff(0.0, "no JSON object at the start")
        keys = set(_KEY.findall(source.head))
        own = sorted(keys & OWN_KEYS)
        if not own or "step" not in keys or "data" in keys:
            return Sniff(0.0, "no keys of prime-rl's trainer or orchestrator")
        if "time" in keys and len(own) >= 2:
            return Sniff(0.97, f"objects with step, time and prime-rl's {own[0]} and {own[1]}")
        return Sniff(0.6, f"objects with step and prime-rl's {own[0]}")

    def read(
        self,
        source: Source,
        choices: Choices,
        scratch: Path,  # noqa: ARG002
        progress: Progress = no_progress,
    ) -> Batch:
        """Read all objects; raises UnreadableFileError when no object holds a step and a number."""
        bad: list[SetAside] = []
        log = read_json_log(source, lambda line, value: _row(line, value, bad), progress)
        log.set_aside += bad
        if not log.rows:
            raise UnreadableFileError(
                "No object with a step and metrics in this file",
                source.name,
                "Load the metrics.jsonl that prime-rl's file monitor writes.",
            )
        keys = {key for row in log.rows for key in row.values}
        pool = pool_of(keys)
        supervised = "progress/epoch" in keys and "time/wait_for_batch" not in keys
        run = prime_run(run_name(choices, source), log.rows, pool, supervised)
        return prime_batch(log.file(self.format, self.format), [run], source)


def pool_of(keys: Iterable[str]) -> Pool | None:
    """The process that writes these keys; None when they are of both or of neither."""
    found = set(keys)
    trainer, orchestrator = len(found & TRAINER_KEYS), len(found & ORCHESTRATOR_KEYS)
    if bool(trainer) == bool(orchestrator):
        return None
    return "trainer" if trainer else "orchestrator"


def prime_batch(file: FlatFile, runs: list[FlatRun], source: Source) -> Batch:
    """The batch of one process: its source, and the axis of the orchestrator's raw metrics, name the process.

    Trainer and orchestrator write some keys under one name, and both files belong to one run.
    """
    pools = {run.pool for run in runs}
    pool = pools.pop() if len(pools) == 1 else None
    if pool is not None:
        file.source_name = f"{file.source_name}{PROCESS_MARK}{pool}"
    batch = make_batch(file, runs, source)
    raw = batch.tables.get("metric_raw")
    if raw is not None and pool == "orchestrator":
        batch.tables["metric_raw"] = raw.assign(x_name=raw["x_name"].replace({"step": "orchestrator step"}))
    if any(run.started_at is not None for run in runs):
        batch.clock_from_stamps = True
        _own_clocks(batch)
    return batch


def _own_clocks(batch: Batch) -> None:
    """Give each later attempt a clock of its own: it began one step before its first stamped row."""
    attempts, steps = batch.tables["attempts"], batch.tables.get("steps")
    if steps is None or len(attempts) < 2 or "ts" not in steps:
        return
    stamped = steps[steps["ts"].notna()].sort_values("ts", kind="stable")
    spans = stamped.groupby(["run", "attempt"], as_index=False).agg(
        first=("ts", "first"), last=("ts", "last"), lead=("step_s", "first")
    )
    lead = pd.to_timedelta(spans["lead"].fillna(0.0).clip(0.0, _LONGEST_LEAD_S), unit="s")
    spans["began"] = spans["first"] - lead
    found = (
        attempts[["run", "attempt"]].merge(spans, on=["run", "attempt"], how="left").set_axis(attempts.index)
    )
    later = (attempts["attempt"] > attempts["attempt"].min()) & found["began"].notna()
    took = (found["last"] - found["began"]).dt.total_seconds()
    batch.tables["attempts"] = attempts.assign(
        started_at=pd.to_datetime(attempts["started_at"]).where(~later, found["began"]),
        elapsed_s=attempts["elapsed_s"].where(~later, took),
    )
    batch.facts["run_seconds"] = float(batch.tables["attempts"]["elapsed_s"].sum())


def prime_run(run: str, rows: list[Row], pool: Pool | None, supervised: bool = False) -> FlatRun:
    """A run of prime-rl; where rows carry a time it began one step before the first of them."""
    stamped = next((row for row in rows if row.ts is not None), None)
    lead = next((row.values["time/step"] for row in rows if row.values.get("time/step", -1.0) >= 0), 0.0)
    started = None
    if stamped is not None and stamped.ts is not None:
        started = stamped.ts - timedelta(seconds=min(lead, _LONGEST_LEAD_S))
        for row in rows:
            row.elapsed_s = None if row.ts is None else (row.ts - started).total_seconds()
    return FlatRun(
        run=run,
        rows=rows,
        framework="prime-rl",
        algorithm="sft" if supervised else None,
        pool=pool,
        started_at=started,
        elapsed_basis="clock" if started is not None else None,
    )


def _row(line: int, value: dict[str, object], bad: list[SetAside]) -> Row | SetAside:
    step, at = step_of(value, "step"), epoch_of(value.get("time"))
    read = numbers(line, value, _HEADS)
    if not read.values:
        return SetAside(line, "an object without metrics", shown(value))
    on_wall_clock = all(key.startswith(_WALL_CLOCK) for key in read.values)
    if step is None and not (on_wall_clock and at is not None):
        return SetAside(line, 'an object without a whole "step"', shown(value))
    bad += read.bad
    if on_wall_clock and at is not None:
        return Row(None, read.values, line, at, x_name="time", x=float(str(value["time"])))
    return Row(step, read.values, line, at)


READERS = (PrimeRlMetricsReader(),)
