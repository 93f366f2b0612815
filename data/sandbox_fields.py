"""Fields of sandbox and environment events: usual names, units in names and cells, words for success."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from data.eval_batch import as_number, as_text
from data.parse.task_rows import folded
from data.parse.values import parse_number, unit_of_header

NAMES: dict[str, tuple[str, ...]] = {
    "env": ("env", "environment", "sandbox", "env_name", "env_type", "environment_name", "sandbox_type",
            "tool", "image", "container_image", "runtime_type", "env_id", "sandbox_id", "container_id",
            "container"),
    "queued_at": ("queued_at", "submitted_at", "enqueued_at", "requested_at", "submit_time"),
    "ready_at": ("ready_at", "running_at", "booted_at"),
    "ended_at": ("ended_at", "end", "end_time", "finished_at", "completed_at"),
    "started_at": ("started_at", "start", "start_time", "begin", "created_at", "timestamp", "ts", "time"),
    "queued_s": ("queued", "queue", "queue_time", "queue_wait", "wait", "wait_time", "queueing",
                 "queued_time"),
    "cold_s": ("cold", "cold_start", "coldstart", "cold_start_time", "startup", "startup_time", "boot",
               "boot_time", "create", "create_time", "provision", "provisioning", "spawn"),
    "busy_s": ("busy", "duration", "exec", "exec_time", "execution", "execution_time", "run_time", "runtime",
               "elapsed", "wall", "wall_time", "work"),
    "cores": ("cores", "cpus", "vcpus", "cpu", "cpu_cores", "cpu_limit", "n_cpus", "num_cpus"),
    "mem_bytes": ("mem", "memory", "ram", "mem_limit", "memory_limit", "mem_peak", "memory_peak",
                  "peak_memory"),
    "ok": ("ok", "success", "succeeded", "status", "state", "outcome", "exit_code", "returncode", "error"),
    "run": ("run", "run_name", "run_id", "experiment"),
    "step": ("step", "global_step", "train_step"),
}  # fmt: skip
"""Meaning -> names, folded and without their unit; the first that a file has wins."""
TIMES = ("queued_s", "cold_s", "busy_s")
STAMPS = ("queued_at", "started_at", "ready_at", "ended_at")
_SUFFIX = re.compile(r"_(ms|s|sec|secs|seconds|us|ns|min|millis|b|bytes|kb|mb|gb|kib|mib|gib)$")
_UNITS = {
    "millis": "ms",
    "b": "B",
    "kb": "kB",
    "mb": "MB",
    "gb": "GB",
    "kib": "KiB",
    "mib": "MiB",
    "gib": "GiB",
}
_YES = frozenset(
    {"true", "ok", "success", "succeeded", "completed", "complete", "done", "pass", "passed", "yes"}
)
_NO = frozenset(
    {"false", "error", "errored", "fail", "failed", "failure", "timeout", "timed_out", "killed", "oom",
     "oomkilled", "crashed", "cancelled", "no"}
)  # fmt: skip
_KUBE = re.compile(r"^(\d+(?:\.\d+)?)([KMGT]i)$")
_MILLI = re.compile(r"^(\d+)m$")


@dataclass(frozen=True)
class Field:
    """A field of the file: its name there, and the unit that the name states."""

    name: str
    unit: str | None


def split_unit(name: str) -> tuple[str, str | None]:
    """`cold_start_ms` -> (cold_start, ms); `Memory [MiB]` -> (memory, MiB); `env` -> (env, None)."""
    unit = unit_of_header(name)
    bare = folded(name[: name.rindex(unit) - 1] if unit else name)
    if unit:
        return bare, unit
    match = _SUFFIX.search(bare)
    if match is None:
        return bare, None
    return bare[: match.start()], _UNITS.get(match[1], match[1])


def find_fields(names: Sequence[str], chosen: Mapping[str, str]) -> dict[str, Field]:
    """Meaning -> field: what a person chose first, then the usual names in their order."""
    found: dict[str, Field] = {}
    for name in names:
        if chosen.get(name) in NAMES:
            found[chosen[name]] = Field(name, split_unit(name)[1])
    spelled = {name: (folded(name), split_unit(name)[0]) for name in names}
    for meaning, usual in NAMES.items():
        taken = {field.name for field in found.values()}
        for wanted in usual if meaning not in found else ():
            hits = [n for n in names if n not in taken and wanted in spelled[n]]
            if hits:
                plain = folded(hits[0]) == wanted and wanted in ("time", "step")
                found[meaning] = Field(hits[0], None if plain else split_unit(hits[0])[1])
                break
    return found


def amount(value: object, unit: str) -> tuple[float | None, str]:
    """Seconds, bytes or cores of a cell, or why it is none; blank is (None, "")."""
    number = as_number(value)
    text = as_text(value) if number is None else repr(number)
    if text is None:
        return None, "" if value is None or isinstance(value, str) else "not a number"
    if kube := _KUBE.match(text):
        text = f"{kube[1]} {kube[2]}B"
    if unit == "cores" and (milli := _MILLI.match(text)):
        return int(milli[1]) / 1000, ""
    found = parse_number(text, unit)
    if found.number is not None and found.number < 0:
        return None, "a negative amount"
    return found.number, found.reason


def ok_of(name: str, value: object) -> tuple[bool | None, str]:
    """Whether a call went well, from a flag, a status word, an exit code or an error text."""
    bare = split_unit(name)[0]
    if bare == "error":
        if isinstance(value, bool):
            return not value, ""
        word = (as_text(value) or "").casefold()
        return word in ("", "none", "null", "false", "0"), ""
    if isinstance(value, bool):
        return value, ""
    text = as_text(value)
    if text is None:
        return None, ""
    number = parse_number(text).number
    if bare in ("exit_code", "returncode"):
        return (number == 0, "") if number is not None else (None, "not an exit code")
    word = text.casefold().replace(" ", "_")
    if word in _YES | _NO or number in (0.0, 1.0):
        return word in _YES or number == 1.0, ""
    return None, "" if not word else "neither success nor failure"
