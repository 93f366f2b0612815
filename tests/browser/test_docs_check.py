"""The link of a failed check leads to its section, on screen without scrolling."""

import pytest
from playwright.sync_api import Browser, expect

from pages.parts.notices import docs_address
from tests.browser.server import Server
from tests.browser.steps import LOAD_MS

pytestmark = pytest.mark.browser


@pytest.mark.full
def test_the_section_of_a_check_is_on_screen(browser: Browser, server: Server) -> None:
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(server.url + docs_address("Checks", "mfu_implausible"))
    heading = page.get_by_role("heading", name="MFU from a doubtful peak").first
    expect(heading).to_be_visible(timeout=LOAD_MS)
    expect(heading).to_be_in_viewport()
    page.close()
