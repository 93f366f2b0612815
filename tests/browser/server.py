"""Start the real app on a free loopback port with a home of its own, and stop it again."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import requests

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Server:
    """A running app: its address, home, process and log file."""

    url: str
    home: Path
    process: subprocess.Popen[bytes]
    log: Path


def free_port() -> int:
    """Return a loopback port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def serve(home: Path, timeout_s: float = 90, **environment: str) -> Iterator[Server]:
    """Run `cli.py serve` until the block ends; raises RuntimeError with the log when it does not come up."""
    port = free_port()
    home.mkdir(parents=True, exist_ok=True)
    log = home.parent / f"{home.name}.server.log"
    env = {**os.environ, "IPD_HOME": str(home), **environment}
    with log.open("wb") as sink:
        process = subprocess.Popen(
            [sys.executable, str(ROOT / "cli.py"), "serve", "--port", str(port)],
            cwd=ROOT,
            env=env,
            stdout=sink,
            stderr=subprocess.STDOUT,
        )
    server = Server(f"http://127.0.0.1:{port}", home, process, log)
    try:
        _wait_until_up(server, timeout_s)
        yield server
    finally:
        process.terminate()
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(5)


def _wait_until_up(server: Server, timeout_s: float) -> None:
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        if server.process.poll() is not None:
            break
        try:
            if requests.get(f"{server.url}/healthz", timeout=2).ok:
                return
        except (requests.ConnectionError, requests.Timeout):
            time.sleep(0.2)
    raise RuntimeError(
        f"the app did not come up; its log says:\n{server.log.read_text(errors='replace')[-4000:]}"
    )
