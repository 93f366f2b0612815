"""A share of draws is a chance: all or none of so many is not certainty, wherever it is told."""

from analysis.chances import bound
from analysis.result import Figure
from analysis.scenariowords import shown_figure


def test_no_number_of_draws_is_certainty() -> None:
    assert bound("cadence_p_finish", 1.0, 10_000) == (">", 0.999)
    assert bound("forecast_over", 0.0, 100) == ("<", 0.03), "rule of three: 3 of 100"
    assert bound("cadence_p_finish", 0.97, 10_000) is None and bound("best_frac", 1.0, 100) is None


def test_a_scenario_tells_a_chance_as_the_card_does() -> None:
    chance = Figure("cadence_p_finish", "P", 1.0, "fraction", low=0.9996, high=1.0, interval="ci95", n=10_000)
    assert shown_figure(chance, chance).startswith("> 99.9 %")
