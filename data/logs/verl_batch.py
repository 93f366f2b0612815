"""From attempts of verl records to a reconciled batch; shared by the console and the file-logger reader."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

import pandas as pd

from data.facts_base import source_facts
from data.logs.flat_clock import not_below_steps
from data.logs.llm_guess import guess_llm
from data.logs.verl import (
    Context,
    Tables,
    add_step,
    detect_mode,
    key_use,
    raw_frame,
    settle_score_kinds,
)
from data.logs.verl_attempts import DUPLICATE, Attempt, Ending, ending, is_training
from data.logs.verl_clock import StampedSteps
from data.logs.verl_config import Config, config_proposals
from data.logs.verl_facts import (
    eval_facts,
    eval_is_inside,
    infer_gpus,
    rate_proposal,
    step_facts,
    with_rate,
)
from data.readers.base import Batch, Choices, Proposal, SetAside, Source

NO_CLOCK = (
    "The file has no clock: elapsed time is the sum of step seconds; "
    "start-up, gaps and restarts are not in it."
)


@dataclass
class Parsed:
    """What a verl reader hands over.

    `records` counts what was kept, ignored and set aside; `rounded` says that numbers were printed with three
    decimals, `vanished` names keys that this rounding wiped out; `names_run`: the
    run's name stands in the file; `started`: UTC time by attempt; `stamps`: the clock of attempts whose step
    lines are stamped.
    """

    format: str
    source_name: str
    run: str
    attempts: list[Attempt]
    kept: int
    ignored: Counter[str]
    set_aside: list[SetAside]
    config: Config = field(default_factory=Config)
    total_steps: int | None = None
    rounded: bool = False
    vanished: frozenset[str] = frozenset()
    names_run: bool = False
    partial_last_line: int = 0
    started: dict[int, datetime] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    stamps: dict[int, StampedSteps] = field(default_factory=dict)


def run_name(choices: Choices, source: Source, stated: str | None = None) -> str:
    """The run's name: chosen, else stated in the file, else the file's name without its ending."""
    return choices.run or stated or Path(source.name).stem or "run"


def make_batch(parsed: Parsed, source: Source) -> Batch:
    """Map, count and judge; `Batch.reconcile` has been called."""
    names = list(dict.fromkeys(k for a in parsed.attempts for r in a.records for k in r.values))
    mode = detect_mode(names)
    tables = _tables(parsed, mode)
    settle_score_kinds(tables)
    batch = Batch(parsed.format, stored=parsed.kept, ignored=parsed.ignored)
    batch.set_aside = parsed.set_aside + tables.set_aside
    whole = sum(1 for item in parsed.set_aside if item.column is None)
    batch.records = parsed.kept + sum(parsed.ignored.values()) + whole
    batch.names_runs = parsed.names_run
    batch.tables = tables.frames()
    batch.tables["runs"] = _runs_frame(parsed, mode)
    batch.tables["attempts"] = _attempts_frame(parsed, batch.tables)
    batch.resumed_assumed = {(parsed.run, a.number) for a in parsed.attempts if a.resumed_assumed}
    raw = raw_frame(parsed.run, parsed.attempts, parsed.vanished)
    if raw is not None:
        batch.tables["metric_raw"] = raw
    batch.mapped, batch.unmapped = key_use(names, mode)
    batch.proposals = _proposals(parsed, batch.tables, mode, names)
    batch.facts = source_facts(source) | _facts(parsed, batch)
    batch.warnings = parsed.warnings + _warnings(parsed, batch, mode)
    batch.reconcile()
    return batch


def _tables(parsed: Parsed, mode: str) -> Tables:
    tables = Tables()
    context = Context(
        parsed.run,
        parsed.source_name,
        mode,
        print_error=0.00051 if parsed.rounded else 0.0,
        rollouts_per_step=parsed.config.rollouts_per_step,
    )
    for attempt in parsed.attempts:
        elapsed = _elapsed_by_step(attempt)
        if not elapsed and attempt.number in parsed.stamps:
            elapsed = parsed.stamps[attempt.number].elapsed_s
        for step in sorted(attempt.by_step):
            add_step(tables, context, attempt.number, attempt.by_step[step], elapsed.get(step))
    return tables


def _elapsed_by_step(attempt: Attempt) -> dict[int, float]:
    """Seconds on the progress bar when a step was done; the bar of a finished run may stop one step short."""
    elapsed: dict[int, float] = {}
    bars = [m for m in attempt.marks if m.kind == "bar" and m.elapsed_s is not None and m.value is not None]
    for mark in bars:
        elapsed.setdefault(int(mark.value or 0), float(mark.elapsed_s or 0.0))
    last = attempt.last_training_step
    done = bool(bars) and last == bars[-1].total
    if last is not None and last not in elapsed and done and bars[-1].line > attempt.last_line:
        elapsed[last] = float(bars[-1].elapsed_s or 0.0)
    return elapsed


def _runs_frame(parsed: Parsed, mode: str) -> pd.DataFrame:
    row = {"run": parsed.run, "framework": "verl", "algorithm": parsed.config.algorithm, "mode": mode}
    return pd.DataFrame([row])


def _attempts_frame(parsed: Parsed, tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    rows = []
    for index, attempt in enumerate(parsed.attempts):
        following = parsed.attempts[index + 1] if index + 1 < len(parsed.attempts) else None
        end: Ending = ending(attempt, following, parsed.total_steps)
        elapsed, basis = _elapsed(attempt, tables.get("steps"), parsed.stamps.get(attempt.number))
        saved = [s for s, r in attempt.by_step.items() if "timing_s/save_checkpoint" in r.values]
        rows.append(
            {
                "run": parsed.run,
                "attempt": attempt.number,
                "started_at": parsed.started.get(attempt.number),
                "elapsed_s": elapsed,
                "elapsed_basis": basis,
                "status": end.status,
                "cause": end.cause,
                "resumed_from_step": attempt.resumed_from_step,
                "resumed_from_attempt": _parent(parsed.attempts, index),
                "last_checkpoint_step": max(saved) if saved else None,
            }
        )
    return pd.DataFrame(rows)


def _parent(attempts: Sequence[Attempt], index: int) -> int | None:
    """The latest earlier attempt in this file that held the step an attempt resumed from."""
    step = attempts[index].resumed_from_step
    if not step:
        return None
    return next((a.number for a in reversed(attempts[:index]) if step in a.by_step), None)


def _elapsed(
    attempt: Attempt, steps: pd.DataFrame | None, stamps: StampedSteps | None
) -> tuple[float | None, str | None]:
    """Last progress bar, else the stamps of step lines; else, or where either is shorter, the step sum."""
    bars = [m.elapsed_s for m in attempt.marks if m.kind == "bar" and m.elapsed_s is not None]
    total = None
    if steps is not None:
        own = steps.loc[steps["attempt"] == attempt.number, "step_s"].astype(float).dropna()
        total = float(own.sum()) if len(own) else None
    bar = bars[-1] if bars else None
    if bar and (total is None or bar >= total - 1.0):
        return bar, "progress_bar"
    if stamps is not None:
        return not_below_steps(max(stamps.elapsed_s.values()), total)
    return total, "step_sum" if total is not None else None


def _proposals(
    parsed: Parsed, tables: dict[str, pd.DataFrame], mode: str, names: list[str]
) -> list[Proposal]:
    run, config = parsed.run, parsed.config
    out = config_proposals(run, config)
    steps = tables.get("steps")
    if steps is not None:
        out = with_rate(out, rate_proposal(run, steps, mode))
        if config.rollouts_per_step is None and steps["rollouts"].notna().any():
            typical = int(steps["rollouts"].dropna().median())
            how = "total tokens / (mean prompt + mean response length), a whole number that adds up exactly"
            out.append(Proposal(run, "rollouts_per_step", typical, how))
    if config.model_path is not None:
        guess = guess_llm(config.model_path)
        if guess is not None:
            how = f"configuration: actor_rollout_ref.model.path is {config.model_path}"
            out.append(Proposal(run, "llm", guess, how))
    if config.algorithm is None and any(n.startswith(("critic/vf_", "timing_s/values")) for n in names):
        out.append(Proposal(run, "algorithm", "ppo", "the log has a value network (critic/vf_*)"))
    out.append(Proposal(run, "mode", mode, _mode_reason(mode)))
    return out


def _mode_reason(mode: str) -> str:
    if mode == "async":
        return "keys of the fully async trainer (fully_async/*, param_sync)"
    if mode == "one_step_off":
        return "timers of the one-step-off trainer (wait_prev_gen, sync_rollout_weights, generate_async)"
    return "no timer of an asynchronous trainer in the log"


def _facts(parsed: Parsed, batch: Batch) -> dict[str, object]:
    steps = batch.tables.get("steps", pd.DataFrame())
    phases = batch.tables.get("step_phases", pd.DataFrame())
    numbers = sorted({r.step for a in parsed.attempts for r in a.records})
    bars = [[m.elapsed_s for m in a.marks if m.kind == "bar" and m.elapsed_s] for a in parsed.attempts]
    last_bars = [values[-1] for values in bars if values]
    missing = sum(v != v for a in parsed.attempts for r in a.records for v in r.values.values())
    facts: dict[str, object] = {
        "format": parsed.format,
        "records": batch.records,
        "partial_last_line": parsed.partial_last_line,
        "missing_cells": missing,
        "runs": 1,
        "run_names": parsed.run,
        "steps_count": len(numbers),
        "step_first": numbers[0] if numbers else None,
        "step_last": numbers[-1] if numbers else None,
        "run_seconds": float(sum(v for v in last_bars if v is not None)) if last_bars else None,
        "gpus": parsed.config.gpus,
    }
    if len(steps):
        facts |= step_facts(steps, phases)
    return facts | eval_facts(batch.tables.get("evals", pd.DataFrame()), [parsed.run])


def _warnings(parsed: Parsed, batch: Batch, mode: str) -> list[str]:
    out = []
    first = parsed.attempts[0]
    start = min((r.step for r in first.records if is_training(r)), default=1)
    if start > 1 and first.resumed_from_step is not None:
        out.append(
            f"The run resumed from step {first.resumed_from_step}: steps up to it are not in this file."
        )
    elif start > 1:
        out.append(f"The first step is {start}: earlier steps are not in this file and are not costed.")
    if len(parsed.attempts) > 1:
        out.append(f"The file holds {len(parsed.attempts)} attempts: the run was restarted inside it.")
    if parsed.ignored[DUPLICATE]:
        out.append(f"{parsed.ignored[DUPLICATE]} records came twice with equal values and count once.")
    if parsed.rounded:
        lost = f" {', '.join(sorted(parsed.vanished))}: rounded away, unknown." if parsed.vanished else ""
        out.append(f"This log prints three decimals, so a printed 0.000 may be a small number.{lost}")
    return out + _number_warnings(parsed, batch, mode)


def _number_warnings(parsed: Parsed, batch: Batch, mode: str) -> list[str]:
    steps, phases = batch.tables.get("steps"), batch.tables.get("step_phases")
    out = []
    if steps is None:
        return ["The file holds validations only: no step times, so no cost can be derived from it."]
    if set(batch.tables["attempts"]["elapsed_basis"]) == {"step_sum"}:
        out.append(NO_CLOCK)
    if phases is not None and not eval_is_inside(steps, phases):
        out.append(
            "timing_s/testing lies outside timing_s/step here: validation time comes on top of step time."
        )
    inferred, stated = infer_gpus(steps), parsed.config.gpus
    if mode == "sync" and inferred and stated and abs(inferred - stated) > 0.05 * stated:
        out.append(
            f"The configuration names {stated} GPUs but tokens / (seconds x tokens/s/GPU) gives {inferred:g}."
        )
    if steps["rollouts"].notna().any():
        how = "the configuration" if parsed.config.rollouts_per_step else "total tokens and mean lengths"
        out.append(f"Rollouts per step are not logged; they were inferred from {how}.")
    return out
