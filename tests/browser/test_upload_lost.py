"""A connection that breaks during an upload leaves a row that says so: the file does not just vanish."""

import json
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "pages/parts/uploader.js"
PAGE = """<div id="root"><label class="zone"><input type="file" multiple><span class="hint"></span></label>
<div class="list"></div></div><script type="module">
import start from "/uploader.js"
window.results = []
const say = (key, value) => (window[key] = value)
start({data: DATA, parentElement: document.getElementById("root"), setStateValue: say, setTriggerValue: say})
window.ready = true
</script>"""
DATA = {"token": "t", "url": "/up", "choices": {}, "retry": [], "hint": ""}


@pytest.fixture
def page(browser: Any) -> Any:
    context = browser.new_context()
    opened = context.new_page()
    html = PAGE.replace("DATA", json.dumps(DATA))
    opened.route("http://zone.test/", lambda route: route.fulfill(body=html, content_type="text/html"))
    opened.route(
        "http://zone.test/uploader.js",
        lambda route: route.fulfill(body=SCRIPT.read_text(), content_type="text/javascript"),
    )
    yield opened
    context.close()


def drop(page: Any, *names: str) -> None:
    page.goto("http://zone.test/")
    page.wait_for_function("window.ready === true")
    files = [{"name": n, "mimeType": "text/plain", "buffer": b"a,b\n1,2\n"} for n in names]
    page.set_input_files("input", files)


def test_a_broken_connection_keeps_a_row_for_each_file(page: Any) -> None:
    page.route("**/up?*", lambda route: route.abort("connectionreset"))
    drop(page, "one.log", "two.log", "three.log")
    page.wait_for_function("document.querySelectorAll('.row.lost').length === 3")
    said = page.locator(".row .what").all_inner_texts()
    for name, text in zip(("one.log", "two.log", "three.log"), said, strict=True):
        assert text.startswith("connection lost") and name in text and "drop it again" in text
    assert page.evaluate("window.results") == []
    page.get_by_role("button", name="Close").first.click()
    assert page.locator(".row").count() == 2


def test_an_answer_takes_the_row_away(page: Any) -> None:
    page.route("**/up?*", lambda route: route.fulfill(status=200, json={"upload_id": "x"}))
    drop(page, "one.log")
    page.wait_for_function("window.results.length === 1")
    assert page.locator(".row").count() == 0
    assert page.evaluate("window.results[0].receipt.upload_id") == "x"
