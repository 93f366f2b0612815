"""Which home, and who holds it: where the command line, pages and server find it."""

from data.served import (
    NoServerError,
    ServerFailedError,
    ServerNote,
    ask_cancel,
    ask_progress,
    ask_server,
    home_path,
    read_note,
    remove_note,
    write_note,
)

__all__ = [
    "NoServerError",
    "ServerFailedError",
    "ServerNote",
    "ask_cancel",
    "ask_progress",
    "ask_server",
    "home_path",
    "read_note",
    "remove_note",
    "write_note",
]
