"""A figure is found again by its name, with what was chosen in it, and a wrong name is refused in words."""

import pytest

from analysis.result import Result
from charts import campaigns, figures, generations, platforms, rollouts, tornado
from data.errors import UserError


@pytest.mark.parametrize(
    ("question", "draw", "arguments", "name"),
    [
        ("rollouts", rollouts.throughput, ("tok_per_s",), "throughput:tok_per_s"),
        ("rollouts", rollouts.throughput, (None,), "throughput"),
        ("generations", generations.dots, ("usd_per_step",), "dots:usd_per_step"),
        ("campaigns", campaigns.spend_by_week, ("team",), "spend_by_week:team"),
        ("platforms", platforms.price_dots, ("on_demand",), "price_dots:on_demand"),
        ("cadence", tornado.tornado, (), "tornado"),
    ],
)
def test_a_name_brings_back_the_drawing_with_its_choice(question, draw, arguments, name) -> None:
    assert figures.name_of(question, draw, *arguments) == name
    asked = []

    def spy(result: Result, mode: str, *more: str) -> None:
        asked.append((result, mode, *more))

    known = figures._known(question)
    place = next(n for n, (_, _, function) in enumerate(known) if function is draw)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(figures, "_known", lambda _: [*known[:place], (*known[place][:2], spy)])
        figures.named(question, name)[1]("result", "dark")
    assert asked == [("result", "dark", *[a for a in arguments if a])]


@pytest.mark.parametrize(
    ("question", "name", "remedy"),
    [
        ("rollouts", "nonsense", "throughput, lengths"),
        ("rollouts", "throughput:parsecs", "throughput:tok_per_s"),
        ("rollouts", "lengths:long", "lengths"),
        ("month", "any", "none"),
    ],
)
def test_a_name_that_there_is_not_is_refused_with_those_there_are(question, name, remedy) -> None:
    with pytest.raises(UserError, match="chart") as refused:
        figures.named(question, name)
    assert remedy in refused.value.remedy


def test_a_drawing_of_another_question_has_no_name() -> None:
    with pytest.raises(LookupError):
        figures.name_of("ledger", rollouts.throughput)
    with pytest.raises(LookupError):
        figures.name_of("rollouts", rollouts.lengths, "long")


def test_names_are_told_apart_and_what_a_report_draws_by_itself_is_as_before() -> None:
    for question in figures.FIGURES:
        names = [name for name, _, _ in figures._known(question)]
        assert len(set(names)) == len(names)
        assert figures.chosen(question) == figures.FIGURES[question]
    assert [n for n, _, _ in figures.chosen("projection", ("rates", "slope:gb200"))] == [
        "rates",
        "slope:gb200",
    ]
    assert figures.chosen("ledger", ()) == []
