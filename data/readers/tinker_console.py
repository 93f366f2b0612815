"""Console of training scripts on Tinker: `[run] 3/100 | loss=0.5 | reward=0.25 | acc=25.0%`."""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from data.catalogue import load_catalogue
from data.errors import UnreadableFileError
from data.logs.flat import FlatFile, FlatRun, Row, make_batch
from data.logs.llm_guess import guess_llm
from data.logs.verl_batch import run_name
from data.logs.verl_lines import MAX_STEP, number, pieces
from data.parse.last_line import cut_inside, is_closed, left_out, only_line
from data.readers.base import Batch, Choices, Progress, Proposal, SetAside, Sniff, Source, no_progress
from data.readers.tinker_metrics import HOSTED
from data.readers.verl_console import numbered_lines

_ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
_OWNER = re.compile(r"^\s*(?:\[([^\[\]]{1,200})\])?\s*")
_STEP = re.compile(r"(\d{1,18})/(\d{1,18})\s*\|\s*(\S.*)$")
_CELL = re.compile(r"^([A-Za-z][\w./@-]*)\s*=\s*([^\s%=]+)\s*(%?)$")
_MODEL = re.compile(r"(?i)\bmodel\s*[=:]\s*([\w.-]+(?:/[\w.-]+)?)")
_NEEDED = frozenset({"loss", "reward"})


@dataclass
class _RunText:
    """What the lines of one bracketed name say."""

    rows: list[Row] = field(default_factory=list)
    total: int | None = None
    model: str | None = None
    endings: set[str] = field(default_factory=set)


@dataclass
class _Scan:
    runs: dict[str, _RunText] = field(default_factory=dict)
    aside: list[SetAside] = field(default_factory=list)
    cut: str | None = None
    hosted: bool = False

    def feed(self, line: int, text: str, unterminated: bool) -> None:
        owner = _OWNER.match(text)
        name, body = (owner[1] or "", text[owner.end() :]) if owner else ("", text)
        self.hosted = self.hosted or "tinker" in body.lower()
        step = _STEP.match(body)
        if step is None:
            self._head(name, body)
            return
        values, ending = cells_of(step[3])
        if not set(values) >= _NEEDED:
            if unterminated:
                self.cut = cut_inside(line, "step")
            elif values:
                self.aside.append(SetAside(line, f"step {step[1]} lacks its loss or its reward", text[:200]))
            return
        if unterminated and not is_closed(step[3]):
            self.cut = left_out(line, step[3].rpartition("|")[2], "step")
            return
        run = self.runs.setdefault(name, _RunText())
        if int(step[1]) > MAX_STEP:
            self.aside.append(SetAside(line, "a step number that no run reaches", text[:200]))
        else:
            run.rows.append(Row(int(step[1]), values, line))
            run.endings.add(ending)
            run.total = int(step[2])

    def _head(self, name: str, body: str) -> None:
        found = _MODEL.search(body)
        if found:
            self.runs.setdefault(name, _RunText()).model = found[1]


def cells_of(text: str) -> tuple[dict[str, float], str]:
    """Numbers of `loss=0.5 | acc=25.0%` (percents as ratios 0..1), and the shape of the last cell."""
    values: dict[str, float] = {}
    cells = [cell.strip() for cell in text.split("|")]
    for cell in cells:
        found = _CELL.match(cell)
        value = number(found[2]) if found else None
        if found is not None and value is not None:
            values[found[1]] = value / 100 if found[3] else value
    last = re.sub(r"(\.?)(\d+)", lambda m: "." + "0" * len(m[2]) if m[1] else "0", cells[-1])
    return values, last


class TinkerConsoleReader:
    """Progress lines of a script that trains on Tinker: no time, no tokens."""

    format = "tinker_console_progress"
    title = "Tinker console log"

    def sniff(self, source: Source) -> Sniff:
        """Lines `[run] n/N | loss=… | reward=…`; the word Tinker makes it sure."""
        scan = _scan(enumerate(source.head.split("\n")[:-1] or [source.head], start=1), 0)
        count = sum(len(run.rows) for run in scan.runs.values())
        if not count:
            return Sniff(0.0, "no line 'n/N | loss=… | reward=…'")
        why = f"{count} lines 'n/N | loss=… | reward=…'"
        return Sniff(0.95, f"{why} of a run on Tinker") if scan.hosted else Sniff(0.7, why)

    def read(
        self,
        source: Source,
        choices: Choices,
        scratch: Path,  # noqa: ARG002
        progress: Progress = no_progress,
    ) -> Batch:
        """Read all progress lines; raises UnreadableFileError without any."""
        open_end = 0 if source.ends_with_newline else source.physical_lines
        scan = _scan(numbered_lines(source, progress), open_end)
        texts = {name: run for name, run in scan.runs.items() if run.rows}
        if not texts and scan.cut:
            raise only_line(source.name, scan.cut)
        if not texts:
            raise UnreadableFileError(
                "No line 'n/N | loss=… | reward=…' in this file",
                source.name,
                "Load the console log of the training script.",
            )
        stated = len(texts) > 1 or "" not in texts
        runs = [
            _flat_run(run_name(choices, source, name or None) if len(texts) == 1 else name or "unnamed", text)
            for name, text in texts.items()
        ]
        file = FlatFile(
            format=self.format,
            source_name=self.format,
            records=sum(len(run.rows) for run in runs) + len(scan.aside),
            ignored=Counter(),
            set_aside=scan.aside,
            partial_last_line=int(scan.cut is not None),
            names_runs=stated and not choices.run,
            warnings=[_NO_CLOCK, HOSTED],
        )
        if scan.cut is not None:
            file.warnings.append(scan.cut)
        return make_batch(file, runs, source)


_NO_CLOCK = "The log prints neither times nor tokens: no cost and no throughput follow from it."


def _scan(lines: Iterable[tuple[int, str]], open_end: int) -> _Scan:
    scan = _Scan()
    for line, raw in lines:
        for text in pieces(raw):
            scan.feed(line, _ANSI.sub("", text), line == open_end)
    return scan


def _flat_run(name: str, text: _RunText) -> FlatRun:
    last = max(row.step for row in text.rows if row.step is not None)
    return FlatRun(
        run=name,
        rows=text.rows,
        framework="tinker",
        status="completed" if text.total is not None and last >= text.total else "unknown",
        proposals=named_llm(name, text.model, "the log says model="),
    )


def named_llm(run: str, model: str | None, how: str) -> list[Proposal]:
    """The catalogue's id of a model that a file names, to be confirmed; none for an unknown one."""
    found = load_catalogue().llm_id(model) or guess_llm(model) if model else None
    return [] if found is None else [Proposal(run, "llm", found, f"{how}{model}")]


READERS = (TinkerConsoleReader(),)
