"""A stranger in real Chromium: deep link, upload, details, every page, share, open elsewhere, revoke."""

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.app_server import here_json
from tests.browser.server import Server
from tests.browser.steps import LOAD_MS, choose, click, no_failure, settled
from tests.examples import in_turn
from tests.samples import verl_log

pytestmark = pytest.mark.browser
RUN = "grpo-sample"
CHARTED = {
    "/": "Overview",
    "/rollouts": "Rollouts",
    "/intelligence": "Intelligence per dollar",
    "/generations": "Platform generations",
    "/hardware": "Hardware and prices",
}


@pytest.fixture(scope="module")
def page(browser: Browser, server: Server) -> Iterator[Page]:
    """One visitor whose very first request is a deep link."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.set_default_timeout(LOAD_MS)
    page.goto(f"{server.url}/telemetry")
    yield page
    context.close()


@pytest.fixture(scope="module")
def run(server: Server, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A priced run beside the example."""
    log = tmp_path_factory.mktemp("journey") / "train.log"
    log.write_text(verl_log(1, 60, run=RUN))
    here_json("import", log, "--platform", "gb300-nvl72", "--gpus", 16, home=server.home)
    return RUN


def test_the_first_deep_link_is_framed_by_the_router(page: Page) -> None:
    expect(page.get_by_role("heading", name="Telemetry")).to_be_visible()
    expect(page.get_by_role("link", name="Overview")).to_be_visible()
    expect(page.get_by_text("Cost boundary").first).to_be_visible()
    assert page.get_by_text("Page not found").count() == 0


def test_upload_a_log_and_fill_in_what_it_cannot_know(page: Page, server: Server, tmp_path: Path) -> None:
    page.goto(f"{server.url}/telemetry")
    log = tmp_path / "by-hand.log"
    log.write_text(verl_log(1, 50, run="by-hand"))
    page.locator("input[type=file]").first.set_input_files(str(log))
    expect(page.get_by_text("50 records = 50 stored + 0 set aside + 0 ignored")).to_be_visible(
        timeout=LOAD_MS
    )
    expect(page.get_by_text("choose one").first).to_be_visible()
    choose(page, "Platform", "GB300 NVL72")
    click(
        page.get_by_role("button", name="Save run details"),
        page.get_by_text(re.compile(r"samples cost at least \$\d")),
    )
    click(
        page.get_by_role("button", name="Overview of this run"),
        page.get_by_role("heading", name="Ledger", exact=True),
    )
    settled(page)
    chosen = page.get_by_test_id("stSidebar").get_by_test_id("stMultiSelect").first
    expect(chosen.locator("[data-tag]")).to_have_count(1)
    expect(chosen).to_contain_text("by-hand")
    expect(page.get_by_test_id("stMain")).not_to_contain_text("h100-sync")
    assert parse_qs(urlsplit(page.url).query)["runs"] == ["by-hand"]
    back = page.get_by_role("heading", name="Telemetry", exact=True)
    click(page.get_by_role("button", name="Fill in run details"), back)
    settled(page)
    no_failure(page)
    assert parse_qs(urlsplit(page.url).query)["runs"] == ["by-hand"]


@pytest.mark.parametrize("path", in_turn(CHARTED, of=5), ids=list(CHARTED.values()))
def test_every_page_shows_charts_of_a_run(page: Page, server: Server, run: str, path: str) -> None:
    title = CHARTED[path]
    page.goto(f"{server.url}{path}?runs={run}")
    expect(page.get_by_role("heading", name=title, exact=True)).to_be_visible()
    page.wait_for_selector(".js-plotly-plot .main-svg")
    settled(page)
    no_failure(page)
    drawn = page.evaluate(
        "[...document.querySelectorAll('.js-plotly-plot')].map("
        "p => p.querySelectorAll('.trace, .point, .heatmaplayer image, .bars path').length)"
    )
    assert drawn, title
    assert all(drawn), (title, drawn)
    assert f"runs={run}" in page.url


@pytest.mark.full
def test_utilisation_says_what_is_missing_and_shows_the_example(page: Page, server: Server, run: str) -> None:
    page.goto(f"{server.url}/utilisation?runs={run}")
    expect(page.get_by_role("heading", name="GPU utilisation", exact=True)).to_be_visible()
    settled(page)
    no_failure(page)
    page.goto(f"{server.url}/utilisation?runs=h100-sync")
    page.wait_for_selector(".js-plotly-plot .main-svg")
    settled(page)
    no_failure(page)


def test_a_copied_address_shows_the_same_view(browser: Browser, server: Server, run: str) -> None:
    other = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
    other.goto(f"{server.url}/?runs={run}&price=on_demand.hyperscaler&boundary=compute")
    answer = other.get_by_text(re.compile(r"cost at least \$\d.*on-demand hyperscaler rent, compute"))
    expect(answer.first).to_be_visible()
    assert "price=on_demand.hyperscaler" in other.url
    expect(other.get_by_role("combobox", name=re.compile("Price"))).to_have_value("on demand · hyperscaler")
    other.goto(f"{server.url}/?runs=never-ran&price=free.lunch")
    expect(other.get_by_text("never-ran").first).to_be_visible()
    expect(other.get_by_text("free.lunch").first).to_be_visible()
    other.context.close()


@pytest.mark.full
def test_share_open_elsewhere_revoke(page: Page, browser: Browser, server: Server, run: str) -> None:
    page.goto(f"{server.url}/?runs={run}")
    dialog = page.get_by_role("dialog")
    click(page.get_by_role("button", name="Share"), dialog)
    create = dialog.get_by_role("button", name="Create link")
    click(dialog.get_by_text("Make a link all the same"), create)
    code = dialog.locator("code", has_text="/r/")
    click(create, code)
    address = code.inner_text().strip()

    stranger = browser.new_context().new_page()
    answer = stranger.goto(address)
    assert answer is not None
    assert answer.status == 200
    stranger.wait_for_selector(".main-svg", timeout=LOAD_MS)
    assert run in stranger.inner_text("body")

    page.goto(f"{server.url}/links")
    expect(page.get_by_role("heading", name="Links", exact=True)).to_be_visible()
    sure = page.get_by_role("button", name="Revoke for good")
    click(page.get_by_role("button", name="Revoke", exact=True), sure)
    click(sure, sure, hidden=True)
    settled(page)
    gone = stranger.goto(address)
    unknown = stranger.request.get(f"{server.url}/r/{'x' * 43}")
    assert gone is not None
    assert gone.status == unknown.status == 404
    assert stranger.request.get(address).body() == unknown.body()
    stranger.context.close()
