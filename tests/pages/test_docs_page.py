"""The documentation inside the app."""

import re
from collections.abc import Callable
from urllib.parse import unquote

import pytest
from streamlit.testing.v1 import AppTest

from analysis.checks import CHECKS
from data.store import Store
from pages.parts.state import ROOT

DOCS = ROOT / "docs"


def test_every_page_of_the_docs_opens_and_its_links_lead_to_topics(app: Callable[..., AppTest]) -> None:
    titles = {path.stem: path.read_text().partition("\n")[0].lstrip("# ") for path in DOCS.glob("*.md")}
    assert len(set(titles.values())) == len(titles)
    at = app("docs.py")
    stems = {path.stem for path in DOCS.glob("*.md")}
    assert not at.exception
    assert set(at.selectbox(key="topic").options) and len(at.selectbox(key="topic").options) == len(stems)
    for stem in sorted(stems):
        at.selectbox(key="topic").select(stem).run()
        assert not at.exception
        assert not at.warning
        assert at.selectbox(key="topic").value == stem
        text = at.markdown[-1].value
        assert not re.search(r"\]\((?!https?:)[^)]*\.md", text), stem
        assert not re.search(r"^<!--", text, re.MULTILINE), stem
        assert {unquote(t) for t in re.findall(r"/docs\?topic=([^)]*)\)", text)} <= set(titles.values())


def test_an_address_opens_its_topic(app: Callable[..., AppTest]) -> None:
    at = app("docs.py", topic="Checks")
    assert not at.exception and not at.warning
    assert at.selectbox(key="topic").value == "checks"


def test_a_notice_of_a_check_links_to_its_page() -> None:
    def script() -> None:
        from analysis.result import Notice, Result
        from pages.parts.notices import list_warnings

        failed = Notice("throughput_against_tokens", "They differ.", "h100-sync")
        list_warnings(Result("rollouts", {}, "", warnings=(failed, Notice("other", "Another thing."))))

    at = AppTest.from_function(script).run()
    assert not at.exception
    first, other = at.markdown[0].value.split("\n")
    assert "[Throughput identity](/docs?topic=Checks&check=throughput_against_tokens)" in first
    assert "/docs" not in other


@pytest.mark.full
def test_a_failed_check_links_to_its_page(app: Callable[..., AppTest], loaded: Store) -> None:
    with loaded.transaction() as con:
        con.execute("UPDATE steps SET throughput = throughput * 3 WHERE run = 'h100-sync' AND step = 5")
    at = app("rollouts.py", runs=["h100-sync"])
    assert not at.exception
    assert any(
        "[Throughput identity](/docs?topic=Checks&check=throughput_against_tokens)" in m.value
        for m in at.markdown
    )


def test_the_section_of_a_check_stands_first(app: Callable[..., AppTest]) -> None:
    linked = list(CHECKS)[-1]
    at = app("docs.py", topic="Checks", check=linked)
    assert at.selectbox(key="check").value == linked
    for code in reversed(CHECKS):
        at.selectbox(key="check").select(code).run()
        assert not at.exception and not at.warning, code
        first, whole = (m.value for m in at.markdown[-2:])
        assert first.startswith("### ") and f"`{code}`" in first and first.count("###") == 1
        assert len(first) > 60 and first in whole
    at = app("docs.py", topic="Checks", check="nonsense")
    assert "nonsense" in at.warning[0].value
