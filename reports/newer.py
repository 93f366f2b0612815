"""What a frozen report would say today: its questions with its parameters, beside the old numbers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from analysis import registry
from analysis.common import versions as versions_of
from data.errors import UserError
from reports.diff import DATA, PRICES, Diff, NumberChange, compare, other_version, title_of
from reports.freeze import FrozenReport, result_section, sections_of

if TYPE_CHECKING:
    from data.store import Store
    from data.view import View

NO_RECORD = (
    "Parts of this report are hidden, and what it asked is not kept in this home: it cannot be asked again."
)


@dataclass(frozen=True)
class Newer:
    """`why`: what is newer than the report, in sentences; `diff`: what that changes, None if none was asked.

    `refused`: questions that can no longer be asked, in words. The report itself is never touched.
    """

    why: tuple[str, ...]
    diff: Diff | None = None
    refused: tuple[str, ...] = ()

    def to_markdown(self) -> str:
        """Return reasons, refusals and the differences as Markdown."""
        from reports.diff_words import escaped

        why = [f"- {escaped(line)}" for line in self.why] or ["Nothing is newer than this report."]
        refused = [f"- Can no longer be asked: {escaped(line)}" for line in self.refused]
        return "\n".join([*why, *refused, "", self.diff.to_markdown() if self.diff else ""])

    @property
    def differences(self) -> tuple[NumberChange, ...]:
        """The numbers that are others today."""
        return self.diff.numbers if self.diff else ()


def quick(store: "Store", report: FrozenReport) -> tuple[str, ...]:
    """Say what is newer than the report, without asking a question."""
    with store.view() as view:
        return _why(report.payload["versions"], _today(view, report))


def compare_with_today(store: "Store", report: FrozenReport) -> Newer:
    """Ask the report's questions again with their saved parameters; one that refuses is told in words.

    A notebook is run as it was frozen, statements included, on today's data.
    """
    sections = _asked(report)
    with store.view() as view:
        today = _today(view, report)
    why = _why(report.payload["versions"], today)
    if sections is None:
        return Newer(why, None, (NO_RECORD,))
    notebook = report.payload.get("kind") == "notebook"
    now, refused = _run(store, report) if notebook else _ask(store, sections)
    gone = {_key(s) for s in now if s["state"] != "done"}
    kept = [s for s in sections if _key(s) not in gone]
    answered = [s for s in now if _key(s) not in gone]
    bare = report.private is not None
    found = compare(
        (report.hash, report.payload["versions"], [_bare(s) if bare else s for s in kept]),
        ("today", today, [_bare(s) if bare else s for s in answered]),
    )
    return Newer(why, found, refused)


def _asked(report: FrozenReport) -> list[dict[str, Any]] | None:
    """The sections as the author had them; None where parts are hidden and no record of them is kept."""
    if report.private is not None:
        return [dict(s) for s in report.private["sections"]]
    return None if any(report.payload["redaction"].values()) else sections_of(report)


def _ask(
    store: "Store", sections: Sequence[Mapping[str, Any]]
) -> tuple[list[dict[str, Any]], tuple[str, ...]]:
    out, refused = [], []
    with store.view() as view:
        for section in sections:
            try:
                _check_version(section)
                found = registry.run(str(section["analysis"]), view, section["params"])
            except UserError as error:
                refused.append(f"{title_of(section)}: {error}")
                out.append({**section, "state": "failed"})
            else:
                out.append({**result_section(found, ()), "name": section["name"], "title": section["title"]})
    return out, tuple(refused)


def _check_version(section: Mapping[str, Any]) -> None:
    question, saved = str(section["analysis"]), int(section.get("params_version") or 1)
    known = registry.QUESTIONS.get(question)
    if known is not None and known.params.version != saved:
        raise UserError(
            f"Its parameters had another meaning then (version {saved}, today {known.params.version})",
            question,
            "Ask the question anew on its page.",
        )


def _run(store: "Store", report: FrozenReport) -> tuple[list[dict[str, Any]], tuple[str, ...]]:
    from reports.notebook.frozen import document_of, sections_today

    sections = sections_today(store, document_of(report))
    worked = {_key(s) for s in sections_of(report) if s["state"] in {"done", "stale"}}
    told = [s for s in sections if s["state"] != "done" and _key(s) in worked]
    return sections, tuple(f"{title_of(s)}: {s['problem']}" for s in told)


def _key(section: Mapping[str, Any]) -> tuple[str, str]:
    return str(section["kind"]), str(section["name"] or section["analysis"])


def _bare(section: Mapping[str, Any]) -> dict[str, Any]:
    """Without tables, of which no record is kept where parts are hidden."""
    return {**section, "tables": {}, "columns": {}}


def _today(view: "View", report: FrozenReport) -> dict[str, str]:
    """Today's versions in the form of the report's; prices are the versions in force of those it used."""
    used = [p.strip() for p in str(report.payload["versions"].get("prices", "")).split(",") if p.strip()]
    if report.private is not None:
        used = sorted({p for s in report.private["sections"] for p in s["versions"].get("prices") or []})
    found = versions_of(view, [p.split("@")[0] for p in used])
    return {k: ", ".join(v) if isinstance(v, list) else str(v) for k, v in found.items() if v is not None}


def _why(then: Mapping[str, str], now: Mapping[str, str]) -> tuple[str, ...]:
    def differs(key: str) -> bool:
        return bool(then.get(key)) and other_version(then[key], now.get(key, ""))

    said = []
    if any(differs(key) for key in DATA):
        ends = f": up to {then['data_cutoff']} then, {now.get('data_cutoff', 'nothing')} now"
        said.append(f"The data has changed{ends if differs('data_cutoff') else ''}.")
    if differs("prices"):
        said.append("Prices that it used have newer versions.")
    elif any(differs(key) for key in PRICES):
        said.append("The catalogue or the price book has changed.")
    if differs("formulas"):
        said.append(f"Formulas have version {now['formulas']}, then {then['formulas']}.")
    if differs("app"):
        said.append(f"The app has version {now['app']}, then {then['app']}.")
    return tuple(said)
