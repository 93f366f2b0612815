"""Environments and sandboxes beside the rollouts: calls, waits, cold starts, work, core-hours."""

import pandas as pd

from analysis.common import figure
from analysis.frames import known, number, records
from analysis.result import Figure
from analysis.words import count, digits3, listing, percent, plural
from models.stats import wilson

COLUMNS = [
    "env", "calls", "ok_frac", "ok_frac_low", "ok_frac_high", "queued_p50_s", "queued_p95_s", "cold_p50_s",
    "cold_p95_s", "busy_p50_s", "busy_p95_s", "core_hours_busy", "calls_with_cores",
]  # fmt: skip
PARTS = {"queued": "waiting for a slot", "cold": "cold start", "busy": "work"}


def sandbox_table(raw: pd.DataFrame) -> pd.DataFrame:
    """COLUMNS, a row an environment; ok_frac with its 95 % Wilson interval, null when no call was judged."""
    out = raw.copy()
    found = [
        wilson(row["calls_ok"], row["calls_judged"]) if row["calls_judged"] else None for row in records(raw)
    ]
    for name, end in (("ok_frac", "value"), ("ok_frac_low", "low"), ("ok_frac_high", "high")):
        values = [getattr(f, end) if f else None for f in found]
        out[name] = pd.Series(values, index=out.index, dtype="float64")
    return out[COLUMNS]


def sandbox_figures(raw: pd.DataFrame) -> list[Figure]:
    """Share of calls that went well and core-hours busy; none when no file holds calls."""
    if raw.empty:
        return []
    judged, good = int(raw["calls_judged"].sum()), int(raw["calls_ok"].sum())
    share = wilson(good, judged) if judged else None
    counted, calls = int(raw["calls_with_cores"].sum()), int(raw["calls"].sum())
    return [
        figure(
            "sandbox_ok", share.value if share else None, low=share.low if share else None,
            high=share.high if share else None, interval="ci95", n=judged or None,
            missing="no file says which sandbox calls went well",
        ),
        figure(
            "sandbox_core_h", raw["core_hours_busy"].sum() if counted else None, n=counted or None,
            label="Sandbox core-hours busy" + (f" ({counted} of {calls} calls)" if counted < calls else ""),
            missing="no file says how many cores a sandbox call held",
        ),
    ]  # fmt: skip


def sandbox_words(raw: pd.DataFrame) -> str:
    """One sentence about the environment with most calls, '' when no file holds calls."""
    if raw.empty:
        return ""
    rows = sorted(records(raw), key=lambda row: (-row["calls"], row["env"]))
    top = rows[0]
    times = [
        f"{digits3(half)} s of {words} (p95 {digits3(number(top[f'{part}_p95_s']))} s)"
        for part, words in PARTS.items()
        if known(half := number(top[f"{part}_p50_s"]))
    ]
    text = f"{top['env']} was called {count(top['calls'])} {plural('time', top['calls'])}"
    if top["calls_judged"]:
        text += f", {percent(top['calls_ok'] / top['calls_judged'])} of them without failure"
    if times:
        text += f"; median {listing(times)}"
    others = len(rows) - 1
    return text + (f"; {others} more {plural('environment', others)} in the table." if others else ".")
