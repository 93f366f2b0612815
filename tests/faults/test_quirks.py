"""Quirks of telemetry files that other tests do not show: each on a file of its own, with the right value."""

import math
from pathlib import Path

import pytest

from data.arrival.spool import spool_bytes
from data.errors import UserError
from data.readers import choose
from data.readers.base import Batch, Choices
from tests.data.readers.gpu_files import samples
from tests.data.readers.test_focus import HEADER, USED


def read(text: str, folder: Path, name: str, expect: str, **choices: str) -> Batch:
    source = spool_bytes(text.encode(), name, folder)
    reader = choose(source, Choices(**choices))  # type: ignore[arg-type]
    assert reader.format == expect
    batch = reader.read(source, Choices(**choices), folder)  # type: ignore[arg-type]
    batch.reconcile()
    return batch


def test_a_gpu_name_with_a_comma_does_not_shift_its_row(tmp_path: Path) -> None:
    text = (
        "timestamp, name, index, utilization.gpu [%], power.draw [W]\n"
        "2026/01/01 00:00:00.000, NVIDIA A100, SXM4, 0, 34 %, 71.06 W\n"
        "2026/01/01 00:00:01.000, NVIDIA A100, 0, 35 %, 72.06 W\n"
    )
    batch = read(text, tmp_path, "smi.csv", "nvidia_smi_query_csv", timezone="UTC")
    assert [one.reason for one in batch.set_aside] == ["6 fields where the header has 5"]
    assert samples(batch)["gpu_util"].tolist() == [0.35]


def test_hours_whose_columns_gained_a_suffix_belong_to_the_same_gpu(tmp_path: Path) -> None:
    text = (
        "Time,10.0.0.1-0,10.0.0.1-1,10.0.0.1-0.1\n"
        "2026-01-01 08:00:00+08:00,0.1,0.2,\n2026-01-01 08:00:15+08:00,,0.3,0.5\n"
    )
    frame = samples(read(text, tmp_path, "DCGM_FI_PROF_SM_ACTIVE.csv", "wide_metric_by_node"))
    assert frame["gpu_id"].tolist() == ["10.0.0.1:0", "10.0.0.1:0", "10.0.0.1:1", "10.0.0.1:1"]
    assert frame["sm_active"].tolist() == [0.1, 0.5, 0.2, 0.3]


def test_a_late_correction_counts_and_stays_findable(tmp_path: Path) -> None:
    late = USED.replace("10,7.5", "-4,-3", 1)
    text = f"{HEADER},ChargeClass\n{USED},\n{late},Correction\n"
    batch = read(text, tmp_path, "bill.csv", "focus_csv")
    costs = batch.tables["costs"]
    assert costs["charge_class"].tolist() == [None, "Correction"]
    assert math.fsum(costs["billed_cost"]) == batch.facts["billed_cost"] == 6.0


@pytest.mark.parametrize("size", [116, 10_240])
def test_a_file_of_zero_blocks_is_refused(size: int, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="NUL"):
        spool_bytes(bytes(size), "dcgm.csv", tmp_path)


def test_a_mostly_idle_gpu_keeps_its_zeros(tmp_path: Path) -> None:
    rows = "".join(f"2026-01-01T00:00:0{n}Z,0,{90 if n == 3 else 0}\n" for n in range(6))
    batch = read(f"timestamp,gpu_index,gpu_util_pct\n{rows}", tmp_path, "own.csv", "gpu_sampler_csv")
    assert batch.facts["util_mean_by_row[gpu_util]"] == pytest.approx(0.9 / 6)
    assert batch.facts["missing_cells"] == 0
