"""From a measured run to racks on three platforms: weekly, by Sunday, 95 %; and a scenario that is shared."""

import re
from collections.abc import Iterator
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.server import Server
from tests.browser.steps import LOAD_MS, TRY_MS, choose, click, no_failure, settled, until
from tests.examples import PROFILE

pytestmark = pytest.mark.browser
PLATFORMS = ("H100 SXM", "GB200 NVL72", "GB300 NVL72")
BY_HAND = 3 if PROFILE == "full" else 1
"""So many platforms are clicked, the others stand in the address: every click draws the page again."""


@pytest.fixture(scope="module")
def page(browser: Browser, server: Server) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.set_default_timeout(LOAD_MS)
    at = "".join(f"&ca_on={quote(platform)}" for platform in PLATFORMS[:-BY_HAND])
    page.goto(f"{server.url}/capacity?ca_run=h100-sync&ca_day=Friday{at}")
    settled(page)
    yield page
    context.close()


def answer(page: Page) -> str:
    settled(page)
    return " ".join(page.locator(".st-key-answer_cadence").inner_text().split())


def pick(page: Page, platform: str) -> None:
    box = page.get_by_role("combobox", name="Platforms", exact=True).last
    picked = page.locator(".stMultiSelect").get_by_text(platform, exact=True).first

    def act() -> None:
        settled(page)
        box.click(timeout=TRY_MS)
        box.press_sequentially(platform, timeout=TRY_MS)
        page.get_by_role("option", name=platform).first.click(timeout=TRY_MS)
        page.keyboard.press("Escape")

    until(act, picked, name=f"{platform} in the list of platforms")


def test_weekly_by_sunday_with_95_percent_is_racks_on_three_platforms(page: Page) -> None:
    expect(page.get_by_role("heading", name="Capacity", exact=True)).to_be_visible()
    for platform in PLATFORMS[-BY_HAND:]:
        pick(page, platform)
    for label, option in (("Done by", "Sunday"), ("How often", "weekly"), ("At (UTC)", "18:00"))[:BY_HAND]:
        choose(page, label, option)
    sure = page.get_by_label("Certainty to finish in time (%)", exact=True).first
    typed = re.compile(r"ca_sure=95\b")

    def fill() -> None:
        settled(page)
        sure.fill("95", timeout=TRY_MS)
        sure.press("Enter", timeout=TRY_MS)
        expect(page).to_have_url(typed, timeout=TRY_MS)

    until(fill, page.locator(".st-key-capacity_probability .main-svg"), name="95 % in the address")
    expect(page).to_have_url(typed)
    said = answer(page)
    assert "Weekly, by Sunday 18:00" in said
    assert "rack" in said or "GPUs" in said
    assert "$" in said
    assert all(platform in said for platform in PLATFORMS), said
    drawn = page.locator(".st-key-capacity_probability text").all_text_contents()
    assert any("wanted 95 %" in text for text in drawn)
    no_failure(page)


def test_the_view_is_saved_held_against_twice_the_steps_and_shared(page: Page) -> None:
    name = page.get_by_label("Name", exact=True)
    click(page.get_by_role("button", name="Save this view"), name)
    name.fill("as it is")
    click(page.get_by_role("button", name="Save", exact=True), page.get_by_text("Saved as 'as it is'."))
    settled(page)
    box = page.get_by_role("combobox", name="Side by side with this view").last
    heading = page.get_by_role("heading", name="Side by side", exact=True)

    chosen = page.locator(".stMultiSelect").get_by_text("as it is", exact=True)

    def compare() -> None:
        settled(page)
        box.click(timeout=TRY_MS)
        page.get_by_role("option", name="as it is").first.click(timeout=TRY_MS)

    until(compare, chosen, name="the scenario among those compared")
    heading.wait_for(timeout=LOAD_MS)
    steps = page.get_by_label("Steps of a campaign", exact=True).first

    def double() -> None:
        settled(page)
        steps.fill("400", timeout=TRY_MS)
        steps.press("Enter", timeout=TRY_MS)

    told = page.get_by_text(re.compile("They differ in 1 input"))
    until(double, told, name="one input that differs")
    settled(page)
    dialog = page.get_by_role("dialog")
    create = dialog.get_by_role("button", name="Create link")
    click(page.get_by_role("button", name="Share"), dialog.get_by_text("a link opens for nobody else"))
    click(dialog.get_by_text("Make a link all the same"), create)
    code = dialog.locator("code", has_text="/r/")
    click(create, code)
    address = code.inner_text().strip()
    stranger = page.context.browser.new_context(viewport={"width": 390, "height": 844}, color_scheme="dark")
    seen = stranger.new_page()
    assert seen.goto(address).status == 200
    seen.wait_for_selector(".plot .main-svg")
    words = " ".join(seen.locator("body").inner_text().split())
    assert "They differ in 1 input" in words and "as it is" in words
    assert all(platform in words for platform in PLATFORMS)
    assert seen.evaluate("document.documentElement.scrollWidth") <= 390
    stranger.close()


@pytest.mark.full
def test_a_saved_scenario_opens_as_it_was(page: Page) -> None:
    page.keyboard.press("Escape")
    settled(page)
    opened = page.get_by_role("dialog").get_by_role("link", name="Open")
    click(page.get_by_role("button", name="Manage 1"), opened)
    opened.first.click()
    expect(page).to_have_url(re.compile(r"/capacity\?.*ca_on=H100"), timeout=LOAD_MS)
    settled(page)
    assert "ca_steps" not in page.url and "sc_with" not in page.url
    said = answer(page)
    assert all(platform in said for platform in PLATFORMS), said
    no_failure(page)
