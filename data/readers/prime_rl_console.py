"""prime-rl's console: `Step N | 9.1s | Loss … | Throughput … tokens/s | MFU …% | Peak Mem. … GiB`."""

import math
import re
from dataclasses import dataclass, field
from pathlib import Path

from data.errors import UnreadableFileError
from data.logs.flat import FlatFile, Row
from data.logs.verl_batch import run_name
from data.logs.verl_lines import MAX_STEP, clean, number, pieces
from data.parse.last_line import left_out, only_line
from data.readers.base import Batch, Choices, Progress, SetAside, Sniff, Source, no_progress
from data.readers.prime_rl_metrics import Pool, prime_batch, prime_run
from data.readers.verl_console import numbered_lines

KEYS = {
    "Loss": "loss/mean",
    "Entropy": "entropy/all/mean",
    "Mismatch KL": "mismatch_kl/all/mean",
    "Grad. Norm": "optim/grad_norm",
    "LR": "optim/lr",
    "Throughput": "perf/throughput",
    "MFU": "perf/mfu",
    "Peak Mem.": "perf/peak_memory",
    "Max Vio": "max_vio/mean",
    "Routing Conf.": "routing_confidence/mean",
    "Reward": "reward/mean",
    "Seq. Length": "seq_len/mean",
    "Max. Off-Policy Level": "off_policy/max",
}
"""Label on the console -> key of the same number in metrics.jsonl; other labels are keys as they stand."""
ORCHESTRATOR_RATE = "orchestrator/throughput"
"""The orchestrator's rate counts other tokens over other seconds than the trainer's perf/throughput."""

_STEP = re.compile(r"(?:^|[\s\]|])Step (\d{1,18}) \| (.+)$")
_CELL = re.compile(
    r"^([A-Za-z][A-Za-z. /-]*?):? +([-+]?(?:\d[\d,]*\.?\d*(?:e[-+]?\d+)?|nan|inf))(?=$|[\s%/,;)])", re.I
)
_TIME = re.compile(r"^(?:Time:?\s+)?((?:\d+(?:\.\d+)?(?:ms|min|s|m|h|d)\s*)+)$")
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|min|s|m|h|d)")
_OF_CARD = re.compile(r"Peak Mem\.:? [\d.]+/[\d.]+ GiB")
_SECONDS = {"ms": 1e-3, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}


class PrimeRlConsoleReader:
    """Console log of prime-rl's trainer or orchestrator."""

    format = "prime_rl_console"
    title = "prime-rl console log"

    def sniff(self, source: Source) -> Sniff:
        """Step lines with a duration and prime-rl's labels."""
        lines = [_parse(1, clean(line)) for line in source.head.split("\n") if "Step " in line]
        count = sum(
            1 for found in lines if found and {"perf/throughput", ORCHESTRATOR_RATE} & set(found.values)
        )
        if count:
            return Sniff(0.96, f"{count} lines 'Step N | seconds | Loss or Reward | Throughput'")
        return Sniff(0.0, "no line 'Step N | … | Throughput …'")

    def read(
        self,
        source: Source,
        choices: Choices,
        scratch: Path,  # noqa: ARG002
        progress: Progress = no_progress,
    ) -> Batch:
        """Read all step lines; raises UnreadableFileError without any."""
        scan = _Scan()
        for line, raw in numbered_lines(source, progress):
            if "Step " in raw:
                last = line == source.physical_lines and not source.ends_with_newline
                for text in pieces(raw):
                    scan.feed(line, clean(text), last)
        if not scan.lines and scan.cut:
            raise only_line(source.name, scan.cut)
        if not scan.lines:
            raise UnreadableFileError(
                "No line 'Step N | … | Throughput …' in this file",
                source.name,
                "Load the log of prime-rl's trainer or orchestrator.",
            )
        file = FlatFile(
            format=self.format,
            source_name=self.format,
            records=len(scan.lines) + len(scan.aside),
            set_aside=scan.aside,
            partial_last_line=int(scan.cut is not None),
            warnings=scan.warnings(),
        )
        name = run_name(choices, source)
        runs = []
        for pool in dict.fromkeys(line.pool for line in scan.lines):
            mine = [line for line in scan.lines if line.pool == pool]
            rows = [Row(line.step, line.values, line.line) for line in mine]
            runs.append(prime_run(name, rows, pool, all(line.supervised for line in mine)))
        return prime_batch(file, runs, source)


@dataclass
class _Line:
    """One step line; `ending` is the shape of its last cell, which a cut line does not share.

    `supervised`: prime-rl's SFT trainer prints the memory of the card beside the peak, and no entropy.
    """

    line: int
    step: int
    values: dict[str, float]
    pool: Pool
    ending: str
    supervised: bool


@dataclass
class _Scan:
    lines: list[_Line] = field(default_factory=list)
    aside: list[SetAside] = field(default_factory=list)
    cut: str | None = None

    def feed(self, line: int, text: str, unterminated: bool) -> None:
        found = _parse(line, text)
        if found is None:
            return
        if found.step > MAX_STEP:
            self.aside.append(SetAside(line, "a step number that no run reaches", text[:200]))
        elif unterminated and not self._is_whole(found, text):
            self.cut = left_out(line, text.rpartition("|")[2], "step")
        elif not {"loss/mean", "reward/mean"} & set(found.values):
            self.aside.append(SetAside(line, f"step {found.step} breaks off", text[:200]))
        else:
            self.lines.append(found)

    def _is_whole(self, found: _Line, text: str) -> bool:
        """Whether the line has what another one has, and an end that nothing can follow: a unit."""
        same = (found.ending == line.ending and set(found.values) >= set(line.values) for line in self.lines)
        return text.rstrip()[-1:].isalpha() and any(same)

    def warnings(self) -> list[str]:
        out = ["The console prints rounded numbers: metrics.jsonl of the same run holds them in full."]
        if self.cut is not None:
            out.append(self.cut)
        return out


def _parse(line: int, text: str) -> _Line | None:
    match = _STEP.search(text)
    if match is None:
        return None
    cells = [cell.strip() for cell in match[2].split("|") if cell.strip()]
    seconds = seconds_of(cells[0]) if cells else None
    if seconds is None:
        return None
    labels: dict[str, float] = {}
    for cell in cells[1:]:
        found = _CELL.match(cell)
        value = number(found[2]) if found else None
        if found is not None and value is not None:
            labels[found[1].rstrip(":")] = value
    pool: Pool = "orchestrator" if "Reward" in labels else "trainer"
    values = {"time/step": seconds}
    for label, value in labels.items():
        rate = label == "Throughput" and pool == "orchestrator"
        values[ORCHESTRATOR_RATE if rate else KEYS.get(label, label)] = value
    supervised = "Entropy" not in labels and _OF_CARD.search(match[2]) is not None
    return _Line(line, int(match[1]), values, pool, _shape(cells[-1]), supervised)


def _shape(cell: str) -> str:
    """A cell with whole parts as one 0 and decimals as so many: equal for whole cells of the same label."""
    return re.sub(r"(\.?)(\d[\d,]*)", lambda m: "." + "0" * len(m[2]) if m[1] else "0", cell)


def seconds_of(cell: str) -> float | None:
    """Seconds of `9.1s`, `1m 30s`, `2.5h` or `Time: 9.10s`; None when a cell is no duration."""
    match = _TIME.match(cell)
    if match is None:
        return None
    return math.fsum(float(amount) * _SECONDS[unit] for amount, unit in _PART.findall(match[1]))


READERS = (PrimeRlConsoleReader(),)
