"""Long rows (series, time, value): for files with one series a column, or one value a line.

Values wait in table `long` of an in-memory database; each series knows what it measures and whose GPU it is.
`data.gpu_long_build` makes samples of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import duckdb
import pyarrow as pa

from data.gpu_metrics import PERCENT_OR_RATIO, Metric
from data.readers.gpu_csv import GpuIdentity
from data.values import SENTINEL_FLOOR, SENTINELS, parse_number

BUFFER = 200_000
UNDECIDED = "the name says ratio, but one version of DCGM writes percent: say which"
EPOCH = datetime(1970, 1, 1)


@dataclass(frozen=True)
class Series:
    """One series: its name as shown, what it measures (None: nothing that GPUs are measured by), whose GPU.

    `aside`: why its values are not stored, "" when they are.
    """

    name: str
    metric: Metric | None = None
    gpu: GpuIdentity | None = None
    aside: str = ""
    mig: bool = False

    @property
    def kept(self) -> bool:
        """Whether its values become GPU samples."""
        return self.metric is not None and self.gpu is not None and not self.mig and not self.aside


class LongTable:
    """Collects values. `naive`: stamps are local time as written, not UTC."""

    def __init__(self, con: duckdb.DuckDBPyConnection, decimal: str | None = None) -> None:
        self.con = con
        self.series: list[Series] = []
        self.naive = False
        self.offset: str | None = ""
        self._decimal = decimal
        self._rows: list[tuple[int, int | None, int, float | None, str | None]] = []
        con.execute(
            "create table long (line bigint, stamp timestamp, series integer, raw double, text varchar, "
            "base boolean default false, bad varchar)"
        )

    def add_series(self, series: Series) -> int:
        """Number of a new series."""
        self.series.append(series)
        return len(self.series) - 1

    def add(
        self, line: int, stamp: int | None, series: int, value: float | None, text: str | None = None
    ) -> None:
        """One value: microseconds since 1970 (None: no time), number as logged, or the cell's text."""
        self._rows.append((line, stamp, series, value, text))
        if len(self._rows) >= BUFFER:
            self.flush()

    def flush(self) -> None:
        """Hand what is buffered to the database."""
        if not self._rows:
            return
        lines, stamps, series, values, texts = zip(*self._rows, strict=True)
        self._rows = []
        self.con.register(
            "buffered",
            pa.table(
                {
                    "line": pa.array(lines, pa.int64()),
                    "stamp": pa.array(stamps, pa.int64()).cast(pa.timestamp("us")),
                    "series": pa.array(series, pa.int32()),
                    "value": pa.array(values, pa.float64()),
                    "text": pa.array(texts, pa.string()),
                }
            ),
        )
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
        parsed = [parse_number(text, units[series], self._decimal, True) for series, text in found]
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
