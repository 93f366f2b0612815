"""The back-test page: the answer with its chart and tables, also in an empty home."""

from collections.abc import Callable

from streamlit.testing.v1 import AppTest


def test_the_page_says_how_wrong(app: Callable[..., AppTest]) -> None:
    at = app("backtest.py")
    assert not at.exception
    assert any("never seen" in m.value for m in at.markdown)
    assert len(at.get("plotly_chart")) == 1 and len(at.dataframe) == 6
    classes = next(frame.value for frame in at.dataframe if "class_label" in frame.value.columns)
    assert set(classes["class_label"]) == {"dense", "mixture of experts"}
