"""Dollars against the hand-worked home, and the properties that any home must keep."""

from dataclasses import replace
from datetime import datetime

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import analysis
from analysis.params import CommonParams
from analysis.spend import compute_spend, filters_of
from data.queries import spend as queries
from models.cost import AttemptTime, lineage
from tests.analysis.conftest import Home, evaluation, pool, steps, tiny_book
from tests.examples import some

CENT = 0.005


def runs_of(home: Home, **params: object) -> pd.DataFrame:
    return compute_spend(home.view(), CommonParams(**params)).runs.set_index("run")


@pytest.mark.parametrize(
    ("boundary", "expected"),
    [
        ("compute", {"steady": 160.0, "broken": 32.0, "apart": 8.252}),
        ("campaign", {"steady": 160.0, "broken": 36.0, "apart": 8.252}),
        ("full", {"steady": 160.0, "broken": 36.0, "apart": 8.252}),
    ],
)
def test_dollars_by_boundary(home: Home, boundary: str, expected: dict[str, float]) -> None:
    usd = runs_of(home, boundary=boundary)["usd"]
    assert usd.to_dict() == pytest.approx(expected, abs=CENT)


def test_gpu_hours_lineage_and_lost_money(home: Home) -> None:
    found = compute_spend(home.view(), CommonParams())
    runs = found.runs.set_index("run")
    assert runs["gpu_hours"].to_dict() == pytest.approx({"steady": 80, "broken": 12, "apart": 4})
    assert runs.loc["broken", "lineage_frac"] == pytest.approx((4 * 2 / 3 + 8) / 12)
    assert runs.loc["broken", "lost_usd"] == pytest.approx(4.0)
    assert found.lost[["run", "attempt", "cause"]].to_numpy().tolist() == [["broken", 1, "engine"]]
    # 4 GPUs x (4 x 500 + 8 x 600) useful of 4 x 10800 billed
    assert runs.loc["broken", "goodput_frac"] == pytest.approx(6800 / 10800)
    assert runs.loc["apart", "sandbox_usd"] == pytest.approx(5 * 0.0504)


def test_interval_is_the_range_of_quotes(home: Home) -> None:
    row = runs_of(home).loc["steady"]
    assert (row["usd_low"], row["usd_high"]) == pytest.approx((80 * 1.5, 80 * 4.0))


def test_twice_the_price_is_twice_the_money(home: Home) -> None:
    once = runs_of(home)
    home.book = tiny_book(2.0)
    twice = runs_of(home)
    gpu_once, gpu_twice = once["usd"] - once["sandbox_usd"], twice["usd"] - twice["sandbox_usd"]
    assert gpu_twice.to_list() == pytest.approx((2 * gpu_once).to_list())


def test_splitting_an_allocation_keeps_the_total(home: Home) -> None:
    before = runs_of(home)
    home.con.execute("DELETE FROM allocations WHERE run = 'steady'")
    for start, seconds in (("2026-03-02 08:00", 10000), ("2026-03-02 10:46:40", 26000)):
        home.add(
            "allocations",
            pool("steady", 1, "all", "colocated", "h100-sxm", seconds, gpus=5, started_at=start),
        )
    home.add("allocations", pool("steady", 1, "extra", "judge", "h100-sxm", 36000, gpus=3))
    after = runs_of(home)
    for column in ("gpu_hours", "usd", "usd_low", "usd_high", "goodput_frac"):
        assert after[column].to_list() == pytest.approx(before[column].to_list()), column


def test_row_order_is_irrelevant(home: Home) -> None:
    before = compute_spend(home.view(), CommonParams())
    home.shuffle()
    after = compute_spend(home.view(), CommonParams())
    pd.testing.assert_frame_equal(before.runs, after.runs)
    pd.testing.assert_frame_equal(before.campaigns, after.campaigns)


def test_a_missing_price_is_said_and_never_replaced(home: Home) -> None:
    home.con.execute("UPDATE allocations SET platform = 'gb300-nvl72' WHERE run = 'steady'")
    found = compute_spend(home.view(), CommonParams())
    usd = found.runs.set_index("run")["usd"]
    assert pd.isna(usd["steady"])
    assert usd["broken"] == pytest.approx(36)
    assert pd.isna(found.campaigns["usd"].iloc[0])
    assert [n.where for n in found.notices if n.code == "price_missing"] == ["gb300-nvl72"]


def test_an_allocation_pays_its_own_price(home: Home) -> None:
    home.con.execute("UPDATE allocations SET price_id = 'test-h100-sxm-high' WHERE run = 'steady'")
    found = compute_spend(home.view(), CommonParams())
    assert found.runs.set_index("run").loc["steady", "usd"] == pytest.approx(320)
    home.con.execute("UPDATE allocations SET price_id = 'no-such-price' WHERE run = 'steady'")
    found = compute_spend(home.view(), CommonParams())
    assert pd.isna(found.runs.set_index("run").loc["steady", "usd"])
    assert "no-such-price" in next(n.text for n in found.notices if n.code == "price_missing")


def test_every_catalogue_number_is_an_assumption_with_source_and_date(home: Home) -> None:
    found = compute_spend(home.view(), CommonParams())
    assert {a.value for a in found.assumptions} == {2.0, 3.0, 0.0504}
    assert all(a.source and a.date and a.status for a in found.assumptions)


def test_full_boundary_adds_evals_and_costs_but_no_gpu_bill(home: Home) -> None:
    home.con.execute("UPDATE evals SET usd = 1.5 WHERE run = 'steady'")
    base = {"currency": "USD", "campaign": "math"}
    home.add("costs", {**base, "bucket": "data", "effective_cost": 100.0})
    home.add("costs", {**base, "bucket": "gpu", "effective_cost": 500.0, "run": "steady"})
    home.add("costs", {**base, "bucket": "staff", "effective_cost": 70.0, "currency": "EUR"})
    home.add("costs", {**base, "bucket": "storage", "billed_cost": 7.0, "run": "broken"})
    found = compute_spend(home.view(), CommonParams(boundary="full"))
    usd = found.runs.set_index("run")["usd"]
    assert usd.to_dict() == pytest.approx({"steady": 163.0, "broken": 43.0, "apart": 8.252})
    assert found.campaigns["usd"].iloc[0] == pytest.approx(163 + 43 + 8.252 + 100)
    assert {n.code for n in found.notices} >= {"gpu_bill_left_out", "currency_left_out"}


def test_the_cost_of_a_baseline_is_nobodys_and_that_is_said(home: Home) -> None:
    home.con.execute("UPDATE evals SET usd = 5 WHERE run IS NULL")
    home.add("costs", {"currency": "EUR", "campaign": "gone", "bucket": "data", "billed_cost": 9.0})
    for boundary, said in (("campaign", []), ("full", [("gone", "9 EUR"), ("base", "$5.00")])):
        found = compute_spend(home.view(), CommonParams(boundary=boundary))
        loose = [n for n in found.notices if n.code == "cost_unbooked"]
        assert [(n.where, n.text.split(" booked")[0].split(" for")[0]) for n in loose] == said
        assert found.campaigns["usd"].iloc[0] == pytest.approx(160 + 36 + 8.252)


def test_costs_of_nobody_leave_out_the_example_and_keep_credits_apart(home: Home) -> None:
    counts = dict.fromkeys(("size_bytes", "records", "stored", "quarantined", "ignored", "rows_written"), 1)
    named = {"upload_id": "example", "sha256": "example", "name": "example.csv", "format": "ipd_costs_csv"}
    home.add("uploads", {**named, **counts, "synthetic": True, "uploaded_at": datetime(2026, 11, 1)})
    tax = {"currency": "USD", "bucket": "other", "category": "Tax"}
    home.add("costs", {**tax, "billed_cost": 118.19}, {**tax, "category": "Credit", "billed_cost": -150.0})
    home.add("costs", {**tax, "billed_cost": 11.5, "upload_id": "example"})

    def said(params: CommonParams) -> list[str]:
        return [n.text for n in compute_spend(home.view(), params).notices if n.code == "cost_unbooked"]

    alone = [
        "$118 on lines that name no run and no campaign is in no spend.",
        "-$150 of credits on lines that name no run and no campaign is in no spend.",
    ]
    assert said(CommonParams(boundary="full")) == alone
    home.con.execute("UPDATE runs SET synthetic = true WHERE run = 'steady'")
    assert said(CommonParams(boundary="full", runs=["broken"])) == alone
    assert said(CommonParams(boundary="full", runs=["steady"]))[0].startswith("$130 ")


def test_an_evaluation_belongs_to_the_run_of_its_checkpoint(home: Home) -> None:
    home.add("evals", {**evaluation("loose", None, None, None, 0.7), "checkpoint": "steady@300", "usd": 2.0})
    found = compute_spend(home.view(), CommonParams(boundary="full"))
    assert found.runs.set_index("run").loc["steady", "usd"] == pytest.approx(162)


def test_full_without_booked_costs_says_so(home: Home) -> None:
    for params, lacking in (({"boundary": "campaign"}, []), ({"boundary": "full"}, ["math"])):
        answer = analysis.run("ledger", home.view(), params)
        assert [n.where for n in answer.warnings if n.code == "full_without_costs"] == lacking
        assert ("no data or staff costs are recorded for this campaign" in answer.answer) == bool(lacking)
    home.add("costs", {"currency": "USD", "campaign": "math", "bucket": "staff", "billed_cost": 40.0})
    answer = analysis.run("ledger", home.view(), {"boundary": "full"})
    assert "full_without_costs" not in {n.code for n in answer.warnings}
    assert "no data or staff" not in answer.answer
    assert answer.figure("spend").value == pytest.approx(160 + 36 + 8.252 + 40)


@pytest.mark.parametrize("basis", ["step_sum", "progress_bar", "user", "log_clock", None])
def test_time_without_a_clock_is_a_lower_bound(home: Home, basis: str | None) -> None:
    home.con.execute("UPDATE allocations SET seconds_basis = ? WHERE run = 'steady'", [basis])
    found = compute_spend(home.view(), CommonParams())
    said = [n for n in found.notices if n.code == "time_lower_bound"]
    assert [n.where for n in said] == ["steady"]
    assert "_" not in said[0].text
    assert not found.runs.set_index("run").loc["steady", "clock"]


@pytest.mark.parametrize("place", ["attempts", "allocations"])
def test_a_clock_needs_a_start_and_an_end(home: Home, place: str) -> None:
    home.con.execute("UPDATE attempts SET ended_at = NULL WHERE run = 'steady'")
    for where in ([], ["steady"]) if place == "allocations" else ([], []):
        end = None if where else "2026-03-02 18:00:00"
        home.con.execute(
            f"UPDATE {place} SET started_at = '2026-03-02 08:00:00', ended_at = ? WHERE run = 'steady'", [end]
        )
        found = compute_spend(home.view(), CommonParams())
        assert [n.where for n in found.notices if n.code == "time_lower_bound"] == where


def test_a_run_without_anything_has_no_cost_and_says_why(empty_home: Home) -> None:
    empty_home.add("runs", {"run": "bare", "synthetic": False})
    found = compute_spend(empty_home.view(), CommonParams())
    assert found.runs["usd"].isna().all()
    assert [n.code for n in found.notices] == ["cost_unknown"]


def test_platform_filter_keeps_whole_runs(home: Home) -> None:
    assert list(runs_of(home, platforms=("b200-hgx",)).index) == ["broken"]
    assert list(runs_of(home, runs=("steady", "apart"), platforms=("h100-sxm",)).index) == ["apart", "steady"]


@st.composite
def attempt_lists(draw: st.DrawFn) -> list[AttemptTime]:
    out: list[AttemptTime] = []
    for number in sorted(draw(st.sets(st.integers(1, 9), min_size=1, max_size=5))):
        earlier = [a.attempt for a in out]
        parent = draw(st.one_of(st.none(), st.sampled_from(earlier))) if earlier else None
        out.append(
            AttemptTime(
                number,
                draw(st.sampled_from(["running", "completed", "failed", "cancelled", "unknown"])),
                {n: draw(st.floats(1, 100)) for n in range(1, draw(st.integers(0, 4)) + 1)},
                parent,
                draw(st.one_of(st.none(), st.integers(0, 5))),
                draw(st.one_of(st.none(), st.none(), st.integers(0, 5))),
            )
        )
    return out


@settings(max_examples=some(12), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(attempts=attempt_lists())
def test_lineage_in_sql_is_the_lineage_of_the_model(scratch_home: Home, attempts: list[AttemptTime]) -> None:
    home = scratch_home
    home.clear()
    home.con.execute("DELETE FROM checkpoints")
    home.add("runs", {"run": "r", "synthetic": False})
    for a in attempts:
        if a.used_step is not None:
            saved = {"checkpoint": f"r{a.attempt}", "run": "r", "attempt": a.attempt, "step": a.used_step}
            home.add(
                "checkpoints", saved, {"checkpoint": f"x{a.attempt}", "run": "x", "parent": f"r{a.attempt}"}
            )
        row = {"run": "r", "attempt": a.attempt, "status": a.status}
        home.add(
            "attempts",
            {**row, "resumed_from_step": a.resumed_from_step, "resumed_from_attempt": a.resumed_from_attempt},
        )
        for step, seconds in a.step_s.items():
            home.add("steps", *steps("r", a.attempt, range(step, step + 1), seconds))
    found = queries.attempts(home.view(), filters_of(CommonParams())).set_index("attempt")["kept_frac"]
    told = lineage(attempts)
    assert lineage(attempts[::-1]) == told
    for number, expected in told.items():
        got = found[number]
        assert (None if pd.isna(got) else got) == pytest.approx(expected.kept_frac), (number, expected)
    named = [replace(a, resumed_from_attempt=_before(a, attempts)) for a in attempts]
    assert lineage(named) == told


def _before(item: AttemptTime, attempts: list[AttemptTime]) -> int | None:
    """What a person would write into the empty cell: the highest lower attempt number."""
    if item.resumed_from_attempt is not None or item.resumed_from_step is None:
        return item.resumed_from_attempt
    return max((a.attempt for a in attempts if a.attempt < item.attempt), default=None)


def test_two_files_of_one_step_count_once(home: Home) -> None:
    before = runs_of(home)
    copy = [{**row, "source": "wandb_chart"} for row in steps("steady", 1, range(1, 301), 100.0, rollouts=64)]
    home.add("steps", *copy)
    after = runs_of(home)
    assert after["goodput_frac"].to_list() == pytest.approx(before["goodput_frac"].to_list())


def test_gpus_that_nobody_counted_are_missing_and_not_free(home: Home) -> None:
    home.con.execute("UPDATE allocations SET gpus = NULL WHERE run = 'steady'")
    found = compute_spend(home.view(), CommonParams())
    row = found.runs.set_index("run").loc["steady"]
    assert pd.isna(row["usd"])
    assert pd.isna(row["gpu_hours"])
    assert [n.where for n in found.notices if n.code == "cost_unknown"] == ["steady"]


def test_lines_of_a_run_add_up_to_its_boundaries(home):
    """Judges, sandbox cores and booked costs have lines of their own."""
    home.con.execute("UPDATE allocations SET role = 'judge' WHERE run = 'apart' AND pool = 'train'")
    home.add(
        "costs",
        {"run": "apart", "bucket": "storage", "billed_cost": 7.0, "currency": "USD"},
        {"campaign": "math", "bucket": "staff", "billed_cost": 9.0, "currency": "USD"},
    )
    spend = compute_spend(home.view(), CommonParams(boundary="full"))
    lines = spend.lines.set_index(["run", "line"])
    assert lines.loc[("apart", "judge"), "usd"] == pytest.approx(2)
    assert lines.loc[("apart", "sandbox"), ["quantity", "unit"]].tolist() == [5.0, "vCPU-hours"]
    assert lines.loc[("apart", "storage"), "usd"] == pytest.approx(7)
    assert lines.loc[("", "staff"), ["campaign", "usd"]].tolist() == ["math", 9.0]
    runs = spend.runs.set_index("run")
    pools = spend.lines[spend.lines["boundary"] == "campaign"].groupby("run")["usd"].sum()
    for run in runs.index:
        assert pools[run] == pytest.approx(runs.loc[run, "usd_campaign"])
    assert spend.lines.loc[spend.lines["run"] == "apart", "usd"].sum() == pytest.approx(
        runs.loc["apart", "usd_full"]
    )


def test_a_credit_is_apart_from_the_full_boundary(home: Home) -> None:
    """broken: pools $36, storage $7, a credit of $20: full $43, net $23; a credit of the campaign of $5."""
    base = {"currency": "USD", "campaign": "math", "category": "Credit", "bucket": "other"}
    storage = {"bucket": "storage", "category": "Usage", "billed_cost": 7.0}
    home.add("costs", {**base, **storage, "run": "broken"})
    home.add("costs", {**base, "run": "broken", "billed_cost": -20.0}, {**base, "billed_cost": -5.0})
    found = compute_spend(home.view(), CommonParams(boundary="full"))
    row = found.runs.set_index("run").loc["broken"]
    names = ["usd", "usd_campaign", "usd_full", "credits_usd", "usd_net", "booked_usd"]
    assert row[names].tolist() == pytest.approx([43, 36, 43, -20, 23, 7])
    (campaign,) = found.campaigns[["usd_full", "credits_usd", "usd_net"]].to_numpy().tolist()
    assert campaign == pytest.approx([160 + 43 + 8.252, -25, 160 + 43 + 8.252 - 25])
    mine = found.lines[found.lines["run"] == "broken"]
    assert mine.loc[mine["boundary"] != "net", "usd"].sum() == pytest.approx(43)
    assert mine["usd"].sum() == pytest.approx(23)
    (said,) = [n.text for n in found.notices if n.code == "credits_apart"]
    assert said == "Credits of $25.00 are apart: full is what is charged before them."
