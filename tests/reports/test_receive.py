import hashlib
import json
import socket
import threading
import time
from urllib.parse import urlsplit

import pytest
from starlette.applications import Starlette

from data.errors import UnreadableFileError
from reports import receive
from reports.receive import Uploads
from reports.uploads import issue_token, original_url, redeem_token
from tests.reports.live import ask, served


class Sink:
    """Stands for the ingest: notes what came, behaves as told."""

    def __init__(self):
        self.seen = []
        self.gate = threading.Event()
        self.gate.set()
        self.fails = None

    def __call__(self, path, name, choices, progress):
        progress("reading", 1, 10)
        self.gate.wait(10)
        progress("reading", 2, 10)
        if self.fails:
            raise self.fails
        data = path.read_bytes()
        self.seen.append((name, choices, data))
        return {"file": name, "sha256": hashlib.sha256(data).hexdigest()}


@pytest.fixture
def sink():
    return Sink()


@pytest.fixture
def spool(tmp_path):
    return tmp_path / "spool"


@pytest.fixture
def site(sink, spool, tmp_path):
    spool.mkdir()
    kept = tmp_path / "kept"
    kept.write_bytes(b"raw")
    uploads = Uploads(
        lambda: spool,
        sink,
        lambda uid: (kept, "nvidia smi.csv") if uid == "aa" else None,
        lambda secret: secret == "ipd_live",
    )
    with served(Starlette(routes=uploads.routes())) as address:
        yield address


def send(site, body=b"step,reward\n1,0.5\n", token=None, **query):
    params = {"token": issue_token() if token is None else token, "name": "a.csv", **query}
    return ask("POST", f"{site}/api/telemetry", params=params, data=body)


def test_a_file_arrives_whole_and_its_receipt_comes_back(site, sink, spool):
    reply = send(site, name="../../läufe\x00.csv", choices='{"gpus": 8, "timezone": "UTC", "run": ""}')
    assert reply.status_code == 200
    assert reply.json()["sha256"] == hashlib.sha256(b"step,reward\n1,0.5\n").hexdigest()
    name, choices, _ = sink.seen[0]
    assert (name, choices.gpus, choices.timezone, choices.run) == ("läufe.csv", 8, "UTC", None)
    assert list(spool.iterdir()) == []


def test_chunked_bodies_arrive_too(site, sink):
    assert send(site, body=(bytes([65 + i]) * 70_000 for i in range(20))).status_code == 200
    assert len(sink.seen[0][2]) == 1_400_000


@pytest.mark.parametrize("token", ["", "x", "A" * 43])
def test_without_a_token_nothing_is_taken(site, sink, token):
    reply = send(site, token=token)
    assert (reply.status_code, sink.seen) == (401, [])
    assert reply.json()["error"]["remedy"]


def test_a_token_is_good_once(site, sink):
    token = issue_token()
    assert [send(site, token=token).status_code for _ in range(2)] == [200, 401]
    assert len(sink.seen) == 1


def test_tokens_have_a_purpose_a_number_of_uses_and_an_end():
    many = issue_token(uses=2)
    assert [redeem_token(many) for _ in range(3)] == [True, True, False]
    assert not redeem_token(issue_token("original:aa"))
    assert not redeem_token(issue_token(ttl_s=-1))


def test_an_announced_length_over_the_limit_is_refused_before_the_body(site, sink, monkeypatch):
    monkeypatch.setenv("IPD_MAX_UPLOAD_MB", "1")
    reply = send(site, body=b"x" * 1_000_001)
    assert (reply.status_code, sink.seen) == (413, [])
    assert "IPD_MAX_UPLOAD_MB" in reply.json()["error"]["remedy"]


def test_a_stream_over_the_limit_is_cut_and_leaves_nothing(site, sink, spool, monkeypatch):
    monkeypatch.setenv("IPD_MAX_UPLOAD_MB", "1")
    assert send(site, body=(b"x" * 100_000 for _ in range(11))).status_code == 413
    assert (sink.seen, list(spool.iterdir())) == ([], [])


def test_a_refused_file_says_what_where_and_remedy(site, sink, spool):
    sink.fails = UnreadableFileError("No step line", "a.csv line 3", "Send a verl log.")
    reply = send(site, job="job-refused")
    assert reply.status_code == 422
    assert reply.json()["error"] == {
        "kind": "UnreadableFileError",
        "what": "No step line",
        "where": "a.csv line 3",
        "remedy": "Send a verl log.",
    }
    seen = ask("GET", f"{site}/api/telemetry/progress", params={"job": "job-refused"}).json()
    assert (seen["state"], seen["error"]["what"]) == ("failed", "No step line")
    assert list(spool.iterdir()) == []


@pytest.mark.parametrize(
    ("choices", "status"),
    [("{", 400), ("[]", 400), ('{"gpus": 0}', 422), ('{"gpus": "8"}', 422), ('{"gpus": true}', 422),
     ('{"colour": "red"}', 422), ('{"timezone": "Mars/Olympus"}', 422), ('{"columns": {"a": 1}}', 422)],
)  # fmt: skip
def test_wrong_choices_are_refused_before_the_body_is_kept(site, sink, choices, status):
    assert (send(site, choices=choices).status_code, sink.seen) == (status, [])


def test_progress_and_cancel(site, sink, spool):
    sink.gate.clear()
    replies = []
    worker = threading.Thread(target=lambda: replies.append(send(site, job="job-slow")))
    worker.start()
    deadline = time.monotonic() + 10
    seen = {}
    while seen.get("stage") != "reading" and time.monotonic() < deadline:
        seen = ask("GET", f"{site}/api/telemetry/progress", params={"job": "job-slow"}).json()
    assert (seen["state"], seen["done"], seen["total"]) == ("running", 1, 10)
    assert ask("POST", f"{site}/api/telemetry/cancel", params={"job": "job-slow"}).json() == {
        "cancelled": True
    }
    sink.gate.set()
    worker.join(10)
    assert replies[0].status_code == 409
    assert (
        ask("GET", f"{site}/api/telemetry/progress", params={"job": "job-slow"}).json()["state"]
        == "cancelled"
    )
    assert (sink.seen, list(spool.iterdir())) == ([], [])
    assert ask("POST", f"{site}/api/telemetry/cancel", params={"job": "none"}).json() == {"cancelled": False}


def test_a_taken_job_id_is_refused(site, sink):
    assert send(site, job="job-twice").status_code == 200
    assert send(site, job="job-twice").status_code == 409
    assert len(sink.seen) == 1


def raw(site, head, body=b""):
    where = urlsplit(site)
    client = socket.create_connection((where.hostname, where.port), 10)
    client.sendall(head.encode() + body)
    return client


def head(length):
    return (
        f"POST /api/telemetry?token={issue_token()}&job=raw-{time.monotonic_ns()} HTTP/1.1\r\n"
        f"Host: localhost\r\nContent-Length: {length}\r\n\r\n"
    )


def test_a_stalled_sender_is_let_go(site, sink, spool, monkeypatch):
    monkeypatch.setattr(receive, "CHUNK_SECONDS", 0.3)
    client = raw(site, head(100), b"half")
    started = time.monotonic()
    answer = client.recv(4_096)
    assert b" 408 " in answer.split(b"\r\n")[0]
    assert time.monotonic() - started < 5
    assert (sink.seen, list(spool.iterdir())) == ([], [])
    client.close()


def test_a_sender_that_hangs_up_leaves_nothing(site, sink, spool):
    client = raw(site, head(100), b"half")
    deadline = time.monotonic() + 5
    while not list(spool.iterdir()) and time.monotonic() < deadline:
        time.sleep(0.01)
    client.close()
    while list(spool.iterdir()) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert (sink.seen, list(spool.iterdir())) == ([], [])


def test_an_unforeseen_failure_is_no_receipt_and_shows_no_inside(site, sink, spool):
    sink.fails = RuntimeError("/secret/path")
    reply = send(site, job="job-broken")
    assert reply.status_code == 500
    assert "/secret" not in reply.text
    seen = ask("GET", f"{site}/api/telemetry/progress", params={"job": "job-broken"})
    assert seen.json()["state"] == "failed"
    assert "/secret" not in seen.text
    assert list(spool.iterdir()) == []


def test_originals_come_back_once_and_only_to_whom_they_were_offered(site):
    url = site + original_url("aa")
    reply = ask("GET", url)
    assert (reply.status_code, reply.content) == (200, b"raw")
    assert reply.headers["Content-Disposition"].startswith("attachment")
    assert ask("GET", url).status_code == 404
    assert ask("GET", f"{site}/api/original/aa?token={issue_token()}").status_code == 404
    assert ask("GET", site + original_url("bb")).status_code == 404


def test_errors_are_json_everywhere(site):
    for reply in (send(site, token="x"), ask("GET", f"{site}/api/telemetry/progress")):
        assert set(json.loads(reply.text)["error"]) == {"kind", "what", "where", "remedy"}


def push(site, secret, body=b"step,reward\n1,0.5\n", scheme="Bearer", **query):
    params = {"name": "metrics.jsonl", **query}
    headers = {"Authorization": f"{scheme} {secret}"}
    return ask("POST", f"{site}/api/telemetry", params=params, data=body, headers=headers)


def test_a_job_pushes_with_its_token_and_says_the_run_in_the_address(site, sink):
    reply = push(site, "ipd_live", scheme="bearer", run="nightly", gpus="16", timezone="UTC")
    assert reply.status_code == 200
    name, choices, data = sink.seen[0]
    assert (name, choices.run, choices.gpus, choices.timezone) == ("metrics.jsonl", "nightly", 16, "UTC")
    assert data == b"step,reward\n1,0.5\n"


def test_a_push_token_serves_again_and_again(site, sink):
    assert [push(site, "ipd_live").status_code for _ in range(3)] == [200, 200, 200]
    assert len(sink.seen) == 3


def test_a_dead_push_token_opens_nothing_even_with_a_page_token_beside_it(site, sink):
    reply = push(site, "ipd_dead", token=issue_token())
    assert (reply.status_code, sink.seen) == (401, [])
    assert reply.headers["www-authenticate"] == "Bearer"
    assert "Push from a job" in reply.json()["error"]["remedy"]


@pytest.mark.parametrize("query", [{"gpus": "many"}, {"gpus": "0"}, {"rum": "typo"}, {"timezone": "Mars"}])
def test_a_push_with_a_wrong_choice_is_refused_in_words(site, sink, query):
    reply = push(site, "ipd_live", **query)
    assert reply.status_code == 422
    assert reply.json()["error"]["what"]
    assert sink.seen == []
