"""`nvidia-smi --query-gpu=… --format=csv`, with and without units, of any age."""

import re
from pathlib import Path

from data.errors import UnreadableFileError
from data.gpu.csv_rows import GpuColumns
from data.gpu.table import Column, Table, gpu_columns, named, read_table
from data.parse.csvio import CsvLayout, best_delimiter, read_layout, split_line
from data.parse.values import unit_of_header
from data.readers.base import Batch, Choices, Progress, Sniff, Source, no_progress

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
    "uuid": "uuid", "gpu_uuid": "uuid", "index": "index", "gpu": "index", "gpu_index": "index",
    "gpu_id": "index", "pci.bus_id": "bus", "gpu_bus_id": "bus", "name": "model", "gpu_name": "model",
    "hostname": "host", "host": "host", "mig.mode.current": "mig_mode",
}  # fmt: skip
"""`gpu`, `gpu_index` and `gpu_id` are names of people who print their own header over `noheader` rows."""
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
    text = name.strip()
    if text.endswith("]") and (start := text.find("[", text.rfind("]", 0, -1) + 1)) >= 0:
        text = text[:start].rstrip()
    return text.lower()


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
            return Sniff(0.1, "a list of processes (--query-compute-apps), not of GPUs")
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

        A log without a header is read when `choices.columns` names its columns by number ("1": "timestamp").
        Raises UnreadableFileError without a header, without rows, for a list of processes, or when a column
        is named twice.
        """
        layout = named(_layout(source, choices), choices)
        if _PROCESS_FIELDS & {field_of(name) for name in layout.header}:
            raise UnreadableFileError(
                "This is a list of processes (--query-compute-apps): one row a process, not a GPU",
                source.name,
                "Log nvidia-smi --query-gpu=timestamp,index,uuid,utilization.gpu,memory.used,power.draw.",
            )
        table = Table(self.format, layout, columns_of(layout))
        return read_table(source, table, choices, scratch, progress)


def _layout(source: Source, choices: Choices) -> CsvLayout:
    try:
        return read_layout(source, _is_header)
    except UnreadableFileError as error:
        if "appears" in error.what:
            raise
        bare = _without_header(source, choices)
        if bare is not None:
            return bare
        raise UnreadableFileError(
            "No header names the columns",
            source.name,
            "Log without 'noheader', add the query's field names as the first line, or say what each "
            "column is by its number.",
        ) from error


def _without_header(source: Source, choices: Choices) -> CsvLayout | None:
    """The layout of a `noheader` log whose columns a person has named by number; rows start at line 1."""
    numbers = [int(key) for key in choices.columns if key.isdigit() and int(key) > 0]
    row = next((line for line in source.head.split("\n") if line.strip()), "")
    if not numbers or not row:
        return None
    delimiter = best_delimiter(row)
    width = max(*numbers, len(split_line(row, delimiter)))
    return CsvLayout(delimiter, tuple(f"column {i + 1}" for i in range(width)), 1, 1)


def columns_of(layout: CsvLayout) -> dict[int, Column]:
    """What each column is, by the field names of nvidia-smi; the first column of a measure wins."""
    found: dict[int, Column] = {}
    taken: set[str] = set()
    for i, name in enumerate(layout.header):
        column = _column(name)
        if column is not None and column.target not in taken:
            found[i] = column
            if column.target != "power_w":
                taken.add(column.target)
    return found


def _column(name: str) -> Column | None:
    field = field_of(name)
    if field == "timestamp":
        return Column("ts")
    if field in IDENTITY:
        return Column(IDENTITY[field])
    if field in POWER:
        return Column("power_w", unit_of_header(name) or "W", POWER.index(field))
    if field in NUMBERS:
        measure, unit = NUMBERS[field]
        return Column(measure, unit_of_header(name) or unit)
    return None


def _columns(layout: CsvLayout) -> GpuColumns:
    return gpu_columns(Table(NvidiaSmiReader.format, layout, columns_of(layout)))


READERS = (NvidiaSmiReader(),)
