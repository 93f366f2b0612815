"""Ingest of 13.5 million GPU samples (1.6 GB): time beside a bare load and pandas, and peak memory.

Each of the three runs in a process of its own, so that its peak resident memory is its own. The bare load
is `CREATE TABLE t AS SELECT * FROM read_csv(file)` with default settings. Ours runs from the spooled, hashed
file to the commit; the spool pass, which brings in the compiled loops, is reported beside it. A small log is
loaded first, as the app has its readers and catalogue in memory; the loops are compiled before, as a machine
does that once. CPU seconds are printed too: on a machine with other work only they compare.
One round: the three together take minutes. `--units` writes the log with units in the cells.
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
COMPILE = "import data.gpu.plain_kernels, data.gpu.plain_minutes"
HEADER = (
    "timestamp, index, uuid, name, utilization.gpu [%], memory.used [MiB], power.draw [W], "
    "clocks.current.sm [MHz]"
)


@dataclass(frozen=True)
class Load:
    """What one way took: seconds, CPU seconds, seconds of the spool pass before it, peak resident bytes."""

    seconds: float
    cpu_s: float
    spool_s: float
    peak_bytes: int


def write_log(path: Path, rows: int = ROWS, gpus: int = GPUS, units: bool = False, seed: int = 0) -> int:
    """A made-up log of a cluster as `--format=csv,nounits` writes it (or with units); its rows.

    One tick a second; about 116 bytes a row, 12 more with units in the cells.
    """
    marks = (" %", " MiB", " W", " MHz") if units else ("", "", "", "")
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
                f"{text}, {names[g]}, {util[g]}{marks[0]}, {memory[g]}{marks[1]}, {power[g]:.2f}{marks[2]}, "
                f"{clock[g]}{marks[3]}\n"
                for g in range(gpus)
            )
    return ticks * gpus


class Clock:
    """Seconds and CPU seconds of all threads since it was made."""

    def __init__(self) -> None:
        self._wall, self._cpu = time.perf_counter(), time.process_time()

    def read(self, spool_s: float = 0.0) -> tuple[float, float, float]:
        """(seconds, CPU seconds, `spool_s`)."""
        return time.perf_counter() - self._wall, time.process_time() - self._cpu, spool_s


def bare(log: Path, folder: Path) -> tuple[float, float, float]:
    """A bare load into a fresh database file."""
    clock = Clock()
    con = duckdb.connect(str(folder / "bare.duckdb"))
    con.execute(f"CREATE TABLE t AS SELECT * FROM read_csv('{log}')")
    con.close()
    return clock.read()


def pandas(log: Path, _folder: Path) -> tuple[float, float, float]:
    """pandas.read_csv with its own settings, blanks after commas skipped."""
    import pandas as pd

    clock = Clock()
    pd.read_csv(log, skipinitialspace=True)
    return clock.read()


def ours(log: Path, folder: Path) -> tuple[float, float, float]:
    """From the spooled file to the commit into a fresh home, and the seconds of the spool pass."""
    small = folder / "small.csv"
    small_rows = write_log(small, rows=GPUS)
    load(small, folder / "small-home", small_rows)
    with log.open("rb") as handle:
        rows = sum(block.count(b"\n") for block in iter(lambda: handle.read(1 << 22), b"")) - 1
    return load(log, folder / "home", rows)


def load(log: Path, home: Path, rows: int) -> tuple[float, float, float]:
    """Ingest into a fresh home; RuntimeError when not every row was stored."""
    from data.ingest import ingest_file
    from data.readers.base import Choices
    from data.store import Store

    store = Store.open(home)
    begin, clock = time.perf_counter(), Clock()
    spool_s = 0.0

    def watch(stage: str, _done: int, _total: int | None) -> None:
        nonlocal clock, spool_s
        if stage == "spool":
            clock, spool_s = Clock(), time.perf_counter() - begin

    try:
        receipt = ingest_file(store, log, log.name, Choices(timezone="UTC"), watch)
        found = clock.read(spool_s)
    finally:
        store.close()
    if receipt.stored != rows:
        raise RuntimeError(f"{receipt.stored} of {rows} rows were stored")
    return found


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
    return Load(*json.loads(text), usage.ru_maxrss * 1024)


def main(units: bool = False) -> int:
    """Print one line; 1 when ours is over a limit or slower than pandas."""
    subprocess.run([sys.executable, "-c", COMPILE], check=True)
    with tempfile.TemporaryDirectory() as name:
        log = Path(name) / "cluster.csv"
        rows = write_log(log, units=units)
        size = log.stat().st_size
        loads = {way: run(way, log) for way in WAYS}
    mine, plain, frame = loads["ours"], loads["bare"], loads["pandas"]
    ratio = mine.seconds / plain.seconds
    good = ratio <= RATIO_LIMIT and mine.seconds < frame.seconds and mine.peak_bytes < MEMORY_LIMIT_BYTES
    print(
        f"large ingest, nvidia-smi --format=csv{'' if units else ',nounits'}: {rows:,} rows, "
        f"{size / 1e9:.2f} GB: spool {mine.spool_s:.1f} s, spooled file to commit {_took(mine)}, "
        f"bare read_csv {_took(plain)}, ratio {ratio:.2f} (limit {RATIO_LIMIT}), pandas {_took(frame)}; "
        f"peak memory {mine.peak_bytes / 1e6:.0f} MB (limit {MEMORY_LIMIT_BYTES / 1e6:.0f} MB; "
        f"bare {plain.peak_bytes / 1e6:.0f} MB, pandas {frame.peak_bytes / 1e6:.0f} MB): "
        f"{'ok' if good else 'NOT OK'}"
    )
    return 0 if good else 1


def _took(load: Load) -> str:
    return f"{load.seconds:.1f} s ({load.cpu_s:.1f} s CPU)"


if __name__ == "__main__":
    if len(sys.argv) == 4:
        print(json.dumps(WAYS[sys.argv[1]](Path(sys.argv[2]), Path(sys.argv[3]))))
        raise SystemExit(0)
    raise SystemExit(main("--units" in sys.argv))
