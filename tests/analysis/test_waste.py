"""A made-up hang with 100 % GPU-Util is found with its start, length and dollars; all parts add up."""

from collections.abc import Iterator
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis import run, waste
from analysis.ladder import identity, waterfall
from analysis.result import Result
from analysis.shares import Share, Shares
from analysis.waste_inside import Inside, without_idle
from analysis.waste_lineage import lineage_ends
from analysis.waste_owners import Owner
from analysis.waste_parts import cut_bill, in_cents, split_of
from analysis.waste_samples import Evidence
from data.gpu.rollup import coverage_sql, hold, minutes_sql
from data.tables import columns
from models.cents import cents, total
from models.waste import Measured, Split
from tests.analysis.conftest import Home, gpu_minutes, pool, steps

START = datetime(2026, 3, 3, 8, 0, 0)
HANG = datetime(2026, 3, 3, 8, 40, 20)
HANG_S = 33 * 60
HOURS = 2
PERIOD_S = 20
READ = ("gpu_util", "sm_active", "tensor_active", "dram_active", "power_w", "power_limit_w")
WORK = (0.98, 0.8, 0.3, 0.24, 630.0, 700.0)
HUNG = (1.0, 0.1, 0.0, 0.0, 266.0, 700.0)


def put_samples(home: Home, folder: Path, rows: list[tuple[Any, ...]], read: tuple[str, ...] = READ) -> None:
    """Store samples (gpu_id, ts, measures): a Parquet part with its roll-ups, as ingest does."""
    con = home.con
    con.execute(
        f"CREATE OR REPLACE TABLE raw (gpu_id VARCHAR, ts TIMESTAMP, {' DOUBLE, '.join(read)} DOUBLE)"
    )
    columnar = list(zip(*rows, strict=True))
    con.register("read", pa.table(dict(zip(("gpu_id", "ts", *read), map(list, columnar), strict=True))))
    con.execute("INSERT INTO raw BY NAME SELECT * FROM read")
    con.unregister("read")
    con.execute("CREATE OR REPLACE TABLE sorted AS SELECT *, row_number() OVER () AS ord FROM raw")
    hold(con, "sorted", list(read))
    con.execute(f"INSERT INTO gpu_minutes BY NAME {minutes_sql('held', list(read))}")
    con.execute(f"INSERT INTO gpu_coverage BY NAME {coverage_sql('held')}")
    names = ", ".join(
        name if name in (*read, "gpu_id", "ts", "dt_s") else f"NULL::DOUBLE AS {name}"
        for name in columns("gpu_samples")
    )
    con.execute(f"COPY (SELECT {names} FROM held) TO '{folder / 'part.parquet'}' (FORMAT parquet)")
    ids = sorted({row[0] for row in rows})
    home.add("gpu_parts", {"part_id": "p", "file": "part.parquet", "rows": len(rows), "gpu_ids": ids})


def view_of(home: Home, folder: Path) -> Any:
    view = home.view()
    object.__setattr__(view, "parts", folder)
    return view


def hung_run(home: Home, role: str = "train", gpus: int = 16, logged: bool = True) -> None:
    """16 B200 at $3.00 for two hours, a step every 100 s but for the hang."""
    end = START + timedelta(hours=HOURS)
    home.add("runs", {"run": "big", "mode": "sync", "synthetic": False})
    home.add(
        "attempts",
        {"run": "big", "attempt": 1, "started_at": START, "ended_at": end, "elapsed_s": HOURS * 3600.0,
         "elapsed_basis": "clock", "status": "completed"},
    )  # fmt: skip
    held = {"gpus": gpus, "started_at": START, "ended_at": end}
    home.add("allocations", pool("big", 1, "all", role, "b200-hgx", HOURS * 3600.0, **held))
    same = {"run": "big", "platform": "b200-hgx", "role": role, "pool": "all"}
    places = [(f"n{n // 8}", n % 8) for n in range(gpus)]
    home.add("gpus", *({"gpu_id": f"{h}:{i}", "host": h, "gpu_index": i, **same} for h, i in places))
    if logged:
        stamps = [START + timedelta(seconds=100.0 * n) for n in range(1, 73)]
        kept = [s for s in stamps if not HANG < s <= HANG + timedelta(seconds=HANG_S)]
        rows = steps("big", 1, range(1, len(kept) + 1), 100.0)
        home.add("steps", *({**row, "ts": stamp} for row, stamp in zip(rows, kept, strict=True)))


def log(hung: tuple[Any, ...] = HUNG, work: tuple[Any, ...] = WORK, gpus: int = 16) -> list[tuple[Any, ...]]:
    rows = []
    for n in range(gpus):
        for tick in range(HOURS * 3600 // PERIOD_S + 1):
            at = START + timedelta(seconds=tick * PERIOD_S)
            values = hung if HANG <= at < HANG + timedelta(seconds=HANG_S) else work
            rows.append((f"n{n // 8}:{n % 8}", at, *values))
    return rows


@pytest.fixture
def blank() -> Iterator[Home]:
    home = Home()
    yield home
    home.con.close()


def ask(home: Home, folder: Path, **params: Any) -> Result:
    return waste.compute(view_of(home, folder), waste.WasteParams(**params))


def parts_of(result: Result) -> dict[str, float]:
    table = result.tables["identity"].set_index("part")
    return {str(part): float(value) for part, value in table["usd"].items()}


def test_a_hang_at_full_gpu_util_is_found_with_start_length_and_dollars(blank: Home, tmp_path: Path) -> None:
    hung_run(blank)
    put_samples(blank, tmp_path, log())
    result = ask(blank, tmp_path)
    stall = result.tables["stalls"].iloc[0]
    assert len(result.tables["stalls"]) == 1
    assert (stall["start"], stall["end"]) == (HANG, HANG + timedelta(seconds=HANG_S))
    assert (stall["gpus"], stall["length_min"], stall["gpu_hours"]) == pytest.approx((16, 33, 8.8))
    assert stall["usd"] == 26.40
    assert "$26.4 of stalls lie inside phases" in " ".join(notice.text for notice in result.warnings)
    for words in ("GPU-Util 100 %", "tensor 0 %", "power 38 %", "step counter frozen"):
        assert words in stall["evidence"]
    # 16 GPUs x 2 h x $3 = $96.00, of which 16 x 0.55 h x $3 hung
    assert parts_of(result) == pytest.approx(
        {"not_allocated": 0, "idle": 0, "stalled": 26.4, "working": 69.6, "unknown": 0}
    )
    ladder = result.tables["ladder"].set_index("rung")["usd"]
    assert ladder.to_list() == pytest.approx([96.0, 96.0, 96.0, 69.6])


def test_idle_time_is_taken_off_what_lies_outside_of_steps() -> None:
    """4 h of 8 GPUs: 3.5 h in steps, 0.5 h outside, idle by the samples, of all the time or of half of it."""
    weights = {"rollout": 70_000.0, "train": 30_800.0, "outside_steps": 14_400.0}
    in_steps = {"rollout": 70_000.0, "train": 30_800.0}
    for seen in (1.0, 0.5):
        split = Split(idle=14_400 * seen, stalled=14_400 * seen, working=86_400 * seen)
        assert without_idle(weights, split) == pytest.approx(in_steps)
    assert without_idle(weights, Split(idle=7_200, working=108_000)) == pytest.approx(
        {**in_steps, "outside_steps": 7_200}
    )
    assert without_idle(weights, Split(idle=60_000, working=1)) == pytest.approx(in_steps)
    assert without_idle(weights, Split()) == weights


def test_the_same_log_with_decode_traffic_is_working(blank: Home, tmp_path: Path) -> None:
    hung_run(blank, role="rollout")
    put_samples(blank, tmp_path, log(hung=(1.0, 0.3, 0.0, 0.62, 266.0, 700.0)))
    result = ask(blank, tmp_path)
    assert result.tables["stalls"].empty
    assert parts_of(result)["working"] == 96.0


def test_gpu_util_alone_needs_the_step_counter(blank: Home, tmp_path: Path) -> None:
    hung_run(blank)
    put_samples(blank, tmp_path, [row[:3] for row in log()], READ[:1])
    result = ask(blank, tmp_path)
    # frozen from one median step after the last end (08:40:00) to one before the next end (09:15:00)
    stall = result.tables["stalls"].iloc[0]
    assert stall["evidence"].endswith("step counter frozen")
    assert (stall["start"], stall["length_min"]) == (
        datetime(2026, 3, 3, 8, 41, 40),
        pytest.approx(31.7, abs=0.1),
    )


def test_gpu_util_alone_without_a_step_clock_says_what_it_cannot_tell(blank: Home, tmp_path: Path) -> None:
    hung_run(blank, logged=False)
    put_samples(blank, tmp_path, [row[:3] for row in log()], READ[:1])
    result = ask(blank, tmp_path)
    row = result.tables["identity"].set_index("part")
    assert row.loc["working", ["usd", "usd_low"]].to_list() == pytest.approx([96.0, 0.0])
    assert row.loc["stalled", ["usd", "usd_high"]].to_list() == pytest.approx([0.0, 96.0])
    said = [w.text for w in result.warnings if w.code == "util_alone"]
    assert said and "GPU-Util alone cannot tell a hang" in said[0]


def test_unsampled_gpus_are_unknown_and_never_idle(blank: Home, tmp_path: Path) -> None:
    hung_run(blank, gpus=16)
    put_samples(blank, tmp_path, log(gpus=8))
    result = ask(blank, tmp_path)
    assert parts_of(result) == pytest.approx(
        {"not_allocated": 0, "idle": 0, "stalled": 13.2, "working": 34.8, "unknown": 48.0}
    )
    assert result.figure("waste_coverage").value == pytest.approx(0.5)
    share = result.figure("working_share")
    assert (share.value, share.low, share.high) == pytest.approx((34.8 / 96, 34.8 / 96, 82.8 / 96))
    assert "coverage_low" in {w.code for w in result.warnings}


def test_settings_move_the_line(blank: Home, tmp_path: Path) -> None:
    hung_run(blank)
    put_samples(blank, tmp_path, log())
    assert ask(blank, tmp_path, stall_min=40).tables["stalls"].empty
    thresholds = ask(blank, tmp_path, idle_min=7).tables["thresholds"].set_index("threshold")
    assert thresholds.loc["idle_min", ["value", "default"]].to_list() == [7, 5]


def test_more_samples_than_allocation_count_as_unknown(home: Home) -> None:
    gpu_minutes(home)
    home.con.execute("UPDATE allocations SET gpus = 1, seconds = 60 WHERE run = 'steady'")
    result = run("waste", home.view(), {"run": "steady", "period": "all"})
    assert "samples_outside_allocation" in {w.code for w in result.warnings}
    assert parts_of(result)["unknown"] == sum(parts_of(result).values())


def test_a_run_that_nothing_was_paid_for_is_named(home: Home) -> None:
    result = run("waste", home.view(), {"run": "nowhere"})
    assert "nowhere" in result.answer and result.tables["identity"].empty


def share(**more: Any) -> Share:
    base = {"charge": 1, "day": None, "kind": "gpu", "platform": "h100-sxm", "run": None, "attempt": None}
    base |= {"pool": None, "role": None, "job": None, "campaign": None, "team": None, "how": "none"}
    return Share(**{**base, "gpu_s": 3600.0, "usd": Decimal("2.005"), **more})


def paid(monkeypatch: pytest.MonkeyPatch, shares: list[Share], scheduler: bool = True) -> None:
    march = datetime(2026, 3, 1), datetime(2026, 4, 1)
    whole = Shares("2026-03", *march, "bill", tuple(shares), scheduler, None, (), (), ())
    monkeypatch.setattr(waste, "load_shares", lambda view, params: whole)


def test_without_a_scheduler_what_nobody_owns_is_unknown(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    charges = [share(known_idle=True), share(kind="unused", gpu_s=None, usd=Decimal("7.00"))]
    paid(monkeypatch, charges)
    assert parts_of(run("waste", home.view(), {}))["not_allocated"] == 9.00
    paid(monkeypatch, charges, scheduler=False)
    result = run("waste", home.view(), {})
    # 2.005 rounds half to even; the unused commitment is known to be idle
    assert (parts_of(result)["not_allocated"], parts_of(result)["unknown"]) == (7.00, 2.00)
    assert {"no_scheduler", "gpu_hours_unsaid"} <= {w.code for w in result.warnings}
    row = result.tables["ladder"].set_index("rung").loc["allocated"]
    assert row[["usd", "usd_low", "usd_high"]].to_list() == pytest.approx([0.0, 0.0, 2.0])


amounts = st.integers(-9_999_999, 99_999_999).map(lambda n: Decimal(n) / 10_000)
kinds = st.sampled_from(["gpu", "unused", "storage", "credit", "tax"])
owners = st.sampled_from([None, "steady", "broken", "apart"])
CHARGES = st.tuples(amounts, kinds, owners, st.sampled_from([360.0, None]))


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(amounts, kinds, owners, st.booleans()), min_size=1, max_size=8),
    st.booleans(),
    st.data(),
)
def test_all_tables_add_up_to_the_bill_to_the_cent(
    drawn: list[tuple[Decimal, str, str | None, float | None]], scheduler: bool, data: st.DataObject
) -> None:
    charges = [
        share(
            charge=n,
            usd=usd,
            kind=kind,
            run=name,
            how="job" if name else "none",
            gpu_s=360.0 if known else None,
        )
        for n, (usd, kind, name, known) in enumerate(drawn)
    ]
    seconds = st.floats(0, 100)
    seen = {
        (Owner(run=name), date(2026, 3, 3)): Measured(*(data.draw(seconds) for _ in range(3)))
        for name in ("steady", "broken")
    }
    evidence = Evidence(2, 0, seen, [], 0.0, 0.0, False, ())
    inside = Inside(
        {("steady", 1, "all"): 7.0}, {}, {("steady", 1, "all"): 99.0}, {("steady", 1, "all"): 8.0}, {}
    )
    bill = cut_bill(charges, scheduler, evidence, inside)
    sheet = in_cents(bill)
    gpu = cents(total([c.usd for c in charges if c.kind in ("gpu", "unused")]))
    bars = waterfall(bill, sheet, 0.0, lineage_ends(bill, inside, 0.0, 0.0))
    exact = [Decimal(f"{v:.2f}") for v in bars["usd"]]
    parts = identity(split_of(bill.cuts), sheet, 0.0)["usd"]
    assert sum((Decimal(f"{v:.2f}") for v in parts), Decimal(0)) == gpu
    assert exact[0] == cents(total([c.usd for c in charges])) and exact[0] - sum(exact[1:-1]) == exact[-1]
    rows = [sum(sheet.row(name).values(), Decimal(0)) for name in sheet.names]
    assert sum(rows, Decimal(0)) == gpu
    for name, row in zip(sheet.names, rows, strict=True):
        mine = total([c.usd for c in charges if c.kind in ("gpu", "unused") and (c.run or "") == name])
        assert abs(row - mine) < Decimal("0.01")


def test_waiting_for_the_other_pool_is_a_bubble(home: Home) -> None:
    """`apart`: 2 train GPUs wait 60 s of each of 10 steps in 1,800 s; all of it sampled and working."""
    start = datetime(2026, 3, 3, 4)
    home.add("gpus", *({"gpu_id": f"t:{n}", "host": "t", "run": "apart", "pool": "train", "role": "train"}
                       for n in range(2)))  # fmt: skip
    cells = [
        {"gpu_id": f"t:{n}", "minute": start + timedelta(minutes=m), "known_s": 60.0}
        for n in range(2)
        for m in range(30)
    ]
    home.add("gpu_coverage", *({**cell, "unknown_s": 0.0} for cell in cells))
    for measure in ("sm_active", "tensor_active"):
        home.add("gpu_minutes", *({**c, "measure": measure, "weighted_sum": 30.0, "n": 6} for c in cells))
    result = run("waste", home.view(), {"run": "apart", "period": "all"})
    bars = result.tables["waterfall"].set_index("bar")["usd"]
    # train 2 x 0.5 h x $2 = $2.00, a third of it waiting; rollout 6 x 0.5 h x $2 = $6.00 without samples
    assert bars[["unknown", "bubble", "lost", "productive"]].to_list() == [6.00, 0.67, 0.00, 1.33]
    assert run("waste", home.view(), {"run": "apart", "period": "all", "idle_min": 0.5}).tables["runs"].iloc[
        0
    ]["idle_bubble_gpu_h"] == pytest.approx(2 * 600 / 3600)
    # the log alone tells of 2 x 600 GPU-seconds at $2 an hour: possible in unknown time, proven in none
    for table in ("gpu_minutes", "gpu_coverage"):
        home.con.execute(f"DELETE FROM {table}")
    bare = run("waste", home.view(), {"run": "apart", "period": "all"}).tables["waterfall"].set_index("bar")
    assert bare.loc["bubble", ["usd", "usd_low"]].to_list() == [0, 0]
    assert bare.loc["bubble", "usd_high"] == pytest.approx(2 * 600 / 3600 * 2)


def test_the_answer_names_amount_share_and_coverage(blank: Home, tmp_path: Path) -> None:
    hung_run(blank)
    put_samples(blank, tmp_path, log())
    answer = ask(blank, tmp_path).answer
    assert answer == ("Of $96.0 paid for GPUs in March 2026, 72 % worked, 27 % stalled; coverage 100 %.")
