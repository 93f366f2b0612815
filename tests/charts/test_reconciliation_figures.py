"""Figures of a reconciled bill: every dollar of a table is drawn, negative ones too; words when empty."""

import re

import pytest

from analysis.parts import WHY
from analysis.reconciled import BRIDGE
from analysis.result import Result
from charts import reconciliation
from charts.figures import draw
from tests.charts.made import result

HOW = [
    {"how": "resource", "meaning": "the machine", "usd": 360.0, "gpu_hours": 144.0, "lines": 2.0},
    {"how": "none", "meaning": "credit: <b>x</b>", "usd": -10.0, "gpu_hours": 0.0, "lines": 1.0},
    {"how": "none", "meaning": "idle", "usd": 120.0, "gpu_hours": 48.0, "lines": 1.0},
]
DAYS = [
    {"day": "2026-03-10", "matched_usd": 360.0, "unmatched_usd": 120.0, "effective_usd": 480.0},
    {"day": None, "matched_usd": 0.0, "unmatched_usd": -10.0, "effective_usd": -10.0},
]
TOTALS = [
    {"part": "invoice", "label": "Invoice", "kind": "total", "usd": 700.0},
    {"part": "purchase", "label": "Purchases", "kind": "change", "usd": -230.0},
    {"part": "effective", "label": "Effective", "kind": "total", "usd": 470.0},
]


@pytest.fixture
def made() -> Result:
    return result("reconciliation", by_how=HOW, by_day=DAYS, totals=TOTALS)


def test_all_dollars_are_drawn(made: Result) -> None:
    fig = reconciliation.explained(made)
    assert sum(float(v) for trace in fig.data for v in trace.x) == 470.0
    assert [len(trace.x) for trace in fig.data] == [1, 2]
    assert not any("<b>x</b>" in text for trace in fig.data for text in trace.customdata)
    assert "$360.00" in fig.layout.meta["alt"]


def test_no_two_bars_share_a_name_whatever_was_matched_or_not() -> None:
    names = [*reconciliation.HOW.values(), *reconciliation.NAMES.values()]
    assert len(set(names)) == len(names)
    of_charges = {meaning for key, meaning in WHY.items() if key != "credit"}
    assert of_charges == {meaning for _, meaning in reconciliation.NAMES}, (
        "credits are one bar, whatever their reason"
    )


def test_days_stack_and_what_has_none_is_said(made: Result) -> None:
    fig = reconciliation.by_day(made, "dark")
    assert [list(trace.y) for trace in fig.data] == [[360.0], [120.0]]
    assert "without a time" in fig.layout.meta["subtitle"]
    assert [trace.name for trace in fig.data] == [
        "matched to a run or job",
        "matched to no run or job: idle, or not explained",
    ]


def test_the_bridge_is_drawn_only_where_there_is_a_difference(made: Result) -> None:
    bars = reconciliation.bridge(made).data
    assert [(*one.base, *one.x) for one in bars] == [(0.0, 700.0), (700.0, -230.0), (0.0, 470.0)]
    equal = result("reconciliation", totals=[TOTALS[0], TOTALS[2] | {"usd": 700.0}])
    assert not reconciliation.bridge(equal).data
    assert len(draw(made)) == 3


def test_no_label_of_the_bridge_is_cut() -> None:
    parts = [key for key in BRIDGE if key not in ("invoice", "effective")]
    rows = [{"part": key, "label": BRIDGE[key], "kind": "change", "usd": 10.0} for key in parts]
    ends = [
        {"part": key, "label": BRIDGE[key], "kind": "total", "usd": usd}
        for key, usd in (("invoice", 100.0), ("effective", 100.0 + 10 * len(parts)))
    ]
    fig = reconciliation.bridge(result("reconciliation", totals=[ends[0], *rows, ends[1]]))
    written = [note.text for note in fig.layout.annotations if "$" in note.text]
    plain = [re.sub("<[^>]+>", "", text.replace("<br>", " ")) for text in written]
    told = ["$100.00", *["$10.00"] * len(parts), f"${100 + 10 * len(parts)}.00"]
    assert plain == [f"{label} {usd}" for label, usd in zip(BRIDGE.values(), told, strict=True)]
    assert max(len(line) for text in written for line in re.sub("</?b>", "", text).split("<br>")) < 60


def test_no_bill_no_figure() -> None:
    assert draw(result("reconciliation", "No bill is loaded.")) == []
