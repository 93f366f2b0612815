"""Commitments on homes worked by hand: what is recommended, refused, and what more demand and prices do."""

from datetime import timedelta

import pytest

import analysis
from analysis.commitments_worlds import CommitmentsParams, months_from
from analysis.result import Result
from data.errors import UserError
from tests.analysis.conftest import T0, Home, pool

CERTAIN = {"down_prob": 0.0, "up_prob": 0.0, "next_prob": 0.0, "buy": "h100-sxm"}
QUOTES = {"on_demand_usd": 4.0, "reserve_1y_usd": 3.0, "reserve_3y_usd": 2.0}


@pytest.fixture(autouse=True)
def few_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """The interval is not what these tests are about."""
    monkeypatch.setattr("analysis.commitments_tables.DRAWS", 12)


def steady(home: Home, gpus: int, days: int = 28, busy: int = 28, run: str = "r") -> None:
    """`gpus` H100 held whole days: the first `busy` of `days`; a marker of another platform on the last."""
    home.add("runs", {"run": run, "campaign": "math", "synthetic": False})
    start = T0.replace(hour=0)
    rows = [(run, 1, "h100-sxm", gpus, 0, busy), (run, 2, "b200-hgx", 1, days - 1, 1)]
    for name, attempt, platform, count, first, length in rows:
        begun, held = start + timedelta(days=first), 86400.0 * length
        home.add(
            "attempts",
            {"run": name, "attempt": attempt, "started_at": begun,
             "ended_at": begun + timedelta(seconds=held),
             "elapsed_s": held, "elapsed_basis": "clock", "status": "completed"},
        )  # fmt: skip
        home.add("allocations", pool(name, attempt, "all", "colocated", platform, held, gpus=count))


def asked(home: Home, **params: object) -> Result:
    return analysis.run("commitments", home.view(), {**CERTAIN, **QUOTES, **params})


def part(found: Result, name: str) -> dict:
    return next(r for r in found.to_dict()["tables"]["mix"] if r["part"] == name)


def test_a_steady_demand_is_reserved_for_three_years(empty_home: Home) -> None:
    """16 H100 all the time: 16 x 26,280 h x $2 = $840,960; on demand $1,681,920. No world but one."""
    steady(empty_home, 16)
    found = asked(empty_home)
    assert part(found, "reserved_3y")["gpus"] == 16 and part(found, "on_demand")["usd"] == 0
    assert found.figure("commitments_cost").value == pytest.approx(840_960)
    assert found.figure("commitments_saves").value == pytest.approx(840_960)
    assert found.figure("commitments_regret:down").value == pytest.approx(
        840_960 - 420_480 - 3.2 * 26_280 * 4
    )
    assert found.figure("perfect_information").value == pytest.approx(0)
    assert found.figure("rack_cost").value is None and "cost of capital" in found.figure("rack_cost").missing
    assert found.figure("rack_value").value == pytest.approx(8 * 26_280 * 2)  # a server less to reserve
    codes = {one.code for one in found.warnings}
    assert {"own_left_out", "history_repeats", "demand_window"} <= codes


def test_days_on_other_platforms_are_days_without_demand(empty_home: Home) -> None:
    """16 H100 on 7 of 28 days: a reserved GPU is busy 25 % of the time and would have to be for 50 %."""
    steady(empty_home, 16, busy=7)
    found = asked(empty_home)
    assert found.figure("commitments_base").value == 0
    assert found.figure("commitments_cost").value == pytest.approx(16 * 0.25 * 26_280 * 4)
    assert "from 28 days of history" in found.answer and "nothing committed" in found.answer


def test_the_next_generation_makes_renewal_cheaper_and_long_terms_regretted(empty_home: Home) -> None:
    """It comes for certain in month 12 and halves prices. Three years: $2 x 36 months; one year at a time:
    $3 x 12 + $1.50 x 24 = 72 a month against 72: a tie at $2, so at $2.10 nobody reserves for long.
    """
    steady(empty_home, 8)
    sure = {"next_prob": 1.0, "next_months": 12, "next_drop_frac": 0.5}
    found = asked(empty_home, **sure, reserve_3y_usd=2.1)
    assert part(found, "reserved_1y")["gpus"] == 8 and part(found, "reserved_3y")["gpus"] == 0
    assert found.figure("commitments_cost").value == pytest.approx(8 * 730 * 72)
    unsure = asked(empty_home, next_months=12, next_drop_frac=0.5, reserve_3y_usd=2.1)
    assert part(unsure, "reserved_3y")["gpus"] == 8
    assert unsure.figure("commitments_regret:next").value == pytest.approx(8 * 730 * (75.6 - 72))


def test_owned_racks_enter_with_a_cost_of_capital(empty_home: Home) -> None:
    """A server of 8 for $100,000 all in, life 3 years, nothing else: $0.476 a GPU-hour at r = 0."""
    steady(empty_home, 16)
    bare = {"wacc_frac": 0.0, "unit_usd": 100_000.0, "all_in": True, "life_years": 3.0, "housing": "none",
            "usd_per_kwh": 0.0}  # fmt: skip
    found = asked(empty_home, **bare)
    assert part(found, "own")["units"] == 2 and found.figure("commitments_cost").value == pytest.approx(
        200_000
    )
    assert found.figure("rack_cost").value == pytest.approx(100_000)
    assert found.figure("rack_value").value == pytest.approx(0)
    # two servers hold all 16: the second saves 8 x 26,280 h x $2 of a reservation, a third nothing
    assert "Server 2 saves $420k of rent, server 3 would save $0 and costs $100k." in found.answer
    assert found.figure("rack_value").label == "Server 3 would save"
    one = asked(empty_home, **bare, racks_max=1)
    assert (part(one, "own")["units"], part(one, "reserved_3y")["gpus"]) == (1, 8)
    assert one.figure("rack_value").value == pytest.approx(8 * 26_280 * 2)


def test_more_demand_never_costs_less_and_double_prices_cost_double(empty_home: Home) -> None:
    uneven = {"gpus": 20, "utilisation_frac": 0.6, "down_prob": 0.2, "up_prob": 0.3, "horizon_months": 12}
    costs = [
        asked(empty_home, **{**uneven, "gpus": n}).figure("commitments_cost").value for n in (10, 20, 21)
    ]
    assert costs == sorted(costs)
    twice = {name: 2 * usd for name, usd in QUOTES.items()}
    assert asked(empty_home, **uneven, **twice).figure("commitments_cost").value == pytest.approx(
        2 * costs[1]
    )


def test_a_plan_alone_is_a_demand(empty_home: Home) -> None:
    """384 GPU-hours a day are 16 GPUs, in the 12 months of the plan; nothing was ever held."""
    months = months_from(empty_home.view().data_cutoff.date(), 12)
    line = f"swe {months[0]}..{months[-1]} 384"
    found = asked(empty_home, plan=[line], horizon_months=12)
    assert part(found, "reserved_1y")["gpus"] == 16
    assert found.figure("commitments_cost").value == pytest.approx(16 * 8760 * 3)
    assert {r["plan_gpu_h"] for r in found.to_dict()["tables"]["months"]} == {16 * 730.0}
    assert "term is longer than the horizon" in part(found, "reserved_3y")["note"]


def test_what_is_held_already_is_used_first(empty_home: Home) -> None:
    steady(empty_home, 16)
    assert part(asked(empty_home, held_gpus=8), "reserved_3y")["gpus"] == 8
    assert asked(empty_home, held_gpus=16).figure("commitments_cost").value == pytest.approx(0)


def test_an_empty_home_says_what_to_load(empty_home: Home) -> None:
    found = asked(empty_home)
    assert "load the bundled example" in found.answer and "utilisation_frac" in found.answer
    assert all(one.value is None and one.missing for one in found.headline)


def test_limits_that_serve_nobody_are_said(empty_home: Home) -> None:
    steady(empty_home, 16)
    tight = {"burst_max_gpus": 0, "horizon_months": 12, "reserve_1y_usd": None, "price": "on_demand.neocloud"}
    found = asked(empty_home, **tight, buy="b200-hgx", racks_max=0)
    assert "racks_max or burst_max_gpus" in found.answer


@pytest.mark.parametrize(
    ("bad", "where"),
    [
        ({"down_prob": 0.6, "up_prob": 0.6}, "down_prob"),
        ({"plan": ["swe 2026-04..2026-03 5"]}, "plan"),
        ({"plan": ["swe 2026-13..2026-14 5"]}, "plan"),
        ({"horizon_months": 30}, "horizon_months"),
        ({"next_drop_frac": 1.0}, "next_drop_frac"),
    ],
)
def test_what_cannot_be_is_refused_by_name(empty_home: Home, bad: dict, where: str) -> None:
    with pytest.raises(UserError) as refused:
        asked(empty_home, **bad)
    assert where in refused.value.where


def test_the_tornado_marks_five_and_moves_the_mix(empty_home: Home) -> None:
    steady(empty_home, 16)
    rows = asked(empty_home, next_prob=0.5, down_prob=0.2).to_dict()["tables"]["tornado"]
    assert [row["top"] for row in rows] == [n < 5 for n in range(len(rows))]
    swings = [row["swing_usd"] for row in rows]
    assert swings == sorted(swings, reverse=True)
    demand = next(row for row in rows if row["input"] == "demand")
    assert demand["base_at_low"] < demand["base_at_high"] and demand["at_low_usd"] < demand["at_high_usd"]


def test_a_default_is_not_called_your_setting(empty_home: Home) -> None:
    """A page and a notebook pass every parameter, also those nobody touched."""
    steady(empty_home, 16)
    every = {**CommitmentsParams().model_dump(mode="json"), **CERTAIN, **QUOTES, "next_months": 12}
    told = {a.name: a.status for a in analysis.run("commitments", empty_home.view(), every).assumptions}
    assert told["Price drop it brings for the same work"] == "derived"
    assert told["Months until the next generation"] == "user"


def test_a_day_on_other_platforms_is_a_day_without_demand(empty_home: Home) -> None:
    """16 H100 on 7 of 28 days; B200 work on the last: the H100 are busy a quarter of the time, here as in
    commitments, not always.
    """
    steady(empty_home, 16, busy=7)
    found = analysis.run("tenure", empty_home.view(), {"buy": "h100-sxm"})
    days = found.to_dict()["tables"]["days"]
    assert len(days) == 28 and sum(row["gpu_h"] for row in days) == 16 * 24 * 7
    told = next(one for one in found.warnings if one.code == "demand_window")
    assert "28 days" in told.text
    assert days == asked(empty_home).to_dict()["tables"]["days"]


def test_months_follow_ones_own_telemetry_not_the_left_out_example(empty_home: Home) -> None:
    """Own work ends 28 days after T0; the made-up run goes on to the end of the year, the home's cut-off."""
    steady(empty_home, 16)
    steady(empty_home, 8, run="made-up")
    empty_home.con.execute("UPDATE runs SET synthetic = true WHERE run = 'made-up'")
    view = empty_home.view()
    object.__setattr__(view, "data_cutoff", T0.replace(month=12))
    ends = T0 + timedelta(days=28)
    for picked, after in (("r", ends), ("made-up", T0.replace(month=12))):
        found = analysis.run("commitments", view, {**CERTAIN, **QUOTES, "runs": [picked]})
        months = [r["month"] for r in found.to_dict()["tables"]["months"]]
        assert months == list(months_from(after.date(), len(months)))
