"""Ingest of a large nvidia-smi log: from the spooled, hashed file to the commit, beside a bare load.

The bare load is `CREATE TABLE t AS SELECT * FROM read_csv(file)` with default settings into a fresh
database file, from connect to close. Both run in turn; the ratio of medians must be at most RATIO_LIMIT.
"""

import statistics
import tempfile
import time
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

import duckdb
import numpy as np

from data.ingest import ingest_file
from data.readers.base import Choices
from data.store import Store

ROWS = 4_000_000
GPUS = 64
RATIO_LIMIT = 2.0
ROUNDS = 3
HEADER = "timestamp, index, utilization.gpu [%], memory.used [MiB], power.draw [W], temperature.gpu"


@dataclass(frozen=True)
class IngestTimes:
    """Medians in seconds over the rounds; `ratio` = ingest_s / bare_s."""

    rows: int
    size_bytes: int
    spool_s: float
    ingest_s: float
    bare_s: float

    @property
    def ratio(self) -> float:
        """How many bare loads one ingest takes."""
        return self.ingest_s / self.bare_s


def write_log(path: Path, rows: int = ROWS, gpus: int = GPUS, seed: int = 0) -> None:
    """A made-up log: one tick a second, all GPUs, units in the cells; about 58 bytes a row."""
    rng = np.random.default_rng(seed)
    start = datetime(2026, 1, 1)
    with path.open("w", encoding="utf-8") as out:
        out.write(HEADER + "\n")
        for tick in range(rows // gpus):
            stamp = start + timedelta(seconds=tick, milliseconds=int(rng.integers(0, 5)))
            text = stamp.strftime("%Y/%m/%d %H:%M:%S.") + f"{stamp.microsecond // 1000:03d}"
            util, temp = rng.integers(0, 101, gpus), rng.integers(30, 85, gpus)
            memory, power = rng.integers(1000, 80_000, gpus), rng.integers(7000, 70_000, gpus) / 100
            out.write(
                "".join(
                    f"{text}, {g}, {util[g]} %, {memory[g]} MiB, {power[g]:.2f} W, {temp[g]}\n"
                    for g in range(gpus)
                )
            )


def bare_load(csv_file: Path, folder: Path) -> float:
    """Seconds of the bare statement into a fresh database file."""
    database = folder / "bare.duckdb"
    database.unlink(missing_ok=True)
    begin = time.perf_counter()
    con = duckdb.connect(str(database))
    con.execute(f"CREATE TABLE t AS SELECT * FROM read_csv('{csv_file}')")
    con.close()
    seconds = time.perf_counter() - begin
    database.unlink()
    return seconds


def our_load(csv_file: Path, home: Path, rows: int) -> tuple[float, float]:
    """(spool seconds, seconds from the spooled file to the commit) of one upload into a fresh home."""
    store = Store.open(home)
    spooled_at = begin = time.perf_counter()

    def watch(stage: str, done: int, total: int | None) -> None:
        nonlocal spooled_at
        if stage == "spool":
            spooled_at = time.perf_counter()

    try:
        receipt = ingest_file(store, csv_file, csv_file.name, Choices(timezone="UTC"), watch)
        end = time.perf_counter()
    finally:
        store.close()
    if receipt.stored != rows:
        raise RuntimeError(f"{receipt.stored} of {rows} rows were stored")
    return spooled_at - begin, end - spooled_at


def measure(rows: int = ROWS, rounds: int = ROUNDS) -> IngestTimes:
    """Run both loads in turn and return the medians."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        log = folder / "gpus.csv"
        write_log(log, rows)
        bare, spooled, ours = [], [], []
        for number in range(rounds):
            bare.append(bare_load(log, folder))
            spool_s, ingest_s = our_load(log, folder / f"home{number}", rows // GPUS * GPUS)
            spooled.append(spool_s)
            ours.append(ingest_s)
        middle = statistics.median
        return IngestTimes(rows, log.stat().st_size, middle(spooled), middle(ours), middle(bare))


def main() -> int:
    """Print one line; 1 when the ratio is over the limit."""
    found = measure()
    verdict = "ok" if found.ratio <= RATIO_LIMIT else "TOO SLOW"
    print(
        f"ingest: {found.rows:,} rows, {found.size_bytes / 1e6:.0f} MB: spool {found.spool_s:.2f} s, "
        f"spooled file to commit {found.ingest_s:.2f} s, bare read_csv {found.bare_s:.2f} s, "
        f"ratio {found.ratio:.2f} (limit {RATIO_LIMIT}): {verdict}"
    )
    return 0 if found.ratio <= RATIO_LIMIT else 1


if __name__ == "__main__":
    raise SystemExit(main())
