"""The comparison table and the search of the catalogue page."""

import re
from html.parser import HTMLParser
from pathlib import Path

import duckdb
import pandas as pd
import pytest

from analysis.platforms import PlatformsParams, compute
from data.tables import ddl
from data.view import View
from pages.parts.search import chosen_first, search_rows
from pages.parts.spec_table import comparison_html


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    con = duckdb.connect()
    con.execute(ddl())
    return compute(View(con, Path("/nowhere"), "1", None, False), PlatformsParams()).tables["comparison"]


class Counter(HTMLParser):
    """Counts tags and notes every badge's text for a reader."""

    def __init__(self) -> None:
        super().__init__()
        self.count: dict[str, int] = {}
        self.titles: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.count[tag] = self.count.get(tag, 0) + 1
        if tag == "summary":
            self.titles.append(dict(attrs)["title"] or "")


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_every_published_number_has_a_badge_with_its_source(frame: pd.DataFrame, mode: str) -> None:
    seen = Counter()
    seen.feed(comparison_html(frame, mode))
    known = frame[~frame["status"].isin(["unsourced", ""])]
    assert len(seen.titles) == len(known) and seen.count["td"] == len(frame)
    for source in known["source"].unique():
        assert any(source in title for title in seen.titles)


def test_what_is_not_published_is_said_in_words(frame: pd.DataFrame) -> None:
    text = re.sub(r"<[^>]+>", " ", comparison_html(frame, "light"))
    assert "not published" in text and "no such price published" in text and "not supported" in text
    assert "nan" not in text.casefold().split() and "None" not in text.split()


def test_cells_cannot_inject_markup(frame: pd.DataFrame) -> None:
    hostile = frame.assign(source='"><script>x</script>', text="<img src=x>", platform="<b>P</b>")
    hostile = hostile.drop_duplicates("field")
    html = comparison_html(hostile, "light")
    assert "<script" not in html and "<img" not in html and "<b>P" not in html


def test_search_needs_every_word_somewhere() -> None:
    rows = pd.DataFrame(
        {"a": ["Rubin", "rubin", "H100"], "b": ["NVFP4 training", None, "nvfp4"], "n": [1.5, 2, 3]}
    )
    assert list(search_rows(rows, "RUBIN nvfp4").index) == [0]
    assert list(search_rows(rows, "nvfp4").index) == [0, 2]
    assert list(search_rows(rows, "1.5").index) == [0]
    assert len(search_rows(rows, "  ")) == 3 and search_rows(rows, "a.*").empty


def test_chosen_rows_come_first_and_the_rest_keeps_its_order() -> None:
    rows = pd.DataFrame({"platform_id": ["a", "b", "c", "b", "d"]})
    assert list(chosen_first(rows, ["c", "b"]).index) == [2, 1, 3, 0, 4]
