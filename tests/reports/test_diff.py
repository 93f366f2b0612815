"""Two reports side by side: versions, parameters, numbers within or outside their intervals, rows."""

import dataclasses
from typing import Any

import pandas as pd
import pytest

from analysis.result import Assumption, Figure, Result
from reports.diff import OUTSIDE, WITHIN, diff, row_changes
from reports.freeze import FreezeOptions, FrozenReport, freeze
from reports.redact import Redaction


def result(**changes: Any) -> Result:
    first = Result(
        analysis="ledger",
        params={"price": "a.b", "runs": ["x"]},
        answer="It cost $10.",
        headline=(
            Figure("gain", "Gain", 5.0, "points", 4.0, 6.0, "ci95"),
            Figure("spend", "Spend", 10.0, "usd"),
        ),
        tables={"runs": pd.DataFrame({"run": ["x", "y"], "step": [1, 1], "usd": [1.0, 2.0]})},
        assumptions=(
            Assumption("price (p-1@1)", 2.0, "USD per GPU-hour", "vendor_spec", "sheet", "2026-01"),
        ),
        versions={"data_version": "1", "formulas": "1", "price_book": "2026-01", "prices": ["p-1@1"]},
    )
    return dataclasses.replace(first, **changes)


def frozen(one: Result, chosen: FreezeOptions | None = None) -> FrozenReport:
    return freeze([one], "t", chosen, draw=lambda _: [])


def test_a_report_does_not_differ_from_itself() -> None:
    found = diff(frozen(result()), frozen(result()))
    assert found.same and found.unchanged_numbers == 2
    assert "nothing that a reader sees differs" in found.to_markdown()


@pytest.mark.parametrize(
    ("value", "low", "high", "note"),
    [
        (5.5, 4.5, 6.5, WITHIN),  # 5.5 is in 4..6, and 5 in 4.5..6.5
        (6.5, 5.5, 7.5, OUTSIDE),  # 6.5 is beyond 6
        (5.5, 5.2, 5.8, OUTSIDE),  # 5.5 is in 4..6, but 5 is below 5.2
        (5.5, None, None, WITHIN),  # only the first has an interval
    ],
)
def test_a_change_is_within_when_each_value_is_in_the_others_interval(
    value: float, low: float | None, high: float | None, note: str
) -> None:
    moved = Figure("gain", "Gain", value, "points", low, high, "ci95")
    found = diff(frozen(result()), frozen(result(headline=(moved, result().headline[1]))))
    (number,) = found.numbers
    assert (number.change, number.note) == (value - 5.0, note)


def test_an_exact_amount_is_neither_and_a_missing_one_says_why() -> None:
    now = (
        Figure("gain", "Gain", None, "points", missing="No evaluation."),
        Figure("spend", "Spend", 12.5, "usd"),
    )
    gain, spend = diff(frozen(result()), frozen(result(headline=now))).numbers
    assert (spend.change, spend.within, spend.note) == (2.5, None, "")
    assert (gain.change, gain.note) == (None, "no number now: No evaluation.")
    assert spend.words() == ("$10.0", "$12.5", "+$2.50")


def test_versions_parameters_and_assumptions_are_told_apart() -> None:
    later = result(
        params={"price": "c.d", "runs": ["x"]},
        assumptions=(Assumption("price (p-1@2)", 3.0, "USD per GPU-hour", "user", "quote", ""),),
        versions={"data_version": "2", "formulas": "2", "price_book": "2026-01", "prices": ["p-1@2"]},
    )
    found = diff(frozen(result()), frozen(later))
    assert [(v.name, v.then, v.now) for v in found.data] == [("Data version", "1", "2")]
    assert [v.name for v in found.prices] == ["Prices used"]
    assert [(v.then, v.now) for v in found.formulas] == [("1", "2")]
    assert [(p.name, p.then, p.now) for p in found.parameters] == [("price", "a.b", "c.d")]
    (assumed,) = found.assumptions
    assert assumed.name == "price (p-1)"
    assert (
        assumed.then.startswith("2 USD")
        and "vendor spec" in assumed.then
        and assumed.now == "3 USD per GPU-hour (user, quote)"
    )


@pytest.mark.parametrize(
    ("then", "now", "counts"),
    [
        ([("x", 1, 1.0), ("y", 1, 2.0)], [("y", 1, 2.0), ("x", 1, 1.0)], (0, 0, 0)),  # order
        ([("x", 1, 1.0)], [("x", 1, 1.0 + 1e-15)], (0, 0, 0)),  # the last digit of a sum
        ([("x", 1, 1.0)], [("x", 1, 3.0)], (0, 0, 1)),
        ([("x", 1, 1.0)], [("x", 2, 1.0)], (1, 1, 0)),  # another step is another row
        ([("x", 1, 1.0)], [("x", 1, 1.0), ("x", 1, 1.0)], (1, 0, 0)),  # a second, equal row
        ([("x", 1, 1.0), ("x", 1, 2.0)], [("x", 1, 3.0)], (1, 2, 0)),  # which of two it was is not known
    ],
)
def test_rows_are_added_removed_or_changed(
    then: list[Any], now: list[Any], counts: tuple[int, int, int]
) -> None:
    sides = [[dict(zip(("run", "step", "usd"), row, strict=True)) for row in rows] for rows in (then, now)]
    assert row_changes(*sides) == counts


def test_hidden_numbers_stay_hidden_and_markdown_says_what_it_says() -> None:
    hidden = frozen(result(), FreezeOptions(Redaction(dollars=True)))
    later = frozen(
        result(headline=(result().headline[0], Figure("spend", "<b>|S*", 99.0, "usd"))),
        FreezeOptions(Redaction(dollars=True)),
    )
    found = diff(hidden, later)
    assert [(n.then, n.now, n.note) for n in found.numbers] == [(None, None, "hidden by the author")]
    text = diff(frozen(result()), later).to_markdown()
    assert "\\<b\\>\\|S\\*" in text and "99" not in text


def test_prices_in_another_order_are_the_same_prices() -> None:
    def of(*prices: str) -> FrozenReport:
        return frozen(result(versions={**result().versions, "prices": list(prices)}))

    assert diff(of("p-1@1", "p-2@1"), of("p-2@1", "p-1@1")).prices == ()
    assert diff(of("p-1@1", "p-2@1"), of("p-2@1", "p-1@2")).prices
