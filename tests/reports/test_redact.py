"""Long tables say in a column what a row counts: its money is hidden there too."""

import pytest

from reports.redact import hide_amounts, hide_dollars


def section(**tables: list[dict[str, object]]) -> dict[str, object]:
    return {
        "answer": "",
        "headline": [],
        "tables": tables,
        "columns": {name: list(rows[0]) for name, rows in tables.items()},
        "assumptions": [],
        "warnings": [],
        "figures": [],
        "params": {},
    }


def test_points_for_a_sum_go_with_the_dollars() -> None:
    rows = [{"gain": 27.0, "per_10k": 3.46, "per_10k_low": 2.4, "per_10k_high": 4.52}]
    assert hide_dollars(section(gains=rows))["tables"]["gains"] == [{"gain": 27.0}]


@pytest.mark.parametrize(
    ("told", "left"),
    [
        (
            "bought 3.46 points per $10k on TauBench (95 % interval 2.40 to 4.52), and 2 more",
            "bought … points per $… on TauBench (95 % interval … to …), and 2 more",
        ),
        ("2.1 ± 0.4 points per $1,000", "… points per $…"),
        ("gained 20.6 ± 4.0 points: $41.2k per point", "gained 20.6 ± 4.0 points: $… per point"),
    ],
)
def test_a_rate_by_the_dollar_is_hidden_with_its_interval(told: str, left: str) -> None:
    assert hide_amounts(told) == left


def test_rows_whose_unit_or_metric_is_money_lose_numbers_and_their_text() -> None:
    rows = [
        {"metric": "usd_per_step", "value_a": 12.5, "text": "12.50", "name": "a"},
        {"metric": "step_time_s", "value_a": 90.0, "text": "90.0", "name": "a"},
        {"unit": "USD/GPU-h", "value_a": 2.0, "text": "2.00", "name": "b"},
        {"unit": "s", "outcome_unit": "usd", "value_a": 0.001, "text": "0.001", "name": "c"},
    ]
    money, time, rent, outcome = hide_dollars(section(t=rows))["tables"]["t"]
    assert (money["value_a"], money["text"], money["name"]) == (None, None, "a")
    assert (time["value_a"], time["text"]) == (90.0, "90.0")
    assert (rent["value_a"], rent["text"]) == (None, None)
    assert (outcome["value_a"], outcome["text"]) == (None, None)


def test_a_planned_price_and_a_scored_forecast_tell_no_dollars() -> None:
    line = "swe 2026-04..2026-09 480 team=rl usd=2.75 low=300"
    scored = [{"month": "2026-04", "unit": "usd", "p50": 384.0, "actual": 390.0}]
    scored += [{"month": "2026-04", "unit": "gpu_h", "p50": 192.0, "actual": 190.0}]
    changed = [{"name": "budget_usd_month", "unit": "usd", "before": "5000.0", "after": "6000.0"}]
    hidden = hide_dollars({**section(scores=scored, inputs_changed=changed), "params": {"plan": [line]}})
    assert hidden["params"]["plan"] == ["swe 2026-04..2026-09 480 team=rl $… low=300"]
    first, second = hidden["tables"]["scores"]
    assert (first["p50"], first["actual"]) == (None, None) and second["p50"] == 192.0
    assert hidden["tables"]["inputs_changed"][0]["before"] is None
