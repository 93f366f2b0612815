"""Three files of 300 MB at once through the real server: memory stays flat, and a cut one leaves nothing."""

import http.client
import threading
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import requests

from reports.push_tokens import PushTokens
from tests.browser.server import serve
from tests.samples import verl_log

pytestmark = pytest.mark.full
SIZE = 300_000_000
CHUNK = 1 << 20
FLAT_BYTES = 60_000_000


def resident(pid: int) -> int:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * 4096


class Sender(threading.Thread):
    """Sends a file of SIZE bytes but for its last chunk, waits for a word, then ends it or drops the line."""

    def __init__(self, url: str, token: str, number: int) -> None:
        super().__init__(daemon=True)
        self.parts, self.token, self.number = urlsplit(url), token, number
        self.arrived, self.go = threading.Event(), threading.Event()
        self.cut = False
        self.status = 0

    def run(self) -> None:
        link = http.client.HTTPConnection(self.parts.hostname, self.parts.port, timeout=300)
        link.putrequest("POST", f"/api/telemetry?name=big{self.number}.log&run=big{self.number}")
        link.putheader("Authorization", f"Bearer {self.token}")
        link.putheader("Content-Length", str(SIZE))
        link.endheaders()
        body = verl_log(1, 40).encode()
        filler = (b"(worker) nothing that any reader would count, %d\n" % self.number) * 25_000
        sent = 0
        while sent < SIZE - CHUNK:
            piece = body if sent == 0 else filler[: min(CHUNK, SIZE - CHUNK - sent)]
            link.send(piece)
            sent += len(piece)
        self.arrived.set()
        self.go.wait(120)
        if self.cut:
            link.sock.close()
            return
        link.send(b"\n" * (SIZE - sent))
        self.status = link.getresponse().status
        link.close()


def test_memory_is_flat_while_three_large_files_arrive_and_a_cut_one_leaves_nothing(tmp_path: Path) -> None:
    with serve(tmp_path / "home", IPD_EXAMPLE="off", IPD_WARM="off") as server:  # imports are memory, too
        _, token = PushTokens(server.home).create("soak")
        requests.get(server.url, timeout=30)
        before = resident(server.process.pid)
        senders = [Sender(server.url, token, number) for number in range(3)]
        for sender in senders:
            sender.start()
        assert all(sender.arrived.wait(300) for sender in senders)
        grown = resident(server.process.pid) - before
        assert grown < FLAT_BYTES, f"{grown / 1e6:.0f} MB more after 900 MB had arrived"
        senders[2].cut = True
        for sender in senders:
            sender.go.set()
        for sender in senders:
            sender.join(300)
        assert [sender.status for sender in senders] == [200, 200, 0]
        runs = requests.get(f"{server.url}/healthz", timeout=30)
        assert runs.ok
        left = [path.name for path in (server.home / "spool").rglob("*") if path.is_file()]
        assert left == []
        originals = [p for p in (server.home / "originals").rglob("*") if p.is_file()]
        assert sorted(p.stat().st_size for p in originals) == [SIZE, SIZE]
