"""FOCUS cost exports (1.0 to 1.4) as CSV: the FinOps columns of AWS, Azure, Google, Oracle and others."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from data.errors import UnreadableFileError
from data.money.cost_batch import CostFormat, read_costs
from data.money.cost_words import instance_type_in
from data.parse.csvio import read_layout
from data.parse.values import parse_number
from data.readers.base import Batch, Choices, Progress, Sniff, Source, no_progress
from data.readers.template_rows import Row
from data.tables import columns

COLUMNS = {
    "chargeperiodstart": "charge_start", "chargeperiodend": "charge_end", "providername": "provider",
    "serviceprovidername": "provider", "servicename": "service", "skuid": "sku", "resourceid": "resource_id",
    "chargecategory": "category", "billedcost": "billed_cost", "effectivecost": "effective_cost",
    "listcost": "list_cost", "contractedcost": "contracted_cost", "billingcurrency": "currency",
    "chargeclass": "charge_class", "consumedquantity": "quantity", "consumedunit": "unit",
    "chargedescription": "description", "resourcename": "resource_name", "regionid": "region",
    "subaccountid": "account", "commitmentdiscountid": "commitment_id",
    "commitmentdiscountstatus": "commitment_status", "capacityreservationstatus": "reservation_status",
    "tags": "tags", "billedcurrency": "currency", "billingperiodstart": "billing_start",
    "billingperiodend": "billing_end", "invoiceid": "invoice", "capacityreservationid": "reservation_id",
    "commitmentdiscountquantity": "commitment_quantity", "commitmentdiscountunit": "commitment_unit",
}  # fmt: skip
"""Column of FOCUS in lower case -> column of `costs`. The first that a file has wins."""
SPLIT_BY = frozenset(
    {"providername", "serviceprovidername", "chargecategory", "chargeclass", "servicecategory",
     "servicename", "commitmentdiscountstatus", "capacityreservationstatus", "billingcurrency",
     "regionid", "subaccountid", "subaccountname"}
)  # fmt: skip
_TELLING = ("billedcost", "effectivecost", "chargecategory", "chargeperiodstart", "chargeperiodend")
_DETAILS = frozenset({"skupricedetails", "skumeter", "x_skudetails", "servicecategory"})


class FocusReader:
    """Cost rows by the FinOps specification. Its stamps are UTC, whether they say so or not."""

    format = "focus_csv"
    title = "FOCUS cost export (CSV)"

    def sniff(self, source: Source) -> Sniff:
        """Judge by the header: the columns that every FOCUS export must have."""
        try:
            layout = read_layout(source, unique=False)
        except UnreadableFileError:
            return Sniff(0.0, "no header line")
        names = {name.casefold() for name in layout.header}
        found = [name for name in _TELLING if name in names]
        if "billedcost" not in found or len(found) < 3:
            return Sniff(0.0, "no columns BilledCost, ChargePeriodStart and ChargeCategory")
        return Sniff(0.5 + 0.098 * len(found), f"{len(found)} columns that FOCUS prescribes")

    def read(
        self, source: Source, choices: Choices, scratch: Path, progress: Progress = no_progress
    ) -> Batch:
        """Read all rows. Raises UnreadableFileError when a column is named twice or no row is there."""
        del scratch
        layout = read_layout(source)
        folded = [name.casefold() for name in layout.header]
        form = CostFormat(
            self.format,
            match(layout.header, COLUMNS, choices.columns),
            tuple(i for i, name in enumerate(folded) if name in SPLIT_BY),
            tuple(i for i, name in enumerate(folded) if name in _DETAILS),
            _complete,
            zone="UTC",
        )
        return read_costs(form, source, layout, choices, progress)


def match(header: Sequence[str], known: Mapping[str, str], chosen: Mapping[str, str]) -> dict[int, str]:
    """Column of `costs` by header index: what a person chose, then `known` by lower-case name."""
    found: dict[int, str] = {}
    valid = set(columns("costs")) - {"upload_id"}
    for pick in (chosen.get, lambda text: known.get(text.casefold())):
        for i, text in enumerate(header):
            name = pick(text) if text else None
            if name in valid and i not in found and name not in found.values():
                found[i] = str(name)
    return found


def _complete(row: Row, texts: Mapping[str, str]) -> list[Row]:
    details = {name.casefold(): text for name, text in texts.items()}
    priced = _details(details.get("skupricedetails") or details.get("x_skudetails") or "")
    named = priced.get("InstanceType") or instance_type_in(
        row.get("description"), details.get("skumeter"), row.get("resource_name")
    )
    row["instance_type"] = str(named) if named else None
    gpus = parse_number(str(priced.get("GpuCount") or "")).number
    row["gpus"] = gpus if gpus is not None and gpus > 0 else None
    if row.get("bucket") is None and details.get("servicecategory", "").casefold() == "storage":
        row["bucket"] = "storage"
    return [row]


def _details(text: str) -> dict[str, object]:
    try:
        found = json.loads(text) if text.startswith("{") else {}
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


READERS = (FocusReader(),)
