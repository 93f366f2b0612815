"""The amounts that one run has on several pages, side by side: billed for its GPUs, and at list rent."""

import math
from collections.abc import Sequence
from decimal import Decimal

from analysis.frames import NAN, Row, number, records
from analysis.shares import BILL, Share, Shares
from analysis.spend import Spend
from models.cents import cents, total

NUMBERS = ["billed_usd", "billed_gpu_h", "rent_usd", "rent_gpu_h", "campaign_usd", "full_usd"]
AMOUNTS = ["run", *NUMBERS]


def amounts(shares: Shares, spend: Spend) -> list[Row]:
    """Rows AMOUNTS of the runs that bear GPU time of the period, dearest first. `billed_usd`: GPU lines of
    the bill of the period (none without a bill). The others are over all of the run's time at the chosen
    price: `rent_usd` its GPUs, `campaign_usd` with sandbox cores and tokens, `full_usd` with its booked costs
    and evaluations, before credits.
    """
    mine: dict[str, list[Share]] = {}
    for share in shares.shares:
        if share.run and share.kind == "gpu":
            mine.setdefault(share.run, []).append(share)
    heads = {row["run"]: row for row in records(spend.runs)}
    rows = [_row(run, found, heads[run], shares, spend) for run, found in mine.items() if run in heads]
    return sorted(rows, key=lambda row: (-number(row["billed_usd"] or 0.0), row["run"]))


def _row(run: str, found: Sequence[Share], head: Row, shares: Shares, spend: Spend) -> Row:
    held = [row for row in spend.rows if row["run"] == run]
    billed: Decimal | None = cents(total([s.usd for s in found])) if shares.basis == BILL else None
    return {
        "run": run, "billed_usd": None if billed is None else float(billed),
        "billed_gpu_h": NAN if billed is None else math.fsum(s.gpu_s or 0.0 for s in found) / 3600,
        "rent_usd": math.fsum(row["gpu_usd"] for row in held),
        "rent_gpu_h": math.fsum(row["gpu_hours"] for row in held),
        "campaign_usd": head["usd_campaign"], "full_usd": head["usd_full"],
    }  # fmt: skip
