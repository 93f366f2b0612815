"""nvidia-smi query logs: the quirks on inputs of our own, and the facts of real files when present."""

from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pytest

from data.arrival.spool import spool_bytes
from data.errors import UnreadableFileError
from data.facts_base import blank_facts
from data.gpu import odd as gpu_odd
from data.gpu.csv_rows import load_gpu_rows
from data.gpu.parts import samples_sql
from data.gpu.rollup import connect
from data.parse.csvio import read_layout
from data.readers.base import Batch, Choices
from data.readers.nvidia_smi import NvidiaSmiReader, _columns

HEAD = "timestamp, index, uuid, utilization.gpu [%], memory.used [MiB], power.draw [W]"


def read(text: str | bytes, folder: Path, name: str = "smi.csv", **choices: Any) -> Batch:
    data = text.encode() if isinstance(text, str) else text
    source = spool_bytes(data, name, folder)
    return NvidiaSmiReader().read(source, Choices(**choices), folder)


def samples(batch: Batch) -> pd.DataFrame:
    return duckdb.sql(f"select * from {samples_sql(batch.gpu_parts[:1])} order by gpu_id, ts").df()


def row(
    second: int, index: int = 0, util: str = "34 %", mem: str = "17304 MiB", power: str = "71.06 W"
) -> str:
    return f"2026/01/01 00:00:{second:02d}.000, {index}, GPU-{index}, {util}, {mem}, {power}"


def log(*rows: str, head: str = HEAD) -> str:
    return "\n".join([head, *rows]) + "\n"


def test_units_in_cells_become_base_units(tmp_path: Path) -> None:
    batch = read(log(row(0), row(1, util="50 %"), row(2, util="0 %")), tmp_path, timezone="UTC")
    frame = samples(batch)
    assert list(frame["gpu_util"]) == [0.34, 0.5, 0.0]
    assert list(frame["mem_bytes"].unique()) == [17304 * 2**20]
    assert list(frame["dt_s"]) == [1, 1, 0]
    assert frame["gpu_id"].unique().tolist() == ["GPU-0"]
    assert (batch.records, batch.stored) == (3, 3)
    assert batch.facts["util_mean_by_time[gpu_util]"] == pytest.approx((0.34 + 0.5) / 2)
    assert batch.facts["gpu_hours"] == pytest.approx(2 / 3600)
    assert batch.facts["time_first_epoch_s"] == 1767225600.0
    assert batch.facts["time_zone"] is None


@pytest.mark.parametrize(
    ("head", "cells"),
    [
        ("timestamp, utilization.gpu [%], memory.used [MiB], power.draw [W]", "34, 17304, 71.06"),
        ("timestamp, utilization.gpu [%], memory.used [MB], power.draw [W]", "34, 17304, 71.06"),
        ("timestamp, utilization.gpu, memory.used, power.draw", "34 %, 17304 MiB, 71.06 W"),
        ("timestamp, utilization.gpu, memory.used, power.draw", "34, 17304, 71.06"),
        ("timestamp,utilization.gpu [%],memory.used [MiB],power.draw [W]", "34,17304,71.06"),
        (
            '"timestamp","utilization.gpu [%]","memory.used [MiB]","power.draw [W]"',
            '"34 %","17304 MiB","71.06 W"',
        ),
    ],
)
def test_with_and_without_units(tmp_path: Path, head: str, cells: str) -> None:
    comma = ", " if ", " in cells else ","
    batch = read(log(f"2026/01/01 00:00:00.000{comma}{cells}", head=head), tmp_path)
    frame = samples(batch)
    assert frame["gpu_util"][0] == 0.34 and frame["mem_bytes"][0] == 17304 * 2**20
    assert frame["power_w"][0] == 71.06
    assert frame["gpu_id"][0] == "smi:0"


def test_semicolons_and_decimal_commas(tmp_path: Path) -> None:
    head = "timestamp;index;power.draw [W]"
    batch = read(log("2026/01/01 00:00:00;0;71,5", "2026/01/01 00:00:01;0;1,125", head=head), tmp_path)
    assert list(samples(batch)["power_w"]) == [71.5, 1.125]


def test_missing_is_null_and_counted_and_never_zero(tmp_path: Path) -> None:
    rows = [
        row(0, util="[N/A]", power="[Not Supported]"),
        row(1, util="9223372036854775794 %"),
        row(2, mem=""),
    ]
    batch = read(log(*rows), tmp_path)
    frame = samples(batch)
    assert frame["gpu_util"].isna().tolist() == [True, True, False]
    assert frame["mem_bytes"].isna().tolist() == [False, False, True]
    assert batch.facts["missing_cells"] == 4
    assert batch.facts["missing_cells[utilization.gpu [%]]"] == 2
    assert not batch.set_aside
    assert batch.facts["util_mean_by_row[gpu_util]"] == 0.34


def test_bad_cells_are_set_aside_with_their_line_and_the_row_stays(tmp_path: Path) -> None:
    batch = read(log(row(0), row(1, util="101 %"), row(2, power="much"), row(3, mem="12 W")), tmp_path)
    found = [(s.line, s.column, s.text.strip()) for s in batch.set_aside]
    assert found == [
        (3, "utilization.gpu [%]", "101 %"),
        (4, "power.draw [W]", "much"),
        (5, "memory.used [MiB]", "12 W"),
    ]
    assert (batch.records, batch.stored) == (4, 4)
    assert samples(batch)["gpu_util"].isna().tolist() == [False, True, False, False]
    assert batch.facts["missing_cells"] == 0


def test_bad_cells_in_the_bulk_path_have_the_same_lines(tmp_path: Path) -> None:
    body = [row(k % 60, k % 7) for k in range(3000)]
    for at in (10, 1500, 2999):
        body[at] = row(at % 60, at % 7, util="130 %")
    body[1499] = "2026/01/01, 3"
    body.insert(700, HEAD)
    source = spool_bytes(log(*body).encode(), "smi.csv", tmp_path)
    layout = read_layout(source)
    found = []
    for bulk_from in (0, 1 << 60):
        con = connect(tmp_path)
        rows = load_gpu_rows(con, source, layout, _columns(layout), bulk_from_bytes=bulk_from)
        found.append((rows.set_aside, rows.missing, rows.gpus, rows.counts))
        con.close()
    assert found[0] == found[1]
    assert sorted((s.line, s.column or "") for s in found[0][0]) == [
        (12, "utilization.gpu [%]"),
        (1502, ""),
        (1503, "utilization.gpu [%]"),
        (3002, "utilization.gpu [%]"),
    ]


def test_many_bad_cells_are_summarised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu_odd, "LISTED", 5)
    batch = read(log(*(row(k % 60, k // 60, util="130 %") for k in range(300))), tmp_path)
    assert [s.line for s in batch.set_aside] == [2, 3, 4, 5, 6]
    assert any("300 cells of 'utilization.gpu [%]'" in text for text in batch.warnings)
    assert any("first 5 of 300" in text for text in batch.warnings)


def test_repeated_header_cut_tail_ragged_rows_and_text_lines(tmp_path: Path) -> None:
    lost = "Unable to determine the device handle for GPU 0000:01:00.0: GPU is lost"
    text = log(row(0), HEAD, row(1), "2026/01/01 00:00:02.000, 0, GPU-0, 34 %", lost, row(3) + ", 1, 2")
    batch = read(text + "2026/01/01 00:00:04.000, 0, GP", tmp_path)
    facts = batch.facts
    assert (facts["header_repeated"], facts["partial_last_line"], facts["ragged_rows"]) == (1, 1, 3)
    assert (batch.records, batch.stored) == (5, 3)
    assert sorted(s.line for s in batch.set_aside) == [6, 7]
    assert samples(batch)["power_w"].isna().tolist() == [False, False, True]
    assert facts["missing_cells"] == 0
    assert facts["gpus"] == 1
    assert any("Line 8, the last, is cut in the middle of a row" in text for text in batch.warnings)


def test_duplicate_samples_keep_the_first(tmp_path: Path) -> None:
    batch = read(log(row(0), row(1, util="10 %"), row(1, util="90 %"), row(2)), tmp_path)
    assert list(samples(batch)["gpu_util"]) == [0.34, 0.1, 0.34]
    assert batch.ignored == {"duplicate sample": 1}
    assert (batch.records, batch.stored) == (4, 3)


def test_power_is_the_first_column_with_a_number(tmp_path: Path) -> None:
    head = "timestamp, index, power.draw [W], power.draw.average [W], power.draw.instant [W]"
    batch = read(log("2026/01/01 00:00:00, 0, [N/A], 70.5, 90", head=head), tmp_path)
    assert samples(batch)["power_w"][0] == 70.5
    assert batch.facts["power_mean_w_by_row"] == 70.5
    assert batch.facts["missing_cells"] == 1


def test_identity_uuid_then_index_then_bus_then_one(tmp_path: Path) -> None:
    stamp = "2026/01/01 00:00:00"
    head = "timestamp, index, pci.bus_id, utilization.gpu [%]"
    batch = read(log(f"{stamp}, 0, A, 1", f"{stamp}, 1, A, 2", head=head), tmp_path, host="n1")
    assert batch.tables["gpus"]["gpu_id"].tolist() == ["n1:0", "n1:1"]
    assert any("2 GPUs by index but 1 by bus id" in text for text in batch.warnings)
    assert batch.facts["util_mean_by_row[gpu_util|1]"] == 0.02
    head = "timestamp, pci.bus_id, utilization.gpu [%]"
    batch = read(log(f"{stamp}, A, 1", f"{stamp}, B, 2", head=head), tmp_path)
    assert batch.tables["gpus"]["gpu_id"].tolist() == ["smi:A", "smi:B"]
    head = "timestamp, name, utilization.gpu [%]"
    batch = read(log(f"{stamp}, X, 1", head=head), tmp_path, run="r", platform="h100-sxm")
    gpus = batch.tables["gpus"].to_dict("records")[0]
    assert (gpus["gpu_id"], gpus["model"], gpus["run"], gpus["platform"]) == ("smi:0", "X", "r", "h100-sxm")


def test_a_row_that_names_no_gpu_is_not_another_gpu(tmp_path: Path) -> None:
    head = "timestamp, utilization.gpu [%], index"
    rows = [f"2026/01/01 00:00:0{k}, {k}, 0" for k in range(3)]
    batch = read(log(*rows, "2026/01/01 00:00:04, 5", head=head), tmp_path)
    assert batch.facts["gpus"] == 1
    assert batch.ignored == {"row names no GPU": 1}
    assert batch.stored == 3


def test_time_zones(tmp_path: Path) -> None:
    text = log("2026/07/01 12:00:00.000, 0, GPU-0, 1 %, 1 MiB, 1 W")
    unknown = read(text, tmp_path)
    assert unknown.facts["time_first_epoch_s"] is None
    assert (unknown.timezone, unknown.timezone_assumed) == ("UTC", True)
    assert any("taken as UTC" in text for text in unknown.warnings)
    assert str(samples(unknown)["ts"][0]) == "2026-07-01 12:00:00"
    berlin = read(text, tmp_path, timezone="Europe/Berlin")
    assert str(samples(berlin)["ts"][0]) == "2026-07-01 10:00:00"
    assert berlin.facts["time_first_epoch_s"] == 1782900000.0
    assert berlin.timezone == "Europe/Berlin"
    assert berlin.facts["time_zone"] is None


def test_every_fact_without_a_key_is_there(tmp_path: Path) -> None:
    batch = read(log(row(0)), tmp_path)
    assert set(blank_facts()) <= set(batch.facts)
    assert batch.facts["util_mean_by_time[gpu_util]"] is None
    assert batch.facts["step_seconds_sum"] is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HEAD + "\n", "no data rows"),
        (
            log("2026/01/01 00:00:00, 1, 2", head="timestamp, power.draw [W], power.draw [W]"),
            "appears 2 times",
        ),
        ("a,b\n1,2\n", "No header"),
        (
            log(*(f"03.01.2026 15:36, {k}" for k in range(12000)), head="timestamp, utilization.gpu [%]"),
            "no readable time stamp",
        ),
    ],
)
def test_refusals(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(UnreadableFileError, match=message) as caught:
        read(text, tmp_path)
    assert "smi.csv" in str(caught.value) and caught.value.remedy


def test_no_time_column_gives_means_but_no_samples(tmp_path: Path) -> None:
    batch = read(log("0, 10 %", "1, 20 %", head="index, utilization.gpu [%]"), tmp_path)
    assert batch.facts["util_mean_by_row[gpu_util]"] == pytest.approx(0.15)
    assert (batch.stored, batch.ignored) == (0, {"no time column": 2})
    assert batch.gpu_parts == [] and batch.facts["span_s"] is None


@pytest.mark.parametrize(
    ("head", "low", "high"),
    [
        (HEAD, 0.9, 1),
        (
            "timestamp, name, utilization.gpu [%], utilization.memory [%], memory.used [MiB], power.draw [W]",
            0.9,
            1,
        ),
        ("timestamp,gpu_memory_used_mb,gpu_utilization_pct,power_draw_w", 0, 0.2),
        ("timestamp, gpu_name, gpu_bus_id, pid, process_name, used_gpu_memory [MiB]", 0, 0.3),
        ("step,loss,reward", 0, 0.1),
        ("Time,utilization.gpu,alpha,beta,gamma,delta", 0, 0.3),
    ],
)
def test_sniff(tmp_path: Path, head: str, low: float, high: float) -> None:
    sniff = NvidiaSmiReader().sniff(spool_bytes(f"{head}\n1,2,3\n".encode(), "any.txt", tmp_path))
    assert low <= sniff.confidence <= high and sniff.why


def test_without_a_header_a_person_names_the_columns(tmp_path: Path) -> None:
    rows = "2026/01/01 00:00:00.000, 0, 34 %, 100 MiB\n2026/01/01 00:00:01.000, 0, 50 %, [N/A]\n"
    with pytest.raises(UnreadableFileError, match="No header"):
        read(rows, tmp_path)
    theirs = {"1": "timestamp", "2": "index", "3": "utilization.gpu [%]", "4": "memory.used [MiB]"}
    ours = {"1": "ts", "2": "gpu_index", "3": "gpu_util [%]", "4": "mem_bytes [MiB]"}
    for columns in (theirs, ours):
        batch = read(rows, tmp_path, columns=columns)
        assert list(samples(batch)["gpu_util"]) == [0.34, 0.5]
        assert batch.facts["memory_peak_bytes"] == 100 * 2**20
        assert (batch.records, batch.facts["missing_cells"]) == (2, 1)


def test_a_renamed_and_an_ignored_column(tmp_path: Path) -> None:
    head = "timestamp, index, utilization.gpu [%], power.draw [W], my watts"
    text = log("2026/01/01 00:00:00, 0, 34, 70, 90", head=head)
    batch = read(text, tmp_path, columns={"my watts": "power_w [W]", "utilization.gpu [%]": "ignore"})
    assert samples(batch)["power_w"][0] == 90
    assert batch.facts["util_mean_by_row[gpu_util]"] is None
    assert "utilization.gpu [%]" in batch.unmapped


def test_a_list_of_processes_is_refused_with_words(tmp_path: Path) -> None:
    text = (
        "timestamp, gpu_bus_id, pid, process_name, used_gpu_memory [MiB], power.draw [W]\na, b, 1, c, 2, 3\n"
    )
    with pytest.raises(UnreadableFileError, match="list of processes"):
        read(text, tmp_path)


@pytest.mark.parametrize(
    ("first", "second", "rows"),
    [
        (HEAD, HEAD.replace("index, uuid", "uuid, index"), [row(0), row(1)]),
        ("index, utilization.gpu [%]", "utilization.gpu [%], index", ["0, 34 %", "1, 50 %"]),
    ],
)
def test_columns_that_change_on_the_way_are_refused(
    tmp_path: Path, first: str, second: str, rows: list[str]
) -> None:
    with pytest.raises(UnreadableFileError, match="columns change") as caught:
        read(log(rows[0], second, rows[1], head=first), tmp_path)
    assert "line 3" in caught.value.where


def test_mig_mode_is_not_measured(tmp_path: Path) -> None:
    head = "timestamp, index, mig.mode.current, utilization.gpu [%], power.draw [W]"
    rows = ["2026/01/01 00:00:00, 0, Enabled, 0 %, 90 W", "2026/01/01 00:00:00, 1, Disabled, 40 %, 90 W"]
    batch = read(log(*rows, head=head), tmp_path)
    assert samples(batch)["gpu_util"].isna().tolist() == [True, False]
    assert batch.facts["util_mean_by_row[gpu_util]"] == 0.4
    assert batch.facts["missing_cells[utilization.gpu [%]]"] == 1
    assert any("MIG is on" in text for text in batch.warnings)


def test_ticks_of_eight_gpus_with_jitter(tmp_path: Path) -> None:
    rows = [
        f"2026/01/01 00:00:{second:02d}.{100 + 23 * gpu:03d}, {gpu}, GPU-{gpu}, {gpu} %, 1 MiB, 1 W"
        for second in range(4)
        for gpu in range(8)
    ]
    batch = read(log(*rows), tmp_path)
    assert (batch.facts["gap_median_s"], batch.facts["gap_max_s"]) == (1, 1)
    assert batch.facts["gpu_hours"] == pytest.approx(8 * 3 / 3600)
    assert batch.facts["util_mean_by_time[gpu_util]"] == pytest.approx(0.035)


@pytest.mark.parametrize("header", ["clocks.current.sm [MHz]", "clocks.sm [MHz]"])
def test_clock_aliases(tmp_path: Path, header: str) -> None:
    batch = read(
        log("2026/01/01 00:00:00, 5 %, 1980 MHz", head=f"timestamp, utilization.gpu [%], {header}"), tmp_path
    )
    assert samples(batch)["sm_clock_mhz"][0] == 1980


def test_the_host_names_the_gpus(tmp_path: Path) -> None:
    text = log("2026/01/01 00:00:00, 3, 5 %", head="timestamp, index, utilization.gpu [%]")
    assert read(text, tmp_path, name="node-12.csv").tables["gpus"]["gpu_id"].tolist() == ["node-12:3"]
    gpus = read(text, tmp_path, host="a1").tables["gpus"].to_dict("records")[0]
    assert (gpus["gpu_id"], gpus["host"]) == ("a1:3", "a1")


def test_a_column_gpu_over_bare_rows_is_the_index(tmp_path: Path) -> None:
    text = (
        "timestamp,gpu,utilization.gpu [%],power.draw [W]\n"
        "2026/08/01 10:00:00.000, 0, 50, 200\n2026/08/01 10:00:00.005, 1, 70, 210\n"
        "2026/08/01 10:00:05.000, 0, 30, 100\n2026/08/01 10:00:05.005, 1, 90, 110\n"
    )
    source = spool_bytes(text.encode(), "metrics.csv", tmp_path)
    facts = NvidiaSmiReader().read(source, Choices(timezone="UTC"), tmp_path).facts
    assert facts["gpus"] == 2
    assert facts["util_mean_by_row[gpu_util|1]"] == 0.8
    assert facts["util_mean_by_time[gpu_util]"] == pytest.approx(0.6)
