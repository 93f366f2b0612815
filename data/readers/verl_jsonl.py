"""verl's file logger: one JSON object a step, `{"step": N, "data": {key: value}}`."""

import json
import math
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from data.errors import UnreadableFileError
from data.logs.verl import verl_share
from data.logs.verl_attempts import split_attempts
from data.logs.verl_batch import Parsed, make_batch, run_name
from data.logs.verl_lines import MAX_STEP, Record, number
from data.readers.base import Batch, Choices, Progress, SetAside, Sniff, Source, no_progress

_PROGRESS_BYTES = 1 << 20
_SHAPE = re.compile(r'^[ \t]*\{\s*"step"\s*:\s*-?\d+(?:\.0*)?\s*,\s*"data"\s*:\s*\{', re.MULTILINE)
_KEY = re.compile(r'"([^"\\]+)"\s*:')
_JOIN_LINES = 5000
_DEEPEST = 60
_decoder = json.JSONDecoder()


class VerlJsonlReader:
    """JSON lines of verl's FileLogger (RL trainers)."""

    format = "verl_file_logger_jsonl"
    title = "verl file logger (JSON lines)"

    def sniff(self, source: Source) -> Sniff:
        """Shape {"step", "data"} and verl's RL keys; other metrics.jsonl have one of them or none."""
        head = source.head
        if not head.lstrip().startswith("{"):
            return Sniff(0.0, "no JSON object at the start")
        shaped = len(_SHAPE.findall(head))
        keys = [key for key in _KEY.findall(head) if key not in ("step", "data")]
        share = verl_share(keys)
        if shaped and share > 0:
            return Sniff(
                min(0.98, 0.75 + 0.25 * share), f'{shaped} objects {{"step", "data"}} with verl\'s RL keys'
            )
        if shaped:
            return Sniff(0.3, 'objects {"step", "data"}, but without keys of verl\'s RL trainers')
        if share >= 0.5:
            return Sniff(0.3, 'keys of verl, but not in the shape {"step", "data"} of its file logger')
        return Sniff(0.0, 'JSON, but not {"step": N, "data": {…}}')

    def read(
        self,
        source: Source,
        choices: Choices,
        scratch: Path,  # noqa: ARG002
        progress: Progress = no_progress,
    ) -> Batch:
        """Read all objects; raises UnreadableFileError when there is no step among them."""
        objects = JsonObjects()
        outcomes = [_record(line, text, value) for line, text, value in objects.read(source, progress)]
        records = [one for one in outcomes if isinstance(one, Record)]
        set_aside = [one for one in outcomes if isinstance(one, SetAside)]
        if not records:
            raise UnreadableFileError(
                'No object of the form {"step": N, "data": {…}} in this file',
                source.name,
                "Load the .jsonl that verl's file logger writes (trainer.logger: file).",
            )
        attempts, ignored, kept = split_attempts(records)
        cells = [cell for record in records for cell in record.bad_cells]
        parsed = Parsed(
            self.format,
            "verl_file_logger_jsonl",
            run_name(choices, source),
            attempts,
            kept,
            ignored,
            set_aside + objects.damaged + cells,
            partial_last_line=int(objects.cut_line is not None),
        )
        if objects.cut_line is not None:
            parsed.warnings.append(
                f"Line {objects.cut_line} is cut in the middle of an object and was dropped."
            )
        return make_batch(parsed, source)


@dataclass
class JsonObjects:
    """Reads JSON objects that may share a line or span several; keeps what is damaged."""

    damaged: list[SetAside] = field(default_factory=list)
    cut_line: int | None = None
    _held: list[str] = field(default_factory=list)
    _held_from: int = 0

    def read(self, source: Source, progress: Progress) -> Iterator[tuple[int, str, object]]:
        """(line, its text, object) in file order."""
        done = reported = 0
        total = source.path.stat().st_size
        with source.path.open("rb") as handle:
            for line_number, raw in enumerate(handle, start=1):
                done += len(raw)
                if done - reported >= _PROGRESS_BYTES:
                    progress("read", done, total)
                    reported = done
                text = raw.decode("utf-8", errors="replace").strip()
                if text:
                    yield from self._take(line_number, text)
        progress("read", done, total)
        self._close(source)

    def _take(self, line: int, text: str) -> Iterator[tuple[int, str, object]]:
        found, rest = _decode_all(text)
        if self._held:
            joined, joined_rest = _decode_all("\n".join([*self._held, text]))
            if joined and not joined_rest:
                yield from ((self._held_from, text, value) for value in joined)
                self._held.clear()
                return
            if not found or rest:
                self._hold(line, text)
                return
            self._give_up()
        yield from ((line, text, value) for value in found)
        if rest and text.endswith(rest) and rest.lstrip().startswith("{"):
            self._hold(line, rest)
        elif rest:
            self.damaged.append(SetAside(line, "not JSON", rest[:200]))

    def _hold(self, line: int, text: str) -> None:
        """Keep an unfinished object: the next lines may complete it."""
        if self._held and (text.startswith("{") or len(self._held) >= _JOIN_LINES):
            self._give_up()
        if not self._held:
            self._held_from = line
        self._held.append(text)

    def _give_up(self) -> None:
        reason = "not JSON: the object breaks off or is damaged"
        self.damaged.append(SetAside(self._held_from, reason, self._held[0][:200]))
        self._held.clear()

    def _close(self, source: Source) -> None:
        if not self._held:
            return
        if not source.ends_with_newline and self._held_from + len(self._held) - 1 == source.physical_lines:
            self.cut_line = self._held_from
            self._held.clear()
        else:
            self._give_up()


def _decode_all(text: str) -> tuple[list[object], str]:
    """Objects at the front of a text, and what could not be read after them."""
    found: list[object] = []
    at = 0
    while at < len(text):
        try:
            value, end = _decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            return found, text[at:]
        if not isinstance(value, dict):
            return found, text[at:]
        found.append(value)
        at = end
        while at < len(text) and text[at] in " \t\r\n,":
            at += 1
    return found, ""


def _record(line: int, text: str, value: object) -> Record | SetAside:
    data = value.get("data") if isinstance(value, dict) else None
    step = whole_step(value.get("step")) if isinstance(value, dict) else None
    if not isinstance(data, dict):
        return SetAside(line, 'an object without "data"', text[:200])
    if step is None:
        return SetAside(line, 'an object without a whole "step"', text[:200])
    record = Record(line, step, {})
    fill_values(record, data)
    if not any(v == v for v in record.values.values()):
        return SetAside(line, f"step {step} holds no number", text[:200])
    return record


def fill_values(record: Record, data: dict[str, object], prefix: str = "") -> None:
    """Put the numbers of a JSON object into a record; nested keys are joined by slashes, texts set aside."""
    for name, value in data.items():
        key = f"{prefix}{name}"
        if isinstance(value, bool | int | float):
            plain = float(value) if abs(value) <= sys.float_info.max else math.nan
            record.values[key] = plain if math.isfinite(plain) else math.nan
        elif value is None:
            record.values[key] = math.nan
        elif isinstance(value, dict) and key.count("/") < _DEEPEST:
            fill_values(record, value, f"{key}/")
        elif isinstance(value, str) and (read := number(value)) is not None:
            record.values[key] = read
        else:
            record.bad_cells.append(SetAside(record.line, "not a number", repr(value)[:80], key))


def whole_step(value: object) -> int | None:
    """A whole step number that a run can reach, else None."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if 0 <= value <= MAX_STEP and value == int(value) else None


READERS = (VerlJsonlReader(),)
