"""Platforms side by side: every number keeps its source, and what is not published is said."""

import json

import pandas as pd
import pytest

from analysis import run
from analysis.platforms import DEFAULT, MOST, PlatformsParams, compute
from data.catalogue import load_catalogue
from data.errors import UserError
from tests.analysis.conftest import Home


@pytest.fixture
def full(empty_home: Home) -> Home:
    empty_home.book = load_catalogue()
    return empty_home


def table(home: Home, name: str = "comparison", **params: object) -> pd.DataFrame:
    return compute(home.view(), PlatformsParams.model_validate(params)).tables[name]


def cell(frame: pd.DataFrame, platform: str, field: str) -> pd.Series:
    rows = frame[(frame["platform_id"] == platform) & (frame["field"] == field)]
    assert len(rows) == 1
    return rows.iloc[0]


def test_every_number_carries_unit_status_and_source(full: Home) -> None:
    frame = table(full)
    known = frame[frame["value"].notna()]
    assert len(known) > 50
    for column in ("unit", "status", "badge", "source"):
        assert known[column].str.len().gt(0).all(), column
    gone = frame[frame["value"].isna() & (frame["field"] != "release")]
    assert len(gone) and gone["text"].str.len().gt(0).all() and gone["status"].eq("unsourced").all()


def test_values_are_those_of_the_catalogue(full: Home) -> None:
    frame = table(full)
    assert cell(frame, "h100-sxm", "bf16_dense_tflops")["value"] == 989
    assert cell(frame, "vera-rubin-nvl72", "price:reserved_3y.neocloud")["value"] == 8.5
    assert cell(frame, "h100-sxm", "hbm_usable_bytes")["text"] == "80"
    assert cell(frame, "h100-sxm", "fp4_dense_tflops")["text"] == "not supported"
    assert cell(frame, "h100-sxm", "release")["text"] == "2022-03"


def test_bars_are_scaled_to_the_best(full: Home) -> None:
    frame = table(full).dropna(subset=["best_frac"])
    assert frame.groupby("field")["best_frac"].max().eq(1.0).all()
    h100, rubin = (cell(frame, p, "hbm_tb_s") for p in ("h100-sxm", "vera-rubin-nvl72"))
    assert h100["best_frac"] == pytest.approx(h100["value"] / rubin["value"])


def test_a_missing_price_is_said_and_not_replaced(full: Home) -> None:
    result = compute(full.view(), PlatformsParams(price="on_demand.neocloud"))
    figure = result.figure("rent:vera-rubin-nvl72")
    assert figure.value is None and figure.missing and "3-year reservation · neocloud" in figure.missing
    assert [w.where for w in result.warnings if w.code == "price_missing"] == [
        "gb300-nvl72",
        "vera-rubin-nvl72",
        "mi355x",
    ]
    assert "No such price is published for GB300 NVL72, Vera Rubin NVL72 and MI355X" in result.answer
    assert (
        cell(result.tables["comparison"], "mi355x", "price:on_demand.neocloud")["text"]
        == "no such price published"
    )


def test_the_headline_carries_the_range_of_quotes(full: Home) -> None:
    figure = compute(full.view(), PlatformsParams()).figure("rent:h100-sxm")
    assert (figure.value, figure.low, figure.high, figure.n, figure.interval) == (
        2.0,
        1.3,
        2.0,
        2,
        "quote_range",
    )
    assert figure.unit == "usd_per_gpu_h"


def test_chip_hours_are_named(full: Home) -> None:
    result = compute(
        full.view(), PlatformsParams(compare=("tpu7x", "h100-sxm"), price="on_demand.hyperscaler")
    )
    assert result.figure("rent:tpu7x").unit == "usd_per_chip_h"
    assert "chip_hour" in {w.code for w in result.warnings}


def test_cpus_get_their_own_rows(full: Home) -> None:
    frame = table(full, compare=["vera", "h100-sxm"])
    assert cell(frame, "vera", "cpu_cores")["value"] == 88
    assert cell(frame, "vera", "bf16_dense_tflops")["text"] == "does not apply"
    assert "cpu_cores" not in set(table(full)["field"])


def test_the_answer_names_prices_and_ratios(full: Home) -> None:
    answer = compute(full.view(), PlatformsParams(compare=("h100-sxm", "vera-rubin-nvl72"))).answer
    assert answer.startswith("At 3-year reservation · neocloud, H100 SXM rents for $2.00 a GPU-hour")
    assert "$8.50 (4.25 times)" in answer and "4.04 times the dense BF16 rate" in answer


def test_prices_keep_kind_tier_and_date(full: Home) -> None:
    frame = table(full, "prices")
    assert set(frame["platform_id"]) <= set(DEFAULT)
    assert frame["value"].gt(0).all() and frame["kind"].ne("purchase_gpu").all()
    dated = frame[frame["as_of"] != ""]
    assert dated["day"].notna().all() and frame.loc[frame["as_of"] == "", "day"].isna().all()
    assert {str(d)[:4] for d in dated["day"]} == {d[:4] for d in dated["as_of"]}


@pytest.mark.parametrize(
    "bad", [["h1000"], ["api-kimi-k2"], ["h100-sxm"] * 2, list(load_catalogue()._platforms)[: MOST + 1]]
)
def test_bad_comparisons_are_refused(full: Home, bad: list[str]) -> None:
    with pytest.raises(UserError) as info:
        run("platforms", full.view(), {"compare": bad})
    assert info.value.remedy


def test_the_result_is_json_and_repeats(full: Home) -> None:
    one, two = (run("platforms", full.view(), {}).to_json() for _ in range(2))
    assert one == two and json.loads(one)["analysis"] == "platforms"
