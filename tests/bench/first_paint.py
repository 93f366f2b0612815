"""First useful paint of the Overview with the bundled example, beside a bare Streamlit page.

The clock runs inside a fresh browser context, from the navigation to the frame that shows the answer line
with its dollars; the server is warm: one visit before, then time for what it does while nobody visits. The
bare page holds a heading and one line of text. A driver outside of the page is told later, as the scripts of
tables and charts keep the browser from answering it when it has painted: its figures are printed beside.
"""

import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

from tests.browser import chromium
from tests.browser.server import free_port, serve

VISITS = 7
LIMIT_S = 2.0
SETTLE_S = 20
ANSWER = "[class*=st-key-answer_ledger]"
TEXT = "[data-testid=stMarkdown]"
CHART = ".js-plotly-plot .main-svg"
BARE = "import streamlit as st\nst.title('Bare')\nst.markdown('**ready**')\n"


@contextmanager
def bare_page(folder: Path) -> Iterator[str]:
    """A Streamlit server with the smallest page there is; yields its address."""
    script, port = folder / "bare.py", free_port()
    script.write_text(BARE)
    options = ["--server.address", "127.0.0.1", "--server.port", str(port), "--server.headless", "true"]
    process = subprocess.Popen(
        [sys.executable, "-m", "streamlit", "run", str(script), *options],
        cwd=folder,
        env=dict(os.environ),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        for _ in range(200):
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                time.sleep(0.1)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(10)


PAINTED = """(selector => {
  const look = new MutationObserver(() => {
    const place = document.querySelector(selector)
    if (!place || !place.innerText.trim()) return
    look.disconnect()
    requestAnimationFrame(() => {
      const after = new MessageChannel()
      after.port1.onmessage = () => { window.paintedAt = performance.now() }
      after.port2.postMessage(0)
    })
  })
  look.observe(document, { subtree: true, childList: true, characterData: true })
})"""


def painted(browser: Browser, url: str, selector: str) -> float:
    """Seconds from navigation to the frame that shows text in `selector`, by the clock of a new browser."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.set_default_timeout(90_000)
    page.add_init_script(f"{PAINTED}({json.dumps(selector)})")
    page.goto(url, wait_until="commit")
    page.wait_for_function("window.paintedAt")
    seconds = float(page.evaluate("window.paintedAt")) / 1000
    context.close()
    return seconds


def visit(browser: Browser, url: str, selectors: list[str], again: bool = False) -> list[float]:
    """Seconds from navigation until each selector is visible, in a context of its own.

    `again`: the same of a second navigation in that context, when the browser holds the static files.
    """
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.set_default_timeout(90_000)
    seconds = timed(page, url, selectors)
    if again:
        seconds += timed(page, url, selectors)
    context.close()
    return seconds


def timed(page: Page, url: str, selectors: list[str]) -> list[float]:
    """Seconds from navigation until each selector is visible."""
    begin = time.perf_counter()
    page.goto(url, wait_until="commit")
    seconds = []
    for selector in selectors:
        page.wait_for_selector(selector)
        seconds.append(time.perf_counter() - begin)
    return seconds


def main() -> int:
    """Print the medians; 1 when the frame with the answer takes longer than LIMIT_S."""
    path = chromium.find()
    if path is None:
        print(chromium.MESSAGE)
        return 1
    with tempfile.TemporaryDirectory() as name, sync_playwright() as tool:
        browser = tool.chromium.launch(executable_path=path, args=chromium.ARGS)
        begin = time.perf_counter()
        with serve(Path(name) / "home") as server, bare_page(Path(name)) as bare:
            start_s = time.perf_counter() - begin
            cold = visit(browser, server.url, [ANSWER, CHART])
            visit(browser, bare, ["text=ready"])
            time.sleep(SETTLE_S)
            ours, plain, frames = [], [], []
            for _ in range(VISITS):
                plain.append(visit(browser, bare, ["text=ready"])[0])
                ours.append(visit(browser, server.url, [ANSWER, CHART], again=True))
                frames.append((painted(browser, server.url, ANSWER), painted(browser, bare, TEXT)))
        browser.close()
    answer, chart, later, later_chart = (statistics.median(column) for column in zip(*ours, strict=True))
    base = statistics.median(plain)
    shown, base_shown = (statistics.median(column) for column in zip(*frames, strict=True))
    verdict = "ok" if shown <= LIMIT_S else "TOO SLOW"
    print(
        f"first paint, new browser: frame with the answer {shown:.2f} s, bare Streamlit page "
        f"{base_shown:.2f} s, ratio {shown / base_shown:.2f}, limit {LIMIT_S} s: {verdict}; by a driver "
        f"outside of the page: answer {answer:.2f} s, bare {base:.2f} s, first chart {chart:.2f} s "
        f"(very first visit {cold[0]:.2f} s and "
        f"{cold[1]:.2f} s); known browser {later:.2f} s and {later_chart:.2f} s; "
        f"start on an empty home with the example {start_s:.1f} s"
    )
    return 0 if verdict == "ok" else 1


if __name__ == "__main__":
    sys.exit(main())
