"""The figure draws the numbers of the tables, in percent, and says so when there are none."""

import pandas as pd
import pytest

from analysis.backtest import reports_of, tables_of
from analysis.result import Result
from charts.backtest import errors
from data.catalogue import load_catalogue


def test_errors_are_those_of_the_tables():
    result = Result("backtest", {}, "", tables=tables_of(*reports_of(load_catalogue())))
    fig = errors(result, "dark")
    own = next(trace for trace in fig.data if trace.name == "the projection")
    row = result.tables["sets"].set_index("label").loc["Decode, time per token"]
    drawn = dict(zip(own.y, own.x, strict=True))
    assert drawn["Decode, time per token"] == pytest.approx(100 * row["median_abs_error"])
    assert len(drawn) == 4 and fig.layout.meta["alt"]


def test_nothing_is_said_in_words():
    assert not errors(Result("backtest", {}, "", tables={"sets": pd.DataFrame()})).data
