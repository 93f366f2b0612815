"""Steps, rollouts, unit costs and GPUs: what is stacked, hatched, pale, in which unit, from which column."""

import json
from dataclasses import replace

import pandas as pd
import plotly.graph_objects as go
import pytest

from analysis.result import Result
from charts import bottleneck, figures, rollouts, theme, unit_economics, utilisation
from charts.blocks import band, colours_of
from charts.drawn import drawn
from tests.charts.made import EVIL, result

PHASES = {"rollout": ("wall", 60.0), "train": ("wall", 30.0), "unattributed": ("rest", 10.0)}


def steps_result(run: str = EVIL, bins: int = 30, priced: bool = True) -> Result:
    """One run whose bins 10..12 were lost; one failed check at step 5."""
    steps = [
        {"run": run, "bin": b, "attempt": 1, "step_first": b + 1, "step_last": b + 1, "steps": 1,
         "kept": not 10 <= b <= 12, "step_s": 100.0, "pool": "all", "phase": p, "kind": kind, "seconds": s}
        for b in range(bins) for p, (kind, s) in PHASES.items()
    ]  # fmt: skip
    phases = [
        {"run": run, "pool": "all", "phase": p, "kind": kind, "total_s": s * bins, "mean_s": s,
         "step_mean_s": 100.0,
         "usd": 2.0 * s * bins if priced else None, "free_note": "one clock: step - phase",
         "step_if_free_s": 100.0 - s if kind == "wall" else None}
        for p, (kind, s) in PHASES.items()
    ]  # fmt: skip
    flags = [{"run": run, "attempt": 1, "step": 5, "check_name": "phases_exceed_step"}]
    return result("bottleneck", steps=steps, phases=phases, flags=flags)


def test_the_stack_is_the_step_and_its_rest_is_hatched() -> None:
    fig = bottleneck.step_stack(steps_result(), "light")
    heights = pd.concat([pd.Series(t.y, index=t.x) for t in fig.data]).groupby(level=0).sum()
    assert set(heights) == {100.0}
    assert [t.legendgroup for t in fig.data if t.marker.pattern.shape] == ["unattributed"]
    assert "(s)" in fig.layout.yaxis.title.text


def test_waiting_has_a_fill_and_a_price_of_its_own() -> None:
    made = steps_result()
    steps = made.tables["steps"]
    rest = steps["kind"] == "rest"
    half = steps[rest].assign(seconds=steps.loc[rest, "seconds"] / 2)
    both = pd.concat([steps[~rest], half, half.assign(phase="waiting", kind="wait")])
    result = Result("bottleneck", {}, "", tables={**made.tables, "steps": both})
    for fig in (bottleneck.step_stack(result, "light"), bottleneck.step_stack_usd(result, "light")):
        waiting, unknown = (
            next(t for t in fig.data if t.legendgroup == name) for name in ("waiting", "unattributed")
        )
        assert waiting.name == "Waiting" and waiting.marker.pattern.shape is None
        assert list(waiting.y) == pytest.approx(list(unknown.y)) and unknown.marker.pattern.shape


def test_a_step_in_dollars_is_seconds_at_the_price_of_their_pool() -> None:
    fig = bottleneck.step_stack_usd(steps_result(), "light")
    train = next(t for t in fig.data if t.legendgroup == "train")
    assert set(train.y) == {60.0}
    assert fig.layout.yaxis.tickprefix == "$" and "USD" in fig.layout.yaxis.title.text


def test_without_a_price_the_dollar_stack_says_what_to_fill_in() -> None:
    fig = bottleneck.step_stack_usd(steps_result(priced=False), "light")
    assert not fig.data and "run details" in fig.layout.annotations[0].text.replace("<br>", " ")


def test_lost_steps_are_pale_and_a_failed_check_is_on_the_hover() -> None:
    fig = bottleneck.step_stack(steps_result(), "light")
    bar = fig.data[0]
    assert [b for b, o in zip(bar.x, bar.marker.opacity, strict=True) if o < 1] == [10, 11, 12]
    assert "check failed" in bar.customdata[4] and "lost" in bar.customdata[10]
    assert "check failed" not in bar.customdata[5]


def test_each_pool_with_its_own_clock_has_its_own_panel() -> None:
    made = steps_result("a")
    other = made.tables["steps"].assign(pool="rollout", seconds=7.0)
    both = {**made.tables, "steps": pd.concat([made.tables["steps"], other])}
    fig = bottleneck.step_stack(Result("bottleneck", {}, "", tables=both), "light")
    assert {t.yaxis for t in fig.data} == {"y", "y2"}
    assert sum(bool(t.showlegend) for t in fig.data) == len(PHASES)


def test_if_free_bars_start_with_the_greatest_saving() -> None:
    fig = bottleneck.if_free(steps_result(), "light")
    assert list(fig.data[0].x) == [40.0, 70.0]
    assert list(fig.data[0].y) == ["Rollout", "Train"]
    assert fig.layout.shapes[0].x0 == 100.0


def test_if_free_gives_small_phases_the_one_colour_they_have_in_the_stack() -> None:
    made = steps_result()
    named = {"rollout": 60.0, "train": 30.0, "eval": 2.0, "reward": 1.5, "data": 1.0}
    first = made.tables["phases"].iloc[0].to_dict()
    rows = [first | {"phase": p, "mean_s": s, "step_if_free_s": 100.0 - s} for p, s in named.items()]
    phases = pd.DataFrame(rows)
    fig = bottleneck.if_free(Result("bottleneck", {}, "", tables={**made.tables, "phases": phases}), "light")
    fills = list(fig.data[0].marker.color)
    assert list(fig.data[0].y)[2:] == ["Eval", "Reward", "Data"]
    assert len(set(fills[:3])) == 3 and len(set(fills[2:])) == 1


@pytest.mark.parametrize(("column", "said"), [("len_p50", "median to p95"), ("len_mean", "mean to p95")])
def test_the_fan_says_where_its_band_starts(column: str, said: str) -> None:
    made = rollout_result(("alpha",))
    steps = made.tables["steps"].drop(columns=[c for c in ("len_p50", "len_mean") if c != column])
    fig = rollouts.lengths(Result("rollouts", {}, "", tables={"steps": steps}), "light")
    assert [t.name for t in fig.data if str(t.name).endswith(" to p95")] == [said]


def rollout_result(runs: tuple[str, ...] = ("alpha", EVIL), steps: int = 40) -> Result:
    """Rates, lengths and losses by step; `alpha` lost steps 21 to 25."""
    rows = [
        {"run": run, "bin": s, "attempt": 1, "step_first": s + 1, "step_last": s + 1, "steps": 1,
         "kept": run != "alpha" or not 20 <= s < 25, "rollouts_per_s": 10.0 + s, "rollouts_per_s_min": 9.0,
         "rollouts_per_s_max": 60.0, "tok_per_s": None, "tok_per_s_per_gpu": None,
         "tok_per_s_per_rollout_gpu": None, "len_mean": 100.0, "len_p50": 90.0, "len_p95": 300.0,
         "len_max": 400.0,
         "truncated_frac": 0.02, "staleness": None, "dropped": 3.0}
        for run in runs for s in range(steps)
    ]  # fmt: skip
    return result("rollouts", steps=rows)


def test_throughput_takes_a_rate_that_the_files_hold() -> None:
    fig = rollouts.throughput(rollout_result(), "light")
    assert rollouts.rates_known(rollout_result()) == ["rollouts_per_s"]
    assert "1/s" in fig.layout.yaxis.title.text
    pale = [t for t in fig.data if t.opacity == 0.4]
    assert [list(t.x) for t in pale] == [[21, 22, 23, 24, 25]]


def test_one_run_shows_the_spread_inside_its_bins() -> None:
    fig = rollouts.throughput(rollout_result(("alpha",)), "light")
    assert any(t.fill == "toself" for t in fig.data)


def test_a_gap_splits_a_band_into_closed_pieces_with_one_legend_entry() -> None:
    low = [1.0, 2.0, None, 4.0, 5.0, 6.0]
    high = [2.0, 3.0, 4.0, 5.0, 6.0, 7.0]
    first, second = band(range(6), low, high, "#0072B2", "spread")
    assert (first.x, first.y) == ((0, 1, 1, 0), (2.0, 3.0, 2.0, 1.0))
    assert set(second.x) == {3, 4, 5}
    assert (first.showlegend, second.showlegend) == (True, False)
    rows = drawn(go.Figure([first, second]))
    assert rows["x"].tolist() == [0, 1, 3, 4, 5]
    assert rows["low"].tolist() == [v for v in low if v] and rows["high"].tolist() == [
        2.0,
        3.0,
        5.0,
        6.0,
        7.0,
    ]


def test_lengths_are_a_fan_in_a_panel_for_each_run() -> None:
    fig = rollouts.lengths(rollout_result(), "light")
    assert {t.yaxis for t in fig.data} == {"y", "y2"}
    assert {t.name for t in fig.data if t.name} >= {"median", "mean", "p95", "longest", "median to p95"}
    assert fig.layout.yaxis.title.text == "Tokens"


def test_truncation_is_percent_and_what_is_not_logged_is_said() -> None:
    fig = rollouts.truncation(rollout_result(), "light")
    assert set(fig.data[-1].y) == {2.0} and "%" in fig.layout.yaxis.title.text
    silent = rollouts.staleness(rollout_result(), "light")
    assert not silent.data and "staleness" in silent.layout.annotations[0].text


def test_unit_costs_have_a_panel_a_unit_and_whiskers() -> None:
    bars = [
        {"run": run, "unit": unit, "value": v, "low": 0.8 * v, "high": 1.5 * v}
        for run in ("alpha", EVIL)
        for unit, v in {"usd_per_rollout": 0.002, "usd_per_mtok": 1.5}.items()
    ]
    fig = unit_economics.unit_costs(result("unit_economics", bars=bars), "light")
    assert [a.text for a in fig.layout.annotations] == ["USD per rollout", "USD per million generated tokens"]
    assert fig.data[0].error_x.arrayminus[0] == pytest.approx(0.0004)
    assert fig.layout.xaxis.tickprefix == fig.layout.xaxis2.tickprefix == "$"


def gpu_result(gpus: int = 8, bins: int = 50) -> Result:
    """Two hosts of GPUs; the last GPU has no sample in the first ten bins."""
    start = pd.Timestamp("2026-01-05 10:00")
    heat = [
        {"gpu": f"node-{g // 4}:{g % 4}", "host": f"node-{g // 4}", "role": "train" if g < 4 else "rollout",
         "bin": start + pd.Timedelta(minutes=b), "bin_minutes": 1, "value": 0.5, "v_min": 0.1, "v_max": 0.9,
         "coverage_frac": 0.75}
        for g in range(gpus) for b in range(bins) if g < gpus - 1 or b >= 10
    ]  # fmt: skip
    timeline = [{**h, "gpus": gpus} for h in heat[:bins]]
    return result("utilisation", params={"measure": "gpu_util"}, heat=heat, timeline=timeline)


def test_heat_has_a_row_a_gpu_groups_named_once_and_gaps_where_nothing_was_sampled() -> None:
    fig = utilisation.heat(gpu_result(), "light")
    z = fig.data[0].z
    assert len(z) == 8 and pd.isna(z[7][0]) and z[0][0] == 50.0
    assert sum("train" in t for t in fig.layout.yaxis.ticktext) == 1
    assert len(fig.layout.shapes) == 1
    assert "UTC" in fig.layout.xaxis.title.text and "GPU-Util" in fig.layout.title.text
    assert fig.data[0].colorbar.title.text == "GPU-Util (NVML) (%)"


def test_timeline_keeps_least_and_most_and_shows_coverage() -> None:
    fig = utilisation.timeline(gpu_result(), "light")
    spread = fig.data[0]
    assert set(spread.y) == {90.0, 10.0} and spread.fill == "toself"
    assert set(fig.data[2].y) == {75.0}


def test_a_hole_is_drawn_from_its_first_minute_to_its_last() -> None:
    made = gpu_result(gpus=2, bins=60)
    start, end = pd.Timestamp("2026-01-05 10:40"), pd.Timestamp("2026-01-05 10:45")
    holed: dict[str, pd.DataFrame] = {}
    for name in ("heat", "timeline"):
        table = made.tables[name]
        holed[name] = table[(table["bin"] < start) | (table["bin"] >= end)]
    found = Result("utilisation", made.params, "", tables=holed)
    cells = utilisation.heat(found, "light").data[0]
    assert len(cells.x) == len(cells.z[0]) + 1
    empty = [i for i, z in enumerate(cells.z[0]) if pd.isna(z)]
    assert (cells.x[empty[0]], cells.x[empty[-1] + 1]) == (start, end)
    fig = utilisation.timeline(found, "light")
    before, after = (t for t in fig.data if getattr(t, "fill", None) == "toself")
    assert (max(before.x), min(after.x)) == (start, end)
    bars = next(t for t in fig.data if t.type == "bar")
    half = pd.Timedelta(milliseconds=bars.width[0]) / 2
    sampled = [x for x, y in zip(bars.x, bars.y, strict=True) if pd.notna(y)]
    assert max(x + half for x in sampled if x < start) == start
    assert min(x - half for x in sampled if x > start) == end
    line = next(t for t in fig.data if t.name == "mean")
    assert sum(pd.isna(y) for y in line.y) == 5 and not line.connectgaps


def test_the_csv_of_a_map_places_each_cell_in_the_middle_of_its_bin() -> None:
    rows = drawn(utilisation.heat(gpu_result(gpus=4, bins=11), "light"))
    assert rows["Time (UTC)"].min() == pd.Timestamp("2026-01-05 10:00:30")
    assert rows["Time (UTC)"].max() == pd.Timestamp("2026-01-05 10:10:30")


@pytest.mark.parametrize("mode", ["light", "dark"])
@pytest.mark.parametrize("made", [steps_result(), rollout_result(), gpu_result()])
def test_complete_and_harmless_in_both_modes(made: Result, mode: theme.Mode) -> None:
    drawn = figures.draw(made, mode)
    assert drawn
    for fig in drawn:
        assert fig.layout.meta["alt"] and fig.layout.meta["table"] in made.tables
        assert 0 < theme.points(fig) <= theme.MAX_POINTS
        spec = json.loads(fig.to_json())
        spec["layout"].pop("meta")
        for trace in spec["data"]:
            trace.pop("legendgroup", None)
        assert "<a href" not in json.dumps(spec)


def test_steps_on_the_axis_are_round_and_each_stands_at_the_bin_that_holds_it() -> None:
    bins = pd.DataFrame({"bin": range(130), "step_first": range(1, 260, 2), "step_last": range(2, 261, 2)})
    ticks = bottleneck.step_ticks(bins)
    assert list(ticks.values()) == [50, 100, 150, 200, 250]
    assert all(bins["step_first"][b] <= s <= bins["step_last"][b] for b, s in ticks.items())
    one = pd.DataFrame({"bin": [0], "step_first": [3], "step_last": [3]})
    assert bottleneck.step_ticks(one) == {0: 3}


def test_a_run_has_one_colour_in_a_figure_and_in_the_home() -> None:
    home = tuple(f"run-{i}" for i in range(9))
    result = replace(rollout_result(), home_runs=home)
    colours = colours_of(result, "light")
    for trace in rollouts.truncation(result, "light").data:
        assert trace.line.color == colours[trace.legendgroup]
    assert {run: colours[run] for run in home} == theme.run_colours(home)
