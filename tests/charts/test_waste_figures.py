"""Ladder, waterfall and phases over time: exact dollars over each bar, unknown hatched, bars that meet."""

import json
from itertools import pairwise
from typing import Any

import pandas as pd
import pytest

from analysis.result import Result
from charts import figures, theme, waste
from tests.charts.made import EVIL, result


def made(unknown: float = 200.25, other: float = 40.10) -> Result:
    rungs = [("paid", 1000.0, 1000.0), ("allocated", 900.0, 900.0), ("active", 600.0, 600.0 + unknown)]
    ladder = [
        {"rung": rung, "usd": usd, "usd_low": usd, "usd_high": high, "frac": usd / 1000, "gpu_hours": usd / 2,
         "basis": "bill", "missing": ""}
        for rung, usd, high in rungs
    ]  # fmt: skip
    bars = {"other": other, "not_allocated": 100.0, "idle": 99.75, "unknown": unknown, "lost": 0.0}
    at = 1000.0 + other
    falls: list[dict[str, Any]] = [{"bar": "bill", "kind": "total", "usd": at, "top_usd": at}]
    for bar, usd in bars.items():
        falls.append({"bar": bar, "kind": "minus", "usd": usd, "top_usd": at})
        at -= usd
    falls.append({"bar": "productive", "kind": "total", "usd": at, "top_usd": at})
    more = {"frac": 0.1, "runs": [EVIL, "beta"], "detail": "storage $40.10"}
    start = pd.Timestamp("2026-03-02 08:00")
    track = [
        {"start": start + pd.Timedelta(minutes=n), "end": start + pd.Timedelta(minutes=n + 1), "pool": pool,
         "step_first": n, "step_last": n, "phase": phase, "frac": frac, "seconds": 60 * frac}
        for n in range(3) for pool in ("train", "rollout")
        for phase, frac in (("train", 0.7), ("unattributed", 0.3))
    ]  # fmt: skip
    return result("waste", ladder=ladder, waterfall=[{**f, **more} for f in falls], track=track)


def labels(fig: Any) -> list[str]:
    return [str(a.text) for a in fig.layout.annotations]


def test_the_ladder_says_dollars_to_the_cent_and_hatches_what_is_open() -> None:
    fig = waste.ladder(made())
    known, unknown = fig.data
    assert list(known.x) == [1000.0, 900.0, 600.0]
    assert (list(unknown.x), list(unknown.base), list(unknown.y)) == ([200.25], [600.0], [2])
    assert unknown.marker.pattern.shape == "/"
    assert labels(fig)[2] == "<b>Active</b> $600.00 · 60.0 % of paid · 300 GPU-h"
    assert "hatched" in fig.layout.meta["subtitle"]
    assert len(waste.ladder(made(unknown=0.0)).data) == 1


@pytest.mark.parametrize("other", [40.10, -12.5])
def test_each_bar_of_the_waterfall_ends_where_the_next_begins(other: float) -> None:
    fig = waste.waterfall(made(other=other))
    ends = [(bar.base[0], bar.base[0] + bar.x[0]) for bar in fig.data]
    for (low, _), (_, after) in pairwise(ends[1:]):
        assert low == pytest.approx(after)
    assert ends[0][1] == pytest.approx(ends[1][1]) and ends[-1][0] == 0.0
    hatched = [bar.name for bar in fig.data if bar.marker.pattern.shape]
    assert hatched == ["Unknown"]
    signed = f"{'−' if other > 0 else '+'}${abs(other):,.2f}"
    assert labels(fig)[1].startswith(f"<b>Other charges and credits</b> {signed}")
    assert f"Other charges and credits {signed}, " in fig.layout.meta["alt"]
    assert f"<b>Other charges and credits</b> {signed}<br>storage $40.10" in fig.data[1].customdata[0]


def test_shares_say_of_what_and_lost_work_how_much_it_may_be() -> None:
    """$1,040.10 of charges; a credit of $40.10 leaves a bill of $1,000.00; $540.00 may be lost."""
    rows = [
        {"bar": "bill", "kind": "total", "usd": 1000.0, "frac": None},
        {"bar": "unknown", "kind": "minus", "usd": 520.05, "frac": 0.5},
        {"bar": "lost", "kind": "minus", "usd": 19.95, "usd_high": 540.0, "frac": 19.95 / 1040.1},
    ]
    more = {"top_usd": 1000.0, "runs": [], "detail": ""}
    fig = waste.waterfall(result("waste", waterfall=[{"usd_high": r["usd"], **r, **more} for r in rows]))
    assert "percent of $1,040.10 of charges before credits" in fig.layout.meta["subtitle"]
    assert labels(fig)[0] == "<b>The bill</b> $1,000.00"
    assert labels(fig)[2] == "<b>Lost to failures</b> −$19.95 · 1.92 % of charges (up to $540.00)"
    assert "percent of paid, $1,000.00 of GPU charges" in waste.ladder(made()).layout.meta["subtitle"]


def test_phases_have_a_lane_a_pool_and_fill_the_stretch() -> None:
    fig = waste.track(made())
    assert {trace.xaxis for trace in fig.data} == {"x", "x2"}
    assert sum(trace.y[0] for trace in fig.data) == pytest.approx(200)
    assert fig.data[0].width[0] == 60_000
    assert "Time (UTC)" in fig.layout.xaxis2.title.text


def test_without_dollars_the_figures_say_why() -> None:
    bare = Result("waste", {}, "Nothing was paid.", tables={"ladder": pd.DataFrame(columns=["rung", "usd"])})
    for fig in (waste.ladder(bare), waste.waterfall(bare)):
        assert not fig.data and "Nothing was paid" in fig.layout.annotations[0].text


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_complete_and_harmless_in_both_modes(mode: theme.Mode) -> None:
    drawn = figures.draw(made(), mode)
    assert len(drawn) == 3
    for fig in drawn:
        assert fig.layout.meta["alt"] and fig.layout.title.text
        assert "<a href" not in json.dumps(json.loads(fig.to_json())["data"])
