"""Small readers for tests of the store (step CSVs, GPU samples), and what a store says in plain tuples."""

import csv
import io
from collections import Counter

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from data.readers.base import Batch, Proposal, SetAside, Sniff
from data.tables import columns

NUMBERS = ("step", "step_s", "elapsed_s", "tok_gen", "reward_mean", "rollouts", "loss")


class StepsReader:
    """Columns of `steps`, optional run, attempt, loss (raw), resumed_from; a step "#…" is a comment."""

    format = "fake_steps"
    title = "steps for tests"

    def sniff(self, source):
        return Sniff(0.9, "the header names steps")

    def read(self, source, choices, scratch, progress=lambda *_: None):
        rows = list(csv.DictReader(io.StringIO(source.path.read_text("utf-8"))))
        progress("read", 0, len(rows))
        batch = Batch(self.format, records=len(rows))
        good = []
        for line, row in enumerate(rows, start=2):
            if (row.get("step") or "").startswith("#"):
                batch.ignored["comment"] += 1
                continue
            try:
                good.append({k: _value(k, v) for k, v in row.items() if k and v not in ("", None)})
            except ValueError as error:
                batch.set_aside.append(SetAside(line, str(error), repr(row)))
        batch.stored = len(good)
        batch.ignored = Counter(batch.ignored)
        progress("read", len(rows), len(rows))
        _tables(batch, pd.DataFrame(good), choices, source)
        return batch


class GpuReader:
    """gpu_id, ts, and measures of gpu_samples; one Parquet part."""

    format = "fake_gpu"
    title = "GPU samples for tests"

    def sniff(self, source):
        return Sniff(0.9, "the header names GPUs")

    def read(self, source, choices, scratch, progress=lambda *_: None):
        frame = pd.read_csv(source.path).assign(ts=lambda f: pd.to_datetime(f["ts"]))
        batch = Batch(self.format, records=len(frame), stored=len(frame))
        frame = frame.drop_duplicates(["gpu_id", "ts"]).sort_values(["gpu_id", "ts"])
        gap = (frame.groupby("gpu_id")["ts"].shift(-1) - frame["ts"]).dt.total_seconds()
        cap = 3 * gap.groupby(frame["gpu_id"]).transform("median")
        frame["dt_s"] = gap.clip(upper=cap).fillna(0.0)
        for name in columns("gpu_samples"):
            if name not in frame:
                frame[name] = None
        for name in columns("gpu_samples")[2:]:
            frame[name] = frame[name].astype("float64")
        frame["ts"] = frame["ts"].astype("datetime64[us]")
        part = scratch / "samples.parquet"
        pq.write_table(pa.Table.from_pandas(frame[columns("gpu_samples")], preserve_index=False), part)
        batch.gpu_parts = [part]
        batch.tables["gpus"] = pd.DataFrame({"gpu_id": frame["gpu_id"].unique()})
        return batch


def choose_fake(source, choices):
    return GpuReader() if source.head.startswith("gpu_id") else StepsReader()


def steps_csv(rows, names=("step", "step_s", "tok_gen")):
    """Rows (tuples) as the bytes of a CSV."""
    return io.BytesIO(steps_text(rows, names).encode())


def steps_text(rows, names=("step", "step_s", "tok_gen")):
    return "\n".join([",".join(names), *(",".join("" if c is None else str(c) for c in r) for r in rows), ""])


COST_TABLES = ("runs", "attempts", "allocations", "campaigns", "run_settings")
ROW_TABLES = (
    "steps",
    "step_phases",
    "metric_raw",
    "evals",
    "eval_tasks",
    "checkpoints",
    "env_events",
    "gpus",
)


def content(store, tables=COST_TABLES + ROW_TABLES, without=("upload_id",)):
    """What the tables hold, in no order; `without` leaves columns out."""
    found = {}
    with store.view() as view:
        for table in tables:
            kept = ", ".join(f'"{c}"' for c in columns(table) if c not in without)
            found[table] = sorted(view.rows(f'SELECT {kept} FROM "{table}"'), key=repr)
    return found


def _value(key, text):
    if key in ("step", "attempt", "resumed_from"):
        return int(text)
    return float(text) if key in NUMBERS else text


def _tables(batch, frame, choices, source):
    if not len(frame) or "step" not in frame:
        return
    stem = source.name.rsplit(".", 1)[0]
    frame = frame.assign(run=frame.get("run", choices.run or stem))
    if "attempt" not in frame:
        frame["attempt"] = 1
    if "ts" in frame:
        frame["ts"] = pd.to_datetime(frame["ts"])
    if "loss" in frame:
        raw = frame[["run", "attempt", "step"]].assign(key="loss", value=frame["loss"])
        batch.tables["metric_raw"] = raw[raw["value"].notna()]
    known = frame.assign(
        resumed_from_step=frame.get("resumed_from"),
        step_s=frame.get("step_s"),
    )
    batch.tables["attempts"] = (
        known.groupby(["run", "attempt"], as_index=False)
        .agg(resumed_from_step=("resumed_from_step", "first"), elapsed_s=("step_s", "sum"))
        .assign(elapsed_basis="step_sum", status="unknown")
    )
    batch.tables["runs"] = frame[["run"]].drop_duplicates().assign(framework="fake", algorithm="grpo")
    batch.tables["steps"] = frame.drop(columns=["loss", "resumed_from"], errors="ignore")
    batch.proposals = [Proposal(run, "gpus", 8, "for tests") for run in frame["run"].unique()]


def gpu_csv(first, last, measure="gpu_util"):
    """Two GPUs, a sample a second from `first` to before `last`; second 20 is missing."""
    lines = [f"gpu_id,ts,{measure}"]
    for second in range(first, last):
        if second != 20:
            stamp = f"2026-01-01 00:{second // 60:02}:{second % 60:02}"
            lines += [f"g{gpu},{stamp},{(second % 10) / 16}" for gpu in (0, 1)]
    return io.BytesIO(("\n".join(lines) + "\n").encode())


def gpu_tables(store):
    """Roll-ups and samples of all GPUs, sums rounded to what double addition guarantees in any order."""
    with store.view() as view:
        return {
            "gpu_minutes": view.rows(
                "SELECT gpu_id, minute, measure, round(known_s, 6), round(weighted_sum, 6), v_min, v_max, n "
                "FROM gpu_minutes ORDER BY ALL"
            ),
            "gpu_coverage": view.rows(
                "SELECT gpu_id, minute, round(known_s, 6), round(unknown_s, 6) FROM gpu_coverage ORDER BY ALL"
            ),
            "samples": view.rows(f"SELECT * FROM {view.gpu_parts_sql()} ORDER BY ALL"),
        }
