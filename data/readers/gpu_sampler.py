"""A table of somebody's own sampler: a time, and GPU measures whose names end with their unit."""

import re
from pathlib import Path

from data.errors import UnreadableFileError
from data.gpu.rollup import MEASURES
from data.gpu.table import Column, Table, chosen, named, read_table
from data.parse.csvio import CsvLayout, read_layout
from data.parse.values import unit_of_header
from data.readers.base import Batch, Choices, Progress, Sniff, Source, no_progress
from data.readers.gpu_sampler_wide import Places, own_gpu, read_wide
from data.readers.template_specs import templates

TIMES = frozenset(
    {"timestamp", "time", "ts", "datetime", "date_time", "timestamp_utc", "time_utc", "utc_time", "wall_time",
     "unix_time", "epoch", "epoch_s", "utc_epoch_s", "timestamp_s", "unix_timestamp", "timestamp_unix", "utc",
     "ts_utc", "utc_timestamp", "datetime_utc", "sampled_utc", "sampled_at", "sample_time", "iso", "iso_time",
     "timestamp_iso", "ts_iso"}
)  # fmt: skip
UTC_TIMES = frozenset(
    {"timestamp_utc", "time_utc", "utc_time", "utc", "ts_utc", "utc_timestamp", "datetime_utc",
     "sampled_utc"}
)  # fmt: skip
EPOCHS = frozenset(
    {"unix_time", "epoch", "epoch_s", "utc_epoch_s", "unix_timestamp", "timestamp_unix", "ts"} | UTC_TIMES
)
IDENTITY = {
    "gpu": "index", "gpu_id": "index", "gpu_index": "index", "gpu_idx": "index", "index": "index",
    "device": "index", "device_id": "index", "device_index": "index", "uuid": "uuid", "gpu_uuid": "uuid",
    "host": "host", "hostname": "host", "node": "host", "node_name": "host", "gpu_name": "model",
    "name": "model", "gpu_model": "model", "model": "model", "pci_bus_id": "bus",
}  # fmt: skip
UNITS = {
    "pct": "%", "percent": "%", "percentage": "%", "perc": "%", "ratio": "ratio", "fraction": "ratio",
    "frac": "ratio", "w": "W", "watt": "W", "watts": "W", "mw": "mW", "milliwatts": "mW", "b": "B",
    "bytes": "B", "mb": "MB", "mib": "MiB", "gb": "GB", "gib": "GiB", "c": "C", "celsius": "C", "degc": "C",
    "mhz": "MHz",
}  # fmt: skip
_UTIL = frozenset({"utilization", "utilisation", "util", "usage", "use", "busy", "load"})
_MEMORY = frozenset({"memory", "mem", "vram", "fb"})
_NOT_A_GPU = frozenset(
    {"cpu", "process", "proc", "system", "sys", "node", "host", "ram", "rss", "disk", "swap", "fan", "psu",
     "server", "chassis", "peak", "max", "min", "avg", "mean", "average", "delta", "reserved", "allocated",
     "free", "enc", "dec", "encoder", "decoder"}
)  # fmt: skip
_OF_MORE = frozenset({"total", "sum", "all", "cluster", "rack", "pdu", "job", "overall", "aggregate"})
"""Words of sums over GPUs; of a board there is only one in a GPU."""
_NO_SAMPLE = frozenset({"idle", "tdp", "rated", "nominal", "estimated", "predicted"})
_HOST = frozenset({"cpu", "ram", "load"})
_PROCESS_WORDS = frozenset({"pid", "process_name", "process_id"})
_RL_WORDS = frozenset({"step", "loss", "reward", "epoch_num", "lr", "learning_rate", "_step", "global_step"})


class GpuSamplerReader:
    """Samples of an own sampler."""

    format = "gpu_sampler_csv"
    title = "CSV of your own GPU sampler (time, and columns such as gpu_utilization_pct, power_w)"

    def sniff(self, source: Source) -> Sniff:
        """Judge by the header: a time, and GPU measures with their units; each measure once."""
        try:
            layout = read_layout(source, unique=False)
        except UnreadableFileError:
            return Sniff(0.0, "no header line")
        columns = columns_of(layout)
        wide = wide_columns(layout)
        found = [one.target for one in columns.values() if one.target in _MEASURED]
        has_time = any(one.target == "ts" for one in columns.values())
        about_gpus = bool(wide) or any(
            set(normal(name).split("_")) & {"gpu", "vram"} for name in layout.header
        )
        if not found or not has_time or not about_gpus:
            return Sniff(0.0, "no time with GPU measures that name their units")
        why = f"a time, and {len(found)} GPU measures that name their units"
        if {normal(name) for name in layout.header} & _PROCESS_WORDS:
            return Sniff(0.1, "rows of processes, which share a GPU, not of GPUs")
        if {name.lower() for name in layout.header} & _RL_WORDS:
            return Sniff(0.3, f"{why}, beside columns of a training log")
        if wide and all(i in wide for i, one in columns.items() if one.target in _MEASURED):
            return Sniff(
                0.93, f"a time, and columns of {len({gpu for gpu, _ in wide.values()})} numbered GPUs"
            )
        if wide or len(found) > len(set(found)):
            return Sniff(0.3, f"{why}, but some of them twice: a column for each GPU?")
        if _of_our_template(layout):
            return Sniff(0.3, f"{why}, under the column names of our template gpu_samples")
        return Sniff(0.9 if len(found) > 1 else 0.6, why)

    def read(
        self, source: Source, choices: Choices, scratch: Path, progress: Progress = no_progress
    ) -> Batch:
        """Read all rows. MB and GB are powers of 1024, as GPU utilities count.

        Raises UnreadableFileError without rows, or without a measure that names its unit.
        """
        layout = named(read_layout(source), choices)
        columns = chosen(layout, columns_of(layout), choices)
        time_at = next((i for i, one in columns.items() if one.target == "ts"), None)
        wide = {i: one for i, one in wide_columns(layout).items() if columns.get(i) is not None}
        notes = _unit_notes(layout, columns)
        if wide and time_at is not None:
            host_at = next((i for i, one in columns.items() if one.target == "host"), None)
            places = Places(time_at, host_at, wide)
            batch = read_wide(self.format, source, layout, places, choices, scratch, progress)
            batch.warnings += notes
            return batch
        if not any(one.target in MEASURES for one in columns.values()):
            raise UnreadableFileError(
                "No column is a GPU measure with its unit",
                f"{source.name}, line {layout.header_line}",
                "Name the columns like gpu_utilization_pct, gpu_memory_used_mb and power_w.",
            )
        time = next((layout.header[i] for i, one in columns.items() if one.target == "ts"), "")
        zone = "UTC" if normal(time) in UTC_TIMES else None
        table = Table(self.format, layout, columns, warnings=notes)
        return read_table(source, table, choices, scratch, progress, zone)


def _of_our_template(layout: CsvLayout) -> bool:
    """Whether a GPU, a time and measures have the names of our template, as most of the columns do."""
    names = [name.casefold() for name in layout.header]
    ours = set(names) & set(templates()["gpu_samples"].names)
    placed = "ts" in ours and bool(ours & {"gpu_id", "gpu_index"})
    return placed and len(ours & set(MEASURES)) > 1 and 2 * len(ours) > len(names)


_MEASURED = frozenset({"gpu_util", "mem_bytes", "power_w", "sm_active", "tensor_active", "dram_active"})


def normal(name: str) -> str:
    """`GPU Utilization [%]` -> `gpu_utilization`; camel case is taken apart, but `MiB` is not."""
    text = re.sub(r"\s*[\[(][^\[\]()]*[\])]\s*$", "", name.strip())
    text = re.sub(r"(?<=[a-z])(?=[A-Z])(?!B(?![A-Za-z]))", "_", text)
    return re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")


def tokens_of(name: str) -> tuple[set[str], str | None]:
    """Words of a column name, and its unit: in brackets, a `%`, or the last word."""
    words = normal(name).split("_")
    unit = unit_of_header(name) or ("%" if "%" in name else None)
    if unit is None and len(words) > 1 and words[-1] in UNITS:
        unit = UNITS[words.pop()]
    return set(words), unit


def _unitless(found: tuple[set[str], str | None]) -> bool:
    words, unit = found
    return unit is None and "gpu" in words and bool(words & _UTIL) and not words & (_NOT_A_GPU | _MEMORY)


def _unit_notes(layout: CsvLayout, columns: dict[int, Column]) -> list[str]:
    """What to say of utilisation columns without a unit."""
    notes = []
    for i, name in enumerate(layout.header):
        own = own_gpu(name)
        if i not in columns and _unitless(tokens_of(f"gpu_{own[1]}" if own else name)):
            notes.append(f"The column '{name}' names no unit (percent or ratio?), so it was not read.")
    return notes


def measure_of(name: str) -> Column | None:
    """The measure that a name with a unit stands for; None when either is in doubt.

    `utilization_memory` is nvidia-smi's utilization.memory; `memory_utilization` may be how full it is.
    """
    words, unit = tokens_of(name)
    if unit is None or words & (_NOT_A_GPU | _NO_SAMPLE):
        return None
    if words & (_OF_MORE - {"total"}) or ("total" in words and not words & (_MEMORY | {"board"})):
        return None
    dimension = _DIMENSION.get(unit.lower())
    if dimension == "share" and _CONTROLLER.match(normal(name)):
        return Column("mem_util", unit)
    if dimension == "share":
        return _share(words, unit)
    if dimension == "bytes" and words & _MEMORY:
        used = bool(words & {"used", "usage", "use"})
        if words & {"total", "capacity"}:
            return None if used else Column("mem_total_bytes", unit)
        return Column("mem_bytes", unit) if used else None
    if dimension == "power" and words & {"power", "draw"}:
        return Column("power_limit_w" if words & {"limit", "cap"} else "power_w", unit)
    if dimension == "heat" and words & {"temp", "temperature"} and not words & _MEMORY:
        return Column("temp_c", unit)
    if dimension == "clock" and "sm" in words:
        return Column("sm_clock_mhz", unit)
    return None


_CONTROLLER = re.compile(r"(?:gpu_)?(?:utilization_memory|util_mem)(?:_|$)")
_DIMENSION = {
    "%": "share", "percent": "share", "ratio": "share", "b": "bytes", "bytes": "bytes", "mb": "bytes",
    "mib": "bytes", "gb": "bytes", "gib": "bytes", "w": "power", "mw": "power", "watts": "power",
    "c": "heat", "mhz": "clock",
}  # fmt: skip


def _share(words: set[str], unit: str) -> Column | None:
    for first, measure in (("sm", "sm_active"), ("tensor", "tensor_active"), ("dram", "dram_active")):
        if first in words:
            return Column(measure, unit) if words & {"active", "activity"} else None
    if words & _MEMORY:
        return None
    return Column("gpu_util", unit) if "gpu" in words and words & _UTIL else None


def columns_of(layout: CsvLayout) -> dict[int, Column]:
    """What each column is; identity and time by whole names, the first of several.

    Of two times the one that needs no zone counts: `ts` beside `iso` is the epoch beside local time.
    """
    found: dict[int, Column] = {}
    taken: set[str] = set()
    wide = wide_columns(layout)
    times = [i for i, name in enumerate(layout.header) if normal(name) in TIMES]
    if times:
        found[min(times, key=lambda i: (normal(layout.header[i]) not in EPOCHS, i))] = Column("ts")
        taken.add("ts")
    doubtful = _host_memory(layout)
    for i, name in enumerate(layout.header):
        if "DCGM_FI_" in name or "." in name.strip(".") or i in doubtful:
            continue
        if i not in wide and own_gpu(name) is not None:
            continue
        measure = wide[i][1] if i in wide else measure_of(name)
        plain = normal(name)
        target = IDENTITY.get(plain)
        if measure is not None:
            found[i] = measure
        elif target and target not in taken:
            taken.add(target)
            found[i] = Column(target)
    if taken & {"index", "uuid", "bus"} and all(one.target != "gpu_util" for one in found.values()):
        found |= _plain_utilization(layout)
    return found


def _host_memory(layout: CsvLayout) -> set[int]:
    """Columns of memory in a table that also tells of the host: `mem_used_mb` beside `cpu_pct` is RAM."""
    words = {i: set(normal(name).split("_")) for i, name in enumerate(layout.header)}
    if not any(found & _HOST for found in words.values()):
        return set()
    measures = {i: measure_of(name) for i, name in enumerate(layout.header) if own_gpu(name) is None}
    amounts = {i for i, one in measures.items() if one and one.target in ("mem_bytes", "mem_total_bytes")}
    return {i for i in amounts if not words[i] & {"gpu", "vram", "fb"}}


def _plain_utilization(layout: CsvLayout) -> dict[int, Column]:
    """`utilization_pct` in a row that names its GPU is that GPU's, where no other column is."""
    for i, name in enumerate(layout.header):
        words, unit = tokens_of(name)
        if words and words <= _UTIL and unit in ("%", "ratio"):
            return {i: Column("gpu_util", unit)}
    return {}


def wide_columns(layout: CsvLayout) -> dict[int, tuple[str, Column]]:
    """Measures whose columns name their GPU, where there is no column that says which GPU's row it is."""
    if any(IDENTITY.get(normal(name)) in ("index", "uuid", "bus") for name in layout.header):
        return {}
    named_gpus = ((i, own_gpu(name)) for i, name in enumerate(layout.header))
    found = {i: (gpu[0], _measure_of_gpu(gpu[1])) for i, gpu in named_gpus if gpu is not None}
    return {i: (index, column) for i, (index, column) in found.items() if column is not None}


def _measure_of_gpu(name: str) -> Column | None:
    """What `util_pct` behind `gpu0_` is; watts alone are the GPU's power."""
    return measure_of(f"gpu_{'power_w' if normal(name) in ('w', 'watts') else name}")


READERS = (GpuSamplerReader(),)
