"""GPU samples out of any CSV: bulk casts in SQL, odd cells through the one value parser."""

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

import duckdb
import pyarrow as pa

from data.gpu.clean import CleanPlan, CleanRows, read_clean
from data.gpu.odd import CellRules, OddCells
from data.gpu.plain import read_plain
from data.gpu.plain_warm import PLAIN_FROM_BYTES
from data.parse.csvio import CsvCounts, CsvLayout, CsvRows
from data.parse.csvscan import BULK_FROM_BYTES, load_rows
from data.parse.decimals import rows_that_tell, table_decimals
from data.parse.last_line import JOINED
from data.parse.timezones import sql_stamp
from data.parse.typed_csv import NotCleanError
from data.parse.values import MISSING_WORDS, SENTINELS, NumberRule, is_missing, number_rule
from data.readers.base import Progress, SetAside, Source, no_progress
from data.sql import number

LOG = logging.getLogger(__name__)
SAMPLE_ROWS = 1000
MASK_BITS = 60
OTHER_MISSING = sorted(MISSING_WORDS | {str(n) for n in SENTINELS} | {"-nan", "-infinity"})
"""Cells of columns that we do not take, in small letters without blanks and brackets, that are no value."""
USUAL_MISSING = ("", "N/A", "[N/A]", "[Not Supported]", "[Unknown Error]", "ERR!")


@dataclass(frozen=True)
class GpuColumns:
    """Which column of the file (counted from 0) is what.

    `identity`: fields of GpuIdentity. `units`: unit of each number column, for cells that name none.
    `binary_mb`: MB means MiB, as GPU utilities write it.
    """

    time: int | None
    identity: Mapping[str, int]
    units: Mapping[int, str | None]
    binary_mb: bool = True

    def rule(self, layout: CsvLayout) -> CsvLayout:
        """The layout, where an end that the last line lacks can only have cut a column that is not read."""
        used = {self.time, *self.identity.values(), *self.units}
        return layout if len(layout.header) - 1 in used else replace(layout, open_end=JOINED)


@dataclass(frozen=True)
class GpuIdentity:
    """One distinct combination of identity cells (None: missing), its rows, and the number of its GPU.

    `mig`: instance on the GPU; such rows are not rows of the GPU. `mig_mode`: what nvidia-smi calls it.
    """

    gpu: int
    rows: int
    gpu_id: str | None = None
    host: str | None = None
    uuid: str | None = None
    index: str | None = None
    bus: str | None = None
    mig: str | None = None
    mig_mode: str | None = None
    model: str | None = None
    platform: str | None = None
    run: str | None = None
    attempt: str | None = None
    pool: str | None = None
    role: str | None = None

    @property
    def label(self) -> str | None:
        """How the file names this GPU, shortest name first."""
        return self.index or self.uuid or self.bus or self.gpu_id


@dataclass
class GpuRows:
    """View `identified` (ord, stamp, gpu, v<column> in base units) in `con`, and what was found on the way.

    `stamp` is UTC when `offset` is not None, else local time as written. `missing` counts cells by column.
    `clean`: the columns behind the view when every row was plain (stamp, gpu, n<column> as written); `rules`
    make v<column> of n<column>. Then `raw` is a view, not a table. `is_large`: worth compiled loops.
    """

    con: duckdb.DuckDBPyConnection
    counts: CsvCounts
    gpus: list[GpuIdentity]
    offset: str | None
    missing: Counter[int] = field(default_factory=Counter)
    set_aside: list[SetAside] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    clean: pa.Table | None = None
    is_large: bool = False
    rules: Mapping[int, NumberRule] = field(default_factory=dict)

    def release(self) -> None:
        """Drop the rows; what was made from them stays."""
        self.con.execute("drop view identified")
        if self.clean is None:
            self.con.execute("drop table raw")
        else:
            self.con.execute("drop view raw")
            self.con.unregister("clean")


def load_gpu_rows(
    con: duckdb.DuckDBPyConnection,
    source: Source,
    layout: CsvLayout,
    columns: GpuColumns,
    progress: Progress = no_progress,
    bulk_from_bytes: int = BULK_FROM_BYTES,
    clean: bool = True,
    plain_from_bytes: int = PLAIN_FROM_BYTES,
) -> GpuRows:
    """Read every row into table `raw`; rows without a readable time stamp are set aside, bad cells too.

    A large file is tried as a `clean` one first, in a fraction of the time and with the same result. Raises
    UnreadableFileError when there is no row, or when most rows have no readable time stamp.
    """
    sample = _sample(source, layout)
    layout = columns.rule(layout)
    plan = _Plan(layout, columns, sample)
    if clean and sample and source.path.stat().st_size >= bulk_from_bytes:
        try:
            is_large = source.path.stat().st_size >= plain_from_bytes
            read = (read_plain if is_large else read_clean)(con, source, layout, plan.clean(), progress)
            return _load_clean(con, read, layout, columns, plan, is_large)
        except NotCleanError as why:
            LOG.info("%s is read by the exact path: %s", source.name, why)
    plan.create(con)

    def insert(relation: str) -> int:
        return number(con, plan.insert_sql(relation))

    counts = load_rows(con, source, layout, insert, progress, bulk_from_bytes)
    return _settled(con, counts, columns, plan, OddCells(con, source, layout, plan.cell_rules()))


def _settled(
    con: duckdb.DuckDBPyConnection, counts: CsvCounts, columns: GpuColumns, plan: "_Plan", odd: OddCells
) -> GpuRows:
    """What was read into `raw`, once its odd cells are settled."""
    odd.settle()
    found = GpuRows(con, counts, _identify(con, columns), plan.offset)
    found.set_aside = [*counts.set_aside, *odd.set_aside]
    found.warnings = [*odd.warnings, *counts.said()]
    found.missing = plan.count_missing(con, odd)
    if columns.time is not None:
        found.missing[columns.time] = odd.missing_time
    for i, blank in _blank(columns, found.gpus).items():
        found.missing[i] = blank - odd.no_cell_of(i)
    return found


def _blank(columns: GpuColumns, gpus: Sequence[GpuIdentity]) -> dict[int, int]:
    """Rows without a value, by identity column."""
    return {
        i: sum(one.rows for one in gpus if getattr(one, name) is None) for name, i in columns.identity.items()
    }


def _load_clean(
    con: duckdb.DuckDBPyConnection,
    read: CleanRows,
    layout: CsvLayout,
    columns: GpuColumns,
    plan: "_Plan",
    is_large: bool,
) -> GpuRows:
    gpus = _numbered(columns, read)
    if any(one.mig or one.mig_mode for one in gpus):
        raise NotCleanError("GPUs may be split")
    rows, table = read.rows, read.table([one.gpu for one in gpus])
    del read.combo
    counts = CsvCounts(records=rows, field_counts=Counter({len(layout.header): rows}))
    rules = {i: rule for i, rule in plan.rules.items() if rule is not None}
    found = GpuRows(con, counts, gpus, plan.offset, read.missing, clean=table, rules=rules, is_large=is_large)
    for i, blank in _blank(columns, gpus).items():
        found.missing[i] = blank
    con.register("clean", table)
    values = "".join(f", {rule.scaled_sql(f'n{i}::double')} as v{i}" for i, rule in rules.items())
    con.execute(f"create view raw as select stamp, gpu::integer as gpu{values} from clean")
    con.execute(
        f"create view identified as select *, row_number() over () - 1 as ord, "
        f"row_number() over () + {layout.first_data_line - 1} as line from raw"
    )
    return found


def _numbered(columns: GpuColumns, read: CleanRows) -> list[GpuIdentity]:
    if not columns.identity:
        return [GpuIdentity(0, read.rows)]
    texts = [[text.strip(" ") for text in combo] for combo in read.combos]
    return _with_numbers(list(columns.identity), [read.combo_rows[i] for i in range(len(texts))], texts)


def _sample(source: Source, layout: CsvLayout) -> list[tuple[str, ...]]:
    first = [row.cells for row in islice(CsvRows(source, layout), SAMPLE_ROWS)]
    return [*first, *rows_that_tell(source, layout, first, SAMPLE_ROWS)]


class _Plan:
    """The SQL that casts one file, chosen from its first rows."""

    def __init__(self, layout: CsvLayout, columns: GpuColumns, sample: Sequence[tuple[str, ...]]) -> None:
        self._width = len(layout.header)
        self._columns = columns
        cells = {i: [row[i] for row in sample if i < len(row)] for i in range(self._width)}
        marks = table_decimals([cells[i] for i in range(self._width)], layout.delimiter)
        has_commas = any("," in text for i in columns.units for text in cells[i])
        self.decimals = {i: marks[i] if has_commas else "." for i in columns.units}
        self.rules = {
            i: number_rule(cells[i], unit, columns.binary_mb) if self.decimals[i] in (None, ".") else None
            for i, unit in columns.units.items()
        }
        self._numbers = {
            i: "null::double" if rule is None else rule.sql(f"c{i}") for i, rule in self.rules.items()
        }
        self._absent = {i: _absent_words(cells[i]) for i in columns.units}
        self._cells = cells
        self._stamp, self.offset = "null::timestamp", None
        if columns.time is not None:
            self._stamp, self.offset = sql_stamp(f"c{columns.time}", cells[columns.time])
        self._enums = {i: sorted(set(cells[i])) or [""] for i in columns.identity.values()}
        mapped = {*columns.units, *columns.identity.values(), columns.time}
        self._others = {
            i: bool(cells[i]) and all(_is_plain(text) for text in cells[i])
            for i in range(self._width)
            if i not in mapped
        }
        self._masks = -(-len(self._others) // MASK_BITS)

    def cell_rules(self) -> CellRules:
        """How the cells are read that the SQL does not know."""
        columns = self._columns
        return CellRules(columns.time, self.offset, columns.units, self.decimals, columns.binary_mb)

    def clean(self) -> CleanPlan:
        """The plan of the fast path; raises NotCleanError when a column needs more than a cast."""
        rules = {i: rule for i, rule in self.rules.items() if rule is not None}
        time = self._columns.time
        if time is None or len(rules) < len(self.rules) or None in self._columns.units.values():
            raise NotCleanError("a column without a time, or with an unsure unit")
        stamp_sql, _ = sql_stamp("c0", self._cells[time])
        identity = list(self._columns.identity.values())
        return CleanPlan(time, stamp_sql, identity, rules, list(self._others), OTHER_MISSING)

    def create(self, con: duckdb.DuckDBPyConnection) -> None:
        """Make table `raw` and the types of its identity columns."""
        parts = ["line bigint", "stamp timestamp"]
        for i, values in self._enums.items():
            con.execute(f"create type enum{i} as enum ({', '.join(map(_quoted, values))})")
            parts += [f"e{i} enum{i}", f"x{i} varchar"]
        parts += [f"v{i} double" for i in self._numbers] + [f"m{k} ubigint" for k in range(self._masks)]
        con.execute(f"create table raw ({', '.join(parts)}, cells varchar[])")

    def insert_sql(self, relation: str) -> str:
        """Cast a relation; `cells` keeps the whole row where something needs a second look."""
        every = ", ".join(f"c{i}" for i in range(self._width))
        cast = [f"{self._stamp} as stamp"]
        cast += [f"try_cast(c{i} as enum{i}) as e{i}" for i in self._enums]
        cast += [f"{sql} as v{i}" for i, sql in self._numbers.items()]
        cast += [f"{self._mask(k)} as m{k}" for k in range(self._masks)]
        # CASE looks at the words only where there is no number; AND would compare them on every row.
        odd = [
            f"(case when v{i} is null then c{i} not in ({words}) else false end)"
            for i, words in self._absent.items()
        ]
        odd += [f"c{self._width - 1} is null"]
        odd += ["stamp is null"] if self._columns.time is not None else []
        out = ["line", "stamp"]
        for i in self._enums:
            out += [f"e{i}", f"case when e{i} is null then c{i} end"]
        out += [f"v{i}" for i in self._numbers] + [f"m{k}" for k in range(self._masks)]
        out += [f"case when {' or '.join(odd)} then [{every}] end"]
        inner = f"select line, {every}, {', '.join(cast)} from {relation}"
        return f"insert into raw select {', '.join(out)} from ({inner})"

    def _mask(self, k: int) -> str:
        chosen = list(self._others.items())[k * MASK_BITS : (k + 1) * MASK_BITS]
        bits = [
            f"case when {_missing_sql(f'c{i}', plain)} then {1 << bit} else 0 end"
            for bit, (i, plain) in enumerate(chosen)
        ]
        return f"({' + '.join(bits)})::ubigint"

    def count_missing(self, con: duckdb.DuckDBPyConnection, odd: OddCells) -> Counter[int]:
        """Missing number and other cells by column; a field that a short row does not have is no cell."""
        missing: Counter[int] = Counter()
        for i in self._numbers:
            missing[i] = _count(con, f"count(*) - count(v{i})") - odd.bad[i] - odd.no_cell[i]
        others = list(self._others)
        for k in range(self._masks):
            if not _count(con, f"max(m{k})"):
                continue
            for bit, i in enumerate(others[k * MASK_BITS : (k + 1) * MASK_BITS]):
                missing[i] = _count(con, f"sum((m{k} >> {bit}) & 1)")
        return missing


def _count(con: duckdb.DuckDBPyConnection, aggregate: str) -> int:
    return number(con, f"select {aggregate} from raw")


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _absent_words(cells: Sequence[str]) -> str:
    seen = {text for text in cells if is_missing(text)}
    usual = {pad + word for word in USUAL_MISSING for pad in ("", " ")}
    return ", ".join(map(_quoted, sorted(seen | usual)))


def _is_plain(text: str) -> bool:
    return text.strip().replace(".", "", 1).isdigit() and not is_missing(text)


def _missing_sql(column: str, plain: bool) -> str:
    words = ", ".join(map(_quoted, OTHER_MISSING))
    test = f"lower(trim({column}, ' []')) in ({words})"
    if plain:
        # The general test costs more than the whole cast of a number; most cells are numbers.
        return f"coalesce(try_cast({column} as double) not between 0 and 1e9, true) and {test}"
    return f"coalesce({test}, false)"


def _identify(con: duckdb.DuckDBPyConnection, columns: GpuColumns) -> list[GpuIdentity]:
    """Number the GPUs: view `identified` is `raw` with `ord` and `gpu`."""
    if not columns.identity:
        con.execute("create view identified as select *, rowid as ord, 0 as gpu from raw")
        return [GpuIdentity(0, _count(con, "count(*)"))]
    codes = {name: [f"e{i}"] for name, i in columns.identity.items()}
    for name, i in columns.identity.items():
        if _count(con, f"count(x{i})"):
            codes[name].append(f"x{i}")
    every = ", ".join(code for pair in codes.values() for code in pair)
    texts = [f"trim(coalesce({', '.join(f'{code}::varchar' for code in pair)}))" for pair in codes.values()]
    con.execute(
        f"create table combos as select (row_number() over (order by first_row) - 1)::integer as combo, * "
        f"from (select {every}, count(*) as rows, min(rowid) as first_row from raw group by all)"
    )
    found = con.execute(f"select rows, {', '.join(texts)} from combos order by combo").fetchall()
    identities = _with_numbers(list(codes), [row[0] for row in found], [row[1:] for row in found])
    gpus = [one.gpu for one in identities]
    used = [code for name in _deciding(identities) for code in codes[name]]
    con.execute(
        f"create table gpu_codes as select distinct {''.join(f'{code}, ' for code in used)}"
        "($1::integer[])[combo + 1] as gpu from combos",
        [gpus],
    )
    same = " and ".join(f"raw.{code} is not distinct from g.{code}" for code in used) or "true"
    con.execute(
        f"create view identified as select raw.*, raw.rowid as ord, g.gpu from raw join gpu_codes g on {same}"
    )
    return identities


def _with_numbers(
    names: Sequence[str], rows: Sequence[int], texts: Sequence[Sequence[str]]
) -> list[GpuIdentity]:
    """Identities from the texts of their cells in the order of `names`, each with the number of its GPU."""
    identities = [
        GpuIdentity(0, n, **{name: None if is_missing(t) else t for name, t in zip(names, row, strict=True)})
        for n, row in zip(rows, texts, strict=True)
    ]
    deciding = _deciding(identities)
    keys = [tuple(getattr(one, name) for name in deciding) for one in identities]
    numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    return [replace(one, gpu=numbers[key]) for one, key in zip(identities, keys, strict=True)]


def _deciding(identities: Sequence[GpuIdentity]) -> list[str]:
    """Columns that tell GPUs apart: host, and id, else uuid, index, bus id; several where one has holes."""
    found = ["host"] if any(one.host for one in identities) else []
    for name in ("gpu_id", "uuid", "index", "bus"):
        values = [getattr(one, name) for one in identities]
        if any(values):
            found.append(name)
            if all(values):
                break
    return [*found, "mig"] if any(one.mig for one in identities) else found
