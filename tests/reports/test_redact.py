"""Long tables say in a column what a row counts: its money is hidden there too."""

from reports.redact import hide_dollars


def test_rows_whose_unit_or_metric_is_money_lose_numbers_and_their_text() -> None:
    rows = [
        {"metric": "usd_per_step", "value_a": 12.5, "text": "12.50", "name": "a"},
        {"metric": "step_time_s", "value_a": 90.0, "text": "90.0", "name": "a"},
        {"unit": "USD/GPU-h", "value_a": 2.0, "text": "2.00", "name": "b"},
    ]
    section = {
        "answer": "",
        "headline": [],
        "tables": {"t": rows},
        "columns": {"t": ["metric", "unit", "value_a", "text", "name"]},
        "assumptions": [],
        "warnings": [],
        "figures": [],
        "params": {},
    }
    money, time, rent = hide_dollars(section)["tables"]["t"]
    assert (money["value_a"], money["text"], money["name"]) == (None, None, "a")
    assert (time["value_a"], time["text"]) == (90.0, "90.0")
    assert (rent["value_a"], rent["text"]) == (None, None)
