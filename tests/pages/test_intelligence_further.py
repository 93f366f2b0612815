"""Going further on Intelligence per dollar: one question at a time, its levers in the address."""

import json
from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from data.store import Store

App = Callable[..., AppTest]


def tables(at: AppTest) -> set[str]:
    return {json.loads(c.proto.spec)["layout"]["meta"]["table"] for c in at.get("plotly_chart")}


def said(at: AppTest) -> str:
    return " ".join(m.value for m in at.markdown).replace("\\", "").replace("\xa0", " ")


def test_the_next_point_comes_first_with_its_levers(app: App, example: Store) -> None:
    at = app("intelligence.py", lc_target="75", lc_worth="100", lc_run="h100-sync", in_x="GPU-hours")
    assert not at.exception and not at.warning
    assert {"band", "marginal"} <= tables(at)
    assert "h100-sync on MATH-500: the next point costs $" in said(at) and "75 % costs $" in said(at)
    assert "At $100 a point: " in said(at)
    fitted = next(s for c in at.get("plotly_chart") if "fitted" in (s := c.proto.spec))
    assert "GPU-h" in json.loads(fitted)["layout"]["xaxis"]["title"]["text"]


@pytest.mark.parametrize(
    ("view", "query", "table", "words"),
    [
        (
            "Build and serve",
            {"sv_c0": "1.2", "sv_c1": "1.2", "sv_build": "58000"},
            "lifetime",
            "pays back after",
        ),
        ("Hold a score", {"hd_fall": "2", "hd_law": "Linear"}, "saw", "a cycle like"),
        (
            "Worked example",
            {"nm_gpu_h": "5.5", "nm_tasks": "GDPVal", "nm_n_gdpval": "220"},
            "gains",
            "1.73 points per $10k on TauBench Telecom",
        ),
    ],
)
def test_each_question_reads_its_levers_from_the_address(
    app: App, example: Store, view: str, query: dict[str, str], table: str, words: str
) -> None:
    at = app("intelligence.py", in_more=view, **query)
    assert not at.exception and not at.warning
    assert table in tables(at) and words in said(at)
    if "nm_n_gdpval" in query:  # a number that was typed is a number that the table does not lack any more
        assert "How many tasks BrowseComp" in said(at)
