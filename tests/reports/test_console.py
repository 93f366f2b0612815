import threading
import time

import pytest
from starlette.applications import Starlette

from data.errors import UserError
from reports.console import console_routes
from reports.uploads import cancel_job, find_job
from tests.reports.live import ask, served

SECRET = "s3cret"


def run(command, arguments, progress):
    if command == "refuse":
        raise UserError("No", "here", "Do that.")
    if command == "break":
        raise RuntimeError("/secret/path")
    if command == "long":
        for done in range(1_000):
            progress("working", done, 1_000)
            time.sleep(0.01)
    return {"command": command, **arguments}


@pytest.fixture(scope="module")
def site():
    with served(Starlette(routes=console_routes(lambda: SECRET, run))) as address:
        yield address


def post(site, command, secret=SECRET, **more):
    headers = {"Authorization": f"Bearer {secret}"}
    return ask("POST", site + "/api/cli", json={"command": command, **more}, headers=headers)


def test_answers_and_refusals_come_back(site):
    assert post(site, "x", arguments={"a": 1}).json() == {"answer": {"command": "x", "a": 1}}
    assert post(site, "refuse").json()["error"] == {
        "kind": "UserError",
        "what": "No",
        "where": "here",
        "remedy": "Do that.",
    }


def test_a_failure_shows_no_inside(site):
    reply = post(site, "break")
    assert reply.status_code == 500
    assert "/secret" not in reply.text


@pytest.mark.parametrize("secret", ["", "x", SECRET + "x", SECRET.upper()])
def test_only_the_secret_lets_in(site, secret):
    assert post(site, "x", secret).status_code == 401


def test_without_a_secret_nobody_gets_in():
    with served(Starlette(routes=console_routes(lambda: None, run))) as address:
        assert post(address, "x", "").status_code == 401
        assert post(address, "x", "None").status_code == 401


def test_long_work_can_be_cancelled(site):
    replies = []
    worker = threading.Thread(target=lambda: replies.append(post(site, "long", job="console-long").json()))
    worker.start()
    deadline = time.monotonic() + 10
    while find_job("console-long") is None and time.monotonic() < deadline:
        time.sleep(0.01)
    assert cancel_job("console-long")
    worker.join(10)
    assert replies[0]["error"]["what"] == "Cancelled; nothing was stored"
