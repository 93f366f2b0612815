"""Lines of the ledger: GPUs, judges, sandbox cores, tokens of services, and what was booked besides."""

from collections.abc import Iterable

import pandas as pd

from analysis.frames import NAN, Row, add_up, table, text

SPEND_LINES = ["run", "campaign", "line", "boundary", "quantity", "unit", "usd"]
BOOKED = ("evals", "storage", "data", "staff")
UNITS = {"gpus": "GPU-hours", "judge": "GPU-hours", "sandbox": "vCPU-hours"}


def spend_lines(rows: Iterable[Row], booked: Iterable[Row], bills: Iterable[Row]) -> pd.DataFrame:
    """Rows SPEND_LINES by run; `run` is empty for what is booked to a campaign alone.

    `boundary` names the narrowest one that counts a line: campaign for pools and tokens, full for booked
    costs, net for credits, which no boundary counts. The lines of boundary campaign add up to usd_campaign of
    the run, with those of full to usd_full, with all to usd_net.
    """
    parts = [_pool(row) for row in rows]
    parts += [_part(bill, "", "tokens", "campaign", NAN, bill["usd"]) for bill in bills]
    for row in booked:
        name = row["bucket"] if row["bucket"] in BOOKED else "other"
        name, counts = ("credits", "net") if row["credit"] else (name, "full")
        parts.append(_part(row, text(row["campaign"]) or "", name, counts, NAN, row["amount"]))
    sums = add_up(
        parts, lambda part: (part["run"], part["campaign"], part["line"], part["boundary"]), NUMBERS
    )
    out = [
        {**dict(zip(KEYS, key, strict=True)), **got, "unit": UNITS.get(key[2], "")}
        for key, got in sorted(sums.items())
    ]
    return table(out, SPEND_LINES, NUMBERS)


KEYS = ("run", "campaign", "line", "boundary")
NUMBERS = ["quantity", "usd"]


def _pool(row: Row) -> Row:
    """A GPU pool by its role, or the cores of a sandbox."""
    name = "sandbox" if row["sandbox"] else "judge" if row["role"] == "judge" else "gpus"
    size = row["core_hours"] if name == "sandbox" else row["gpu_hours"]
    return _part(row, "", name, "campaign", size, row["usd"])


def _part(row: Row, campaign: str, line: str, boundary: str, quantity: float, usd: float) -> Row:
    run = text(row["run"]) or ""
    kept = campaign if not run else ""
    return {
        "run": run, "campaign": kept, "line": line, "boundary": boundary, "quantity": quantity, "usd": usd
    }  # fmt: skip
