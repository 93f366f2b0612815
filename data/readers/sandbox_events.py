"""Calls of sandboxes and environments as CSV or JSON lines, under any usual names, in s or ms."""

from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path, PurePath

from data.errors import UnreadableFileError
from data.eval_batch import as_number, as_text
from data.facts_base import source_facts
from data.parse.csvio import TEXT_LIMIT
from data.parse.table_items import Item, Items, is_csv, names_of
from data.parse.timezones import parse_stamp, to_utc, zone_of
from data.parse.values import parse_number
from data.readers.base import Batch, Choices, Progress, SetAside, Sniff, Source, no_progress
from data.readers.template_rows import Row
from data.readers.template_tables import frame_of
from data.sandbox_fields import STAMPS, TIMES, Field, amount, find_fields, ok_of

_UNIT = {"queued_s": "s", "cold_s": "s", "busy_s": "s", "cores": "cores", "mem_bytes": "B"}


class SandboxEventsReader:
    """One record a call: queued, started cold, worked."""

    format = "sandbox_events"
    title = "sandbox events (CSV or JSON lines)"

    def sniff(self, source: Source) -> Sniff:
        """Judge by the names: an environment and the times of its calls."""
        fields = find_fields(names_of(source), {})
        timed = [name for name in ("queued_s", "cold_s", "queued_at", "ready_at") if name in fields]
        work = "busy_s" in fields or {"started_at", "ended_at"} <= fields.keys()
        size = [name for name in ("cores", "mem_bytes", "ok") if name in fields]
        if not work or not ("env" in fields or len(timed) > 1):
            return Sniff(0.0, "no environment with the time of its calls")
        why = f"fields for {', '.join(name for name in fields if name in (*TIMES, *STAMPS, *size, 'env'))}"
        if is_csv(source) and all(one.name == name for name, one in fields.items()):
            return Sniff(0.3, f"{why}, all named as in the template env_events")
        if not timed:
            return Sniff(0.35 if len(size) > 1 and "env" in fields else 0.1, why)
        return Sniff(0.62 + 0.06 * min(len(timed) + len(size), 4), why)

    def read(
        self, source: Source, choices: Choices, scratch: Path, progress: Progress = no_progress
    ) -> Batch:
        """Read all calls. Times without a unit in name or cell are seconds; stamps without a zone are read in
        `choices.timezone`, else as UTC. Raises UnreadableFileError when no call has a time.
        """
        del scratch
        items, calls = Items(source), _Calls(source, choices, zone_of(choices.timezone))
        for item in items.read(progress):
            calls.take(item)
        if not calls.rows:
            reason = f" ({calls.set_aside[0].reason})" if calls.set_aside else ""
            raise UnreadableFileError(
                f"No call with a time was found{reason}",
                source.name,
                "Name the fields queued_s, cold_s and busy_s, or fill in the template ipd_env_events_csv.",
            )
        batch = Batch(self.format, records=items.records, stored=len(calls.rows), ignored=calls.ignored)
        batch.set_aside = [*items.set_aside, *calls.set_aside]
        batch.tables["env_events"] = frame_of("env_events", calls.rows)
        batch.mapped = {one.name: f"env_events.{name}" for name, one in calls.fields.items()}
        batch.unmapped = [*calls.unknown, *items.unread]
        batch.facts = source_facts(source) | items.facts | _facts(calls) | {"records": items.records}
        _warn(batch, calls, choices)
        batch.warnings += items.warnings
        batch.reconcile()
        return batch


@dataclass
class _Calls:
    """Takes the records in file order."""

    source: Source
    choices: Choices
    zone: tzinfo | None
    fields: dict[str, Field] = field(default_factory=dict)
    rows: list[Row] = field(default_factory=list)
    set_aside: list[SetAside] = field(default_factory=list)
    ignored: Counter[str] = field(default_factory=Counter)
    unknown: dict[str, None] = field(default_factory=dict)
    naive: int = 0
    bare: Counter[str] = field(default_factory=Counter)

    def take(self, item: Item) -> None:
        """Take one record; a cell that cannot be read is set aside alone, a call without any time whole."""
        line, text, value = item
        if not set(TIMES) & self.fields.keys():
            self.fields = find_fields(list(value), self.choices.columns)
        known = {one.name for one in self.fields.values()}
        self.unknown |= dict.fromkeys(name for name in value if name not in known)
        row: Row = {"env": self._text(value, "env") or PurePath(self.source.name).stem}
        row["run"] = self._text(value, "run") or self.choices.run
        row["step"] = _whole(value.get(self.fields["step"].name)) if "step" in self.fields else None
        bad: list[SetAside] = []
        for name, unit in _UNIT.items():
            row[name] = self._amount(line, value, name, unit, bad)
        stamps = {name: self._stamp(line, value, name, bad) for name in STAMPS}
        row["started_at"] = stamps["queued_at"] or stamps["started_at"]
        _from_stamps(row, stamps)
        if "ok" in self.fields:
            one = self.fields["ok"]
            row["ok"], reason = ok_of(one.name, value.get(one.name))
            if reason:
                bad.append(SetAside(line, reason, str(value.get(one.name))[:TEXT_LIMIT], one.name))
        if all(row[name] is None for name in TIMES):
            reason = bad[0].reason if bad else "no time of the call"
            self.set_aside.append(SetAside(line, reason, text))
            return
        self.set_aside += bad
        self.rows.append(row)

    def _text(self, value: dict[str, object], name: str) -> str | None:
        return as_text(value.get(self.fields[name].name)) if name in self.fields else None

    def _amount(
        self, line: int, value: dict[str, object], name: str, unit: str, bad: list[SetAside]
    ) -> float | None:
        one = self.fields.get(name)
        cell = value.get(one.name) if one else None
        if one is None or isinstance(cell, bool) or str(cell).casefold() in ("true", "false"):
            return None
        number, reason = amount(cell, one.unit or unit)
        if reason:
            bad.append(SetAside(line, reason, str(cell)[:TEXT_LIMIT], one.name))
        if number is not None and unit == "s" and one.unit is None and not str(cell).endswith("s"):
            self.bare[one.name] += 1
        return number

    def _stamp(self, line: int, value: dict[str, object], name: str, bad: list[SetAside]) -> datetime | None:
        one = self.fields.get(name)
        cell = value.get(one.name) if one else None
        text = as_text(cell)
        if one is None or text is None:
            return None
        number = as_number(cell)
        stamp = parse_stamp(f"{number:.6f}" if number is not None and number < 1e10 else text)
        if stamp is None:
            bad.append(SetAside(line, "not a time", text[:TEXT_LIMIT], one.name))
            return None
        if stamp.offset is not None:
            return stamp.at
        self.naive += 1
        return to_utc(stamp.at, self.zone) if self.zone else stamp.at


def _from_stamps(row: Row, stamps: dict[str, datetime | None]) -> None:
    """Fill times that no field gives from the stamps around them."""
    queued, start, ready, end = (stamps[name] for name in STAMPS)
    pairs = {"queued_s": (queued, start), "cold_s": (start, ready), "busy_s": (ready or start, end)}
    for name, (first, last) in pairs.items():
        if row[name] is None and first is not None and last is not None and last >= first:
            row[name] = (last - first) / timedelta(seconds=1)


def _whole(value: object) -> int | None:
    number = as_number(value)
    number = parse_number(as_text(value)).number if number is None else number
    return int(number) if number is not None and number >= 0 and number.is_integer() else None


def _facts(calls: _Calls) -> dict[str, object]:
    found: dict[str, object] = {"format": SandboxEventsReader.format}
    steps = {step for row in calls.rows if isinstance(step := row["step"], int)}
    if steps:
        found |= {"steps_count": len(steps), "step_first": min(steps), "step_last": max(steps)}
    runs = dict.fromkeys(str(row["run"]) for row in calls.rows if row["run"] is not None)
    if runs:
        found["runs"], found["run_names"] = len(runs), ";".join(runs)
    starts = [at for row in calls.rows if isinstance(at := row["started_at"], datetime)]
    if starts:
        found["span_s"] = (max(starts) - min(starts)) / timedelta(seconds=1)
        if calls.zone is not None or not calls.naive:
            found["time_first_epoch_s"] = min(starts).replace(tzinfo=UTC).timestamp()
    return found


def _warn(batch: Batch, calls: _Calls, choices: Choices) -> None:
    if calls.naive:
        batch.timezone, batch.timezone_assumed = choices.timezone or "UTC", calls.zone is None
    if calls.naive and calls.zone is None:
        batch.warnings.append("The stamps name no zone: they were taken as UTC.")
    if calls.bare:
        names = ", ".join(calls.bare)
        batch.warnings.append(f"No unit is given for {names}: the numbers were taken as seconds.")
    if "env" not in calls.fields:
        batch.warnings.append("No field names the environment: it is called after the file.")
    if not any(row["run"] for row in calls.rows):
        batch.warnings.append("The calls name no run: give the run to see them beside its steps.")


READERS = (SandboxEventsReader(),)
