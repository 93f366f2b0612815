"""Pairs of published runs that differ in the platform and in nothing else that is published."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from models.stats import geometric_mean

HELD_EQUAL = (
    "model",
    "framework",
    "framework_version",
    "algo",
    "policy_lag",
    "sync_mode",
    "train_precision",
    "gen_precision",
    "rollouts_per_step",
    "seq_len_max",
)
METRICS = {
    "step_time_s": "step time",
    "tokens_per_s_per_gpu": "tokens/s/GPU",
    "usd_per_step": "USD a step",
    "usd_per_mtok": "USD/M tokens",
}
COLUMNS = [
    "model",
    "framework",
    "framework_version",
    "algo",
    "mode",
    "precision",
    "platform_a",
    "platform_b",
    "matched",
]
COLUMNS += [
    "gpus_a",
    "gpus_b",
    "metric",
    "value_a",
    "value_b",
    "ratio_b_over_a",
    "row_a",
    "row_b",
    "measured_by",
]
BLEND = ["platform_a", "platform_b", "matched", "metric", "ratio", "low", "high", "pairs", "models"]


def pairs(reference: pd.DataFrame, order: Sequence[str]) -> pd.DataFrame:
    """Every like-for-like pair of rows of `reference`, older platform (earlier in `order`) first.

    gpu_matched: equal GPU counts; node_matched: 2 GPUs of the older to 1 of the newer (nodes of 8 and of 4).
    Empty equals empty. Columns as in `COLUMNS`, one row a metric that both rows publish.
    """
    rank = {p: i for i, p in enumerate(order)}
    keyed = reference.assign(**{c: reference[c].astype(object).fillna("") for c in HELD_EQUAL})
    out = []
    for _, group in keyed.groupby(list(HELD_EQUAL), sort=False):
        rows = sorted(group.to_dict("records"), key=lambda r: rank[str(r["platform_id"])])
        for i, a in enumerate(rows):
            for b in rows[i + 1 :]:
                matched = _matched(a["n_gpus"], b["n_gpus"])
                if a["platform_id"] != b["platform_id"] and matched:
                    out += [_row(a, b, matched, m) for m in METRICS if _both(a[m], b[m])]
    frame = pd.DataFrame(out, columns=COLUMNS)
    number = ["gpus_a", "gpus_b", "value_a", "value_b", "ratio_b_over_a"]
    return frame.astype(dict.fromkeys(number, "float64"))


def _both(a: float, b: float) -> bool:
    return bool(np.isfinite(a) and np.isfinite(b) and a > 0)


def _matched(gpus_a: float, gpus_b: float) -> str:
    if gpus_a == gpus_b:
        return "gpu_matched"
    return "node_matched" if gpus_a == 2 * gpus_b else ""


def _row(a: Mapping[Any, Any], b: Mapping[Any, Any], matched: str, metric: str) -> tuple[object, ...]:
    same = [a[c] for c in ("model", "framework", "framework_version", "algo", "mode", "precision")]
    va, vb = float(str(a[metric])), float(str(b[metric]))
    who = (
        a["measured_by"]
        if a["measured_by"] == b["measured_by"]
        else f"{a['measured_by']} / {b['measured_by']}"
    )
    head = (*same, a["platform"], b["platform"], matched, a["n_gpus"], b["n_gpus"])
    return (*head, metric, va, vb, vb / va, a["row_id"], b["row_id"], who)


def blend(table: pd.DataFrame) -> pd.DataFrame:
    """Geometric mean by platform pair, match and metric, 95 % interval over models (nulls below 3 models)."""
    rows = []
    for keys, group in table.groupby(["platform_a", "platform_b", "matched", "metric"], sort=False):
        found = geometric_mean(group["ratio_b_over_a"].to_numpy(), group["model"].to_numpy(dtype=str))
        told = np.isfinite(found.high)
        ends = (found.low, found.high) if told else (None, None)
        rows.append((*keys, found.value if told else None, *ends, len(group), group["model"].nunique()))
    return pd.DataFrame(rows, columns=BLEND).astype({"ratio": "float64", "low": "float64", "high": "float64"})
