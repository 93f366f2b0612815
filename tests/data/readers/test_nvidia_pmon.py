"""nvidia-smi pmon: processes are counted, never taken for GPUs."""

from pathlib import Path

import pytest

from data.errors import UnreadableFileError
from data.readers.nvidia_pmon import PROCESS_ROW, PmonReader
from tests.data.readers.gpu_files import check_real, read, real_files, sureness

READER = PmonReader()
OLD = "# gpu         pid  type    sm    mem    enc    dec    command\n# Idx  #  C/G  %  %  %  %  name\n"
NEW = "# gpu  pid  type  sm  mem  enc  dec  jpg  ofa  command\n# Idx  #  C/G  %  %  %  %  %  %  name\n"


def test_processes_are_no_samples(tmp_path: Path) -> None:
    rows = "    0    11     C     88   54   -   -    python\n    0    12     C      -      -    -   -   sh\n"
    batch = read(READER, OLD + rows + OLD + "    1     -     -      -      -      -      -    -\n", tmp_path)
    assert batch.ignored == {PROCESS_ROW: 3}
    assert not batch.gpu_parts and not batch.tables
    assert (batch.facts["gpus"], batch.facts["header_repeated"]) == (2, 1)
    assert batch.facts["missing_cells[sm]"] == 2
    assert batch.facts.get("util_mean_by_row[gpu_util]") is None
    assert any("processes" in text for text in batch.warnings)


def test_driver_550_columns_and_a_command_with_spaces(tmp_path: Path) -> None:
    batch = read(READER, NEW + "  0  77  C  88  5  -  -  -  -  chrome --type=gpu process\n", tmp_path)
    assert batch.facts["columns"] == 10
    assert batch.facts["ragged_rows"] == 0
    assert batch.facts["missing_cells"] == 4
    assert batch.facts["missing_cells[command]"] == 0


def test_dated_rows_fix_a_span(tmp_path: Path) -> None:
    head = "#Date  Time  gpu  pid  type  sm  command\n#YYYYMMDD HH:MM:SS Idx # C/G % name\n"
    rows = " 20260102 19:12:33 0 7 C 88 python\n 20260102 19:12:31 0 7 C 80 a b\n"
    facts = read(READER, head + rows, tmp_path, timezone="UTC").facts
    assert (facts["span_s"], facts["time_first_epoch_s"]) == (2, 1767381151.0)
    assert read(READER, head + rows, tmp_path).facts["time_first_epoch_s"] is None
    assert facts["missing_cells"] == 0


def test_text_and_cut_tail(tmp_path: Path) -> None:
    batch = read(
        READER, OLD + "Failed to query\n    0    11     C     88     54   -   -   python\n    0   1", tmp_path
    )
    assert [s.text for s in batch.set_aside] == ["Failed to query"]
    assert batch.facts["partial_last_line"] == 1


def test_refusals_and_sniff(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFileError, match="no data rows"):
        read(READER, OLD, tmp_path)
    with pytest.raises(UnreadableFileError, match="gpu pid"):
        read(READER, "0 1 2\n", tmp_path)
    assert sureness(READER, NEW, tmp_path) > 0.9
    assert sureness(READER, "# gpu   pwr    sm\n# Idx     W     %\n", tmp_path) == 0


@pytest.mark.parametrize("name", real_files("gpu/nvsmi_pmon"))
def test_real_files(name: str, tmp_path: Path) -> None:
    check_real(READER, name, tmp_path)


def test_of_two_headers_the_one_above_the_rows_counts(tmp_path: Path) -> None:
    text = (
        "# gpu        pid  type    sm   command\n"
        "# Idx          #   C/G     %   name\n"
        "# gpu        pid  type    fb    sm   command\n"
        "# Idx          #   C/G    MB     %   name\n"
        "    0       4001     C  7669    40   python\n"
    )
    batch = read(READER, text, tmp_path)
    assert (batch.records, batch.facts["columns"]) == (1, 6)
