"""GPU samples under the keys of a training tracker: W&B system metrics, Ray's monitor in NeMo RL and SkyRL.

A key names one measure of one GPU (`system.gpu.0.powerWatts`, `ray/node.1.gpu.3.util`); a row is one moment.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Protocol

import pandas as pd

from data.gpu.batch import GpuFile, build
from data.gpu.csv_rows import GpuIdentity, GpuRows
from data.gpu.machine import machine_of
from data.gpu.rollup import connect
from data.parse.csvio import CsvCounts
from data.parse.values import SENTINEL_FLOOR, SENTINELS, parse_number
from data.readers.base import Batch, Choices, SetAside, Source

UNSURE = "% or ratio"
"""W&B writes percentages where it asks the driver and ratios where it asks DCGM, under one key."""
WANDB = {
    "gpu": ("gpu_util", "%"), "memory": ("mem_util", "%"), "memoryAllocatedBytes": ("mem_bytes", "B"),
    "powerWatts": ("power_w", "W"), "enforcedPowerLimitWatts": ("power_limit_w", "W"),
    "smClock": ("sm_clock_mhz", "MHz"), "temp": ("temp_c", "C"),
    "smActive": ("sm_active", UNSURE), "pipeTensorActive": ("tensor_active", UNSURE),
    "dramActive": ("dram_active", UNSURE),
}  # fmt: skip
"""`memoryAllocated` and `powerPercent` are shares of totals that the stream does not name: not read."""
RAY = {"util": ("gpu_util", "%"), "mem_gb": ("mem_bytes", "GiB"), "mem_used_gb": ("mem_bytes", "GiB")}
RAY_METRICS = {"ray_node_gpus_utilization": ("gpu_util", "%"), "ray_node_gram_used": ("mem_bytes", "MiB")}
"""`gram_used` is MiB, although Ray documents bytes."""
_WANDB_KEY = re.compile(r"^(?:system[./])?gpu\.(\d+)\.(\w+)(?:/l:(.+))?$")
_RAY_KEY = re.compile(r"^ray/node\.(\d+)\.gpu\.(\d+)\.(\w+)$")
_RAY_METRIC = re.compile(r"^(ray_node_\w+)\{(.*)\}$")
_LABEL = re.compile(r'(\w+)="([^"]*)"')
GPU_FACTS = ("util_mean_by_row[", "util_mean_by_time[", "power_mean_w_by_", "memory_peak_bytes", "coverage")


@dataclass(frozen=True)
class GpuKey:
    """What a key names. `node`: label or number of the node, where one is named; `host` if it is its name.

    Ray numbers nodes in the order in which it met them: such a number is no host name.
    """

    index: str
    measure: str
    unit: str
    node: str | None = None
    host: str | None = None
    model: str | None = None


def gpu_key(name: str) -> GpuKey | None:
    """Read a key; None for every key that is no measure of one GPU (means over GPUs, processes, CPUs)."""
    if match := _WANDB_KEY.match(name):
        rule = WANDB.get(match[2])
        return GpuKey(match[1], *rule, node=match[3]) if rule else None
    if match := _RAY_KEY.match(name):
        rule = RAY.get(match[3])
        return GpuKey(match[2], *rule, node=f"node{match[1]}") if rule else None
    if match := _RAY_METRIC.match(name):
        rule, labels = RAY_METRICS.get(match[1]), dict(_LABEL.findall(match[2]))
        index, host = labels.get("GpuIndex"), labels.get("ip") or labels.get("instance")
        if rule and index is not None:
            return GpuKey(index, *rule, node=host, host=host, model=labels.get("GpuDeviceName"))
    return None


@dataclass
class KeyedGpus:
    """GPU samples found under keys: one row a GPU and moment in `frame` (line, stamp, gpu, v0, v1, …).

    `measures`: those of gpu_samples in the order of v0, v1, …; `keys`: those that were read;
    `missing`: rows without a number, by key that at least half of the rows have.
    """

    frame: pd.DataFrame
    measures: tuple[str, ...]
    gpus: list[GpuKey]
    keys: dict[str, str]
    missing: dict[str, int]
    set_aside: list[SetAside] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    @property
    def nodes(self) -> int | None:
        """Distinct nodes that the keys name; None when they name none."""
        return len({one.node for one in self.gpus if one.node}) or None


def gpu_from_keys(
    columns: Mapping[str, Sequence[float | None]],
    stamps: Sequence[datetime | None],
    lines: Sequence[int] | None = None,
) -> KeyedGpus | None:
    """The GPU samples among keyed columns, or None when no key is one.

    `columns`: key -> values by row (None or NaN: no number there); keys of other things are left alone.
    `stamps`: time of each row, UTC without zone; `lines`: its line or index in the file, counted from 1.
    A value that its unit cannot have is set aside with its line and key.
    """
    found = {name: key for name in columns if (key := gpu_key(name)) is not None}
    notes = _settle_units(found, columns)
    if not found:
        return None
    places = pd.Series(lines if lines is not None else range(1, len(stamps) + 1), dtype="int64")
    times = pd.Series(list(stamps), dtype="datetime64[us]")
    measures = tuple(dict.fromkeys(key.measure for key in found.values()))
    out = KeyedGpus(pd.DataFrame(), measures, [], {}, {}, warnings=notes)
    grouped: dict[tuple[str | None, str], dict[str, str]] = {}
    for name, key in found.items():
        grouped.setdefault((key.node, key.index), {}).setdefault(key.measure, name)
    frames = []
    for number, names in enumerate(grouped.values()):
        out.gpus.append(found[next(iter(names.values()))])
        part = pd.DataFrame({"line": places, "stamp": times, "gpu": number})
        for i, measure in enumerate(measures):
            part[f"v{i}"] = float("nan")
            if (key_name := names.get(measure)) is not None:
                part[f"v{i}"] = _base(columns[key_name], key_name, found[key_name], places, out)
                out.keys[key_name] = f"gpu_samples.{measure}"
        frames.append(part[part[[f"v{i}" for i in range(len(measures))]].notna().any(axis=1)])
    out.frame = pd.concat(frames, ignore_index=True)
    return out


def _settle_units(found: dict[str, GpuKey], columns: Mapping[str, Sequence[float | None]]) -> list[str]:
    """Give the keys of an unsure scale their unit, or leave them out: only a value above 1 tells."""
    notes = []
    for measure in dict.fromkeys(key.measure for key in found.values() if key.unit == UNSURE):
        names = [name for name, key in found.items() if key.measure == measure and key.unit == UNSURE]
        values = (value for name in names for value in columns[name] if value is not None)
        if any(value > 1 for value in values):
            found |= {name: replace(found[name], unit="%") for name in names}
            continue
        for name in names:
            del found[name]
        notes.append(
            f"'{names[0]}' has no value above 1: it may be a ratio or an idle percentage, so {measure} "
            "was not read."
        )
    return notes


def _base(
    values: Sequence[float | None], name: str, key: GpuKey, lines: pd.Series, out: KeyedGpus
) -> pd.Series:
    """Values in the base unit of their measure, NaN where there is none."""
    numbers = pd.Series(list(values), dtype="float64")
    numbers = numbers.mask((numbers.abs() >= SENTINEL_FLOOR) | numbers.isin(_SMALL_SENTINELS))
    if 2 * numbers.notna().sum() >= len(numbers):
        out.missing[name] = int(numbers.isna().sum())
    one = parse_number("1", key.unit).number or 1.0
    base = numbers / 100 if key.unit == "%" else numbers * one
    odd = base < 0 if key.measure != "temp_c" else base < -273.15
    if key.unit == "%":
        odd |= base > 1
    for line, value in zip(lines[odd], numbers[odd], strict=True):
        reason = "a percentage outside 0..100" if key.unit == "%" else "a negative amount"
        out.set_aside.append(SetAside(int(line), reason, repr(float(value)), name))
    return base.mask(odd)


_SMALL_SENTINELS = [float(n) for n in SENTINELS if n < 1 << 60]


def fill(
    found: KeyedGpus, batch: Batch, source: Source, choices: Choices, scratch: Path, run: str | None = None
) -> int:
    """Write samples, GPUs and all GPU facts into a batch that holds nothing else; returns samples stored.

    `run`: the run that held the GPUs. The caller keeps the books of its records.
    """
    con = connect(scratch)
    try:
        con.register("keyed", found.frame)
        con.execute("create table raw as select * from keyed order by line, gpu")
        con.unregister("keyed")
        con.execute("create view identified as select *, rowid as ord from raw")
        rows = GpuRows(con, CsvCounts(), _identities(found, source, choices, run), "")
        has_time = bool(found.frame["stamp"].notna().any())
        measures = {name: i for i, name in enumerate(found.measures)}
        build(GpuFile(rows, measures, has_time), batch, source, choices, scratch)
        return batch.stored
    finally:
        con.close()


def _identities(found: KeyedGpus, source: Source, choices: Choices, run: str | None) -> list[GpuIdentity]:
    rows = Counter(int(gpu) for gpu in found.frame["gpu"])
    out = []
    for number, key in enumerate(found.gpus):
        place = key.host or choices.host or run or machine_of(source.name)
        node = f"{key.node}:" if key.node and key.node != key.host else ""
        out.append(
            GpuIdentity(
                number,
                rows[number],
                gpu_id=f"{place}:{node}{key.index}",
                host=key.host,
                index=key.index,
                model=key.model,
                run=run,
            )
        )
    return out


def add_gpus(
    batch: Batch,
    found: KeyedGpus,
    source: Source,
    choices: Choices,
    scratch: Path,
    run: str | None = None,
) -> None:
    """Add the GPU samples of one run to the batch of its training log; its records stay as they are booked.

    GPU facts are written unless the batch has them. Rows without a stamp give means and no samples.
    """
    part = Batch(batch.format)
    part.gpu_parts = list(batch.gpu_parts)
    fill(found, part, source, choices, scratch, run)
    batch.gpu_parts = part.gpu_parts
    if "gpus" in part.tables:
        known = [batch.tables["gpus"]] if "gpus" in batch.tables else []
        every = pd.concat([*known, part.tables["gpus"]], ignore_index=True)
        batch.tables["gpus"] = every.drop_duplicates("gpu_id", ignore_index=True)
    for name, value in part.facts.items():
        if name.startswith(GPU_FACTS) and batch.facts.get(name) is None:
            batch.facts[name] = value
    if batch.facts.get("gpus") is None:
        batch.facts["gpus"] = part.facts.get("gpus")
    if batch.facts.get("hosts") is None:
        batch.facts["hosts"] = found.nodes
    batch.mapped |= found.keys
    batch.unmapped = [name for name in batch.unmapped if name not in found.keys]
    batch.set_aside += found.set_aside
    batch.warnings += [text for text in [*found.warnings, *part.warnings] if text not in batch.warnings]


class Moment(Protocol):
    """A row of a log: numbers by raw key, its time in UTC when known, and its line."""

    values: dict[str, float]
    ts: datetime | None
    line: int


def with_gpus(
    batch: Batch,
    rows: Mapping[str, Sequence[Moment]],
    source: Source,
    choices: Choices,
    scratch: Path,
) -> Batch:
    """The batch of a training log with the GPU samples among its keys; `rows` are its rows by run.

    A log of one run is taken under the name that the batch gives it.
    """
    runs = batch.tables.get("runs")
    for name, moments in rows.items():
        keys = [key for key in dict.fromkeys(k for row in moments for k in row.values) if gpu_key(key)]
        taken = [row for row in moments if any(key in row.values for key in keys)]
        columns = {key: [row.values.get(key) for row in taken] for key in keys}
        found = gpu_from_keys(columns, [row.ts for row in taken], [row.line for row in taken])
        if found is not None:
            only = len(rows) == 1 and runs is not None and len(runs) == 1
            run = str(runs["run"].iloc[0]) if only and runs is not None else name
            add_gpus(batch, found, source, choices, scratch, run)
    return batch
