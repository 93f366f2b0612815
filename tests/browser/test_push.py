"""A job pushes with a token made on the page; an open page shows it without a click."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import requests
from playwright.sync_api import Browser, expect

from tests.browser.server import Server, serve
from tests.browser.steps import LOAD_MS, click
from tests.samples import verl_log

pytestmark = pytest.mark.browser
LOOP = """
for step in range(1, 13):
    pusher.log(step, {"timing_s/step": 10.0 + step, "timing_s/gen": 6.0, "timing_s/update_actor": 3.0,
                      "perf/total_num_tokens": 90000 + step, "critic/rewards/mean": step / 100})
pusher.send()
"""


@pytest.fixture(scope="module")
def watched(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("watched")


@pytest.fixture(scope="module")
def app(tmp_path_factory, watched):
    with serve(
        tmp_path_factory.mktemp("push") / "home", IPD_EXAMPLE="off", IPD_WARM="off", IPD_WATCH=str(watched)
    ) as server:
        yield server


@pytest.fixture(scope="module")
def page(browser: Browser, app: Server):
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.set_default_timeout(LOAD_MS)
    yield page
    context.close()


@pytest.fixture(scope="module")
def pasted(page, app) -> tuple[str, str]:
    """(token, Python lines) as a person copies them from the page."""
    page.goto(f"{app.url}/telemetry")
    name = page.get_by_label("Name of the token")
    click(page.get_by_role("button", name="Push from a job"), name)
    name.fill("nightly")
    page.get_by_role("button", name="Create a token").click()
    secret = page.get_by_text(re.compile(r"^ipd_[\w-]{43}$")).first
    expect(secret).to_be_visible()
    token = secret.inner_text().strip()
    page.get_by_role("tab", name="Python").click()
    code = page.locator("[data-testid=stCode] code", has_text="class Pusher").inner_text()
    page.get_by_role("button", name="I have copied it").click()
    expect(page.get_by_text(token)).to_have_count(0)
    return token, code


def test_the_lines_on_the_page_run_and_an_open_page_shows_the_run(page, app, pasted):
    token, code = pasted
    assert len(code.strip().splitlines()) <= 20
    page.goto(app.url)
    empty = page.get_by_text("Nothing is loaded yet").first
    expect(empty).to_be_visible()
    env = {**os.environ, "IPD_TOKEN": token, "no_proxy": "127.0.0.1"}
    subprocess.run([sys.executable, "-c", code + LOOP], env=env, check=True, timeout=120)
    expect(empty).to_be_hidden()
    page.goto(f"{app.url}/rollouts?runs=nightly-42")
    expect(page.get_by_text("12 steps").first).to_be_visible()


def test_a_whole_file_goes_with_curl_parameters_and_again_without_harm(app, pasted):
    token, _ = pasted
    address = f"{app.url}/api/telemetry?name=train.log&run=console-7&gpus=8"
    replies = [
        requests.post(address, data=verl_log(1, 20).encode(), headers={"Authorization": f"Bearer {token}"})
        for _ in range(2)
    ]
    assert [reply.status_code for reply in replies] == [200, 200]
    first, second = (reply.json() for reply in replies)
    assert (first["runs"], first["duplicate_of"], first["stored"]) == (["console-7"], None, 20)
    assert second["duplicate_of"] == first["upload_id"]


def test_a_revoked_token_is_refused_at_once(page, app, pasted):
    token, _ = pasted
    page.goto(f"{app.url}/telemetry")
    revoke = page.get_by_role("button", name="Revoke")
    click(page.get_by_role("button", name="Push from a job"), revoke)
    click(revoke, page.get_by_text("Live tokens"), hidden=True)
    reply = requests.post(
        f"{app.url}/api/telemetry?name=a.csv", data=b"x", headers={"Authorization": f"Bearer {token}"}
    )
    assert reply.status_code == 401
    assert "revoked" in reply.json()["error"]["what"]


@pytest.mark.full
def test_a_file_that_lands_in_the_watched_folder_is_loaded(page, app, watched):
    (watched / "landed.log").write_text(verl_log(1, 15, run="landed-9"))
    page.goto(f"{app.url}/telemetry")
    expect(page.get_by_text("1 load, 0 refusals")).to_be_visible()
    page.goto(f"{app.url}/rollouts?runs=landed-9")
    expect(page.get_by_text("does not hold")).to_have_count(0)
    expect(page.locator(".js-plotly-plot").first).to_be_visible()
