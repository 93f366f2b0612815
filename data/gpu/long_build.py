"""Long rows -> GPU part, facts and counts: `data.gpu.batch.build` sees one row for each GPU and time."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from data.errors import UnreadableFileError
from data.gpu.batch import MIG_ROWS, GpuFile, build
from data.gpu.csv_rows import GpuIdentity, GpuRows
from data.gpu.facts import UTIL_MEASURES, labels
from data.gpu.long import LongTable
from data.gpu.rollup import MEASURES
from data.gpu.ticks import join_ticks
from data.parse.csvio import HOPELESS_ROWS, TEXT_LIMIT, CsvCounts
from data.readers.base import Batch, Choices, SetAside, Source
from data.sql import number

LISTED = 1000
SERIES_LISTED = 200
UNKNOWN_MEASURE = "no known GPU measure: map the column"
DUPLICATE = "duplicate sample"
TIMELESS = "no time stamp"
AGGREGATE = "names no GPU: an aggregate"
MEASURED = ("util_mean_", "power_mean_", "memory_peak_", "coverage", "series_mean[", "series_last[")
"""Facts that depend on the measure."""


def build_points(table: LongTable, batch: Batch, source: Source, choices: Choices, scratch: Path) -> None:
    """Every value is a record: fills parts, tables, facts and counts. `batch.records` is already there."""
    con = table.con
    table.settle()
    _drop_nameless(table)
    missing = number(con, "select count(*) from long where raw is null and bad is null")
    batch.facts["missing_cells"] = missing
    _set_aside_points(table, batch, source)
    _aside_series(table, batch)
    gpus = _number_gpus(table)
    good = "long join placed using (series) where bad is null"
    has_time = number(con, f"select count(*) from {good} and stamp is not null") > 0
    if has_time:
        timeless = number(con, f"select count(*) from {good} and stamp is null")
        _count(batch, TIMELESS, timeless)
    measures = _pivot(table, has_time)
    if measures:
        found = GpuRows(con, CsvCounts(), gpus, None if table.naive else table.offset)
        if has_time:
            points = number(con, f"select count(*) from {good} and stamp is not null")
            kept = number(
                con,
                f"select count(*) from (select distinct gpu, stamp, measure from {good} "
                "and stamp is not null)",
            )
            build(GpuFile(found, measures, True), batch, source, choices, scratch)
            batch.stored = kept
            _count(batch, DUPLICATE, points - kept)
        else:
            build(GpuFile(found, measures, False), batch, source, choices, scratch)
        _row_facts(table, gpus, batch)
    batch.facts |= {
        "gpus": len(gpus) or None,
        "gpu_model": ";".join(dict.fromkeys(one.model for one in gpus if one.model)) or None,
        "hosts": len({one.host for one in gpus if one.host}) or None,
    }
    batch.facts |= series_facts(table, [i for i, one in enumerate(table.series) if not one.kept])


def build_rows(table: LongTable, batch: Batch, source: Source, choices: Choices, scratch: Path) -> bool:
    """A row with one cell a series is a record. True when GPU samples were stored or could be.

    `batch.records` and the set-aside rows are already there; every row in `long` has a stamp.
    """
    con = table.con
    table.settle()
    _drop_nameless(table)
    _set_aside_cells(table, batch)
    gpus = _number_gpus(table)
    measures = _pivot(table, True)
    lines = number(con, "select count(distinct line) from long join placed using (series)")
    if not measures:
        _count(batch, UNKNOWN_MEASURE, batch.records - sum(s.column is None for s in batch.set_aside))
    else:
        kept = number(
            con,
            "select count(distinct line) from (select arg_min(line, long.rowid) as line from long "
            "join placed using (series) group by gpu, stamp, measure)",
        )
        build(
            GpuFile(GpuRows(con, CsvCounts(), gpus, None if table.naive else table.offset), measures, True),
            batch, source, choices, scratch,
        )  # fmt: skip
        batch.stored = kept
        _count(batch, DUPLICATE, lines - kept)
        _row_facts(table, gpus, batch)
        rest = batch.records - lines - sum(s.column is None for s in batch.set_aside)
        _count(batch, "row without a cell of a GPU", rest)
    batch.facts |= series_facts(table, range(len(table.series)))
    return bool(measures)


def unconfirmed(table: LongTable, batch: Batch, reason: str) -> None:
    """Keep the facts but store nothing: what is measured is only a guess until a person confirms it.

    Where values do not fit the guess, its means and refused cells go too.
    """
    _count(batch, reason, batch.stored)
    batch.stored = 0
    guessed = [name for name, field in batch.mapped.items() if field.startswith("gpu_samples.")]
    batch.unmapped += [name for name in guessed if batch.mapped.pop(name) != "gpu_samples.ts"]
    batch.gpu_parts.clear()
    batch.tables.pop("gpus", None)
    if number(table.con, "select count(*) filter (bad is not null) * 100 > count(*) from long"):
        batch.set_aside = [one for one in batch.set_aside if one.column is None]
        batch.facts |= {name: None for name in batch.facts if name.startswith(MEASURED)}
        batch.warnings.append("Many values do not fit the measure that the file name hints at.")


def series_facts(table: LongTable, chosen: Sequence[int]) -> dict[str, object]:
    """Points, mean and last value of the first series in `chosen`, in base units where the unit is known."""
    rows = table.con.execute(
        "select series, count(raw), avg(raw), arg_max(raw, (coalesce(stamp, timestamp '1970-01-01'), rowid)) "
        "from long where list_contains($1::integer[], series) group by series order by series",
        [list(chosen[:SERIES_LISTED])],
    ).fetchall()
    facts: dict[str, object] = {}
    for series, points, mean, last in rows:
        name = table.series[series].name
        facts |= {
            f"series_points[{name}]": points,
            f"series_mean[{name}]": mean,
            f"series_last[{name}]": last,
        }
    return facts


def _row_facts(table: LongTable, gpus: Sequence[GpuIdentity], batch: Batch) -> None:
    """Means by row count every value of the file, those of repeated rows too."""
    rows = table.con.execute(
        "select measure, gpu, avg(raw), max(raw) from long join placed using (series) "
        "group by grouping sets ((measure), (measure, gpu)) order by measure, gpu"
    ).fetchall()
    names = labels(gpus)
    for i, gpu, mean, high in rows:
        measure = MEASURES[i]
        if measure in UTIL_MEASURES and (gpu is None or gpu in names):
            batch.facts[f"util_mean_by_row[{measure}" + ("]" if gpu is None else f"|{names[gpu]}]")] = mean
        elif measure == "power_w" and gpu is None:
            batch.facts["power_mean_w_by_row"] = mean
        elif measure == "mem_bytes" and gpu is None:
            batch.facts["memory_peak_bytes"] = high


def _count(batch: Batch, reason: str, n: int) -> None:
    if n:
        batch.ignored[reason] += n


def _set_aside_points(table: LongTable, batch: Batch, source: Source) -> None:
    kept = [i for i, one in enumerate(table.series) if one.kept]
    bad = "from long where bad is not null and list_contains($1::integer[], series)"
    n = number(table.con, f"select count(*) {bad}", [kept])
    rows = table.con.execute(f"select line, series, bad, text {bad} order by rowid", [kept]).fetchall()
    if n > HOPELESS_ROWS and 2 * n > number(table.con, "select count(*) from long"):
        line, series, reason, text = rows[0]
        raise UnreadableFileError(
            f"Most values cannot be used: {reason}, first {text} of {table.series[series].name}",
            f"{source.name}, line {line}",
            "Check that the metric has the unit that its name says.",
        )
    for line, series, reason, text in rows:
        batch.set_aside.append(SetAside(line, reason, f"{table.series[series].name} {text}"[:TEXT_LIMIT]))


def _set_aside_cells(table: LongTable, batch: Batch) -> None:
    rows = table.con.execute(
        f"select line, series, bad, text from long where bad is not null order by rowid limit {LISTED}"
    ).fetchall()
    for line, series, reason, text in rows:
        one = table.series[series]
        batch.set_aside.append(SetAside(line, reason, text[:TEXT_LIMIT], one.column or one.name))
    n = number(table.con, "select count(*) from long where bad is not null")
    if n > LISTED:
        batch.warnings.append(f"The first {LISTED:,} of {n:,} cells set aside are listed with their lines.")


def _aside_series(table: LongTable, batch: Batch) -> None:
    """Count the values of series that are stored nowhere, by reason."""
    counted = dict(table.con.execute("select series, count(*) from long group by series").fetchall())
    reasons: Counter[str] = Counter()
    for i, one in enumerate(table.series):
        if not one.kept:
            reason = one.aside or (UNKNOWN_MEASURE if one.metric is None else AGGREGATE)
            reasons[MIG_ROWS if one.mig else reason] += counted.get(i, 0)
    for reason, n in reasons.items():
        _count(batch, reason, n)


def _drop_nameless(table: LongTable) -> None:
    """A series that names no GPU among series that do is an aggregate."""
    if any(one.gpu is not None and one.gpu.label for one in table.series):
        for i, one in enumerate(table.series):
            if one.gpu is not None and not one.gpu.label:
                table.series[i] = replace(one, gpu=None)


def _physical(table: LongTable) -> tuple[dict[tuple[str, ...], int], list[GpuIdentity]]:
    """Number of each GPU by its keys: one UUID is one GPU, whatever host name or index a series adds."""
    identities = [one.gpu for one in table.series if one.gpu is not None]
    uuid_of: dict[tuple[str | None, str | None], str] = {}
    for one in identities:
        if one.uuid and one.index:
            uuid_of.setdefault((one.host, one.index), one.uuid)
    numbers: dict[tuple[str, ...], int] = {}
    found: list[GpuIdentity] = []
    for one in identities:
        key = _key(one, uuid_of)
        if key not in numbers:
            numbers[key] = len(found)
            found.append(replace(one, gpu=len(found), uuid=one.uuid or uuid_of.get((one.host, one.index))))
        else:
            found[numbers[key]] = _filled(found[numbers[key]], one)
    return numbers, found


def _key(one: GpuIdentity, uuid_of: Mapping[tuple[str | None, str | None], str]) -> tuple[str, ...]:
    uuid = one.uuid or uuid_of.get((one.host, one.index))
    if uuid:
        return ("uuid", uuid)
    return ("place", one.host or "", one.index or one.bus or one.gpu_id or "0")


def _filled(one: GpuIdentity, other: GpuIdentity) -> GpuIdentity:
    names = ("host", "index", "bus", "model")
    return replace(one, **{n: getattr(one, n) or getattr(other, n) for n in names})


def _number_gpus(table: LongTable) -> list[GpuIdentity]:
    """Make table `placed` (series, gpu, measure) of the kept series; the GPUs with their counts of values."""
    numbers, found = _physical(table)
    uuid_of: dict[tuple[str | None, str | None], str] = {
        (one.host, one.index): one.uuid for one in found if one.uuid and one.index
    }
    rows = [
        (i, numbers[_key(one.gpu, uuid_of)], MEASURES.index(one.metric.measure))
        for i, one in enumerate(table.series)
        if one.kept and one.gpu is not None and one.metric is not None
    ]
    columns = [list(column) for column in zip(*rows, strict=True)] or [[], [], []]
    table.con.execute(
        "create table placed as select unnest($1::integer[]) as series, unnest($2::integer[]) as gpu, "
        "unnest($3::integer[]) as measure",
        columns,
    )
    counted = dict(
        table.con.execute(
            "select gpu, count(*) from long join placed using (series) where bad is null group by gpu"
        ).fetchall()
    )
    return [replace(one, rows=counted.get(one.gpu, 0)) for one in found]


def _pivot(table: LongTable, has_time: bool) -> dict[str, int]:
    """Make `raw` and `identified`, one row for each GPU and time (or for each value, without time)."""
    con = table.con
    used = sorted(row[0] for row in con.execute("select distinct measure from placed").fetchall())
    if not used or not number(con, "select count(*) from long join placed using (series)"):
        return {}
    values = "".join(f", arg_min(raw, ord) filter (measure = {i}) as v{i}" for i in used)
    moved = has_time and len(used) > 1 and join_ticks(con) > 0
    stamp = "coalesce(tick, long.stamp)" if moved else "long.stamp"
    source = (
        f"select placed.gpu, measure, {stamp} as stamp, raw, line, long.rowid as ord from long join placed "
    )
    source += "using (series)"
    if moved:
        source += " left join ticks on ticks.gpu = placed.gpu and ticks.stamp = long.stamp"
    source += " where long.stamp is not null" if has_time else ""
    group = "gpu, stamp" if has_time else "gpu, stamp, ord"
    con.execute(
        f"create table raw as select gpu, stamp, min(ord) as ord, min(line) as line{values} "
        f"from ({source}) group by {group} order by min(ord)"
    )
    con.execute("create view identified as select * from raw")
    return {MEASURES[i]: i for i in used}
