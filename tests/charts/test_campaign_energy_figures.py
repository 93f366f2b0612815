"""Figures of campaigns and energy: every dollar and kWh drawn, evidence as pattern, names as text."""

import json

import pytest

from charts import campaigns, energy, theme
from tests.charts import made

NAMES = ["math", "code", made.EVIL, ""]


def spend(names=NAMES):
    weeks = [
        {"campaign": name, "team": f"team {name}" if name else "", "week": week, "usd": 100.0 * (place + 1)}
        for place, name in enumerate(names)
        for week in ("2026-W10", "2026-W11", "")
    ]
    weeks.append({"campaign": "", "team": "", "week": "2026-W11", "usd": -50.0})
    by = [
        ("cause", "node lost", 500.0, 300.0),
        ("cause", made.EVIL, 100.0, 100.0),
        ("kind", "start_up", 600.0, 400.0),
    ]
    lost_by = [dict(zip(("dimension", "key", "usd", "usd_low"), row, strict=True)) for row in by]
    return made.result("campaigns", weeks=weeks, lost_by=lost_by)


def power():
    parts = [
        {"run": run, "basis": basis, "kwh_gpu": kwh, "gpu_h": 2 * kwh}
        for run in made.RUNS
        for basis, kwh in (("measured counter", 30.0), ("measured power", 10.0), ("platform figure", 5.0))
    ]
    return made.result("energy", parts=parts, runs=[{"run": run, "usd": 90.0} for run in made.RUNS])


ALL = [
    (spend, campaigns.spend_by_week),
    (spend, campaigns.spend_by_team),
    (spend, campaigns.lost_by_cause),
    (power, energy.energy_by_run),
]


@pytest.mark.parametrize(("make", "draw"), ALL)
def test_every_figure_is_complete_in_both_modes(make, draw):
    for mode in ("light", "dark"):
        fig = draw(make(), mode)
        assert fig.layout.meta["alt"] and fig.layout.meta["table"] in make().tables
        assert fig.layout.title.text and 0 < theme.points(fig) <= theme.MAX_POINTS
    assert not draw(made.result(make().analysis), "light").data


@pytest.mark.parametrize(("make", "draw"), ALL)
def test_a_hostile_name_is_text(make, draw):
    spec = json.loads(draw(make(), "light").to_json())
    for trace in spec["data"]:
        if trace.get("orientation") == "h":
            trace.pop("y", None)
    spec["layout"].pop("template", None)
    for name in [key for key in spec["layout"] if key.startswith("yaxis")]:
        spec["layout"][name].pop("categoryarray", None)
        spec["layout"][name].pop("tickvals", None)
    spec["layout"]["meta"].pop("alt")
    assert "<a href" not in json.dumps(spec) and "&lt;" in json.dumps(spec)


def test_weeks_hold_every_dollar_and_hatch_what_nobody_bears():
    made_up = spend()
    fig = campaigns.spend_by_week(made_up)
    assert sum(sum(trace.y) for trace in fig.data) == pytest.approx(made_up.tables["weeks"]["usd"].sum())
    assert [trace.name for trace in fig.data if trace.marker.pattern.shape] == [campaigns.NOBODY]
    assert fig.layout.xaxis.categoryarray[-1] == campaigns.NO_WEEK


def test_beyond_eight_campaigns_the_rest_is_one_grey_bar():
    names = [f"c{n:02}" for n in range(12)]
    fig = campaigns.spend_by_week(spend(names))
    assert len(fig.data) == campaigns.MOST + 2 and fig.data[-2].name == "4 more"


def test_causes_are_largest_first_with_a_running_share():
    sure, unsure = campaigns.lost_by_cause(spend()).data
    assert list(sure.x) == [300.0, 100.0] and list(unsure.x) == [200.0, 0.0]
    assert list(unsure.text) == ["83 %", "100 %"]


def test_evidence_is_a_pattern_and_dollars_have_their_own_axis():
    fig = energy.energy_by_run(power())
    shapes = {trace.name: trace.marker.pattern.shape for trace in fig.data if trace.legendgroup}
    assert shapes == {"Energy counter": None, "Power samples": "/", "Published figure, not measured": "."}
    assert sum(sum(t.x) for t in fig.data if t.legendgroup) == pytest.approx(135)
    assert {trace.xaxis for trace in fig.data} == {"x", "x2"}
