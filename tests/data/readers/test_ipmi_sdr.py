"""IPMI blocks: node power is kept apart from GPU power."""

from pathlib import Path

import pytest

from data.errors import UnreadableFileError
from data.readers.ipmi_sdr import NODE_BLOCK, IpmiSdrReader
from tests.data.readers.gpu_files import check_real, read, real_files, sureness

READER = IpmiSdrReader()
SENSORS = (
    "Sys Power        | {} Watts         | ok\n"
    "CPU Power        | no reading        | ns\n"
    "PS Heavy Load    | Not Readable      | ns\n"
    "Power Supply 1   | 0x00              | ok\n"
    "Inlet Temp       | 24 degrees C      | ok\n"
)


def block(clock: str, watts: int, zone: str = " UTC") -> str:
    return f"Timestamp: 2026-01-02 {clock}{zone}\n" + SENSORS.format(watts)


def test_node_power_is_not_gpu_power(tmp_path: Path) -> None:
    batch = read(READER, block("00:00:11", 300) + block("00:01:12", 500) + block("00:02:12", 400), tmp_path)
    facts = batch.facts
    assert batch.ignored == {NODE_BLOCK: 3}
    assert not batch.gpu_parts and not batch.tables
    assert facts["power_mean_w_by_row"] is None and facts["gpus"] is None
    assert facts["node_power_mean_w[Sys Power]"] == 400
    assert (facts["missing_cells"], facts["missing_cells[CPU Power]"]) == (6, 3)
    assert (facts["span_s"], facts["gap_max_s"], facts["gap_median_s"]) == (121, 61, 60.5)
    assert facts["time_first_epoch_s"] == 1767312011.0
    assert any("never the draw of a GPU" in text for text in batch.warnings)


def test_local_times_need_a_zone(tmp_path: Path) -> None:
    text = block("00:00:11", 300, zone="")
    assert read(READER, text, tmp_path).facts["time_first_epoch_s"] is None
    found = read(READER, text, tmp_path, timezone="Europe/Berlin")
    assert found.facts["time_first_epoch_s"] == 1767312011.0 - 3600


def test_a_block_without_a_readable_time_is_set_aside(tmp_path: Path) -> None:
    batch = read(READER, block("00:00:11", 300) + "Timestamp: yesterday\n" + SENSORS.format(1), tmp_path)
    assert (batch.records, [s.line for s in batch.set_aside]) == (2, [7])


def test_refusal_and_sniff(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFileError, match="Timestamp"):
        read(READER, SENSORS, tmp_path)
    assert sureness(READER, block("00:00:11", 1), tmp_path) > 0.9
    assert sureness(READER, "JobID|State|Elapsed\n1|OK|2\n", tmp_path) == 0


@pytest.mark.parametrize("name", real_files("gpu/fasrc_ipmi"))
def test_real_files(name: str, tmp_path: Path) -> None:
    check_real(READER, name, tmp_path)


def test_a_line_of_spaces_is_judged_at_once(tmp_path: Path) -> None:
    text = block("00:00:11", 300) + "x" + " " * 60_000 + "y\n" + block("00:01:11", 300)
    assert sureness(READER, text, tmp_path) > 0.9
