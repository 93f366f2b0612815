"""rocm-smi CSV: cards, warnings before the header, counters that look like activity."""

from pathlib import Path

import pytest

from data.readers.foreign import recognise
from data.readers.rocm_smi import RocmSmiReader
from tests.data.readers.gpu_files import read, samples, sureness

READER = RocmSmiReader()
HEAD = "device,GPU use (%),GFX Activity,VRAM Total Memory (B),VRAM Total Used Memory (B)"


def test_cards_and_bytes(tmp_path: Path) -> None:
    text = f"WARNING: AMD GPU device(s) is/are in a low-power state.\n\n{HEAD}\n"
    batch = read(READER, text + "card0,42,203885505,1024,512\ncard1,N/A,7,1024,768\n\n", tmp_path)
    assert batch.facts["util_mean_by_row[gfx_activity]"] == 0.42
    assert batch.facts["util_mean_by_row[gpu_util]"] is None
    assert batch.facts["memory_peak_bytes"] == 768
    assert (batch.facts["gpus"], batch.facts["missing_cells"]) == (2, 1)
    assert "GFX Activity" in batch.unmapped
    assert batch.ignored == {"no time column": 2}


@pytest.mark.parametrize(
    "name",
    [
        "Average Graphics Package Power (W)",
        "Current Socket Graphics Package Power (W)",
        "Power (W)",
    ],
)
def test_power_by_any_name(name: str, tmp_path: Path) -> None:
    head = f'device,"{name}","Max Graphics Package Power (W)","GPU use (%)"'
    batch = read(READER, f"{head}\ncard0,90.5,300.0,10\n", tmp_path)
    assert batch.facts["power_mean_w_by_row"] == 90.5


def test_with_a_time_of_ones_own(tmp_path: Path) -> None:
    text = "timestamp,device,GPU use (%)\n1787485761,card0,10\n1787485763,card0,30\nsystem,,\n"
    batch = read(READER, text, tmp_path, host="n1")
    frame = samples(batch)
    assert list(frame["gfx_activity"]) == [0.1, 0.3]
    assert frame["gpu_id"][0] == "n1:0"
    assert batch.tables["gpus"]["gpu_index"].tolist() == [0]
    assert [s.line for s in batch.set_aside] == [4]
    assert batch.facts["span_s"] == 2


def test_sniff(tmp_path: Path) -> None:
    assert sureness(READER, HEAD + "\n", tmp_path) > 0.9
    assert sureness(READER, "device,loss\n", tmp_path) == 0


def test_the_json_of_rocm_smi_is_told_how_to_become_a_table() -> None:
    found = recognise('{"card0": {"GPU use (%)": "12"}}')
    assert found is not None and "--csv" in found.remedy


def test_rows_under_another_header_are_not_read_by_the_first(tmp_path: Path) -> None:
    text = (
        "device,GPU use (%)\ncard0,40\ncard1,20\n\n"
        "device,GPU memory use (%)\ncard0,90\ncard1,80\n\n"
        "device,GPU use (%)\ncard0,60\ncard1,40\n"
    )
    batch = read(RocmSmiReader(), text, tmp_path)
    assert batch.facts["util_mean_by_row[gfx_activity]"] == pytest.approx(0.4)
    assert sum("header" in one.reason for one in batch.set_aside) == 3


def test_a_time_of_sampling_is_a_time(tmp_path: Path) -> None:
    text = "sampled_utc,device,GPU use (%)\n2026-01-01T00:00:00Z,card0,90\n2026-01-01T00:00:10Z,card0,70\n"
    batch = read(RocmSmiReader(), text, tmp_path)
    assert (batch.stored, batch.facts["time_first_epoch_s"]) == (2, 1767225600.0)
