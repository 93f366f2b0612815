"""CSV with DCGM_FI_* columns: old and new names, the ambiguous RATIO name, MIG, sentinels."""

from pathlib import Path

import pytest

from data.gpu.batch import MIG_ROWS
from data.readers.dcgm_csv import DcgmCsvReader
from tests.data.readers.gpu_files import read, samples, sureness

READER = DcgmCsvReader()
HEAD = "timestamp,Hostname,gpu,UUID,modelName"
OLD = "DCGM_FI_DEV_GPU_UTIL,DCGM_FI_PROF_SM_ACTIVE,DCGM_FI_DEV_FB_USED,DCGM_FI_DEV_POWER_USAGE"


def table(fields: str, *rows: str) -> str:
    return "\n".join([f"{HEAD},{fields}", *rows]) + "\n"


def row(second: int, cells: str, gpu: int = 0) -> str:
    return f"2026-01-01T00:00:{second:02d}Z,n1,{gpu},GPU-{gpu},H100,{cells}"


def test_percent_ratio_mib_and_watts(tmp_path: Path) -> None:
    batch = read(READER, table(OLD, row(0, "97,0.5,1000,400"), row(1, "3,0.25,1000,100")), tmp_path)
    frame = samples(batch)
    assert list(frame["gpu_util"]) == [0.97, 0.03]
    assert list(frame["sm_active"]) == [0.5, 0.25]
    assert frame["mem_bytes"][0] == 1000 * 2**20
    gpus = batch.tables["gpus"].to_dict("records")[0]
    assert (gpus["gpu_id"], gpus["host"], gpus["gpu_index"], gpus["model"]) == ("GPU-0", "n1", 0, "H100")
    assert batch.facts["time_zone"] == "+00:00"
    assert batch.facts["power_mean_w_by_row"] == 250


def test_new_names(tmp_path: Path) -> None:
    fields = "DCGM_FI_PROF_SM_UTIL_RATIO,DCGM_FI_PROF_TENSOR_UTIL_RATIO,DCGM_FI_DEV_BOARD_POWER_WATTS"
    frame = samples(read(READER, table(fields, row(0, "0.5,0.25,400")), tmp_path))
    assert (frame["sm_active"][0], frame["tensor_active"][0], frame["power_w"][0]) == (0.5, 0.25, 400)


@pytest.mark.parametrize(
    ("cells", "want", "word"),
    [
        (("97", "1", "0"), [0.97, 0.01, 0.0], "percentage"),
        (("0.97", "0.5", "1"), [0.97, 0.5, 1.0], None),
        (("0", "0", "0"), [0.0, 0.0, 0.0], None),
        (("1", "0", "1"), [None, None, None], "not read"),
    ],
)
def test_a_ratio_name_that_may_be_percent(
    cells: tuple[str, ...], want: list[float | None], word: str | None, tmp_path: Path
) -> None:
    text = table("DCGM_FI_DEV_GPU_UTIL_RATIO", *(row(k, cell) for k, cell in enumerate(cells)))
    batch = read(READER, text, tmp_path)
    got = [None if value != value else value for value in samples(batch)["gpu_util"]]
    assert got == want
    assert any("GPU_UTIL_RATIO" in text and (word or "") in text for text in batch.warnings) == bool(word)


def test_a_person_settles_the_scale(tmp_path: Path) -> None:
    name = "DCGM_FI_DEV_GPU_UTIL_RATIO"
    text = table(name, row(0, "1"), row(1, "0"))
    for said, want in (("gpu_util [%]", 0.01), ("gpu_util [ratio]", 1.0)):
        frame = samples(read(READER, text, tmp_path, columns={name: said}))
        assert frame["gpu_util"][0] == want


def test_mig_instances_are_not_gpus(tmp_path: Path) -> None:
    text = (
        "timestamp,gpu,UUID,GPU_I_ID,DCGM_FI_DEV_GPU_UTIL,DCGM_FI_PROF_SM_ACTIVE\n"
        "2026-01-01T00:00:00Z,0,GPU-0,,50,0.4\n"
        "2026-01-01T00:00:00Z,0,GPU-0,7,0,0.9\n"
        "2026-01-01T00:00:01Z,0,GPU-0,,70,0.4\n"
        "2026-01-01T00:00:01Z,0,GPU-0,7,0,0.9\n"
    )
    batch = read(READER, text, tmp_path)
    assert (batch.stored, batch.ignored) == (2, {MIG_ROWS: 2})
    assert batch.facts["gpus"] == 1
    assert batch.facts["util_mean_by_row[gpu_util]"] == pytest.approx(0.6)
    assert batch.facts["util_mean_by_row[sm_active]"] == pytest.approx(0.4)
    assert any("MIG" in text for text in batch.warnings)


def test_sentinels_are_missing(tmp_path: Path) -> None:
    rows = [row(0, "9223372036854775794,140737488355328.0,2147483632,400"), row(1, "5,0.5,1,400")]
    batch = read(READER, table(OLD, *rows), tmp_path)
    assert batch.facts["missing_cells"] == 3
    assert batch.facts["util_mean_by_row[gpu_util]"] == 0.05
    assert not batch.set_aside


def test_sniff(tmp_path: Path) -> None:
    assert sureness(READER, table(OLD, row(0, "1,0.1,1,1")), tmp_path) > 0.9
    config = "DCGM_FI_DEV_SM_CLOCK,  gauge, SM clock frequency (in MHz).\n"
    assert sureness(READER, config, tmp_path) == 0
    assert sureness(READER, '"Time","DCGM_FI_DEV_GPU_UTIL"\n', tmp_path) < 0.5
    assert sureness(READER, "timestamp,gpu_util\n", tmp_path) == 0


@pytest.mark.parametrize(
    ("header", "rows"),
    [
        ("timestamp,Hostname,GPU-Id,DCGM_FI_DEV_GPU_UTIL", "2026-05-01T00:00:00Z,n1,{gpu},{util}"),
        ("timestamp,device,ID,DCGM_FI_DEV_GPU_UTIL", "2026-05-01T00:00:00Z,GPU,{gpu},{util}"),
    ],
)
def test_names_of_the_index(header: str, rows: str, tmp_path: Path) -> None:
    text = "\n".join([header, *(rows.format(gpu=gpu, util=util) for gpu, util in ((0, 80), (1, 40)))]) + "\n"
    facts = read(READER, text, tmp_path).facts
    assert facts["gpus"] == 2
    assert facts["util_mean_by_row[gpu_util|1]"] == 0.4
