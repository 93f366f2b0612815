"""Rows of attempts as frames: raw metrics and response lengths."""

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from data.logs.flat_attempts import FlatAttempt


def length_rows(runs: Iterable[tuple[str, Sequence[FlatAttempt]]]) -> pd.DataFrame | None:
    """`length_hist` rows of the logged histograms of response lengths."""
    rows = [
        {
            "run": run,
            "attempt": attempt.number,
            "step": step.step,
            "bucket_low": low,
            "bucket_high": high,
            "n": count,
        }
        for run, attempts in runs
        for attempt in attempts
        for step in attempt.by_step.values()
        for low, high, count in step.lengths
    ]
    return pd.DataFrame(rows) if rows else None


def raw_rows(run: str, attempts: Sequence[FlatAttempt]) -> pd.DataFrame | None:
    """`metric_raw` rows of all records; x = step, or the record's own axis where it has no step."""
    parts: dict[str, list[object]] = {n: [] for n in ("attempt", "step", "x_name", "x", "key", "value")}
    for attempt in attempts:
        for row in attempt.rows:
            kept = [(k, v) for k, v in row.values.items() if v == v]
            on_step = row.step is not None
            parts["attempt"] += [attempt.number] * len(kept)
            parts["step"] += [row.step] * len(kept)
            parts["x_name"] += ["step" if on_step else row.x_name] * len(kept)
            parts["x"] += [row.step if on_step else (row.x if row.x is not None else row.line)] * len(kept)
            parts["key"] += [k for k, _ in kept]
            parts["value"] += [v for _, v in kept]
    if not parts["key"]:
        return None
    frame = pd.DataFrame(parts).assign(run=run)
    frame["step"] = frame["step"].astype("Int64")
    return frame.astype({"attempt": np.int32, "x": np.float64, "value": np.float64})
