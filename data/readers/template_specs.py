"""What our own CSV templates hold: columns out of data/schema, what makes a header theirs, examples."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

from data.facts_base import PHASES
from data.tables import Column, tables

CHOICES: Mapping[str, tuple[str, ...]] = {
    "algorithm": ("grpo", "ppo", "dpo", "sft", "distill", "other"),
    "mode": ("sync", "one_step_off", "async"),
    "status": ("running", "completed", "failed", "cancelled", "unknown"),
    "role": ("train", "rollout", "colocated", "judge", "sandbox"),
    "elapsed_basis": ("clock", "progress_bar", "step_sum", "user"),
    "seconds_basis": ("clock", "progress_bar", "step_sum", "user"),
    "phase": PHASES,
    "kind": ("wall", "wait", "exposed", "busy", "outside", "outside_exposed"),
    "score_kind": ("fraction", "percent", "points"),
    "bucket": ("data", "staff", "evals", "storage", "gpu", "other"),
}
"""Text columns with a fixed set of values."""

NEVER_NEGATIVE = frozenset(
    {"s", "tokens", "rollouts", "groups", "GPUs", "cores", "B", "W", "USD", "tasks", "samples"}
)
"""Units of amounts: a negative number is set aside."""


@dataclass(frozen=True, eq=False)
class Template:
    """One CSV that people fill in: its tables, its columns in order, and example rows (column -> text).

    A header is this template's when it has one column of every group in `signature`. `required` columns must
    be filled in every row.
    """

    name: str
    title: str
    what: str
    tables: tuple[str, ...]
    names: tuple[str, ...]
    required: tuple[str, ...]
    signature: tuple[tuple[str, ...], ...]
    examples: tuple[Mapping[str, str], ...]

    @property
    def format(self) -> str:
        """Format name of files made from it."""
        return f"ipd_{self.name}_csv"

    def columns(self) -> dict[str, Column]:
        """Columns by name, as the schema describes them; the first table that has a name describes it."""
        return _columns(self)

    def table_of(self, column: str) -> str:
        """The first table of this template with that column."""
        return next(t for t in self.tables if any(c.name == column for c in tables()[t]))


@cache
def _columns(template: Template) -> dict[str, Column]:
    known = {c.name: c for t in reversed(template.tables) for c in tables()[t]}
    out = {}
    for name in template.names:
        out[name] = replace(known[name], required=name in template.required)
    return out


def _of(table: str, leave: Sequence[str] = ()) -> tuple[str, ...]:
    hidden = {"upload_id", *leave}
    return tuple(c.name for c in tables()[table] if c.name not in hidden)


def _unique(*groups: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for group in groups for name in group))


_STEP_VALUES = _of("steps", ("run", "attempt", "step", "source", "ts", "elapsed_s"))
_GPU_VALUES = _of("gpu_samples", ("gpu_id", "ts", "dt_s"))
_ALLOCATION = _of(
    "allocations", ("run", "attempt", "started_at", "ended_at", "seconds", "seconds_basis", "source")
)
_RUN = _of("runs", ("run",))
_ATTEMPT = _of("attempts", ("run", "attempt"))


@cache
def templates() -> dict[str, Template]:
    """All templates by name, in the order in which a person fills them in."""
    return {
        t.name: t
        for t in (
            *_run_templates(),
            *_step_templates(),
            *_eval_templates(),
            *_machine_templates(),
            _cost_template(),
        )
    }


_ONE = {
    "run": "example-run",
    "campaign": "example-campaign",
    "team": "example-team",
    "algorithm": "grpo",
    "mode": "async",
    "llm": "qwen3-8b",
    "synthetic": "true",
    "note": "made-up example: replace these rows",
    "attempt": "1",
    "started_at": "2026-01-05T08:00:00Z",
    "ended_at": "2026-01-05T14:30:00Z",
    "status": "completed",
}
_TRAIN = {"pool": "train", "role": "train", "platform": "gb200-nvl72", "gpus": "8"}
_ROLLOUT = {"pool": "rollout", "role": "rollout", "platform": "gb200-nvl72", "gpus": "16"}
_WHERE = {k: _ONE[k] for k in ("run", "attempt", "started_at", "ended_at")}


def _run_templates() -> tuple[Template, ...]:
    return (
        Template(
            "runs",
            "Runs with their hardware",
            "One row a run, attempt and pool of GPUs: who ran what, when, on which hardware, "
            "and how it ended.",
            ("runs", "attempts", "allocations", "campaigns"),
            _unique(("run", "campaign", "team"), _RUN, ("attempt",), _ATTEMPT, _ALLOCATION),
            ("run",),
            (("run",), (*_RUN, *_ATTEMPT, *_ALLOCATION)),
            (_ONE | _TRAIN, _ONE | _ROLLOUT),
        ),
        Template(
            "allocations",
            "Hardware of runs",
            "One row a pool of GPUs or cores and the time it was held, for runs that come from other files.",
            ("allocations",),
            _of("allocations", ("source",)),
            ("run", "role"),
            (("run",), ("role",), ("gpus", "cores")),
            (_WHERE | _TRAIN, _WHERE | _ROLLOUT),
        ),
    )


_KEY = {"run": "example-run", "attempt": "1"}
_FIRST = _KEY | {
    "step": "1",
    "ts": "2026-01-05T08:04:10Z",
    "step_s": "182.4",
    "tok_prompt": "262144",
    "tok_gen": "1310720",
    "tok_total": "1572864",
    "rollouts": "512",
    "correct": "187",
    "len_mean": "2560",
    "truncated_frac": "0.021",
    "reward_mean": "0.365",
}
_SECOND = _FIRST | {
    "step": "2",
    "ts": "2026-01-05T08:07:09Z",
    "step_s": "178.9",
    "correct": "201",
    "reward_mean": "0.393",
}
_PHASE = _KEY | {
    "step": "1",
    "phase": "rollout",
    "seconds": "118.2",
    "kind": "wall",
    "source_key": "timing_s/gen",
}


def _step_templates() -> tuple[Template, ...]:
    return (
        Template(
            "steps",
            "Training steps",
            "One row a step: time, tokens, rollouts, lengths, reward. "
            "Other number columns are kept as raw metrics.",
            ("steps",),
            _of("steps", ("source",)),
            ("step",),
            (("step",), _STEP_VALUES),
            (_FIRST, _SECOND),
        ),
        Template(
            "step_phases",
            "Time by phase",
            "One row a step and phase: seconds of rollout, training, weight sync, …",
            ("step_phases",),
            _of("step_phases"),
            ("step", "phase", "seconds"),
            (("step",), ("phase",), ("seconds",)),
            (_PHASE, _PHASE | {"phase": "train", "seconds": "49.7", "source_key": "timing_s/update_actor"}),
        ),
        Template(
            "length_hist",
            "Response lengths",
            "One row a step and bucket of response length.",
            ("length_hist",),
            _of("length_hist"),
            ("step", "bucket_low", "n"),
            (("step",), ("bucket_low",), ("n",)),
            (
                _KEY | {"step": "1", "bucket_low": "0", "bucket_high": "1024", "n": "143"},
                _KEY | {"step": "1", "bucket_low": "1024", "bucket_high": "2048", "n": "201"},
            ),
        ),
    )


_START = {
    "eval_id": "base:gsm8k",
    "checkpoint": "base",
    "benchmark": "gsm8k",
    "benchmark_version": "1",
    "split": "test",
    "harness": "example-harness 1.0",
    "effort": "max_tokens=8192",
    "metric": "accuracy",
    "k": "1",
    "seed": "0",
    "n_tasks": "1319",
    "score": "0.741",
    "score_kind": "fraction",
    "at": "2026-01-04T20:00:00Z",
}
_AFTER = _START | {
    "eval_id": "example-run@100:gsm8k",
    "checkpoint": "example-run@100",
    "run": "example-run",
    "attempt": "1",
    "step": "100",
    "score": "0.803",
    "at": "2026-01-05T14:10:00Z",
}
_TASK = {
    "eval_id": "base:gsm8k",
    "task": "gsm8k-0001",
    "cluster": "gsm8k-0001",
    "repeat": "0",
    "passed": "1",
}


def _eval_templates() -> tuple[Template, ...]:
    saved = {"checkpoint": "example-run@100", "run": "example-run", "attempt": "1", "step": "100"}
    return (
        Template(
            "checkpoints",
            "Checkpoints",
            "One row a saved checkpoint and the one it was trained from, "
            "from which the gain of a run is counted.",
            ("checkpoints",),
            _of("checkpoints"),
            ("checkpoint",),
            (("checkpoint",), ("parent",)),
            (
                saved | {"parent": "base", "at": "2026-01-05T14:00:00Z"},
                {"checkpoint": "base", "note": "the starting weights"},
            ),
        ),
        Template(
            "evals",
            "Evaluations",
            "One row an evaluation of a checkpoint; the starting checkpoint has one too, without a run.",
            ("evals",),
            _of("evals"),
            ("benchmark", "score"),
            (("benchmark",), ("score",), ("checkpoint", "run")),
            (_START, _AFTER),
        ),
        Template(
            "eval_tasks",
            "Results by task",
            "One row a task and repeat of an evaluation: paired intervals need it.",
            ("eval_tasks",),
            _of("eval_tasks"),
            ("eval_id", "task", "passed"),
            (("eval_id",), ("task",), ("passed",)),
            (_TASK, _TASK | {"task": "gsm8k-0002", "cluster": "gsm8k-0002", "passed": "0"}),
        ),
    )


_SAMPLE = {
    "ts": "2026-01-05T08:00:00Z",
    "host": "node-1",
    "gpu_index": "0",
    "run": "example-run",
    "gpu_util": "0.97",
    "sm_active": "0.61",
    "tensor_active": "0.22",
    "mem_bytes": "68719476736",
    "power_w": "512.5",
}
_CALL = {
    "run": "example-run",
    "step": "1",
    "env": "python-sandbox",
    "started_at": "2026-01-05T08:01:12Z",
    "queued_s": "0.21",
    "cold_s": "0",
    "busy_s": "0.83",
    "cores": "1",
    "mem_bytes": "268435456",
    "ok": "true",
}
_GPU = _of("gpus", ("gpu_id",))


def _machine_templates() -> tuple[Template, ...]:
    return (
        Template(
            "gpu_samples",
            "GPU samples",
            "One row a GPU and instant, in any order. Ratios are 0..1 or written as 97 %.",
            ("gpu_samples", "gpus"),
            _unique(("ts", "gpu_id"), _GPU, _GPU_VALUES),
            ("ts",),
            (("ts",), _GPU_VALUES, ("gpu_id", "gpu_index", "uuid", "host", *_GPU_VALUES)),
            (_SAMPLE, _SAMPLE | {"gpu_index": "1", "gpu_util": "0.94", "power_w": "498.0"}),
        ),
        Template(
            "env_events",
            "Sandbox calls",
            "One row a call of an environment or sandbox: queued, started, worked.",
            ("env_events",),
            _of("env_events"),
            ("env",),
            (("env",), ("busy_s", "queued_s", "cold_s")),
            (_CALL, _CALL | {"busy_s": "2.4", "ok": "false"}),
        ),
    )


_COST = {
    "day": "2026-01-31",
    "bucket": "staff",
    "billed_cost": "4200",
    "currency": "USD",
    "campaign": "example-campaign",
    "note": "made-up example: one engineer, half a week",
}


_INVOICE_ONLY = (
    "charge_class", "contracted_cost", "quantity", "unit", "description", "instance_type", "resource_name",
    "region", "account", "commitment_id", "commitment_status", "reservation_status", "tags", "line",
    "billing_start", "billing_end", "invoice", "gpus", "commitment_quantity", "commitment_unit",
    "reservation_id",
)  # fmt: skip
"""Columns that only exports of providers fill."""


def _cost_template() -> Template:
    first = (
        "day",
        "charge_start",
        "charge_end",
        "bucket",
        "billed_cost",
        "currency",
        "campaign",
        "run",
        "note",
    )
    storage = _COST | {
        "day": "",
        "charge_start": "2026-01-01T00:00:00Z",
        "charge_end": "2026-02-01T00:00:00Z",
        "bucket": "storage",
        "billed_cost": "310.50",
        "note": "made-up example: checkpoints kept for a month",
    }
    return Template(
        "costs",
        "Other costs",
        "One row a cost that no GPU pool explains: data, staff, storage, evaluations. "
        "They count in the boundary *full*, and need a run or a campaign to be booked to.",
        ("costs",),
        _unique(first, _of("costs", _INVOICE_ONLY)),
        ("billed_cost",),
        (("billed_cost",), ("day", "charge_start"), ("run", "campaign")),
        (_COST, storage),
    )
