import io
import re
import zipfile
import zlib
from xml.etree import ElementTree

import plotly.graph_objects as go
import pytest
from PIL import Image

from data.errors import UserError
from reports.export import FORMATS, make
from reports.figures import freeze_figure
from reports.freeze import FreezeOptions, freeze
from reports.pictures import find_browser, has_browser
from reports.redact import Redaction
from tests.browser import chromium
from tests.reports.samples import NOW, draw, sample_result

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def browser(monkeypatch):
    """A Chromium, found as the browser tests find theirs."""
    path = chromium.find()
    if path is None:
        pytest.skip(chromium.MESSAGE)
    monkeypatch.setenv("BROWSER_PATH", path)


def members(data):
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_every_chart_is_an_svg_of_its_own(report, browser):
    found = members(make("svg", report).data)
    assert list(found) == ["01-ledger-money.svg", "02-ledger-steps.svg"]
    money, steps = (ElementTree.fromstring(content) for content in found.values())
    assert money.tag == steps.tag == f"{SVG}svg"
    (line,) = [p for p in steps.iter(f"{SVG}path") if p.get("class") == "js-line"]
    assert len(re.findall(r"[ML]", line.get("d"))) == 3
    assert len([p for p in money.iter(f"{SVG}g") if p.get("class") == "point"]) == 1
    text = b"".join(found.values())
    assert b"<script" not in text
    assert b"onerror=" not in text.replace(b"onerror='window", b"").replace(b"onerror=&#39;", b"")


@pytest.mark.full
def test_every_chart_is_a_png_of_twice_its_size(report, browser):
    light, dark = members(make("png", report).data), members(make("png_dark", report).data)
    assert list(light) == list(dark) == ["01-ledger-money.png", "02-ledger-steps.png"]
    for content in light.values():
        assert Image.open(io.BytesIO(content)).size == (1800, 900)


def pdf_text(data):
    """Text of a PDF that Chromium wrote: glyphs through the maps of its fonts, all fonts in one."""
    streams = []
    for found in re.finditer(rb"stream\r?\n(.*?)\r?\nendstream", data, re.DOTALL):
        try:
            streams.append(zlib.decompress(found[1]).decode("latin-1"))
        except zlib.error:
            continue
    shown = "".join(s for s in streams if " Tf" in s)
    maps = []
    for stream in streams:
        if "beginbfchar" not in stream and "beginbfrange" not in stream:
            continue
        glyphs = {}
        for block in re.findall(r"beginbfchar(.*?)endbfchar", stream, re.DOTALL):
            glyphs |= {
                int(a, 16): bytes.fromhex(b).decode("utf-16-be")
                for a, b in re.findall(r"<(\w+)> <(\w+)>", block)
            }
        for block in re.findall(r"beginbfrange(.*?)endbfrange", stream, re.DOTALL):
            for a, b, c in re.findall(r"<(\w+)> <(\w+)> <(\w+)>", block):
                glyphs |= {n: chr(int(c, 16) + n - int(a, 16)) for n in range(int(a, 16), int(b, 16) + 1)}
        maps.append(glyphs)
    hexes = re.findall(r"<([0-9A-Fa-f]+)>", shown)
    return [
        "".join(m.get(int(h[i : i + 4], 16), "") for h in hexes for i in range(0, len(h), 4)) for m in maps
    ]


def draw_hatched(result):
    """A bar with a hatch and one with dots, as projections are drawn, and their keys in a legend."""
    hatch = {"color": "#fff", "line": {"width": 1}, "pattern": {"fgcolor": "#06c", "bgcolor": "#fff"}}
    marks = [{**hatch, "pattern": {**hatch["pattern"], "shape": shape}} for shape in ("/", ".")]
    fig = go.Figure(
        [go.Bar(x=["a"], y=[41_234.5], marker=mark, name=f"m{n}") for n, mark in enumerate(marks)]
    )
    fig.update_layout(meta={"alt": "Hatched bars."})
    return [*draw(result), freeze_figure("hatched", "", fig, fig)]


@pytest.mark.full
def test_the_paper_says_the_report_and_nothing_that_is_hidden(report, browser):
    hidden = FreezeOptions(Redaction(dollars=True, names=True), names=("node-17.corp",))
    kept = make("pdf", freeze([sample_result()], "Weekly", hidden, draw=draw, now=NOW)).data
    shown = make("pdf", freeze([sample_result()], "Weekly", draw=draw_hatched, now=NOW)).data
    assert shown.startswith(b"%PDF") and b"/Subtype /Image" not in shown  # hatches are lines, not bitmaps
    assert len(shown) < 200_000
    assert re.search(rb"/MediaBox \[0 0 59[45]\.\d* 84[12]\.\d*\]", shown)
    assert any("Goodput" in text for text in pdf_text(kept))
    assert any("41.2k" in text for text in pdf_text(shown))
    assert any("node-17" in text for text in pdf_text(shown))
    assert not any(word in text for text in pdf_text(kept) for word in ("41.2k", "41,234", "node-17"))


@pytest.mark.parametrize("key", [key for key, one in FORMATS.items() if one.needs_browser])
def test_without_a_browser_the_remedy_is_said(report, monkeypatch, tmp_path, key):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("BROWSER_PATH", raising=False)
    monkeypatch.delenv("CHROMIUM", raising=False)
    assert not has_browser()
    with pytest.raises(UserError, match="print it from your browser"):
        make(key, report)


def test_a_browser_that_is_not_there_or_breaks_is_named(report, monkeypatch, tmp_path):
    broken = tmp_path / "chromium"
    monkeypatch.setenv("BROWSER_PATH", str(broken))
    with pytest.raises(UserError, match="There is no browser at"):
        find_browser()
    broken.write_text("#!/bin/sh\necho 'no display' >&2\nexit 3\n")
    broken.chmod(0o755)
    with pytest.raises(UserError, match="no display"):
        make("svg", report)
    broken.write_text("#!/bin/sh\nexit 0\n")
    for key, why in {"png": "drew no charts", "pdf": "ended with code 0"}.items():
        with pytest.raises(UserError, match=why):
            make(key, report)


def test_a_report_without_charts_says_so(browser):
    with pytest.raises(UserError, match="no charts"):
        make("png", freeze([sample_result()], "None", draw=lambda _: [], now=NOW))
