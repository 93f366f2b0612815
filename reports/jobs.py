"""What the command line can ask for. The same functions run in its own process and inside the server."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

import analysis
from analysis.api import answer as answer_on
from analysis.result import Result
from data.errors import UserError
from data.ingest_files import Intake, ingest_files
from data.queries.originals import sha256_and_name
from data.readers.base import Choices, Progress, no_progress
from data.store import Store
from reports import (
    details_commands,
    forecast_commands,
    joining,
    link_commands,
    price_commands,
    report_commands,
    rule_commands,
)
from reports.choices import choices_from
from reports.freeze import FrozenReport, freeze, options, save
from reports.html import render
from reports.notebook.frozen import live_report
from reports.precision import settled
from reports.redact import Redaction
from reports.uploads import error_dict, issue_token

DEFAULT_QUESTION = "ledger"
DEFAULT_TITLES = {DEFAULT_QUESTION: "Overview of all runs"}
Command = Callable[[Store, Mapping[str, Any], Progress], dict[str, Any]]


def run_command(
    store: Store, command: str, arguments: Mapping[str, Any], progress: Progress = no_progress
) -> dict[str, Any]:
    """Run one command and return its JSON-ready answer; UserError when it is refused."""
    found = COMMANDS.get(command)
    if found is None:
        raise UserError(
            f"There is no command '{command}'", "command", f"Use one of {', '.join(sorted(COMMANDS))}."
        )
    answer: dict[str, Any] = json.loads(json.dumps(found(store, arguments, progress), default=str))
    return answer


def ingest(store: Store, path: Path, name: str, choices: Choices, progress: Progress) -> dict[str, Any]:
    """Load a file, an archive or a folder: one receipt, or what `intake_dict` says of several files."""
    return intake_dict(ingest_files(store, path, name, choices, progress))


def intake_dict(intake: Intake) -> dict[str, Any]:
    """A single file's receipt; else {file, receipts, passed_over: [{file, why}], errors: [{file, …}]}."""
    one = intake.one()
    if one is not None:
        return one.to_dict()
    return {
        "file": intake.name,
        "receipts": [receipt.to_dict() for receipt in intake.receipts],
        "passed_over": [{"file": item.name, "why": item.why} for item in intake.passed_over],
        "errors": [{"file": item.name, **error_dict(item.error)} for item in intake.failed],
    }


def original(store: Store, upload_id: str) -> tuple[Path, str] | None:
    """Return the kept bytes of an upload and its file name, None when there is no such upload."""
    with store.view() as view:
        found = sha256_and_name(view, upload_id)
    if found is None:
        return None
    path = store.original(found[0])
    name = PurePosixPath(found[1]).name + (".tar" if found[1].endswith("/") else "")
    return (path, name) if path.is_file() else None


def answer(store: Store, question: str, params: Mapping[str, Any]) -> Result:
    """Answer one question on a pinned view; UserError names the question or parameter that is wrong.

    Where `params` names no `runs`, the question is about the runs that a page would be about: one's own where
    any is held beside the example. An empty list asks for all. A bill leaves the example out by itself.
    """
    with store.view() as view:
        return answer_on(view, question, params)


def freeze_question(store: Store, arguments: Mapping[str, Any]) -> tuple[FrozenReport, Path]:
    """Answer a question or run a notebook, freeze it in the home, return the report and its HTML file."""
    if arguments.get("notebook"):
        report = live_report(
            store, int(arguments["notebook"]), arguments.get("title") or "", _redaction(arguments)
        )
        return report, save(report, store.home, render)
    question = arguments.get("question") or DEFAULT_QUESTION
    result = answer(store, question, arguments.get("params") or {})
    chosen = options(store, _redaction(arguments))
    report = freeze([result], arguments.get("title") or _title(question, arguments), chosen)
    return report, save(report, store.home, render)


def live_question(store: Store, arguments: Mapping[str, Any]) -> tuple[str, dict[str, Any], Redaction]:
    """Return title, what a live link asks and what is hidden: a notebook, or a question as asked today."""
    title, redaction = str(arguments.get("title") or ""), _redaction(arguments)
    if arguments.get("notebook"):
        return title, {"notebook": int(arguments["notebook"])}, redaction
    question = arguments.get("question") or DEFAULT_QUESTION
    result = answer(store, question, arguments.get("params") or {})
    asked = {"question": question, "params": json.loads(result.to_json())["params"]}
    return title or _title(question, arguments), {"questions": [asked]}, redaction


def _redaction(arguments: Mapping[str, Any]) -> Redaction:
    return Redaction(*(bool(arguments.get(f"hide_{name}")) for name in ("dollars", "names", "runs")))


def _import(store: Store, arguments: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    path = Path(str(arguments["path"]))
    if not (path.is_file() or path.is_dir()):
        what = "This is no file but a device" if path.exists() else "There is no such file"
        raise UserError(what, str(path), "Check the path.")
    name = str(arguments.get("name") or path.name)
    return ingest(store, path, name, choices_from(arguments.get("choices") or {}), progress)


def _upload_token(_store: Store, _arguments: Mapping[str, Any], _: Progress) -> dict[str, Any]:
    """A token for one streamed upload to the server that answers; of no use outside a server."""
    return {"token": issue_token()}


def _analyse(store: Store, arguments: Mapping[str, Any], _: Progress) -> dict[str, Any]:
    result = answer(store, str(arguments["question"]), arguments.get("params") or {})
    return dict(settled(json.loads(result.to_json())))


def _title(question: str, arguments: Mapping[str, Any]) -> str:
    if not arguments.get("params") and question in DEFAULT_TITLES:
        return DEFAULT_TITLES[question]
    return str(analysis.QUESTIONS[question].title)


COMMANDS: dict[str, Command] = {
    "import": _import,
    "upload token": _upload_token,
    "join": joining.command,
    price_commands.LIST: price_commands.list_command,
    price_commands.IMPORT: price_commands.import_command,
    rule_commands.RULES: rule_commands.command,
    details_commands.DETAILS: details_commands.command,
    forecast_commands.FORECAST: forecast_commands.command,
    "analyse": _analyse,
    **report_commands.commands(freeze_question),
    **link_commands.commands(freeze_question, live_question),
}
