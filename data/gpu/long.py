"""Long rows (series, time, value): for files with one series a column, or one value a line.

Values wait in table `long` of an in-memory database; each series knows what it measures and whose GPU it is.
`data.gpu.long_build` makes samples of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from data.gpu.csv_rows import GpuIdentity
from data.gpu.metrics import PERCENT_OR_RATIO, Metric
from data.parse.values import SENTINEL_FLOOR, SENTINELS, parse_number

BUFFER = 200_000
UNDECIDED = "the name says ratio, but one version of DCGM writes percent: say which"
EPOCH = datetime(1970, 1, 1)


@dataclass(frozen=True)
class Series:
    """One series: its name as shown, what it measures (None: nothing that GPUs are measured by), whose GPU.

    `aside`: why its values are not stored, "" when they are. `column`: header of its cells, where not `name`.
    """

    name: str
    metric: Metric | None = None
    gpu: GpuIdentity | None = None
    aside: str = ""
    mig: bool = False
    column: str = ""

    @property
    def kept(self) -> bool:
        """Whether its values become GPU samples."""
        return self.metric is not None and self.gpu is not None and not self.mig and not self.aside


@dataclass
class _Columns:
    line: list[int] = field(default_factory=list)
    stamp: list[int | None] = field(default_factory=list)
    series: list[int] = field(default_factory=list)
    value: list[float | None] = field(default_factory=list)
    text: list[str | None] = field(default_factory=list)


def _arrow(line: Any, stamp: Any, series: Any, value: Any, text: Any) -> pa.Table:
    return pa.table(
        {
            "line": pa.array(line, pa.int64()),
            "stamp": pa.array(stamp, pa.int64()).cast(pa.timestamp("us")),
            "series": pa.array(series, pa.int32()),
            "value": pa.array(value, pa.float64()),
            "text": pa.array(text, pa.string()),
        }
    )


class LongTable:
    """Collects values. `naive`: stamps are local time as written, not UTC."""

    def __init__(self, con: duckdb.DuckDBPyConnection, decimal: str | None = None) -> None:
        self.con = con
        self.series: list[Series] = []
        self.naive = False
        self.offset: str | None = ""
        self._decimal = decimal
        self._held = _Columns()
        self._arrays: list[pa.Table] = []
        self._waiting = 0
        con.execute(
            "create table long (line bigint, stamp timestamp, series integer, raw double, text varchar, "
            "base boolean default false, bad varchar)"
        )

    def add_series(self, series: Series) -> int:
        """Number of a new series."""
        self.series.append(series)
        return len(self.series) - 1

    def add(self, line: int, stamp: int | None, series: int, value: float | None) -> None:
        """One number as logged (None: missing); `stamp` in microseconds since 1970 (None: no time)."""
        held = self._held
        held.line.append(line)
        held.stamp.append(stamp)
        held.series.append(series)
        held.value.append(value)
        held.text.append(None)
        self._took(1)

    def add_cells(self, line: int, stamp: int, series: Sequence[int], texts: Sequence[str | None]) -> None:
        """Cells of one row (None: missing), one for each series."""
        held, n = self._held, len(series)
        held.line.extend([line] * n)
        held.stamp.extend([stamp] * n)
        held.series.extend(series)
        held.value.extend([None] * n)
        held.text.extend(texts)
        self._took(n)

    def add_points(
        self, line: int, stamps: npt.NDArray[np.int64], series: int, values: npt.NDArray[np.float64]
    ) -> None:
        """Numbers of one series (NaN: missing) at microseconds since 1970."""
        self._keep_held()
        n = len(stamps)
        self._arrays.append(
            _arrow(
                [line] * n, stamps, [series] * n, pa.array(values, from_pandas=True), pa.nulls(n, pa.string())
            )
        )
        self._took(n)

    def _took(self, n: int) -> None:
        self._waiting += n
        if self._waiting >= BUFFER:
            self.flush()

    def _keep_held(self) -> None:
        held, self._held = self._held, _Columns()
        if held.line:
            self._arrays.append(_arrow(held.line, held.stamp, held.series, held.value, held.text))

    def flush(self) -> None:
        """Hand what is buffered to the database."""
        self._keep_held()
        if not self._arrays:
            return
        self.con.register("buffered", pa.concat_tables(self._arrays))
        self._arrays, self._waiting = [], 0
        plain = "text" if self._decimal != "," else "case when not contains(text, '.') then text end"
        small = ", ".join(str(n) for n in sorted(SENTINELS) if n < 1 << 60)
        self.con.execute(
            f"""insert into long (line, stamp, series, raw, text)
            select line, stamp, series, case when good then raw end, case when not good then text end from (
                select *, coalesce(isfinite(raw) and abs(raw) < {SENTINEL_FLOOR!r} and raw not in ({small}),
                                   false) as good
                from (select *, coalesce(value, try_cast({plain} as double)) as raw from buffered))"""
        )
        self.con.unregister("buffered")

    def settle(self) -> None:
        """Read the texts that are no plain numbers, apply units, and mark values outside their range."""
        self.flush()
        units = [one.metric.unit if one.metric else None for one in self.series]
        self._scale_of_ratios(units)
        self._read_texts(units)
        self._apply(units)

    def _scale_of_ratios(self, units: list[str | None]) -> None:
        """Percent or ratio, where the name leaves it open: only values above 1 or broken ones decide."""
        unclear = [i for i, unit in enumerate(units) if unit == PERCENT_OR_RATIO]
        if not unclear:
            return
        row = self.con.execute(
            "select max(raw), bool_or(raw <> floor(raw)) from long "
            "where list_contains($1::integer[], series)",
            [unclear],
        ).fetchall()[0]
        decided = "%" if (row[0] or 0) > 1 else "ratio" if row[1] else None
        for i in unclear:
            units[i] = decided or "ratio"
        if decided is None:
            self.con.execute(
                "update long set bad = $2, text = raw::varchar, raw = null where raw <> 0 "
                "and list_contains($1::integer[], series)",
                [unclear, UNDECIDED],
            )

    def _read_texts(self, units: Sequence[str | None]) -> None:
        found = self.con.execute(
            "select distinct series, text from long where raw is null and text is not null and bad is null"
        ).fetchall()
        if not found:
            return
        parsed = [parse_number(text, units[series], self._decimal) for series, text in found]
        self.con.register(
            "parsed",
            pa.table(
                {
                    "series": pa.array([series for series, _ in found], pa.int32()),
                    "text": pa.array([text for _, text in found], pa.string()),
                    "number": pa.array([one.number for one in parsed], pa.float64()),
                    "reason": pa.array([one.reason or None for one in parsed], pa.string()),
                }
            ),
        )
        self.con.execute(
            "update long set raw = p.number, base = true, bad = p.reason from parsed p "
            "where long.series = p.series and long.text = p.text and long.raw is null and long.bad is null"
        )
        self.con.unregister("parsed")

    def _apply(self, units: Sequence[str | None]) -> None:
        rows = [(i, *_rule(unit)) for i, unit in enumerate(units) if unit is not None]
        if not rows:
            return
        self.con.execute(
            "create table scales as select unnest($1::integer[]) as series, unnest($2::double[]) as factor, "
            "unnest($3::double[]) as divisor, unnest($4::double[]) as low, unnest($5::double[]) as high, "
            "unnest($6::varchar[]) as reason",
            [list(column) for column in zip(*rows, strict=True)],
        )
        self.con.execute(
            "update long set text = raw::varchar, bad = s.reason, raw = null from scales s "
            "where long.series = s.series and not base and raw * factor / divisor not between low and high"
        )
        self.con.execute(
            "update long set raw = raw * factor / divisor, base = true from scales s "
            "where long.series = s.series and not base and raw is not null"
        )


def _rule(unit: str) -> tuple[float, float, float, float, str]:
    """Factor, divisor, lowest and highest value in base units, and what to say outside of them."""
    one = parse_number("1", unit)
    if one.unit == "ratio" and one.number != 1:
        return 1.0, 100.0, 0.0, 1.0, "a percentage outside 0..100"
    if one.unit == "ratio":
        return 1.0, 1.0, 0.0, 1.0, "a ratio outside 0..1"
    low = 0.0 if one.unit in ("B", "W", "MHz", "J") else -SENTINEL_FLOOR
    return float(one.number or 1), 1.0, low, SENTINEL_FLOOR, "a negative amount"


def microseconds(at: datetime) -> int:
    """Microseconds since 1970 of a naive time."""
    delta = at - EPOCH
    return (delta.days * 86400 + delta.seconds) * 1_000_000 + delta.microseconds
