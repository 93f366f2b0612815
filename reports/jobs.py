"""What the command line can ask for. The same functions run in its own process and inside the server."""

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Any

import analysis
from analysis.madeup import default_runs
from analysis.moneyparams import MoneyParams
from analysis.result import Result
from data.errors import UserError
from data.ingest_files import Intake, ingest_files
from data.queries.originals import sha256_and_name
from data.readers.base import Choices, Progress, no_progress
from data.store import Store
from reports import details_commands, forecast_commands, joining, price_commands, rule_commands
from reports.addresses import absolute, base_url
from reports.choices import choices_from
from reports.freeze import FrozenReport, freeze, options, save
from reports.html import render
from reports.link_terms import expiry
from reports.links import LinkBook
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
        asked, found = dict(params), analysis.QUESTIONS.get(question)
        by_run = found is not None and not issubclass(found.params, MoneyParams)
        if found and by_run and "runs" in found.params.model_fields and not {"runs", "example"} & set(asked):
            asked |= {"runs": default_runs(view)}
        return analysis.run(question, view, asked)


def freeze_question(store: Store, arguments: Mapping[str, Any]) -> tuple[FrozenReport, Path]:
    """Answer a question, freeze the result in the home and return the report with its HTML file."""
    question = arguments.get("question") or DEFAULT_QUESTION
    result = answer(store, question, arguments.get("params") or {})
    redaction = Redaction(bool(arguments.get("hide_dollars")), bool(arguments.get("hide_names")))
    report = freeze(
        [result], arguments.get("title") or _title(question, arguments), options(store, redaction)
    )
    return report, save(report, store.home, render)


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


def _report(store: Store, arguments: Mapping[str, Any], _: Progress) -> dict[str, Any]:
    report, path = freeze_question(store, arguments)
    return {
        "hash": report.hash,
        "title": report.title,
        "answer": report.answer,
        "created_at": report.created_at.isoformat(timespec="seconds"),
        "html": str(path),
    }


def _link_create(store: Store, arguments: Mapping[str, Any], _: Progress) -> dict[str, Any]:
    span = expiry(str(arguments.get("expires") or "7d"))
    report, _path = freeze_question(store, arguments)
    new = LinkBook(store.home).create(
        report.hash,
        report.title,
        expires_in=span,
        question=report.sections[0]["analysis"],
        params=report.sections[0]["params"],
    )
    expires = new.link.expires_at
    return {
        "path": new.path,
        "expires_at": expires.isoformat(timespec="seconds") if expires else None,
        "url": absolute(new.path) if base_url() else None,
        "id": new.link.id,
        "report": report.hash,
    }


def _link_list(store: Store, _arguments: Mapping[str, Any], _: Progress) -> dict[str, Any]:
    return {"links": [link.to_dict() for link in LinkBook(store.home).all()]}


def _link_revoke(store: Store, arguments: Mapping[str, Any], _: Progress) -> dict[str, Any]:
    return LinkBook(store.home).revoke(str(arguments["link"]), datetime.now(UTC)).to_dict()


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
    "report": _report,
    "link create": _link_create,
    "link list": _link_list,
    "link revoke": _link_revoke,
}
