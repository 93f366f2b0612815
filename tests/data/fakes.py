"""A small reader of step CSVs for tests of the store: columns of `steps`, optional run, attempt, resumed_from."""

import csv
import io
from collections import Counter

import pandas as pd

from data.readers.base import Batch, Proposal, SetAside, Sniff

NUMBERS = ("step", "step_s", "elapsed_s", "tok_gen", "reward_mean", "rollouts", "loss")


class StepsReader:
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
            if row.get("step", "").startswith("#"):
                batch.ignored["comment"] += 1
                continue
            try:
                good.append({k: _value(k, v) for k, v in row.items() if v not in ("", None)})
            except ValueError as error:
                batch.set_aside.append(SetAside(line, str(error), ",".join(v or "" for v in row.values())))
        batch.stored = len(good)
        batch.ignored = Counter(batch.ignored)
        progress("read", len(rows), len(rows))
        _tables(batch, pd.DataFrame(good), choices, source)
        return batch


def _value(key, text):
    if key in ("step", "attempt", "resumed_from"):
        return int(text)
    return float(text) if key in NUMBERS else text


def _tables(batch, frame, choices, source):
    if not len(frame):
        return
    stem = source.name.rsplit(".", 1)[0]
    frame = frame.assign(run=choices.run or (frame["run"] if "run" in frame else stem))
    if "attempt" not in frame:
        frame["attempt"] = 1
    if "ts" in frame:
        frame["ts"] = pd.to_datetime(frame["ts"])
    if "loss" in frame:
        raw = frame[["run", "attempt", "step"]].assign(key="loss", value=frame["loss"])
        batch.tables["metric_raw"] = raw[raw["value"].notna()]
    resumed = frame["resumed_from"] if "resumed_from" in frame else None
    batch.tables["attempts"] = (
        frame.assign(resumed_from_step=resumed)
        .groupby(["run", "attempt"], as_index=False)
        .agg(resumed_from_step=("resumed_from_step", "first"), elapsed_s=("step_s", "sum"))
        .assign(elapsed_basis="step_sum", status="unknown")
        if "step_s" in frame
        else frame[["run", "attempt"]].drop_duplicates()
    )
    batch.tables["runs"] = frame[["run"]].drop_duplicates().assign(framework="fake", algorithm="grpo")
    batch.tables["steps"] = frame.drop(columns=["loss", "resumed_from"], errors="ignore")
    batch.proposals = [Proposal(run, "gpus", 8, "for tests") for run in frame["run"].unique()]
