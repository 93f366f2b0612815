"""Bottleneck, rollouts and unit costs by hand."""

import pytest

from analysis import run
from analysis.result import Result
from models.stats import wilson
from tests.analysis.conftest import Home, phases, steps


def ask(home: Home, question: str, **params: object) -> Result:
    return run(question, home.view(), params)


def phase(result: Result, name: str, phase_name: str, kind: str = "wall") -> dict[str, float]:
    table = result.tables["phases"]
    row = table[(table["run"] == name) & (table["phase"] == phase_name) & (table["kind"] == kind)]
    return row.iloc[0].to_dict()


def test_shares_and_what_if_of_one_clock(home: Home) -> None:
    result = ask(home, "bottleneck")
    row = phase(result, "steady", "rollout")
    assert (row["share_of_step_frac"], row["share_of_usd_frac"], row["median_s"]) == pytest.approx(
        (0.6, 0.5, 60)
    )
    assert (row["step_if_free_s"], row["speedup_if_free"]) == pytest.approx((40, 2.5))
    assert result.answer == (
        "Generation takes 60 % of the step and 50 % of the money of steady; if it were free a step would "
        "take 40.0 s instead of 100 s."
    )


def test_overlapping_pools_are_bounded_by_the_longest(home: Home) -> None:
    result = ask(home, "bottleneck", runs=["apart"])
    # rollout pool 140 s, trainer 85 s: without generation the trainer's 85 s and the 10 s stall remain
    assert phase(result, "apart", "rollout")["step_if_free_s"] == pytest.approx(150 - (140 - 85))
    assert phase(result, "apart", "train")["step_if_free_s"] == pytest.approx(150)


def test_only_the_trainers_clock_tells_only_about_its_wait(home: Home) -> None:
    home.con.execute("DELETE FROM step_phases WHERE run = 'apart' AND pool = 'rollout'")
    result = ask(home, "bottleneck", runs=["apart"])
    assert phase(result, "apart", "rollout", "wait")["step_if_free_s"] == pytest.approx(90)
    assert phase(result, "apart", "train")["step_if_free_s"] != phase(result, "apart", "train")["step_mean_s"]
    assert "not known" in phase(result, "apart", "train")["free_note"]


def test_a_timer_on_top_of_the_step_does_not_shorten_it(home: Home) -> None:
    home.add("step_phases", *phases("steady", 1, range(1, 301), {"weight_sync": 12.0}, kind="outside"))
    result = ask(home, "bottleneck", runs=["steady"])
    row = phase(result, "steady", "weight_sync", "outside")
    assert row["mean_s"] == 12.0 and "on top of the step timer" in row["free_note"]
    assert row["step_if_free_s"] != row["step_if_free_s"]
    # 100 s a step, 60 s of rollouts and 30 s of training: 10 s are left, not -2 s
    rest = phase(result, "steady", "unattributed", "rest")
    assert rest["mean_s"] == pytest.approx(10.0)
    bins = result.tables["steps"]
    assert set(bins["phase"]) == {"rollout", "train", "unattributed"}


def test_a_stack_tells_waiting_from_time_in_no_phase(home: Home) -> None:
    """The trainer: 80 s of training, 5 s of syncing and 60 s of waiting in a step of 150 s leave 5 s."""
    bins = ask(home, "bottleneck", runs=["apart"]).tables["steps"]
    trainer = bins[(bins["pool"] == "train") & (bins["bin"] == 0)].set_index("phase")["seconds"]
    assert trainer.to_dict() == {"train": 80.0, "weight_sync": 5.0, "waiting": 60.0, "unattributed": 5.0}
    home.con.execute("UPDATE step_phases SET seconds = 900 WHERE run = 'apart' AND kind = 'wait'")
    bins = ask(home, "bottleneck", runs=["apart"]).tables["steps"]
    trainer = bins[(bins["pool"] == "train") & (bins["bin"] == 0)].set_index("phase")["seconds"]
    assert (trainer["waiting"], trainer["unattributed"]) == (65.0, 0.0)


def test_identity_checks_name_the_step(home: Home) -> None:
    home.add("step_phases", *phases("steady", 1, range(7, 8), {"other": 40.0}))
    home.con.execute("UPDATE steps SET throughput_basis = 'per_gpu' WHERE run = 'steady'")
    home.con.execute("UPDATE steps SET throughput = 150 WHERE run = 'steady' AND step = 9")
    flags = ask(home, "bottleneck").tables["flags"]
    found = flags[["step", "check_name"]].to_numpy().tolist()
    assert found == [[7, "phases_exceed_step"], [9, "throughput_against_tokens"]]
    # 150 tokens/s/GPU x 8 GPUs x 100 s against 80,000 tokens
    assert flags.iloc[1]["found"] == pytest.approx(120000)


def test_stack_keeps_means_and_spikes(home: Home) -> None:
    home.con.execute("DELETE FROM steps WHERE run = 'steady'")
    home.con.execute("DELETE FROM step_phases WHERE run = 'steady'")
    home.add("steps", *steps("steady", 1, range(1, 6001), 100.0))
    home.add("step_phases", *phases("steady", 1, range(1, 6001), {"rollout": 60.0}))
    home.con.execute("UPDATE step_phases SET seconds = 95 WHERE run = 'steady' AND step = 4321")
    table = ask(home, "bottleneck", runs=["steady"]).tables["steps"]
    assert len(table) <= 4000
    rollout = table[table["phase"] == "rollout"]
    assert rollout["seconds_max"].max() == 95
    assert (rollout["seconds"] * rollout["steps"]).sum() == pytest.approx(6000 * 60 + 35)
    assert (table.groupby("bin")["seconds"].sum()).to_list() == pytest.approx(
        [100.0] * rollout["bin"].nunique()
    )


def test_rates_name_their_basis(home: Home) -> None:
    result = ask(home, "rollouts")
    totals = result.tables["totals"].set_index("run")
    assert totals.loc["apart", "tok_per_s_per_gpu"] == pytest.approx(20000 / 150 / 8)
    assert totals.loc["apart", "tok_per_s_per_rollout_gpu"] == pytest.approx(20000 / 150 / 6)
    assert "all pools" in totals.loc["apart", "basis_gpu"]
    # rollouts are counted over the seconds of steps that report them
    assert totals.loc["broken", "rollouts_per_s"] == pytest.approx(32 / 500)
    assert result.figure("rollouts").value == 160 + 192 + 19200


def test_a_rate_of_tokens_names_its_runs_where_others_log_none(home: Home) -> None:
    home.con.execute("UPDATE steps SET tok_gen = NULL WHERE run <> 'apart'")
    answer = ask(home, "rollouts").answer
    assert answer.startswith("3 runs made 19.6k rollouts")
    assert f"and {20000 / 150 / 8:.1f} generated tokens a second and GPU (all pools; of apart alone" in answer
    home.con.execute("UPDATE steps SET tok_gen = 100")
    assert "(all pools)" in ask(home, "rollouts").answer


def test_unit_costs(home: Home) -> None:
    row = ask(home, "unit_economics").tables["units"].set_index("run").loc["steady"]
    per = 160 / 19200
    assert row["usd_per_rollout"] == pytest.approx(per)
    assert row["usd_per_correct"] == pytest.approx(per / 0.5)
    assert row["usd_per_informative"] == pytest.approx(per / (5 / 8))
    assert row["usd_per_mtok"] == pytest.approx(160 / 19.2)
    # 90 % of prices lie between the quotes, so 95 % reach a little past them, and not past both at once
    assert row["usd_per_correct_low"] < per * 0.76 / 0.5 < per * 1.9 / 0.5 < row["usd_per_correct_high"]


def test_with_one_quote_only_the_share_is_uncertain(home: Home) -> None:
    home.con.execute("UPDATE allocations SET platform = 'b200-hgx' WHERE run = 'steady'")
    row = ask(home, "unit_economics").tables["units"].set_index("run").loc["steady"]
    per = row["usd_per_rollout"]
    for unit, part, n in (("correct", 9600, 19200), ("informative", 1500, 2400)):
        share = wilson(part, n)
        ends = row[[f"usd_per_{unit}_low", f"usd_per_{unit}_high"]].to_list()
        assert ends == pytest.approx([per / share.high, per / share.low], rel=0.005)


def test_reward_is_not_accuracy(home: Home) -> None:
    home.con.execute("UPDATE steps SET correct = NULL, reward_mean = 0.5")
    result = ask(home, "unit_economics", runs=["steady"])
    figure = result.figure("usd_per_correct")
    assert figure.value is None
    assert "reward is not accuracy" in (figure.missing or "")
    assert "reward_not_accuracy" in {w.code for w in result.warnings}
    assert "reward is not accuracy" in result.answer


def test_units_of_several_runs_use_the_runs_that_have_them(home: Home) -> None:
    result = ask(home, "unit_economics")
    figure = result.figure("usd_per_mtok")
    assert figure.value == pytest.approx((160 + 8.252) / 19.4)
    assert "2 of 3 runs" in figure.label


def test_a_run_that_lost_everything_is_counted_whole_and_said(home: Home) -> None:
    home.con.execute("UPDATE attempts SET status = 'failed' WHERE run = 'steady'")
    shipped = ask(home, "unit_economics", runs=["steady"])
    assert "no_surviving_attempt" not in {w.code for w in shipped.warnings}
    home.con.execute("UPDATE campaigns SET shipped_checkpoint = NULL")
    result = ask(home, "unit_economics", runs=["steady"])
    assert result.figure("usd_per_rollout").value == pytest.approx(160 / 19200)
    assert "no_surviving_attempt" in {w.code for w in result.warnings}
