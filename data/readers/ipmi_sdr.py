"""`ipmitool sdr` in time-stamped blocks: sensors of a node. Its power is the node's, never a GPU's."""

import re
import statistics
from collections import defaultdict
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

from data.errors import UnreadableFileError
from data.facts_base import source_facts
from data.parse.csvio import TEXT_LIMIT, open_lines
from data.parse.timezones import parse_stamp, to_utc, zone_of
from data.parse.values import is_missing, parse_number
from data.readers.base import Batch, Choices, Progress, SetAside, Sniff, Source, no_progress

_BLOCK = re.compile(r"^\s*Timestamp:\s*(\S.*)$", re.IGNORECASE)
_STATUS = re.compile(r"\w*")
NODE_BLOCK = "block of node sensors, no GPU reading"
WHY = (
    "These are sensors of a node: 'Sys Power' is the whole machine (and may be far off), never the draw of "
    "a GPU. The blocks were counted and not stored as GPU samples."
)


@dataclass
class _Blocks:
    stamps: list[datetime] = field(default_factory=list)
    readings: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    missing: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    set_aside: list[SetAside] = field(default_factory=list)
    blocks: int = 0
    has_zone: bool = False
    text_lines: int = 0

    def sensor(self, name: str, reading: str) -> None:
        """Take one sensor line."""
        if is_missing(reading):
            self.missing[name] += 1
            return
        self.missing[name] += 0
        value = parse_number(reading.replace("Watts", "W"))
        if value.number is not None and value.unit == "W":
            self.readings[name].append(value.number)


class IpmiSdrReader:
    """Blocks of IPMI sensors: counted and described, not stored."""

    format = "ipmi_sdr_blocks"
    title = "IPMI sensor blocks (node power; no GPU samples)"

    def sniff(self, source: Source) -> Sniff:
        """Judge by a `Timestamp:` line and lines of name | reading | status."""
        lines = source.head.split("\n")[:400]
        sensors = sum(_sensor(line) is not None for line in lines)
        if sensors < 3 or not any(_BLOCK.match(line) for line in lines):
            return Sniff(0.0, "no 'Timestamp:' line with sensor lines under it")
        return Sniff(0.95, f"a 'Timestamp:' line and {sensors} lines of name | reading | status")

    def read(
        self,
        source: Source,
        choices: Choices,
        scratch: Path,  # noqa: ARG002 - readers with bulk data use it
        progress: Progress = no_progress,
    ) -> Batch:
        """Count blocks and missing readings. Times without a zone are read in `choices.timezone`.

        Raises UnreadableFileError when there is no block.
        """
        found = _read(source)
        if not found.blocks:
            raise UnreadableFileError(
                "No 'Timestamp:' line starts a block", source.name, "Log a time before each 'ipmitool sdr'."
            )
        progress("read", source.physical_lines, source.physical_lines)
        batch = Batch(self.format, records=found.blocks, set_aside=found.set_aside)
        batch.ignored[NODE_BLOCK] = found.blocks - len(found.set_aside)
        batch.facts = source_facts(source) | _facts(found, choices)
        batch.warnings.append(WHY)
        if found.text_lines:
            batch.warnings.append(f"{found.text_lines} lines are neither a time nor a sensor.")
        batch.unmapped = list(found.missing)
        batch.reconcile()
        return batch


def _sensor(text: str) -> tuple[str, str] | None:
    """Name and reading of a line `name | reading | status`."""
    cells = [cell.strip() for cell in text.split("|", 3)]
    if len(cells) != 3 or not cells[0] or not _STATUS.fullmatch(cells[2]):
        return None
    return cells[0], cells[1]


def _read(source: Source) -> _Blocks:
    found = _Blocks()
    with closing(open_lines(source)) as lines:
        for number, raw in enumerate(lines, 1):
            text = raw.rstrip("\n")
            if match := _BLOCK.match(text):
                _block(found, number, match[1].rstrip(), text)
            elif found.blocks and (sensor := _sensor(text)):
                found.sensor(*sensor)
            elif text.strip():
                found.text_lines += 1
    return found


def _block(found: _Blocks, line: int, written: str, text: str) -> None:
    found.blocks += 1
    stamp = parse_stamp(written)
    if stamp is None:
        found.set_aside.append(SetAside(line, "the time stamp cannot be read", text[:TEXT_LIMIT]))
        return
    found.has_zone = stamp.offset is not None
    found.stamps.append(stamp.at)


def _facts(found: _Blocks, choices: Choices) -> dict[str, object]:
    zone = zone_of(choices.timezone)
    at = found.stamps if found.has_zone or zone is None else [to_utc(one, zone) for one in found.stamps]
    gaps = [(b - a).total_seconds() for a, b in pairwise(at)]
    facts: dict[str, object] = {
        "format": IpmiSdrReader.format,
        "records": found.blocks,
        "partial_last_line": 0,
        "missing_cells": sum(found.missing.values()),
        "span_s": (max(at) - min(at)).total_seconds() if at else None,
        "gap_max_s": max(gaps, default=None),
        "gap_median_s": statistics.median(gaps) if gaps else None,
        "time_zone": "+00:00" if found.has_zone else None,
        **{f"missing_cells[{name}]": n for name, n in found.missing.items()},
        **{f"node_power_mean_w[{name}]": statistics.fmean(v) for name, v in found.readings.items()},
    }
    if at and (found.has_zone or zone is not None):
        facts["time_first_epoch_s"] = min(at).replace(tzinfo=UTC).timestamp()
    return facts


READERS = (IpmiSdrReader(),)
