"""dcgmi dmon: two-word entities, short tags, no time."""

from pathlib import Path

import pytest

from data.errors import UnreadableFileError
from data.readers.dcgmi_dmon import NOT_A_GPU, DcgmiDmonReader
from tests.data.readers.gpu_files import check_real, read, real_files, sureness

READER = DcgmiDmonReader()
HEAD = "#Entity   GPUTL   SMACT        TENSO        FBUSD\nID\n"


def test_ratios_percent_and_bytes(tmp_path: Path) -> None:
    rows = "GPU 0     50     0.400        0.300        1000\nGPU 1     N/A     0.200        N/A        3000\n"
    batch = read(READER, HEAD + rows + "\n" + HEAD + "GPU 0    100    0.0   0.1   10\n", tmp_path)
    facts = batch.facts
    assert facts["util_mean_by_row[gpu_util]"] == 0.75
    assert facts["util_mean_by_row[sm_active]"] == pytest.approx(0.2)
    assert facts["util_mean_by_row[tensor_active]"] == pytest.approx(0.2)
    assert facts["memory_peak_bytes"] == 3000 * 2**20
    assert (facts["gpus"], facts["header_repeated"], facts["missing_cells"]) == (2, 1, 2)
    assert (facts["span_s"], batch.stored) == (None, 0)
    assert any("no time" in text for text in batch.warnings)


def test_instances_switches_and_cpus_are_no_gpus(tmp_path: Path) -> None:
    rows = "GPU 0   1  0.4  0.3  10\nGPU-I 0   1  0.9  0.3  10\nGPU-CI 0  1 0.9 0.3 10\nSW 0 1 0.9 0.3 10\n"
    batch = read(READER, HEAD + rows + "Error: lost\n", tmp_path)
    assert batch.facts["gpus"] == 1
    assert batch.facts["util_mean_by_row[sm_active]"] == 0.4
    assert batch.ignored == {NOT_A_GPU: 3, "no time column": 1}
    assert [s.line for s in batch.set_aside] == [7]


def test_rows_under_another_header_are_not_misread(tmp_path: Path) -> None:
    text = (
        HEAD + "GPU 0 10 0.1 0.1 5\n#Entity DRAMA SMACT\nID\nGPU 0 0.9 0.9\n" + HEAD + "GPU 0 30 0.3 0.1 5\n"
    )
    batch = read(READER, text, tmp_path)
    assert [s.line for s in batch.set_aside] == [6]
    assert batch.facts["util_mean_by_row[gpu_util]"] == pytest.approx(0.2)


def test_graphics_engine_is_not_sm(tmp_path: Path) -> None:
    batch = read(READER, "#Entity   GRACT\nID\nGPU 0   0.500\n", tmp_path)
    assert batch.facts["util_mean_by_row[gr_engine_active]"] == 0.5
    assert batch.facts["util_mean_by_row[sm_active]"] is None


def test_refusals_and_sniff(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFileError, match="no data rows"):
        read(READER, HEAD, tmp_path)
    assert sureness(READER, HEAD, tmp_path) > 0.9
    assert sureness(READER, "Entity,GRACT\n", tmp_path) == 0


@pytest.mark.parametrize("name", real_files("gpu/vc_dcgmi"))
def test_real_files(name: str, tmp_path: Path) -> None:
    check_real(READER, name, tmp_path)
