"""Grafana panel exports: units in cells, missing words, legends that name a GPU, panels of other things."""

from pathlib import Path

import pytest

from data.errors import UnreadableFileError
from data.gpu.legend import gpu_in_text
from data.readers.grafana import GrafanaJoinedReader, GrafanaSeriesReader, GrafanaSingleReader
from tests.data.readers.gpu_files import check_real, read, real_files, samples, sureness

JOINED, SINGLE, SERIES = GrafanaJoinedReader(), GrafanaSingleReader(), GrafanaSeriesReader()
T0 = 1767225600
UTIL = "DCGM_FI_DEV_GPU_UTIL"


def legend(metric: str, gpu: int, host: str = "a") -> str:
    return f'"{metric}{{gpu=""{gpu}"",Hostname=""{host}""}}"'


def joined(*rows: str, head: str) -> str:
    return "\n".join([f'"Time",{head}', *rows]) + "\n"


def test_selectors_as_legends_become_samples(tmp_path: Path) -> None:
    head = f'{legend(UTIL, 0)},{legend(UTIL, 1)},{legend("DCGM_FI_DEV_POWER_USAGE", 0)},"requests"'
    rows = [f"{T0}000,50,10,400,1", f"{T0 + 15}000,undefined,20,Infinity,2", f"{T0 + 30}000,70,30,,3"]
    batch = read(JOINED, joined(*rows, head=head), tmp_path)
    frame = samples(batch)
    assert sureness(JOINED, joined(*rows, head=head), tmp_path / "b") >= 0.9
    assert frame["gpu_id"].tolist() == ["a:0"] * 3 + ["a:1"] * 3
    assert frame["gpu_util"].fillna(-1).tolist() == [0.5, -1, 0.7, 0.1, 0.2, 0.3]
    assert frame["power_w"].fillna(-1).tolist() == [400, -1, -1, -1, -1, -1]
    assert (batch.records, batch.stored, batch.facts["missing_cells"]) == (3, 3, 3)
    assert batch.facts["time_first_epoch_s"] == T0
    assert batch.facts["series_mean[requests]"] == 2.0
    assert batch.unmapped == ["requests"]


def test_formatted_cells_have_their_own_units_and_local_times(tmp_path: Path) -> None:
    head = f"{legend('DCGM_FI_DEV_FB_USED', 0)},{legend(UTIL, 0)}"
    rows = ["2026-01-01 01:00:00,7.47 KiB,45.5%", "2026-01-01 01:00:15,567 B,100%"]
    text = joined(*rows, head=head)
    batch = read(JOINED, text, tmp_path, timezone="+01:00")
    frame = samples(batch)
    assert frame["mem_bytes"].tolist() == pytest.approx([7.47 * 1024, 567])
    assert frame["gpu_util"].tolist() == pytest.approx([0.455, 1.0])
    assert batch.facts["time_first_epoch_s"] == T0
    assert any("Formatted data" in warning for warning in batch.warnings)
    open_zone = read(JOINED, text, tmp_path / "b")
    assert open_zone.facts.get("time_first_epoch_s") is None
    assert any("browser" in warning for warning in open_zone.warnings)


def test_decimal_and_binary_prefixes_mean_what_grafana_writes(tmp_path: Path) -> None:
    head = ",".join(legend(name, 0) for name in ("DCGM_FI_DEV_FB_USED", "DCGM_FI_DEV_POWER_USAGE"))
    text = joined(f"{T0}000,1.5 GB,0.7 kW", f"{T0 + 15}000,1.5 GiB,412 W", f"{T0 + 30}000,3 W,5 %", head=head)
    batch = read(JOINED, text, tmp_path)
    assert samples(batch)["mem_bytes"].fillna(-1).tolist() == [1.5e9, 1.5 * 2**30, -1]
    assert samples(batch)["power_w"].fillna(-1).tolist() == [700, 412, -1]
    assert len(batch.set_aside) == 2 and "where 'W' belongs" in batch.set_aside[1].reason


def test_raw_and_formatted_exports_of_a_panel_agree(tmp_path: Path) -> None:
    head = legend("DCGM_FI_DEV_FB_USED", 0)
    values = [0.0073, 1.5, 1024.0, 40960.0]
    raw = joined(*(f"{T0 + 15 * i}000,{value}" for i, value in enumerate(values)), head=head)
    shown = ["7.48 KiB", "1.50 MiB", "1 GiB", "40 GiB"]
    rows = (f"2026-01-01 00:00:{15 * i:02d},{text}" for i, text in enumerate(shown))
    exact = samples(read(SINGLE, raw, tmp_path))["mem_bytes"]
    rounded = samples(read(SINGLE, joined(*rows, head=head), tmp_path / "b"))["mem_bytes"]
    assert rounded.tolist() == pytest.approx(exact.tolist(), rel=5e-3)


def test_a_panel_of_something_else_stores_nothing(tmp_path: Path) -> None:
    text = joined(f"{T0}000,2,undefined", f"{T0 + 60}000,3,NaN", head='"a / compact","CPU %"')
    batch = read(JOINED, text, tmp_path)
    assert batch.ignored == {"no known GPU measure: map the column": 2}
    assert batch.facts["series_mean[a / compact]"] == 2.5
    assert batch.facts["series_points[CPU %]"] == 0
    assert batch.facts["missing_cells[CPU %]"] == 2
    assert batch.facts.get("util_mean_by_row[gpu_util]") is None
    assert batch.facts["span_s"] == 60


def test_legends_of_hosts_and_gpus_wait_for_the_measure(tmp_path: Path) -> None:
    text = joined(f"{T0}000,50,10", f"{T0 + 15}000,70,30", head='"n1 GPU 0","n1 GPU 1"')
    assert read(JOINED, text, tmp_path, "Panel-data.csv").stored == 0
    hinted = read(JOINED, text, tmp_path / "b", "GPU Utilization-data-as-joinbyfield-2026-01-01.csv")
    assert hinted.stored == 0 and not hinted.gpu_parts
    assert hinted.ignored == {"the measure is named only by the file name: confirm it": 2}
    assert hinted.facts["util_mean_by_row[gpu_util]"] == pytest.approx(0.4)
    said = read(JOINED, text, tmp_path / "c", columns={"2": "gpu_util [%]", "n1 GPU 1": "gpu_util [%]"})
    assert samples(said)["gpu_id"].unique().tolist() == ["n1:0", "n1:1"]
    assert said.facts["util_mean_by_row[gpu_util|1]"] == pytest.approx(0.2)


def test_a_hint_that_the_values_contradict_gives_no_means(tmp_path: Path) -> None:
    text = joined(f"{T0}000,512,900", f"{T0 + 15}000,70,800", head='"n1 GPU 0","n1 GPU 1"')
    batch = read(JOINED, text, tmp_path, "GPU Utilization.csv")
    assert batch.facts["util_mean_by_row[gpu_util]"] is None
    assert not batch.set_aside


def test_two_columns_of_one_name_belong_to_no_gpu(tmp_path: Path) -> None:
    text = joined(f"{T0}000,50,10", head=f'"{UTIL} GPU 0","{UTIL} GPU 0"')
    batch = read(JOINED, text, tmp_path)
    assert batch.stored == 0


@pytest.mark.parametrize("delimiter", [";", ","])
def test_the_old_form_of_rows(delimiter: str, tmp_path: Path) -> None:
    rows = [
        ["Series", "Time", "Value"],
        [f"{UTIL} a GPU 0", "2026-01-01T01:00:00+01:00", "50"],
        [f"{UTIL} a GPU 0", "2026-01-01T01:00:15+01:00", "null"],
        [f"{UTIL} a GPU 0", "2026-01-01T01:00:15+01:00", "60"],
        ["queue", "2026-01-01T01:00:00+01:00", "7"],
        ["queue", "soon", "7"],
        [f"{UTIL} a GPU 0", "2026-01-01T01:00:30+01:00", "170"],
    ]
    batch = read(SERIES, "".join(delimiter.join(row) + "\n" for row in rows), tmp_path)
    assert samples(batch)["gpu_util"].fillna(-1).tolist() == [0.5, 0.6, -1]
    assert batch.facts["time_zone"] == "+01:00"
    assert (batch.records, batch.stored, batch.ignored["duplicate sample"]) == (6, 2, 1)
    assert [one.line for one in batch.set_aside] == [6, 7]
    assert batch.facts["series_mean[queue]"] == 7


def test_semicolons_decimal_commas_and_thousands(tmp_path: Path) -> None:
    text = "Time;a;b\n2026-01-01T00:00:00Z;1,5;1\n2026-01-01T00:00:15Z;1.234,5;2\n"
    facts = read(JOINED, text, tmp_path).facts
    assert facts["series_mean[a]"] == pytest.approx((1.5 + 1234.5) / 2)
    assert facts["series_mean[b]"] == 1.5
    dotted = "Time;a;b\n2026-01-01T00:00:00Z;1,721,992,142.283;1\n"
    assert read(JOINED, dotted, tmp_path / "b").facts["series_mean[a]"] == 1721992142.283


def test_rows_without_a_time_a_repeated_header_and_a_cut_tail(tmp_path: Path) -> None:
    head = legend(UTIL, 0) + "," + legend(UTIL, 1)
    first = joined(f"{T0}000,50,10", ",60,1", "05/06/2026 1:00,7,1", head=head)
    batch = read(JOINED, first + joined(f"{T0 + 15}000,70,11", head=head) + f"{T0 + 30}", tmp_path)
    assert [one.reason for one in batch.set_aside] == ["no time stamp", "the time stamp cannot be read"]
    facts = batch.facts
    assert (facts["header_repeated"], facts["partial_last_line"], batch.stored) == (1, 1, 2)


def test_sniffing_keeps_the_three_apart(tmp_path: Path) -> None:
    one = joined(f"{T0}000,5", head='"x"')
    assert sureness(SINGLE, one, tmp_path) >= 0.9 and sureness(JOINED, one, tmp_path / "b") < 0.3
    many = joined(f"{T0}000,5,6", head='"x","y"')
    assert sureness(JOINED, many, tmp_path / "c") >= 0.9 and sureness(SINGLE, many, tmp_path / "d") < 0.3
    old = "Series;Time;Value\nx;2026-01-01T00:00:00Z;1\n"
    assert sureness(SERIES, old, tmp_path / "e") >= 0.9 and sureness(JOINED, old, tmp_path / "f") < 0.3
    assert sureness(JOINED, "Time,a,b\nmonday,1,2\n", tmp_path / "g") < 0.5


def test_a_header_alone_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFileError, match="no data rows"):
        read(JOINED, '"Time","a","b"\n', tmp_path)


@pytest.mark.parametrize(
    ("text", "host", "index", "uuid"),
    [
        ("n1 GPU 0", "n1", "0", None),
        ("GPU 7", None, "7", None),
        ("gpu-03.example GPU2", "gpu-03.example", "2", None),
        ("GPU 1 (node-b)", "node-b", "1", None),
        ("node07 - gpu_3", "node07", "3", None),
        ("node07:3", "node07", "3", None),
        ("GPU-1a2b3c4d-00ff on n9", "n9", None, "GPU-1a2b3c4d-00ff"),
        ("GPU Usage: 10.0.0.1:8080, gpu.1", "10.0.0.1:8080", "1", None),
    ],
)
def test_gpus_in_free_text(text: str, host: str | None, index: str | None, uuid: str | None) -> None:
    found = gpu_in_text(text)
    assert found is not None
    assert (found.host, found.index, found.uuid) == (host, index, uuid)


@pytest.mark.parametrize(
    "text", ["images_v6 / compact", "CPU 0", "R2 ops / scored image", "Value", "GPUs busy"]
)
def test_free_text_without_a_gpu(text: str) -> None:
    assert gpu_in_text(text) is None


@pytest.mark.parametrize("name", real_files("gpu/grafana_"))
def test_real_files(name: str, tmp_path: Path) -> None:
    check_real(SINGLE if "single" in name else JOINED, name, tmp_path)
