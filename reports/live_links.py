"""Live links: what is asked stays, the numbers are computed when the link is opened."""

import json
import secrets
import threading
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from data.errors import UserError
from reports.freeze import FrozenReport, freeze, options
from reports.home import NoServerError, ServerFailedError, ask_server
from reports.links import Link, LinkBook
from reports.redact import Redaction

if TYPE_CHECKING:
    from data.store import Store

COMMAND = "live report"
FRESH_S = 10.0
"""So long an answer is given again while the data is the same: a link in a busy chat is opened in bursts."""
NOT_RUNNING = "The app that computes them is not running. Ask the person who sent the link to start it."
Recipe = Mapping[str, Any]


class LiveError(UserError):
    """A live link cannot be computed now; its `what` may be shown to a reader."""


def recipe_of(asked: Recipe, redaction: Redaction) -> dict[str, Any]:
    """Return what a live link keeps: questions with their parameters or a notebook, and what is hidden."""
    return {**asked, "redaction": redaction.to_dict()}


def compute(store: "Store", title: str, recipe: Recipe, *, now: datetime | None = None) -> FrozenReport:
    """Answer what a live link asks on the data of now; UserError when it cannot be asked any more."""
    redaction = Redaction(**recipe.get("redaction") or {})
    if "notebook" in recipe:
        return _of_notebook(store, int(recipe["notebook"]), title, redaction)
    import analysis

    with store.view() as view:
        results = [analysis.run(one["question"], view, one["params"]) for one in recipe["questions"]]
    return freeze(results, title, options(store, redaction), now=now or datetime.now(UTC))


def sentence(report: FrozenReport) -> str:
    """Return what stands at the top of a live page."""
    cutoff = report.payload["versions"].get("data_cutoff") or "a time that the files do not tell"
    at = report.created_at.astimezone(UTC)
    return f"Computed {at:%Y-%m-%d %H:%M} UTC from data up to {cutoff}; not frozen."


class Computed:
    """Live reports of a store, each computed once in a burst; for the process that holds the store."""

    def __init__(self, store: Callable[[], "Store"], clock: Callable[[], float] = time.monotonic) -> None:
        self._store, self._clock = store, clock
        self._kept: dict[tuple[str, str, str], tuple[float, FrozenReport]] = {}
        self._lock = threading.Lock()

    def __call__(self, link: Link) -> FrozenReport:
        """Return the report of a live link; LiveError in words that a reader may see."""
        store, recipe = self._store(), link.recipe or {}
        with self._lock:
            with store.view() as view:
                version = f"{view.data_version} {store.workspace.last_decision_id()}"
            key = (version, link.title, json.dumps(recipe, sort_keys=True))
            now = self._clock()
            self._kept = {k: v for k, v in self._kept.items() if now - v[0] < FRESH_S}
            if key not in self._kept:
                self._kept[key] = (now, _computed(store, link))
            return self._kept[key][1]


def _computed(store: "Store", link: Link) -> FrozenReport:
    try:
        return compute(store, link.title, link.recipe or {})
    except UserError as error:
        raise LiveError(refusal(error, link.recipe or {}), error.where, error.remedy) from error


def refusal(error: UserError, recipe: Recipe) -> str:
    """Return why in words; the reason stays with the author where anything is hidden, as it may name it."""
    words = "What this link asks can no longer be answered from the data that is loaded."
    return words if any((recipe.get("redaction") or {}).values()) else f"{words} {error.what}."


def answer_server(
    computed: Callable[[Link], FrozenReport], home: Path, arguments: Mapping[str, Any]
) -> dict[str, Any]:
    """Return what the app answers to the server of links: the report as JSON; LiveError when it cannot."""
    return {"report": computed(LinkBook(home).get(str(arguments["link"]))).to_json()}


def asked_of_app(home: Path) -> Callable[[Link], FrozenReport]:
    """Return how the server of links gets a live report: from the app on the same home."""

    def ask(link: Link) -> FrozenReport:
        try:
            reply = ask_server(home, COMMAND, {"link": str(link.id)}, secrets.token_urlsafe(16))
        except (NoServerError, ServerFailedError) as error:
            raise LiveError(NOT_RUNNING) from error
        if "error" in reply:
            raise LiveError(str(reply["error"]["what"]))
        raw = json.loads(reply["answer"]["report"])
        return FrozenReport(raw["hash"], datetime.fromisoformat(raw["created_at"]), raw["payload"])

    return ask


def _of_notebook(store: "Store", number: int, title: str, redaction: Redaction) -> FrozenReport:
    from reports.notebook.frozen import live_report

    return live_report(store, number, title, redaction)
