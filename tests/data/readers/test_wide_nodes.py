"""Wide metrics by node or machine: measures named only outside, nodes without GPUs, zones row by row."""

from pathlib import Path

import pytest

from data.readers.container_metric import ContainerMetricReader
from data.readers.wide_nodes import MachineUtilReader, WideMetricReader, parse_zoned
from tests.data.readers.gpu_files import check_real, read, real_files, samples, sureness

WIDE, MACHINE, CONTAINER = WideMetricReader(), MachineUtilReader(), ContainerMetricReader()
GPU_WIDE = (
    "Time,10.0.0.1-0,10.0.0.1-1,10.0.0.2-0\n"
    "2026-01-01 08:00:00+08:00,10,20,\n2026-01-01 08:00:15+08:00,30,nan,50\n"
)


def test_columns_of_gpus_wait_for_the_measure(tmp_path: Path) -> None:
    batch = read(WIDE, GPU_WIDE, tmp_path, "GPU_UTIL.csv")
    assert (batch.stored, batch.gpu_parts) == (0, [])
    assert batch.ignored == {"the measure is named only by the file name: confirm it": 2}
    assert any("confirm" in warning for warning in batch.warnings)
    facts = batch.facts
    assert facts["util_mean_by_row[gpu_util]"] == pytest.approx(0.275)
    assert (facts["gpus"], facts["hosts"], facts["missing_cells"]) == (3, 2, 2)
    assert facts["time_zone"] == "+08:00" and facts["time_first_epoch_s"] == 1767225600.0


@pytest.mark.parametrize("columns", [{"*": "gpu_util [%]"}, {str(i): "gpu_util" for i in (2, 3, 4)}])
def test_a_confirmed_measure_is_stored(columns: dict[str, str], tmp_path: Path) -> None:
    batch = read(WIDE, GPU_WIDE, tmp_path, "GPU_UTIL.csv", columns=columns)
    frame = samples(batch)
    assert frame["gpu_id"].unique().tolist() == ["10.0.0.1:0", "10.0.0.1:1", "10.0.0.2:0"]
    assert frame["gpu_util"].fillna(-1).tolist() == [0.1, 0.3, 0.2, -1, -1, 0.5]
    assert batch.stored == 2


def test_a_full_metric_name_in_the_file_name_is_enough(tmp_path: Path) -> None:
    text = GPU_WIDE.replace("10,20,", "0.1,0.2,").replace("30,nan,50", "0.3,nan,0.5")
    batch = read(WIDE, text, tmp_path, "DCGM_FI_PROF_SM_ACTIVE.csv")
    assert samples(batch)["sm_active"].max() == 0.5
    assert batch.facts.get("util_mean_by_row[gpu_util]") is None


def test_cpu_columns_of_nodes_are_no_gpu_measure(tmp_path: Path) -> None:
    text = "Time,10.0.0.1,10.0.0.2\n2026-01-01 08:00:00+08:00,10,20\n"
    batch = read(WIDE, text, tmp_path, "NODE_CPU_UTILIZATION.csv")
    assert batch.facts["hosts"] == 2 and batch.facts.get("util_mean_by_row[gpu_util]") is None
    assert batch.ignored == {"no known GPU measure: map the column": 1}


def test_a_mean_over_a_node_is_no_gpu(tmp_path: Path) -> None:
    text = "Time,10.0.0.1,10.0.0.2\n2026-01-01 08:00:00+08:00,10,20\n"
    batch = read(WIDE, text, tmp_path, columns={"*": "gpu_util"})
    assert batch.stored == 0
    assert any("whole nodes" in warning for warning in batch.warnings)


def test_a_ratio_hint_that_values_contradict_gives_no_mean(tmp_path: Path) -> None:
    batch = read(WIDE, GPU_WIDE, tmp_path, "SM_ACTIVE.csv")
    assert batch.facts["util_mean_by_row[sm_active]"] is None
    assert not batch.set_aside


def test_wide_sniffing(tmp_path: Path) -> None:
    assert sureness(WIDE, GPU_WIDE, tmp_path) >= 0.9
    nodes = "Time,node01-0,node01-1,node02-0\n2026-01-01 08:00:00,1,2,3\n"
    assert sureness(WIDE, nodes, tmp_path / "b") >= 0.9
    assert sureness(WIDE, "Time,loss,reward1,lr2\n2026-01-01 08:00:00,1,2,3\n", tmp_path / "c") < 0.3
    assert sureness(WIDE, "Step,10.0.0.1\n1,2\n", tmp_path / "d") < 0.3


def test_machines_with_few_gpus_and_a_clock_that_is_put_back(tmp_path: Path) -> None:
    text = (
        "time,machineId,gpu0_util,gpu1_util,\n"
        "2017-11-05 01:59:00 PDT,m1,100,50,\n"
        "2017-11-05 01:00:00 PST,m1,20,NA,\n"
        "2017-11-05 01:01:00 PST,m1,40,70,\n"
        "2017-11-05 01:01:00 PST,m2,5,NA,\n"
        "2017-11-05 01:01:00 PST,m3,NA,NA,\n"
        "2017-11-05 01:01:00 CST,m3,1,2,\n"
    )
    assert sureness(MACHINE, text, tmp_path / "b") >= 0.9
    batch = read(MACHINE, text, tmp_path)
    frame = samples(batch)
    assert frame["gpu_id"].tolist() == ["m1:0"] * 3 + ["m1:1"] * 3 + ["m2:0"]
    assert frame["gpu_util"].fillna(-1).tolist() == [1, 0.2, 0.4, 0.5, -1, 0.7, 0.05]
    assert frame["dt_s"].tolist()[:3] == [60, 60, 0]
    assert (batch.facts["gpus"], batch.facts["hosts"]) == (3, 3)
    assert batch.facts["time_first_epoch_s"] == 1509872340.0
    assert batch.ignored == {"row without a cell of a GPU": 1}
    assert [one.line for one in batch.set_aside] == [7]


def test_a_percentage_beyond_100_is_set_aside_with_its_column(tmp_path: Path) -> None:
    text = "time,machineId,gpu0_util,gpu1_util\n2017-10-03 01:00:00 PDT,m1,20,104\n"
    batch = read(MACHINE, text, tmp_path)
    assert [(one.line, one.column, one.text) for one in batch.set_aside] == [(2, "gpu1_util", "104.0")]
    assert batch.stored == 1


def test_a_trailing_comma_in_rows_only(tmp_path: Path) -> None:
    text = "time,machineId,gpu0_util\n2017-10-03 01:00:00 PDT,m1,20,\n2017-10-03 01:01:00 PDT,m1,40,\n"
    batch = read(MACHINE, text, tmp_path)
    assert (batch.stored, batch.facts["ragged_rows"]) == (2, 2)
    assert batch.facts["util_mean_by_row[gpu_util]"] == pytest.approx(0.3)


@pytest.mark.parametrize(
    ("text", "offset"),
    [
        ("2017-10-03 01:00:00 PDT", "-07:00"),
        ("2017-12-03 01:00:00 PST", "-08:00"),
        ("2017-10-03T01:00:00Z", "+00:00"),
    ],
)
def test_zone_words(text: str, offset: str) -> None:
    stamp = parse_zoned(text)
    assert stamp is not None and stamp.offset == offset


@pytest.mark.parametrize("text", [None, "", "PDT", "2017-10-03 01:00:00 IST", "2017-10-03T01:00:00Z PDT"])
def test_zone_words_of_two_meanings_are_refused(text: str | None) -> None:
    assert parse_zoned(text) is None


CONTAINERS = (
    "value,timestamp_anon,container_ip\n50.0,1662858720.0,aa\n0.0,1662858720.0,bb\n100,1662858777.0,aa\n"
)


def test_container_values_wait_for_the_measure(tmp_path: Path) -> None:
    assert sureness(CONTAINER, CONTAINERS, tmp_path / "b") >= 0.9
    batch = read(CONTAINER, CONTAINERS, tmp_path, "pod_gpu_duty_cycle.csv")
    assert batch.stored == 0 and batch.facts["util_mean_by_row[gpu_util]"] == pytest.approx(0.5)
    assert batch.facts["gap_median_s"] == 57 and batch.facts["time_first_epoch_s"] is None
    assert any("anonymised" in warning for warning in batch.warnings)
    unknown = read(CONTAINER, CONTAINERS, tmp_path / "c", "values.csv")
    assert unknown.facts.get("util_mean_by_row[gpu_util]") is None
    assert unknown.facts["span_s"] == 57


def test_container_values_with_a_measure_are_stored(tmp_path: Path) -> None:
    text = CONTAINERS + "101,1662858800.0,aa\n1,1662858800.0,\n"
    batch = read(CONTAINER, text, tmp_path, columns={"value": "gpu_util [%]"})
    assert samples(batch)["gpu_util"].fillna(-1).tolist() == [0.5, 1.0, -1, 0.0]
    assert [(one.line, one.column) for one in batch.set_aside] == [(5, "value")]
    assert (batch.stored, batch.ignored) == (4, {"row without a cell of a GPU": 1})


@pytest.mark.parametrize("name", real_files("gpu/acmetrace_NODE", "gpu/alibaba_genai"))
def test_real_files(name: str, tmp_path: Path) -> None:
    check_real(WIDE if "acme" in name else CONTAINER, name, tmp_path)
