"""The server: `streamlit run app.py` finds `app`. Pages live in pages/, routes and guards in reports/."""

import os
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import streamlit as st
from anyio import to_thread
from starlette.middleware import Middleware
from streamlit import config, file_util
from streamlit.runtime.secrets import secrets_singleton

from data.errors import UserError
from data.readers.base import Choices, Progress, no_progress
from data.store import Store, get_store
from pages.parts import failure
from pages.parts.warm import warm
from reports import jobs
from reports.console import console_routes
from reports.home import ServerNote, home_path, remove_note, write_note
from reports.live_links import COMMAND, Computed, answer_server
from reports.middleware import (
    OpenAddressError,
    SecurityHeaders,
    TrustedHosts,
    check_address,
    open_to_all,
    trusted_hosts,
)
from reports.push_tokens import PushTokens
from reports.receive import Uploads
from reports.serve import report_routes
from reports.static_memory import StaticFromMemory
from reports.watch import receipt_line, start_watching, stop_watching

UNDER_STREAMLIT = ("starlette-app", "starlette-app-direct")


class Server:
    """What the routes share: the open store and the note that the command line reads."""

    def __init__(self) -> None:
        self.store: Store | None = None
        self.note: ServerNote | None = None
        self.live = Computed(self.opened)

    def opened(self) -> Store:
        """Return the store; opens it when the server was started without its lifespan."""
        if self.store is None:
            self.store = get_store(home_path())
        return self.store

    def secret(self) -> str | None:
        """Return the secret of the local endpoint while the server runs."""
        return self.note.secret if self.note else None

    def run(self, command: str, arguments: dict[str, Any], progress: Progress) -> dict[str, Any]:
        """Run a command of the command line, or compute a live report for the server of links."""
        if command == COMMAND:
            return answer_server(self.live, self.opened().home, arguments)
        return jobs.run_command(self.opened(), command, arguments, progress)

    def ingest(self, path: Path, name: str, choices: Choices, progress: Progress) -> dict[str, Any]:
        """Load an uploaded file."""
        return jobs.ingest(self.opened(), path, name, choices, progress)

    def watched(self, path: Path, name: str) -> str:
        """Load a file of the watched folder under its name there; says what came of it."""
        return receipt_line(jobs.ingest(self.opened(), path, name, Choices(), no_progress))

    def may_push(self, secret: str) -> bool:
        """Say whether a push token is live."""
        return PushTokens(self.opened().home).check(secret) is not None

    def original(self, upload_id: str) -> tuple[Path, str] | None:
        """Return the kept bytes of an upload and its name."""
        return jobs.original(self.opened(), upload_id)


server = Server()


@asynccontextmanager
async def lifespan(_: st.App) -> AsyncIterator[dict[str, Any]]:
    """Open the home, fill an empty one with the example, say where the app is; release it at the end."""
    store = await to_thread.run_sync(server.opened)
    await to_thread.run_sync(load_example_once, store)
    port = int(config.get_option("server.port"))
    scheme = "https" if config.get_option("server.sslCertFile") else "http"
    server.note = write_note(store.home, config.get_option("server.address"), port, scheme)
    print(f"Intelligence per Dollar · {server.note.url} · home {store.home}", flush=True)
    watcher = start_watching(server.watched)
    if os.environ.get("IPD_WARM") != "off":
        threading.Thread(target=warm, args=(store,), name="warm", daemon=True).start()
    try:
        yield {}
    finally:
        if watcher is not None:
            await to_thread.run_sync(stop_watching, watcher)
        remove_note(store.home, server.note)
        server.note = None
        await to_thread.run_sync(store.close)
        server.store = None


def load_example_once(store: Store) -> None:
    """Load the bundled example into a home that nobody has used yet, unless IPD_EXAMPLE is `off`."""
    if os.environ.get("IPD_EXAMPLE") == "off" or store.workspace.last_decision_id():
        return
    from data.examples.load import load_example

    print("Loading the bundled example into an empty home …", flush=True)
    try:
        load_example(store)
    except UserError as error:
        print(f"The bundled example was not loaded: {error}", file=sys.stderr, flush=True)


def preflight() -> bool:
    """Return whether others may reach the app; ends the process with a message when it must not start."""
    try:
        allowed = open_to_all(signs_in=_signs_in())
        if config._server_mode in UNDER_STREAMLIT:
            check_address(config.get_option("server.address"), allowed)
            config.set_option("server.allowedHosts", [])  # guards the websocket only; TrustedHosts guards all
            server.opened()
    except UserError as error:
        print(f"Not started: {error}", file=sys.stderr, flush=True)
        sys.exit(1)
    return allowed


def _signs_in() -> bool:
    wanted = secrets_singleton.load_if_toml_exists() and "auth" in secrets_singleton
    if wanted and find_spec("authlib") is None:
        raise OpenAddressError(
            "Sign-in is configured but its library is missing",
            "[auth] in secrets.toml",
            "Install streamlit[auth].",
        )
    return wanted


def _spool() -> Path:
    return server.opened().spool


def _home() -> Path:
    return server.opened().home


OTHERS_ALLOWED = preflight()
app = st.App(
    Path(__file__).parent / "pages" / "router.py",
    lifespan=lifespan,
    on_script_error=failure.show,
    routes=[
        *report_routes(_home, server.live),
        *Uploads(_spool, server.ingest, server.original, server.may_push).routes(),
        *console_routes(server.secret, server.run),
    ],
    middleware=[
        Middleware(SecurityHeaders),
        Middleware(TrustedHosts, hosts=trusted_hosts(), open_to_all=OTHERS_ALLOWED),
        Middleware(StaticFromMemory, folder=file_util.get_static_dir()),
    ],
)
