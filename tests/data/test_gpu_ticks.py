"""Readings a moment apart become one sample; readings of one measure are never merged."""

from pathlib import Path

import pytest

from data.readers.grafana import GrafanaJoinedReader
from data.readers.prometheus_text import PrometheusTextReader
from tests.data.readers.gpu_files import read, samples

T0 = 1767225600
UTIL, POWER = "DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_DEV_POWER_USAGE"


def scrape(shift_ms: int, n: int = 5) -> str:
    return "".join(
        f'{UTIL}{{gpu="0",Hostname="a"}} {10 * i} {1000 * (T0 + 15 * i)}\n'
        f'{POWER}{{gpu="0",Hostname="a"}} {300 + i} {1000 * (T0 + 15 * i) + shift_ms}\n'
        for i in range(n)
    )


@pytest.mark.parametrize("shift_ms", [0, 1, 900, 3700, -2000])
def test_two_measures_a_moment_apart_are_one_sample(shift_ms: int, tmp_path: Path) -> None:
    batch = read(PrometheusTextReader(), scrape(shift_ms), tmp_path)
    frame = samples(batch)
    assert frame["gpu_util"].tolist() == [0, 0.1, 0.2, 0.3, 0.4]
    assert frame["power_w"].tolist() == [300, 301, 302, 303, 304]
    assert batch.facts["coverage"] == 1
    assert batch.facts["util_mean_by_time[gpu_util]"] == pytest.approx(0.15)
    assert (batch.records, batch.stored) == (10, 10)


def test_half_a_step_apart_is_no_tick(tmp_path: Path) -> None:
    frame = samples(read(PrometheusTextReader(), scrape(7500), tmp_path))
    assert len(frame) == 10 and frame["power_w"].isna().sum() == 5


def test_readings_of_one_measure_stay_apart(tmp_path: Path) -> None:
    burst = [0, 1, 15, 16, 30, 45, 60, 75, 90]
    text = "".join(f'{UTIL}{{gpu="0",Hostname="a"}} {i} {1000 * (T0 + at)}\n' for i, at in enumerate(burst))
    frame = samples(read(PrometheusTextReader(), text, tmp_path))
    assert frame["gpu_util"].tolist() == [i / 100 for i in range(len(burst))]


def test_joined_rows_with_holes(tmp_path: Path) -> None:
    head = ",".join(f'"{name}{{gpu=""0"",Hostname=""a""}}"' for name in (UTIL, POWER))
    rows = "".join(f"{T0 + 15 * i}000,{10 * i},\n{T0 + 15 * i}800,,{300 + i}\n" for i in range(5))
    batch = read(GrafanaJoinedReader(), f'"Time",{head}\n{rows}', tmp_path)
    frame = samples(batch)
    assert frame["gpu_util"].dropna().tolist() == [0, 0.1, 0.2, 0.3, 0.4]
    assert len(frame) == 5 and batch.facts["coverage"] == 1
    assert (batch.records, batch.stored, batch.facts["missing_cells"]) == (10, 10, 10)
