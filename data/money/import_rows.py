"""Rows of price lists that others publish: SkyPilot's vms.csv and slurm/pricing.csv, gpuhunt's catalogue."""

import ast
import csv
import io
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from data.errors import UserError

VMS, SLURM, GPUHUNT = "skypilot_vms", "skypilot_slurm", "gpuhunt"
TITLES = {VMS: "SkyPilot vms.csv", SLURM: "SkyPilot slurm/pricing.csv", GPUHUNT: "gpuhunt catalogue"}
COLUMNS = {
    VMS: {"InstanceType", "AcceleratorName", "AcceleratorCount", "Price"},
    SLURM: {"AcceleratorName", "PricePerAccelerator"},
    GPUHUNT: {"instance_name", "price", "gpu_count", "gpu_name"},
}
LIMIT_BYTES = 64 * 2**20
_INFO_LIMIT = 20_000


@dataclass(frozen=True)
class Offer:
    """One row of a list. `price` and `spot` in the list's currency an hour for the whole instance.

    `line` counts from 2, after the header. `memory` is the number in the memory column as it stands (None: no
    number), `unread_info`: the column that describes the GPU could not be read.
    """

    line: int
    instance: str
    gpu: str
    told: str
    count: float | None
    price: float | None
    spot: float | None
    region: str
    memory: float | None
    unread_info: bool = False
    cells: str = ""


@dataclass(frozen=True)
class PriceList:
    """A recognised file: its format, its rows, and rows that no reader can split into cells."""

    format: str
    offers: tuple[Offer, ...]
    ragged: tuple[tuple[int, str], ...]

    @property
    def rows(self) -> int:
        """Rows below the header."""
        return len(self.offers) + len(self.ragged)


def read_list(data: bytes, name: str) -> PriceList:
    """Recognise a price list by its column names, in any order; UserError names what a file lacks."""
    if len(data) > LIMIT_BYTES:
        raise UserError(
            f"The file is larger than {LIMIT_BYTES // 2**20} MiB", name, "Import one cloud at a time."
        )
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UserError("The file is not UTF-8 text", name, "Save it as UTF-8 CSV.") from error
    reader = csv.reader(io.StringIO(text, newline=""))
    header = [cell.strip() for cell in next(reader, [])]
    kind = next((k for k, wanted in COLUMNS.items() if wanted <= set(header)), None)
    if kind is None or len(set(header)) != len(header):
        wanted = "; ".join(f"{TITLES[k]}: {', '.join(sorted(columns))}" for k, columns in COLUMNS.items())
        raise UserError("The columns are those of no price list", name, f"Expected are {wanted}.")
    offers, ragged = [], []
    for number, cells in enumerate(filter(None, reader), start=2):
        if len(cells) != len(header):
            ragged.append((number, ",".join(cells)[:200]))
            continue
        row = {k: v.strip() for k, v in zip(header, cells, strict=True)}
        offers.append(_READERS[kind](number, row))
    return PriceList(kind, tuple(offers), tuple(ragged))


def _vms(line: int, row: Mapping[str, str]) -> Offer:
    info, unread = _info(row.get("GpuInfo", ""))
    return Offer(
        line=line,
        instance=row["InstanceType"],
        gpu=row["AcceleratorName"],
        told=str(info.get("Name", "")),
        count=number(row["AcceleratorCount"]),
        price=number(row["Price"]),
        spot=number(row.get("SpotPrice", "")),
        region=row.get("AvailabilityZone") or row.get("Region", ""),
        memory=_memory(info),
        unread_info=unread,
        cells=_cells(row),
    )


def _slurm(line: int, row: Mapping[str, str]) -> Offer:
    return Offer(
        line=line,
        instance="",
        gpu=row["AcceleratorName"],
        told="",
        count=1.0,
        price=number(row["PricePerAccelerator"]),
        spot=None,
        region=" ".join(filter(None, (row.get("Region", ""), row.get("Zone", "")))),
        memory=None,
        cells=_cells(row),
    )


def _gpuhunt(line: int, row: Mapping[str, str]) -> Offer:
    price, spot = number(row["price"]), row.get("spot", "").casefold() == "true"
    return Offer(
        line=line,
        instance=row["instance_name"],
        gpu=row["gpu_name"],
        told="",
        count=number(row["gpu_count"]),
        price=None if spot else price,
        spot=price if spot else None,
        region=row.get("location", ""),
        memory=number(row.get("gpu_memory", "")),
        cells=_cells(row),
    )


_READERS = {VMS: _vms, SLURM: _slurm, GPUHUNT: _gpuhunt}


def number(text: str) -> float | None:
    """A finite number, None for a blank cell or anything else; "8.0" is 8."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _info(text: str) -> tuple[dict[str, Any], bool]:
    """The first GPU of a GpuInfo cell, JSON or the print of a Python dict; and whether it was unreadable."""
    if not text:
        return {}, False
    if len(text) > _INFO_LIMIT:
        return {}, True
    for parse in (json.loads, ast.literal_eval):
        try:
            found = parse(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            continue
        gpus = found.get("Gpus") if isinstance(found, dict) else None
        if isinstance(gpus, list) and gpus and isinstance(gpus[0], dict):
            return gpus[0], False
    return {}, True


def _memory(info: Mapping[str, Any]) -> float | None:
    told = info.get("MemoryInfo")
    size = told.get("SizeInMiB") if isinstance(told, dict) else None
    return float(size) if isinstance(size, int | float) and math.isfinite(size) and size > 0 else None


def _cells(row: Mapping[str, str]) -> str:
    return ", ".join(f"{k}={v}" for k, v in row.items() if v and k != "GpuInfo")[:300]
