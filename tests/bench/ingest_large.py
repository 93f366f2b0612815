"""Ingest of 13.5 million GPU samples (1.5 GB): time beside a bare load and pandas, and peak memory.

Each of the three runs in a process of its own, so that its peak resident memory is its own. The bare load
is `CREATE TABLE t AS SELECT * FROM read_csv(file)` with default settings. Ours runs from the spooled, hashed
file to the commit; the spool pass is reported beside it. One round: the three together take minutes.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

import duckdb
import numpy as np

ROWS = 13_500_000
GPUS = 512
RATIO_LIMIT = 1.5
MEMORY_LIMIT_BYTES = 10**9
MODEL = "NVIDIA H100 80GB HBM3"
HEADER = (
    "timestamp, index, uuid, name, utilization.gpu [%], memory.used [MiB], power.draw [W], "
    "clocks.current.sm [MHz]"
)


@dataclass(frozen=True)
class Load:
    """What one way of loading took: seconds, seconds of the spool pass before it, peak resident bytes."""

    seconds: float
    spool_s: float
    peak_bytes: int


def write_log(path: Path, rows: int = ROWS, gpus: int = GPUS, seed: int = 0) -> int:
    """A made-up log of a cluster, one tick a second, units in the cells, about 111 bytes a row; its rows."""
    rng = np.random.default_rng(seed)
    names = [f"{g % 8}, GPU-{seed:08x}-{g:04x}-4000-8000-{g:012x}, {MODEL}" for g in range(gpus)]
    start, ticks = datetime(2026, 1, 1), rows // gpus
    with path.open("w", encoding="utf-8") as out:
        out.write(HEADER + "\n")
        for tick in range(ticks):
            text = (start + timedelta(seconds=tick)).strftime("%Y/%m/%d %H:%M:%S") + f".{tick % 997:03d}"
            util, clock = rng.integers(0, 101, gpus), rng.integers(300, 1981, gpus)
            memory, power = rng.integers(1000, 80_000, gpus), rng.integers(7000, 70_000, gpus) / 100
            out.writelines(
                f"{text}, {names[g]}, {util[g]} %, {memory[g]} MiB, {power[g]:.2f} W, {clock[g]} MHz\n"
                for g in range(gpus)
            )
    return ticks * gpus


def bare(log: Path, folder: Path) -> tuple[float, float]:
    """Seconds of a bare load into a fresh database file."""
    begin = time.perf_counter()
    con = duckdb.connect(str(folder / "bare.duckdb"))
    con.execute(f"CREATE TABLE t AS SELECT * FROM read_csv('{log}')")
    con.close()
    return time.perf_counter() - begin, 0.0


def pandas(log: Path, _folder: Path) -> tuple[float, float]:
    """Seconds of pandas.read_csv with its own settings, blanks after commas skipped."""
    import pandas as pd

    begin = time.perf_counter()
    pd.read_csv(log, skipinitialspace=True)
    return time.perf_counter() - begin, 0.0


def ours(log: Path, folder: Path) -> tuple[float, float]:
    """(seconds from the spooled file to the commit, seconds of the spool pass) into a fresh home."""
    from tests.bench.ingest import our_load

    with log.open("rb") as handle:
        rows = sum(block.count(b"\n") for block in iter(lambda: handle.read(1 << 22), b"")) - 1
    spool_s, seconds = our_load(log, folder / "home", rows)
    return seconds, spool_s


WAYS = {"bare": bare, "pandas": pandas, "ours": ours}


def run(way: str, log: Path) -> Load:
    """Load in a process of its own; RuntimeError with its words when it fails."""
    with tempfile.TemporaryDirectory(dir=log.parent) as folder:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.bench.ingest_large", way, str(log), folder],
            stdout=subprocess.PIPE,
            text=True,
        )
        text = process.stdout.read() if process.stdout else ""
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{way} ended with {process.returncode}: {text}")
    seconds, spool_s = json.loads(text)
    return Load(seconds, spool_s, usage.ru_maxrss * 1024)


def main() -> int:
    """Print one line; 1 when ours is over a limit or slower than pandas."""
    with tempfile.TemporaryDirectory() as name:
        log = Path(name) / "cluster.csv"
        rows = write_log(log)
        size = log.stat().st_size
        loads = {way: run(way, log) for way in WAYS}
    mine, plain, frame = loads["ours"], loads["bare"], loads["pandas"]
    ratio = mine.seconds / plain.seconds
    good = ratio <= RATIO_LIMIT and mine.seconds < frame.seconds and mine.peak_bytes < MEMORY_LIMIT_BYTES
    print(
        f"large ingest: {rows:,} rows, {size / 1e9:.2f} GB: spool {mine.spool_s:.1f} s, "
        f"spooled file to commit {mine.seconds:.1f} s, bare read_csv {plain.seconds:.1f} s, "
        f"ratio {ratio:.2f} (limit {RATIO_LIMIT}), pandas {frame.seconds:.1f} s; "
        f"peak memory {mine.peak_bytes / 1e6:.0f} MB (limit {MEMORY_LIMIT_BYTES / 1e6:.0f} MB; "
        f"bare {plain.peak_bytes / 1e6:.0f} MB, pandas {frame.peak_bytes / 1e6:.0f} MB): "
        f"{'ok' if good else 'NOT OK'}"
    )
    return 0 if good else 1


if __name__ == "__main__":
    if len(sys.argv) == 4:
        print(json.dumps(WAYS[sys.argv[1]](Path(sys.argv[2]), Path(sys.argv[3]))))
        raise SystemExit(0)
    raise SystemExit(main())
