"""The console log of a verl RL trainer: `step:N - key:value - …` among everything else a cluster prints."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from data.errors import UnreadableFileError
from data.logs.log_clock import StampKeeper
from data.logs.verl import verl_share
from data.logs.verl_attempts import Mark, exception_text, split_attempts
from data.logs.verl_batch import Parsed, make_batch, run_name
from data.logs.verl_clock import place_steps
from data.logs.verl_config import ConfigCollector
from data.logs.verl_lines import Record, clean, decimals, is_whole, parse_step, pieces, step_line
from data.parse.last_line import cut_inside, left_out, only_line
from data.readers.base import Batch, Choices, Progress, SetAside, Sniff, Source, no_progress

_BAR = re.compile(r"Training Progress:.*?\| *(\d+)/(\d+) \[(?:(\d+) days?, )?((?:\d+:)?\d+:\d\d)<")
_RESUME = re.compile(r"(?:Setting global step to |Resuming from \S*global_step_|Load from checkpoint folder: "
                     r"\S*global_step_)(\d+)")  # fmt: skip
_CANCEL = re.compile(r"KeyboardInterrupt|received SIG(?:TERM|INT)|\bCANCELLED\b|Job '\S+' (?:was )?stopped")
_RUN_NAME = re.compile(r"wandb: Syncing run (\S.*?)\s*$")
_TOTAL = re.compile(r"Total training steps: (\d+)")
_OWNER = re.compile(r"\(([^()]*pid=\d+[^()]*)\)")
_WATCHED = (
    "Training Progress", "global_step_", "Setting global step", "Training from scratch", "Final validation",
    "Traceback", "Error", "Exception", "KeyboardInterrupt", "SIGTERM", "SIGINT", "CANCELLED", "Job '",
    "Syncing run", "Total training steps",
)  # fmt: skip
_RAY = r"^[ \t]*(?:\x1b\[\d+m)*\("
_HINTS = {
    "lines of a TaskRunner": re.compile(_RAY + r"(?:\w*TaskRunner|main_task) pid=", re.MULTILINE),
    "lines of verl's workers": re.compile(_RAY + r"(?:WorkerDict|\w*RolloutWorker) pid=", re.MULTILINE),
    "verl's configuration": re.compile(r"\{'actor_rollout_ref': \{|verl\.trainer\.main_ppo"),
}
_PROGRESS_BYTES = 1 << 20


@dataclass
class _Scan:
    """What one pass over the log collected."""

    records: list[Record] = field(default_factory=list)
    set_aside: list[SetAside] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    config: ConfigCollector = field(default_factory=ConfigCollector)
    stated_run: str | None = None
    total_steps: int | None = None
    stamps: StampKeeper = field(default_factory=StampKeeper)
    trace_open: bool = False


class VerlConsoleReader:
    """Console logs of verl (RL trainers; supervised logs of the same library are not RL logs)."""

    format = "verl_console"
    title = "verl console log"

    def sniff(self, source: Source) -> Sniff:
        """Step lines with RL keys in the head; only the launcher's marks when the head ends before step 1."""
        keys: list[str] = []
        count = 0
        for line in source.head.split("\n"):
            for piece in pieces(line):
                found = step_line(clean(piece)) if "step:" in piece else None
                if found:
                    count += 1
                    keys += [part.partition(":")[0].strip() for part in found[1].split(" - ")]
        if count:
            share = verl_share(keys)
            if share == 0:
                return Sniff(
                    0.15, f"{count} 'step:N - key:value' lines, but without keys of verl's RL trainers"
                )
            return Sniff(
                min(0.98, 0.8 + 0.2 * share), f"{count} lines 'step:N - key:value' with verl's RL keys"
            )
        hints = [name for name, pattern in _HINTS.items() if pattern.search(source.head)]
        if hints:
            return Sniff(0.45 + 0.15 * len(hints), f"no step in the first lines, but {' and '.join(hints)}")
        return Sniff(0.0, "no line starts with 'step:N - '")

    def read(
        self,
        source: Source,
        choices: Choices,
        scratch: Path,  # noqa: ARG002
        progress: Progress = no_progress,
    ) -> Batch:
        """Read all step lines; raises UnreadableFileError when there is none."""
        scan = _Scan()
        for number, line in numbered_lines(source, progress):
            _scan_line(scan, number, line)
        partial = _drop_cut_line(scan, source)
        if partial and not scan.records and not scan.set_aside:
            raise only_line(source.name, partial)
        if not scan.records and not scan.set_aside:
            raise UnreadableFileError(
                "The log holds no step line of verl ('step:N - key:value - …')",
                source.name,
                "Load the log of the process that trains (TaskRunner), or wait for its first step.",
            )
        return self._finish(self._parsed(scan, source, choices, partial), scan, source, choices)

    def _parsed(self, scan: _Scan, source: Source, choices: Choices, partial: str | None) -> Parsed:
        attempts, ignored, kept = split_attempts(scan.records, scan.marks)
        cells = [cell for record in scan.records for cell in record.bad_cells]
        rounded = _is_rounded(scan.records)
        config = scan.config.config()
        parsed = Parsed(
            self.format,
            "verl_console",
            run_name(choices, source, config.experiment or scan.stated_run),
            attempts,
            kept,
            ignored,
            scan.set_aside + cells,
            config=config,
            total_steps=scan.total_steps,
            rounded=rounded,
            vanished=_vanished(scan.records) if rounded else frozenset(),
            names_run=bool(config.experiment or scan.stated_run),
            partial_last_line=int(partial is not None),
        )
        if partial is not None:
            parsed.warnings.append(partial)
        return parsed

    def _finish(self, parsed: Parsed, scan: _Scan, source: Source, choices: Choices) -> Batch:
        clock = scan.stamps.clock(choices.timezone)
        parsed.stamps = place_steps(parsed.attempts, clock, scan.stamps.moments())
        for attempt in parsed.attempts:
            started = clock.after(attempt.start_line)
            placed = parsed.stamps.get(attempt.number)
            if placed is not None:
                started = placed.started_at
            if started is not None:
                parsed.started[attempt.number] = started
        if clock.unplaced:
            parsed.warnings.append(
                "Time stamps in the log name no time zone: choose one to place the run in time."
            )
        batch = make_batch(parsed, source)
        batch.timezone = clock.zone
        batch.facts |= clock.facts()
        return batch


def numbered_lines(source: Source, progress: Progress) -> Iterator[tuple[int, str]]:
    """Numbered lines without their newline; carriage returns stay in."""
    done = reported = 0
    total = source.path.stat().st_size
    with source.path.open("rb") as handle:
        for number, raw in enumerate(handle, start=1):
            done += len(raw)
            if done - reported >= _PROGRESS_BYTES:
                progress("read", done, total)
                reported = done
            yield number, raw.decode("utf-8", errors="replace").rstrip("\n")
    progress("read", done, total)


def _scan_line(scan: _Scan, number: int, line: str) -> None:
    if "step:" in line:
        for piece in pieces(line):
            found = step_line(clean(piece)) if "step:" in piece else None
            if found is None:
                continue
            outcome = parse_step(found[0], found[1], number)
            if isinstance(outcome, Record):
                scan.records.append(outcome)
            else:
                scan.set_aside.append(outcome)
        if scan.records and scan.records[-1].line == number and "\r" not in line:
            scan.stamps.record(number, line)
            return
    else:
        scan.stamps.feed(number, line)
    if not scan.records:
        _scan_head(scan, line)
    if any(word in line for word in _WATCHED):
        for piece in pieces(line):
            _scan_mark(scan, number, clean(piece))


def _scan_head(scan: _Scan, line: str) -> None:
    """Before the first step: the configuration."""
    owner = _OWNER.search(line[:120])
    scan.config.feed(owner[1] if owner else "", clean(line))


def _scan_mark(scan: _Scan, number: int, text: str) -> None:
    bar = _BAR.search(text)
    if bar:
        elapsed = _clock_seconds(bar[4]) + 86400 * int(bar[3] or 0)
        scan.marks.append(Mark(number, "bar", int(bar[1]), int(bar[2]), elapsed))
    resume = _RESUME.search(text)
    if resume:
        scan.marks.append(Mark(number, "resume", int(resume[1])))
        scan.stamps.new_start()
    elif "Training from scratch" in text:
        scan.marks.append(Mark(number, "resume"))
        scan.stamps.new_start()
    elif "Final validation metrics" in text:
        scan.marks.append(Mark(number, "final"))
    elif text.startswith("Traceback (most recent call last)"):
        scan.marks.append(Mark(number, "traceback"))
        scan.trace_open = True
    elif scan.trace_open and (caught := exception_text(text)):
        scan.marks.append(Mark(number, "exception", text=caught))
    if _CANCEL.search(text):
        scan.marks.append(Mark(number, "cancel", text=text[:200]))
    elif text.startswith("Job '"):
        kind = "job_ok" if text.endswith("succeeded") else "job_failed" if "failed" in text else None
        if kind:
            scan.marks.append(Mark(number, kind))
    _scan_names(scan, text)


def _scan_names(scan: _Scan, text: str) -> None:
    name = _RUN_NAME.search(text)
    if name and scan.stated_run is None:
        scan.stated_run = name[1]
    total = _TOTAL.search(text)
    if total:
        scan.total_steps = int(total[1])


def _clock_seconds(text: str) -> float:
    seconds = 0
    for part in text.split(":"):
        seconds = seconds * 60 + int(part)
    return float(seconds)


def _drop_cut_line(scan: _Scan, source: Source) -> str | None:
    """Take the last line away when the file may end inside it; the sentence on it, else None."""
    if source.ends_with_newline:
        return None
    last = source.physical_lines
    if scan.set_aside and scan.set_aside[-1].line == last:
        scan.set_aside.pop()
        return cut_inside(last, "step")
    if not scan.records or scan.records[-1].line != last or is_whole(scan.records[-1], scan.records[:-1]):
        return None
    end = scan.records.pop()
    return left_out(last, f"{end.key_end}:{end.texts_end}", "step")


def _is_rounded(records: list[Record]) -> bool:
    """Old releases print every number with three decimals."""
    sample = [decimals(record.texts_end) for record in records[:50]]
    return bool(sample) and all(digits == 3 for digits in sample)


def _vanished(records: list[Record]) -> frozenset[str]:
    """Learning rates that are 0.000 in every record: rounding left nothing of them."""
    counts: dict[str, int] = {}
    seen: dict[str, int] = {}
    for record in records:
        for key in record.values:
            if key.endswith("/lr"):
                seen[key] = seen.get(key, 0) + 1
        for key in record.zero_keys:
            counts[key] = counts.get(key, 0) + 1
    return frozenset(key for key, n in seen.items() if counts.get(key) == n)


READERS = (VerlConsoleReader(),)
