"""Range queries and exports as JSON: string values, chunks, errors of the server, cut files, warnings."""

import json
from pathlib import Path
from typing import Any

import pytest

from data.errors import UnreadableFileError
from data.readers import prometheus_json
from data.readers.prometheus_json import PrometheusJsonReader, VictoriaMetricsReader
from tests.data.readers.gpu_files import read, samples, sureness

READER, EXPORT = PrometheusJsonReader(), VictoriaMetricsReader()
T0 = 1767225600
UTIL, SM = "DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_PROF_SM_ACTIVE"


def series(name: str, values: list[tuple[float, str]], gpu: int = 0, **more: str) -> dict[str, Any]:
    labels = {"__name__": name, "gpu": str(gpu), "UUID": f"GPU-{gpu}aaa", "Hostname": "n1"} | more
    return {"metric": labels, "values": [[T0 + at, text] for at, text in values]}


def answer(*found: dict[str, Any], kind: str = "matrix", indent: int | None = None) -> str:
    body = {"status": "success", "data": {"resultType": kind, "result": list(found)}}
    return json.dumps(body, indent=indent) + "\n"


@pytest.mark.parametrize("indent", [None, 2])
def test_a_matrix_of_two_metrics_is_one_row_a_gpu_and_time(indent: int | None, tmp_path: Path) -> None:
    text = answer(
        series(UTIL, [(0, "50"), (15, "100"), (30.5, "0")]),
        series(SM, [(0, "0.25"), (15, "NaN"), (30.5, "0.5")]),
        series(UTIL, [(0, "10"), (15, "20")], gpu=1),
        indent=indent,
    )
    batch = read(READER, text, tmp_path)
    frame = samples(batch)
    assert sureness(READER, text, tmp_path / "b") >= 0.9
    assert frame["gpu_util"].tolist() == [0.5, 1.0, 0.0, 0.1, 0.2]
    assert frame["sm_active"].fillna(-1).tolist() == [0.25, -1, 0.5, -1, -1]
    assert frame["dt_s"].tolist() == [15, 15.5, 0, 15, 0]
    assert (batch.records, batch.stored) == (8, 8)
    facts = batch.facts
    assert (facts["gpus"], facts["missing_cells"], facts["time_first_epoch_s"]) == (2, 1, T0)
    assert facts["util_mean_by_time[gpu_util|0]"] == pytest.approx((0.5 * 15 + 1.0 * 15.5) / 30.5)


def test_a_long_answer_on_one_line_is_no_export(tmp_path: Path) -> None:
    text = answer(*(series(UTIL, [(15 * k, "100") for k in range(500)], gpu=gpu) for gpu in range(8)))
    assert sureness(READER, text, tmp_path) >= 0.9
    assert sureness(EXPORT, text, tmp_path / "b") == 0


def test_overlapping_chunks_count_once_and_an_error_answer_is_told(tmp_path: Path) -> None:
    error = (
        '{"status":"error","errorType":"bad_data","error":"exceeded maximum resolution of 11,000 points"}\n'
    )
    text = answer(series(UTIL, [(0, "50"), (15, "60")])) + error
    text += answer(series(UTIL, [(15, "60"), (30, "70")]))
    batch = read(READER, text, tmp_path)
    assert (batch.records, batch.stored, batch.ignored["duplicate sample"]) == (5, 3, 1)
    assert [(one.line, one.reason) for one in batch.set_aside] == [(2, "the server answered with an error")]
    assert "11,000" in batch.set_aside[0].text


def test_a_vector_is_one_instant(tmp_path: Path) -> None:
    item = {"metric": {"__name__": UTIL, "gpu": "0", "UUID": "GPU-a"}, "value": [T0 + 0.5, "42"]}
    batch = read(READER, answer(item, kind="vector"), tmp_path)
    assert samples(batch)["gpu_util"].tolist() == [0.42]
    assert batch.facts["time_first_epoch_s"] == T0 + 0.5


def test_a_cut_file_keeps_the_series_before_the_cut(tmp_path: Path) -> None:
    text = answer(series(UTIL, [(0, "50"), (15, "60")]), series(UTIL, [(0, "70")], gpu=1))
    batch = read(READER, text[: text.index('"70"')], tmp_path)
    assert (batch.stored, batch.facts["partial_last_line"]) == (2, 1)
    assert any("middle of a series" in warning for warning in batch.warnings)


def test_a_broken_series_in_the_middle_is_set_aside_alone(tmp_path: Path) -> None:
    text = answer(
        series(UTIL, [(0, "50")]), series(UTIL, [(0, "70")], gpu=1), series(UTIL, [(0, "90")], gpu=2)
    )
    batch = read(READER, text.replace('"70"', '"70'), tmp_path)
    assert samples(batch)["gpu_util"].tolist() == [0.5, 0.9]
    assert len(batch.set_aside) == 1 and batch.facts["partial_last_line"] == 0


def test_small_chunks_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "".join(
        answer(
            series(UTIL, [(15.0 * i, str(i)) for i in range(start, start + 40)], exported_pod='a"result": [')
        )
        for start in (0, 40)
    )
    whole = samples(read(READER, text, tmp_path))
    monkeypatch.setattr(prometheus_json, "CHUNK", 50)
    monkeypatch.setattr(prometheus_json, "TAIL", 20)
    assert samples(read(READER, text, tmp_path / "b")).equals(whole)
    assert len(whole) == 80


def test_other_metrics_stay_as_series(tmp_path: Path) -> None:
    text = answer({"metric": {"__name__": "up", "job": "x"}, "values": [[T0, "1"], [T0 + 15, "0"]]})
    batch = read(READER, text, tmp_path)
    assert (batch.stored, batch.facts["gpus"]) == (0, None)
    assert batch.facts['series_mean[up{job="x"}]'] == 0.5
    assert batch.facts.get("util_mean_by_row[gpu_util]") is None
    assert batch.unmapped == ["up"]


def test_a_nameless_result_can_be_mapped(tmp_path: Path) -> None:
    item = {"metric": {"gpu": "0", "Hostname": "n1"}, "values": [[T0, "80"], [T0 + 60, "40"]]}
    assert read(READER, answer(item), tmp_path).stored == 0
    batch = read(READER, answer(item), tmp_path / "b", columns={"*": "gpu_util [%]"})
    assert samples(batch)["gpu_util"].tolist() == [0.8, 0.4]


def test_a_wide_step_and_the_point_limit_are_told(tmp_path: Path) -> None:
    slow = read(READER, answer(series(UTIL, [(0, "1"), (300, "2"), (600, "3")])), tmp_path)
    assert any("step is 300 s" in warning for warning in slow.warnings)
    many = [(float(i), "1") for i in range(11_000)]
    full = read(READER, answer(series(UTIL, many)), tmp_path / "b")
    assert any("11,000" in warning for warning in full.warnings)
    fine = read(READER, answer(series(UTIL, many[:100])), tmp_path / "c")
    assert not fine.warnings


def test_odd_points_are_set_aside(tmp_path: Path) -> None:
    item = series(UTIL, [(0, "50"), (15, "fast"), (30, "150")])
    item["values"] += [["soon", "1"], [T0 + 45], None, [T0 + 60, None]]
    batch = read(READER, answer(item), tmp_path)
    assert sorted(one.reason for one in batch.set_aside) == [
        "a percentage outside 0..100", "no time stamp", "no time stamp", "no time stamp", "not a number",
    ]  # fmt: skip
    assert (batch.records, batch.stored, batch.facts["missing_cells"]) == (7, 2, 1)


def test_an_empty_answer_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFileError, match="no point"):
        read(READER, answer(), tmp_path)


def test_victoriametrics_lines(tmp_path: Path) -> None:
    rows = [
        {"metric": {"__name__": UTIL, "gpu": "0", "UUID": "GPU-a"}, "values": [50, None, 70],
         "timestamps": [T0 * 1000, T0 * 1000 + 15_000, T0 * 1000 + 30_250]},
        {"metric": {"__name__": "up"}, "values": [1], "timestamps": [T0 * 1000]},
        {"metric": {"__name__": UTIL}, "values": [1, 2], "timestamps": [T0 * 1000]},
    ]  # fmt: skip
    text = "".join(json.dumps(row) + "\n" for row in rows) + '{"metric":{"__na'
    batch = read(EXPORT, text, tmp_path)
    assert sureness(EXPORT, text, tmp_path / "b") >= 0.9
    assert sureness(READER, text, tmp_path / "c") < 0.3
    assert samples(batch)["gpu_util"].fillna(-1).tolist() == [0.5, -1, 0.7]
    assert batch.facts["span_s"] == 30.25
    assert (batch.records, batch.stored, batch.facts["partial_last_line"]) == (5, 3, 1)
    assert [(one.line, one.reason) for one in batch.set_aside] == [(3, "no exported series")]


def test_series_of_no_known_measure_still_have_times(tmp_path: Path) -> None:
    text = json.dumps(
        {"status": "success", "data": {"resultType": "matrix", "result": [
            {"metric": {"gpu": "0"}, "values": [[1767225600, "50"], [1767225615, "60"], [1767225660, "70"]]},
        ]}}
    )  # fmt: skip
    facts = read(READER, text, tmp_path).facts
    assert (facts["time_first_epoch_s"], facts["span_s"]) == (1767225600.0, 60.0)
    assert (facts["gap_max_s"], facts["gap_median_s"]) == (45.0, 30.0)
