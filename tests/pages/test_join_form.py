"""The list of uploads says what each was joined to; a flood of pushes is one line."""

import pandas as pd

from pages.parts.join_form import sentence, sentences, short
from pages.parts.uploads_tab import COLUMNS, SUMMED, _column_config, grouped, labels, with_runs


def joined(run: str, attempt: int | None = 1) -> dict:
    return {"run": run, "attempt": attempt, "by": "name", "confidence": 0.9, "why": "it says so"}


def listing(names: list[str], runs: list[str]) -> pd.DataFrame:
    n = len(names)
    counts = dict.fromkeys(("records", "stored", "quarantined", "ignored", "size_bytes"), [1] * n)
    at = pd.Timestamp("2026-01-01") + pd.to_timedelta(range(n), unit="s")
    frame = pd.DataFrame({"name": names, "format": "f", "synthetic": False, "uploaded_at": at, **counts})
    frame["tied"] = pd.Series([[] for _ in names], dtype=object)
    return frame.assign(joins=pd.Series([[joined(run)] if run else [] for run in runs], dtype=object))


def test_many_uploads_of_one_run_and_name_are_one_line():
    rows = with_runs(listing(["push"] * 6 + ["push", "log", "gpu"], ["a"] * 6 + ["b", "a", ""]))
    shown = grouped(rows)
    assert list(shown["name"]) == ["gpu", "log", "push", "push"]
    assert list(shown["files"]) == [1, 1, 1, 6]
    assert list(shown["records"]) == [1, 1, 1, 6]
    assert list(shown["run"]) == ["", "a · 1", "b · 1", "a · 1"]
    assert len(set(labels(rows))) == len(rows)


def test_a_join_in_words():
    text = "Joined to run **a**, attempt 2, because it says so :gray[(90 % sure)]"
    assert sentence(joined("a", 2)) == text
    assert "attempt" not in sentence(joined("a", None))
    assert short([joined("a", 1), joined("a", 2), joined("b", None)]) == ("a · 1, 2, b", "it says so")


def test_joins_of_one_reason_are_one_line():
    assert sentences([joined("a"), joined("b"), joined("c") | {"why": "of its host"}]) == [
        "Joined to 2 runs, because for each, it says so :gray[(90 % sure)]",
        sentence(joined("c") | {"why": "of its host"}),
    ]
    assert sentences([joined("a", 1), joined("a", 2)]) == [
        "Joined to run **a**, 2 attempts, because it says so :gray[(90 % sure)]"
    ]


def test_the_counts_of_an_upload_are_seen_at_1280_px():
    config = _column_config()
    until = max(COLUMNS.index(name) for name in SUMMED[:4])
    assert COLUMNS.index("why") > until
    assert sum(config[name]["width"] for name in COLUMNS[: until + 1]) <= 930


def test_a_scheduler_file_shows_the_runs_that_its_jobs_are_tied_to() -> None:
    frame = listing(["jobs", "log"], ["", "a"])
    frame.at[0, "tied"] = ["a", "b", "c", "d"]
    frame.at[1, "tied"] = ["b"]
    shown = with_runs(frame)
    assert shown["run"].tolist() == ["a, b, c and 1 more", "a · 1"]
