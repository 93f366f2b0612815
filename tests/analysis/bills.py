"""Small bills and clusters for tests: FOCUS rows read by the reader, holders added to the tiny home."""

from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

from analysis.moneyparams import MoneyParams
from analysis.reconciliation import ReconciliationParams, compute
from analysis.result import Result
from analysis.shares import Share, Shares, load_shares
from data.money.cost_tags import tagged
from data.readers.base import Choices
from data.readers.focus import FocusReader
from tests.analysis.conftest import UPLOAD, Home
from tests.data.verl_files import spooled

DAY = datetime(2026, 3, 10)
COLUMNS = [
    "BilledCost", "EffectiveCost", "ListCost", "ContractedCost", "BillingCurrency", "BillingPeriodStart",
    "BillingPeriodEnd", "ChargePeriodStart", "ChargePeriodEnd", "ChargeCategory", "ChargeClass",
    "ProviderName", "ServiceName", "ServiceCategory", "ChargeDescription", "ConsumedQuantity",
    "ConsumedUnit", "ResourceId", "ResourceName", "SubAccountId", "CommitmentDiscountId",
    "CommitmentDiscountStatus", "CommitmentDiscountQuantity", "CommitmentDiscountUnit", "SkuPriceDetails",
    "Tags", "CapacityReservationId", "CapacityReservationStatus",
]  # fmt: skip


def stamp(at: datetime) -> str:
    return f"{at:%Y-%m-%dT%H:%M:%SZ}"


def charge(
    usd: float | str,
    start: datetime = DAY,
    hours: float = 24,
    *,
    gpu_h: float | None = None,
    node: str = "",
    month: str = "",
    **more: object,
) -> dict[str, str]:
    """One row of 8 H100 by the GPU-hour; `month` "YYYY-MM" is the billing period."""
    row = dict.fromkeys(COLUMNS, "") | {
        "BilledCost": str(usd), "EffectiveCost": str(usd), "BillingCurrency": "USD",
        "ChargePeriodStart": stamp(start), "ChargePeriodEnd": stamp(start + timedelta(hours=hours)),
        "ChargeCategory": "Usage", "ProviderName": "Atlas", "ServiceName": "Compute",
        "ChargeDescription": "H100 node", "ResourceId": node,
    }  # fmt: skip
    if gpu_h is not None:
        row |= {"ConsumedQuantity": str(gpu_h), "ConsumedUnit": "GPU-Hours"}
    if month:
        first = datetime.strptime(month, "%Y-%m")
        last = datetime(first.year + first.month // 12, first.month % 12 + 1, 1)
        row |= {"BillingPeriodStart": stamp(first), "BillingPeriodEnd": stamp(last)}
    return row | {name: str(value) for name, value in more.items()}


def text(rows: list[dict[str, str]], header: list[str] | None = None) -> str:
    """A CSV of the rows; cells with commas or quotes are quoted."""
    names = header or COLUMNS

    def cell(value: str) -> str:
        return '"' + value.replace('"', '""') + '"' if "," in value or '"' in value else value

    lines = [",".join(names), *(",".join(cell(row.get(name, "")) for name in names) for row in rows)]
    return "\n".join(lines) + "\n"


def load(
    home: Home, tmp_path: Path, rows: list[dict[str, str]], *, upload: str = "a" * 16, **choices: Any
) -> None:
    """Read the rows as one FOCUS file and add its cost rows to the home."""
    source = spooled(text(rows), tmp_path, f"{upload[:4]}.csv")
    batch = FocusReader().read(source, Choices(**choices), tmp_path)
    assert batch.stored == len(rows), batch.set_aside
    frame = tagged(batch.tables["costs"])
    frame = frame.astype(object).where(frame.notna(), None)
    home.add("costs", *({**row, "upload_id": upload} for row in frame.to_dict("records")))


def hold(home: Home, run: str, start: datetime, hours: float, gpus: float = 8, **more: Any) -> None:
    """A run with one attempt and one pool on H100s."""
    campaign = more.pop("campaign", None)
    hosts = more.pop("hosts", {})
    home.add("runs", {"run": run, "campaign": campaign, "synthetic": False})
    home.add(
        "attempts",
        {"run": run, "attempt": 1, "started_at": start, "ended_at": start + timedelta(hours=hours),
         "elapsed_s": hours * 3600, "elapsed_basis": "clock", "status": "completed"},
    )  # fmt: skip
    home.add(
        "allocations",
        {"run": run, "attempt": 1, "pool": "all", "role": "colocated", "platform": "h100-sxm", "gpus": gpus,
         "seconds": hours * 3600, "seconds_basis": "clock", "source": "user", **more},
    )  # fmt: skip
    for host, count in hosts.items():
        for n in range(count):
            home.add("gpus", {"gpu_id": f"{host}:{n}:{run}", "host": host, "gpu_index": n, "run": run})


LOADED = datetime(2026, 4, 2)


def loaded(home: Home, upload: str = UPLOAD, at: datetime = LOADED, **more: Any) -> None:
    """The row of an upload: rows that `job` adds come from `UPLOAD`."""
    counts = {"size_bytes": 1, "records": 1, "stored": 1, "quarantined": 0, "ignored": 0, "rows_written": 1}
    named = {"upload_id": upload, "sha256": upload, "name": "jobs.txt", "format": "sacct_parsable2"}
    home.add("uploads", {**named, **counts, "synthetic": False, "uploaded_at": at, **more})


def job(home: Home, number: str, start: datetime, hours: float, gpus: float = 8, **more: Any) -> None:
    home.add(
        "scheduler_jobs",
        {"job_id": number, "name": f"job-{number}", "started_at": start, "cluster": "c1",
         "ended_at": start + timedelta(hours=hours), "gpus": gpus, "nodes": 1.0, **more},
    )  # fmt: skip


def shares(home: Home, period: str = "") -> Shares:
    return load_shares(home.view(), MoneyParams(period=period))


def reconciled(home: Home, period: str = "") -> Result:
    return compute(home.view(), ReconciliationParams(period=period))


def by(found: Shares, *names: str) -> dict[Any, float]:
    """Dollars by these fields of the shares."""
    out: dict[Any, Decimal] = {}
    for share in found.shares:
        key = tuple(getattr(share, name) for name in names)
        key = key[0] if len(key) == 1 else key
        out[key] = out.get(key, Decimal(0)) + share.usd
    return {key: round(float(usd), 9) for key, usd in out.items()}


def gpu_h(found: list[Share]) -> float:
    return sum(share.gpu_s or 0.0 for share in found) / 3600
