"""`cli.py join`: which run an upload belongs to, said from a terminal."""

import argparse
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from data.errors import UserError

if TYPE_CHECKING:
    from data.readers.base import Progress
    from data.store import Store

NEW_ATTEMPT = "new"


def attempt_of(text: str) -> int | str:
    """A number from 1, or "new"."""
    if text == NEW_ATTEMPT:
        return text
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"must be 1 or more, or {NEW_ATTEMPT}")
    return value


def add_parser(commands: Any) -> argparse.ArgumentParser:
    """The grammar of the command."""
    join: argparse.ArgumentParser = commands.add_parser("join", help="say which run an upload belongs to")
    join.add_argument("upload", metavar="UPLOAD", help="upload id of its receipt, or its file name")
    where = join.add_mutually_exclusive_group(required=True)
    where.add_argument("--run", metavar="NAME", help="an existing run or a new name")
    where.add_argument("--no-run", action="store_true", help="it belongs to no run")
    where.add_argument("--undo", action="store_true", help="take the last word back")
    join.add_argument(
        "--attempt", type=attempt_of, metavar="N", help="attempt, or new (default: its rows decide)"
    )
    return join


def work(
    options: argparse.Namespace,
    perform: Callable[..., dict[str, Any]],
    show: Callable[[Mapping[str, Any]], None],
) -> int:
    """Let the server or this process do it, and show the receipt."""
    arguments = {
        "upload": options.upload,
        "run": options.run,
        "attempt": options.attempt,
        "undo": options.undo,
    }
    show(perform(options, "join", arguments))
    return 0


def command(store: "Store", arguments: Mapping[str, Any], progress: "Progress") -> dict[str, Any]:
    """Join an upload, or take a join back; returns its receipt."""
    from data.rejoin import join_upload, undo_join

    upload = str(arguments["upload"])
    if arguments.get("undo"):
        if arguments.get("attempt") is not None:
            raise UserError("An undo takes no attempt", "join", "Leave --attempt out.")
        return undo_join(store, upload, progress)
    return join_upload(store, upload, arguments.get("run"), arguments.get("attempt"), progress)
