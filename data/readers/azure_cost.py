"""Azure cost and usage exports: many header sets, localised names, amounts in the billing currency."""

import json
import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from itertools import islice
from pathlib import Path

import pandas as pd

from data.errors import UnreadableFileError
from data.money.cost_batch import CostFormat, read_costs
from data.money.cost_words import instance_type_in
from data.parse.csvio import CsvLayout, CsvRows, read_layout
from data.readers.base import Batch, Choices, Progress, Sniff, Source, no_progress
from data.readers.focus import match
from data.readers.template_rows import Row

COLUMNS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("charge_start", ("usagedatetime", "date", "usagedate")),
    ("billed_cost", ("costinbillingcurrency", "pretaxcost", "cost", "extendedcost")),
    ("list_cost", ("paygcostinbillingcurrency",)),
    ("currency", ("billingcurrency", "billingcurrencycode", "currency", "currencycode")),
    ("service", ("metercategory",)),
    ("sku", ("meterid",)),
    ("description", ("metername", "productname", "product")),
    ("resource_id", ("instanceid", "resourceid", "instancename")),
    ("resource_name", ("resourcename",)),
    ("category", ("chargetype",)),
    ("quantity", ("usagequantity", "consumedquantity", "quantity")),
    ("unit", ("unitofmeasure",)),
    ("region", ("resourcelocation", "location", "meterregion")),
    ("account", ("subscriptionid", "subscriptionguid")),
    ("commitment_id", ("reservationid", "benefitid")),
    ("tags", ("tags",)),
    ("billing_start", ("billingperiodstartdate", "billingperiodstart")),
    ("invoice", ("invoiceid",)),
)
"""Column of `costs` <- names of Azure, folded; the first that a file has wins."""
COSTS = frozenset(COLUMNS[1][1])
_SURE = frozenset({"costinbillingcurrency", "pretaxcost", "paygcostinbillingcurrency"})
_SPLIT_BY = frozenset(
    {"usagedatetime", "date", "usagedate", "metercategory", "metersubcategory", "chargetype",
     "consumedservice", "billingcurrency", "billingcurrencycode", "currency", "resourcelocation",
     "subscriptionname"}
)  # fmt: skip
_KNOWN = frozenset(name for _, names in COLUMNS for name in names) | {
    "metersubcategory", "additionalinfo", "consumedservice", "offerid", "serviceinfo1", "serviceinfo2",
    "resourcegroup", "subscriptionname", "billingaccountid", "effectiveprice", "resourcerate", "costcenter",
    "servicename", "servicetier",
}  # fmt: skip
_SLASHED = re.compile(r"^(\d{1,2})/(\d{1,2})/(\d{2}|\d{4})$")
_UNUSED = frozenset({"unusedreservation", "unusedsavingsplan"})
_LEARN_ROWS = 2_000


def folded(header: str) -> str:
    """`Kategorie der Verbrauchseinheit (MeterCategory)` -> `metercategory`; blanks and underscores go."""
    inner = re.search(r"\(([A-Za-z][\w ]*)\)\s*$", header)
    return re.sub(r"[\s_]", "", inner[1] if inner else header).casefold()


class AzureCostReader:
    """Cost details of Azure: one row a resource, meter and day."""

    format = "azure_cost_export"
    title = "Azure cost export (CSV)"

    def sniff(self, source: Source) -> Sniff:
        """Judge by the header: a cost column of Azure's and other columns that its exports have."""
        try:
            layout = read_layout(source, unique=False)
        except UnreadableFileError:
            return Sniff(0.0, "no header line")
        names = {folded(name) for name in layout.header}
        if "chargeperiodstart" in names or not names & COSTS or not names & set(COLUMNS[0][1]):
            return Sniff(0.0, "no cost and day column of an Azure export")
        share = len(names & _KNOWN) / max(layout.columns, 1)
        typical = len(names & {"metercategory", "meterid", "subscriptionid", "subscriptionguid", "offerid"})
        why = f"{len(names & _KNOWN)} of {layout.columns} columns are those of Azure exports"
        if typical < 2:
            return Sniff(0.3 * share, why)
        return Sniff(0.97 if names & _SURE else 0.6 + 0.3 * share, why)

    def read(
        self, source: Source, choices: Choices, scratch: Path, progress: Progress = no_progress
    ) -> Batch:
        """Read all rows; days are UTC. Dates as 02/01/2021 are month first unless the file proves otherwise.

        Raises UnreadableFileError when a column is named twice or no row is there.
        """
        del scratch
        layout = read_layout(source)
        names = [folded(name) for name in layout.header]
        mapped = _match(layout, names, choices.columns)
        dates = [i for i, name in enumerate(names) if name.endswith("date") or name == "usagedatetime"]
        order = _date_order(source, layout, dates)
        form = CostFormat(
            self.format,
            mapped,
            tuple(i for i, name in enumerate(names) if name in _SPLIT_BY),
            tuple(i for i, name in enumerate(names) if name == "additionalinfo"),
            _complete,
            clean=lambda i, text: _iso(text, order == "day") if i in dates else text,
        )
        batch = read_costs(form, source, layout, choices, progress)
        _amortised(batch)
        if order == "unclear":
            batch.warnings.append(
                "Days are written as 02/01/2021 and no row proves the order: they were read month first."
            )
        return batch


def _amortised(batch: Batch) -> None:
    """An export of which unused commitments, or hours that a commitment covers, cost something is the
    amortised one: no invoice asks for its amounts.
    """
    costs = batch.tables["costs"]
    if "billed_cost" not in costs:
        return
    why = "holds unused commitments" if _has_unused(costs) else "prices hours that a commitment covers"
    if not (_has_unused(costs) or _prices_covered(costs)):
        return
    batch.tables["costs"] = costs.assign(effective_cost=costs["billed_cost"], billed_cost=float("nan"))
    batch.mapped |= {n: "costs.effective_cost" for n, to in batch.mapped.items() if to == "costs.billed_cost"}
    batch.warnings.append(
        f"The export {why}, so it is the amortised one: its amounts are kept as effective "
        "cost, and the total of the invoice is not in it."
    )


def _has_unused(costs: pd.DataFrame) -> bool:
    return "commitment_status" in costs and bool((costs["commitment_status"] == "Unused").any())


def _prices_covered(costs: pd.DataFrame) -> bool:
    """Whether usage under a reservation or savings plan costs something: 0 in an export of actual costs."""
    if "commitment_id" not in costs or "category" not in costs:
        return False
    usage = costs["category"].astype(str).str.casefold() == "usage"
    return bool((costs["commitment_id"].notna() & usage & (costs["billed_cost"].fillna(0) != 0)).any())


def _match(layout: CsvLayout, names: list[str], chosen: Mapping[str, str]) -> dict[int, str]:
    found = match(layout.header, {}, chosen)
    for column, wanted in COLUMNS:
        if column in found.values():
            continue
        place = next((names.index(name) for name in wanted if name in names), None)
        if place is not None and place not in found:
            found[place] = column
    return found


def _date_order(source: Source, layout: CsvLayout, dates: list[int]) -> str:
    """`month`, `day`, `unclear` (slashed dates that fit both), or `none`."""
    seen = "none"
    for row in islice(CsvRows(source, layout), _LEARN_ROWS):
        for i in dates:
            match = _SLASHED.match(row.cells[i].strip()) if i < len(row.cells) else None
            if match is None:
                continue
            if int(match[1]) > 12:
                return "day"
            if int(match[2]) > 12:
                return "month"
            seen = "unclear"
    return seen


def _iso(text: str, day_first: bool) -> str:
    match = _SLASHED.match(text.strip())
    if match is None:
        return text
    month, day = (match[2], match[1]) if day_first else (match[1], match[2])
    year = match[3] if len(match[3]) == 4 else f"20{match[3]}"
    return f"{year}-{int(month):02}-{int(day):02}"


def _complete(row: Row, texts: Mapping[str, str]) -> list[Row]:
    row["provider"] = "Microsoft"
    start = row.get("charge_start")
    if isinstance(start, datetime):
        row["charge_end"] = start + timedelta(days=1)
    row["instance_type"] = _instance_type(next(iter(texts.values()), "")) or instance_type_in(
        row.get("description")
    )
    if str(row.get("category") or "").casefold().replace(" ", "") in _UNUSED:
        row["commitment_status"] = "Unused"
    return [row]


def _instance_type(text: str) -> str | None:
    """`ServiceType` in AdditionalInfo, also where the JSON around it is broken."""
    try:
        found = json.loads(text) if text else {}
        named = found.get("ServiceType") if isinstance(found, dict) else None
    except ValueError:
        match = re.search(r'"ServiceType"\s*:\s*"([^"]+)"', text)
        named = match[1] if match else None
    return str(named) if named else None


READERS = (AzureCostReader(),)
