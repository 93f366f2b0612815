"""CSV files of Grafana's panel inspector: series joined by time, one series, and the form of Grafana 6."""

from dataclasses import replace
from pathlib import Path

from data.errors import UnreadableFileError
from data.gpu.legend import legend_series, node_columns
from data.gpu.long import LongTable, Series
from data.gpu.long_build import build_points, build_rows, unconfirmed
from data.gpu.metrics import metric_of_file
from data.parse.csvio import CsvLayout, CsvRow, read_layout, split_line
from data.parse.last_line import JOINED
from data.parse.timezones import parse_stamp
from data.parse.wide import WideRows, decimal_mark, load_wide, long_table, time_facts, wide_batch
from data.readers.base import Batch, Choices, Progress, Sniff, Source, no_progress

ROUNDED = (
    "Grafana rounded the values and wrote a unit into each cell: "
    "export with 'Formatted data' off for exact ones."
)
GUESSED = "the measure is named only by the file name: confirm it"
TWINS = "several columns have this name"


def _is_joined(names: tuple[str, ...]) -> bool:
    return len(names) > 1 and names[0] == "Time" and any(names[1:])


def _is_long(names: tuple[str, ...]) -> bool:
    return {name.lower() for name in names} == {"series", "time", "value"}


def _first_cells(source: Source, layout: CsvLayout) -> list[str]:
    lines = source.head.split("\n")[layout.first_data_line - 1 :]
    return next((split_line(line, layout.delimiter) for line in lines if line.strip()), [])


class _Grafana:
    """What the three forms share."""

    format = ""
    title = ""

    def _layout(self, source: Source) -> CsvLayout | None:
        try:
            layout = read_layout(source, _is_long if self._long else _is_joined, unique=False)
        except UnreadableFileError:
            return None
        fits = self._long or (len([n for n in layout.header if n]) == 2) == self._single
        return replace(layout, open_end=JOINED) if fits else None

    _long = False
    _single = False

    def sniff(self, source: Source) -> Sniff:
        """Judge by the header and the time in the first row."""
        layout = self._layout(source)
        if layout is None:
            return Sniff(0.0, "no header of a Grafana panel export")
        cells = _first_cells(source, layout)
        time = [name.lower() for name in layout.header].index("time")
        stamp = parse_stamp(cells[time]) if time < len(cells) else None
        if stamp is None and len(cells) > 1:
            return Sniff(0.3, "a column Time, but its first cell is no time")
        quoted = source.head.lstrip("\ufeff").lstrip().startswith('"Time"')
        if not quoted and not self._long and node_columns([name for name in layout.header[1:] if name]):
            return Sniff(0.3, "a column Time, but the others are named by node")
        why = f"column Time and {layout.columns - 1} series"
        old = layout.delimiter == ";" or self._long
        return Sniff(0.95 if quoted or old else 0.8, why)

    def read(
        self, source: Source, choices: Choices, scratch: Path, progress: Progress = no_progress
    ) -> Batch:
        """Read all cells. Series that name a GPU and a known measure become samples, the others only facts.

        Formatted times are the viewer's local time: `choices.timezone` places them.
        """
        layout = self._layout(source)
        if layout is None:
            raise UnreadableFileError(
                "No header of a Grafana panel export", source.name, "The first column must be called Time."
            )
        read = self._read_long if self._long else self._read_wide
        with long_table(scratch, decimal_mark(source, layout)) as table:
            return read(source, layout, table, choices, scratch, progress)

    def _read_wide(
        self,
        source: Source,
        layout: CsvLayout,
        table: LongTable,
        choices: Choices,
        scratch: Path,
        progress: Progress,
    ) -> Batch:
        guess = metric_of_file(source.name)
        numbers: list[int | None] = []
        guessed = False
        for i, name in enumerate(layout.header):
            if i == 0 or not name:
                numbers.append(None)
                continue
            series = legend_series(name, choices, number=i + 1)
            if series.metric is None and guess is not None:
                series = legend_series(name, choices, guess, i + 1)
                guessed = guessed or series.kept
            if layout.header.count(name) > 1:
                series = Series(name, series.metric, None, aside=TWINS)
            numbers.append(table.add_series(series))
        found = load_wide(source, layout, table, 0, lambda _: numbers, progress)
        batch = wide_batch(self.format, source, layout, found)
        _describe(table, batch)
        if not build_rows(table, batch, source, choices, scratch):
            time_facts(batch, found, choices)
        return self._finish(batch, table, found, guessed)

    def _read_long(
        self,
        source: Source,
        layout: CsvLayout,
        table: LongTable,
        choices: Choices,
        scratch: Path,
        progress: Progress,
    ) -> Batch:
        at = {name.lower(): i for i, name in enumerate(layout.header)}
        known: dict[str, int] = {}

        def series_of(row: CsvRow) -> list[int | None]:
            name = row.cells[at["series"]] if at["series"] < len(row.cells) else ""
            if name not in known:
                known[name] = table.add_series(legend_series(name, choices))
            return [known[name] if i == at["value"] else None for i in range(len(layout.header))]

        found = load_wide(source, layout, table, at["time"], series_of, progress)
        batch = wide_batch(self.format, source, layout, found)
        cells, by_column = batch.facts["missing_cells"], dict(batch.facts)
        _describe(table, batch)
        time_facts(batch, found, choices)
        build_points(table, batch, source, choices, scratch)
        batch.facts |= {k: v for k, v in by_column.items() if k.startswith("missing_cells[")}
        batch.facts["missing_cells"] = cells
        short = batch.records - sum(s.column is None for s in batch.set_aside)
        short -= batch.stored + sum(batch.ignored.values())
        if short:
            batch.ignored["row without a value"] += short
        return self._finish(batch, table, found, guessed=False)

    def _finish(self, batch: Batch, table: LongTable, found: WideRows, guessed: bool) -> Batch:
        if table.con.execute(
            "select count(*) from long where base and text is not null and regexp_matches(text, '[A-Za-z%]')"
        ).fetchall()[0][0]:
            batch.warnings.append(ROUNDED)
        if found.offset is None and batch.timezone_assumed:
            batch.warnings.append("Grafana writes the local time of the browser that exported the file.")
        if not any(one.kept for one in table.series):
            batch.warnings.append(
                "No series names a GPU and a measure of GPUs: nothing was stored. Say what the columns hold."
            )
        if guessed:
            unconfirmed(table, batch, GUESSED)
            batch.warnings.append(
                "No column names what it measures; the file name hints at it. Nothing was stored: confirm "
                "the measure of the columns, then read the file again."
            )
        batch.reconcile()
        return batch


def _describe(table: LongTable, batch: Batch) -> None:
    batch.mapped["Time"] = "gpu_samples.ts"
    for one in table.series:
        if one.metric is not None and one.kept:
            batch.mapped[one.name] = f"gpu_samples.{one.metric.measure}"
        else:
            batch.unmapped.append(one.name)


class GrafanaJoinedReader(_Grafana):
    """A panel's series joined by time."""

    format = "grafana_joined_csv"
    title = "Grafana CSV, series joined by time"


class GrafanaSingleReader(_Grafana):
    """One series of a panel."""

    format = "grafana_single_csv"
    title = "Grafana CSV, one series"
    _single = True


class GrafanaSeriesReader(_Grafana):
    """`Series;Time;Value`, as Grafana wrote until version 6."""

    format = "grafana_series_csv"
    title = "Grafana CSV, rows of series, time and value"
    _long = True


READERS = (GrafanaJoinedReader(), GrafanaSingleReader(), GrafanaSeriesReader())
