"""nvidia-smi dmon: pages, missing marks, dates, column groups, commas."""

from pathlib import Path

import pytest

from data.errors import UnreadableFileError
from data.readers.nvidia_dmon import DmonReader
from tests.data.readers.gpu_files import check_real, read, real_files, samples, sureness

READER = DmonReader()
NAMES = "# gpu   pwr gtemp mtemp    sm   mem    fb  pclk sbecc\n"
UNITS = "# Idx     W     C     C     %     %    MB   MHz  errs\n"
PAGE = NAMES + UNITS
DATED = (
    "#Date       Time        gpu    sm   mem    fb\n"
    "#YYYYMMDD   HH:MM:SS    Idx     %     %    MB\n"
    " 20260102   19:12:31      0    50    10  1000\n"
    " 20260102   19:12:31      1     0     -  2000\n"
    " 20260102   19:12:33      0    70    10  1000\n"
    " 20260102   19:12:33      1     0     -  2000\n"
    " 20260102   19:12:35      0     0    10  1000\n"
    " 20260102   19:12:35      1     0     -  2000\n"
)


def row(gpu: int, sm: str = "25", mem: str = "7") -> str:
    return f"    {gpu}   111    83     -    {sm}     {mem} 11651  1683     -\n"


def test_means_without_time(tmp_path: Path) -> None:
    batch = read(READER, PAGE + row(0) + row(1, sm="75") + PAGE + row(0) + row(1, sm="-"), tmp_path)
    facts = batch.facts
    assert (batch.records, batch.stored, batch.ignored) == (4, 0, {"no time column": 4})
    assert facts["util_mean_by_row[gpu_util]"] == pytest.approx((0.25 + 0.75 + 0.25) / 3)
    assert facts["util_mean_by_row[gpu_util|1]"] == 0.75
    assert facts["util_mean_by_row[mem_util]"] == pytest.approx(0.07)
    assert facts["memory_peak_bytes"] == 11651 * 2**20
    assert (facts["gpus"], facts["header_repeated"], facts["columns"]) == (2, 1, 9)
    assert facts["missing_cells"] == 4 + 4 + 1
    assert facts["missing_cells[sm]"] == 1
    assert facts["span_s"] is None and facts["time_first_epoch_s"] is None
    assert any("-o DT" in text for text in batch.warnings)


def test_date_and_time_place_the_rows(tmp_path: Path) -> None:
    batch = read(READER, DATED, tmp_path, timezone="Europe/Berlin", host="n7")
    frame = samples(batch)
    assert batch.stored == 6
    assert str(frame["ts"][0]) == "2026-01-02 18:12:31"
    assert frame["gpu_id"].unique().tolist() == ["n7:0", "n7:1"]
    assert list(frame["gpu_util"]) == [0.5, 0.7, 0, 0, 0, 0]
    assert frame["mem_util"].isna().tolist() == [False] * 3 + [True] * 3
    assert list(frame["dt_s"]) == [2, 2, 0, 2, 2, 0]
    assert batch.facts["util_mean_by_time[gpu_util]"] == pytest.approx((0.5 + 0.7) * 2 / 8)


def test_a_time_without_a_date_fixes_no_instant(tmp_path: Path) -> None:
    text = "#Time        gpu    sm\n#HH:MM:SS    Idx     %\n 19:12:31      0    50\n 19:12:32      0    70\n"
    batch = read(READER, text, tmp_path)
    assert batch.facts["util_mean_by_row[gpu_util]"] == 0.6
    assert (batch.stored, batch.facts["gpus"]) == (0, 1)


def test_commas(tmp_path: Path) -> None:
    text = "#gpu, pwr, sm, fb\n#Idx, W, %, MB\n0, 111, 25, 100\n1, -, 75, 100\n"
    batch = read(READER, text, tmp_path)
    assert batch.facts["util_mean_by_row[gpu_util]"] == 0.5
    assert batch.facts["power_mean_w_by_row"] == 111


def test_text_between_rows_and_a_cut_tail(tmp_path: Path) -> None:
    batch = read(READER, PAGE + row(0) + "GPU is lost\n" + row(1) + "    0   111  8", tmp_path)
    assert [(s.line, s.text) for s in batch.set_aside] == [(4, "GPU is lost")]
    assert batch.facts["partial_last_line"] == 1
    assert batch.records == 3


def test_other_column_groups_and_a_sample_above_100(tmp_path: Path) -> None:
    batch = read(
        READER, "# gpu    sm   jpg   ofa\n# Idx     %     %     %\n 0 140 0 0\n 0 40 0 0\n", tmp_path
    )
    assert [(s.line, s.column, s.text) for s in batch.set_aside] == [(3, "sm", "140")]
    assert batch.facts["util_mean_by_row[gpu_util]"] == 0.4
    assert batch.facts["power_mean_w_by_row"] is None


def test_rows_under_another_header_are_not_misread(tmp_path: Path) -> None:
    other = "# gpu    sm   enc\n# Idx     %     %\n 0 90 90\n 1 90 90\n"
    batch = read(READER, PAGE + row(0, sm="10") + other + PAGE + row(0, sm="20"), tmp_path)
    assert [s.line for s in batch.set_aside] == [6, 7]
    assert "other columns" in batch.set_aside[0].reason
    assert batch.facts["util_mean_by_row[gpu_util]"] == pytest.approx(0.15)


def test_refuses_a_file_without_its_header(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFileError, match="No '# gpu"):
        read(READER, row(0), tmp_path)
    with pytest.raises(UnreadableFileError, match="no data rows"):
        read(READER, PAGE, tmp_path)


def test_sniff(tmp_path: Path) -> None:
    assert sureness(READER, DATED, tmp_path) > 0.9
    assert sureness(READER, "# gpu    pid  type    sm\n# Idx      #   C/G     %\n", tmp_path) < 0.2
    assert sureness(READER, "timestamp, index, utilization.gpu [%]\n", tmp_path) == 0


@pytest.mark.parametrize("name", real_files("gpu/nvsmi_dmon"))
def test_real_files(name: str, tmp_path: Path) -> None:
    check_real(READER, name, tmp_path)


def test_gpm_metrics_are_what_the_sms_did(tmp_path: Path) -> None:
    text = (
        "# gpu    pwr     sm      gract    smutil     smocc    mmaact      dram     pcitx\n"
        "# Idx      W      %      GPM:%     GPM:%     GPM:%     GPM:%     GPM:% GPM:MiB/s\n"
        "    0    300    100         98        60        30        25        40       900\n"
        "    0     60      0          -         -         -         -         -         -\n"
    )
    facts = read(READER, text, tmp_path).facts
    assert facts["util_mean_by_row[gpu_util]"] == 0.5
    assert facts["util_mean_by_row[sm_active]"] == 0.6
    assert facts["util_mean_by_row[tensor_active]"] == 0.25
    assert facts["util_mean_by_row[dram_active]"] == 0.4
    assert facts["util_mean_by_row[gr_engine_active]"] == 0.98


@pytest.mark.parametrize("odd", ['"', "x", "77"])
def test_a_row_with_a_word_too_many_is_set_aside_and_not_shifted(odd: str, tmp_path: Path) -> None:
    text = DATED.replace("      0    70    10  1000", f"      0 {odd}  70    10  1000")
    batch = read(READER, text, tmp_path, timezone="UTC")
    assert [one.line for one in batch.set_aside if one.column is None] == [5]
    assert list(samples(batch)["gpu_util"]) == [0.5, 0, 0, 0, 0]


def test_a_last_row_shorter_than_the_table_is_cut(tmp_path: Path) -> None:
    """`2000` cut to `20`: the columns are of fixed width, so the row is known not to be whole."""
    batch = read(READER, DATED[:-3], tmp_path)
    assert (batch.records, batch.facts["partial_last_line"]) == (5, 1)
    assert batch.facts["memory_peak_bytes"] == 2000 * 2**20
    whole = read(READER, DATED[:-1], tmp_path)
    assert (whole.records, whole.facts["partial_last_line"]) == (6, 0)
