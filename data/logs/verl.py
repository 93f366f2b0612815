"""verl's metric keys -> rows of steps, step_phases, evals, checkpoints and metric_raw."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache

import numpy as np
import pandas as pd

from data.logs.keymap import EvalKey, KeyRule, find_rule, parse_eval_key, rules_for
from data.logs.verl_attempts import Attempt
from data.logs.verl_lines import Record
from data.readers.base import SetAside

GIB = 2**30
PER_GPU = "per_gpu"
_HELPERS = ("prompt_len_mean", "turns_max")
_STEP_COLUMNS = (
    "run", "attempt", "step", "source", "elapsed_s", "step_s", "tok_prompt", "tok_gen", "tok_total",
    "rollouts", "dropped", "len_mean", "len_max", "truncated_frac", "reward_mean", "staleness", "mfu_frac",
    "mem_peak_bytes", "throughput", "throughput_basis",
)  # fmt: skip
_SOMETIMES = ("ts", "tok_trained", "tok_cached", "groups", "correct", "len_p50", "len_p95")
_MEASURES = frozenset(_STEP_COLUMNS[5:-1])
_VERL_HEADS = (
    "timing_s/", "perf/", "critic/", "actor/", "response_length/", "prompt_length/", "val-core/", "val-aux/",
    "training/", "global_seqlen/", "rollout_corr/", "fully_async/", "timing_per_token_ms/", "response/",
)  # fmt: skip


def verl_share(keys: Iterable[str]) -> float:
    """Share (0..1) of keys with a prefix that verl's RL trainers use; 0 without any telling RL key.

    A supervised run of the same library logs `train/loss` and no step timer: it does not count.
    """
    names = list(keys)
    telling = ("timing_s/", "perf/", "critic/", "val-core/", "fully_async/")
    if not names or not any(name.startswith(telling) for name in names):
        return 0.0
    return sum(name.startswith(_VERL_HEADS) for name in names) / len(names)


def detect_mode(keys: Iterable[str]) -> str:
    """`runs.mode`: async and one_step_off trainers log timers of their own."""
    names = set(keys)
    if any(name.startswith("fully_async/") for name in names) or "timing_s/timing_s/param_sync" in names:
        return "async"
    own = ("timing_s/wait_prev_gen", "timing_s/sync_rollout_weights", "timing_s/generate_async")
    return "one_step_off" if any(name in names for name in own) else "sync"


@dataclass
class Tables:
    """Rows by table, as lists of dicts, and the cells that had to be set aside."""

    steps: list[dict[str, object]] = field(default_factory=list)
    step_phases: list[dict[str, object]] = field(default_factory=list)
    evals: list[dict[str, object]] = field(default_factory=list)
    checkpoints: dict[str, dict[str, object]] = field(default_factory=dict)
    set_aside: list[SetAside] = field(default_factory=list)

    def frames(self) -> dict[str, pd.DataFrame]:
        """The tables that hold rows, as frames."""
        given = {name for row in self.steps for name, value in row.items() if value is not None}
        columns = [*_STEP_COLUMNS, *(name for name in _SOMETIMES if name in given)]
        out = {"steps": pd.DataFrame(self.steps, columns=columns) if self.steps else None}
        for name in ("step_phases", "evals"):
            rows = getattr(self, name)
            out[name] = pd.DataFrame(rows) if rows else None
        out["checkpoints"] = pd.DataFrame(list(self.checkpoints.values())) if self.checkpoints else None
        return {name: frame for name, frame in out.items() if frame is not None}


@dataclass(frozen=True)
class Context:
    """What holds for all steps of one run in one file.

    `print_error`: largest rounding error of a printed mean (0 when printed in full); `rollouts_per_step` from
    the configuration, used where the tokens do not say it exactly; `source` names the format of the file.
    """

    run: str
    source: str
    mode: str
    print_error: float = 0.0
    rollouts_per_step: int | None = None


@cache
def _fields(mode: str) -> tuple[tuple[str, KeyRule], ...]:
    return tuple((key, rule) for key, rule in rules_for("verl", mode).items() if rule.field)


@cache
def _timers(mode: str) -> tuple[tuple[str, KeyRule], ...]:
    """Timers that add up: those inside another one are left out."""
    rules = rules_for("verl", mode)
    return tuple((key, rule) for key, rule in rules.items() if rule.phase and not rule.nested)


def map_step(values: dict[str, float], line: int, mode: str) -> tuple[dict[str, float], list[SetAside]]:
    """Raw keys of one step -> columns of `steps` (base units); impossible ratios are set aside."""
    row: dict[str, float] = {}
    aside: list[SetAside] = []
    for key, rule in _fields(mode):
        value = values.get(key)
        if value is None or math.isnan(value):
            continue
        if rule.field == "mfu_frac" and value == 0:
            continue
        problem = _impossible(value, rule.unit)
        if problem:
            aside.append(SetAside(line, problem, repr(value), key))
            continue
        scaled = value * GIB if rule.unit == "GiB" else value
        combine(row, rule.field, scaled)
    return row, aside


def _impossible(value: float, unit: str) -> str | None:
    if unit == "ratio" and not 0 <= value <= 1:
        return "a ratio outside 0..1"
    if unit in ("s", "tokens", "GiB", "rollouts", "tokens/s/GPU") and value < 0:
        return "negative"
    return None


def combine(row: dict[str, float], name: str, value: float) -> None:
    """Several raw keys of one field: counts add up, peaks take the larger, else the first one wins."""
    if name == "dropped":
        row[name] = row.get(name, 0.0) + value
    elif name in ("mem_peak_bytes", "turns_max"):
        row[name] = max(row.get(name, value), value)
    else:
        row.setdefault(name, value)


def split_tokens(
    total: float, prompt_mean: float, response_mean: float, print_error: float
) -> tuple[int, int, int] | None:
    """(rollouts, prompt tokens, response tokens) of a step when total and means fix them exactly, else None.

    n = total / (prompt_mean + response_mean); n x each mean must lie on a whole number within the printing
    error, that error must stay below half a token, and the two parts must add up to the total.
    """
    both = prompt_mean + response_mean
    if not (total > 0 and both > 0 and total == round(total)):
        return None
    n = round(total / both)
    error = n * max(print_error, 1e-6 * both)
    if n < 1 or error >= 0.5:
        return None
    prompt, response = round(n * prompt_mean), round(n * response_mean)
    close = abs(n * prompt_mean - prompt) <= error and abs(n * response_mean - response) <= error
    return (n, prompt, response) if close and prompt + response == total else None


def add_step(
    tables: Tables, context: Context, attempt: int, record: Record, elapsed_s: float | None = None
) -> None:
    """Append the rows of one (merged) step record; a record of validations only adds no row to `steps`."""
    measures, aside = map_step(record.values, record.line, context.mode)
    tables.set_aside.extend(aside)
    derived = _derive(measures, context)
    helpers = {name: measures.pop(name) for name in _HELPERS if name in measures}
    phases = _phase_rows(tables, context, attempt, record)
    if measures or phases or helpers:
        key = {"run": context.run, "attempt": attempt, "step": record.step}
        row: dict[str, object] = {**key, "source": context.source, "elapsed_s": elapsed_s}
        row |= {name: value for name, value in measures.items() if name in _MEASURES}
        row |= derived
        if "throughput" in row:
            row["throughput_basis"] = PER_GPU
        tables.steps.append(row)
    tables.step_phases.extend(phases)
    _add_evals(tables, context, attempt, record)
    if "timing_s/save_checkpoint" in record.values:
        known_checkpoint(tables, context.run, attempt, record.step)["note"] = "saved"


def _derive(measures: dict[str, float], context: Context) -> dict[str, object]:
    total, prompt_mean, response_mean = map(measures.get, ("tok_total", "prompt_len_mean", "len_mean"))
    exact = None
    if total is not None and prompt_mean is not None and response_mean is not None:
        exact = split_tokens(total, prompt_mean, response_mean, context.print_error)
    if exact is None:
        known = context.rollouts_per_step is not None and "step_s" in measures
        return {"rollouts": context.rollouts_per_step} if known else {}
    rollouts, prompt, response = exact
    out: dict[str, object] = {"rollouts": rollouts, "tok_prompt": prompt}
    if measures.get("turns_max", 2.0) <= 2:
        out["tok_gen"] = response
    return out


def _phase_rows(tables: Tables, context: Context, attempt: int, record: Record) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for key, rule in _timers(context.mode):
        seconds = record.values.get(key)
        if seconds is None or math.isnan(seconds):
            continue
        if seconds < 0:
            tables.set_aside.append(SetAside(record.line, "negative", repr(seconds), key))
            continue
        rows.append(
            {
                "run": context.run,
                "attempt": attempt,
                "pool": "colocated" if context.mode == "sync" else "train",
                "step": record.step,
                "phase": rule.phase,
                "seconds": seconds,
                "kind": rule.kind,
                "source_key": key,
            }
        )
    return rows


def known_checkpoint(tables: Tables, run: str, attempt: int, step: int) -> dict[str, object]:
    """The row of the checkpoint of a step, made when it is new; another attempt has its own."""
    name = f"{run}@{step}"
    known = tables.checkpoints.get(name)
    if known is not None and known["attempt"] != attempt:
        name = f"{run}@{attempt}.{step}"
        known = tables.checkpoints.get(name)
    if known is None:
        known = {"checkpoint": name, "run": run, "attempt": attempt, "step": step, "note": None}
        tables.checkpoints[name] = known
    return known


def _add_evals(tables: Tables, context: Context, attempt: int, record: Record) -> None:
    for key, score in record.values.items():
        if key[:3] != "val" or math.isnan(score):
            continue
        parsed = parse_eval_key(key)
        if parsed is None:
            continue
        checkpoint = known_checkpoint(tables, context.run, attempt, record.step)["checkpoint"]
        tables.evals.append(eval_row(context.run, attempt, record.step, checkpoint, parsed, score))


def eval_row(
    run: str, attempt: int, step: int, checkpoint: object, parsed: EvalKey, score: float
) -> dict[str, object]:
    """One row of `evals`, as a fraction until `settle_score_kinds` has seen all scores."""
    return {
        "eval_id": f"{checkpoint}|{parsed.benchmark}|{parsed.metric}|{parsed.k or ''}",
        "checkpoint": checkpoint,
        "run": run,
        "attempt": attempt,
        "step": step,
        "benchmark": parsed.benchmark,
        "metric": parsed.metric,
        "k": parsed.k,
        "score": score,
        "score_kind": "fraction",
    }


def settle_score_kinds(tables: Tables) -> None:
    """A validation whose scores leave 0..1 anywhere in the file is a reward in points, not a fraction."""
    outside = {
        (row["benchmark"], row["metric"]) for row in tables.evals if not 0 <= float(str(row["score"])) <= 1
    }
    for row in tables.evals:
        if (row["benchmark"], row["metric"]) in outside:
            row["score_kind"] = "points"


def raw_frame(
    run: str, attempts: Sequence[Attempt], hidden: frozenset[str] = frozenset()
) -> pd.DataFrame | None:
    """`metric_raw` rows of all records, x = step; `hidden` keys and missing values are left out."""
    keys: list[str] = []
    values: list[float] = []
    counts, steps, numbers = [], [], []
    for attempt in attempts:
        for record in attempt.records:
            kept = [(k, v) for k, v in record.values.items() if v == v and k not in hidden]
            keys.extend(k for k, _ in kept)
            values.extend(v for _, v in kept)
            counts.append(len(kept))
            steps.append(record.step)
            numbers.append(attempt.number)
    if not keys:
        return None
    step = np.repeat(np.array(steps, dtype=np.int64), counts)
    return pd.DataFrame(
        {
            "run": run,
            "attempt": np.repeat(np.array(numbers, dtype=np.int32), counts),
            "step": step,
            "x_name": "step",
            "x": step.astype(np.float64),
            "key": keys,
            "value": np.array(values, dtype=np.float64),
        }
    )


def key_use(keys: Iterable[str], mode: str) -> tuple[dict[str, str], list[str]]:
    """(raw key -> what it became, keys that only `metric_raw` holds)."""
    mapped: dict[str, str] = {}
    unmapped: list[str] = []
    for key in dict.fromkeys(keys):
        rule = find_rule("verl", key, mode)
        if rule is None or not (rule.phase or rule.field):
            unmapped.append(key)
        elif rule.field in _HELPERS:
            mapped[key] = "steps.tok_prompt, tok_gen and rollouts (helps to split total tokens)"
        elif rule.phase:
            mapped[key] = f"step_phases.{rule.phase}" + (
                " (inside another timer, not added)" if rule.nested else ""
            )
        else:
            mapped[key] = "evals.score" if rule.field == "score" else f"steps.{rule.field}"
    return mapped, unmapped
