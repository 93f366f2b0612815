"""GPU rows of a file -> Parquet part, GPUs and canonical facts, the same for every sampler format."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa

from data.gpu.csv_rows import GpuIdentity, GpuRows
from data.gpu.machine import machine_of
from data.gpu.ordered import Spacing, space, write_parts
from data.gpu.rollup import MEASURES, hold, time_facts
from data.parse.csvio import TEXT_LIMIT
from data.parse.timezones import offsets, zone_of
from data.readers.base import Batch, Choices, SetAside, Source
from data.sql import first, number

UTIL_MEASURES = MEASURES[:8]
MAX_INTEGER = 2**31 - 1
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
    rows, con = file.rows, file.rows.con
    ids = _gpu_ids(rows.gpus, source, choices)
    instances = {one.gpu for one in rows.gpus if one.mig}
    _row_facts(file, batch.facts, ids, instances)
    if not file.has_time:
        batch.ignored["no time column"] += sum(one.rows for one in rows.gpus)
        batch.warnings.append(
            "The file has no time column: means are known, but nothing can be placed in time."
        )
        return
    usable = _one(file, "select count(*) from identified where stamp is not null")
    con.execute(
        "create table names as select unnest($1::integer[]) as gpu, unnest($2::varchar[]) as gpu_id",
        [list(ids), list(ids.values())],
    )
    columns = "".join(f", v{i} as {name}" for name, i in file.measures.items())
    stamp = _utc(file, batch, choices)
    relation = (
        f"(select gpu, {stamp} as ts, ord{columns} from identified "
        "where stamp is not null and gpu in (select gpu from names))"
    )
    _odd_wholes(file, batch)
    spacing = _in_order(file, ids, stamp)
    duplicates = 0 if spacing else hold(con, relation, list(file.measures), "gpu")
    mig = _one(file, f"select count(*) from identified where stamp is not null and gpu {_within(instances)}")
    rows.release()
    batch.stored = usable if spacing else _one(file, "select count(*) from spaced")
    _ignore(batch, {"duplicate sample": duplicates, MIG_ROWS: mig}, usable)
    if batch.stored:
        part = scratch / f"gpu_samples{len(batch.gpu_parts) or ''}.parquet"
        batch.gpu_parts += _write(file, part, ids, spacing is not None)
        batch.tables["gpus"] = _gpus_table(file, ids, choices)
    _time_facts(file, batch, choices, spacing)


def _ignore(batch: Batch, counts: dict[str, int], usable: int) -> None:
    """Book rows with a stamp that are no samples; what no count explains names no GPU."""
    nameless = usable - batch.stored - sum(counts.values())
    for reason, n in (counts | {"row names no GPU": nameless}).items():
        if n:
            batch.ignored[reason] += n


def _in_order(file: GpuFile, ids: Mapping[int, str], stamp: str) -> Spacing | None:
    """Make `held` straight from the columns of a clean file; None when only `hold` can."""
    rows, con = file.rows, file.rows.con
    if rows.clean is None or set(ids) != {one.gpu for one in rows.gpus}:
        return None
    table = rows.clean
    ts = table["stamp"] if stamp == "stamp" else con.sql(f"select {stamp} from clean").to_arrow_table()[0]
    ts = ts.chunk(0) if ts.num_chunks == 1 else ts.combine_chunks()
    spacing = space(table["gpu"].chunk(0).to_numpy(), ts.to_numpy().view(np.int64))
    if spacing is None:
        return None
    table = table.drop_columns("stamp").append_column("ts", ts)
    rows.clean = table.append_column("held_us", pa.array(spacing.held_us))
    con.register("ordered", rows.clean)
    values = "".join(
        f", {rows.rules[i].scaled_sql(f'n{i}::double')} as {m}" for m, i in file.measures.items()
    )
    con.execute(
        f"create view held as select gpu::integer as gpu, ts, held_us / 1e6 as dt_s{values} from ordered"
    )
    return spacing


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


def labels(gpus: Sequence[GpuIdentity]) -> dict[int, str]:
    """How the file names each GPU; where two have one name, with the host or id before it."""
    found = {one.gpu: one for one in reversed(gpus) if one.label}
    seen = Counter(one.label for one in found.values())
    return {
        gpu: str(one.label)
        if seen[one.label] == 1
        else (one.gpu_id or f"{one.host or one.uuid or one.bus}:{one.label}")
        for gpu, one in found.items()
    }


def _row_facts(file: GpuFile, facts: dict[str, object], ids: Mapping[int, str], instances: set[int]) -> None:
    gpus = [one for one in file.rows.gpus if one.gpu in ids]
    every = f"identified where gpu not {_within(instances)}" if instances else "raw"
    facts["gpus"] = len(ids) or None
    facts["gpu_model"] = ";".join(dict.fromkeys(one.model for one in gpus if one.model)) or None
    facts["hosts"] = len({one.host for one in gpus if one.host}) or None
    names = labels(gpus)
    for name, i in file.measures.items():
        if name in UTIL_MEASURES:
            facts[f"util_mean_by_row[{name}]"] = _value(file, f"avg(v{i})", every)
            means = file.rows.con.execute(f"select gpu, avg(v{i}) from identified group by gpu order by gpu")
            for gpu, mean in means.fetchall():
                if gpu in names:
                    facts[f"util_mean_by_row[{name}|{names[gpu]}]"] = mean
    if "power_w" in file.measures:
        facts["power_mean_w_by_row"] = _value(file, f"avg(v{file.measures['power_w']})", every)
    if "mem_bytes" in file.measures:
        facts["memory_peak_bytes"] = _value(file, f"max(v{file.measures['mem_bytes']})", every)


def _one(file: GpuFile, sql: str) -> int:
    return number(file.rows.con, sql)


def _value(file: GpuFile, aggregate: str, relation: str) -> object:
    row = first(file.rows.con, f"select {aggregate} from {relation}")
    return row[0] if row else None


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


def _write(file: GpuFile, part: Path, ids: Mapping[int, str], in_order: bool) -> list[Path]:
    con, measures = file.rows.con, file.measures
    if in_order:
        chosen = {name: (f"n{i}", file.rows.rules[i]) for name, i in measures.items()}
        return write_parts(part, file.rows.clean, [ids[gpu] for gpu in range(len(ids))], chosen)
    columns = ", ".join(m if m in measures else f"null::double as {m}" for m in MEASURES)
    con.execute(
        f"copy (select names.gpu_id, ts, dt_s, {columns} from held join names using (gpu)) to "
        + "'"
        + str(part).replace("'", "''")
        + "' (format parquet)"
    )
    return [part]


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


def _time_facts(file: GpuFile, batch: Batch, choices: Choices, spacing: Spacing | None) -> None:
    con, facts = file.rows.con, batch.facts
    found = time_facts(con, list(file.measures), has_gaps=spacing is None)
    if spacing is not None:
        found |= {name: getattr(spacing, name) for name in ("gap_max_s", "gap_median_s", "gap_s")}
    first, last, total = found["first"], found["last"], found["gap_s"]
    if isinstance(first, datetime) and isinstance(last, datetime):
        facts["span_s"] = (last - first).total_seconds()
        if file.rows.offset is not None or choices.timezone:
            facts["time_first_epoch_s"] = first.replace(tzinfo=UTC).timestamp()
    facts["time_zone"] = file.rows.offset or None
    facts["gap_max_s"], facts["gap_median_s"] = found["gap_max_s"], found["gap_median_s"]
    facts["gpu_hours"] = float(str(total)) / 3600 if total else None
    for name in UTIL_MEASURES:
        if name in file.measures:
            facts[f"util_mean_by_time[{name}]"] = found[f"mean_{name}"]
    facts["power_mean_w_by_time"] = found.get("mean_power_w")
    known = found.get("known_gpu_util")
    facts["coverage"] = float(str(known)) / float(str(total)) if total and known is not None else None
    if "gpu_util" in file.measures:
        _by_gpu(file, facts)


def _by_gpu(file: GpuFile, facts: dict[str, object]) -> None:
    names = labels(file.rows.gpus)
    found = file.rows.con.execute(
        "select gpu, sum(dt_s * gpu_util) / nullif(sum(dt_s) filter (gpu_util is not null), 0) "
        "from held group by gpu order by gpu"
    )
    for gpu, mean in found.fetchall():
        if gpu in names:
            facts[f"util_mean_by_time[gpu_util|{names[gpu]}]"] = mean


def missing_facts(file: GpuFile, header: Sequence[str], facts: dict[str, object]) -> None:
    """Write `missing_cells` of the file and of each column."""
    missing = file.rows.missing
    facts["missing_cells"] = sum(missing.values())
    for i, name in enumerate(header):
        if name:
            facts[f"missing_cells[{name}]"] = missing[i]
