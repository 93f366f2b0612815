"""What would a measured run be on Vera Rubin, and at what price does moving pay? Asked in a real browser."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.server import Server
from tests.browser.steps import LOAD_MS, TRY_MS, click, no_failure, settled, until

pytestmark = pytest.mark.browser
QUOTE = "Vera Rubin NVL72, USD a GPU-hour"


@pytest.fixture(scope="module")
def page(browser: Browser, server: Server) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.set_default_timeout(LOAD_MS)
    page.goto(f"{server.url}/generations?pr_run=h100-sync")
    settled(page)
    yield page
    context.close()


def words_of(page: Page, chart: str) -> str:
    """Words that stand in a drawn chart."""
    place = page.locator(f".st-key-projection_{chart} .js-plotly-plot")
    place.locator(".main-svg").first.wait_for(timeout=LOAD_MS)
    return " ".join(place.locator("text").all_text_contents())


def open_quotes(page: Page) -> None:
    """Open the box of quotes unless it is open."""
    field = page.get_by_label(QUOTE).first
    if not field.is_visible():
        page.get_by_role("button", name=re.compile("quotes")).first.click(timeout=TRY_MS)
    field.wait_for(timeout=TRY_MS)


def enter(page: Page, usd: str, verdict: str) -> None:
    """Type a quote until the break-even chart judges it."""
    field = page.get_by_label(QUOTE).first

    def typed() -> None:
        settled(page)
        open_quotes(page)
        field.fill(usd, timeout=TRY_MS)
        field.press("Enter", timeout=TRY_MS)

    judged = page.locator(".st-key-projection_breakeven text", has_text=verdict)
    until(typed, judged, name=f"{usd} {verdict}")
    settled(page)


def test_the_page_opens_with_an_answer_and_its_charts(page: Page) -> None:
    expect(page.get_by_role("heading", name="Platform generations", exact=True)).to_be_visible()
    expect(page.get_by_text(re.compile(r"h100-sync takes .* s a step")).first).to_be_visible()
    assert "H100 SXM" in words_of(page, "phases")
    expect(page.get_by_role("heading", name="Published runs", exact=True)).to_be_visible()
    no_failure(page)


@pytest.mark.full
def test_vera_rubin_alone(page: Page) -> None:
    box = page.get_by_role("combobox", name="Platforms", exact=True).last
    picked = page.locator(".st-key-pr_equal, .stMultiSelect").get_by_text("Vera Rubin NVL72").first

    def pick() -> None:
        settled(page)
        box.click(timeout=TRY_MS)
        box.press_sequentially("Vera Rubin", timeout=TRY_MS)
        page.get_by_role("option", name="Vera Rubin NVL72").first.click(timeout=TRY_MS)
        page.keyboard.press("Escape")

    ends = re.compile(r"pr_on=Vera")
    until(pick, picked, name="Vera Rubin in the list of platforms")
    expect(page).to_have_url(ends, timeout=LOAD_MS)
    settled(page)
    drawn = words_of(page, "phases")
    assert "Vera Rubin NVL72" in drawn and "H100 SXM" in drawn


def test_a_quote_changes_the_verdict(page: Page) -> None:
    enter(page, "0.1", "$0.100 pays")
    enter(page, "900", "$900 does not pay")
    assert "pr_q_vera-rubin-nvl72=900" in page.url
    no_failure(page)


@pytest.mark.full
def test_the_copied_address_shows_the_same_to_another(page: Page, browser: Browser) -> None:
    other = browser.new_context(viewport={"width": 390, "height": 844}).new_page()
    other.goto(page.url)
    judged = other.locator(".st-key-projection_breakeven text", has_text="$900 does not pay")
    judged.first.wait_for(timeout=LOAD_MS)
    no_failure(other)
    other.context.close()


@pytest.mark.full
def test_the_view_is_shared_as_a_report(page: Page, browser: Browser) -> None:
    dialog = page.get_by_role("dialog")
    click(page.get_by_role("button", name="Share").first, dialog.get_by_text("a link opens for nobody else"))
    create = dialog.get_by_role("button", name="Create link")
    click(dialog.get_by_text("Make a link all the same"), create)
    code = dialog.locator("code", has_text="/r/")
    click(create, code)
    stranger = browser.new_context().new_page()
    answer = stranger.goto(code.inner_text().strip())
    assert answer is not None
    assert answer.status == 200
    stranger.wait_for_selector(".main-svg", timeout=LOAD_MS)
    body = stranger.inner_text("body")
    assert "h100-sync" in body and "Vera Rubin NVL72" in body
    stranger.context.close()
