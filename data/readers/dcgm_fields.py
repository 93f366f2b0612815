"""Fields of DCGM, by old name, new name and number -> measure and unit.

DCGM 4.6 renamed its fields. `DCGM_FI_DEV_GPU_UTIL_RATIO` is field 203 there, a percentage in spite of its
name; in 4.7 that name is said to be field 1613, a ratio. So the name alone does not fix the scale.
"""

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class DcgmField:
    """`measure` of gpu_samples and its unit; None: percentage or ratio, the name does not say.

    `rank`: which of several fields of one measure counts first.
    """

    measure: str
    unit: str | None
    rank: int = 0


_FIELDS: dict[str, DcgmField] = {
    "DEV_GPU_UTIL": DcgmField("gpu_util", "%"),
    "DEV_GPU_UTIL_RATIO": DcgmField("gpu_util", None, 1),
    "DEV_MEM_COPY_UTIL": DcgmField("mem_util", "%"),
    "DEV_MEM_COPY_UTIL_RATIO": DcgmField("mem_util", None, 1),
    "DEV_FB_USED": DcgmField("mem_bytes", "MiB"),
    "DEV_FB_TOTAL": DcgmField("mem_total_bytes", "MiB"),
    "DEV_POWER_USAGE": DcgmField("power_w", "W"),
    "DEV_BOARD_POWER_WATTS": DcgmField("power_w", "W"),
    "DEV_POWER_USAGE_INSTANT": DcgmField("power_w", "W", 1),
    "DEV_BOARD_POWER_RAW_WATTS": DcgmField("power_w", "W", 1),
    "DEV_ENFORCED_POWER_LIMIT": DcgmField("power_limit_w", "W"),
    "DEV_BOARD_POWER_LIMIT_ENFORCED_WATTS": DcgmField("power_limit_w", "W"),
    "DEV_POWER_MGMT_LIMIT": DcgmField("power_limit_w", "W", 1),
    "DEV_BOARD_POWER_LIMIT_REQUESTED_WATTS": DcgmField("power_limit_w", "W", 1),
    "DEV_TOTAL_ENERGY_CONSUMPTION": DcgmField("energy_j", "mJ"),
    "DEV_SM_CLOCK": DcgmField("sm_clock_mhz", "MHz"),
    "DEV_GPU_TEMP": DcgmField("temp_c", "C"),
    "DEV_GPU_TEMP_CELSIUS": DcgmField("temp_c", "C"),
    "PROF_GR_ENGINE_ACTIVE": DcgmField("gr_engine_active", "ratio"),
    "PROF_GR_ENGINE_UTIL_RATIO": DcgmField("gr_engine_active", "ratio"),
    "PROF_SM_ACTIVE": DcgmField("sm_active", "ratio"),
    "PROF_SM_UTIL_RATIO": DcgmField("sm_active", "ratio"),
    "PROF_PIPE_TENSOR_ACTIVE": DcgmField("tensor_active", "ratio"),
    "PROF_TENSOR_UTIL_RATIO": DcgmField("tensor_active", "ratio"),
    "PROF_DRAM_ACTIVE": DcgmField("dram_active", "ratio"),
    "PROF_DRAM_UTIL_RATIO": DcgmField("dram_active", "ratio"),
}
_NUMBERS = {
    "155": "DEV_POWER_USAGE", "156": "DEV_TOTAL_ENERGY_CONSUMPTION", "203": "DEV_GPU_UTIL",
    "204": "DEV_MEM_COPY_UTIL", "250": "DEV_FB_TOTAL", "252": "DEV_FB_USED", "1001": "PROF_GR_ENGINE_ACTIVE",
    "1002": "PROF_SM_ACTIVE", "1004": "PROF_PIPE_TENSOR_ACTIVE", "1005": "PROF_DRAM_ACTIVE",
}  # fmt: skip
_NAME = re.compile(r"\bDCGM_FI_((?:DEV|PROF)_[A-Z0-9_]+)\b", re.IGNORECASE)

LABELS = {
    "gpu": "index", "gpu_id": "index", "gpuid": "index", "device": "index", "entity": "index",
    "uuid": "uuid", "gpu_uuid": "uuid", "pci_bus_id": "bus", "hostname": "host", "host": "host",
    "node": "host", "instance": "host", "modelname": "model", "gpu_i_id": "mig", "gpu_instance_id": "mig",
}  # fmt: skip
"""Label of dcgm-exporter (lower case) -> field of GpuIdentity."""


def dcgm_name(text: str) -> str | None:
    """The field name in a text, without `DCGM_FI_`, in upper case; None when there is none."""
    match = _NAME.search(text)
    return match[1].upper() if match else None


def dcgm_field(text: str) -> DcgmField | None:
    """The field that a name or a number stands for: `DCGM_FI_DEV_GPU_UTIL`, `203`; None for all others."""
    name = dcgm_name(text) or _NUMBERS.get(text.strip(), "")
    return _FIELDS.get(name)
