"""Names under which exporters publish GPU measures, and whose GPU the labels of a series name."""

import csv
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePath

from data.errors import UserError
from data.gpu.csv_rows import GpuIdentity
from data.gpu.rollup import MEASURES
from data.parse.values import UNITS, is_missing
from data.readers.base import Choices

_PATH = Path(__file__).with_name("metrics.csv")
PERCENT_OR_RATIO = "percent_or_ratio"
"""The unit of a name that says ratio and was percent in one version of DCGM."""
_LABELS = {
    "uuid": ("UUID", "gpu_uuid", "GPU_UUID", "gpuuuid", "uuid"),
    "index": ("gpu", "GpuIndex", "gpu_id", "index", "gpu_index"),
    "bus": ("pci_bus_id", "bus_id"),
    "host": ("Hostname", "hostname", "host", "node", "nodename", "kubernetes_node", "ip", "instance"),
    "model": ("modelName", "GpuDeviceName", "card_series", "gpu_model", "gpu_name"),
}
_MIG_LABELS = ("GPU_I_ID", "GPU_I_PROFILE")
_POD_LABELS = ("exported_pod", "pod", "pod_name", "hpc_job")
"""`exported_pod` first: beside it, `pod` is the exporter's own."""
_DEFAULT_UNITS = {
    "gpu_util": "%", "mem_util": "%", "gfx_activity": "%", "umc_activity": "%", "mem_bytes": "MiB",
    "mem_total_bytes": "MiB", "power_w": "W", "power_limit_w": "W", "energy_j": "J",
    "sm_clock_mhz": "MHz", "temp_c": "C",
}  # fmt: skip
_FILE_WORDS = (
    (r"mem_copy_util", "mem_util"),
    (r"(?:gpu|duty)_(?:util(?:i[sz]ation)?|duty_cycle|cycle)", "gpu_util"),
    (r"sm_active", "sm_active"),
    (r"tensor_active", "tensor_active"),
    (r"dram_active", "dram_active"),
    (r"gr_engine_active", "gr_engine_active"),
    (r"fb_used", "mem_bytes"),
    (r"power_usage", "power_w"),
    (r"gpu_temp", "temp_c"),
)
_CHOSEN = re.compile(r"^(?:gpu_samples\.)?(\w+)(?:\s*[\[(]\s*([^\])]+?)\s*[\])])?$")


@dataclass(frozen=True)
class Metric:
    """A GPU measure (column of gpu_samples) and the unit of numbers that name none."""

    measure: str
    unit: str


@dataclass(frozen=True)
class Place:
    """Whose series it is: the GPU (None: no GPU is named), an instance of a split GPU, and the pod."""

    gpu: GpuIdentity | None
    mig: bool = False
    pod: str | None = None
    names_host_only: bool = False


@cache
def _metrics() -> dict[str, Metric]:
    with _PATH.open(encoding="utf-8", newline="") as handle:
        return {row["name"]: Metric(row["measure"], row["unit"]) for row in csv.DictReader(handle)}


def metric(name: str | None) -> Metric | None:
    """The measure behind an exporter's metric name, None when it is none of ours.

    OpenMetrics ends the names of counters in `_total`; some collectors write DCGM's names in small letters.
    """
    plain = name or ""
    plain = plain.upper() if plain.lower().startswith("dcgm_fi_") else plain
    return _metrics().get(plain) or _metrics().get(re.sub(r"(?i)_total$", "", plain))


def metric_inside(text: str) -> tuple[str, Metric] | None:
    """The first known metric name that stands as a word in free text, such as a legend or a file name."""
    for word in re.findall(r"[A-Za-z_:][\w:]*", text):
        if (found := metric(word)) is not None:
            return word, found
    return None


def place(labels: Mapping[str, str]) -> Place:
    """Whose series these labels describe. A MIG instance names its physical GPU but is not one."""
    found = {field: _first(labels, names) for field, names in _LABELS.items()}
    if not found["index"] and (device := re.fullmatch(r"nvidia(\d+)", labels.get("device", ""))):
        found["index"] = device[1]
    mig = any(not is_missing(labels.get(name)) for name in _MIG_LABELS)
    mig = mig or (found["uuid"] or "").startswith("MIG-")
    pod = _first(labels, _POD_LABELS)
    if not any(found[field] for field in ("uuid", "index", "bus")):
        return Place(None, mig, pod, names_host_only=found["host"] is not None)
    if (found["uuid"] or "").startswith("MIG-"):
        found["uuid"] = None
    return Place(GpuIdentity(0, 0, **found), mig, pod)


def _first(labels: Mapping[str, str], names: tuple[str, ...]) -> str | None:
    return next((labels[name].strip() for name in names if not is_missing(labels.get(name))), None)


def chosen_metric(choices: Choices, *names: str) -> Metric | None:
    """What a person said about a column or metric (`*`: about all): `gpu_util [%]` or only `gpu_util`.

    `names`: how the column may be meant, by its name or by its number (1..). Choices that are no measure
    (`ignore`, another field) give None. Raises UserError for a unit that does not exist.
    """
    text = next((choices.columns[name] for name in (*names, "*") if choices.columns.get(name)), "")
    match = _CHOSEN.match(text.strip())
    if match is None or match[1] not in MEASURES:
        return None
    measure, unit = match[1], match[2]
    if unit is not None and unit not in UNITS:
        raise UserError(
            f"There is no unit '{unit}'",
            f"column {names[0] if names else '*'}",
            "Write a unit such as %, ratio, MiB or W in the brackets.",
        )
    return Metric(measure, unit or default_unit(measure))


def default_unit(measure: str) -> str:
    """The unit in which exporters usually give a measure."""
    return _DEFAULT_UNITS.get(measure, "ratio")


def metric_of_file(name: str) -> Metric | None:
    """The measure that a file name hints at: a proposal, never a fact. CPU measures are none of ours."""
    stem = re.sub(r"[^A-Za-z0-9]+", "_", PurePath(name).stem).lower()
    if "cpu" in stem.split("_"):
        return None
    measure = next((found for pattern, found in _FILE_WORDS if re.search(pattern, stem)), None)
    return Metric(measure, default_unit(measure)) if measure else None
