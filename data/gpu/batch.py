"""GPU rows of a file -> Parquet part, GPUs and canonical facts, the same for every sampler format."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd

from data.gpu.csv_rows import GpuIdentity, GpuRows
from data.gpu.facts import SqlSums, Sums, row_facts, timed_facts
from data.gpu.machine import machine_of
from data.gpu.rollup import MEASURES, hold
from data.gpu.samples import Ordered, in_order, rolled_up, write_parts
from data.parse.csvio import TEXT_LIMIT
from data.parse.timezones import offsets, zone_of
from data.readers.base import Batch, Choices, SetAside, Source
from data.sql import number

MAX_INTEGER = 2**31 - 1
NO_TIME = "The file has no time column: means are known, but nothing can be placed in time."
MIG_ROWS = "MIG instance, not a whole GPU"
_NUMBERED = re.compile(r"^(?:card|nvidia|gpu)?[ :_]?(\d+)$", re.IGNORECASE)


@dataclass(frozen=True)
class GpuFile:
    """What turns `rows` into samples: column of the file by measure, and whether there is a time column."""

    rows: GpuRows
    measures: Mapping[str, int]
    has_time: bool


def build(
    file: GpuFile,
    batch: Batch,
    source: Source,
    choices: Choices,
    scratch: Path,
    own_zone: str | None = None,
) -> None:
    """Fill tables, parts, facts and counts of `batch`; `batch.records` and `set_aside` are already there.

    `own_zone`: the zone that the format itself defines for stamps without an offset.
    """
    choices = replace(choices, timezone=choices.timezone or own_zone)
    rows, measures, facts = file.rows, file.measures, batch.facts
    ids = _gpu_ids(rows.gpus, source, choices)
    instances = _within({one.gpu for one in rows.gpus if one.mig})
    every = SqlSums(rows, measures, instances if any(one.mig for one in rows.gpus) else "")
    if not file.has_time:
        _untimed(file, batch, ids, every)
        return
    stamp = _utc(file, batch, choices)
    _odd_wholes(file, batch)
    every_gpu = set(ids) == {one.gpu for one in rows.gpus}
    ordered = in_order(rows, measures, stamp) if every_gpu else None
    sums: Sums = ordered.sums if ordered and ordered.sums else every
    row_facts(facts, rows.gpus, ids, measures, sums)
    if ordered is not None:
        every.spacing = ordered.spacing
        rows.release()
        batch.stored = sum(one.rows for one in rows.gpus)
    else:
        _hold(file, batch, ids, stamp, instances)
    if batch.stored:
        part = scratch / f"gpu_samples{len(batch.gpu_parts) or ''}.parquet"
        _write(file, batch, part, ids, ordered)
        batch.tables["gpus"] = _gpus_table(file, ids, choices)
    has_zone = rows.offset is not None or bool(choices.timezone)
    timed_facts(facts, rows.gpus, measures, sums, rows.offset, has_zone)


def _untimed(file: GpuFile, batch: Batch, ids: Mapping[int, str], sums: Sums) -> None:
    """Facts of a table without a time: its rows are counted, none is a sample."""
    row_facts(batch.facts, file.rows.gpus, ids, file.measures, sums)
    batch.ignored["no time column"] += sum(one.rows for one in file.rows.gpus)
    batch.warnings.append(NO_TIME)


def _hold(file: GpuFile, batch: Batch, ids: Mapping[int, str], stamp: str, instances: str) -> None:
    """Make `held` and `spaced` from rows in any order, and book those with a stamp that are no samples."""
    con = file.rows.con
    usable = _one(file, "select count(*) from identified where stamp is not null")
    con.execute(
        "create table names as select unnest($1::integer[]) as gpu, unnest($2::varchar[]) as gpu_id",
        [list(ids), list(ids.values())],
    )
    columns = "".join(f", v{i} as {name}" for name, i in file.measures.items())
    relation = (
        f"(select gpu, {stamp} as ts, ord{columns} from identified "
        "where stamp is not null and gpu in (select gpu from names))"
    )
    duplicates = hold(con, relation, list(file.measures), "gpu")
    if duplicates and file.measures:
        _note_contradictions(file, batch, relation)
    mig = _one(file, f"select count(*) from identified where stamp is not null and gpu {instances}")
    file.rows.release()
    batch.stored = _one(file, "select count(*) from spaced")
    counts = {"duplicate sample": duplicates, MIG_ROWS: mig}
    # What no count explains names no GPU.
    for reason, n in (counts | {"row names no GPU": usable - batch.stored - sum(counts.values())}).items():
        if n:
            batch.ignored[reason] += n


def _note_contradictions(file: GpuFile, batch: Batch, relation: str) -> None:
    """Say where one GPU has several values at one time: nameless nodes, or an hour that occurs twice."""
    differ = " or ".join(f"min({name}) <> max({name})" for name in file.measures)
    twice = f"select 1 from {relation} group by gpu, ts having count(*) > 1 and ({differ})"
    if times := _one(file, f"select count(*) from ({twice})"):
        batch.warnings.append(
            f"{times} times of a GPU have several samples with different values, and the first was kept. If "
            "the file holds several machines, load each alone with its host, or add a column of the host."
        )


def _gpu_ids(gpus: Sequence[GpuIdentity], source: Source, choices: Choices) -> dict[int, str]:
    """gpu_id by number; MIG instances, and rows that name no GPU in a file where others do, are left out."""
    stem = machine_of(source.name)
    some_named = any(one.label for one in gpus)
    ids: dict[int, str] = {}
    for one in gpus:
        if not one.mig and (one.label or not some_named):
            place = one.host or choices.host or stem
            index = plain_index(one.index) or one.index
            ids.setdefault(one.gpu, one.gpu_id or one.uuid or f"{place}:{index or one.bus or 0}")
    return ids


def plain_index(text: str | None) -> str | None:
    """The number in `0`, `card0`, `nvidia0` or `GPU 0`; None in anything else."""
    match = _NUMBERED.match(text or "")
    return match[1] if match else None


def _within(gpus: set[int]) -> str:
    return f"in ({', '.join(map(str, sorted(gpus)))})" if gpus else "is null"


def _one(file: GpuFile, sql: str) -> int:
    return number(file.rows.con, sql)


def _utc(file: GpuFile, batch: Batch, choices: Choices) -> str:
    """SQL of the UTC time; says what was assumed when neither the file nor the person names a zone."""
    if file.rows.offset is not None:
        batch.timezone = file.rows.offset or "UTC"
        return "stamp"
    zone = zone_of(choices.timezone)
    if zone is None:
        batch.timezone, batch.timezone_assumed = "UTC", True
        batch.warnings.append(
            "The time stamps name no zone: they were taken as UTC. "
            "Choose the zone of the machine that logged them."
        )
        return "stamp"
    batch.timezone = choices.timezone
    first, last = file.rows.con.execute("select min(stamp), max(stamp) from raw").fetchall()[0]
    if first is None:
        return "stamp"
    found = offsets(zone, first, last)
    for moment in found.falls_back:
        batch.warnings.append(
            f"The clock was put back on {moment:%Y-%m-%d}: times in the hour before {moment:%H:%M} "
            "occur twice and were taken as the first."
        )
    return found.sql("stamp")


def _write(file: GpuFile, batch: Batch, part: Path, ids: Mapping[int, str], ordered: Ordered | None) -> None:
    con, measures = file.rows.con, file.measures
    if ordered is not None:
        names = [ids[gpu] for gpu in range(len(ids))]
        files = write_parts(part, ordered, names)
        batch.gpu_parts += files
        if ordered.sums is not None:
            batch.gpu_rollup = rolled_up(ordered, ordered.sums, files, names)
        return
    columns = ", ".join(m if m in measures else f"null::double as {m}" for m in MEASURES)
    con.execute(
        f"copy (select names.gpu_id, ts, dt_s, {columns} from held join names using (gpu)) to "
        + "'"
        + str(part).replace("'", "''")
        + "' (format parquet)"
    )
    batch.gpu_parts.append(part)


def _gpus_table(file: GpuFile, ids: Mapping[int, str], choices: Choices) -> pd.DataFrame:
    first = {one.gpu: one for one in reversed(file.rows.gpus)}
    return pd.DataFrame(
        [
            {
                "gpu_id": gpu_id,
                "host": first[gpu].host or choices.host,
                "uuid": first[gpu].uuid,
                "gpu_index": _whole(plain_index(first[gpu].index)),
                "model": first[gpu].model,
                "platform": choices.platform or first[gpu].platform,
                "run": choices.run or first[gpu].run,
                "attempt": _whole(first[gpu].attempt),
                "pool": first[gpu].pool,
                "role": first[gpu].role,
            }
            for gpu, gpu_id in ids.items()
        ]
    ).astype({"gpu_index": "Int64", "attempt": "Int64"})


def _whole(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdigit() and int(text) <= MAX_INTEGER else None


def _odd_wholes(file: GpuFile, batch: Batch) -> None:
    """Set aside the index and attempt cells that a 32-bit column cannot hold; their samples stay."""
    for one in file.rows.gpus:
        for column, text in (("gpu_index", one.index), ("attempt", one.attempt)):
            if text is not None and text.isdigit() and int(text) > MAX_INTEGER:
                line = _one(file, f"select min(line) from identified where gpu = {one.gpu}")
                batch.set_aside.append(
                    SetAside(line, "beyond the range of a whole number", text[:TEXT_LIMIT], column)
                )


def missing_facts(file: GpuFile, header: Sequence[str], facts: dict[str, object]) -> None:
    """Write `missing_cells` of the file and of each column."""
    missing = file.rows.missing
    facts["missing_cells"] = sum(missing.values())
    for i, name in enumerate(header):
        if name:
            facts[f"missing_cells[{name}]"] = missing[i]
