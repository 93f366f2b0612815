"""The back-test page: the answer with its chart and tables, also in an empty home."""

from collections.abc import Callable

from streamlit.testing.v1 import AppTest


def test_the_page_says_how_wrong(app: Callable[..., AppTest]) -> None:
    at = app().switch_page("backtest.py").run()
    assert not at.exception
    assert any("never seen" in m.value for m in at.markdown)
    assert len(at.get("plotly_chart")) == 1 and len(at.dataframe) == 5
