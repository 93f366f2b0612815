"""Why a run has no phases over time is said as it is: no phases, no times, or no time of day."""

from pathlib import Path
from typing import Any

import pytest

from analysis import run
from charts import waste as charts
from data.ingest import ingest_file
from data.store import get_store
from tests.analysis.conftest import T0, Home, phases, steps
from tests.data.verl_files import jsonl, values


def bare(home: Home, *, stamps: bool, timed: bool = True, phased: bool = True) -> Any:
    home.add("runs", {"run": "r", "mode": "sync", "synthetic": False})
    home.add("attempts", {"run": "r", "attempt": 1, "started_at": T0 if stamps else None})
    rows = steps("r", 1, range(1, 4), 100.0)
    home.add(
        "steps", *({**row, "step_s": 100.0 if timed else None, "ts": T0 if stamps else None} for row in rows)
    )
    if phased:
        home.add("step_phases", *phases("r", 1, range(1, 4), {"rollout": 60.0, "train": 30.0}))
    return run("waste", home.view(), {"run": "r", "period": "all"})


@pytest.mark.parametrize(
    ("has", "words"),
    [
        ({"stamps": False}, "times the phases of its steps, but says of no step at what time of day"),
        ({"stamps": True, "phased": False}, "times its steps, but no phase of them"),
        ({"stamps": True, "phased": False, "timed": False}, "no step times and no timers of phases"),
    ],
)
def test_the_missing_condition_is_the_one_that_is_named(empty_home: Home, has: dict, words: str) -> None:
    result = bare(empty_home, **has)
    assert result.tables["track"].empty
    (said,) = [w for w in result.warnings if w.code == "no_track"]
    assert words in said.text
    note = charts.track(result).layout.annotations[0].text.replace("<br>", " ")
    assert words[:40] in note and "times no phases" not in note


def test_phases_with_a_clock_are_drawn_although_nothing_was_paid(empty_home: Home) -> None:
    result = bare(empty_home, stamps=True)
    assert "Nothing paid in this period names r" in result.answer
    track = result.tables["track"].groupby("phase")["seconds"].sum().to_dict()
    assert track == {"rollout": 180.0, "train": 90.0, "unattributed": 30.0}
    assert not any(w.code == "no_track" for w in result.warnings)
    assert charts.track(result).data


def test_a_verl_log_with_timers_is_never_said_to_time_no_phases(tmp_path: Path) -> None:
    store = get_store(tmp_path / "home")
    path = tmp_path / "trial.jsonl"
    path.write_text(jsonl({n: values(n) for n in (1, 2, 3)}), encoding="utf-8")
    ingest_file(store, path)
    with store.view() as view:
        result = run("waste", view, {"run": "trial", "period": "all"})
    store.close()
    (said,) = [w.text for w in result.warnings if w.code == "no_track"]
    assert "times the phases of its steps" in said and "time of day" in said
