"""Machine types of clouds: how many GPUs of which model, and the GPU-seconds of a quantity on a bill."""

import csv
import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

TABLE = Path(__file__).with_name("machines.csv")
_MODEL = re.compile(
    r"(?<![a-z0-9])(?:\d+x)?(gb[23]00|gh200|[ah]100|h200|h20|[ah]800|b[123]00|v100|l40s?|l4|a10g?|t4|mi\d{3}x?)"
    r"(?=x\d+\b|[^a-z0-9]|$)"
)
_PER = {"second": 1.0, "sec": 1.0, "s": 1.0, "minute": 60.0, "min": 60.0, "hour": 3600.0, "hr": 3600.0,
        "hrs": 3600.0, "h": 3600.0, "day": 86400.0}  # fmt: skip
_MACHINE_WORDS = frozenset({"", "instance", "node", "machine", "vm", "server", "compute", "usage"})
_ONE_GPU = re.compile(r"\bGPUs?\b.*\b(?:running|attached)\b", re.IGNORECASE)
"""Google bills the GPUs of a machine on a line of their own, by the GPU-hour."""


@dataclass(frozen=True)
class Machine:
    """`platform_id` is None where one type stands for several cards."""

    name: str
    platform_id: str | None
    gpu: str
    gpus: float
    source: str


@lru_cache(maxsize=1 << 12)
def machine(name: str) -> Machine | None:
    """The machine type of this name; None when the table does not know it."""
    wanted = name.strip().casefold()
    for pattern, row in _rows():
        if found := pattern.fullmatch(wanted):
            gpus = float(found[1]) if row["gpus"] == "*" else float(row["gpus"])
            return Machine(wanted, row["platform_id"] or None, row["gpu"], gpus, row["source"])
    return None


@lru_cache(maxsize=1)
def _rows() -> list[tuple[re.Pattern[str], dict[str, str]]]:
    with TABLE.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return [(re.compile(re.escape(row["machine"]).replace(r"\*", r"(\d+)")), row) for row in rows]


@lru_cache(maxsize=1 << 12)
def gpu_model(*texts: str | None) -> str | None:
    """The first GPU model that a text names, in lower case: `h100`, `gb300`, `mi300x`; a machine type too."""
    for text in texts:
        if not text:
            continue
        if known := machine(text):
            return known.gpu
        if found := _MODEL.search(re.sub(r"[_\-/]", " ", text.casefold())):
            return found[1]
    return None


def gpu_seconds(
    quantity: float | None, unit: str | None, instance_type: str | None, gpus: float | None, words: str | None
) -> float | None:
    """GPU-seconds of a quantity; None when the bill does not say what its unit holds.

    A unit of GPU time counts itself, a unit of machine time counts the GPUs of the machine: those that the
    bill states (`gpus`), else those of the type, else one where the line bills a GPU of its own.
    """
    if quantity is None or not unit:
        return None
    named = re.sub(r"[^a-z0-9]+", " ", unit.casefold()).split()
    if named and named[0] == "1":
        named = named[1:]
    if not named:
        return None
    last = named[-1].removeprefix("gpu") or named[-1]
    seconds = _PER.get(last) or _PER.get(last.removesuffix("s"))
    if seconds is None:
        return None
    before = " ".join(named[:-1])
    if named[-1] != last or before in ("gpu", "gpus", "accelerator", "chip"):
        return quantity * seconds
    if before not in _MACHINE_WORDS:
        return None
    if gpus is None and instance_type and (known := machine(instance_type)):
        gpus = known.gpus
    if gpus is None and words and _ONE_GPU.search(words):
        gpus = 1.0
    return None if gpus is None else quantity * seconds * gpus
