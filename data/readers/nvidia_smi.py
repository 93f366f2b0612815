"""`nvidia-smi --query-gpu=… --format=csv`, with and without units, of any age."""

import re
from pathlib import Path

from data.csvio import CsvLayout, read_layout
from data.errors import UnreadableFileError
from data.facts_base import source_facts
from data.gpu_batch import GpuFile, build, missing_facts
from data.gpu_rollup import connect
from data.readers.base import Batch, Choices, Progress, Sniff, Source, no_progress
from data.readers.gpu_csv import GpuColumns, GpuRows, load_gpu_rows
from data.sql import number
from data.values import unit_of_header

NUMBERS = {
    "utilization.gpu": ("gpu_util", "%"),
    "utilization.memory": ("mem_util", "%"),
    "memory.used": ("mem_bytes", "MiB"),
    "memory.total": ("mem_total_bytes", "MiB"),
    "power.limit": ("power_limit_w", "W"),
    "enforced.power.limit": ("power_limit_w", "W"),
    "clocks.current.sm": ("sm_clock_mhz", "MHz"),
    "clocks.sm": ("sm_clock_mhz", "MHz"),
    "temperature.gpu": ("temp_c", "C"),
}
"""Field of nvidia-smi -> (measure, unit when neither header nor cell names one). The first column wins."""
POWER = ("power.draw", "power.draw.average", "power.draw.instant")
"""Draw of the GPU: the first of these columns that holds a number."""
IDENTITY = {
    "uuid": "uuid", "gpu_uuid": "uuid", "index": "index", "pci.bus_id": "bus", "gpu_bus_id": "bus",
    "name": "model", "gpu_name": "model", "hostname": "host", "host": "host",
}  # fmt: skip
IDENTITY_TARGET = {"index": "gpus.gpu_index", "bus": "gpus.gpu_id"}
_FIELD = re.compile(
    r"^(timestamp|driver_version|count|name|gpu_name|serial|gpu_serial|uuid|gpu_uuid|index|hostname|host"
    r"|(pci|gpu_bus|pcie|display|persistence|accounting|driver_model|vbios|inforom|gom|fan|pstate|clocks_\w+"
    r"|memory|compute|ecc|retired_pages|temperature|power|enforced|clocks|mig|gsp|module|utilization|encoder"
    r"|reset_status|protected_memory|fabric|platform|addressing|hardware|gpu_part|c2c|dramEncryption)\b.*"
    r"|compute_cap|compute_mode|gpu_bus_id|gpu_part_number|gpu_reset_status\..*|fan\.speed|reset_status\..*)$"
)
_PROCESS_FIELDS = frozenset({"pid", "process_name", "used_gpu_memory", "used_memory"})


def field_of(name: str) -> str:
    """Header cell -> field of nvidia-smi: `Utilization.GPU [%]` -> `utilization.gpu`."""
    return re.sub(r"\s*\[[^\]]*\]\s*$", "", name).strip().lower()


def _is_header(names: tuple[str, ...]) -> bool:
    fields = {field_of(name) for name in names}
    return len(names) > 1 and bool(fields & {*NUMBERS, *POWER}) and not any(_is_data(name) for name in names)


def _is_data(text: str) -> bool:
    return text[:1].isdigit()


class NvidiaSmiReader:
    """Samples of `nvidia-smi --query-gpu`."""

    format = "nvidia_smi_query_csv"
    title = "nvidia-smi --query-gpu CSV"

    def sniff(self, source: Source) -> Sniff:
        """Judge by the header: fields of nvidia-smi, among them one that GPUs are measured by."""
        try:
            layout = read_layout(source, _is_header, unique=False)
        except UnreadableFileError:
            if re.search(r"^\d{4}/\d\d/\d\d \d\d:\d\d:\d\d\.\d{3},.*\d %", source.head, re.MULTILINE):
                return Sniff(0.3, "rows like nvidia-smi's, but no header that names the columns")
            return Sniff(0.0, "no header with a field of nvidia-smi such as utilization.gpu or power.draw")
        fields = [field_of(name) for name in layout.header]
        if _PROCESS_FIELDS & set(fields):
            return Sniff(0.2, "a list of processes (--query-compute-apps), not of GPUs")
        known = [name for name in fields if _FIELD.match(name)]
        share = len(known) / len(fields)
        dotted = sum("." in name for name in known)
        if not dotted or share < 0.5:
            return Sniff(0.2 * share, f"{len(known)} of {len(fields)} columns are fields of nvidia-smi")
        why = f"{len(known)} of {len(fields)} columns are fields of nvidia-smi --query-gpu"
        return Sniff(0.6 + 0.39 * share, why)

    def read(
        self, source: Source, choices: Choices, scratch: Path, progress: Progress = no_progress
    ) -> Batch:
        """Read all samples. Stamps are local: `choices.timezone` places them, else they are taken as UTC.

        Raises UnreadableFileError without a header, without rows, or when a column is named twice.
        """
        try:
            layout = read_layout(source, _is_header)
        except UnreadableFileError as error:
            if "appears" in error.what:
                raise
            raise UnreadableFileError(
                "No header names the columns",
                source.name,
                "Log without 'noheader', or add the query's field names as the first line.",
            ) from error
        con = connect(scratch)
        try:
            rows = load_gpu_rows(con, source, layout, _columns(layout), progress)
            return _batch(rows, source, layout, choices, scratch)
        finally:
            con.close()


def _columns(layout: CsvLayout) -> GpuColumns:
    time: int | None = None
    identity: dict[str, int] = {}
    units: dict[int, str | None] = {}
    measures: set[str] = set()
    for i, name in enumerate(layout.header):
        field = field_of(name)
        if field == "timestamp":
            time = i
        elif field in IDENTITY:
            identity.setdefault(IDENTITY[field], i)
        elif field in POWER:
            units[i] = unit_of_header(name) or "W"
        elif field in NUMBERS and NUMBERS[field][0] not in measures:
            measures.add(NUMBERS[field][0])
            units[i] = unit_of_header(name) or NUMBERS[field][1]
    return GpuColumns(time, identity, units)


def _measures(rows: GpuRows, layout: CsvLayout, columns: GpuColumns) -> dict[str, int]:
    """Column by measure; of the power columns the first that holds a number, else the first."""
    fields = {field_of(layout.header[i]): i for i in reversed(list(columns.units))}
    found = {NUMBERS[field][0]: i for field, i in fields.items() if field in NUMBERS}
    power = [fields[name] for name in POWER if name in fields]
    for i in power:
        if number(rows.con, f"select count(v{i}) from raw"):
            return found | {"power_w": i}
    return found | {"power_w": power[0]} if power else found


def _batch(rows: GpuRows, source: Source, layout: CsvLayout, choices: Choices, scratch: Path) -> Batch:
    columns = _columns(layout)
    counts, facts = rows.counts, source_facts(source)
    file = GpuFile(rows, _measures(rows, layout, columns), columns.time is not None)
    facts |= {
        "format": NvidiaSmiReader.format,
        "records": counts.records,
        "columns": layout.columns,
        "header_repeated": counts.header_repeated,
        "partial_last_line": counts.partial_last_line,
        "ragged_rows": counts.ragged_rows,
    }
    missing_facts(file, layout.header, facts)
    batch = Batch(NvidiaSmiReader.format, records=counts.records, set_aside=rows.set_aside, facts=facts)
    batch.warnings += rows.warnings
    _describe(batch, file, layout, columns)
    build(file, batch, source, choices, scratch)
    _warn(batch, file, choices)
    batch.reconcile()
    return batch


def _describe(batch: Batch, file: GpuFile, layout: CsvLayout, columns: GpuColumns) -> None:
    target = {i: f"gpu_samples.{name}" for name, i in file.measures.items()}
    target |= {i: IDENTITY_TARGET.get(name, f"gpus.{name}") for name, i in columns.identity.items()}
    if columns.time is not None:
        target[columns.time] = "gpu_samples.ts"
    for i, name in enumerate(layout.header):
        if i in target:
            batch.mapped[name] = target[i]
        elif name:
            batch.unmapped.append(name)


def _warn(batch: Batch, file: GpuFile, choices: Choices) -> None:
    gpus = file.rows.gpus
    indices = {one.index for one in gpus if one.index}
    buses = {one.bus for one in gpus if one.bus}
    if indices and buses and len(indices) != len(buses) and not any(one.uuid for one in gpus):
        batch.warnings.append(
            f"The file names {len(indices)} GPUs by index but {len(buses)} by bus id: "
            "they were told apart by index."
        )
    if file.rows.counts.partial_last_line:
        batch.warnings.append("The last line was cut in the middle of a row; it was dropped.")
    if not any(one.uuid or one.host for one in gpus) and not choices.host:
        batch.warnings.append(
            "The file names no host and no UUID: its GPUs are called after the file. "
            "Give the host to tell nodes apart."
        )


READERS = (NvidiaSmiReader(),)
