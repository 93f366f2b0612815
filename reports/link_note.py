"""What a served page says about its link: until when, to whom, and what a reader may do."""

import html
from datetime import UTC, datetime
from urllib.parse import quote

from reports.html import EXPIRY_MARK
from reports.links import Link

TITLE_END = "</title>"


def with_note(page: str, link: Link, token: str, charts: int = 0, meta: str = "") -> str:
    """Return the page with the paragraph about its link, and `meta` after its title."""
    if meta:
        page = page.replace(TITLE_END, TITLE_END + "\n" + meta, 1)
    return page.replace(
        EXPIRY_MARK, " ".join([*map(html.escape, sentences(link)), _files(link, token, charts)]).strip(), 1
    )


def sentences(link: Link) -> list[str]:
    """Return the answers to what a careful reader asks about a link."""
    until = (
        f"This link opens until {moment(link.expires_at)}."
        if link.expires_at
        else "This link has no expiry date."
    )
    whoever = "Whoever has its address and the passphrase" if link.passphrase else "Whoever has its address"
    changes = "; charts can be hovered and zoomed" if link.kind == "frozen" else ""
    return [
        until,
        f"{whoever} can open it; the address stays the same until its author replaces or revokes it.",
        f"Readers cannot change filters, data or numbers{changes}.",
        "They may download the tables." if link.exportable else "It offers no download of data.",
    ]


def moment(value: datetime | None) -> str:
    """Return a UTC time as pages print it."""
    return value.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC") if value else ""


def _files(link: Link, token: str, charts: int) -> str:
    """Addresses relative to the page's own, so that they hold behind a proxy with a path of its own."""
    if not link.exportable:
        return ""
    place = quote(token)
    numbers = " · ".join(f'<a href="{place}/chart-{n}.csv">{n}</a>' for n in range(1, charts + 1))
    told = f" Data of the charts as CSV: {numbers}." if numbers else ""
    return f'<a href="{place}/tables.zip">Tables (CSV, zip)</a>.{told}'
