"""Freezing: results and their figures become one content-hashed document that nothing can change any more."""

import json
import logging
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from analysis.result import Result
from data.errors import UserError
from data.queries.people import names
from reports.canonical import canonical_json, content_hash
from reports.figures import FrozenFigure, figures_of
from reports.redact import Redaction, hide_amounts, hide_dollars, names_in, replace_names

if TYPE_CHECKING:
    from data.store import Store

LOG = logging.getLogger(__name__)
SCHEMA = 1
SYNTHETIC_CODES = frozenset({"synthetic", "synthetic_data", "synthetic_example"})
DrawFigures = Callable[[Result], Sequence[FrozenFigure]]


class ReportError(UserError):
    """A frozen report cannot be read, or its bytes are no longer those that were frozen."""


@dataclass(frozen=True)
class FreezeOptions:
    """What the author chose. `names` are further host or team names to hide beside those in the tables."""

    redaction: Redaction = field(default_factory=Redaction)
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class FrozenReport:
    """A report. `hash` is the SHA-256 of the canonical JSON of `payload`; `created_at` is UTC."""

    hash: str
    created_at: datetime
    payload: Mapping[str, Any] = field(repr=False)

    @property
    def title(self) -> str:
        """Title chosen by the author."""
        return str(self.payload["title"])

    @property
    def answer(self) -> str:
        """Answer line of the first result."""
        return str(self.payload["sections"][0]["answer"])

    @property
    def sections(self) -> list[dict[str, Any]]:
        """One section a result."""
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
    wanted = chosen or FreezeOptions()
    sections = [_section(r, draw(r)) for r in results]
    payload: dict[str, Any] = {
        "schema": SCHEMA,
        "title": " ".join(title.split()) or "Report",
        "synthetic": any(w["code"] in SYNTHETIC_CODES for s in sections for w in s["warnings"]),
        "redaction": wanted.redaction.to_dict(),
        "sections": sections,
        "versions": _versions(results),
    }
    payload = _redact(payload, wanted)
    payload = json.loads(canonical_json(payload).encode("utf-8", "replace"))
    return FrozenReport(content_hash(payload), now or datetime.now(UTC), payload)


def options(store: "Store", redaction: Redaction) -> FreezeOptions:
    """Return the options of a freeze, with the names that the home knows when names are to be hidden."""
    if not redaction.names:
        return FreezeOptions(redaction)
    with store.view() as view:
        return FreezeOptions(redaction, names(view))


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
    """Read a report back; ReportError when it is missing or no longer hashes to its name."""
    path = folder(home) / f"{report_hash}.json"
    if not path.is_file():
        raise ReportError("This report is not in the home", str(path), "Freeze it again.")
    raw = json.loads(path.read_text(encoding="utf-8"))
    payload = raw["payload"]
    if content_hash(payload) != report_hash:
        raise ReportError("The stored report was changed after it was frozen", str(path), "Freeze it again.")
    return FrozenReport(report_hash, datetime.fromisoformat(raw["created_at"]), payload)


def _section(result: Result, figures: Sequence[FrozenFigure]) -> dict[str, Any]:
    raw: dict[str, Any] = json.loads(result.to_json())
    raw["columns"] = {name: [str(c) for c in frame.columns] for name, frame in result.tables.items()}
    raw["figures"] = [f.to_dict() for f in figures]
    raw["hidden_figures"] = 0
    return raw


def _versions(results: Sequence[Result]) -> dict[str, str]:
    """Return what pins the report; a key on which results differ lists every value."""
    out: dict[str, str] = {}
    for key in sorted({k for r in results for k in r.versions}):
        found = [r.versions[key] for r in results if r.versions.get(key) is not None]
        flat = [v for value in found for v in (value if isinstance(value, list | tuple) else [value])]
        out[key] = ", ".join(dict.fromkeys(str(v) for v in flat))
    return out


def _redact(payload: dict[str, Any], wanted: FreezeOptions) -> dict[str, Any]:
    out = payload
    if wanted.redaction.names:
        hidden = names_in(_rows(payload))
        for number, name in enumerate(sorted(set(wanted.names) - set(hidden)), start=1):
            hidden[name] = f"name {number}"
        out = replace_names(out, hidden)
    if wanted.redaction.dollars:
        out = {**out, "sections": [_without_prices(hide_dollars(s)) for s in out["sections"]]}
        out["title"] = hide_amounts(str(out["title"]))
        out = _without_prices(out)
    return out


def _without_prices(part: dict[str, Any]) -> dict[str, Any]:
    """The ids of the prices used would tell the prices."""
    return {**part, "versions": {k: v for k, v in part["versions"].items() if k != "prices"}}


def _rows(payload: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
    for section in payload["sections"]:
        for rows in section["tables"].values():
            yield from rows


def _write(path: Path, text: str) -> None:
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    with part.open("w", encoding="utf-8") as out:
        out.write(text)
        out.flush()
        os.fsync(out.fileno())
    part.replace(path)
