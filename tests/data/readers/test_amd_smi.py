"""amd-smi CSV: lists in cells, a header each tick, epoch seconds, partitions of one card."""

from pathlib import Path

import pytest

from data.errors import UnreadableFileError
from data.readers.amd_smi import AmdSmiReader
from data.readers.foreign import recognise
from tests.data.readers.gpu_files import check_real, read, real_files, samples, sureness

READER = AmdSmiReader()
WATCH = "timestamp,gpu,gfx_activity,umc_activity,vcn_activity,socket_power,gfx_0_clk,edge,hotspot,mem\r\n"


def tick(epoch: int, *gfx: int) -> str:
    rows = [f"{epoch},{i},{value},8,\"['N/A', 'N/A']\",350,1980,N/A,72,65\r\n" for i, value in enumerate(gfx)]
    return WATCH + "".join(rows) + "\r\n"


def test_watch_mode(tmp_path: Path) -> None:
    batch = read(
        READER, tick(1772939616, 95, 0) + tick(1772939617, 85, 0) + tick(1772939618, 75, 0), tmp_path
    )
    frame = samples(batch)
    assert batch.stored == 6
    assert list(frame["gfx_activity"]) == [0.95, 0.85, 0.75, 0, 0, 0]
    assert frame["gpu_util"].isna().all()
    assert (frame["power_w"][0], frame["temp_c"][0], frame["sm_clock_mhz"][0]) == (350, 72, 1980)
    assert frame["umc_activity"][0] == 0.08
    facts = batch.facts
    assert (facts["header_repeated"], facts["gpus"], facts["ragged_rows"]) == (2, 2, 0)
    assert facts["time_first_epoch_s"] == 1772939616
    assert facts["time_zone"] is None and not batch.timezone_assumed
    assert facts["util_mean_by_time[gfx_activity]"] == pytest.approx((0.95 + 0.85) / 4)
    assert facts["missing_cells[edge]"] == 6


def test_an_unquoted_list_is_one_cell(tmp_path: Path) -> None:
    text = "\ufeffgpu,gfx_usage,mem_usage,mm_usage_list,fb_total,fb_used\n0,98,1,[0, 0, 3],14928,363\n\n"
    batch = read(READER, text.encode(), tmp_path)
    assert batch.facts["memory_peak_bytes"] == 363 * 2**20
    assert batch.facts["util_mean_by_row[gfx_activity]"] == 0.98
    assert (batch.facts["ragged_rows"], batch.ignored) == (0, {"no time column": 1})


def test_partitions_share_a_card(tmp_path: Path) -> None:
    head = "timestamp,gpu,asic_serial,gfx_activity,socket_power\n"
    rows = "".join(f"1772939616,{i},0x{i // 2},50,{100 if i % 2 == 0 else 'N/A'}\n" for i in range(8))
    batch = read(READER, head + rows, tmp_path)
    assert batch.facts["gpus"] == 4
    assert batch.stored == 8
    assert any("partitions of 4 cards" in text for text in batch.warnings)


def test_text_cut_tail_and_memory(tmp_path: Path) -> None:
    text = "gpu,total_vram,used_vram\n0,32768,1024\nERROR: no response\n1,32768,2048\n1,327"
    batch = read(READER, text, tmp_path)
    assert [s.line for s in batch.set_aside] == [3]
    assert batch.facts["partial_last_line"] == 1
    assert batch.facts["memory_peak_bytes"] == 2 << 30


def test_a_time_of_ones_own(tmp_path: Path) -> None:
    batch = read(READER, "utc_epoch_s,gpu,gfx_activity,umc_activity\n1767225600.25,0,95,62\n", tmp_path)
    assert batch.facts["time_first_epoch_s"] == 1767225600.25
    assert samples(batch)["umc_activity"][0] == 0.62


def test_refusals_and_sniff(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFileError, match="no data rows"):
        read(READER, WATCH, tmp_path)
    assert sureness(READER, WATCH, tmp_path) > 0.9
    assert sureness(READER, "timestamp,gpu,gpu_util\n", tmp_path) == 0


@pytest.mark.parametrize("name", real_files("gpu/vc_amd"))
def test_real_files(name: str, tmp_path: Path) -> None:
    check_real(READER, name, tmp_path)


def test_the_plain_text_of_amd_smi_is_told_how_to_become_a_table() -> None:
    found = recognise("GPU: 0\n    USAGE:\n        GFX_ACTIVITY: 7 %\n")
    assert found is not None and "--csv" in found.remedy
