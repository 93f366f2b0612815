"""Lines of the ledger: GPUs, judges, sandbox cores, tokens of services, and what was booked besides."""

from collections.abc import Iterable
from decimal import Decimal

import pandas as pd

from analysis.frames import NAN, Row, add_up, table, text
from models.cents import cents, exact, to_cents, total

SPEND_LINES = ["run", "campaign", "line", "boundary", "quantity", "unit", "usd"]
BOOKED = ("evals", "storage", "data", "staff")
UNITS = {"gpus": "GPU-hours", "judge": "GPU-hours", "sandbox": "vCPU-hours"}
SHORT = {
    "gpus": "GPUs", "judge": "judge GPUs", "sandbox": "sandbox cores", "tokens": "tokens of services",
    "evals": "evaluations", "storage": "storage", "data": "data", "staff": "staff", "other": "other costs",
}  # fmt: skip


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


def tied(lines: pd.DataFrame) -> str:
    """How SPEND_LINES add up to the campaign and the full boundary, to the cent, as a sentence.

    '' without lines, and where the dollars of one are not known.
    """
    if lines.empty or lines["usd"].isna().any():
        return ""
    runs = [name for name in lines["run"].unique() if name]
    who = runs[0] if len(runs) == 1 else f"{len(runs)} runs together"
    said, reached, spent = f"{who}, at the chosen price and over all their time: ", Decimal(0), Decimal(0)
    for bound in ("campaign", "full"):
        parts = lines[lines["boundary"] == bound].groupby("line", sort=False)["usd"].apply(list)
        mine = {str(name): total([exact(usd) for usd in amounts]) for name, amounts in parts.items()}
        if not mine:
            continue
        spent = total([spent, *mine.values()])
        whole = cents(spent)
        shown = to_cents(list(mine.values()), whole - reached)
        terms = [f"{SHORT.get(n, n)} ${usd:,.2f}" for n, usd in zip(mine, shown, strict=True)]
        said += f"{' + ' if reached else ''}{' + '.join(terms)} = ${whole:,.2f} ({bound} boundary)"
        reached = whole
    return f"{said}. What was billed for it, and credits, stand under Money."
