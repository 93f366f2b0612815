"""Freezing: results and their figures become one content-hashed document that nothing can change any more."""

import json
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from analysis.registry import QUESTIONS
from analysis.result import Result
from data.errors import UserError
from data.queries.people import names, run_names
from reports.canonical import canonical_json, content_hash
from reports.figures import FrozenFigure, figures_of
from reports.hidden import hide
from reports.redact import Redaction

if TYPE_CHECKING:
    from data.store import Store

LOG = logging.getLogger(__name__)
SCHEMA = 2
"""Of what is frozen now. Reports of schema 1 open, hash and render as they did."""
SYNTHETIC_CODES = frozenset({"synthetic", "synthetic_data", "synthetic_example"})
DrawFigures = Callable[[Result], Sequence[FrozenFigure]]


class ReportError(UserError):
    """A frozen report cannot be read, or its bytes are no longer those that were frozen."""


@dataclass(frozen=True)
class FreezeOptions:
    """What the author chose: title, what to hide, and names to hide beside those in the tables.

    `names` are of hosts, users, teams and clusters, `runs` of runs and campaigns;
    `title` '' is a notebook's own.
    """

    redaction: Redaction = field(default_factory=Redaction)
    names: tuple[str, ...] = ()
    runs: tuple[str, ...] = ()
    title: str = ""


@dataclass(frozen=True)
class FrozenReport:
    """A report. `hash` is the SHA-256 of the canonical JSON of `payload`; `created_at` is UTC.

    `private` is what the author had before parts were hidden (see `asked_of`): it stays in the home, is in no
    page and no export, and lets the author compare a report with hidden parts. None where nothing was hidden.
    """

    hash: str
    created_at: datetime
    payload: Mapping[str, Any] = field(repr=False)
    private: Mapping[str, Any] | None = field(default=None, repr=False, compare=False)

    @property
    def title(self) -> str:
        """Title chosen by the author."""
        return str(self.payload["title"])

    @property
    def answer(self) -> str:
        """Answer line of the first section that has one, '' when none has."""
        return next((str(s["answer"]) for s in self.payload["sections"] if s["answer"]), "")

    @property
    def schema(self) -> int:
        """Version of the payload's form."""
        return int(self.payload["schema"])

    @property
    def sections(self) -> list[dict[str, Any]]:
        """One section a result, or one a cell of a notebook; see `section_defaults` and `sections_of`."""
        return list(self.payload["sections"])

    @property
    def synthetic(self) -> bool:
        """Whether any result rests on generated example data."""
        return bool(self.payload["synthetic"])

    def to_json(self) -> str:
        """Return the stored form."""
        return canonical_json(
            {"hash": self.hash, "created_at": self.created_at.isoformat(), "payload": self.payload}
        )


def freeze(
    results: Sequence[Result],
    title: str,
    chosen: FreezeOptions | None = None,
    *,
    draw: DrawFigures = figures_of,
    now: datetime | None = None,
) -> FrozenReport:
    """Freeze what is on screen. Equal content gives an equal hash; ValueError without a result."""
    if not results:
        raise ValueError("a report needs at least one result")
    return report_of([result_section(r, draw(r)) for r in results], title, chosen, now=now)


def report_of(
    sections: Sequence[Mapping[str, Any]],
    title: str,
    chosen: FreezeOptions | None = None,
    *,
    kind: str = "view",
    versions: Mapping[str, Any] | None = None,
    now: datetime | None = None,
) -> FrozenReport:
    """Return the report of sections: parts hidden as chosen, then hashed.

    `versions` are those of the home, for what no result of its own pins (tables of SQL).
    """
    wanted = chosen or FreezeOptions()
    payload: dict[str, Any] = {
        "schema": SCHEMA,
        "kind": kind,
        "title": " ".join(title.split()) or "Report",
        "synthetic": any(w["code"] in SYNTHETIC_CODES for s in sections for w in s["warnings"]),
        "redaction": wanted.redaction.to_dict(),
        "sections": list(sections),
        "versions": _versions([*[s["versions"] for s in sections], versions or {}]),
    }
    shown = _clean(hide(payload, wanted.redaction, wanted.names, wanted.runs))
    private = _clean({"sections": asked_of(payload)}) if shown != _clean(payload) else None
    return FrozenReport(content_hash(shown), now or datetime.now(UTC), shown, private)


def asked_of(payload: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return what a comparison needs of a payload's sections: all but figures and rows."""
    return [{**s, "figures": [], "tables": {}, "columns": {}} for s in payload["sections"]]


def section_defaults(kind: str = "analysis") -> dict[str, Any]:
    """Return a section with nothing in it.

    `kind` is analysis, text, sql, chart, metric or parameter; `state` done, failed, blocked, stale or
    not_run, with a sentence in `problem` unless done. `rows` tells of SQL {scanned, returned, cut, notes};
    `source` is the cell that a chart or metric uses; `parameters` are the values used by name;
    `cell` is a notebook's cell. `hidden` says why a section shows nothing of what it has.
    The rest is as in `analysis.result.Result`.
    """
    words = dict.fromkeys(
        ("name", "title", "problem", "text", "sql", "source", "hidden", "analysis", "answer"), ""
    )
    lists: dict[str, Any] = {name: [] for name in ("headline", "assumptions", "warnings", "figures")}
    maps: dict[str, Any] = {n: {} for n in ("parameters", "rows", "params", "tables", "columns", "versions")}
    return {"kind": kind, "state": "done", "cell": None, "show_tables": True, "hidden_figures": 0,
            **words, **lists, **maps}  # fmt: skip


def sections_of(report: FrozenReport) -> list[dict[str, Any]]:
    """Return the sections in today's form, also of a report of schema 1."""
    return [{**section_defaults(), **section} for section in report.payload["sections"]]


def result_section(result: Result, figures: Sequence[FrozenFigure]) -> dict[str, Any]:
    """Return the section of a result with its figures."""
    raw: dict[str, Any] = {**section_defaults(), **json.loads(result.to_json())}
    raw["columns"] = {name: [str(c) for c in frame.columns] for name, frame in result.tables.items()}
    raw["figures"] = [f.to_dict() for f in figures]
    known = QUESTIONS.get(result.analysis)
    raw["params_version"] = known.params.version if known else 1
    return raw


def options(store: "Store", redaction: Redaction, title: str = "") -> FreezeOptions:
    """Return the options of a freeze, with the names that the home knows when names are to be hidden."""
    if not (redaction.names or redaction.runs):
        return FreezeOptions(redaction, title=title)
    with store.view() as view:
        return FreezeOptions(
            redaction,
            names(view) if redaction.names else (),
            run_names(view) if redaction.runs else (),
            title,
        )


def folder(home: Path) -> Path:
    """Return the folder of frozen reports in a home."""
    return home / "reports"


def save(report: FrozenReport, home: Path, render: Callable[[FrozenReport], str]) -> Path:
    """Write `<hash>.json`, `<hash>.html` and its SHA-256, each whole or not at all; return the HTML path.

    Content that was frozen before keeps its first bytes: an open link never changes. A page that was tampered
    with is written anew.
    """
    place = folder(home)
    place.mkdir(parents=True, exist_ok=True)
    page = place / f"{report.hash}.html"
    if read_page(home, report.hash) is None:
        text = render(report)
        _write(place / f"{report.hash}.json", report.to_json())
        if report.private is not None:
            _write(place / f"{report.hash}.asked.json", canonical_json(report.private))
        _write(_checksum(page), sha256(text.encode()).hexdigest())
        _write(page, text)
    return page


def read_page(home: Path, report_hash: str) -> str | None:
    """Return the page of a report, None when it is gone or no longer the bytes that were written."""
    page = folder(home) / f"{report_hash}.html"
    try:
        raw, wanted = page.read_bytes(), _checksum(page).read_text(encoding="ascii")
    except (FileNotFoundError, UnicodeDecodeError):
        return None
    if sha256(raw).hexdigest() != wanted.strip():
        LOG.error("the page of report %s was changed after it was frozen: it is not served", report_hash[:12])
        return None
    return raw.decode()


def _checksum(page: Path) -> Path:
    return page.with_suffix(".html.sha256")


def load(home: Path, report_hash: str) -> FrozenReport:
    """Read a report back; ReportError when it is missing, changed, or of a newer app."""
    path = folder(home) / f"{report_hash}.json"
    if not path.is_file():
        raise ReportError("This report is not in the home", str(path), "Freeze it again.")
    report = read_report(path)
    if report.hash != report_hash:
        raise ReportError("The stored report was changed after it was frozen", str(path), "Freeze it again.")
    asked = path.with_name(f"{report_hash}.asked.json")
    private = json.loads(asked.read_text(encoding="utf-8")) if asked.is_file() else None
    return replace(report, private=private)


def read_report(path: Path) -> FrozenReport:
    """Read a report from a file of its JSON; ReportError when it is none, was changed or is newer."""
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
        found, payload = str(raw["hash"]), raw["payload"]
        schema, created = int(payload["schema"]), datetime.fromisoformat(raw["created_at"])
    except (ValueError, KeyError, TypeError) as error:
        raise ReportError(
            "This file is no frozen report", str(path), "Choose a report's JSON file."
        ) from error
    if content_hash(payload) != found:
        raise ReportError("The stored report was changed after it was frozen", str(path), "Freeze it again.")
    if schema > SCHEMA:
        raise ReportError(
            "A newer version of this app froze the report", str(path), "Update the app to read it."
        )
    return FrozenReport(found, created, payload)


def _versions(every: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return what pins the report; a key on which sections differ lists every value."""
    out: dict[str, str] = {}
    for key in sorted({k for versions in every for k in versions}):
        found = [versions[key] for versions in every if versions.get(key) is not None]
        flat = [v for value in found for v in (value if isinstance(value, list | tuple) else [value])]
        out[key] = ", ".join(dict.fromkeys(str(v) for v in flat))
    return out


def _clean(payload: Mapping[str, Any]) -> dict[str, Any]:
    """As it is read back: a text that is no Unicode keeps a question mark."""
    out: dict[str, Any] = json.loads(canonical_json(payload).encode("utf-8", "replace"))
    return out


def _write(path: Path, text: str) -> None:
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    with part.open("w", encoding="utf-8") as out:
        out.write(text)
        out.flush()
        os.fsync(out.fileno())
    part.replace(path)
