"""A rate card of a GPU cloud: pool, gpu_model, gpus, start, end, usd_per_gpu_hour. One row a reservation."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

from data.catalogue import load_catalogue
from data.errors import UnreadableFileError
from data.money.cost_batch import CostFormat, read_costs
from data.parse.csvio import CsvLayout, read_layout
from data.parse.decimals import PlainCells
from data.parse.task_rows import folded
from data.parse.values import parse_number
from data.readers.base import Batch, Choices, Progress, Proposal, Sniff, Source, no_progress
from data.readers.template_rows import Row

NAMES: dict[str, tuple[str, ...]] = {
    "pool": ("pool", "pool_name", "cluster", "reservation"),
    "gpu_model": ("gpu_model", "gpu", "gpu_type", "sku", "accelerator"),
    "gpus": ("gpus", "gpu_count", "n_gpus", "num_gpus", "quantity"),
    "start": ("start", "start_time", "started_at", "from"),
    "end": ("end", "end_time", "ended_at", "to", "until"),
    "rate": ("usd_per_gpu_hour", "usd_per_gpu_h", "price_per_gpu_hour", "rate_usd_per_gpu_hour"),
}  # fmt: skip
_COSTS = {"pool": "resource_name", "gpu_model": "instance_type", "start": "charge_start", "end": "charge_end"}


Span = tuple[datetime, datetime, float]
"""Start, end (exclusive) and GPUs of one row."""


class RateCardReader:
    """What a provider charges for GPUs by the hour, as a bill: GPUs x hours x rate, accrued by day."""

    format = "rate_card_csv"
    title = "GPU rate card (CSV)"

    def sniff(self, source: Source) -> Sniff:
        """Judge by the header: GPUs, a start, and a price for an hour of one GPU."""
        try:
            found = _fields(read_layout(source, unique=False))
        except UnreadableFileError:
            return Sniff(0.0, "no header line")
        if not {"rate", "gpus"} <= found.keys():
            return Sniff(0.0, "no column usd_per_gpu_hour beside a number of GPUs")
        return Sniff(0.6 + 0.06 * len(found), f"{len(found)} columns of a rate card")

    def read(
        self, source: Source, choices: Choices, scratch: Path, progress: Progress = no_progress
    ) -> Batch:
        """Read all rows. A row without an end or a rate has no amount yet and says so.

        With `choices.run`, GPUs and platform are proposed for that run. Raises UnreadableFileError when a
        column is named twice or no row is there.
        """
        del scratch
        layout = read_layout(source)
        fields = _fields(layout)
        bill = _Bill(layout, fields, PlainCells(source, layout))
        mapped = {i: _COSTS[name] for name, i in fields.items() if name in _COSTS}
        texts = tuple(i for name, i in fields.items() if name not in _COSTS)
        split_by = tuple(i for name, i in fields.items() if name in ("pool", "gpu_model"))
        form = CostFormat(self.format, mapped, split_by, texts, bill.complete)
        batch = read_costs(form, source, layout, choices, progress)
        batch.mapped |= {layout.header[i]: "costs.billed_cost" for i in texts}
        batch.unmapped = [name for name in batch.unmapped if name not in batch.mapped]
        _facts(batch, bill)
        if choices.run:
            batch.proposals += _proposals(choices.run, bill)
        return batch


def _fields(layout: CsvLayout) -> dict[str, int]:
    names = [folded(name) for name in layout.header]
    return {
        meaning: names.index(hit)
        for meaning, usual in NAMES.items()
        if (hit := next((name for name in usual if name in names), None)) is not None
    }


@dataclass
class _Bill:
    """Turns rows into amounts and remembers the GPUs by pool and model."""

    layout: CsvLayout
    fields: Mapping[str, int]
    plain: PlainCells
    unpriced: int = 0
    gpu_hours: list[float] = field(default_factory=list)
    held: dict[str, list[Span]] = field(default_factory=dict)
    models: Counter[str] = field(default_factory=Counter)

    def complete(self, row: Row, texts: Mapping[str, str]) -> list[Row]:
        """GPUs x hours x rate of one row."""
        gpus, rate = self._number(texts, "gpus"), self._number(texts, "rate")
        start, end = row.get("charge_start"), row.get("charge_end")
        row |= {"currency": "USD", "bucket": "gpu", "unit": "GPU-h", "category": "Usage"}
        if gpus is not None:
            pool = str(row.get("resource_name") or "all")
            first = start if isinstance(start, datetime) else datetime.min
            last = end if isinstance(end, datetime) else datetime.max
            self.held.setdefault(pool, []).append((first, last, gpus))
        if row.get("instance_type"):
            self.models[str(row["instance_type"])] += 1
        if gpus is None or not isinstance(start, datetime) or not isinstance(end, datetime) or end <= start:
            self.unpriced += 1
            return [row]
        hours = gpus * ((end - start) / timedelta(hours=1))
        row["quantity"] = hours
        self.gpu_hours.append(hours)
        if rate is None:
            self.unpriced += 1
            return [row]
        row["billed_cost"] = row["effective_cost"] = hours * rate
        row["description"] = f"{gpus:g} GPUs at {rate:g} USD per GPU-hour"
        return [row]

    def _number(self, texts: Mapping[str, str], name: str) -> float | None:
        if name not in self.fields:
            return None
        place = self.fields[name]
        text = texts.get(self.layout.header[place], "").replace("$", "").strip()
        number = parse_number(self.plain.cell(place, text)).number
        return number if number is not None and number >= 0 else None


def most_at_once(spans: Sequence[Span]) -> float:
    """GPUs of the largest sum of spans [start, end) that hold at one time: a renewal is not a second pool."""
    edges = [(start, 1, gpus) for start, _, gpus in spans] + [(end, 0, -gpus) for _, end, gpus in spans]
    now = most = 0.0
    for _, _, change in sorted(edges):
        now += change
        most = max(most, now)
    return most


def _facts(batch: Batch, bill: _Bill) -> None:
    batch.facts["gpu_hours"] = math.fsum(bill.gpu_hours) if bill.gpu_hours else None
    batch.facts["gpu_model"] = ";".join(bill.models) or None
    batch.facts["gpus"] = most_at_once([span for spans in bill.held.values() for span in spans]) or None
    if bill.unpriced:
        batch.warnings.append(
            f"{bill.unpriced} rows have no amount: GPUs, start, end and usd_per_gpu_hour are all needed."
        )
    batch.warnings.append(
        "A rate card is what should be billed. Its rows are kept as GPU costs for comparison; what runs cost "
        "comes from the price of their pools: set that price there."
    )


def _proposals(run: str, bill: _Bill) -> list[Proposal]:
    found = []
    for pool, spans in bill.held.items():
        role = next((role for role in ("train", "rollout") if role in pool.casefold()), None)
        gpus = most_at_once(spans)
        if role and len(bill.held) > 1:
            how = f"the rate card has {gpus:g} GPUs in pool {pool}"
            found.append(Proposal(run, f"gpus_{role}", gpus, how))
    total = most_at_once([span for spans in bill.held.values() for span in spans])
    if total:
        found.append(Proposal(run, "gpus", total, f"the rate card has {total:g} GPUs at one time"))
    if len(bill.models) == 1:
        model, catalogue = next(iter(bill.models)), load_catalogue()
        platform = catalogue.platform(model) or catalogue.platform_of_gpu(model)
        if platform is not None:
            found.append(Proposal(run, "platform", platform.platform_id, f"the rate card says {model}"))
    return found


READERS = (RateCardReader(),)
