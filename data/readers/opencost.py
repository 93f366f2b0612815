"""OpenCost's daily CSV export: what pods of a Kubernetes cluster cost by allocation."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

from data.errors import UnreadableFileError
from data.money.cost_batch import CostFormat, read_costs, total
from data.parse.csvio import read_layout
from data.parse.decimals import PlainCells
from data.parse.values import parse_number
from data.readers.base import Batch, Choices, Progress, Sniff, Source, no_progress
from data.readers.focus import match
from data.readers.template_rows import Row

COLUMNS = {
    "date": "charge_start", "namespace": "account", "controllername": "service", "pod": "resource_id",
    "container": "resource_name", "totalcost": "effective_cost",
}  # fmt: skip
PARTS = {"GPUCost": ("gpu", "GPUs"), "PVCost": ("storage", "volumes")}
"""Parts of the total that have a bucket of their own; the rest is CPU, memory and network."""
_TELLING = frozenset(
    {"namespace", "controllerkind", "controllername", "cpucost", "ramcost", "totalcost", "gpucost"}
)
_SPLIT_BY = frozenset({"date", "namespace", "controllerkind", "controllername"})
IDLE = "__idle__"


class OpenCostReader:
    """One row a container and day. The amounts are allocation, not use and not an invoice."""

    format = "opencost_csv"
    title = "OpenCost export (CSV)"

    def sniff(self, source: Source) -> Sniff:
        """Judge by the header."""
        try:
            layout = read_layout(source, unique=False)
        except UnreadableFileError:
            return Sniff(0.0, "no header line")
        found = _TELLING & {name.casefold() for name in layout.header}
        if not {"totalcost", "namespace"} <= found:
            return Sniff(0.0, "no columns Namespace and TotalCost")
        return Sniff(0.4 + 0.08 * len(found), f"{len(found)} columns of OpenCost's export")

    def read(
        self, source: Source, choices: Choices, scratch: Path, progress: Progress = no_progress
    ) -> Batch:
        """Read all rows; days are UTC. Raises UnreadableFileError for a column named twice or no row."""
        del scratch
        layout = read_layout(source)
        names = {name.casefold(): i for i, name in enumerate(layout.header)}
        form = CostFormat(
            self.format,
            match(layout.header, COLUMNS, choices.columns),
            tuple(i for name, i in names.items() if name in _SPLIT_BY),
            tuple(names[part.casefold()] for part in PARTS if part.casefold() in names),
            partial(_complete, PlainCells(source, layout), layout.header),
        )
        batch = read_costs(form, source, layout, choices, progress)
        batch.mapped |= {part: "costs.effective_cost" for part in PARTS if part in batch.unmapped}
        batch.unmapped = [name for name in batch.unmapped if name not in PARTS]
        costs = batch.tables["costs"]
        idle = total(costs[costs["account"] == IDLE], "effective_cost") if "account" in costs else None
        if idle:
            batch.warnings.append(f"{idle:,.2f} is idle capacity ({IDLE}): paid for and held by no pod.")
        batch.warnings.append(
            "OpenCost prices what pods asked for by its own rates: it is no invoice, and no measure of use."
        )
        return batch


def _complete(plain: PlainCells, header: Sequence[str], row: Row, texts: Mapping[str, str]) -> list[Row]:
    start, whole = row.get("charge_start"), row.get("effective_cost")
    if isinstance(start, datetime):
        row["charge_end"] = start + timedelta(days=1)
    row["provider"] = "OpenCost"
    row["category"] = "Idle" if row.get("account") == IDLE else "Usage"
    if not isinstance(whole, float):
        return [row]
    out, left = [], whole
    for name, text in texts.items():
        cost = parse_number(plain.cell(header.index(name), text)).number
        if cost:
            bucket, words = next(part for key, part in PARTS.items() if key.casefold() == name.casefold())
            out.append({**row, "effective_cost": cost, "bucket": bucket, "description": words})
            left -= cost
    if left or not out:
        words = "CPU, memory and network"
        out.append({**row, "effective_cost": left, "bucket": "other", "description": words})
    return out


READERS = (OpenCostReader(),)
