"""Pictures and paper of a frozen report, made by one headless Chromium on this machine, without network.

One run of Chromium that dumps its page makes all pictures of a report: the browser that prints the PDF does
it too, with the same flags, policy and messages, and no other package is needed.
"""

import base64
import html
import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal
from urllib.parse import unquote_to_bytes

from data.errors import UserError
from reports.canonical import script_json
from reports.freeze import FrozenReport
from reports.html import EXPIRY_MARK, content_policy, plotly_js, render
from reports.tables import section_name, unique_stem

Picture = Literal["png", "svg"]
BROWSERS = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "microsoft-edge",
)
WIDTH_PX, HEIGHT_PX, SCALE = 900, 450, 2
LONGEST_S = 120.0
_PAPER_PX = 713
"""A4 less its margins, and the page's own padding, which paper does not have."""
_VIRTUAL_MS = 60_000
_FLAGS = (
    "--headless",
    "--disable-gpu",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-extensions",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--proxy-server=127.0.0.1:9",
    f"--virtual-time-budget={_VIRTUAL_MS}",
)
_DRAW = """(async function () {
  "use strict";
  var figures = JSON.parse(document.getElementById("figures").textContent), made = [];
  for (var figure of figures) {
    var height = figure.layout.height || %(height)d, what = { data: figure.data, layout: figure.layout };
    var how = { format: "%(format)s", width: %(width)d, height: height, scale: %(scale)d };
    made.push(await Plotly.toImage(what, how));
  }
  document.body.textContent = JSON.stringify(made);
  document.title = "made";
})();"""
_BODY = re.compile(r"<body>(.*?)</body>", re.DOTALL)


def find_browser() -> str:
    """Return the path of a Chromium: BROWSER_PATH, CHROMIUM, or one on PATH; UserError without one."""
    for name in ("BROWSER_PATH", "CHROMIUM"):
        named = os.environ.get(name)
        if named:
            if not Path(named).is_file():
                raise UserError(f"There is no browser at {named}", name, "Correct the path, or unset it.")
            return named
    for name in BROWSERS:
        found = shutil.which(name)
        if found:
            return found
    raise UserError(
        "No Chromium was found on the machine that runs this app",
        "PNG, SVG, PDF",
        "Download the HTML report and print it from your browser, or save a chart with the camera above it. "
        "Or install Chromium there, or set BROWSER_PATH to one.",
    )


def has_browser() -> bool:
    """Whether pictures and paper can be made on this machine."""
    try:
        find_browser()
    except UserError:
        return False
    return True


def chart_files(report: FrozenReport, kind: Picture, *, dark: bool = False) -> dict[str, bytes]:
    """Return every chart of a report as `<number>-<name>.<kind>` in page order, with light or dark paper.

    UserError for a report without charts and where no browser is found or it draws nothing.
    """
    names: list[str] = []
    specs: list[Mapping[str, Any]] = []
    used: set[str] = set()
    for section in report.sections:
        for figure in section["figures"]:
            name = f"{len(names) + 1:02d}-{section_name(section)}-{figure['name']}"
            names.append(unique_stem(name, used))
            specs.append(figure["dark" if dark else "light"])
    if not specs:
        raise UserError(
            "This report has no charts", report.title, "Download its tables, or freeze a view with charts."
        )
    return {f"{name}.{kind}": made for name, made in zip(names, draw(specs, kind), strict=True)}


def draw(specs: Sequence[Mapping[str, Any]], kind: Picture) -> list[bytes]:
    """Return Plotly figures ({data, layout}) as pictures 900 px wide, PNG at twice that, by one browser."""
    script = _DRAW % {
        "format": kind,
        "width": WIDTH_PX,
        "height": HEIGHT_PX,
        "scale": SCALE if kind == "png" else 1,
    }
    library = plotly_js()
    page = (
        '<!doctype html><html><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" '
        f'content="{html.escape(content_policy([library, script]))}"><title>at work</title></head><body>'
        f'<script type="application/json" id="figures">{script_json(list(specs))}</script>'
        f"<script>{library}</script><script>{script}</script></body></html>"
    )
    dumped = _run(page, ["--dump-dom"], "page.html").decode("utf-8", "replace")
    found = _BODY.search(dumped)
    if "<title>made</title>" not in dumped or found is None:
        raise _failed("it drew no charts")
    made: list[str] = json.loads(html.unescape(found.group(1)))
    return [_picture(uri) for uri in made]


def pdf(report: FrozenReport) -> bytes:
    """Return the report's page as A4 paper, printed from the HTML file that a link serves."""
    page = render(report).replace(EXPIRY_MARK, "", 1)
    made = _run(
        page, ["--no-pdf-header-footer", f"--window-size={_PAPER_PX},1000"], "report.html", "report.pdf"
    )
    if not made.startswith(b"%PDF"):
        raise _failed("it printed nothing")
    return made


def _run(page: str, flags: Sequence[str], name: str, printed: str = "") -> bytes:
    """Let Chromium load a page; returns the file it prints, else what it says."""
    browser = find_browser()
    with tempfile.TemporaryDirectory(prefix="pictures-", ignore_cleanup_errors=True) as folder:
        place = Path(folder)
        source, out = place / name, place / (printed or "out")
        source.write_text(page, encoding="utf-8")
        more = [*flags, *([f"--print-to-pdf={out}"] if printed else [])]
        command = [
            browser,
            *_FLAGS,
            *_as_root(),
            f"--user-data-dir={place / 'profile'}",
            *more,
            source.as_uri(),
        ]
        try:
            done = subprocess.run(command, capture_output=True, timeout=LONGEST_S, check=False)
        except subprocess.TimeoutExpired as error:
            raise _failed(f"it took more than {LONGEST_S:.0f} s") from error
        except OSError as error:
            raise _failed(str(error)) from error
        if done.returncode or (printed and not out.is_file()):
            said = done.stderr.decode("utf-8", "replace").strip().splitlines()
            raise _failed(said[-1] if said else f"it ended with code {done.returncode}")
        return out.read_bytes() if printed else done.stdout


def _as_root() -> list[str]:
    """Chromium refuses its sandbox to root; what it loads here is our own page with a policy."""
    return ["--no-sandbox"] if os.name == "posix" and os.geteuid() == 0 else []


def _picture(uri: str) -> bytes:
    head, _, content = uri.partition(",")
    return base64.b64decode(content) if head.endswith(";base64") else unquote_to_bytes(content)


def _failed(why: str) -> UserError:
    return UserError(
        f"The browser made no picture: {why}",
        find_browser(),
        "Try again; or download the HTML report and print it from your browser.",
    )
