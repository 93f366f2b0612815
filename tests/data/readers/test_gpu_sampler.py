"""Somebody's own sampler: names with units, and everything that only looks like a GPU measure."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from data.arrival.spool import spool_bytes
from data.errors import UnreadableFileError
from data.gpu.legend import node_columns
from data.readers.base import Choices
from data.readers.gpu_sampler import GpuSamplerReader, measure_of
from data.readers.registry import choose
from tests.data.readers.gpu_files import check_real, read, real_files, samples, sureness

READER = GpuSamplerReader()


def test_percent_mib_and_watts(tmp_path: Path) -> None:
    text = (
        "timestamp,gpu_index,utilization_gpu_percent,gpu_memory_used_MiB,power_W,temperature_c,process_rss_mb\n"
        "2026-01-01T00:00:00+02:00,0,50,1024,100.5,40,900\n"
        "2026-01-01T00:00:02+02:00,0,100,2048,200.5,50,900\n"
        "2026-01-01T00:00:02+02:00,1,,2048,200.5,50,900\n"
    )
    batch = read(READER, text, tmp_path, host="n1")
    frame = samples(batch)
    assert list(frame["gpu_util"][:2]) == [0.5, 1.0]
    assert frame["gpu_util"].isna()[2]
    assert frame["mem_bytes"].max() == 2048 * 2**20
    assert frame["gpu_id"].unique().tolist() == ["n1:0", "n1:1"]
    assert batch.facts["time_zone"] == "+02:00"
    assert batch.facts["time_first_epoch_s"] == 1767218400.0
    assert batch.unmapped == ["process_rss_mb"]


def test_the_column_names_of_our_template_are_not_an_own_sampler(tmp_path: Path) -> None:
    """One column more, which names a unit of its own, does not make the format unclear."""
    end = "power_w,mem_used_bytes\n2026-01-01T00:00:00Z,0,0.5,300,1024\n"
    for head, name in (
        ("ts,gpu_id,gpu_util", "ipd_gpu_samples_csv"),
        ("ts,gpu_index,gpu_util", "ipd_gpu_samples_csv"),
        ("timestamp,gpu_index,gpu_util_pct", "gpu_sampler_csv"),
    ):
        source = spool_bytes(f"{head},{end}".encode(), "gpu.csv", tmp_path)
        assert choose(source, Choices()).format == name


def test_mb_means_mib(tmp_path: Path) -> None:
    text = "timestamp,gpu_memory_used_mb,gpu_util_pct\n1767225600.5,100,5\n"
    batch = read(READER, text, tmp_path)
    assert batch.facts["memory_peak_bytes"] == 100 * 2**20
    assert batch.facts["time_first_epoch_s"] == 1767225600.5


def test_a_percentage_without_a_unit_is_not_read_but_named(tmp_path: Path) -> None:
    text = "timestamp,gpu_utilization,gpu_power_w\n2026-01-01T00:00:00Z,0.9,100\n"
    batch = read(READER, text, tmp_path)
    assert any("'gpu_utilization' names no unit" in text for text in batch.warnings)
    assert "gpu_utilization" in batch.unmapped
    said = read(READER, text, tmp_path, columns={"gpu_utilization": "gpu_util [ratio]"})
    assert samples(said)["gpu_util"][0] == 0.9


@pytest.mark.parametrize(
    ("name", "measure"),
    [
        ("gpu_utilization_pct", "gpu_util"),
        ("GPU Util [%]", "gpu_util"),
        ("gpuUsagePercent", "gpu_util"),
        ("vram_used_gb", "mem_bytes"),
        ("gpuMemoryUsedMiB", "mem_bytes"),
        ("gpu_memory_total_mb", "mem_total_bytes"),
        ("power_draw_w", "power_w"),
        ("power_limit_watts", "power_limit_w"),
        ("sm_active_pct", "sm_active"),
        ("sm_clock_mhz", "sm_clock_mhz"),
        ("temperature_c", "temp_c"),
        ("utilization_memory_percent", "mem_util"),
        ("memory_utilization_percent", None),
        ("gpu_memory_utilization_pct", None),
        ("memory_pct", None),
        ("cpu_utilization_pct", None),
        ("system_power_w", None),
        ("total_power_w", None),
        ("gpu_power_total_w", None),
        ("total_board_power_w", "power_w"),
        ("cluster_gpu_util_pct", None),
        ("gpu_idle_power_w", None),
        ("job_power_w", None),
        ("total_memory_used_gb", None),
        ("process_rss_mb", None),
        ("gpu_util", None),
        ("gpu_memory_free_mb", None),
        ("sm_occupancy_pct", None),
        ("fan_pct", None),
        ("reward", None),
    ],
)
def test_names(name: str, measure: str | None) -> None:
    found = measure_of(name)
    assert (found.target if found else None) == measure


@given(st.text(max_size=30))
def test_any_name_is_judged(name: str) -> None:
    found = measure_of(name)
    assert found is None or found.unit


def test_refusal_and_sniff(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFileError, match="GPU measure"):
        read(READER, "timestamp,loss\n2026-01-01T00:00:00Z,1\n", tmp_path)
    assert sureness(READER, "timestamp,gpu_util_pct,gpu_power_w\n1,2,3\n", tmp_path) == 0.9
    assert sureness(READER, "timestamp,gpu0_util_pct,gpu_util_pct,gpu_usage_pct\n", tmp_path) < 0.5
    assert sureness(READER, "timestamp,step,reward,gpu_util_pct,gpu_power_w\n", tmp_path) < 0.5
    assert sureness(READER, "timestamp,pid,gpu_util_pct,gpu_power_w\n", tmp_path) < 0.2
    assert sureness(READER, "timestamp,cpu_util_pct,power_w\n", tmp_path) == 0
    assert sureness(READER, "timestamp, utilization.gpu [%], power.draw [W]\n", tmp_path) == 0


@pytest.mark.parametrize("name", real_files("rl/gpu_resource"))
def test_real_files(name: str, tmp_path: Path) -> None:
    check_real(READER, name, tmp_path)


WIDE = (
    "cpu_pct,gpu0_mem_used_gib,gpu0_power_limit_w,gpu0_power_w,gpu0_util_gpu_pct,gpu0_util_mem_pct,"
    "gpu1_mem_used_gib,gpu1_power_limit_w,gpu1_power_w,gpu1_util_gpu_pct,gpu1_util_mem_pct,iso,ts\n"
    "9,10.5,500,300,100,20,12,500,100,0,4,2026-01-01T08:00:00,1767225600.25\n"
    "9,11.5,500,200,50,10,12,500,120,,2,2026-01-01T08:00:10,1767225610.25\n"
    "9,11.5,500,100,0,0,12,500,140,0,0,2026-01-01T08:00:20,1767225620.25\n"
)


def test_columns_of_numbered_gpus_are_gpus(tmp_path: Path) -> None:
    batch = read(READER, WIDE, tmp_path, host="n1")
    facts = batch.facts
    assert sureness(READER, WIDE, tmp_path / "s") >= 0.9
    assert (facts["format"], facts["gpus"], batch.stored) == ("gpu_sampler_csv", 2, 3)
    assert facts["util_mean_by_row[gpu_util]"] == pytest.approx((1 + 0.5 + 0 + 0 + 0) / 5)
    assert facts["util_mean_by_row[gpu_util|1]"] == 0.0
    assert facts["util_mean_by_row[mem_util]"] == pytest.approx((0.2 + 0.1 + 0.04 + 0.02) / 6)
    assert facts["util_mean_by_time[gpu_util]"] == pytest.approx((10 + 5) / 30)
    assert facts["power_mean_w_by_row"] == pytest.approx(160)
    assert facts["memory_peak_bytes"] == 12 * 2**30
    assert facts["missing_cells"] == 1
    assert sorted(set(samples(batch)["gpu_id"])) == ["n1:0", "n1:1"]


def test_the_epoch_wins_over_local_time_beside_it(tmp_path: Path) -> None:
    batch = read(READER, WIDE, tmp_path, timezone="UTC")
    assert batch.facts["time_first_epoch_s"] == 1767225600.25
    assert "iso" in batch.unmapped


def test_utc_alone_is_a_time(tmp_path: Path) -> None:
    text = "utc,gpu_util_pct,gpu_mem_used_mib\n2026-01-01T00:00:00,50,1\n2026-01-01T00:01:00,70,2\n"
    batch = read(READER, text, tmp_path)
    assert batch.facts["time_first_epoch_s"] == 1767225600.0
    assert sureness(READER, text, tmp_path / "s") >= 0.9


def test_memory_of_the_host_is_not_the_gpus(tmp_path: Path) -> None:
    text = (
        "timestamp,cpu_pct,mem_used_mb,gpu_util_pct,gpu_mem_used_mb\n"
        "2026-01-01T00:00:00Z,10,60000,50,800\n2026-01-01T00:00:10Z,10,61000,60,900\n"
    )
    batch = read(READER, text, tmp_path)
    assert sureness(READER, text, tmp_path / "s") >= 0.9
    assert batch.facts["memory_peak_bytes"] == 900 * 2**20
    assert "mem_used_mb" in batch.unmapped
    alone = text.replace(",gpu_mem_used_mb", "").replace(",800", "").replace(",900", "")
    assert read(READER, alone, tmp_path / "b").facts["memory_peak_bytes"] is None


def test_utilization_of_a_row_that_names_its_gpu(tmp_path: Path) -> None:
    text = (
        "timestamp,gpu_index,memory_used_mb,utilization_pct\n"
        "2026-01-01T00:00:00Z,0,100,80\n2026-01-01T00:00:00Z,1,100,60\n"
    )
    facts = read(READER, text, tmp_path).facts
    assert (facts["util_mean_by_row[gpu_util]"], facts["gpus"]) == (0.7, 2)


HOSTS = (
    "timestamp,hostname,uptime_s,gpu0_w,gpu0_util_pct,gpu1_w,gpu1_util_pct\n"
    "2026-03-01T10:00:00Z,n7,1000,100,50,200,80\n"
    "2026-03-01T10:00:00Z,n8,2000,300,10,,\n"
    "2026-03-01T10:00:10Z,n7,1010,120,60,220,90\n"
)


def test_columns_of_numbered_gpus_on_several_hosts(tmp_path: Path) -> None:
    batch = read(READER, HOSTS, tmp_path)
    facts = batch.facts
    assert sureness(READER, HOSTS, tmp_path / "s") >= 0.9
    assert (batch.stored, facts["hosts"], facts["missing_cells"]) == (3, 2, 2)
    assert facts["power_mean_w_by_row"] == pytest.approx((100 + 200 + 300 + 120 + 220) / 5)
    assert facts["util_mean_by_row[gpu_util]"] == pytest.approx((0.5 + 0.8 + 0.1 + 0.6 + 0.9) / 5)
    assert {"n7:0", "n7:1", "n8:0"} <= set(samples(batch)["gpu_id"])
    assert batch.warnings == []
    assert facts["gpus"] == 3


def test_measures_of_numbered_gpus_are_no_nodes() -> None:
    assert node_columns(["gpu0_w", "gpu0_mib", "gpu1_w", "gpu1_mib"]) is None
    assert node_columns(["gpu01", "gpu02-3"]) is not None


def test_use_of_a_numbered_gpu_without_a_unit_is_told(tmp_path: Path) -> None:
    batch = read(READER, "ts,gpu0_w,gpu0_util\n1772359200,100,50\n1772359210,120,60\n", tmp_path, host="n1")
    assert (batch.facts["power_mean_w_by_row"], batch.facts.get("util_mean_by_row[gpu_util]")) == (110, None)
    assert [note for note in batch.warnings if "'gpu0_util' names no unit" in note]
