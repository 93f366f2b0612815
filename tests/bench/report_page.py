"""A report page as served, through the app and by the server of links, beside an empty answer of each.

The first request of a process packs the chart library (the server of links does that when it starts) and the
page; each later one looks the link up, counts the opening, and sends what is packed.
"""

import statistics
import sys
import tempfile
import time
from pathlib import Path

import requests

from reports.freeze import save
from reports.html import render
from reports.links import LinkBook
from reports.serve import links_only_app
from tests.browser.server import serve
from tests.reports.live import served
from tests.reports.samples import sample_report

REQUESTS = 30
LIMIT_S = 0.050


def timed(url: str) -> float:
    """Seconds from connecting, as a reader does, to the last byte of an answer; unpacking is not in it."""
    with requests.Session() as session:
        session.trust_env = False
        begin = time.perf_counter()
        with session.get(url, stream=True, timeout=30) as reply:
            reply.raw.read(decode_content=False)
        took = time.perf_counter() - begin
    assert reply.status_code == 200
    return took


def measure(name: str, site: str, path: str) -> bool:
    """Print first and median time of the page and of an empty answer; whether the median is in the limit."""
    base = statistics.median(timed(f"{site}/healthz") for _ in range(REQUESTS))
    first = timed(site + path)
    pages = [timed(site + path) for _ in range(REQUESTS)]
    page, worst = statistics.median(pages), max(pages)
    verdict = "ok" if page <= LIMIT_S else "TOO SLOW"
    print(
        f"report page, {name}: {1000 * page:.1f} ms (worst of {REQUESTS}: {1000 * worst:.1f} ms, first of "
        f"the process {1000 * first:.1f} ms), empty answer {1000 * base:.1f} ms, ratio {page / base:.1f}, "
        f"limit {1000 * LIMIT_S:.0f} ms: {verdict}"
    )
    return verdict == "ok"


def main() -> int:
    """Print the times of both servers; 1 when one is over LIMIT_S."""
    with tempfile.TemporaryDirectory() as name:
        home = Path(name) / "home"
        home.mkdir()
        save(sample_report(), home, render)
        path = LinkBook(home).create(sample_report().hash, "Weekly").path
        with served(links_only_app(home)) as site:
            alone = measure("server of links", site, path)
        with serve(home) as server:
            inside = measure("inside the app", server.url, path)
    return 0 if alone and inside else 1


if __name__ == "__main__":
    sys.exit(main())
