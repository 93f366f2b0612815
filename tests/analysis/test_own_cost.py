"""An owned GPU-hour from the catalogue and a person's settings: by hand, refused in words, never 0."""

import pytest

from analysis.own_cost import compute, p10_p90
from analysis.own_inputs import OwnParams, settings_of
from analysis.params import CommonParams
from analysis.result import Result
from analysis.spend import compute_spend
from analysis.words import price_words
from data.catalogue import load_catalogue
from data.errors import UserError
from models.own_cost import annuity_usd_per_year
from tests.analysis.conftest import Home


def ask(home: Home, **settings: object) -> Result:
    return compute(home.view(), OwnParams(**settings))


def parts(found: Result) -> dict[str, float]:
    rows = found.tables["breakdown"]
    return dict(zip(rows["part"], rows["usd_per_gpu_h"], strict=True))


def test_h100_by_hand(home: Home) -> None:
    """8 x 49,500 all in over 4 years at 10 %; 1.37 kW x 200 a kW-month; 1.37 x 1.2 x 0.08."""
    found = ask(home, wacc_frac=0.10)
    capital = annuity_usd_per_year(49_500, 0.10, 4, 0) / 8760
    housing, power = 1.37 * 200 * 12 / 8760, 1.37 * 1.2 * 0.08
    assert found.figure("own_capital").value == pytest.approx(capital)
    assert parts(found)["housing"] == pytest.approx(housing)
    assert parts(found)["power"] == pytest.approx(power)
    figure = found.figure("own_usd_per_gpu_h")
    assert figure.value == pytest.approx(capital + housing + power)
    assert figure.low < figure.value < figure.high
    assert "at least $2.29" in found.answer and "all in" in found.answer


def test_without_a_cost_of_capital_it_refuses_in_words(home: Home) -> None:
    found = ask(home)
    assert "WACC" in found.answer and "no published number" in found.answer
    assert found.figure("own_usd_per_gpu_h").value is None
    assert found.tables["breakdown"].empty and not found.tables["settings"].empty


def test_what_nobody_gave_is_named_and_in_no_total(home: Home) -> None:
    found = ask(home, wacc_frac=0.10)
    left = found.tables["breakdown"].set_index("part")
    assert not left.loc["staff", "given"] and left["usd_per_gpu_h"].isna()["storage"]
    assert any(n.code == "own_parts_missing" and "staff" in n.text for n in found.warnings)
    more = ask(home, wacc_frac=0.10, staff_per_1000_gpus=4, usd_per_person=219_000)
    staff = 4 * 219_000 / 1000 / 8760
    assert parts(more)["staff"] == pytest.approx(staff)
    gained = more.figure("own_usd_per_gpu_h").value - found.figure("own_usd_per_gpu_h").value
    assert gained == pytest.approx(staff)


def test_racks_are_bought_whole_and_carry_their_network(home: Home) -> None:
    found = ask(home, wacc_frac=0.0, buy="gb300-nvl72", gpus=100)
    assert any("2 whole racks of 72: 144 GPUs" in n.text for n in found.warnings)
    assert parts(found)["hardware"] == pytest.approx(4e6 / 72 / 4 / 8760)
    assert parts(found)["network"] == pytest.approx(0.125 * 4e6 / 72 / 4 / 8760)


def test_utility_power_takes_no_pue(home: Home) -> None:
    found = ask(home, wacc_frac=0.1, power_basis="utility", housing="none")
    assert parts(found)["power"] == pytest.approx(1.73 * 0.08)
    with pytest.raises(UserError, match="PUE is 1"):
        ask(home, wacc_frac=0.1, power_basis="utility", pue=1.2)


def test_a_platform_without_a_price_asks_for_one(home: Home) -> None:
    found = ask(home, wacc_frac=0.1, buy="mi300x")
    assert "give the price of one server (8 GPUs)" in found.answer
    priced = ask(home, wacc_frac=0.0, buy="mi300x", unit_usd=280_320, network_frac=0, housing="none")
    assert priced.figure("own_capital").value == pytest.approx(1.0)
    with pytest.raises(UserError, match="no platform"):
        ask(home, buy="abacus")


def test_an_own_building_needs_its_life(home: Home) -> None:
    without = ask(home, wacc_frac=0.0, housing="building")
    assert any("housing" in n.text for n in without.warnings if n.code == "own_parts_missing")
    found = ask(home, wacc_frac=0.0, housing="building", building_life_years=15)
    assert parts(found)["housing"] == pytest.approx(1.37 * 17.5e6 / 15 / 1000 / 8760)


def test_useful_hours_need_use_and_goodput(home: Home) -> None:
    assert ask(home, wacc_frac=0.1).figure("own_useful").value is None
    found = ask(home, wacc_frac=0.1, utilisation_frac=0.6, goodput_frac=0.75)
    own = found.figure("own_usd_per_gpu_h").value
    assert found.figure("own_useful").value == pytest.approx(own / 0.45)


def test_lives_are_beside_each_other(home: Home) -> None:
    lives = ask(home, wacc_frac=0.0).tables["lives"].set_index("life_years")
    assert lives.loc[3.0, "capital_usd_per_gpu_h"] == pytest.approx(
        2 * lives.loc[6.0, "capital_usd_per_gpu_h"]
    )
    assert lives["chosen"].sum() == 1 and lives.loc[4.0, "chosen"]


def test_settings_carry_badges_and_ranges() -> None:
    book = load_catalogue()
    found = settings_of(book, OwnParams(usd_per_kwh=0.1, wacc_frac=0.1), "vera-rubin-nvl72")
    assert (found["usd_per_kwh"].status, found["usd_per_kwh"].low) == ("user", 0.06)
    assert (found["wacc_frac"].status, found["wacc_frac"].published_range) == ("user", False)
    assert (found["wacc_frac"].low, found["wacc_frac"].high) == (pytest.approx(0.08), pytest.approx(0.12))
    assert found["staff_per_1000_gpus"].value is None
    assert (found["unit_usd"].low, found["unit_usd"].high) == (3.5e6, 9.1e6)
    for one in found.values():
        assert one.value is None or one.source, one.name


def test_doubling_the_price_doubles_capital_alone(home: Home) -> None:
    once, twice = (ask(home, wacc_frac=0.1, unit_usd=usd, network_frac=0.1) for usd in (2e5, 4e5))
    assert twice.figure("own_capital").value == pytest.approx(2 * once.figure("own_capital").value)
    assert twice.figure("own_running").value == pytest.approx(once.figure("own_running").value)


def test_percentiles() -> None:
    assert p10_p90(range(101)) == (10.0, 90.0)


def test_runs_are_costed_on_the_basis_own(home: Home) -> None:
    """`steady`: 80 GPU-hours of H100 at the published cost of owning; a sandbox beside stays rent."""
    runs = compute_spend(home.view(), CommonParams(price="own_tco.owned")).runs.set_index("run")
    assert runs.loc["steady", "usd"] == pytest.approx(80 * 1.17)
    assert runs["basis"].to_dict() == {"steady": "own", "broken": "own", "apart": "own + rent"}
    assert price_words("own_tco.owned", "campaign") == "(cost of owning, campaign boundary)"
