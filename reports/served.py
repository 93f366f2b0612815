"""What an open link gives: its page, its preview card, and the files that its author allows."""

import re
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from pathlib import Path

from reports import card
from reports.drawn import drawn_rows
from reports.export import file_stem, table_csv, tables_zip
from reports.freeze import FrozenReport, ReportError, folder, load, read_page
from reports.html import policy_of, render
from reports.link_note import with_note
from reports.links import Link
from reports.live_links import sentence
from reports.page_bytes import Page, Shelf, pack

CARD = "card.png"
TABLES = "tables.zip"
CHART = re.compile(r"chart-([1-9]\d{0,3})\.csv")
Live = Callable[[Link], FrozenReport]
_SHELF = Shelf()
_CHART_MARK = 'data-figure="'


@dataclass(frozen=True)
class File:
    """A file of a report as it is sent."""

    name: str
    mime: str
    body: bytes


def is_there(home: Path, link: Link) -> bool:
    """Return whether the page of a link can be had, without reading it; a live one is made when asked."""
    return link.kind == "live" or _stamp(home, link) is not None


def allows(link: Link, what: str) -> bool:
    """Return whether a link gives this: '' is its page, which it always gives."""
    return not what or (link.exportable and (what == TABLES or CHART.fullmatch(what) is not None))


def page_of(home: Path, link: Link, token: str, site: str | None, live: Live) -> Page | None:
    """Return the page, None when it is lost or was changed; LiveError when a live one cannot be computed.

    `site` is scheme and host as the reader sees them, for the picture of the preview; None leaves it out.
    """
    if link.kind == "live":
        report = live(link)
        return _ready(render(report, live=sentence(report)), link, token, site)
    stamp = _stamp(home, link)
    if stamp is None:
        return None
    key = (stamp, link.token_digest, link.expires_at, link.exportable, link.passphrase, site)
    page = _SHELF.get(key)
    if page is None:
        text = read_page(home, link.report_hash)
        if text is None:
            return None
        page = _ready(text, link, token, site)
        _SHELF.put(key, page)
    return page


def card_of(home: Path, link: Link) -> bytes | None:
    """Return the preview picture; None when there is none, or a passphrase keeps it from strangers."""
    return None if link.passphrase else card.read_card(home, link.card)


def file_of(home: Path, link: Link, what: str, live: Live) -> File | None:
    """Return the tables as a zip or the data of one chart; None when the report has no such file any more."""
    try:
        report = live(link) if link.kind == "live" else load(home, link.report_hash)
    except ReportError:
        return None
    stem = file_stem(report.title)
    if what == TABLES:
        return File(f"{stem}.zip", "application/zip", tables_zip(report))
    found = CHART.fullmatch(what)
    text = _chart_csv(report, int(found.group(1))) if found else None
    if found is None or text is None:
        return None
    return File(f"{stem}-chart-{found.group(1)}.csv", "text/csv; charset=utf-8", text.encode())


def _chart_csv(report: FrozenReport, number: int) -> str | None:
    """Return chart `number` (from 1, in the order of the page) as CSV; None when there is none."""
    figures = [figure for section in report.sections for figure in section.get("figures") or []]
    if number > len(figures):
        return None
    columns, rows = drawn_rows(figures[number - 1]["light"])
    return table_csv(rows, columns)


def _ready(text: str, link: Link, token: str, site: str | None) -> Page:
    shown = link.card if site is not None and not link.passphrase else None
    meta = card.meta(shown, f"{site}/r/{token}/{CARD}") if shown else ""
    charts = text.count(_CHART_MARK) if link.exportable else 0
    return Page(pack(with_note(text, link, token, charts, meta)), policy_of(text))


def _stamp(home: Path, link: Link) -> Hashable:
    """What tells that the two files of a page are still those that were read; None when one is gone."""
    page = folder(home) / f"{link.report_hash}.html"
    try:
        found = [path.stat() for path in (page, page.with_suffix(".html.sha256"))]
    except (FileNotFoundError, NotADirectoryError):
        return None
    return (str(page), *((one.st_mtime_ns, one.st_size, one.st_ino) for one in found))
