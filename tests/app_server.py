"""The real application and command line as processes of their own, on a home and a port of their own.

`here` is the command line in this process: the same answers without two seconds of imports for each.
"""

import io
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import requests

import cli as command_line
from data import store as stores

ROOT = Path(__file__).resolve().parents[1]
START_SECONDS = 60
STOP_SECONDS = 20


@dataclass
class Running:
    """A server process: where it answers and what it has said."""

    process: subprocess.Popen
    url: str
    log: Path

    def stop(self, how: int = signal.SIGTERM) -> int:
        """Stop it and return its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(how)
        return self.process.wait(STOP_SECONDS)


def free_port() -> int:
    """A loopback port that nobody listens on at this moment."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


def environment(**more: str) -> dict[str, str]:
    """The environment of a child: ours without what would change its answers."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("IPD_", "STREAMLIT_"))}
    return {**kept, "IPD_EXAMPLE": "off", "IPD_WARM": "off", **more}


def cli(*arguments: object, home: Path | None = None, **env: str) -> subprocess.CompletedProcess[str]:
    """Run the command line to its end."""
    at = {"IPD_HOME": str(home)} if home else {}
    return subprocess.run(
        [sys.executable, str(ROOT / "cli.py"), *map(str, arguments)],
        env=environment(**at, **env),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def here(*arguments: object, home: Path | None = None, **env: str) -> subprocess.CompletedProcess[str]:
    """Run the command line in this process; it closes the homes that it opened."""
    at = {"IPD_HOME": str(home)} if home else {}
    out, err = io.StringIO(), io.StringIO()
    held = set(stores._open_stores)
    child = patch.dict(os.environ, environment(**at, **env), clear=True)
    with child, chdir(Path.cwd()), redirect_stdout(out), redirect_stderr(err):
        try:
            code = command_line.main([*map(str, arguments)])
        except SystemExit as end:
            code = end.code
        finally:
            for opened in set(stores._open_stores) - held:
                stores._open_stores[opened].close()
    return subprocess.CompletedProcess(list(map(str, arguments)), code, out.getvalue(), err.getvalue())


def here_json(*arguments: object, home: Path | None = None, **env: str) -> dict:
    """Run the command line in this process with --json; its answer."""
    done = here(*arguments, "--json", home=home, **env)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def cli_json(*arguments: object, home: Path | None = None, **env: str) -> dict:
    """Run the command line with --json; its answer."""
    done = cli(*arguments, "--json", home=home, **env)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def start(home: Path, *arguments: str, folder: Path, **env: str) -> Running:
    """Start `cli.py serve …` and return at once."""
    port = free_port()
    log = folder / f"server-{port}.log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            [
                sys.executable,
                str(ROOT / "cli.py"),
                "serve",
                "--port",
                str(port),
                "--home",
                str(home),
                *arguments,
            ],
            env=environment(**env),
            stdout=out,
            stderr=subprocess.STDOUT,
        )
    return Running(process, f"http://127.0.0.1:{port}", log)


def wait_until_up(server: Running, path: str = "/healthz") -> None:
    """Wait until it answers; fails with its log when it ends before."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        assert server.process.poll() is None, server.log.read_text()
        try:
            if get(server.url + path).status_code == 200:
                return
        except requests.ConnectionError:
            time.sleep(0.1)
    raise AssertionError(f"no answer in {START_SECONDS} s: {server.log.read_text()}")


@contextmanager
def app(home: Path, folder: Path, *arguments: str, **env: str) -> Iterator[Running]:
    """The server for the length of a block."""
    server = start(home, *arguments, folder=folder, **env)
    try:
        wait_until_up(server)
        yield server
    finally:
        if server.process.poll() is None:
            server.process.terminate()
            try:
                server.process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                server.process.kill()
                server.process.wait(STOP_SECONDS)


def request(method: str, url: str, **more) -> requests.Response:
    """One request without proxies."""
    with requests.Session() as session:
        session.trust_env = False
        return session.request(method, url, timeout=60, **more)


def get(url: str, **more) -> requests.Response:
    """GET without proxies."""
    return request("GET", url, **more)
