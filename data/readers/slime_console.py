"""The console log of slime: `perf N: {…}`, `rollout N: {…}`, `step N: {…}` of several processes."""

import re
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from data.logs.console_batch import ConsoleLog, batch_of, coverage_warning, read_record
from data.logs.console_text import LineClock, seconds_between
from data.logs.flat import FlatRun, Row
from data.logs.verl_attempts import DUPLICATE
from data.logs.verl_lines import clean, pieces
from data.readers.base import Batch, Choices, Progress, Sniff, Source, no_progress
from data.readers.verl_console import numbered_lines

_RECORD = re.compile(
    r"(?:^|[\s\])])((?:critic-)?(?:perf|rollout|train|step|eval|multi_turn|passrate)) (\d{1,15}): (?=\{)"
)
_TRAIN_AXIS = ("train", "step", "critic-train", "critic-step")
_TRAINER_KEYS = ("perf/step_time", "perf/train_time", "perf/actor_train_time", "perf/train_wait_time")
_TELLING = re.compile(
    r"'(?:perf/(?:rollout_time|train_wait_time|actor_train_time|step_time|update_weights_time"
    r"|tokens_per_gpu_per_sec)|rollout/(?:response_len/mean|raw_reward|response_lengths)"
    r"|train/(?:pg_loss|train_rollout_logprob_abs_diff|ppo_kl))'"
)
_STEP_TIME = "perf/step_time"
_SAME_MOMENT_S = 5.0
_TRAINER = "perf trainer"
_LEFT_OUT = "weight sync, offloading and saving"


@dataclass
class _Record:
    label: str
    row: Row
    moment: datetime | None
    stream: str
    start: datetime | None = None
    segment: int = 0


@dataclass
class _Streams:
    """Tells restarts: each process counts upwards until the job is started again."""

    segment: int = 0
    last: dict[str, _Record] = field(default_factory=dict)

    def take(self, record: _Record) -> bool:
        """Set the record's segment; False when it repeats the one before in its stream."""
        before = self.last.get(record.stream)
        if before is not None:
            old, new = _number(before.row), _number(record.row)
            near = abs(seconds_between(before.moment, record.moment) or 0.0) <= _SAME_MOMENT_S
            if new == old and near and _same(before.row.values, record.row.values):
                return False
            if new <= old:
                self.segment += 1
                self.last.clear()
        self.last[record.stream] = record
        record.segment = self.segment
        return True


def _number(row: Row) -> float:
    return float(row.step) if row.step is not None else float(row.x or 0.0)


def _same(a: dict[str, float], b: dict[str, float]) -> bool:
    return a.keys() == b.keys() and all(v == b[k] or (v != v and b[k] != b[k]) for k, v in a.items())


class SlimeConsoleReader:
    """Console logs of slime; the axis of the run is its rollout counter."""

    format = "slime_console"
    title = "slime console log"

    def sniff(self, source: Source) -> Sniff:
        """Lines `perf N: {…}` with slime's keys."""
        lines = [line for line in source.head.split("\n") if ": {" in line]
        hits = [line for line in lines if _RECORD.search(clean(line))]
        told = sum(bool(_TELLING.search(line)) for line in hits)
        if told:
            return Sniff(0.96, f"{told} lines 'perf N: {{…}}' or 'rollout N: {{…}}' with slime's keys")
        if len(hits) >= 2:
            return Sniff(0.4, "lines 'perf N: {…}', but without slime's keys")
        return Sniff(0.0, "no line 'perf N: {…}'")

    def read(
        self,
        source: Source,
        choices: Choices,
        scratch: Path,  # noqa: ARG002
        progress: Progress = no_progress,
    ) -> Batch:
        """Read all dict lines; raises UnreadableFileError when there is none."""
        log = ConsoleLog(LineClock(choices.timezone))
        streams, records = _Streams(), list[_Record]()
        repeated = 0
        for number, line in numbered_lines(source, progress):
            last = number == source.physical_lines and not source.ends_with_newline
            for piece in pieces(line):
                record = _record(log, number, piece, last)
                if record is None:
                    continue
                log.watch.record()
                record.start = log.clock.start_of(record.moment)
                if streams.take(record):
                    records.append(record)
                else:
                    repeated += 1
        mode = _mode(records)
        _settle(log, records)
        if repeated:
            log.ignored[DUPLICATE] += repeated
            log.warnings.append(f"{repeated} records came twice with equal values and count once.")
        run = FlatRun("", [], framework="slime", mode=mode)
        return batch_of(log, run, self.format, source, choices, "record of slime ('perf N: {…}')")


def _record(log: ConsoleLog, number: int, piece: str, last: bool) -> _Record | None:
    text = clean(piece)
    moment = log.clock.feed(piece)
    match = _RECORD.search(text) if ": {" in text else None
    if match is None:
        log.watch.feed(text)
        return None
    values = read_record(log, number, text, match.end(), last)
    if values is None:
        return None
    label, count = match[1], int(match[2])
    if label in _TRAIN_AXIS:
        row = Row(None, values, number, x_name="train/step", x=values.get("train/step", float(count)))
        return _Record(label, row, moment, label)
    side = "trainer" if any(key in values for key in _TRAINER_KEYS) else "rollout"
    return _Record(label, Row(count, values, number), moment, f"{label} {side}")


def _settle(log: ConsoleLog, records: list[_Record]) -> None:
    """Rows by segment and step: an asynchronous run prints the next rollout before the step is trained.

    Time is that of the record which ends a step: the trainer's, where the log has one.
    """
    trained = {record.segment for record in records if record.stream == _TRAINER}
    starts: dict[int, datetime] = {} if log.clock.first is None else {0: log.clock.first}
    for record in records:
        if record.moment is not None:
            starts.setdefault(record.segment, record.start or record.moment)
    records.sort(key=lambda r: (r.segment, -1 if r.row.step is None else r.row.step, r.row.line))
    seen: dict[tuple[int, int, str], float] = {}
    for record in records:
        row = record.row
        ends_step = record.stream == _TRAINER or record.segment not in trained
        if record.moment is not None and ends_step and row.step is not None:
            row.ts = log.clock.utc(record.moment)
            row.elapsed_s = seconds_between(starts[record.segment], record.moment)
        _keep_both(record, seen)
        log.rows.append(row)
    ends = [record.row for record in records if record.stream == _TRAINER]
    warning = coverage_warning(ends, _STEP_TIME, _LEFT_OUT)
    if warning:
        log.warnings.append(warning)


def _keep_both(record: _Record, seen: dict[tuple[int, int, str], float]) -> None:
    """Two processes print one key with different values for a step: the second one keeps its label."""
    row = record.row
    if row.step is None:
        return
    for key in list(row.values):
        before = seen.setdefault((record.segment, row.step, key), row.values[key])
        if before != row.values[key] and before == before:
            row.values[f"{record.label}:{key}"] = row.values.pop(key)


def _mode(records: list[_Record]) -> str | None:
    """one_step_off: the next rollout is printed before the step before it is trained."""
    ahead = trained = 0
    newest: dict[int, int] = {}
    for record in records:
        step = record.row.step
        if step is None:
            continue
        if record.stream == _TRAINER:
            trained += 1
            ahead += newest.get(record.segment, -1) > step
        elif record.stream == "perf rollout":
            newest[record.segment] = max(step, newest.get(record.segment, -1))
    if not trained or not newest:
        return None
    return "one_step_off" if ahead > trained / 2 else "sync"


READERS = (SlimeConsoleReader(),)
