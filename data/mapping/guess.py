"""A first proposal for every column, from its name: other names in data/schema and the key map."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

from data.logs.keymap import load_keymap
from data.mapping.language import ADDS_UP, CUMULATIVE, Field, Meaning, Target, targets
from data.parse.table_records import TableSample
from data.parse.task_rows import NAMES
from data.parse.timezones import parse_stamp
from data.parse.values import parse_number, unit_of_header
from data.tables import tables

_UNIT_WORDS = {
    "ms": "ms", "msec": "ms", "millis": "ms", "milliseconds": "ms", "us": "us", "ns": "ns",
    "s": "s", "sec": "s", "secs": "s", "seconds": "s", "min": "min", "mins": "min", "minutes": "min",
    "h": "h", "hr": "h", "hrs": "h", "hours": "h", "pct": "%", "percent": "%", "percentage": "%",
    "bytes": "bytes", "kib": "KiB", "mib": "MiB", "gib": "GiB", "kb": "kB", "mb": "MB", "gb": "GB",
    "tb": "TB", "w": "W", "watt": "W", "watts": "W", "mw": "mW", "milliwatts": "mW", "kw": "kW",
    "j": "J", "mj": "mJ", "kj": "kJ", "wh": "Wh", "kwh": "kWh", "mhz": "MHz", "ghz": "GHz", "khz": "kHz",
    "frac": "ratio", "fraction": "ratio", "ratio": "ratio", "points": "points", "k": "K", "m": "M", "g": "G",
}  # fmt: skip
_RUNNING = frozenset({"cumulative", "cum", "cumul", "total_so_far", "so_far", "running", "accumulated"})
_EXTRA: dict[str, tuple[str, ...]] = {
    "steps.step": ("it", "iterations", "update", "train_step", "training_step", "steps"),
    "steps.step_s": ("dur", "duration", "step_dur", "step_duration", "iter_time", "iteration_time", "took",
                     "wall"),
    "steps.tok_total": ("toks", "tok", "ntokens", "token_count"),
    "steps.reward_mean": ("r", "avg_reward", "reward_avg", "rewards", "return", "mean_return"),
    "steps.ts": ("when", "datetime", "date", "logged_at", "wall_time"),
    "steps.truncated_frac": ("trunc", "truncation", "truncated_frac", "clipped"),
    "gpu_samples.ts": ("when", "datetime", "clock", "date", "sampled_at"),
    "gpu_samples.gpu_util": ("util", "load", "gpu_load", "utilization", "utilisation", "gpu_usage"),
    "gpu_samples.power_w": ("power", "draw", "gpu_power", "power_draw", "power_usage"),
    "gpu_samples.mem_bytes": ("fb", "mem", "memory", "mem_used", "memory_used", "vram", "gpu_mem"),
    "gpu_samples.temp_c": ("temp", "temperature", "gpu_temp"),
    "gpu_samples.gpu_index": ("card", "device", "gpu_id", "gpu", "gpu_idx", "index"),
    "gpu_samples.host": ("node", "hostname", "machine", "instance", "server", "nodename"),
    "step_phases.rollout": ("gen", "generation", "generate", "rollout", "sampling", "decode", "decoding"),
    "step_phases.train": ("train", "training", "update", "update_actor", "backward", "optim", "opt"),
    "step_phases.logprob": ("logprob", "logprobs", "old_logprob"),
    "step_phases.weight_sync": ("sync", "weight_sync", "broadcast"),
    "step_phases.reward": ("scoring", "verify", "grading"),
    "evals.score": ("acc", "accuracy", "score"),
    "costs.billed_cost": ("amount", "price", "usd", "eur"),
    "costs.day": ("date",),
    "env_events.busy_s": ("duration", "exec", "execution", "exec_time"),
    "env_events.queued_s": ("queue", "queued", "wait", "wait_time"),
    "env_events.cold_s": ("cold", "cold_start", "startup", "boot"),
    "scheduler_jobs.job_id": ("job", "jobid", "id"),
}  # fmt: skip
_SIGNS = 4
_ANY_MACHINE = frozenset({"ts", "host", "run", "pool", "role", "power_w", "mem_bytes", "temp_c"})
_GPU_WORDS = frozenset({"sm", "tensor", "dram", "nvml", "dcgm", "nvidia", "cuda", "vram"})
_OF_A_JOB = frozenset(
    {"state", "started_at", "ended_at", "submitted_at", "elapsed_s", "nodes", "partition", "gpus"}
)


@dataclass(frozen=True)
class Guess:
    """A target with the meanings of those columns whose names are known.

    `sure`: the names give all that such a row needs, and no row of another kind would be named so.
    """

    target: Target
    columns: Mapping[str, Meaning]
    sure: bool = False


@dataclass(frozen=True)
class _Name:
    """A column name taken apart: the word that is looked up, its unit, and whether it is a running total."""

    word: str
    bare: str
    unit: str | None
    running: bool


def guess(sample: TableSample, target: str | None = None) -> Guess:
    """The kind of rows that fits the names best (or `target`), and what its columns seem to be."""
    wanted = [targets()[target]] if target else list(targets().values())
    tried = [Guess(one, _columns(one, sample)) for one in wanted]
    return max((replace(one, sure=_sure(one, sample.header)) for one in tried), key=_fit)


def _fit(one: Guess) -> tuple[bool, float, int]:
    names = {meaning.field.name for meaning in one.columns.values()}
    given = sum(bool(names & set(group)) for group in one.target.needs)
    return one.sure, given / len(one.target.needs), len(one.columns)


def _sure(one: Guess, header: Sequence[str]) -> bool:
    """Whether the names can mean nothing else: a time beside a power or a memory is no GPU yet."""
    by_name = {meaning.field.name: column for column, meaning in one.columns.items()}
    if not all(set(by_name) & set(group) for group in one.target.needs):
        return False
    words = {word for column in header for word in _folded(column).split("_")}
    match one.target.name:
        case "gpu_samples":
            told = set(by_name) - _ANY_MACHINE
            named = {"gpu_index", "uuid", "gpu_id"} & told and len(by_name) >= _SIGNS
            return bool(named or words & _GPU_WORDS or any(word.startswith("gpu") for word in words))
        case "scheduler_jobs":
            return "job" in _folded(by_name["job_id"]) and bool(set(by_name) & _OF_A_JOB)
        case "env_events":
            return len({"env", "queued_s", "cold_s", "busy_s"} & set(by_name)) > 1
        case "costs":
            return _folded(by_name["billed_cost"]) != "price"
    return True


def _columns(target: Target, sample: TableSample) -> dict[str, Meaning]:
    found: dict[str, Meaning] = {}
    taken: set[str] = set()
    known = _known(target.name)
    for column in sample.header:
        name = _taken_apart(column)
        field = known.get(name.word) or known.get(name.bare) or known.get(_folded(column))
        if field is None or (field.id in taken and field.table != "step_phases"):
            continue
        cells = [cell for cell in sample.cells(column) if cell]
        if not _holds(field, cells):
            continue
        taken.add(field.id)
        found[column] = Meaning(field, _unit(field, name, cells), _options(field, name, column))
    return found


def unit_of(field: Field, column: str, cells: Sequence[str]) -> str | None:
    """The unit of `field` that a column's name or cells tell; None when neither does."""
    return _unit(field, _taken_apart(column), [cell for cell in cells if cell])


def _options(field: Field, name: _Name, column: str) -> dict[str, str]:
    if field.id == "evals.score" and field.unit == "score":
        return {"benchmark": column}
    return {"basis": CUMULATIVE} if name.running and field.id.partition(".")[2] in ADDS_UP else {}


@cache
def _known(target: str) -> Mapping[str, Field]:
    """Folded name -> field; the schema's own name wins, then its other names, the key map and usual words."""
    fields = targets()[target].fields
    found: dict[str, Field] = {}
    for one in fields:
        found.setdefault(_folded(one.name), one)
        found.setdefault(_taken_apart(one.name).bare, one)
    described = {f"{table}.{c.name}": c for table in tables() for c in tables()[table]}
    for one in fields:
        column = described.get(one.id)
        for other in (*(column.aliases if column else ()), *_EXTRA.get(one.id, ())):
            found.setdefault(_folded(other), one)
    if target == "steps":
        _from_keymap(fields, found)
    if target == "eval_tasks":
        for meaning, names in NAMES.items():
            field = next((one for one in fields if one.name == meaning), None)
            for name in names if field else ():
                found.setdefault(_folded(name), field)  # type: ignore[arg-type]
    return found


def _from_keymap(fields: Sequence[Field], found: dict[str, Field]) -> None:
    by_id = {one.id: one for one in fields}
    for rule in load_keymap():
        field = by_id.get(f"steps.{rule.field}") or by_id.get(f"step_phases.{rule.phase}")
        if field is not None and "{" not in rule.raw_key and not rule.nested:
            found.setdefault(_folded(rule.raw_key), field)
            if "/" in rule.raw_key:
                found.setdefault(_folded(rule.raw_key.rpartition("/")[2]), field)


def _folded(name: str) -> str:
    snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name.strip())
    return re.sub(r"[^a-z0-9]+", "_", snake.casefold()).strip("_")


def _taken_apart(column: str) -> _Name:
    unit = unit_of_header(column)
    text = column[: column.rindex(unit) - 1] if unit else column
    if "%" in text:
        unit, text = unit or "%", text.replace("%", " ")
    last = re.split(r"[\s_./\-]+", text.strip())[-1]
    plain = text.strip()[: -len(last)] if last.casefold() in _UNIT_WORDS else ""
    word, bare = _folded(text), _folded(plain) or _folded(text)
    unit = unit or (last if _folded(plain) else None)
    running = [mark for mark in _RUNNING if f"_{mark}_" in f"_{bare}_"]
    for mark in sorted(running, key=len, reverse=True):
        bare = f"_{bare}_".replace(f"_{mark}_", "_").strip("_")
    return _Name(word, bare, unit, bool(running))


def _unit(field: Field, name: _Name, cells: Sequence[str]) -> str | None:
    """The unit that the name or the cells tell, where it is one of the field's."""
    if field.unit == "UTC":
        return _stamp_unit(cells)
    written = (name.unit or "").strip()
    unit = _UNIT_WORDS.get(written.casefold(), written)
    unit = "fraction" if unit == "ratio" and field.unit == "score" else unit
    unit = {"m": "min"}.get(written.casefold(), unit) if field.unit == "s" else unit
    if unit in field.units:
        return unit
    own = next((c[-1] for c in cells if c.endswith("%")), None)
    return own if own in field.units else None


def _stamp_unit(cells: Sequence[str]) -> str | None:
    if not cells or any(parse_stamp(cell) for cell in cells):
        return None
    parts = [re.split(r"[/.\-]", cell.split(" ")[0].split("T")[0]) for cell in cells]
    if all(len(p) == 3 and len(p[2]) == 4 and all(x.isdigit() for x in p) for p in parts):
        if any(int(p[0]) > 12 for p in parts):
            return "day/month/year"
        return "month/day/year" if any(int(p[1]) > 12 for p in parts) else None
    number = parse_number(cells[0]).number
    if number is None:
        return None
    return next((unit for unit, low in (("epoch ns", 1e17), ("epoch us", 1e14)) if number >= low), None)


def _holds(field: Field, cells: Sequence[str]) -> bool:
    """Whether the cells can be what the name says: numbers under a number, times under a time."""
    if not cells or field.text:
        return True
    if field.unit == "UTC":
        shaped = [c for c in cells if parse_stamp(c) or re.match(r"^\d{1,4}[/.\-]\d{1,2}[/.\-]\d{1,4}", c)]
        large = [c for c in cells if (parse_number(c).number or 0) >= 1e9]
        return bool(shaped or large)
    if field.table in ("gpu_samples", "eval_tasks") and not field.units:
        return True
    return any(parse_number(cell).number is not None or ":" in cell for cell in cells)


def as_choice(guessed: Guess) -> dict[str, str]:
    """The proposal as `Choices.columns`."""
    return {column: meaning.text() for column, meaning in guessed.columns.items()}
