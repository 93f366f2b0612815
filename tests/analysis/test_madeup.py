"""The example's bill and runs are never added to a person's own: by default one or the other counts."""

from datetime import datetime, timedelta
from pathlib import Path

import pytest

from analysis.bill import default_period
from analysis.campaigns import CampaignsParams
from analysis.campaigns import compute as campaigns
from analysis.energy import EnergyParams
from analysis.energy import compute as energy
from analysis.madeup import default_runs, lies_beside
from analysis.month import MonthParams, periods
from analysis.month import compute as month
from analysis.reconciliation import ReconciliationParams, compute
from analysis.result import Result
from analysis.waste import WasteParams
from analysis.waste import compute as waste
from tests.analysis.bills import DAY, charge, hold, load, loaded
from tests.analysis.conftest import Home

MINE, MADE_UP = "a" * 16, "e" * 16
NOVEMBER = datetime(2026, 11, 10)
OWN = {"gpu_h": 192, "node": "node-a"}


def made_up(home: Home, tmp_path: Path, at: datetime, usd: float = 500.0) -> None:
    """The example in a home: a bill of one line, and the run that held its machine."""
    loaded(home, MADE_UP, synthetic=True, format="focus_csv", name="example.csv")
    load(home, tmp_path, [charge(usd, at, gpu_h=192, node="dgx-1")], upload=MADE_UP)
    hold(home, "example-run", at, 24, hosts={"dgx-1": 8})
    home.con.execute("UPDATE runs SET synthetic = true WHERE run = 'example-run'")


def own(home: Home, tmp_path: Path, at: datetime = DAY, usd: float = 200.0) -> None:
    loaded(home, MINE, format="focus_csv", name="bill.csv")
    load(home, tmp_path, [charge(usd, at, **OWN)], upload=MINE)
    hold(home, "mine", at, 12, hosts={"node-a": 8})


def asked(home: Home, period: str, example: str = "auto") -> Result:
    return compute(home.view(), ReconciliationParams(period=period, example=example))


def test_the_example_is_left_out_of_a_month_that_has_a_real_bill(empty_home: Home, tmp_path: Path) -> None:
    made_up(empty_home, tmp_path, DAY)
    own(empty_home, tmp_path)
    found = asked(empty_home, "2026-03")
    assert found.figure("bill_effective").value == 200.0
    assert set(found.tables["by_run"]["run"].dropna()) == {"mine"}
    (said,) = [n.text for n in found.warnings if n.code == "example_left_out"]
    assert said == "Example left out: $500.00 of its made-up bill and 1 made-up run are in no total here."
    assert "synthetic" not in {n.code for n in found.warnings}
    with_it = asked(empty_home, "2026-03", "with")
    assert with_it.figure("bill_effective").value == 700.0
    assert "synthetic" in {n.code for n in with_it.warnings}
    assert "example_left_out" not in {n.code for n in with_it.warnings}


@pytest.mark.parametrize("question", ["month", "campaigns"])
def test_every_question_of_money_leaves_it_out(empty_home: Home, tmp_path: Path, question: str) -> None:
    made_up(empty_home, tmp_path, DAY)
    own(empty_home, tmp_path)
    ask, params = (month, MonthParams) if question == "month" else (campaigns, CampaignsParams)
    name = "bill_effective" if question == "month" else "spend_total"
    found = ask(empty_home.view(), params(period="2026-03"))
    assert found.figure(name).value == 200.0
    assert "synthetic" not in {n.code for n in found.warnings}


def test_money_opens_on_the_newest_real_invoice(empty_home: Home, tmp_path: Path) -> None:
    made_up(empty_home, tmp_path, NOVEMBER)
    assert default_period(empty_home.view()) == "2026-11"
    own(empty_home, tmp_path)
    view = empty_home.view()
    assert default_period(view) == "2026-03"
    assert [(m.month, m.has_bill, m.is_example) for m in periods(view)] == [
        ("2026-11", True, True), ("2026-03", True, False),
    ]  # fmt: skip
    assert asked(empty_home, "all").figure("bill_effective").value == 200.0


def test_beside_own_data_the_example_is_left_out_of_its_own_months_too(
    empty_home: Home, tmp_path: Path
) -> None:
    """One rule for every page and month: what the switch of the sidebar says holds for the bill as well."""
    made_up(empty_home, tmp_path, NOVEMBER)
    assert asked(empty_home, "2026-11").figure("bill_effective").value == 500.0
    own(empty_home, tmp_path)
    view = empty_home.view()
    alone = asked(empty_home, "2026-11")
    assert alone.tables["lines"].empty and "example_left_out" in {n.code for n in alone.warnings}
    assert [m.month for m in periods(view, example=False)] == ["2026-03"]
    found = asked(empty_home, "2026-11", "with")
    assert found.figure("bill_effective").value == 500.0
    assert {"synthetic"} <= {n.code for n in found.warnings}


@pytest.mark.parametrize("what", ["run", "bill"])
def test_one_rule_says_that_the_example_lies_beside_own_data(
    empty_home: Home, tmp_path: Path, what: str
) -> None:
    """A run without a clock has no month, and a bill alone has no run: each is data of one's own."""
    assert not lies_beside(empty_home.view())
    made_up(empty_home, tmp_path, NOVEMBER)
    assert not lies_beside(empty_home.view())
    if what == "run":
        empty_home.add("runs", {"run": "mine", "synthetic": False})
    else:
        loaded(empty_home, MINE, format="focus_csv", name="bill.csv")
        load(empty_home, tmp_path, [charge(200.0, **OWN)], upload=MINE)
    assert lies_beside(empty_home.view())
    assert asked(empty_home, "2026-11").tables["lines"].empty


def test_real_runs_without_a_bill_are_not_priced_with_the_example(empty_home: Home, tmp_path: Path) -> None:
    """8 GPUs for 12 hours at $2.00, and nothing of the made-up invoice of the same month."""
    made_up(empty_home, tmp_path, DAY)
    hold(empty_home, "mine", DAY, 12)
    found = month(empty_home.view(), MonthParams(period="2026-03"))
    assert found.figure("bill_effective").value == 192.0
    assert found.figure("bill_billed").value is None
    assert "at least 0 %" not in found.answer
    assert found.answer.endswith(
        "how much of it was productive work is not known, as no GPU sample of the period is loaded."
    )
    lacking = found.figure("month_productive")
    assert lacking.value is None and lacking.missing == (
        "no GPU sample of the period is loaded: it is at most 100 % of the charges"
    )


def sampled_gpu(home: Home, gpu: str, run: str | None, upload: str) -> None:
    """An hour of one GPU at 500 W, from the start of DAY."""
    named = {"gpu_id": gpu, "host": "dgx-1", "run": run, "platform": "h100-sxm", "upload_id": upload}
    home.add("gpus", named)
    for at in (DAY + timedelta(minutes=m) for m in range(60)):
        home.add("gpu_coverage", {"gpu_id": gpu, "minute": at, "known_s": 60.0, "unknown_s": 0.0})
        for measure, value in (("gpu_util", 0.9), ("power_w", 500.0)):
            more = {"n": 1, "known_s": 60.0, "weighted_sum": 60 * value, "v_min": value, "v_max": value}
            home.add("gpu_minutes", {"gpu_id": gpu, "minute": at, "measure": measure, **more})


def test_samples_of_the_example_are_left_out_with_it(empty_home: Home, tmp_path: Path) -> None:
    """Neither a warning about GPU-hours of the made-up run nor its energy stands in a month of one's own."""
    made_up(empty_home, tmp_path, DAY)
    own(empty_home, tmp_path)
    sampled_gpu(empty_home, "dgx-1/0", "example-run", MADE_UP)
    sampled_gpu(empty_home, "dgx-1/1", None, MADE_UP)
    view = empty_home.view()
    alone = waste(view, WasteParams(period="2026-03"))
    assert {"sampled_not_charged", "gpus_without_run"}.isdisjoint(n.code for n in alone.warnings)
    for example, runs in (("auto", {"mine"}), ("with", {"mine", "example-run"})):
        found = energy(view, EnergyParams(period="2026-03", example=example))
        assert set(found.tables["runs"]["run"]) == runs
        assert ("example_left_out" in {n.code for n in found.warnings}) == (example == "auto")
    asked_for = energy(view, EnergyParams(period="2026-03", runs=("example-run",)))
    assert set(asked_for.tables["runs"]["run"]) == {"example-run"}
    assert set(energy(view, EnergyParams()).tables["runs"]["run"]) == {"mine", "example-run"}


def test_pages_are_about_own_runs_where_any_is_held_else_about_the_example(
    empty_home: Home, tmp_path: Path
) -> None:
    assert default_runs(empty_home.view()) == ()
    made_up(empty_home, tmp_path, DAY)
    assert default_runs(empty_home.view()) == ()
    own(empty_home, tmp_path)
    assert default_runs(empty_home.view()) == ("mine",)
    empty_home.con.execute("DELETE FROM runs WHERE synthetic")
    assert default_runs(empty_home.view()) == ()
