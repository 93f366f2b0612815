"""trainer_state.json of TRL and Transformers trainers: the list `log_history` and the state around it."""

import json
import math
import re
from dataclasses import dataclass, field
from pathlib import Path

from data.errors import UnreadableFileError
from data.logs.console_text import printed_number
from data.logs.flat import FlatFile, FlatRun, Row, make_batch
from data.logs.trl_keys import last_counter, offline_warning, stated_runtime, step_time_warning
from data.logs.verl_batch import run_name
from data.readers.base import Batch, Choices, Progress, SetAside, Sniff, Source, no_progress

_HISTORY = re.compile(r'"log_history"\s*:\s*\[')
_SCALAR = re.compile(
    r'"(global_step|max_steps|num_input_tokens_seen|total_flos|epoch)"\s*:\s*(-?\d[\d.eE+-]*|null)'
)
_NOT_BLANK = re.compile(r"[^\s,]")
_MAX_STEP = 10**15
_LARGEST_BYTES = 300 * 2**20
_MOST_DAMAGED = 1000
_decoder = json.JSONDecoder()


@dataclass
class _State:
    """The entries of the history; `state`: numbers of the trainer beside it."""

    text: str
    rows: list[Row] = field(default_factory=list)
    set_aside: list[SetAside] = field(default_factory=list)
    state: dict[str, float] = field(default_factory=dict)
    cut: bool = False
    _at: int = 0
    _failed: int = 0
    _counted: tuple[int, int] = (0, 1)

    def read(self) -> None:
        """Read entry after entry: a damaged one costs itself, a cut file its last one."""
        start = _HISTORY.search(self.text)
        if start is None:
            return
        self._at = start.end()
        while (here := self._next()) is not None:
            try:
                value, end = _decoder.raw_decode(self.text, here)
            except (ValueError, RecursionError):
                end = self._damaged(here)
            else:
                self._entry(self._line(here), value)
            self._at = end
        for name, number in _SCALAR.findall(self.text[: start.start()] + "\n" + self.text[self._at :]):
            read = printed_number(number)
            if read is not None and read == read:
                self.state.setdefault(name, read)

    def _next(self) -> int | None:
        """Where the next entry begins; None at the end of the list or of the file."""
        found = _NOT_BLANK.search(self.text, self._at)
        if found is None:
            self.cut = True
            return None
        return None if found[0] == "]" else found.start()

    def _damaged(self, here: int) -> int:
        """Set an unreadable entry aside and say where to go on."""
        self._failed += 1
        if self._failed > _MOST_DAMAGED:
            self.set_aside.append(
                SetAside(self._line(here), "the rest is not JSON", self.text[here : here + 200])
            )
            return len(self.text)
        closing = self.text.find("]", here)
        following = self.text.find("{", here + 1, closing if closing >= 0 else len(self.text))
        if closing < 0 and following < 0:
            self.cut = True
            return len(self.text)
        self.set_aside.append(SetAside(self._line(here), "not JSON", self.text[here : here + 200]))
        return following if following >= 0 else closing

    def _line(self, at: int) -> int:
        before, line = self._counted
        self._counted = (at, line + self.text.count("\n", before, at))
        return self._counted[1]

    def _entry(self, line: int, value: object) -> None:
        if not isinstance(value, dict):
            self.set_aside.append(
                SetAside(line, "an entry of log_history that is no object", repr(value)[:200])
            )
            return
        row = Row(_step(value.get("step")), {}, line)
        cells = []
        for key, cell in value.items():
            number = _number(cell)
            if number is None:
                cells.append(SetAside(line, "not a number", repr(cell)[:80], key))
            elif key != "step" or row.step is None:
                row.values[key] = number
        if not any(number == number for number in row.values.values()):
            self.set_aside.append(
                SetAside(line, "an entry of log_history without a number", repr(value)[:200])
            )
            return
        if row.step is None and (epoch := row.values.get("epoch", math.nan)) == epoch:
            row.x_name, row.x = "epoch", epoch
        self.set_aside += cells
        self.rows.append(row)


class TrlTrainerStateReader:
    """trainer_state.json with its log history; no file of this kind has a clock."""

    format = "trl_trainer_state"
    title = "trainer_state.json of a TRL or Transformers trainer"

    def sniff(self, source: Source) -> Sniff:
        """One JSON object with a list `log_history`."""
        head = source.head
        if not head.lstrip().startswith("{") or not _HISTORY.search(head):
            return Sniff(0.0, "no list 'log_history'")
        telling = sum(
            f'"{key}"' in head for key in ("global_step", "best_metric", "is_world_process_zero", "max_steps")
        )
        return Sniff(0.97 if telling >= 2 else 0.9, "a list 'log_history' and the state of a trainer")

    def read(
        self,
        source: Source,
        choices: Choices,
        scratch: Path,  # noqa: ARG002
        progress: Progress = no_progress,
    ) -> Batch:
        """Read all entries; raises UnreadableFileError when the history is empty or missing."""
        if source.size_bytes > _LARGEST_BYTES:
            raise UnreadableFileError(
                "This trainer state is larger than 300 MB",
                source.name,
                "Load it without its stateful_callbacks.",
            )
        text = source.path.read_text(encoding="utf-8", errors="replace")
        progress("read", len(text), len(text))
        found = _State(text)
        found.read()
        whole = sum(1 for item in found.set_aside if item.column is None)
        if not found.rows and not whole:
            raise UnreadableFileError(
                "The history of this trainer state holds no record",
                source.name,
                "Load the trainer_state.json of a later checkpoint: this one was saved before the first log.",
            )
        file = FlatFile(
            format=self.format,
            source_name=self.format,
            records=len(found.rows) + whole,
            set_aside=found.set_aside,
            partial_last_line=int(found.cut),
            warnings=_warnings(found),
            facts=_facts(found),
        )
        run = FlatRun(run_name(choices, source), found.rows, framework="trl", status=_status(found))
        run.elapsed_s = stated_runtime(found.rows)
        run.elapsed_basis = "clock" if run.elapsed_s is not None else None
        return make_batch(file, [run], source)


def _number(cell: object) -> float | None:
    """A JSON value as a number: NaN for null and the like, None for what is no number."""
    if cell is None:
        return math.nan
    if isinstance(cell, bool | int | float):
        try:
            number = float(cell)
        except OverflowError:
            return math.nan
        return number if math.isfinite(number) else math.nan
    return printed_number(cell) if isinstance(cell, str) else None


def _step(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if 0 <= value <= _MAX_STEP and value == int(value) else None


def _status(found: _State) -> str:
    planned, done = found.state.get("max_steps", 0.0), found.state.get("global_step", 0.0)
    return "completed" if planned > 0 and done >= planned else "unknown"


def _facts(found: _State) -> dict[str, object]:
    """The counter of the whole state wins over the last logged record, which may be some steps older."""
    seen = found.state.get("num_input_tokens_seen", 0.0)
    logged = last_counter(found.rows)
    total = max(seen, logged or 0.0)
    return {"tokens_total": total} if total > 0 else {}


def _warnings(found: _State) -> list[str]:
    out = []
    done = found.state.get("global_step")
    last = max((row.step for row in found.rows if row.step is not None), default=None)
    if done is not None and last is not None and done > last:
        out.append(
            f"{done:.0f} steps were run but the last record is of step {last}: the rest was not logged."
        )
    steps = sorted({row.step for row in found.rows if row.step is not None and "loss" in row.values})
    if steps and len(steps) < steps[-1] / 2:
        out.append(f"{len(steps)} records stand for {steps[-1]} steps: the trainer did not log every step.")
    runtime = stated_runtime(found.rows)
    if runtime is None and not any("step_time" in row.values for row in found.rows):
        out.append("The file holds no time of any kind: no cost can be derived from it alone.")
    found_warnings = (offline_warning(found.rows), step_time_warning(found.rows, runtime))
    return out + [sentence for sentence in found_warnings if sentence]


READERS = (TrlTrainerStateReader(),)
