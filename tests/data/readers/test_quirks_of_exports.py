"""Quirks of exports that the tests of single readers do not show: each on a file of its own."""

import json
from pathlib import Path

import pytest

from data.arrival.spool import spool_bytes
from data.readers import choose
from data.readers.base import Batch, Choices
from tests.data.readers.gpu_files import samples

T0 = 1767225600


def read(text: str, folder: Path, name: str, expect: str, **choices: str) -> Batch:
    source = spool_bytes(text.encode(), name, folder)
    reader = choose(source, Choices(**choices))  # type: ignore[arg-type]
    assert reader.format == expect
    batch = reader.read(source, Choices(**choices), folder)  # type: ignore[arg-type]
    batch.reconcile()
    return batch


def test_memory_that_ray_calls_bytes_is_mib(tmp_path: Path) -> None:
    labels = {"__name__": "ray_node_gram_used", "GpuIndex": "0", "ip": "10.0.0.1"}
    series = [{"metric": labels, "values": [[T0, "70000"], [T0 + 15, "71000"]]}]
    answer = {"status": "success", "data": {"resultType": "matrix", "result": series}}
    batch = read(json.dumps(answer), tmp_path, "ray.json", "prometheus_query_range")
    assert samples(batch)["mem_bytes"].tolist() == [70_000 * 2**20, 71_000 * 2**20]


def test_a_quoted_gpu_name_with_a_comma_is_one_cell(tmp_path: Path) -> None:
    text = (
        "timestamp, name, index, utilization.gpu [%]\n"
        '2026/01/01 00:00:00.000, "NVIDIA A100, SXM4", 0, 34 %\n'
        '2026/01/01 00:00:01.000, "NVIDIA A100, SXM4", 0, 36 %\n'
    )
    batch = read(text, tmp_path, "smi.csv", "nvidia_smi_query_csv", timezone="UTC")
    assert batch.facts["gpu_model"] == "NVIDIA A100, SXM4"
    assert samples(batch)["gpu_util"].tolist() == [0.34, 0.36]


def test_an_unused_reservation_under_the_newer_column_names(tmp_path: Path) -> None:
    text = (
        "BilledCost,EffectiveCost,ListCost,ContractedCost,BillingCurrency,ChargeCategory,ChargePeriodStart,"
        "ChargePeriodEnd,ServiceName,ServiceProviderName,CapacityReservationStatus,CapacityReservationId\n"
        "10,7.5,12,10,USD,Usage,2026-01-01T00:00:00Z,2026-01-02T00:00:00Z,EC2,AWS,Unused,cr-1\n"
    )
    costs = read(text, tmp_path, "focus.csv", "focus_csv").tables["costs"]
    assert costs[["provider", "reservation_status", "reservation_id", "day"]].astype(
        str
    ).to_numpy().tolist() == [["AWS", "Unused", "cr-1", "2026-01-01"]]


def test_stamps_that_a_batch_wrote_at_once_are_no_clock(tmp_path: Path) -> None:
    row = "2026-09-11T13:38:14+08:00,64.8,53599"
    text = f"step,timestamp,perf/time_per_step,perf/total_num_tokens\n1,{row}\n2,{row}\n"
    batch = read(text, tmp_path, "training_metrics.csv", "flat_metrics_csv")
    attempt = batch.tables["attempts"].iloc[0]
    assert (attempt["elapsed_s"], attempt["elapsed_basis"]) == (129.6, "step_sum")
    assert batch.facts.get("run_seconds") is None


def test_a_history_in_utf_16_with_quoted_line_breaks(tmp_path: Path) -> None:
    rows = "".join(f'{n},{10 * n},{T0 + 10 * n},1.2e1,"two\r\nlines, one cell"\r\n' for n in (1, 2))
    text = f"_step,_runtime,_timestamp,perf/time_per_step,note\r\n{rows}"
    source = spool_bytes(text.encode("utf-16"), "history.csv", tmp_path)
    batch = choose(source, Choices()).read(source, Choices(), tmp_path)
    assert (source.encoding, batch.records, batch.stored) == ("utf-16le-bom", 2, 2)
    assert batch.tables["steps"]["step_s"].tolist() == [12.0, 12.0]


@pytest.mark.parametrize("word", ["unavailable", "Unknown"])
def test_other_words_for_no_value_are_no_number(word: str, tmp_path: Path) -> None:
    text = (
        "timestamp, index, utilization.gpu [%], power.draw [W]\n"
        f"2026/01/01 00:00:00.000, 0, {word}, 70 W\n2026/01/01 00:00:01.000, 0, 36 %, {word}\n"
    )
    batch = read(text, tmp_path, "smi.csv", "nvidia_smi_query_csv", timezone="UTC")
    assert samples(batch)["gpu_util"].isna().tolist() == [True, False]
    assert samples(batch)["power_w"].isna().tolist() == [False, True]
    assert [(one.line, one.text.strip()) for one in batch.set_aside] == [(2, word), (3, word)]
