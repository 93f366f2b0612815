"""Scrapes of GPU exporters: labels, times, MIG instances, units, and lines that are no samples."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from data.errors import UnreadableFileError
from data.parse.prom_series import parse_labels
from data.readers.prometheus_text import PrometheusTextReader
from tests.data.readers.gpu_files import check_real, read, real_files, samples, sureness

READER = PrometheusTextReader()


def line(metric: str, value: object, gpu: int = 0, tail: str = "", **more: str) -> str:
    labels = {"gpu": str(gpu), "UUID": f"GPU-{gpu}aaa", "Hostname": "n1", "modelName": "NVIDIA H100"} | more
    inner = ",".join(f'{name}="{text}"' for name, text in labels.items())
    return f"{metric}{{{inner}}} {value}{tail}\n"


UTIL, POWER, SM = "DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_DEV_POWER_USAGE", "DCGM_FI_PROF_SM_ACTIVE"


def test_one_scrape_gives_means_and_no_place_in_time(tmp_path: Path) -> None:
    text = f"# HELP {UTIL} Utilisation\n# TYPE {UTIL} gauge\n" + line(UTIL, 40) + line(UTIL, 80, gpu=1)
    text += line("DCGM_FI_DEV_POWER_MGMT_LIMIT", 700) + line("DCGM_FI_DEV_XID_ERRORS", 0, gpu=2)
    batch = read(READER, text, tmp_path)
    facts = batch.facts
    assert sureness(READER, text, tmp_path / "b") >= 0.9
    assert (batch.records, batch.stored, facts["gpus"], facts["hosts"]) == (4, 0, 3, 1)
    assert facts["util_mean_by_row[gpu_util]"] == pytest.approx(0.6)
    assert facts["util_mean_by_row[gpu_util|1]"] == pytest.approx(0.8)
    assert facts["gpu_model"] == "NVIDIA H100"
    assert facts.get("power_mean_w_by_row") is None
    assert facts.get("span_s") is None and facts.get("time_first_epoch_s") is None
    assert batch.ignored == {"no time column": 3, "no known GPU measure: map the column": 1}


@pytest.mark.parametrize(
    "stamped",
    [
        lambda s, text: text.replace("\n", f" {1767225600000 + 1000 * s}\n"),
        lambda s, text: text.replace("\n", f" {1767225600 + s}.0\n"),
        lambda s, text: f"{1767225600 + s}\t{text}",
        lambda s, text: f"# scraped at 2026-01-01T00:00:{s:02d}Z\n{text}# EOF\n",
        lambda s, text: f"{1767225600 + s}\n{text}",
    ],
    ids=["milliseconds", "openmetrics seconds", "epoch first", "heading", "bare epoch"],
)
def test_several_scrapes_with_stamps_become_samples(stamped, tmp_path: Path) -> None:
    text = "".join(stamped(s, line(UTIL, s * 10)) + stamped(s, line(POWER, 300 + s)) for s in (0, 10, 20))
    batch = read(READER, text, tmp_path)
    frame = samples(batch)
    assert frame["gpu_id"].tolist() == ["GPU-0aaa"] * 3
    assert frame["gpu_util"].fillna(-1).tolist() == [0.0, 1.0, -1]
    assert frame["power_w"].tolist() == [300.0, 310.0, 320.0]
    assert frame["dt_s"].tolist() == [10, 10, 0]
    assert batch.facts["time_first_epoch_s"] == 1767225600.0
    assert batch.facts["span_s"] == 20.0
    assert [one.reason for one in batch.set_aside] == ["a percentage outside 0..100"]
    assert (batch.records, batch.stored) == (6, 5)


def test_headings_without_a_zone_are_placed_by_the_person(tmp_path: Path) -> None:
    text = "".join(f"# 2026-01-01 01:00:{s:02d}\n" + line(UTIL, 50) for s in (0, 15))
    assert read(READER, text, tmp_path).facts.get("time_first_epoch_s") is None
    placed = read(READER, text, tmp_path / "b", timezone="+01:00")
    assert placed.facts["time_first_epoch_s"] == 1767225600.0
    assert placed.stored == 2


def test_units_of_dcgm(tmp_path: Path) -> None:
    stamp = " 1767225600000"
    values = {
        "DCGM_FI_DEV_FB_USED": 1024, "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION": 5_000_000, SM: 0.25,
        "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE": 0.125, "DCGM_FI_PROF_DRAM_UTIL_RATIO": 0.5,
        "DCGM_FI_DEV_BOARD_POWER_WATTS": 612.5, "DCGM_FI_DEV_MEM_COPY_UTIL": 7, UTIL: 9,
    }  # fmt: skip
    batch = read(READER, "".join(line(name, v, tail=stamp) for name, v in values.items()), tmp_path)
    row = samples(batch).iloc[0]
    assert row["mem_bytes"] == 2**30
    assert row["energy_j"] == 5000.0
    assert (row["sm_active"], row["tensor_active"], row["dram_active"]) == (0.25, 0.125, 0.5)
    assert (row["power_w"], row["mem_util"], row["gpu_util"]) == (612.5, 0.07, 0.09)
    assert batch.stored == 8


@pytest.mark.parametrize(
    ("values", "mean", "refused"),
    [(("97", "3"), 0.5, 0), (("0.97", "0.03"), 0.5, 0), (("0", "1"), 0.0, 1), (("0", "0"), 0.0, 0)],
)
def test_a_ratio_by_name_that_may_be_percent(
    values: tuple[str, str], mean: float, refused: int, tmp_path: Path
) -> None:
    name = "DCGM_FI_DEV_GPU_UTIL_RATIO"
    batch = read(READER, "".join(line(name, v, gpu=i) for i, v in enumerate(values)), tmp_path)
    assert batch.facts["util_mean_by_row[gpu_util]"] == pytest.approx(mean)
    assert len(batch.set_aside) == refused
    assert "percent" in batch.set_aside[0].reason if refused else True


def test_mig_instances_are_no_gpus_and_their_zero_no_measurement(tmp_path: Path) -> None:
    text = line(UTIL, 0, GPU_I_ID="3", GPU_I_PROFILE="1g.10gb") + line(SM, 1.7, GPU_I_ID="3")
    text += line(UTIL, 60, gpu=1, GPU_I_ID="", GPU_I_PROFILE="")
    batch = read(READER, text, tmp_path)
    assert batch.facts["gpus"] == 2
    assert batch.facts["util_mean_by_row[gpu_util]"] == pytest.approx(0.6)
    assert batch.facts.get("util_mean_by_row[sm_active]") is None
    assert batch.ignored["MIG instance, not a whole GPU"] == 2
    assert not batch.set_aside


def test_a_new_pod_on_the_same_gpu_is_the_same_gpu(tmp_path: Path) -> None:
    text = line(UTIL, 10, tail=" 1767225600000", exported_pod="train-a", pod="exporter-x")
    text += line(UTIL, 30, tail=" 1767225615000", exported_pod="train-b", pod="exporter-y")
    text += line(UTIL, 30, tail=" 1767225615000", exported_pod="train-c", pod="exporter-y")
    batch = read(READER, text, tmp_path)
    assert batch.facts["gpus"] == 1
    assert (batch.stored, batch.ignored["duplicate sample"]) == (2, 1)
    told = " ".join(batch.warnings)
    assert "train-a, train-b, train-c" in told and "exporter" not in told


def test_hosts_tell_equal_indices_apart_where_no_uuid_is_given(tmp_path: Path) -> None:
    text = "".join(f'{UTIL}{{gpu="0",Hostname="{host}"}} 50 1767225600000\n' for host in ("a", "b"))
    batch = read(READER, text, tmp_path)
    assert sorted(samples(batch)["gpu_id"]) == ["a:0", "b:0"]
    assert batch.facts["hosts"] == 2


def test_a_series_of_a_host_alone_is_an_aggregate(tmp_path: Path) -> None:
    text = f'{UTIL}{{Hostname="a"}} 50 1767225600000\n' + line(UTIL, 20, tail=" 1767225600000")
    batch = read(READER, text, tmp_path)
    assert batch.facts["gpus"] == 1
    assert batch.ignored == {"names no GPU: an aggregate": 1}


@pytest.mark.parametrize("text", ["NaN", "+Inf", "-Inf", "9223372036854775794", "9.223372036854776e+18"])
def test_what_is_no_number_is_missing_and_not_zero(text: str, tmp_path: Path) -> None:
    batch = read(READER, line(UTIL, 50) + line(UTIL, text, gpu=1), tmp_path)
    assert batch.facts["missing_cells"] == 1
    assert batch.facts["util_mean_by_row[gpu_util]"] == pytest.approx(0.5)


def test_text_among_scrapes_a_broken_line_and_a_cut_tail(tmp_path: Path) -> None:
    broken = UTIL + '{gpu="1",UUID="x} 7 7 7\n'
    text = "SCRAPE_FAILED: timeout\n" + line(UTIL, 50) + broken + line(UTIL, 50)[:40]
    batch = read(READER, text, tmp_path)
    assert batch.records == 2 and batch.facts["partial_last_line"] == 1
    assert [(one.line, one.column) for one in batch.set_aside] == [(3, None)]
    assert any("SCRAPE_FAILED" in warning for warning in batch.warnings)


@pytest.mark.parametrize("value", ["1.2.3", "1_0", "0x1F", "12,5"])
def test_digits_that_make_no_number_are_set_aside(value: str, tmp_path: Path) -> None:
    batch = read(READER, line(UTIL, 50) + line(UTIL, value), tmp_path)
    assert [(one.line, one.reason) for one in batch.set_aside] == [(2, "not a sample line")]
    assert batch.facts["util_mean_by_row[gpu_util]"] == 0.5


def test_other_exporters(tmp_path: Path) -> None:
    text = 'nv_gpu_utilization{gpu_uuid="GPU-t1"} 0.5\n'
    text += 'ray_node_gpus_utilization{GpuIndex="0",ip="10.0.0.1"} 25\n'
    text += 'nvidia_smi_utilization_gpu_ratio{uuid="abc"} 0.75\n'
    text += 'dcgm_gpu_utilization{gpu="3",uuid="GPU-o"} 10\n'
    text += 'gpu_gfx_activity{gpu_id="0",hostname="m1",gpu_uuid="cc-1"} 88\n'
    facts = read(READER, text, tmp_path).facts
    assert facts["util_mean_by_row[gpu_util]"] == pytest.approx((0.5 + 0.25 + 0.75 + 0.1) / 4)
    assert facts["util_mean_by_row[gfx_activity]"] == pytest.approx(0.88)
    assert facts["gpus"] == 5


def test_promtool_dump_and_quoted_names(tmp_path: Path) -> None:
    text = f'{{__name__="{UTIL}",gpu="0",UUID="GPU-a"}} 97 1767225600000\n'
    text += f'{{"{UTIL}", gpu="0", UUID="GPU-a"}} 95 1767225615000\n'
    batch = read(READER, text, tmp_path)
    assert samples(batch)["gpu_util"].tolist() == [0.97, 0.95]


def test_a_metric_can_be_mapped_by_hand(tmp_path: Path) -> None:
    text = 'my_gpu_busy{gpu="0",host="a"} 0.5 1767225600000\n'
    batch = read(READER, text, tmp_path, columns={"my_gpu_busy": "gpu_util [ratio]"})
    assert samples(batch)["gpu_util"].tolist() == [0.5]
    assert read(READER, text, tmp_path / "b").ignored == {"no known GPU measure: map the column": 1}


def test_no_sample_line_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFileError):
        read(READER, "# HELP a b\n# EOF\n", tmp_path)


LABELS = st.dictionaries(
    st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,8}", fullmatch=True),
    st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\r"), max_size=12),
    max_size=5,
)


@given(LABELS)
def test_labels_survive_escaping(labels: dict[str, str]) -> None:
    def escape(text: str) -> str:
        return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")

    text = ",".join(f'{name}="{escape(value)}"' for name, value in labels.items())
    assert parse_labels(text) == labels


@given(st.text(max_size=60))
def test_any_text_is_a_label_list_or_none(text: str) -> None:
    found = parse_labels(text)
    assert found is None or all(isinstance(name, str) for name in found)


@pytest.mark.parametrize("name", real_files("gpu/dcgm_exporter"))
def test_real_files(name: str, tmp_path: Path) -> None:
    check_real(READER, name, tmp_path)


@pytest.mark.parametrize("cut", range(2, 30))
def test_a_cut_last_line_is_dropped_whatever_its_numbers_look_like(cut: int, tmp_path: Path) -> None:
    text = line(UTIL, 57, tail=" 1767225600000") + line(UTIL, 75, tail=" 1767225615000")
    batch = read(READER, text[:-cut], tmp_path)
    assert samples(batch)["gpu_util"].tolist() == [0.57]
    assert (batch.records, batch.facts["partial_last_line"]) == (1, 1)


def test_uuid_and_index_of_jobs_and_cpus_are_no_gpus(tmp_path: Path) -> None:
    text = (
        'ceems_compute_unit_cpu_usage_seconds_total{hostname="n1",manager="slurm",uuid="1009"} 121.9\n'
        'node_rapl_package_joules_total{hostname="n1",index="1"} 2582\n'
        'ceems_ipmi_dcmi_current_watts{hostname="n1"} 332\n'
        'ceems_compute_unit_gpu_index_flag{gpuuuid="GPU-f1",hostname="n1",index="0",uuid="1009"} 1\n'
        'DCGM_FI_DEV_POWER_USAGE{gpu="0",UUID="GPU-f1",Hostname="n1"} 300.5\n'
    )
    facts = read(READER, text, tmp_path).facts
    assert (facts["records"], facts["gpus"], facts["power_mean_w_by_row"]) == (5, 1, 300.5)
