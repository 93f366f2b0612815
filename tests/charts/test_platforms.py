"""Bars and dots of platforms: complete, scaled, labelled, and never two kinds of price in one chart."""

import re
from pathlib import Path

import duckdb
import pandas as pd
import pytest

from analysis.platforms import PlatformsParams, compute
from analysis.result import Result
from charts import platforms as charts
from charts import theme
from data.tables import ddl
from data.view import View


@pytest.fixture(scope="module")
def view() -> View:
    con = duckdb.connect()
    con.execute(ddl())
    return View(con, Path("/nowhere"), "1", None, False)


@pytest.fixture(scope="module")
def result(view: View) -> Result:
    return compute(view, PlatformsParams())


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_one_trace_a_platform_and_each_bar_named(result: Result, mode: theme.Mode) -> None:
    fig = charts.bars(result, mode)
    assert [t.name for t in fig.data] == list(dict.fromkeys(result.tables["comparison"]["platform"]))
    for trace in fig.data:
        assert len(trace.y) == len(charts.DRAWN) and max(trace.x) <= 1
        assert all(trace.text) and all("<br>" in words for words in trace.customdata)
    assert fig.layout.meta["alt"] and fig.layout.meta["table"] == "comparison"


def test_bars_show_the_values_of_the_table(result: Result) -> None:
    fig = charts.bars(result, fields=["hbm_tb_s"])
    frame = result.tables["comparison"]
    rows = frame[frame["field"] == "hbm_tb_s"].set_index("platform")
    assert {trace.name for trace in fig.data} == set(rows.dropna(subset=["value"]).index)
    for trace in fig.data:
        assert trace.x[0] == pytest.approx(rows.loc[trace.name, "value"] / rows["value"].max())
        assert trace.text[0] == f"{rows.loc[trace.name, 'text']} TB/s"


def test_an_unpublished_rate_is_words_on_an_empty_bar(result: Result) -> None:
    fig = charts.bars(result, fields=["fp4_dense_tflops"])
    h100 = next(t for t in fig.data if t.name == "H100 SXM")
    assert h100.x[0] == 0 and h100.text[0] == "not supported"


def test_an_analyst_figure_looks_different(result: Result) -> None:
    fig = charts.bars(result, fields=["all_in_kw_per_gpu", "bf16_dense_tflops"])
    assert tuple(fig.data[0].marker.pattern.shape) == (".", "")


@pytest.mark.parametrize("kind", ["reserved_3y", "on_demand", "spot"])
def test_dots_hold_one_kind_only(result: Result, kind: str) -> None:
    fig = charts.price_dots(result, kind=kind)
    frame = result.tables["prices"]
    dated = frame[(frame["kind"] == kind) & frame["day"].notna()]
    drawn = [y for t in fig.data for y in t.y if y is not None]
    assert sorted(drawn) == pytest.approx(sorted(dated["value"]))
    assert charts.KIND_WORDS[kind] in fig.layout.title.text and "USD per GPU-hour" in fig.layout.title.text


def test_undated_quotes_are_counted_in_words(result: Result) -> None:
    frame = result.tables["prices"]
    lost = int((frame["kind"].eq("on_demand") & frame["day"].isna()).sum())
    title = charts.price_dots(result, kind="on_demand").layout.title.text
    words = " ".join(re.sub(r"<[^>]+>", " ", title).split())
    assert lost and f"{lost} undated quotes" in words


def test_status_decides_the_shape(result: Result) -> None:
    fig = charts.price_dots(result, kind="on_demand")
    frame = result.tables["prices"]
    dated = frame[(frame["kind"] == "on_demand") & frame["day"].notna()]
    drawn = [trace for trace in fig.data if trace.name in set(dated["platform"])]
    assert drawn
    for trace in drawn:
        rows = dated[dated["platform"] == trace.name]
        assert list(trace.marker.symbol) == [charts.SYMBOLS[s] for s in rows["status"]]


def test_nothing_to_draw_is_said(view: View) -> None:
    result = compute(view, PlatformsParams(compare=("trainium3",)))
    fig = charts.price_dots(result)
    assert not fig.data and "No dated" in fig.layout.annotations[0].text.replace("<br>", " ")


def test_names_cannot_inject_markup(result: Result) -> None:
    frame = result.tables["prices"].copy()
    frame["provider"] = "<b>x</b>"
    hostile = Result("platforms", {}, "", tables={**result.tables, "prices": frame})
    fig = charts.price_dots(hostile, kind="on_demand")
    shown = [words for trace in fig.data for words in pd.Series(trace.customdata or [])]
    assert shown and all("x" in words and "<b>x" not in words for words in shown)
