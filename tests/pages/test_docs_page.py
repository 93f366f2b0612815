"""The documentation inside the app."""

import re
from collections.abc import Callable

from streamlit.testing.v1 import AppTest

from data.store import Store
from pages.parts.state import ROOT


def test_every_page_of_the_docs_opens_and_its_links_lead_to_topics(app: Callable[..., AppTest]) -> None:
    at = app()
    stems = {path.stem for path in (ROOT / "docs").glob("*.md")}
    at.switch_page("docs.py").run()
    assert not at.exception
    assert set(at.selectbox(key="topic").options) and len(at.selectbox(key="topic").options) == len(stems)
    for stem in sorted(stems):
        at.query_params["topic"] = stem
        at.switch_page("docs.py").run()
        assert not at.exception
        text = at.markdown[-1].value
        assert not re.search(r"\]\((?!https?:)[^)]*\.md", text), stem
        assert set(re.findall(r"/docs\?topic=(\w[\w-]*)", text)) <= stems


def test_a_failed_check_links_to_its_page(app: Callable[..., AppTest], loaded: Store) -> None:
    with loaded.transaction() as con:
        con.execute("UPDATE steps SET throughput = throughput * 3 WHERE run = 'h100-sync' AND step = 5")
    at = app(runs=["h100-sync"])
    at.switch_page("rollouts.py").run()
    assert not at.exception
    assert any("[Throughput identity](/docs?topic=checks)" in m.value for m in at.markdown)
