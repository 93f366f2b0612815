"""Records of a W&B run history, whatever file they come from: raw keys plus `_step, _runtime, _timestamp`."""

import json
import math
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import pairwise
from typing import TypeGuard

from data.errors import UnreadableFileError
from data.logs.flat import FlatFile, FlatRun, Row, framework_of, make_batch
from data.logs.flat_attempts import LONGEST_RUN_S
from data.logs.flat_rows import ANY_COUNTERS, LOG_COUNTER, gaps_in, number_steps
from data.logs.json_rows import epoch_of
from data.logs.verl_batch import run_name
from data.logs.wandb_points import epoch_seconds
from data.parse.values import is_missing, parse_number
from data.readers.base import Batch, Choices, SetAside, Source
from data.readers.prime_rl_metrics import pool_of, prime_batch

CLOCKS = ("_runtime", "_timestamp")
RUN_COLUMNS = ("run", "run_name", "run_id", "Name", "name", "_run")
INDEX_COLUMNS = ("", "Unnamed: 0", "index")
LENGTHS = ("batch/response_lengths", "val/response_lengths", "response_lengths")
_APART = frozenset((*RUN_COLUMNS, *INDEX_COLUMNS))
EMPTY = "a record without any number"
TOO_LARGE = "a number too large to hold"
SAMPLE = "this may be a sample, as run.history() gives; sums over steps are then too low. Use scan_history."
_OBJECT = ("{", "[")
_FASTER, _SLACK_S = 1.5, 60.0


@dataclass
class History:
    """Rows by run in file order, and the books of the cells.

    `texts`: key -> cells that hold a text, a table, a picture or another object; `missing`: cells without a
    value; `log_steps` by run.
    """

    rows: dict[str, list[Row]] = field(default_factory=dict)
    log_steps: dict[str, list[int]] = field(default_factory=dict)
    texts: Counter[str] = field(default_factory=Counter)
    ignored: Counter[str] = field(default_factory=Counter)
    bad: list[SetAside] = field(default_factory=list)
    missing: int = 0
    records: int = 0
    named: bool = False

    def take(self, line: int, record: Mapping[str, object], run: str) -> None:
        """File one record: numbers by key; an empty cell is no key at all."""
        self.records += 1
        row = Row(None, {}, line, x_name=LOG_COUNTER)
        for key, value in record.items():
            if key not in _APART and (number := _plain(value)) is not None:
                row.values[key] = number
            elif key in RUN_COLUMNS and isinstance(value, str) and value.strip() and not _is_number(value):
                run, self.named = value.strip(), True
            elif isinstance(value, datetime):
                row.ts = _utc(value) or row.ts
            elif key not in INDEX_COLUMNS:
                self._cell(row, key, value)
        log_step = row.values.pop(LOG_COUNTER, math.nan)
        row.x = None if math.isnan(log_step) else log_step
        elapsed, stamp = (row.values.pop(key, math.nan) for key in CLOCKS)
        if 0 <= elapsed <= LONGEST_RUN_S:
            row.elapsed_s = elapsed
        elif not math.isnan(elapsed):
            self.bad.append(SetAside(line, "no run time that a run can have", repr(elapsed), CLOCKS[0]))
        row.ts = row.ts if math.isnan(stamp) else epoch_of(epoch_seconds(stamp))
        if row.x is not None and row.x == int(row.x):
            self.log_steps.setdefault(run, []).append(int(row.x))
        if not row.lengths and not any(v == v for key, v in row.values.items() if key not in ANY_COUNTERS):
            self.ignored[EMPTY] += 1
            return
        self.rows.setdefault(run, []).append(row)

    def _cell(self, row: Row, key: str, value: object) -> None:
        if value is None or (isinstance(value, str) and not value.strip()):
            self.missing += 1
        elif isinstance(value, bool | int | float):
            self._number(row, key, float(value) if abs(value) <= sys.float_info.max else math.nan)
        elif isinstance(value, str):
            self._text(row, key, value)
        else:
            self._object(row, key, value)

    def _text(self, row: Row, key: str, text: str) -> None:
        try:
            value = float(text)
            if math.isinf(value) and any(letter.isdigit() for letter in text):
                self.bad.append(SetAside(row.line, TOO_LARGE, text[:80], key))
            else:
                self._number(row, key, value)
            return
        except ValueError:
            pass
        if is_missing(text):
            self._number(row, key, math.nan)
        elif text in ("True", "False", "true", "false"):
            row.values[key] = float(text.lower() == "true")
        elif text.lstrip().startswith(_OBJECT):
            self._object(row, key, _parsed(text))
        elif (number := parse_number(text).number) is not None:
            row.values[key] = number
        else:
            self.texts[key] += 1

    def _number(self, row: Row, key: str, value: float) -> None:
        finite = math.isfinite(value)
        self.missing += not finite
        row.values[key] = value if finite else math.nan

    def _object(self, row: Row, key: str, value: object) -> None:
        buckets = buckets_of(value) if key in LENGTHS else None
        if buckets:
            row.lengths = buckets
        else:
            self.texts[key] += 1


def _plain(value: object) -> float | None:
    """The quick way for most cells; None leaves a cell to the whole rule."""
    if isinstance(value, str):
        try:
            number = float(value)
        except ValueError:
            return None
    elif isinstance(value, float):
        number = value
    else:
        return None
    return number if math.isfinite(number) else None


def _utc(at: datetime) -> datetime | None:
    """UTC without zone; a time whose zone nobody states is no instant."""
    return None if at.tzinfo is None else at.astimezone(UTC).replace(tzinfo=None)


def _is_number(text: str) -> bool:
    return parse_number(text).number is not None


def _parsed(text: str) -> object:
    try:
        found: object = json.loads(text.replace("'", '"'))
    except (ValueError, RecursionError):
        return text
    return found


def buckets_of(value: object) -> tuple[tuple[float, float, float], ...]:
    """(low, high, count) of a W&B histogram; empty for anything else."""
    if not isinstance(value, dict) or value.get("_type") != "histogram":
        return ()
    counts, edges, packed = value.get("values"), value.get("bins"), value.get("packedBins")
    if not _numbers(counts):
        return ()
    if isinstance(packed, dict) and _numbers([packed.get("min"), packed.get("size")]):
        low, size = float(packed["min"]), float(packed["size"])
        edges = [low + size * place for place in range(len(counts) + 1)]
    if not _numbers(edges) or len(edges) != len(counts) + 1:
        return ()
    triples = zip(edges, edges[1:], counts, strict=False)
    return tuple((float(a), float(b), float(n)) for a, b, n in triples if n)


def _numbers(values: object) -> TypeGuard[list[float]]:
    return isinstance(values, list) and all(
        isinstance(item, int | float) and not isinstance(item, bool) and abs(item) <= sys.float_info.max
        for item in values
    )


def history_batch(
    file: FlatFile, history: History, source: Source, choices: Choices, named: str | None = None
) -> Batch:
    """The batch of a history; raises UnreadableFileError when no record holds a number."""
    if not history.rows:
        raise UnreadableFileError(
            "No record of this history holds a number",
            source.name,
            "Export the run again with the metrics (run.scan_history or run.history without keys).",
        )
    runs = [_run(name, rows, history, file) for name, rows in history.rows.items()]
    if len(runs) == 1:
        runs[0].run = run_name(choices, source, runs[0].run if history.named else named)
    file.names_runs = history.named
    file.ignored += history.ignored
    file.set_aside += history.bad
    file.facts["missing_cells"] = history.missing
    if history.texts:
        worst = ", ".join(f"{key} ({n})" for key, n in history.texts.most_common(5))
        n = sum(history.texts.values())
        file.warnings.append(f"{n} cells hold texts or objects, no numbers, and were left out: {worst}.")
    pools = {run.pool for run in runs}
    return prime_batch(file, runs, source) if pools != {None} else make_batch(file, runs, source)


def _run(name: str, rows: list[Row], history: History, file: FlatFile) -> FlatRun:
    if all(row.x is not None for row in rows):
        rows.sort(key=lambda row: row.x or 0.0)
    keys = {key for row in rows for key in row.values}
    framework = framework_of(sorted(keys))[0]
    _add(file.warnings, number_steps(rows, framework))
    lost = gaps_in(history.log_steps.get(name, []))
    if lost:
        _add(file.warnings, [f"_step has gaps ({lost} log calls are missing): {SAMPLE}"])
    _add(file.warnings, _clocks(name, rows))
    pool = pool_of(keys) if framework == "prime-rl" else None
    return FlatRun(name, rows, framework=framework, pool=pool)


def _clocks(run: str, rows: list[Row]) -> list[str]:
    """What to say where the run's own seconds pass faster than its time stamps, which cannot be.

    Slower is possible: the time between the end of a run and its resumption is in the stamps alone.
    """
    own = stamped = 0.0
    clocked = [(row.elapsed_s, row.ts) for row in rows if row.elapsed_s is not None and row.ts is not None]
    for (first_s, first), (last_s, last) in pairwise(clocked):
        seconds, passed = last_s - first_s, (last - first).total_seconds()
        if seconds >= 0 and passed >= 0:
            own, stamped = own + seconds, stamped + passed
    if own <= _FASTER * stamped + _SLACK_S:
        return []
    return [
        f"_runtime of {run} advances by {own:,.0f} s while _timestamp advances by {stamped:,.0f} s: one of "
        "them is not in seconds. The time of the run is taken from _runtime."
    ]


def _add(warnings: list[str], more: Iterable[str]) -> None:
    warnings += [text for text in more if text not in warnings]
