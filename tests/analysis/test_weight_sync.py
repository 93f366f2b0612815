"""A weight sync: dollars by hand, published engines at their rate, and what links forbid."""

import math

import pytest

import analysis
from analysis.result import Result
from analysis.weight_sync_inputs import RERUN
from data.errors import UserError
from tests.analysis.conftest import Home

STEP = {
    "basis": "scratch", "llm": "qwen3-30b-a3b", "trainer_gpus": 48, "engine_gpus": 16, "copies": 1,
    "sync_s": 15.76, "step_s": 115.76, "usd_per_gpu_h": 2.0, "platform": "h100-sxm", "range_frac": 0.0,
}  # fmt: skip


def asked(home: Home, **params: object) -> Result:
    return analysis.run("weight_sync", home.view(), {**STEP, **params})


def row(found: Result, name: str) -> dict:
    (only,) = found.tables["engines"].query("row_id == @name").to_dict("records")
    return only


def test_by_hand(home: Home) -> None:
    # 64 GPUs at $2: 15.76 s are $0.5604; of a day 15.76 / 115.76 of $3,072
    found = asked(home)
    assert found.figure("weight_sync_usd_per_step").value == pytest.approx(64 * 2 * 15.76 / 3600)
    assert found.figure("weight_sync_usd_per_day").value == pytest.approx(24 * 128 * 15.76 / 115.76)
    # 30.5 billion parameters in BF16, as published: 3.87 GB/s
    assert found.figure("weight_sync_gb_s").value == pytest.approx(61.0 / 15.76, rel=0.01)


def test_the_published_faster_engine_buys_what_was_measured(home: Home) -> None:
    # same model and engine GPUs as in the table: verl's checkpoint engine takes its 4.38 s here
    found = asked(home)
    fast = row(found, "P0619")
    assert fast["sync_s"] == pytest.approx(4.38, rel=0.005) and fast["sync_s_low"] == fast["sync_s"]
    assert fast["sync_s_high"] == pytest.approx(fast["sync_s"] * RERUN)
    assert fast["step_speedup"] == pytest.approx(115.76 / (100 + fast["sync_s"]))
    assert fast["saved_usd_per_day"] == pytest.approx(24 * 128 * (15.76 - fast["sync_s"]) / 115.76)
    assert row(found, "P0618")["step_speedup"] == pytest.approx(1, abs=0.001)


def test_a_rate_a_gpu_and_a_rate_of_all_links_are_the_ends(home: Home) -> None:
    found = row(asked(home, engine_gpus=32), "P0619")
    assert found["sync_s"] == pytest.approx(4.38 / 2, rel=0.005)
    assert found["sync_s_high"] == pytest.approx(4.38 * RERUN, rel=0.005)


def test_hidden_seconds_cost_nothing(home: Home) -> None:
    found = asked(home, hidden_s=10.0)
    assert found.figure("weight_sync_usd_per_step").value == pytest.approx(128 * 5.76 / 3600)
    assert asked(home, hidden_s=20.0).figure("weight_sync_usd_per_day").value == 0


def test_dollars_double_with_the_price_and_fall_with_the_rate(home: Home) -> None:
    one, two = asked(home).tables["engines"], asked(home, usd_per_gpu_h=4.0).tables["engines"]
    assert two["usd_per_day"].to_numpy() == pytest.approx(2 * one["usd_per_day"].to_numpy())
    speeds = asked(home).tables["speeds"]
    assert speeds["usd_per_day"].is_monotonic_decreasing and speeds["step_speedup"].is_monotonic_increasing
    slow = asked(home, gb_per_s=1.0)
    assert slow.figure("weight_sync_s").value == pytest.approx(61.0, rel=0.01)


def test_what_the_network_cannot_carry_is_no_answer(home: Home) -> None:
    # 16 engine GPUs of two nodes take 16 copies as two over the network: 122 GB over 800 GB/s are 0.15 s
    found = asked(home, engine_gpus=2, copies=2, trainer_gpus=2)
    told = found.tables["engines"].set_index("row_id")["beyond_link"]
    assert not told["P0618"]
    quick = asked(home, engine_gpus=8, trainer_gpus=2, llm="qwen3-235b-a22b", sync_s=60.0, step_s=600.0)
    rows = quick.tables["engines"].set_index("row_id")
    # one copy of 470 GB leaves 2 trainers at 50 GB/s each in 4.7 s at least
    for name, one in rows.iloc[1:].iterrows():
        assert one["beyond_link"] == (one["sync_s"] < 470.2 / 100 - 1e-6), name
    best = quick.figure("weight_sync_speedup").value
    able = rows.iloc[1:][rows.iloc[1:]["beyond_link"].eq(False)]
    assert best is None or best == pytest.approx(able["step_speedup"].max())


def test_nothing_timed_stands_on_a_published_engine_and_says_so(home: Home) -> None:
    found = analysis.run("weight_sync", home.view(), {"basis": "scratch"})
    one = found.figure("weight_sync_s")
    assert one.value == pytest.approx(2.32) and one.high == pytest.approx(2.32 * RERUN)
    assert "not_timed" in {w.code for w in found.warnings}
    # below 1 % of a 7-minute step, as its authors say
    assert row(found, "now")["share_frac"] < 0.01
    other = analysis.run("weight_sync", home.view(), {"basis": "scratch", "engine": "P0618"})
    assert other.figure("weight_sync_s").value == pytest.approx(1100 / (61.1 / 15.76 * 4), rel=0.01)


def test_a_measured_run(home: Home) -> None:
    # apart: 5 s of 150 on 8 GPUs at $2; its model is not named, so rates and other engines are unknown
    found = analysis.run("weight_sync", home.view(), {"run": "apart"})
    assert found.figure("weight_sync_usd_per_step").value == pytest.approx(8 * 2 * 5 / 3600)
    assert found.figure("weight_sync_usd_per_day").value == pytest.approx(24 * 16 * 5 / 150)
    assert found.figure("weight_sync_gb_s").value is None and len(found.tables["engines"]) == 1
    assert "model_unknown" in {w.code for w in found.warnings}
    named = analysis.run("weight_sync", home.view(), {"run": "apart", "llm": "qwen2.5-7b"})
    assert named.figure("weight_sync_gb_s").value == pytest.approx(15.2 / 5, rel=0.01)
    assert not math.isnan(named.tables["engines"]["sync_s"].iloc[1])


def test_one_pool_has_no_engine_between_pools(home: Home) -> None:
    home.con.execute("UPDATE step_phases SET phase = 'weight_sync' WHERE run = 'steady' AND phase = 'train'")
    found = analysis.run("weight_sync", home.view(), {"run": "steady", "llm": "qwen2.5-7b"})
    # 8 GPUs stand once, not as trainer and as engines
    assert found.figure("weight_sync_usd_per_step").value == pytest.approx(8 * 2 * 30 / 3600)
    assert len(found.tables["engines"]) == 1 and "One pool does both" in found.answer


def test_refusals(home: Home) -> None:
    with pytest.raises(UserError, match="no published sync"):
        asked(home, engine="nope")
    with pytest.raises(UserError, match="no shape of 'nope'"):
        asked(home, llm="nope")
    found = analysis.run("weight_sync", home.view(), {"run": "steady"})
    assert "no timer of the weight sync" in found.answer and found.tables["engines"].empty
