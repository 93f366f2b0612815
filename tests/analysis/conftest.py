"""A tiny home worked by hand: one campaign, three runs, prices of $2 and $3 a GPU-hour."""

import dataclasses
import hashlib
import os
import pickle
from collections.abc import Callable, Iterator
from copy import copy
from datetime import datetime, timedelta
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from data.catalogue import Catalogue, load_catalogue
from data.job_runs import name_jobs
from data.memo import Memo
from data.tables import columns, ddl
from data.view import View

T0 = datetime(2026, 3, 2, 8, 0, 0)
UPLOAD = "f" * 16
_VIEWS = count()


class TinyView(View):
    """A view whose catalogue is given."""

    book: Catalogue

    @property
    def catalogue(self) -> Catalogue:
        return self.book


class Told:
    """A connection that knows all it was told: two of one `state` hold the same rows in the same order."""

    def __init__(self, con: duckdb.DuckDBPyConnection, state: str = "") -> None:
        self.raw, self.state = con, state

    def note(self, *said: object) -> None:
        self.state = hashlib.sha256(self.state.encode() + pickle.dumps(said)).hexdigest()

    def execute(self, sql: str, *params: object) -> duckdb.DuckDBPyConnection:
        self.note(sql, params)
        return self.raw.execute(sql, *params)

    def __getattr__(self, name: str) -> Any:
        self.state = os.urandom(32).hex()  # who knows what this does: nothing read before counts
        return getattr(self.raw, name)


class Read(Memo):
    """What any view of a home of this state has read: most tests ask the same of the same few rows."""

    all = Memo()

    def __init__(self, state: str) -> None:
        self.state = state

    def ask(self, version: str, sql: str, params: Any, read: Callable[[], Any]) -> Any:
        return Read.all.ask("", f"{self.state} {sql}", params, read)


class Home:
    """An in-memory telemetry database with the real schema."""

    def __init__(self) -> None:
        self.con = Told(duckdb.connect(config={"threads": 1}))
        self.con.execute(ddl())
        self.book = tiny_book()

    def add(self, table: str, *rows: dict[str, Any]) -> None:
        """Insert rows; `upload_id` is filled in where the table has one."""
        known = columns(table)
        full = [{"upload_id": UPLOAD, **row} if "upload_id" in known else row for row in rows]
        if not full:
            return
        names = list(dict.fromkeys(name for row in full for name in row))
        batch = pa.table({name: [row.get(name) for row in full] for name in names})
        self.con.note(table, full)
        self.con.raw.register("batch", batch)
        self.con.raw.execute(f"INSERT INTO {table} BY NAME SELECT * FROM batch")
        self.con.raw.unregister("batch")

    def clear(self) -> None:
        """Delete every row."""
        for table in (
            "runs",
            "attempts",
            "allocations",
            "steps",
            "step_phases",
            "evals",
            "eval_tasks",
            "costs",
        ):
            self.con.execute(f"DELETE FROM {table}")

    def view(self) -> View:
        name_jobs(self.con.raw)
        # a home in memory has no data version: no answer kept for an earlier view counts for this one
        place = Path(f"/nowhere/{next(_VIEWS)}")
        seen = Read(self.con.state)
        view = TinyView(self.con.raw, place, "7-test", datetime(2026, 3, 9), True, memo=seen)
        object.__setattr__(view, "book", self.book)
        return view

    def shuffle(self) -> None:
        """Turn the row order of every table around."""
        for table in (
            "steps",
            "step_phases",
            "allocations",
            "attempts",
            "evals",
            "eval_tasks",
            "runs",
            "gpu_minutes",
        ):
            self.con.execute(f"CREATE TABLE turned AS SELECT * FROM {table} ORDER BY rowid DESC")
            self.con.execute(f"DELETE FROM {table}")
            self.con.execute(f"INSERT INTO {table} SELECT * FROM turned ORDER BY rowid")
            self.con.execute("DROP TABLE turned")


def tiny_book(factor: float = 1.0) -> Catalogue:
    """The real catalogue with round prices: H100 $2 (1.5 to 4), B200 $3 (one quote), no GB300 price."""
    book = load_catalogue()
    prices = {}
    pick = {"h100-sxm": (2.0, 1.5, 4.0), "b200-hgx": (3.0, 3.0, 3.0)}
    seen: dict[str, int] = {}
    for key, row in book._prices.items():
        if row.kind == "reserved_3y" and row.platform_id == "gb300-nvl72":
            continue
        if row.kind == "reserved_3y" and row.platform_id in pick:
            value, low, high = pick[row.platform_id]
            if row.tier != "neocloud":
                n = seen[row.platform_id] = seen.get(row.platform_id, 0) + 1
                value = low if n == 1 else high if n == 2 else value
            row = dataclasses.replace(row, value=value * factor)
        prices[key] = row
    for platform, (_, low, high) in pick.items():
        base = next(
            p
            for p in prices.values()
            if (p.platform_id, p.kind, p.tier) == (platform, "reserved_3y", "neocloud")
        )
        for name, value in (("low", low), ("high", high)):
            row = dataclasses.replace(base, price_id=f"test-{platform}-{name}", tier="", value=value * factor)
            prices[row.price_id] = row
    return dataclasses.replace(book, _prices=prices)


def steps(run: str, attempt: int, numbers: range, step_s: float, **more: Any) -> list[dict[str, Any]]:
    return [
        {"run": run, "attempt": attempt, "step": n, "source": "verl_console", "step_s": step_s, **more}
        for n in numbers
    ]


def phases(
    run: str, attempt: int, numbers: range, seconds: dict[str, float], **more: Any
) -> list[dict[str, Any]]:
    return [
        {
            "run": run, "attempt": attempt, "step": n, "phase": phase, "seconds": s,
            "kind": "wall", "source_key": f"timing_s/{phase}", **more,
        }
        for n in numbers
        for phase, s in seconds.items()
    ]  # fmt: skip


def evaluation(
    name: str, run: str | None, attempt: int | None, step: int | None, score: float
) -> dict[str, Any]:
    checkpoint = f"{run}@{step}" if run else name
    return {
        "eval_id": name, "checkpoint": checkpoint, "run": run, "attempt": attempt, "step": step,
        "benchmark": "math-500", "metric": "accuracy", "n_tasks": 500, "score": score,
        "score_kind": "fraction",
    }  # fmt: skip


@cache
def _made(fill: bool) -> Home:
    """One home a process, empty or worked by hand: making the tables takes longer than most questions."""
    home = Home()
    if fill:
        _fill(home)
    return home


def _lent(fill: bool) -> Iterator[Home]:
    """The home as it was made, for one test: all that the test writes is rolled back."""
    made = _made(fill)
    home = copy(made)
    home.book = tiny_book()
    home.con = Told(made.con.raw, made.con.state)
    made.con.raw.execute("BEGIN")
    yield home
    made.con.raw.execute("ROLLBACK")


@pytest.fixture
def empty_home() -> Iterator[Home]:
    yield from _lent(fill=False)


@pytest.fixture(scope="module")
def scratch_home() -> Iterator[Home]:
    """One home for many generated examples; each example clears it."""
    home = Home()
    yield home
    home.con.close()


@pytest.fixture
def home() -> Iterator[Home]:
    """`steady`: 8 H100, 10 h, 36 of 100 s a step; `broken`: failed at 6, resumed from 4; `apart`: async, 2
    pools.

    steady   8 GPUs x 36000 s = 80 GPU-h x $2 = $160; 300 steps x 100 s = 30000 s in steps, 6000 s outside.
    broken   attempt 1: 4 GPUs x 3600 s = 4 GPU-h x $3 = $12, 6 of 500 s, kept to step 4 = 2/3 = $8;
             attempt 2: 4 GPUs x 7200 s = 8 GPU-h = $24, completed. Campaign $36, compute $32.
    apart    train 2 H100 + rollout 6 H100 x 1800 s = 1 + 3 GPU-h = $2 + $6; sandbox 10 cores x 1800 s = 5
    core-h.
    """
    yield from _lent(fill=True)


def _fill(home: Home) -> None:
    home.add("campaigns", {"campaign": "math", "shipped_checkpoint": "steady@300"})
    for run, mode in (("steady", "sync"), ("broken", "sync"), ("apart", "async")):
        home.add(
            "runs", {"run": run, "campaign": "math", "algorithm": "grpo", "mode": mode, "synthetic": False}
        )
    _steady(home)
    _broken(home)
    _apart(home)


def _attempt(
    run: str, attempt: int, hours_from: float, seconds: float, status: str, **more: Any
) -> dict[str, Any]:
    start = T0 + timedelta(hours=hours_from)
    return {
        "run": run, "attempt": attempt, "started_at": start, "ended_at": start + timedelta(seconds=seconds),
        "elapsed_s": seconds, "elapsed_basis": "clock", "status": status, **more,
    }  # fmt: skip


def pool(
    run: str, attempt: int, name: str, role: str, platform: str | None, seconds: float, **more: Any
) -> dict:
    return {
        "run": run, "attempt": attempt, "pool": name, "role": role, "platform": platform, "seconds": seconds,
        "seconds_basis": "clock", "source": "user", **more,
    }  # fmt: skip


def _steady(home: Home) -> None:
    home.add("attempts", _attempt("steady", 1, 0, 36000, "completed"))
    home.add("allocations", pool("steady", 1, "all", "colocated", "h100-sxm", 36000, gpus=8))
    known = {"rollouts": 64, "tok_gen": 64000, "tok_total": 80000, "groups": 8, "groups_all_right": 2}
    known |= {"groups_all_wrong": 1, "correct": 32, "throughput": 100.0, "len_mean": 1000, "len_max": 4000}
    home.add("steps", *steps("steady", 1, range(1, 301), 100.0, **known))
    home.add("step_phases", *phases("steady", 1, range(1, 301), {"rollout": 60.0, "train": 30.0}))
    home.add(
        "checkpoints",
        {"checkpoint": "steady@300", "run": "steady", "attempt": 1, "step": 300, "parent": "base"},
    )
    home.add("checkpoints", {"checkpoint": "base"})
    base = evaluation("base", None, None, None, 0.60)
    home.add("evals", base)
    for step, score in ((150, 0.66), (300, 0.70)):
        home.add("evals", evaluation(f"steady-{step}", "steady", 1, step, score))


def _broken(home: Home) -> None:
    home.add("attempts", _attempt("broken", 1, 11, 3600, "failed", cause="engine"))
    resumed = {"resumed_from_step": 4, "resumed_from_attempt": 1}
    home.add("attempts", _attempt("broken", 2, 13, 7200, "completed", **resumed))
    for attempt, seconds in ((1, 3600), (2, 7200)):
        home.add("allocations", pool("broken", attempt, "all", "colocated", "b200-hgx", seconds, gpus=4))
    home.add(
        "steps",
        *steps("broken", 1, range(1, 7), 500.0, rollouts=32),
        *steps("broken", 2, range(5, 13), 600.0),
    )
    home.add(
        "evals", evaluation("broken-0", "broken", 1, 0, 0.61), evaluation("broken-6", "broken", 1, 6, 0.63)
    )
    home.add("evals", evaluation("broken-12", "broken", 2, 12, 0.64))


def _apart(home: Home) -> None:
    home.add("attempts", _attempt("apart", 1, 20, 1800, "running"))
    home.add("allocations", pool("apart", 1, "train", "train", "h100-sxm", 1800, gpus=2))
    home.add("allocations", pool("apart", 1, "rollout", "rollout", "h100-sxm", 1800, gpus=6))
    home.add("allocations", pool("apart", 1, "sandbox", "sandbox", "x86-reference", 1800, cores=10))
    home.add("steps", *steps("apart", 1, range(1, 11), 150.0, rollouts=16, tok_gen=20000))
    home.add(
        "step_phases", *phases("apart", 1, range(1, 11), {"train": 80.0, "weight_sync": 5.0}, pool="train")
    )
    wait = {"kind": "wait", "pool": "train"}
    home.add("step_phases", *phases("apart", 1, range(1, 11), {"rollout": 60.0}, **wait))
    home.add("step_phases", *phases("apart", 1, range(1, 11), {"rollout": 140.0}, pool="rollout"))


def gpu_minutes(home: Home, run: str = "steady") -> None:
    """Two GPUs of one host, three minutes: g0 at 100 % and 50 %, one minute unknown; g1 at 0 % throughout."""
    for place in (0, 1):
        home.add(
            "gpus",
            {"gpu_id": f"n1:{place}", "host": "n1", "gpu_index": place, "run": run, "role": "colocated"},
        )
    values = {"n1:0": (1.0, 0.5, None), "n1:1": (0.0, 0.0, 0.0)}
    for gpu, series in values.items():
        for place, value in enumerate(series):
            minute = T0 + timedelta(minutes=place)
            known = 60.0 if value is not None else 0.0
            home.add(
                "gpu_coverage", {"gpu_id": gpu, "minute": minute, "known_s": known, "unknown_s": 60.0 - known}
            )
            if value is None:
                continue
            for measure, level in (("gpu_util", value), ("power_w", 300.0)):
                row = {"gpu_id": gpu, "minute": minute, "measure": measure, "known_s": 60.0, "n": 60}
                home.add("gpu_minutes", {**row, "weighted_sum": 60.0 * level, "v_min": level, "v_max": level})
