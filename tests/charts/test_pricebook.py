"""Price history and the re-price bars draw what their tables hold, and say what they leave out."""

import re
from datetime import date, datetime
from pathlib import Path

import duckdb
import pandas as pd
import plotly.graph_objects as go
import pytest

import analysis
from analysis.result import Result
from charts import pricebook as charts
from data.tables import ddl
from data.view import View
from data.workspace import Decision

H100 = "h100-sxm-reserved-3y-neocloud-2026-07"


def told(number: int, value: float, as_of: str, currency: str = "USD") -> Decision:
    payload = {
        "action": "set", "price_id": H100, "platform_id": "h100-sxm", "kind": "reserved_3y",
        "tier": "neocloud",
        "provider": "<b>us</b>", "region": "", "value": value, "unit": f"{currency} per GPU-hour",
        "currency": currency, "as_of": as_of, "source": "contract", "note": "signed",
    }  # fmt: skip
    return Decision(number, datetime(2026, 5, 1), "price", None, None, payload, None)


def words(fig: go.Figure) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", fig.layout.title.text).split())


def book(*decisions: Decision) -> Result:
    con = duckdb.connect()
    con.execute(ddl())
    view = View(con, Path("/nowhere"), "1", None, False, decisions, date(2026, 11, 30))
    return analysis.run("pricebook", view, {"platform": "h100-sxm"})


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_every_dated_version_of_one_kind_is_a_dot(mode: str) -> None:
    result = book(told(1, 1.9, "2026-05-01"), told(2, 1.7, "2026-08-01"))
    frame = result.tables["history"].query("kind == 'reserved_3y' and day.notna()")
    fig = charts.history(result, mode, "reserved_3y")  # type: ignore[arg-type]
    dots = [t for t in fig.data if t.mode == "markers" and t.x[0] is not None]
    assert sorted(y for t in dots for y in t.y) == sorted(frame["usd"])
    assert sorted(set(frame["state"])) == ["earlier", "in force", "replaced"]
    hollow = [s for t in dots for s in t.marker.symbol if s.endswith("-open")]
    assert len(hollow) == int((frame["state"] != "in force").sum())
    steps = [t for t in fig.data if t.mode == "lines"]
    assert [list(t.y) for t in steps] == [[1.9, 1.7]]
    assert "<b>us" not in "".join(w for t in dots for w in t.customdata)


def test_the_axis_says_what_a_price_is_for() -> None:
    bought = charts.history(book(), kind="purchase_gpu")
    assert bought.layout.yaxis.title.text == "USD per unit"
    rented = charts.history(book(told(1, 1.9, "2026-05-01")), kind="reserved_3y")
    assert rented.layout.yaxis.title.text == "USD per GPU-hour"
    said = "".join(word for dots in rented.data if dots.customdata is not None for word in dots.customdata)
    assert "$1.90 per GPU-hour from 2026-05-01" in said


def test_a_price_without_a_rate_is_counted_and_not_drawn() -> None:
    fig = charts.history(book(told(1, 1.5, "2026-05-01", "EUR")), kind="reserved_3y")
    assert "only in the table: 1 without date or rate" in words(fig)
    assert 1.5 not in [y for t in fig.data for y in t.y]


def test_nothing_to_draw_is_said() -> None:
    assert not charts.history(book(), kind="purchase_rack").data
    assert not charts.change_by_run(Result("reprice", {}, "", tables={"runs": pd.DataFrame()})).data


def test_both_sides_of_a_run_stand_together() -> None:
    runs = pd.DataFrame(
        {"run": ["a", "b", "<i>"], "usd_stored": [4.0, 9.0, 1.0], "usd_new": [6.0, 8.0, None]}
    )
    runs["change_usd"] = runs["usd_new"] - runs["usd_stored"]
    fig = charts.change_by_run(Result("reprice", {}, "", tables={"runs": runs}))
    assert [list(t.x) for t in fig.data] == [[9.0, 4.0], [8.0, 6.0]]
    assert fig.data[1].marker.pattern.shape and "only in the table: 1 more" in words(fig)
