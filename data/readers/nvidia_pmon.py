"""`nvidia-smi pmon`: one row a process and GPU. Processes share GPUs: no row is a GPU's sample."""

import re
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from data.errors import UnreadableFileError
from data.facts_base import source_facts
from data.gpu.text import write_twin
from data.parse.csvio import CsvRows, no_rows
from data.parse.timezones import parse_stamp, to_utc, zone_of
from data.parse.values import is_missing
from data.readers.base import Batch, Choices, Progress, Sniff, Source, no_progress
from data.readers.smi_monitor import Monitor, find_monitor

HEADER = re.compile(r"^\s*#\s*(?:date[,\s]+)?(?:time[,\s]+)?gpu[,\s]+pid\b", re.IGNORECASE)
PROCESS_ROW = "row of a process, not a sample of a GPU"
WHY = (
    "pmon lists processes: their sm shares add up on one GPU, and a mean over rows would count an idle "
    "process as an idle GPU. Nothing was stored as GPU samples; log "
    "'nvidia-smi dmon -o DT' or --query-gpu for those."
)


@dataclass
class _Seen:
    gpus: set[str] = field(default_factory=set)
    stamps: list[datetime] = field(default_factory=list)
    missing: Counter[str] = field(default_factory=Counter)

    def add(self, names: tuple[str, ...], cells: tuple[str, ...]) -> None:
        """Count the missing cells of one row by column, and its GPU."""
        for name, cell in zip(names, cells, strict=False):
            if is_missing(cell):
                self.missing[name] += 1
            elif name == "gpu":
                self.gpus.add(cell.strip())
            elif name == "timestamp" and (stamp := parse_stamp(cell)) is not None:
                self.stamps = [min([*self.stamps, stamp.at]), max([*self.stamps, stamp.at])]


class PmonReader:
    """Rows of `nvidia-smi pmon`: counted and described, not stored."""

    format = "nvidia_smi_pmon"
    title = "nvidia-smi pmon text (processes; no GPU samples)"

    def sniff(self, source: Source) -> Sniff:
        """Judge by the `# gpu pid …` line."""
        if find_monitor(source, HEADER) is None:
            return Sniff(0.0, "no '# gpu pid …' line of nvidia-smi pmon")
        return Sniff(0.97, "a '# gpu pid …' line of nvidia-smi pmon")

    def read(
        self, source: Source, choices: Choices, scratch: Path, progress: Progress = no_progress
    ) -> Batch:
        """Count rows, GPUs and missing cells. No row becomes a GPU sample; the receipt says why.

        Raises UnreadableFileError without the `# gpu pid` line or without a row.
        """
        found = find_monitor(source, HEADER)
        if found is None:
            raise UnreadableFileError(
                "No '# gpu pid …' line names the columns",
                source.name,
                "Keep the header lines of nvidia-smi pmon.",
            )
        twin = write_twin(source, scratch, found.header, found.line, found.row)
        rows, seen = CsvRows(twin.source, twin.layout, progress), _Seen()
        for row in rows:
            seen.add(found.header, row.cells)
        counts = rows.counts
        if not counts.records:
            raise no_rows(source, twin.layout, counts)
        aside = [*twin.aside, *counts.set_aside]
        batch = Batch(self.format, records=counts.records + len(twin.aside), set_aside=aside)
        batch.ignored[PROCESS_ROW] = counts.records - len(counts.set_aside)
        batch.facts = source_facts(source) | _facts(batch, found, seen)
        batch.facts |= {
            "header_repeated": twin.headers_repeated,
            "partial_last_line": counts.partial_last_line,
            "ragged_rows": counts.ragged_rows,
            "hosts": 1 if choices.host else None,
            **_time_facts(seen, choices),
        }
        batch.warnings = [WHY, *counts.said()]
        batch.unmapped = list(found.names)
        batch.reconcile()
        return batch


def _time_facts(seen: _Seen, choices: Choices) -> dict[str, object]:
    if not seen.stamps:
        return {}
    zone = zone_of(choices.timezone)
    first, last = seen.stamps if zone is None else [to_utc(at, zone) for at in seen.stamps]
    start = None if zone is None else first.replace(tzinfo=UTC).timestamp()
    return {"span_s": (last - first).total_seconds(), "time_first_epoch_s": start}


def _facts(batch: Batch, found: Monitor, seen: _Seen) -> dict[str, object]:
    return {
        "format": batch.format,
        "records": batch.records,
        "columns": len(found.names),
        "gpus": len(seen.gpus) or None,
        "missing_cells": sum(seen.missing.values()),
        **{f"missing_cells[{name}]": seen.missing[name] for name in found.header},
    }


READERS = (PmonReader(),)
