"""Names of tables, columns, codes and settings as a reader of a shared report needs them."""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from charts.columns import column_label, has_value_labels, value_label
from reports.precision import is_dollars

TABLES = {
    "by_how": "Charges by how they were matched",
    "by_run": "Dollars by who bears them",
    "by_day": "Charges by UTC day",
    "by_service": "Charges by service",
    "by_use": "Cost by share of the hours used",
    "scenarios.figures": "Figures side by side",
    "scenarios.inputs": "Inputs side by side: given, or different",
    "scenarios.scenarios": "Answer of each scenario",
    "scenarios.values": "Numbers of each scenario",
    "parts": "The bill in parts",
    "idle": "Idle GPUs",
    "month.idle": "From held by nobody to not allocated",
    "lost": "Attempts whose dollars bought nothing",
    "lost_by": "What was lost, by cause and kind",
    "lost_bridge": "From what attempts cost to what was lost",
    "unallocated": "Borne by no campaign",
    "behind": "Runs and attempts behind it",
    "on_rungs": "Runs on each level",
    "bearers": "Lines of the bill and who bears them",
    "lines": "Lines",
    "reconciliation.lines": "Lines of the bill",
    "unmatched": "Lines matched to no run or job",
    "totals": "From the invoice to the effective cost",
    "rollouts.totals": "Rollouts by run",
    "open": "Lines not explained",
    "foreign": "Charges in another currency",
    "other_side": "Held by runs and jobs, and paid by no line",
    "identity": "Paid GPU time in parts",
    "ladder": "From paid to effective",
    "waterfall": "Where the dollars went",
    "thresholds": "When a GPU counts as idle or stalled",
    "stalls": "Stalls",
    "machines": "Machines",
    "track": "Activity over time",
    "top": "Largest losses",
    "teams": "Teams",
    "weeks": "Dollars by week",
    "sharing": "Rules of sharing",
    "ledger": "Runs",
    "side_by_side": "Beside hosted services",
    "breakeven": "Break-even",
    "npv": "Present value",
    "tornado": "What moves the result most",
    "lives": "By economic life",
    "whole_step": "Whole-step claims",
}
"""Table, or question and table -> title; any other is its own name in words."""
COLUMNS = {
    "label": "What",
    "who": "Run or job",
    "how": "Matched by",
    "why": "Why",
    "runs": "Runs",
    "job": "Scheduler job",
    "lines": "Lines of the bill",
    "from_day": "First day",
    "to_day": "Last day",
    "effective_usd": "Effective cost (USD)",
    "billed_usd": "Billed (USD)",
    "matched_usd": "Matched (USD)",
    "unmatched_usd": "Not matched (USD)",
    "usd_full": "Full boundary, before credits (USD)",
    "usd_net": "After credits (USD)",
    "usd_credits": "Credits (USD)",
    "usd_campaign": "Campaign boundary (USD)",
    "usd_compute": "Compute boundary (USD)",
    "usd_gpus": "GPUs (USD)",
    "usd_judge": "Judge GPUs (USD)",
    "usd_sandbox": "Sandbox cores (USD)",
    "usd_evals": "Evaluations (USD)",
    "usd_storage": "Storage (USD)",
    "usd_data": "Data (USD)",
    "usd_staff": "Staff (USD)",
    "usd_unused": "Unused commitments and reservations (USD)",
    "usd_other": "Other and tax (USD)",
    "usd_shared_in": "Of it by sharing rules (USD)",
    "usd_failed": "Failed attempts (USD)",
    "usd_cancelled": "Cancelled (USD)",
    "usd_restarted": "Restarted (USD)",
    "usd_most": "At most (USD)",
    "usd_lost": "Bought nothing (USD)",
    "lost_usd": "Lost work (USD)",
    "wall_h": "Clock (h)",
    "per_10k": "Points per $10k",
    "per_10k_low": "Points per $10k, low",
    "per_10k_high": "Points per $10k, high",
    "usd": "Dollars (USD)",
}
FIRST = (
    "scenarios", "figures", "inputs", "parts", "totals", "by_how", "campaigns", "lines", "waterfall",
    "ladder", "ledger", "gains", "platforms", "options", "break_even", "buckets", "candidates",
    "served", "targets", "units",
)  # fmt: skip
"""Tables that answer: they come first and stand open when they are small."""
SETTINGS = {
    "x": "Horizontal axis",
    "a": "First run",
    "b": "Second run",
    "idle_sm_frac": "Idle below this SM activity (%)",
    "idle_min": "Idle for at least (min)",
    "stall_util_frac": "Stalled: GPU-Util from (%)",
    "stall_tensor_frac": "Stalled: tensor activity below (%)",
    "stall_dram_frac": "Stalled: memory activity below (%)",
    "stall_power_frac": "Stalled: power below this share of its limit (%)",
    "stall_min": "Stalled for at least (min)",
    "frozen_steps": "Step counter frozen after (median steps)",
    "frozen_min": "Step counter frozen, but not before (min)",
    "wacc_frac": "Cost of capital (% a year)",
    "pue": "PUE",
    "grid_kg_per_kwh": "Grid intensity (kg CO2e per kWh)",
    "it_kw": "IT power a GPU (kW)",
    "utility_kw": "Power a GPU at the meter (kW)",
    "load_frac": "Mean power against rated power (%)",
    "spread": "Spread of the price",
    "example": "Bundled example",
    "seed": "Seed of the draws",
    "price": "Price",
    "boundary": "Cost boundary",
}
_CODES = {
    "part", "bar", "threshold", "key", "option", "against", "input", "unit", "metric", "bucket", "status",
    "group", "how", "quantity", "matched", "set", "part_of", "best_rule", "rule", "parameter", "method",
    "dimension", "state", "kind", "cause", "basis", "sync_mode", "verdict", "measure", "phase",
    "applies_to_phase", "tier", "field",
}  # fmt: skip
"""Columns whose values are names of ours; names of runs, hosts and teams are never touched."""
_TOLD_BY = {
    "part": ("label",), "option": ("label",), "against": ("label",), "input": ("label",), "field": ("label",),
    "measure": ("label",), "line": ("label",), "bucket": ("name",),
}  # fmt: skip
"""Columns of codes that another column of the table says in words."""


def _inside(text: str) -> str:
    """A sentence as it stands inside a cell; an abbreviation keeps its capitals."""
    return text if text[1:2].isupper() else text[:1].lower() + text[1:]


_VALUES: dict[str, str] = {
    "gpu_h": "GPU-hours",
    "vendor_spec": "vendor spec",
    "seed_article_only": "one article",
    "on_demand": "on demand",
    "contract_1y": "1-year contract",
    "reserved_1y": "1-year reservation",
    "reserved_3y": "3-year reservation",
    "own_tco": "cost of owning",
    "gpu": "GPU",
    "cpu": "CPU",
}


@cache
def _values() -> dict[str, str]:
    """Words of codes; those of questions are imported when a report is drawn, not when the command starts."""
    from analysis.idle_bridge import LABELS as IDLE
    from analysis.lost import KIND_WORDS as LOST
    from analysis.month import LABELS as MONTH

    idle = {k: v for k, v in IDLE.items() if k != "unknown"}
    asked = {k: _inside(v) for k, v in LOST.items()} | idle | {k: _inside(v) for k, v in MONTH.items()}
    return asked | _VALUES


_CODE = re.compile(r"[a-z0-9]+(?:_[a-z0-9]+)+")
_GPU = re.compile(r"\bgpu\b")


def table_title(question: str, name: str) -> str:
    """Return the title of a table of a question."""
    known = TABLES.get(f"{question}.{name}") or TABLES.get(name)
    return known or column_label(name)


def heading(column: str, *, percent: bool = False) -> str:
    """Return a column's heading with its unit."""
    text = COLUMNS.get(column) or column_label(column)
    return f"{text} (%)" if percent and "%" not in text else text


def setting(name: str) -> str:
    """Return the name of a parameter with its unit."""
    return SETTINGS.get(name) or heading(name, percent=name.endswith("_frac"))


def value_words(column: str, value: str) -> str:
    """Return a code in words; texts of other columns, and names among them, stay as they are."""
    if column not in _CODES or not value:
        return value
    if column == "how" and value == "none":
        return "not matched"
    if column == "threshold" and value in SETTINGS:
        return SETTINGS[value]
    if value in _values():
        return _values()[value]
    if has_value_labels(column):
        value = str(value_label(column, value))
    if not _CODE.fullmatch(value):
        return value
    if column in {"unit", "metric", "parameter"}:
        return column_label(value)
    return _GPU.sub("GPU", value.replace("_", " "))


def shown_columns(columns: Sequence[str], rows: Sequence[Mapping[str, Any]], most: int) -> list[str]:
    """Return the columns that say something.

    None is empty, no code that a column beside it has in words, no second writing of an amount; in a table of
    more than `most` columns, no kind of dollars of which every row has 0.
    """
    present = set(columns)
    idle: tuple[object, ...] = (None, "", []) if len(columns) <= most else (None, "", [], 0)
    return [
        c
        for c in columns
        if any(row.get(c) not in (idle if is_dollars(c) else (None, "", [])) for row in rows)
        and not present & set(_TOLD_BY.get(c, ()))
        and not c.endswith("_exact")
    ]
