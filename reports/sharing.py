"""Making a link: the report is frozen and kept, its card drawn, its terms noted, in this order."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from reports.card import keep_card, keep_live_card
from reports.freeze import FrozenReport, save
from reports.html import render
from reports.link_terms import DEFAULT_EXPIRY, check_span, origins
from reports.links import LinkBook, NewLink
from reports.live_links import compute, recipe_of
from reports.passphrase import check
from reports.redact import Redaction

if TYPE_CHECKING:
    from pathlib import Path

    from data.store import Store


@dataclass(frozen=True)
class Terms:
    """What the author of a link decides. LinkError when it is made of what a link cannot have."""

    expires_in: timedelta | None = DEFAULT_EXPIRY
    label: str = ""
    passphrase: str | None = None
    embed_origins: tuple[str, ...] = ()
    exportable: bool = False

    def __post_init__(self) -> None:
        """Refuse before anything is frozen."""
        check_span(self.expires_in)
        origins(self.embed_origins)
        if self.passphrase:
            check(self.passphrase)

    def to_dict(self) -> dict[str, Any]:
        """Return the arguments of `LinkBook.create`."""
        return {
            "expires_in": self.expires_in,
            "label": self.label,
            "passphrase": self.passphrase,
            "embed_origins": self.embed_origins,
            "exportable": self.exportable,
        }


def frozen_link(
    home: "Path",
    report: FrozenReport,
    terms: Terms,
    *,
    question: str = "",
    params: Mapping[str, Any] | None = None,
) -> NewLink:
    """Keep a frozen report and make a link to it."""
    save(report, home, render)
    return LinkBook(home).create(
        report.hash,
        report.title,
        question=question,
        params=params,
        hidden=Redaction(**report.payload["redaction"]).words(),
        card=keep_card(report, home),
        **terms.to_dict(),
    )


def live_link(
    store: "Store", title: str, asked: Mapping[str, Any], redaction: Redaction, terms: Terms
) -> NewLink:
    """Make a link that computes when it is opened; UserError when it cannot be computed even now.

    `asked` is `{"questions": [{"question": …, "params": {…}}]}` or `{"notebook": id}`.
    """
    recipe = recipe_of(asked, redaction)
    report = compute(store, title, recipe)
    return LinkBook(store.home).create(
        "",
        report.title,
        kind="live",
        recipe=recipe,
        hidden=redaction.words(),
        card=keep_live_card(report, store.home),
        **terms.to_dict(),
    )
