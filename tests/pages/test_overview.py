"""Overview: the answer first, four figures, a ledger that filters, compares and leaves as CSV."""

import json
from collections.abc import Callable

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from data.examples import plan
from data.store import Store
from pages.parts import example
from pages.parts.download import csv_text
from pages.parts.ledgertable import matching, phase_order, prepare, side_by_side, with_phase_columns

App = Callable[..., AppTest]
LINE = "three made-up runs"


def text_of(at: AppTest) -> str:
    return " ".join(m.value.replace("\\", "") for m in [*at.markdown, *at.caption])


def specs(at: AppTest) -> list[dict]:
    return [json.loads(chart.proto.spec) for chart in at.get("plotly_chart")]


def ledger_of(at: AppTest) -> pd.DataFrame:
    return at.dataframe[0].value


def test_an_empty_home_says_why_and_offers_the_example(app: App) -> None:
    at = app()
    assert not at.exception
    assert "Nothing is loaded yet" in text_of(at)
    assert any("example" in b.label.lower() for b in at.button)
    assert not at.get("plotly_chart")


def test_answer_figures_ledger_and_charts_of_the_example(seen: App) -> None:
    at = seen()
    assert not at.exception
    assert any("math-example cost \\$" in m.value.replace("\\-", "-") for m in at.markdown)
    figures = next(h.value for h in at.get("html") if "ipd-figures" in str(h.value))
    assert figures.count("<dt>") == 4
    assert "Gain on MATH-500" in figures and "95 % interval" in figures
    assert set(ledger_of(at)["run"]) == {"h100-sync", "gb200-sync", "gb200-async"}
    drawn = specs(at)
    assert [s["layout"]["meta"]["table"] for s in drawn] == ["scores", "phases"]
    assert "USD" in drawn[0]["layout"]["xaxis"]["title"]["text"]
    assert "%" in drawn[0]["layout"]["yaxis"]["title"]["text"]


def test_the_line_about_the_example_shows_with_all_of_it_only(seen: App) -> None:
    assert LINE in text_of(seen())
    assert LINE in text_of(seen(runs=["h100-sync", "gb200-sync", "gb200-async"]))
    assert LINE not in text_of(seen(runs=["gb200-sync"]))


def test_the_line_about_the_example_goes_when_a_run_of_ones_own_is_there(app: App, loaded: Store) -> None:
    with loaded.transaction() as cursor:
        cursor.execute("insert into runs (run, campaign, synthetic) values ('mine', 'math-example', false)")
    assert LINE not in text_of(app())
    assert LINE in text_of(app(runs=["h100-sync", "gb200-sync", "gb200-async"]))


def test_the_runs_of_the_example_have_the_names_that_its_line_is_about() -> None:
    assert {run.run for run in plan.RUNS} == example.EXAMPLE_RUNS


def test_phase_bars_add_up_to_the_spend_in_the_ledger(seen: App) -> None:
    at = seen()
    ledger = ledger_of(at)
    for row in ledger.itertuples():
        assert sum(row.phase_bar) == pytest.approx(row.usd, rel=1e-6)


def test_a_filter_in_the_address_keeps_matching_rows(app: App, example: Store) -> None:
    at = app(ov_filter="GB200-sync")
    assert not at.exception and not at.warning
    assert list(ledger_of(at)["run"]) == ["gb200-sync"]


def test_a_filter_that_matches_nothing_is_said(app: App, example: Store) -> None:
    at = app(ov_filter="zebra")
    assert not at.exception
    assert any("No run matches" in i.value for i in at.info)


def test_chosen_columns_come_from_the_address_and_bad_ones_are_named(app: App, example: Store) -> None:
    at = app(ov_columns=["Spend (USD)", "no_such"])
    assert not at.exception
    assert list(ledger_of(at).columns) == ["run", "usd"]
    assert any("no\\_such" in w.value for w in at.warning)


def test_one_run_from_the_sidebar_is_the_only_one_everywhere(seen: App) -> None:
    at = seen(runs=["gb200-sync"])
    assert list(ledger_of(at)["run"]) == ["gb200-sync"]
    assert {t["legendgroup"] for t in specs(at)[0]["data"]} == {"gb200-sync"}


def test_how_it_was_computed_names_prices_with_badges(seen: App) -> None:
    text = text_of(seen())
    assert "USD per GPU-hour" in text and "-badge[" in text
    assert "Price book" in text and "Formulas" in text


@pytest.mark.parametrize(
    ("words", "kept"), [("h100", 1), ("GB200", 2), ("completed gb200 async", 1), ("", 3)]
)
def test_every_word_of_the_filter_must_be_found(words: str, kept: int) -> None:
    frame = pd.DataFrame(
        {"run": ["h100-a", "gb200-sync", "gb200-async"], "status": [["failed"], ["completed"], ["completed"]]}
    )
    assert len(matching(frame, words)) == kept


def test_sparklines_are_evenly_spaced_in_dollars() -> None:
    base = {
        "usd_by_phase": [],
        "platforms": ["h100-sxm"],
        "last_score": 0.9,
        "warnings": 0,
        "status": "completed",
    }
    ledger = pd.DataFrame([{"run": "a", "scores": [], **base}])
    scores = pd.DataFrame({"run": "a", "x": [0.0, 90.0, 100.0], "score": [0.1, 0.5, 0.9]})
    line = prepare(ledger, scores)["score_line"][0]
    assert line[0] == pytest.approx(10) and line[-1] == pytest.approx(90)
    assert sum(v == pytest.approx(10) for v in line) == pytest.approx(0.9 * len(line), abs=1)


def test_selected_runs_stand_side_by_side_as_text() -> None:
    base = {"usd_by_phase": [], "scores": [], "platforms": ["h100-sxm"], "last_score": 0.9, "warnings": 1}
    rows = [
        {
            "run": "a*b",
            "status": "completed",
            "usd": 1234.5,
            "gain": None,
            "goodput_frac": 0.5,
            "synthetic": True,
        },
        {"run": "c", "status": "failed", "usd": 2.0, "gain": 1.0, "goodput_frac": None, "synthetic": False},
    ]
    ledger = pd.DataFrame([{**base, **row} for row in rows])
    table = side_by_side(prepare(ledger, pd.DataFrame()), ["a*b", "c"])
    assert list(table.columns) == ["a\\*b", "c"]
    assert list(table.loc["Spend (USD)"]) == ["1,230", "2"]
    assert list(table.loc["Gain (points)"]) == ["not known", "1"]
    assert list(table.loc["Status"]) == ["completed", "failed"]
    assert table.loc["Goodput (%)", "a\\*b"] == "50"


def test_every_column_of_the_example_can_be_compared(seen: App) -> None:
    at = seen()
    ledger = ledger_of(at)
    table = side_by_side(ledger, list(ledger["run"][:2]))
    assert table.shape[1] == 2 and table.notna().all().all()


def test_the_file_of_the_ledger_leaves_unknown_phases_empty() -> None:
    base = {"platforms": ["h100-sxm"], "last_score": 0.9, "warnings": 0, "status": "completed"}
    phases = [
        [{"phase": "rollout", "usd": 3.0}, {"phase": "train", "usd": 0.0}],
        [{"phase": "rollout", "usd": None}],
    ]
    ledger = pd.DataFrame([{"run": f"r{i}", "usd_by_phase": p, **base} for i, p in enumerate(phases)])
    rows = prepare(ledger, pd.DataFrame())
    text = csv_text(with_phase_columns(rows[["run", "phase_bar", "status"]], phase_order(ledger)))
    assert text.splitlines() == [
        "run,usd_rollout,usd_train,status",
        "r0,3.0,0.0,completed",
        "r1,,,completed",
    ]


def test_a_reward_is_shown_as_logged_and_never_in_percent() -> None:
    base = {"usd_by_phase": [], "scores": [], "platforms": ["h100-sxm"], "warnings": 0, "status": "completed"}
    rows = [
        {**base, "run": "r", "last_score": 3.2, "last_kind": "points", "gain": 1.5},
        {**base, "run": "s", "last_score": 0.5, "last_kind": "fraction", "gain": 4.0},
    ]
    points = pd.DataFrame(
        {"run": ["r", "s"], "x": [1.0, 1.0], "score": [3.2, 0.5], "kind": ["points", "fraction"]}
    )
    shown = prepare(pd.DataFrame(rows), points).set_index("run")
    assert shown["last_points"].to_dict() == {"r": 3.2, "s": pytest.approx(float("nan"), nan_ok=True)}
    assert shown["last_score"].dropna().to_dict() == {"s": 50}
    assert (shown["gain"].dropna().to_dict(), shown["gain_units"].dropna().to_dict()) == (
        {"s": 4.0},
        {"r": 1.5},
    )
    assert shown["score_line"].to_dict() == {"r": [3.2], "s": [50]}
    assert "last_points" not in prepare(pd.DataFrame(rows[1:]), points)
