"""Kept forecasts: appended, read back, never changed, and there after an upgrade."""

import sqlite3
from datetime import datetime
from pathlib import Path

import pytest

from data import workspace
from data.forecasts import keep, kept, newest_id
from data.workspace import Workspace

AT = datetime(2026, 4, 1, 9, 30)


def test_what_was_kept_comes_back(tmp_path: Path) -> None:
    place = Workspace(tmp_path / "workspace.sqlite")
    assert kept(place) == () and newest_id(place) == 0
    first = keep(place, {"months": 3}, {"usd": [1.5, 2.0]}, "April", AT)
    second = keep(place, {"months": 6}, {"usd": []})
    again = Workspace(place.path)
    assert kept(again) == (first, second) and newest_id(again) == second.id
    assert kept(again, upto=first.id) == (first,)
    assert (first.made_at, first.note, first.document["usd"]) == (AT, "April", [1.5, 2.0])


@pytest.mark.parametrize("change", ["UPDATE forecasts SET document = '{}'", "DELETE FROM forecasts"])
def test_nobody_rewrites_a_forecast(tmp_path: Path, change: str) -> None:
    place = Workspace(tmp_path / "workspace.sqlite")
    keep(place, {}, {"usd": 1})
    with pytest.raises(sqlite3.IntegrityError, match="append-only"), place.connect() as con:
        con.execute(change)
    assert kept(place)[0].document == {"usd": 1}


def test_no_number_is_no_forecast(tmp_path: Path) -> None:
    place = Workspace(tmp_path / "workspace.sqlite")
    with pytest.raises(ValueError, match="JSON"):
        keep(place, {}, {"usd": float("nan")})
    assert kept(place) == ()


def test_a_workspace_of_before_gets_the_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "workspace.sqlite"
    with monkeypatch.context() as then:
        then.setattr("data.workspace._UPGRADES", workspace._UPGRADES[:1])
        then.setattr("data.workspace._VERSION", 2)
        decided = Workspace(path).decide("price", {"price_id": "x"})
    again = Workspace(path)
    keep(again, {}, {})
    assert newest_id(again) == 1 and again.last_decision_id() == decided.id
