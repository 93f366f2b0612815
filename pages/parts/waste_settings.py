"""When a GPU counts as idle or stalled: thresholds as settings, on every page that shows waste."""

import pandas as pd
import streamlit as st

from analysis.waste import MEANINGS, WasteParams
from pages.parts.percent import address_name, refuse_fractions

SPELL = (
    "run",
    "job",
    "attempt",
    "pool",
    "start",
    "length_min",
    "gpus",
    "hosts",
    "gpu_hours",
    "usd",
    "evidence",
)
"""Columns of a stall or an idle spell, on every page that lists them."""
LABELS = {
    "idle_sm_frac": "Idle below this SM activity (%)",
    "idle_min": "Idle for at least (min)",
    "stall_util_frac": "Stalled: GPU-Util from (%)",
    "stall_tensor_frac": "with tensor activity below (%)",
    "stall_dram_frac": "and memory activity below (%)",
    "stall_power_frac": "or power below this share of its limit (%)",
    "stall_min": "Stalled for at least (min)",
    "frozen_steps": "Step counter frozen after (median steps)",
    "frozen_min": "but not before (min)",
}


def settings(prefix: str) -> dict[str, float]:
    """Draw the thresholds behind a button; return the ones that differ from their defaults.

    `prefix` sets the page's fields apart in the address. Ratios are typed in percent.
    """
    changed: dict[str, float] = {}
    refuse_fractions(f"{prefix}_")
    with st.popover(
        "Idle and stalled",
        icon=":material/tune:",
        help="When a GPU counts as idle or stalled. The defaults are rules of thumb: move them and see.",
    ):
        for name, label in LABELS.items():
            ratio = name.endswith("_frac")
            scale, least = (100.0 if ratio else 1.0), (1.0 if name == "frozen_steps" else 0.0)
            standard = float(WasteParams.model_fields[name].default)
            typed = st.number_input(
                label,
                min_value=least,
                max_value=100.0 if ratio else 1000.0,
                value=round(scale * standard, 6),
                step=1.0,
                key=f"{prefix}_{address_name(name)}",
                bind="query-params",
                help=MEANINGS[name],
            )
            value = round(typed / scale, 9)
            if value != standard:
                changed[name] = value
    return changed


def in_units(thresholds: pd.DataFrame) -> pd.DataFrame:
    """Return the table of rules by name, values in the unit that the name says: ratios in percent."""
    out = thresholds.copy()
    ratio = out["unit"] == "ratio"
    for column in ("value", "default"):
        out[column] = [f"{100 * v if r else v:g}" for v, r in zip(out[column], ratio, strict=True)]
    out["unit"] = out["unit"].where(~ratio, "%")
    return out.assign(threshold=[LABELS.get(name, name) for name in out["threshold"]])
