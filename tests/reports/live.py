"""A real HTTP server in a thread, for routes that a test client would treat too kindly."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import requests
import uvicorn


@contextmanager
def served(app) -> Iterator[str]:
    """Serve an ASGI app on a free loopback port; gives its address."""
    sock = socket.socket()
    sock.bind(("127.0.0.1", 0))
    config = uvicorn.Config(
        app, log_level="error", access_log=False, timeout_graceful_shutdown=2, lifespan="off"
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [sock]}, daemon=True)
    thread.start()
    deadline = time.monotonic() + 10
    while not server.started and time.monotonic() < deadline:
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{sock.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(10)
        sock.close()


def ask(method: str, url: str, **more) -> requests.Response:
    """One request without proxies."""
    with requests.Session() as session:
        session.trust_env = False
        return session.request(method, url, timeout=30, **more)
