"""GPU measures by name: what each proves and what it does not."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Measure:
    """A vendor measure: `label` on screen, one line on what it proves and one on what it does not, its
    source.
    """

    id: str
    label: str
    proves: str
    not_proves: str
    source: str


_ALL = (
    Measure(
        "gpu_util",
        "GPU-Util (NVML)",
        "at least one kernel was running for this share of the time",
        "that the GPU did useful work: one spinning kernel, even a hung collective, shows 100 %",
        "nvmlUtilization_t; DCGM field 203",
    ),
    Measure(
        "mem_util",
        "Memory controller busy (NVML)",
        "device memory was being read or written for this share of the time",
        "how full the memory is, nor how much of its bandwidth was used",
        "nvmlUtilization_t; DCGM field 204",
    ),
    Measure(
        "sm_active",
        "SM active (DCGM)",
        "multiprocessors held at least one warp for this share of cycles; 0.8 and more is necessary for "
        "efficiency",
        "that the warps computed: waiting warps count too",
        "DCGM field 1002",
    ),
    Measure(
        "tensor_active",
        "Tensor pipe active (DCGM)",
        "tensor cores were busy for this share of cycles, the counter nearest to training FLOPs",
        "waste when low: decoding is bound by memory and leaves tensor cores idle by nature",
        "DCGM field 1004",
    ),
    Measure(
        "dram_active",
        "HBM active (DCGM)",
        "the HBM interface moved data for this share of cycles, the counter that fits decoding",
        "that training was efficient",
        "DCGM field 1005",
    ),
    Measure(
        "gr_engine_active",
        "Graphics engine active (DCGM)",
        "a context was bound and a pipe busy for this share of the time: presence, like GPU-Util",
        "that the GPU did useful work",
        "DCGM field 1001",
    ),
    Measure(
        "gfx_activity",
        "GFX activity (AMD)",
        "the graphics engine was busy for this share of the time: the counterpart of GPU-Util",
        "how many compute units worked; it does not compare with SM active",
        "amdsmi_engine_usage_t",
    ),
    Measure(
        "umc_activity",
        "Memory controller activity (AMD)",
        "the memory controller was busy for this share of the time",
        "how much bandwidth was used, nor how full the memory is",
        "amdsmi_engine_usage_t",
    ),
)

MEASURES: dict[str, Measure] = {m.id: m for m in _ALL}
PRESENCE = ("gpu_util", "gr_engine_active", "gfx_activity")
WORK = ("sm_active", "tensor_active")
