"""Reports keep: those of schema 1 have their page, and nothing that changes later changes a link's bytes."""

import re
from pathlib import Path

import pytest

from reports.freeze import read_report
from reports.html import plotly_js, render

OLD = Path(__file__).parent / "schema_1"


@pytest.mark.parametrize("name", ["open", "hidden"])
def test_a_report_of_schema_1_opens_and_has_the_page_of_its_time(name: str) -> None:
    report = read_report(OLD / f"{name}.json")
    page = render(report).replace(plotly_js(), "PLOTLY")
    page = re.sub(r'(content=")[^"]+(">\n<meta name="viewport)', r"\1POLICY\2", page)
    assert page == (OLD / f"{name}.html").read_text(encoding="utf-8")
