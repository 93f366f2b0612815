"""Routes, guards and the home of the running application, seen from outside.

The command line runs in this process, and in one of its own where the two are held against each other.
"""

import hashlib
import json
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import threading

import pytest

from reports.middleware import OPEN_WORDS
from tests import app_server as processes
from tests.app_server import app, get, request, start
from tests.app_server import here as cli
from tests.app_server import here_json as cli_json
from tests.samples import verl_log


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("app")


@pytest.fixture(scope="module")
def home(place):
    return place / "home"


@pytest.fixture(scope="module")
def server(place, home):
    with app(home, place, IPD_BASE_URL="https://ipd.example.org/lab") as running:
        yield running


@pytest.fixture(scope="module")
def loaded(place, home, server):
    """A verl log in the home, imported through the server."""
    path = place / "grpo.log"
    path.write_text(verl_log(1, 20))
    return cli_json("import", path, "--platform", "b200-hgx", "--gpus", 16, home=home)["receipts"][0]


def note(home):
    return json.loads((home / "server.json").read_text())


def token(home):
    reply = request(
        "POST",
        note(home)["url"] + "/api/cli",
        json={"command": "upload token"},
        headers={"Authorization": f"Bearer {note(home)['secret']}"},
    )
    return reply.json()["answer"]["token"]


def test_pages_carry_security_headers_and_health_answers(server):
    assert get(server.url + "/healthz").text == "ok\n"
    for path in ("/", "/overview", "/_stcore/health"):
        reply = get(server.url + path)
        assert reply.status_code == 200
        assert reply.headers["X-Content-Type-Options"] == "nosniff"
        assert reply.headers["Content-Security-Policy"] == "frame-ancestors 'self'"
        assert reply.headers["Referrer-Policy"] == "same-origin"


@pytest.mark.parametrize("path", ["/", "/healthz", "/r/x", "/_stcore/stream", "/_stcore/health"])
def test_a_strange_host_is_refused_everywhere(server, path):
    upgrade = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13"}
    upgrade["Sec-WebSocket-Key"] = "AAAAAAAAAAAAAAAAAAAAAA=="
    more = upgrade if path.endswith("stream") else {}
    assert get(server.url + path, headers={"Host": "evil.example", **more}).status_code == 400


def test_the_note_is_for_this_user_only_and_its_secret_is_needed(server, home):
    assert stat.S_IMODE((home / "server.json").stat().st_mode) == 0o600
    assert note(home)["url"] == server.url
    body = {"command": "link list", "arguments": {}}
    for headers in ({}, {"Authorization": "Bearer "}, {"Authorization": "Bearer x"}):
        assert request("POST", server.url + "/api/cli", json=body, headers=headers).status_code == 401


def test_an_upload_streams_in_and_its_receipt_is_the_command_lines(server, home, place):
    data = verl_log(1, 12, run="streamed").encode()
    reply = request(
        "POST",
        server.url + "/api/telemetry",
        params={
            "token": token(home),
            "name": "streamed.log",
            "choices": '{"timezone": "UTC"}',
            "job": "route-1",
        },
        data=data,
    )
    assert reply.status_code == 200
    receipt = reply.json()
    assert receipt["sha256"] == hashlib.sha256(data).hexdigest()
    assert (
        receipt["records"]
        == receipt["stored"] + receipt["quarantined"] + sum(receipt["ignored"].values())
        == 12
    )
    progress = get(server.url + "/api/telemetry/progress", params={"job": "route-1"}).json()
    assert (progress["state"], progress["answer"]["sha256"]) == ("done", receipt["sha256"])
    (place / "again.log").write_bytes(data)
    again = cli_json("import", place / "again.log", home=home)["receipts"][0]
    assert again["duplicate_of"] == receipt["upload_id"]
    assert set(again) == set(receipt)
    assert list((home / "spool").iterdir()) == []


def test_an_upload_that_no_reader_knows_is_refused_with_a_remedy(server, home):
    params = {"token": token(home), "name": "noise.bin"}
    reply = request("POST", server.url + "/api/telemetry", params=params, data=os.urandom(200_000))
    assert reply.status_code == 422
    assert reply.json()["error"]["remedy"]
    assert request("POST", server.url + "/api/telemetry", params=params, data=b"x").status_code == 401
    assert list((home / "spool").iterdir()) == []


def test_eight_uploads_at_once_each_get_their_own_receipt(server, home):
    replies = {}

    def send(number):
        params = {"token": token(home), "name": f"p{number}.log"}
        body = verl_log(1, 10 + number, run=f"parallel-{number}").encode()
        replies[number] = request("POST", server.url + "/api/telemetry", params=params, data=body)

    workers = [threading.Thread(target=send, args=(n,)) for n in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(120)
    assert {n: (r.status_code, r.json().get("records")) for n, r in replies.items()} == {
        n: (200, 10 + n) for n in range(8)
    }


def test_a_link_opens_until_it_is_revoked_here_and_on_the_links_only_server(server, home, place, loaded):
    made = cli_json("link", "create", home=home)
    with app(home, place, "--links-only") as reports:
        first, second = get(server.url + made["path"]), get(reports.url + made["path"])
        assert (first.status_code, second.status_code) == (200, 200)
        picture = re.compile(r'content="https?://[^"]+(?=/r/[^"]+/card\.png")')  # of the server that is asked
        assert picture.sub("", first.text) == picture.sub("", second.text)
        assert len(picture.findall(first.text)) == len(picture.findall(second.text)) > 0
        assert made["report"] in first.text
        assert first.headers["Content-Security-Policy"] == second.headers["Content-Security-Policy"]
        assert first.headers["Content-Security-Policy"].startswith("default-src 'none'; script-src 'sha256-")
        assert get(reports.url + "/").status_code == 404
        assert get(reports.url + "/healthz", headers={"Host": "reports.example.org"}).text == "ok\n"
        listed = cli_json("link", "list", home=home)["links"][0]
        assert (listed["id"], listed["opens"], listed["state"]) == (made["id"], 2, "open")
        cli_json("link", "revoke", made["id"], home=home)
        gone, lost = get(server.url + made["path"]), get(server.url + "/r/" + "A" * 43)
        assert gone.status_code == get(reports.url + made["path"]).status_code == 404
        assert gone.content == lost.content
        assert {**gone.headers, "date": ""} == {**lost.headers, "date": ""}


def test_newer_data_and_a_removed_run_leave_an_open_report_as_it_was(server, home, place):
    path = place / "doomed.log"
    path.write_text(verl_log(1, 5))
    receipt = cli_json("import", path, "--run", "doomed", home=home)["receipts"][0]
    made = cli_json("link", "create", home=home)
    before = get(server.url + made["path"]).text
    assert "doomed" in before
    shutil.rmtree(home / "originals" / receipt["sha256"][:2])
    path.write_text(verl_log(1, 9))
    cli_json("import", path, "--run", "newer", home=home)
    after = get(server.url + made["path"]).text
    assert after == before
    assert "newer" not in after


def test_a_second_server_on_the_home_says_who_holds_it(server, home, place):
    second = start(home, folder=place)
    assert second.process.wait(60) == 1
    said = second.log.read_text()
    assert "Not started" in said
    assert str(server.process.pid) in said
    assert "Traceback" not in said


def test_the_app_does_not_start_where_others_reach_it(place):
    refused = start(place / "open-home", "--host", "0.0.0.0", folder=place)
    assert refused.process.wait(60) == 1
    said = refused.log.read_text()
    assert OPEN_WORDS in said
    assert "--links-only" in said
    assert "Traceback" not in said
    assert not (place / "open-home" / "telemetry.duckdb").exists()


def test_the_server_and_the_plain_process_print_the_same(place):
    home, log = place / "both", place / "both.log"
    log.write_text(verl_log(1, 15))
    asked = [("analyse", "ledger"), ("link", "list"), ("import", log)]
    with app(home, place) as server:
        first = cli_json("import", log, "--platform", "h100-sxm", "--gpus", 16, home=home)
        cli_json("link", "create", "--title", "Both", home=home)
        served = [cli(*a, "--json", home=home) for a in asked]
        served.append(processes.cli(*asked[0], "--json", home=home))
        refused = cli("analyse", "ledger", "--params", '{"price": "x"}', "--json", home=home)
        assert server.stop() in {0, -signal.SIGTERM}
    assert not (home / "server.json").exists()
    alone = [cli(*a, "--json", home=home) for a in asked]
    alone.append(processes.cli(*asked[0], "--json", home=home))
    assert alone[0].stdout == alone[-1].stdout
    assert [(d.returncode, d.stdout, d.stderr) for d in served] == [
        (d.returncode, d.stdout, d.stderr) for d in alone
    ]
    refused_alone = cli("analyse", "ledger", "--params", '{"price": "x"}', "--json", home=home)
    assert (refused.returncode, refused.stdout, refused.stderr) == (
        1,
        refused_alone.stdout,
        refused_alone.stderr,
    )
    other = cli_json("import", log, "--platform", "h100-sxm", "--gpus", 16, home=place / "other")
    assert other == first


def test_a_note_left_by_a_crash_is_passed_over_in_silence(place):
    home = place / "crashed"
    with app(home, place) as server:
        server.stop(signal.SIGKILL)
        assert (home / "server.json").exists()
    done = cli("link", "list", "--json", home=home)
    assert (done.returncode, json.loads(done.stdout), done.stderr) == (0, {"links": []}, "")


def test_a_home_held_by_a_stranger_is_named(place):
    home = place / "held"
    assert cli("link", "list", home=home).returncode == 0
    hold = "import duckdb,sys; c = duckdb.connect(sys.argv[1]); print('held', flush=True); sys.stdin.read()"
    holder = subprocess.Popen(
        [sys.executable, "-c", hold, str(home / "telemetry.duckdb")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        assert holder.stdout.readline() == b"held\n"
        done = cli("analyse", "ledger", "--json", home=home)
        assert done.returncode == 1
        assert json.loads(done.stdout)["error"]["kind"] == "HomeBusyError"
        assert str(holder.pid) in done.stderr
        assert "Traceback" not in done.stderr
    finally:
        holder.communicate()


def test_an_address_in_ipd_base_url_is_trusted_and_builds_links(server, home):
    assert get(server.url + "/healthz", headers={"Host": "ipd.example.org"}).status_code == 200
    made = cli_json("link", "create", home=home)
    assert made["url"] == "https://ipd.example.org/lab" + made["path"]
