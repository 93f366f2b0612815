"""Published dots, own stars, and ratio charts of like-for-like pairs."""

from pathlib import Path

import duckdb
import numpy as np
import pytest

from analysis.generations import GenerationsParams, compute
from analysis.result import Result
from charts import generations as charts
from charts import theme
from data.tables import ddl
from data.view import View


@pytest.fixture(scope="module")
def view() -> View:
    con = duckdb.connect()
    con.execute(ddl())
    con.execute(
        "insert into runs (run, campaign, framework, mode, llm, synthetic) "
        "values ('<i>mine</i>', 'c', 'verl', 'sync', 'llama-3.1-8b', false)"
    )
    con.execute("insert into attempts (run, attempt, status) values ('<i>mine</i>', 1, 'completed')")
    con.execute(
        "insert into allocations (run, attempt, pool, role, platform, gpus, seconds, source) "
        "values ('<i>mine</i>', 1, 'all', 'colocated', 'h100-sxm', 16, 1000, 'user')"
    )
    con.execute(
        "insert into steps (run, attempt, step, source, step_s, tok_total, rollouts, upload_id) "
        "select '<i>mine</i>', 1, i, 'x', 90 + i, 1.6e6, 2048, 'u' from range(1, 11) t(i)"
    )
    return View(con, Path("/nowhere"), "1", None, False)


@pytest.fixture(scope="module")
def result(view: View) -> Result:
    return compute(view, GenerationsParams(stack="all"))


@pytest.mark.parametrize("mode", ["light", "dark"])
@pytest.mark.parametrize("metric", list(charts.METRICS))
def test_every_known_value_is_drawn_once(result: Result, metric: str, mode: theme.Mode) -> None:
    fig = charts.dots(result, mode, metric)
    drawn = sorted(float(x) for t in fig.data for x in t.x)
    expected = [*result.tables["reference"][metric].dropna(), *result.tables["runs"][metric].dropna()]
    assert drawn == pytest.approx(sorted(expected))
    assert fig.layout.xaxis.type == "log" and "log scale" in fig.layout.xaxis.title.text
    assert ("USD" in fig.layout.xaxis.title.text) == charts.METRICS[metric].usd
    assert theme.points(fig) <= theme.MAX_POINTS and fig.layout.meta["alt"]


def test_vendor_measurements_are_hollow(result: Result) -> None:
    frame = result.tables["reference"].dropna(subset=["step_time_s"])
    vendor = {r.row_id for r in frame.itertuples() if r.measured_by.startswith("vendor")}
    assert 0 < len(vendor) < len(frame)
    for trace in charts.dots(result, metric="step_time_s").data:
        if trace.marker.symbol == "star":
            continue
        for words, symbol in zip(trace.customdata, trace.marker.symbol, strict=True):
            row_id = next(w.split(" ")[0] for w in words.split("<br>") if w.startswith("P0"))
            assert symbol.endswith("-open") == (row_id in vendor)


def test_own_runs_are_stars_with_whiskers_in_the_row_of_their_model(result: Result) -> None:
    fig = charts.dots(result, metric="step_time_s")
    star = next(t for t in fig.data if t.marker.symbol == "star")
    assert "Llama 3.1 8B" in star.y[0] and "synchronous" in star.y[0]
    assert star.x[0] - star.error_x.arrayminus[0] == pytest.approx(np.quantile(range(91, 101), 0.1))
    assert "<i>" not in star.name + star.customdata[0]


def test_dollar_whiskers_are_the_quotes(result: Result) -> None:
    star = next(t for t in charts.dots(result, metric="usd_per_step").data if t.marker.symbol == "star")
    assert star.error_x.arrayminus[0] == pytest.approx(star.x[0] * (1 - 1.3 / 2))


def test_a_measure_without_a_price_says_so(view: View) -> None:
    result = compute(view, GenerationsParams(stack="verl 2026-08", model="Qwen3 30B-A3B"))
    fig = charts.dots(result, metric="usd_per_step")
    assert not fig.data and "H20" in fig.layout.annotations[0].text


@pytest.mark.parametrize("metric", list(charts.PAIR_METRICS))
def test_ratios_show_every_pair_and_only_means_with_an_interval(result: Result, metric: str) -> None:
    fig = charts.ratios(result, metric=metric)
    table = result.tables["pairs"]
    pairs = table[table["metric"] == metric]
    dots = [x for t in fig.data if t.marker.symbol != "diamond" for x in t.x]
    assert sorted(dots) == pytest.approx(sorted(pairs["ratio_b_over_a"]))
    means = [t for t in fig.data if t.marker.symbol == "diamond"]
    blends = result.tables["blends"]
    told = blends[(blends["metric"] == metric) & blends["high"].notna()]
    assert len(means) == len(told) == 1
    assert means[0].error_x.array[0] == pytest.approx(told["high"].iloc[0] - told["ratio"].iloc[0])
    low, high = fig.layout.xaxis.range
    assert low < min([1, *dots]) and high > max([1, *dots])


def test_no_pairs_is_said(view: View) -> None:
    fig = charts.ratios(compute(view, GenerationsParams(stack="verl V1")), metric="step_time_s")
    assert not fig.data and fig.layout.annotations


def test_families_have_their_own_colour_apart_from_runs() -> None:
    for mode in ("light", "dark"):
        used = [charts.family_colour(f, mode) for f in charts.FAMILIES if f not in ("Ampere", "Mixed")]
        assert len(set(used)) == len(used)


@pytest.mark.parametrize("metric", ["step_time_s", "tokens_per_s_per_gpu"])
def test_every_family_with_a_value_is_drawn(result: Result, metric: str) -> None:
    frame = result.tables["reference"]
    assert set(frame["family"]) <= set(charts.FAMILIES)
    drawn = {t.name for t in charts.dots(result, metric=metric).data if t.marker.symbol != "star"}
    assert drawn == set(frame.loc[frame[metric].notna(), "family"])
