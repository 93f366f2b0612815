"""Sandbox calls: quantiles against numpy, shares with intervals, and silence where no file has any."""

import numpy as np
import pytest

import analysis
from charts.sandbox import sandbox
from tests.analysis.conftest import T0, Home


def calls(home: Home) -> None:
    for n in range(1, 21):
        home.add(
            "env_events",
            {
                "run": "apart", "env": "python", "started_at": T0, "queued_s": 0.1 * n, "cold_s": 0.0,
                "busy_s": 3.0 * n, "cores": 2.0, "ok": n != 20,
            },
        )  # fmt: skip
    home.add("env_events", {"run": "steady", "env": "browser", "busy_s": 7.0})
    home.add("env_events", {"run": None, "env": "browser", "busy_s": 9.0})


def test_the_table_is_what_the_calls_say(home: Home) -> None:
    calls(home)
    rows = analysis.run("rollouts", home.view()).tables["sandbox"].set_index("env")
    python = rows.loc["python"]
    times = 3.0 * np.arange(1, 21)
    assert (python["calls"], python["ok_frac"]) == (20, 0.95)
    assert python["ok_frac_low"] < 0.95 < python["ok_frac_high"] < 1
    assert python["busy_p50_s"] == pytest.approx(np.quantile(times, 0.5))
    assert python["busy_p95_s"] == pytest.approx(np.quantile(times, 0.95))
    assert python["queued_p95_s"] == pytest.approx(np.quantile(times, 0.95) / 30)
    assert python["core_hours_busy"] == pytest.approx(2 * times.sum() / 3600)
    browser = rows.loc["browser"]
    assert browser["calls"] == 2
    assert np.isnan(browser[["ok_frac", "queued_p50_s", "core_hours_busy"]].to_numpy(dtype=float)).all()


def test_figures_and_sentence(home: Home) -> None:
    calls(home)
    found = analysis.run("rollouts", home.view())
    assert "python was called 20 times, 95 % of them without failure" in found.answer
    assert found.answer.endswith("1 more environment in the table.")
    assert found.figure("sandbox_core_h").value == pytest.approx(2 * 3.0 * 210 / 3600)
    assert "20 of 22 calls" in found.figure("sandbox_core_h").label
    good = found.figure("sandbox_ok")
    assert (good.value, good.n, good.interval) == (0.95, 20, "ci95")
    assert len(sandbox(found).data) == 3


def test_other_runs_have_no_part_in_it(home: Home) -> None:
    calls(home)
    rows = analysis.run("rollouts", home.view(), {"runs": ["steady"]}).tables["sandbox"]
    assert rows[["env", "calls"]].to_numpy().tolist() == [["browser", 1]]


def test_a_home_without_calls_says_nothing(home: Home) -> None:
    found = analysis.run("rollouts", home.view())
    assert found.tables["sandbox"].empty
    assert "called" not in found.answer
    assert not [f for f in found.headline if f.name.startswith("sandbox")]
    assert not sandbox(found).data


def test_lengths_are_summed_by_bucket(home: Home) -> None:
    assert "length_hist" not in analysis.run("rollouts", home.view()).tables
    for step in (1, 2):
        for low, n in ((0, 5.0), (1000, 7.0)):
            row = {"run": "steady", "attempt": 1, "step": step, "bucket_low": low, "n": n}
            home.add("length_hist", {**row, "bucket_high": low + 1000})
    rows = analysis.run("rollouts", home.view()).tables["length_hist"]
    assert rows[["bucket_low", "n"]].to_numpy().tolist() == [[0, 10], [1000, 14]]
