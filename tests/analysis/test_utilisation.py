"""Time-weighted utilisation, its bounds, and what it does not prove."""

import pytest

from analysis import run
from analysis.result import Result
from tests.analysis.conftest import Home, gpu_minutes


def ask(home: Home, **params: object) -> Result:
    return run("utilisation", home.view(), params)


def test_mean_bounds_and_coverage_by_hand(home: Home) -> None:
    gpu_minutes(home)
    result = ask(home)
    figure = result.figure("utilisation")
    # 1 + 0.5 + 0 + 0 + 0 minutes busy; 5 known and 1 unknown
    assert (figure.value, figure.low, figure.high) == pytest.approx((1.5 / 5, 1.5 / 6, 2.5 / 6))
    assert result.figure("coverage").value == pytest.approx(5 / 6)
    assert figure.interval == "bounds"
    assert "coverage_low" in {w.code for w in result.warnings}


def test_each_gpu_has_its_own_row(home: Home) -> None:
    gpu_minutes(home)
    table = ask(home).tables["gpus"].set_index("gpu_id")
    assert table.loc["n1:0", ["value", "low", "high"]].to_list() == pytest.approx([0.75, 0.5, 2.5 / 3])
    assert table.loc["n1:1", "coverage_frac"] == 1


def test_an_unrecorded_measure_is_said_and_never_replaced(home: Home) -> None:
    gpu_minutes(home)
    result = ask(home, measure="sm_active")
    assert result.figure("utilisation").value is None
    assert "GPU-Util (NVML)" in result.answer
    assert result.tables["heat"]["value"].isna().all()


def test_the_answer_names_measure_weighting_coverage_and_limits(home: Home) -> None:
    gpu_minutes(home)
    answer = ask(home).answer
    for words in ("GPU-Util", "weighted by time", "2 GPUs", "83 %", "does not prove"):
        assert words in answer


def test_power_and_energy(home: Home) -> None:
    gpu_minutes(home)
    result = ask(home)
    assert result.figure("mean_power").value == pytest.approx(300)
    assert result.figure("energy").value == pytest.approx(300 * 300 / 3.6e6)


def test_map_has_few_cells_and_keeps_extremes(home: Home) -> None:
    home.con.execute(
        """
        INSERT INTO gpus (gpu_id, host, gpu_index, run, upload_id)
        SELECT 'h' || (i // 8) || ':' || i % 8, 'h' || (i // 8), i % 8, 'steady', 'u' FROM range(64) t(i);
        INSERT INTO gpu_minutes
        SELECT g.gpu_id, TIMESTAMP '2026-03-02 08:00' + to_minutes(m), 'gpu_util', 60, 60 * 0.5,
               CASE WHEN m = 777 THEN 0.0 ELSE 0.4 END, 0.6, 60
          FROM gpus g, range(1440) t(m);
        INSERT INTO gpu_coverage SELECT gpu_id, minute, 60, 0 FROM gpu_minutes;
        """
    )
    result = ask(home)
    heat = result.tables["heat"]
    assert len(heat) <= 4000
    assert heat["v_min"].min() == 0
    assert heat["value"].to_list() == pytest.approx([0.5] * len(heat))
    assert len(result.tables["timeline"]) <= 200


def test_row_order_and_run_filter(home: Home) -> None:
    gpu_minutes(home)
    first = ask(home).to_json()
    home.shuffle()
    assert ask(home).to_json() == first
    assert ask(home, runs=["broken"]).figure("utilisation").value is None


def test_samples_outside_the_attempts_are_not_counted(home: Home) -> None:
    gpu_minutes(home)
    home.con.execute("UPDATE allocations SET gpus = 2, seconds = 120 WHERE run = 'steady'")
    home.con.execute("UPDATE attempts SET ended_at = started_at + INTERVAL 2 MINUTE WHERE run = 'steady'")
    result = ask(home, runs=["steady"])
    # four minutes; the third minute of n1:1 lies after the end
    assert result.figure("coverage_of_allocated").value == pytest.approx(1)
    said = [w.text for w in result.warnings if w.code == "samples_outside_allocation"]
    assert len(said) == 1 and "0.0167 sampled GPU-hours" in said[0]


def test_more_samples_than_allocation_cover_nothing(home: Home) -> None:
    gpu_minutes(home)
    home.con.execute("UPDATE allocations SET gpus = 1, seconds = 60 WHERE run = 'steady'")
    home.con.execute("UPDATE attempts SET started_at = NULL, ended_at = NULL WHERE run = 'steady'")
    result = ask(home, runs=["steady"])
    figure = result.figure("coverage_of_allocated")
    assert figure.value is None and "allocated" in str(figure.missing)
    assert "samples_outside_allocation" in {w.code for w in result.warnings}
