"""Sandboxes: the published case, worked by hand, what must always hold, and silence about what is unknown."""

import math
from itertools import pairwise

import numpy as np
import pytest

import analysis
from analysis.result import Result
from data.errors import UserError
from models.sandbox_pool import servers_for_tail
from tests.analysis.conftest import T0, Home

CASE = {"basis": "scratch"}
"""SWE case study: 16 prompts x 32 rollouts, one core a task, 16 nodes of GPUs."""
SHARED = {
    "basis": "scratch", "hold": "call", "gpus": 16, "rollouts_per_step": 128, "in_flight": 64,
    "rollout_phase_s": 600.0, "calls_per_rollout": 40, "busy_s": 2.0, "cores_per_sandbox": 2.0,
    "mem_gib": 4.0, "usd_per_core_h": 0.05, "usd_per_gib_h": 0.01, "usd_per_gpu_h": 3.0, "range_frac": 0.0,
}  # fmt: skip


def asked(home: Home, **params: object) -> Result:
    return analysis.run("sandboxes", home.view(), {**SHARED, **params})


def chosen(found: Result) -> dict:
    (row,) = found.tables["by_cores"].query("chosen").to_dict("records")
    return row


def test_the_published_case(empty_home: Home) -> None:
    found = analysis.run("sandboxes", empty_home.view(), CASE)
    row = chosen(found)
    assert row["sandboxes"] == row["cores"] == 512
    assert row["cores_per_gpu"] * 8 == 512 / 16 == 32
    assert "512 cores, 4.00 a GPU or 32.0 a node of 8" in found.answer
    # the production target of the same study: 4,096 tasks at one core each
    more = {"rollouts_per_step": 4096, "in_flight": 4096}
    assert chosen(analysis.run("sandboxes", empty_home.view(), CASE | more))["cores"] == 4096


def test_shared_sandboxes_by_erlang_c(home: Home) -> None:
    found = asked(home)
    # 128 x 40 calls in 600 s: 8.5 a second x 2 s = 17.1 busy
    count = servers_for_tail(128 * 40 / 600, 2.0, 1.0)
    row = chosen(found)
    assert row["sandboxes"] == count == found.figure("sandbox_open_need").value
    assert (
        row["cores"] == 2 * count and row["cores_per_gpu"] == 2 * count / 16 and row["mem_gib"] == 4 * count
    )
    seconds = row["phase_s"]
    assert row["cpu_usd_per_step"] == pytest.approx((2 * count * 0.05 + 4 * count * 0.01) * seconds / 3600)
    assert row["gpu_usd_per_step"] == pytest.approx(16 * 3.0 * seconds / 3600)
    assert row["usd_per_rollout"] == pytest.approx((row["cpu_usd_per_step"] + row["gpu_usd_per_step"]) / 128)
    assert found.tables["rollout_cost"]["usd_per_step"].sum() == pytest.approx(row["total_usd_per_step"])


def test_what_tools_take_of_the_gpus_by_hand(home: Home) -> None:
    # in flight 64 of 128: a rollout takes 300 s, 80 of them in tools; with f = 1 nothing hides them
    found = asked(home, latency_frac=1.0, cores_per_gpu=8.0)
    row = chosen(found)
    assert row["sandboxes"] == 64 and row["phase_s"] == pytest.approx(600)
    assert row["tools_usd_per_step"] == pytest.approx(160 / 3600 * 16 * 3.0)
    assert row["wait_usd_per_step"] == pytest.approx(0, abs=1e-9)
    # f = 0: decoding fills up while others call, the phase would be the same without tools
    hidden = chosen(asked(home, latency_frac=0.0, cores_per_gpu=8.0))
    assert hidden["tools_usd_per_step"] == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize("hold", ["call", "rollout"])
def test_more_cores_never_wait_longer_and_dollars_double_with_prices(home: Home, hold: str) -> None:
    found = asked(home, hold=hold, cold_s=5.0)
    rows = found.tables["by_cores"]
    for name in ("wait_mean_s", "wait_p95_s", "open_wait_s", "phase_s", "wait_usd_per_step"):
        values = rows[name].to_numpy()
        assert all(b <= a * (1 + 1e-6) + 1e-9 for a, b in pairwise(values)), name
    assert rows["cores"].is_monotonic_increasing and rows["cheapest"].sum() == 1
    twice = asked(home, hold=hold, cold_s=5.0, usd_per_gpu_h=6.0, usd_per_core_h=0.1, usd_per_gib_h=0.02)
    assert twice.tables["by_cores"]["total_usd_per_step"].to_numpy() == pytest.approx(
        2 * rows["total_usd_per_step"].to_numpy()
    )


def test_the_simulation_stands_beside_the_formula(home: Home) -> None:
    plain, varied = asked(home, busy_cv=1.0).tables["checked"].to_dict("records")
    assert plain["simulated_low_s"] <= plain["simulated_s"] <= plain["simulated_high_s"]
    assert plain["erlang_s"] == pytest.approx(plain["simulated_s"], rel=0.3)
    assert plain["erlang_p95_s"] <= 1.0
    calm = asked(home, busy_cv=0.0).tables["checked"].to_dict("records")[1]
    assert (
        calm["erlang_s"] == pytest.approx(plain["erlang_s"] / 2)
        and calm["simulated_s"] < varied["simulated_s"]
    )


def test_cpus_are_scenarios_and_the_unknown_stays_unknown(home: Home) -> None:
    found = asked(home)
    rows = found.tables["cpus"].set_index("cpu")
    assert rows.loc["x86-reference", "speedup"] == 1 and not rows.loc["x86-reference", "scenario"]
    assert math.isnan(rows.loc["grace", "speedup"]) and "no speed" in rows.loc["grace", "missing"]
    vera = rows.loc["vera"]
    assert (vera["speedup"], vera["status"], vera["scenario"]) == (1.3, "seed_article_only", True)
    assert vera["busy_s"] == pytest.approx(2.0 / 1.3)
    assert vera["sandboxes"] < rows.loc["x86-reference", "sandboxes"]
    assert vera["idle_usd_per_step"] < rows.loc["x86-reference", "idle_usd_per_step"]
    assert any("scenario" in a.name and a.status == "seed_article_only" for a in found.assumptions)
    half = asked(home, cpu_frac=0.5, vera_speedup=1.3).tables["cpus"].set_index("cpu").loc["vera"]
    assert half["busy_s"] == pytest.approx(1.0 + 1.0 / 1.3) and half["status"] == "user"
    bare = {key: value for key, value in SHARED.items() if key != "usd_per_core_h"}
    unpriced = analysis.run("sandboxes", home.view(), bare).tables["cpus"].set_index("cpu").loc["vera"]
    assert math.isnan(unpriced["usd_per_rollout"]) and "no price of a core" in unpriced["missing"]


def test_cores_of_the_hosts_cost_nothing_more(home: Home) -> None:
    found = asked(home, cores_from="host")
    assert chosen(found)["cpu_usd_per_step"] == 0 and "host_cores" in {w.code for w in found.warnings}


def test_a_run_with_its_calls(home: Home) -> None:
    for n in range(1, 41):
        home.add(
            "env_events",
            {"run": "apart", "step": 1, "env": "python", "started_at": T0, "queued_s": 0.5, "cold_s": 0.0,
             "busy_s": 1.0 + n % 2, "cores": 2.0, "mem_bytes": 2.0**30},
        )  # fmt: skip
    found = analysis.run("sandboxes", home.view(), {"run": "apart", "hold": "call"})
    values = found.tables["settings"].set_index("name")["value"]
    # 40 calls of one step with 16 rollouts; 140 s of rollouts in the pool's own clock
    assert values["calls_per_rollout"] == 2.5 and values["busy_s"] == 1.5 and values["queued_s"] == 0.5
    assert (values["rollout_phase_s"], values["gpus"], values["in_flight"]) == (140, 6, 16)
    assert values["busy_cv"] == pytest.approx(np.std([1.0, 2.0] * 20, ddof=1) / 1.5)
    assert chosen(found)["cores"] == 2 * chosen(found)["sandboxes"]
    home.con.execute("DELETE FROM env_events WHERE rowid % 4 <> 0")
    few = analysis.run("sandboxes", home.view(), {"run": "apart", "hold": "call"})
    assert "calls_sampled" in {w.code for w in few.warnings}
    assert few.tables["settings"].set_index("name").loc["calls_per_rollout", "value"] == 1


def test_refusals(home: Home) -> None:
    with pytest.raises(UserError, match="Tools do not fit the rollout phase"):
        asked(home, busy_s=20.0)
    with pytest.raises(UserError, match="less than one sandbox"):
        asked(home, cores_per_gpu=0.01)
    found = analysis.run("sandboxes", home.view(), {"run": "steady"})
    assert found.warnings[0].code == "cannot_plan" and "environment calls" in found.answer
    assert found.tables["by_cores"].empty


def test_rollouts_of_one_length_are_not_checked_by_a_simulation_that_is_too_short(home: Home) -> None:
    """552 sandboxes held 1,200 s each: four own runs of 400,000 such rollouts waited 0.93 to 1.44 s, outside
    of the 0.16 to 0.48 s that eight copies of 8,000 said; of exponential ones Erlang C is 1.518 s.
    """
    found = analysis.run("sandboxes", home.view(), {"basis": "scratch"})
    frame = found.tables["checked"].set_index("what")
    assert list(frame.index) == ["rollouts of exponential length"]
    only = frame.iloc[0]
    assert only["sandboxes"] == 552 and only["erlang_s"] == pytest.approx(1.518, abs=1e-3)
    assert only["simulated_low_s"] < only["erlang_s"] < only["simulated_high_s"]


def test_an_input_that_touches_no_queue_simulates_none(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    held = {"basis": "scratch", "hold": "call", "cold_s": 0.5}
    first = asked(home, **held).tables["checked"]

    def refused(*_: object) -> None:
        raise AssertionError("simulated again")

    monkeypatch.setattr("analysis.sandboxes_model.simulated_waits", refused)
    again = asked(home, **held, usd_per_gpu_h=3.0, latency_frac=0.3).tables["checked"]
    assert again.equals(first)
