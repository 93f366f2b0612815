"""Rent, reserve or own from the home's own demand: by hand, refusals in words, what follows from what."""

import pytest

from analysis.result import Result
from analysis.tenure import compute
from analysis.tenure_cases import TenureParams
from analysis.words import percent
from charts import own_cost as own_charts
from charts import tenure as charts
from data.errors import UserError
from tests.analysis.conftest import Home

H100 = {"wacc_frac": 0.0, "buy": "h100-sxm", "unit_usd": 280_320.0, "all_in": True, "housing": "none"}
"""8 GPUs at exactly 1.00 USD a GPU-hour over 4 years, and power."""
QUOTES = {"on_demand_usd": 4.0, "reserve_1y_usd": 3.0, "reserve_3y_usd": 2.5, "range_frac": 0.1}


def ask(home: Home, **settings: object) -> Result:
    return compute(home.view(), TenureParams(**{**H100, **settings}))


def options(found: Result) -> dict[str, dict[str, float]]:
    return found.tables["options"].set_index("option").to_dict("index")


def test_flat_demand_by_hand(home: Home) -> None:
    """8 GPUs half used for 36 months, no power price: rent 4.00, reserved 2.5 / 0.5, owned 1.00 / 0.5."""
    found = options(ask(home, **QUOTES, gpus=8, utilisation_frac=0.5, goodput_frac=0.8, usd_per_kwh=0.0))
    for option, wanted in {"on_demand": 5.0, "reserved_3y": 6.25, "reserved_1y": 7.5, "own": 2.5}.items():
        assert found[option]["usd_per_useful_gpu_h"] == pytest.approx(wanted), option
    assert found["own"]["total_usd"] == pytest.approx(8 * 3 * 8760 * 1.0)
    assert found["mixed_own"]["fleet_gpus"] == 8
    assert found["lease"]["missing"].startswith("give the rate")
    assert found["own"]["low_usd"] <= 2.5 <= found["own"]["high_usd"]
    assert sum(row["cheapest_frac"] for row in found.values() if row["cheapest_frac"] >= 0) == pytest.approx(
        1
    )


def test_at_the_break_even_use_owning_costs_what_renting_does(home: Home) -> None:
    asked = {**QUOTES, "gpus": 8, "usd_per_kwh": 0.0, "wacc_frac": 0.1, "unit_usd": 400_000.0}
    even = ask(home, **asked, utilisation_frac=0.5).tables["break_even"].set_index("against")
    flip = even.loc["on_demand", "break_even_frac"]
    assert even.loc["on_demand", "break_even_path_frac"] == pytest.approx(flip)
    found = options(ask(home, **asked, utilisation_frac=flip))
    assert found["own"]["usd_per_useful_gpu_h"] == pytest.approx(found["on_demand"]["usd_per_useful_gpu_h"])
    assert found["own"]["saves_usd"] == pytest.approx(0, abs=1e-6)


def test_the_headline_break_even_is_the_one_the_answer_names(home: Home) -> None:
    """Rents fall 20 % a year: owning flips later than at today's prices, and both have their name."""
    asked = {**QUOTES, "gpus": 8, "utilisation_frac": 0.5, "usd_per_kwh": 0.0, "decline_mid": 0.2}
    found = ask(home, **asked)
    head = found.figure("break_even_utilisation")
    even = found.tables["break_even"].set_index("against")
    assert even.loc["on_demand", "break_even_frac"] == pytest.approx(0.25)
    assert head.value == even.loc["on_demand", "break_even_path_frac"] > 0.3
    assert head.low < head.value < head.high and "over the price path" in head.label
    assert f"flips at {percent(head.value)} of the bought hours" in found.answer
    assert even.loc["reserved_3y", "months"] == pytest.approx(280_320 / 8 / 2.5 / 730)


def test_demand_comes_from_the_days_of_the_runs(home: Home) -> None:
    """80 GPU-hours of one run and 4 of another; days without work in between count as 0."""
    found = ask(home, **QUOTES)
    days = found.tables["days"]
    assert days["gpu_h"].sum() == pytest.approx(84)
    assert any("rests on 2 days" in n.text for n in found.warnings)
    curve = found.tables["demand"]
    assert curve["time_frac"].iloc[-1] == pytest.approx(1)
    assert (curve["gpus"] * (curve["time_frac"] - curve["from_frac"])).sum() == pytest.approx(
        84 / 24 / len(days)
    )


def test_other_platforms_do_not_lend_their_demand(home: Home) -> None:
    found = ask(home, buy="gb200-nvl72", unit_usd=5e6)
    assert "say how many GPUs you need" in found.answer
    assert found.tables["options"].empty


def test_without_a_cost_of_capital_it_refuses_in_words(home: Home) -> None:
    found = ask(home, wacc_frac=None)
    assert "WACC" in found.answer and found.figure("own_npv").value is None
    assert not found.tables["demand"].empty


def test_a_share_of_hours_needs_a_fleet(home: Home) -> None:
    assert "how many GPUs" in ask(home, utilisation_frac=0.5).answer


def test_whole_racks_and_missing_rents(home: Home) -> None:
    """100 Rubin GPUs: 144 are bought, 100 reserved; on demand nobody quotes."""
    asked = {
        "buy": "vera-rubin-nvl72",
        "gpus": 100,
        "utilisation_frac": 0.8,
        "unit_usd": None,
        "all_in": None,
    }
    found = ask(home, **asked)
    rows = options(found)
    assert (rows["own"]["fleet_gpus"], rows["reserved_3y"]["fleet_gpus"]) == (144, 100)
    assert rows["on_demand"]["usd_per_useful_gpu_h"] != rows["on_demand"]["usd_per_useful_gpu_h"]
    assert "published" in rows["on_demand"]["missing"]
    assert found.figure("break_even_utilisation").value is None


def test_price_paths_give_a_range(home: Home) -> None:
    asked = {**QUOTES, "gpus": 8, "utilisation_frac": 0.9}
    still = ask(home, **asked)
    assert any("No price path" in n.text and "do not only fall" in n.text for n in still.warnings)
    moving = ask(home, **asked, decline_low=0.0, decline_mid=0.1, decline_high=0.3)
    npv = moving.figure("own_npv")
    assert npv.low < npv.value < npv.high == pytest.approx(still.figure("own_npv").value)
    for wrong in ({"decline_low": 0.3, "decline_mid": 0.1}, {"decline_high": 0.3}):
        with pytest.raises(UserError, match="price path"):
            ask(home, **asked, **wrong)


def test_what_owning_saves_has_the_range_of_its_inputs(home: Home) -> None:
    asked = {**QUOTES, "gpus": 8, "utilisation_frac": 0.9}
    found = ask(home, **asked)
    saved, own, rent = found.figure("own_npv"), *(options(found)[n] for n in ("own", "on_demand"))
    assert saved.value == pytest.approx(rent["total_usd"] - own["total_usd"])
    assert saved.interval == "p10_p90" and saved.low < saved.value < saved.high
    assert (saved.low, saved.high) == (own["saves_low_usd"], own["saves_high_usd"])
    assert rent["saves_low_usd"] == rent["saves_high_usd"] == 0
    wider = ask(home, **{**asked, "range_frac": 0.4}).figure("own_npv")
    assert wider.low < saved.low and wider.high > saved.high


def test_the_tornado_is_sorted_and_says_whose_range(home: Home) -> None:
    found = ask(home, gpus=8, utilisation_frac=0.6, unit_usd=None, all_in=None, wacc_frac=0.1, housing="colo")
    rows = found.tables["tornado"]
    assert list(rows["swing_usd"]) == sorted(rows["swing_usd"], reverse=True)
    assert dict(zip(rows["input"], rows["basis"], strict=True))["wacc_frac"] == "your range"
    life = rows.set_index("input").loc["life_years"]
    assert life["basis"] == "published range" and life["at_high_usd"] > life["at_low_usd"]


def test_a_lease_at_the_own_cost_of_capital_costs_what_buying_does(home: Home) -> None:
    asked = {**QUOTES, "gpus": 8, "utilisation_frac": 0.6, "wacc_frac": 0.1, "lease_rate_frac": 0.1}
    found = options(ask(home, **asked))
    assert found["lease"]["total_usd"] == pytest.approx(found["own"]["total_usd"])


def test_doubling_every_price_doubles_every_cost(home: Home) -> None:
    asked = {"gpus": 8, "utilisation_frac": 0.6, "usd_per_kwh": 0.0}
    doubled = {name: 2 * value for name, value in QUOTES.items() if name != "range_frac"}
    once = options(ask(home, **asked, **QUOTES))
    twice = options(ask(home, **asked, **{**QUOTES, **doubled}, unit_usd=560_640.0))
    for option in ("on_demand", "reserved_3y", "own", "mixed_own"):
        assert twice[option]["total_usd"] == pytest.approx(2 * once[option]["total_usd"]), option


def test_every_figure_draws_with_and_without_an_answer(home: Home) -> None:
    for found in (ask(home, **QUOTES, decline_mid=0.1), ask(home, wacc_frac=None)):
        for mode in ("light", "dark"):
            drawn = [charts.options, charts.crossing, charts.duration, charts.npv, charts.tornado]
            for draw in (*drawn, own_charts.parts, own_charts.by_life):
                assert draw(found, mode).layout.meta["alt"]


def test_the_value_at_the_end_of_the_horizon_is_said(home: Home) -> None:
    """280,320 over 4 years, straight line: a quarter is unpaid after 36 months, nothing after 48."""
    found = ask(home, **QUOTES, gpus=8, utilisation_frac=0.5)
    told = next(n.text for n in found.warnings if n.code == "value_at_horizon")
    assert "$70.1k, 25 % of its price" in told
    whole = ask(home, **QUOTES, gpus=8, utilisation_frac=0.5, horizon_months=48)
    assert not [n for n in whole.warnings if n.code == "value_at_horizon"]
