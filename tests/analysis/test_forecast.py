"""Forecasts on homes worked by hand: constant days, teams, plan, budget, what is kept, compared, scored."""

from datetime import datetime, timedelta
from pathlib import Path

import pytest

import analysis
from analysis.forecast import keepable
from analysis.forecast_history import ForecastParams
from analysis.result import Result
from data.errors import UserError
from data.forecasts import KeptForecast
from data.view import View
from tests.analysis.bills import charge, load, loaded
from tests.analysis.conftest import Home, pool, tiny_book

START = datetime(2026, 1, 1)
STEADY = {"level_change_frac": 0.0}
DAY = 8 * 24 * 2.0
"""8 H100 at $2: 384 USD and 192 GPU-hours a day."""


def hold(
    home: Home, run: str, campaign: str, gpus: int, days: int, first: int = 0, clock: bool = True
) -> None:
    """`gpus` H100 from day `first` of 2026 on, for whole days."""
    begun, held = START + timedelta(days=first), 86400.0 * days
    home.add("runs", {"run": run, "campaign": campaign, "synthetic": False})
    times = {"started_at": begun, "ended_at": begun + timedelta(seconds=held)} if clock else {}
    home.add(
        "attempts",
        {"run": run, "attempt": 1, "elapsed_s": held, "elapsed_basis": "clock" if clock else "user",
         "status": "completed", **times},
    )  # fmt: skip
    home.add("allocations", pool(run, 1, "all", "colocated", "h100-sxm", held, gpus=gpus))


def asked(view: View, **params: object) -> Result:
    return analysis.run("forecast", view, {**STEADY, **params})


def rows(found: Result, table: str, **wanted: object) -> list[dict]:
    return [r for r in found.to_dict()["tables"][table] if all(r[k] == v for k, v in wanted.items())]


def cut(home: Home, end: datetime) -> View:
    """A view whose telemetry ends there."""
    view = home.view()
    object.__setattr__(view, "data_cutoff", end)
    return view


def with_kept(home: Home, *kept: KeptForecast) -> View:
    view = home.view()
    object.__setattr__(view, "forecasts", lambda: kept)
    return view


def kept_from(home: Home, **params: object) -> KeptForecast:
    told = ForecastParams(**{**STEADY, **params})
    return KeptForecast(
        1, datetime(2026, 2, 1), "", told.model_dump(mode="json"), keepable(home.view(), told)
    )


def test_days_that_are_all_alike_go_on(empty_home: Home) -> None:
    """90 days to 31 March at $384: April 30 x 384, May 31 x 384, no spread without a wandering level."""
    hold(empty_home, "r", "math", 8, 90)
    found = asked(empty_home.view(), months=2, budget_usd_month=11_700.0)
    april, may = rows(found, "months")
    assert (april["month"], may["month"]) == ("2026-04", "2026-05")
    for row, days in ((april, 30), (may, 31)):
        assert [row[f"usd_{end}"] for end in ("p10", "p50", "p90", "mean")] == pytest.approx([days * DAY] * 4)
        assert row["gpu_h_p50"] == pytest.approx(days * 192)
    assert (april["over_frac"], may["over_frac"]) == (0.0, 1.0)
    assert found.figure("forecast_usd").value == pytest.approx(61 * DAY)
    over = found.figure("forecast_over")
    assert over.value == 1.0 and "above 99 %" in found.answer
    assert over.low == pytest.approx(over.n / (over.n + 1.959964**2)), "Wilson: draws never make certainty"
    assert {r["kind"] for r in rows(found, "totals")} == {"total", "campaign"}, (
        "no team would repeat the total"
    )
    assert [r["usd"] for r in rows(found, "history")] == pytest.approx([31 * DAY, 28 * DAY, 31 * DAY])
    assert {r["basis"] for r in rows(found, "history")} == {"runs"}
    assert found.figure("forecast_usd").boundary == "rent"


def test_growth_prices_and_double_rent(empty_home: Home) -> None:
    hold(empty_home, "r", "math", 8, 90)
    view = empty_home.view()
    may = rows(asked(view, months=2, growth_frac_month=0.1, decline_mid=0.19), "months")[1]
    assert may["gpu_h_p50"] == pytest.approx(31 * 192 * 1.1)
    assert may["usd_p50"] == pytest.approx(31 * DAY * 1.1 * 0.81 ** (1 / 12))
    one = asked(view, level_change_frac=0.3).figure("forecast_usd")
    empty_home.book = tiny_book(2.0)
    two = asked(empty_home.view(), level_change_frac=0.3).figure("forecast_usd")
    assert (two.low, two.value, two.high) == pytest.approx((2 * one.low, 2 * one.value, 2 * one.high))
    assert one.low < one.value < one.high


def test_a_month_that_has_begun_keeps_what_is_known(empty_home: Home) -> None:
    """To 10 March: 10 days are spent, 21 to come."""
    hold(empty_home, "r", "math", 8, 69)
    found = asked(empty_home.view(), months=1)
    (march,) = rows(found, "months")
    assert (march["days_known"], march["days"], march["actual_usd"]) == (10, 31, pytest.approx(10 * DAY))
    assert march["usd_p50"] == pytest.approx(31 * DAY)
    assert found.figure("forecast_usd_next").value is None


def test_teams_campaigns_stops_and_plan(empty_home: Home) -> None:
    """math (team rl) 8 GPUs, code (no team) 4; code stops; swe is planned: 100 GPU-hours a day at $3."""
    empty_home.add("campaigns", {"campaign": "math", "team": "rl"})
    hold(empty_home, "a", "math", 8, 90)
    hold(empty_home, "b", "code", 4, 90)
    found = asked(empty_home.view(), months=1, stop=["code"], plan=["swe 2026-04..2026-04 100 team=rl usd=3"])
    usd = {(r["kind"], r["name"]): r["usd_p50"] for r in rows(found, "totals")}
    assert usd[("campaign", "math")] == pytest.approx(30 * DAY)
    assert usd[("campaign", "code")] == 0 and usd[("team", "no team")] == 0
    assert usd[("campaign", "swe")] == pytest.approx(30 * 300)
    assert usd[("team", "rl")] == usd[("total", "all")] == pytest.approx(30 * DAY + 9000)
    (line,) = rows(found, "plan")
    assert (line["status"], line["line"]) == ("user", "swe 2026-04..2026-04 100 team=rl usd=3")
    cheap = asked(empty_home.view(), months=1, plan=["swe 2026-04..2026-04 100"])
    assert rows(cheap, "plan")[0]["usd_per_gpu_h"] == pytest.approx(2.0)  # as the history paid
    assert (
        cheap.figure("forecast_usd").value > asked(empty_home.view(), months=1).figure("forecast_usd").value
    )


def test_means_add_up_over_campaigns(empty_home: Home) -> None:
    hold(empty_home, "a", "math", 8, 20)
    hold(empty_home, "b", "code", 4, 40, first=30)
    found = asked(empty_home.view(), months=2, level_change_frac=0.4)
    whole = [r["usd_mean"] for r in rows(found, "months")]
    parts = [sum(r["usd_mean"] for r in rows(found, "by_campaign", month=m)) for m in ("2026-03", "2026-04")]
    assert whole == pytest.approx(parts)


def test_a_short_history_says_so(empty_home: Home) -> None:
    hold(empty_home, "r", "math", 8, 10, first=58)
    found = asked(empty_home.view())
    assert "10 days: below 14" in found.answer and found.figure("forecast_usd").value is None
    assert rows(found, "history")[0]["usd"] == pytest.approx(1 * DAY)
    planned = asked(empty_home.view(), months=1, plan=["swe 2026-03..2026-12 100 usd=3"])
    assert "history tell nothing" in planned.answer
    assert planned.figure("forecast_usd").value == pytest.approx(9 * DAY + 22 * 300)


def test_one_month_and_no_measured_level_are_said(empty_home: Home) -> None:
    hold(empty_home, "r", "math", 8, 31)
    found = analysis.run("forecast", cut(empty_home, datetime(2026, 1, 31, 20)), {})
    codes = {one.code: one.text for one in found.warnings}
    assert "1 whole month" in codes["level_guessed"] and {"history_short", "campaigns_go_on"} <= set(codes)
    assert found.figure("forecast_level").value is None
    level = next(a for a in found.assumptions if a.name.startswith("How far the level"))
    assert (level.value, level.status) == (0.25, "derived")


def test_the_level_is_measured_from_four_whole_months(empty_home: Home) -> None:
    """GPUs 1, 2, 1, 2 in January to April: 31, 56, 31, 60 GPU-days; log changes .591, -.591, .660:
    the root of (0.350 + 0.350 + 0.436) / 3.
    """
    first = 0
    for n, (days, gpus) in enumerate(((31, 1), (28, 2), (31, 1), (30, 2))):
        hold(empty_home, f"r{n}", "math", gpus, days, first=first)
        first += days
    found = analysis.run("forecast", empty_home.view(), {"months": 1})
    assert found.figure("forecast_level").value == pytest.approx(0.6152, abs=1e-4)


def test_without_a_clock_no_month_holds_it(empty_home: Home) -> None:
    hold(empty_home, "r", "math", 8, 30, clock=False)
    loaded(empty_home)
    found = asked(empty_home.view())
    assert found.figure("forecast_usd").value is None and "clock" in found.answer


def test_an_empty_home_says_what_to_load(empty_home: Home) -> None:
    found = asked(empty_home.view())
    assert "load the bundled example" in found.answer and "plan campaigns" in found.answer


def test_one_billed_month_of_three_is_no_jump(empty_home: Home, tmp_path: Path) -> None:
    """The bill asks $1,000 for January; every month is counted at the book's rents unless one asks else."""
    hold(empty_home, "r", "math", 8, 90)
    load(empty_home, tmp_path, [charge(1000, START, 31 * 24, gpu_h=31 * 192.0, month="2026-01")])
    found = asked(empty_home.view(), months=1)
    assert [r["usd"] for r in rows(found, "history")] == pytest.approx([31 * DAY, 28 * DAY, 31 * DAY])
    assert "bill_partial" in {one.code for one in found.warnings}
    mixed = asked(empty_home.view(), months=1, basis="bill")
    assert [r["usd"] for r in rows(mixed, "history")] == pytest.approx([1000, 28 * DAY, 31 * DAY])
    assert [r["basis"] for r in rows(mixed, "history")] == ["bill", "runs", "runs"]


def test_the_month_that_goes_on_takes_no_bill_away(empty_home: Home, tmp_path: Path) -> None:
    """January and February were billed at $10 a day; of March there are runs of ten days and no bill yet."""
    hold(empty_home, "r", "math", 8, 69)
    bill = [charge(10, START + timedelta(days=n), 24, month="2026-01") for n in range(31)]
    bill += [charge(10, START + timedelta(days=n), 24, month="2026-02") for n in range(31, 59)]
    load(empty_home, tmp_path, bill)
    found = asked(empty_home.view(), months=1)
    assert [(r["usd"], r["basis"]) for r in rows(found, "history")] == [(310, "bill"), (280, "bill")]
    [march] = rows(found, "months")
    assert march["month"] == "2026-03" and march["usd_p50"] == pytest.approx(310)
    said = next(one.text for one in found.warnings if one.code == "bill_to_come")
    assert "March 2026" in said and "$3.84k" in said
    runs = asked(empty_home.view(), months=1, basis="runs")
    assert [r["usd"] for r in rows(runs, "history")] == pytest.approx([31 * DAY, 28 * DAY, 10 * DAY])


def test_a_forecast_of_bills_waits_for_the_bill(empty_home: Home, tmp_path: Path) -> None:
    """Kept when January had been billed; of February there are runs alone: their rents are no score of it."""
    hold(empty_home, "r", "math", 8, 59)
    load(
        empty_home, tmp_path, [charge(10, START + timedelta(days=n), 24, month="2026-01") for n in range(31)]
    )
    kept = kept_from(empty_home, months=2)
    assert kept.document["basis"] == "bill" and kept.document["months"][0] == "2026-02"
    found = analysis.run("forecast_score", with_kept(empty_home, kept), {})
    assert not rows(found, "scores") and rows(found, "kept")[0]["state"] != "scored"
    more = [charge(10, START + timedelta(days=n), 24, month="2026-02") for n in range(31, 59)]
    load(empty_home, tmp_path, more)
    found = analysis.run("forecast_score", with_kept(empty_home, kept), {})
    [usd] = rows(found, "scores", kind="total", measure="usd")
    assert (usd["month"], usd["actual"], usd["inside"]) == ("2026-02", pytest.approx(280), True)


def test_days_that_only_the_example_reaches_are_no_days_without_spend(empty_home: Home) -> None:
    """Own work ends on 31 January; the example, which is left out, goes on to 8 March, the home's cut-off."""
    hold(empty_home, "r", "math", 8, 31)
    hold(empty_home, "made-up", "example", 8, 60)
    empty_home.con.execute("UPDATE runs SET synthetic = true WHERE run = 'made-up'")
    counts = dict.fromkeys(("size_bytes", "records", "stored", "quarantined", "ignored", "rows_written"), 1)
    named = {"upload_id": "e" * 16, "sha256": "e" * 64, "name": "example", "format": "example"}
    empty_home.add("uploads", {**named, **counts, "synthetic": True, "uploaded_at": START})
    found = asked(empty_home.view(), months=1)
    assert [(r["month"], r["usd"]) for r in rows(found, "history")] == [("2026-01", pytest.approx(31 * DAY))]
    [row] = rows(found, "months")
    assert row["month"] == "2026-02" and row["usd_p50"] == pytest.approx(28 * DAY)
    with_it = asked(empty_home.view(), months=1, example="with")
    assert [r["month"] for r in rows(with_it, "history")] == ["2026-01", "2026-02", "2026-03"]


def test_what_was_kept_is_scored_against_what_was_spent(empty_home: Home) -> None:
    """Kept at the end of January: 28 x 384 = 10,752 for February, all quantiles. It became twice that:
    mean pinball loss (0.1 + 0.5 + 0.9) / 3 x 10,752 = 5,376; March was as said.
    """
    hold(empty_home, "r", "math", 8, 31)
    view = cut(empty_home, datetime(2026, 1, 31, 12))
    told = ForecastParams(**STEADY, months=3)
    kept = KeptForecast(1, datetime(2026, 2, 1), "", told.model_dump(mode="json"), keepable(view, told))
    hold(empty_home, "s", "math", 16, 28, first=31)
    hold(empty_home, "t", "math", 8, 31, first=59)
    found = analysis.run("forecast_score", with_kept(empty_home, kept), {})
    usd = rows(found, "scores", kind="total", measure="usd")
    assert [(r["month"], r["months_ahead"], r["inside"]) for r in usd] == [
        ("2026-02", 0, False),
        ("2026-03", 1, True),
    ]
    assert [r["pinball"] for r in usd] == pytest.approx([5376, 0], abs=1e-6)
    assert found.figure("forecast_coverage").value == 0.5 and found.figure("forecast_coverage").n == 2
    assert found.figure("forecast_pinball").value == pytest.approx(2688)
    assert found.figure("forecast_bias").value == pytest.approx(59 / 87 - 1)
    assert found.figure("forecast_skill").value == pytest.approx(0)  # the mean day said the same
    assert rows(found, "kept")[0]["state"] == "scored"
    assert "few_scored" in {one.code for one in found.warnings}
    empty_home.con.execute("UPDATE runs SET synthetic = true")
    again = analysis.run("forecast_score", with_kept(empty_home, kept), {})
    assert again.warnings[0].code == "synthetic"


def test_nothing_kept_nothing_scored(empty_home: Home) -> None:
    assert "No forecast is kept yet" in analysis.run("forecast_score", empty_home.view(), {}).answer


def test_what_changed_adds_up(empty_home: Home) -> None:
    """Kept with the days to 31 March; April then took 16 GPUs. Before: 91 days of April to June at 384.
    Now: April spent 30 x 768, May and June 61 x the mean day (90 x 384 + 30 x 768) / 120 = 480.
    """
    hold(empty_home, "r", "math", 8, 90)
    kept = kept_from(empty_home, months=3)
    hold(empty_home, "s", "math", 16, 30, first=90)
    found = asked(with_kept(empty_home, kept), months=2, growth_frac_month=0.5, level_change_frac=0.0)
    part = {r["part"]: r for r in rows(found, "changes")}
    assert part["before"]["usd"] == pytest.approx(91 * DAY)
    moved = sum(part[name]["usd"] for name in ("volume", "price", "inputs"))
    assert part["before"]["usd"] + moved == pytest.approx(part["after"]["usd"])
    assert part["price"]["usd"] == pytest.approx(0, abs=1e-6)
    assert part["volume"]["gpu_h"] * 2 == pytest.approx(part["volume"]["usd"])
    middle = part["before"]["usd"] + part["volume"]["usd"]
    assert middle == pytest.approx(30 * 768 + 61 * 480, rel=0.02)  # medians of draws of unequal days
    assert {r["name"] for r in rows(found, "inputs_changed")} == {"months", "growth_frac_month"}
    assert "Growth a month" in {r["label"] for r in rows(found, "inputs_changed")}
    again = asked(with_kept(empty_home, kept_from(empty_home, months=3)), months=4)
    assert all(abs(r["usd"]) < 1e-6 for r in rows(again, "changes") if r["part"] not in ("before", "after"))


def test_the_tornado_marks_five(empty_home: Home) -> None:
    hold(empty_home, "r", "math", 8, 90)
    found = asked(empty_home.view(), level_change_frac=0.2, plan=["swe 2026-04..2026-05 100 low=50 high=300"])
    told = rows(found, "tornado")
    assert [row["top"] for row in told] == [n < 5 for n in range(len(told))]
    by = {row["input"]: row for row in told}
    assert by["stops"]["at_low_usd"] < by["stops"]["at_high_usd"]
    assert by["level"]["at_low_usd"] < by["level"]["at_high_usd"]
    assert by["decline"]["at_low_usd"] > by["decline"]["at_high_usd"]
    assert by["plan"]["p50_at_high_usd"] - by["plan"]["p50_at_low_usd"] == pytest.approx(
        250 * 61 * 2.0, rel=0.1
    )


@pytest.mark.parametrize(
    ("bad", "where"),
    [
        ({"stop": ["nobody"]}, "stop"),
        ({"since": 7}, "since"),
        ({"window_days": 3}, "window_days"),
        ({"months": 0}, "months"),
        ({"plan": ["swe 2026-04..2026-05 -1"]}, "plan"),
        ({"plan": ["a 2026-04..2026-05 1", "a 2026-04..2026-05 1"]}, "plan"),
    ],
)
def test_what_cannot_be_is_refused_by_name(empty_home: Home, bad: dict, where: str) -> None:
    hold(empty_home, "r", "math", 8, 90)
    with pytest.raises(UserError) as refused:
        asked(empty_home.view(), **bad)
    assert where in refused.value.where
