"""In Chromium: an odd table is dropped, mapped without dropping it again, and the next one is offered it."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.server import Server, serve

pytestmark = pytest.mark.browser
PATIENCE_MS = 60_000


def odd(first_reward: float) -> str:
    """A training log of somebody's own: milliseconds, a running total, percent, dates with the day first."""
    rows = [
        f"{i};{41_000 + 150 * i};{30_000 + 90 * i};{76_800 * i};{first_reward + i / 200:.3f};{20 + i % 7};"
        f"03.02.2026 10:{i:02d}:00"
        for i in range(1, 41)
    ]
    return "\n".join(["it;dur ms;gen ms;toks so far;R;trunc;when", *rows]) + "\n"


@pytest.fixture(scope="module")
def app(tmp_path_factory):
    with serve(tmp_path_factory.mktemp("mapping") / "home", IPD_EXAMPLE="off") as server:
        yield server


@pytest.fixture(scope="module")
def page(browser: Browser, app: Server):
    context = browser.new_context(viewport={"width": 1280, "height": 1000})
    page = context.new_page()
    page.set_default_timeout(PATIENCE_MS)
    page.goto(f"{app.url}/telemetry")
    yield page
    context.close()


def drop(page: Page, path: Path, text: str) -> None:
    path.write_text(text)
    page.locator("input[type=file]").first.set_input_files(str(path))


def choose(page: Page, label: str, option: str) -> None:
    box = page.get_by_role("combobox", name=label, exact=True)
    box.click()
    box.press_sequentially(option)
    page.get_by_role("option", name=option).first.click()


def test_an_odd_table_is_mapped_and_read_without_dropping_it_again(page: Page, tmp_path: Path) -> None:
    drop(page, tmp_path / "night.csv", odd(0.2))
    page.get_by_role("button", name="Map its columns").click()
    expect(page.get_by_text("100 % of the values are above 1: percent?").first).to_be_visible(
        timeout=PATIENCE_MS
    )
    choose(page, "Unit of trunc", "%")
    expect(page.get_by_text("percent?")).to_have_count(0, timeout=PATIENCE_MS)
    choose(page, "Unit of when", "day/month/year")
    expect(page.get_by_text("40 of the first 40 rows")).to_be_visible(timeout=PATIENCE_MS)
    page.get_by_label("Run", exact=True).last.fill("night")
    page.get_by_label("Run", exact=True).last.press("Enter")
    page.get_by_role("button", name="Read it with this mapping").click()
    expect(page.get_by_text("40 records = 40 stored + 0 set aside + 0 ignored")).to_be_visible(
        timeout=PATIENCE_MS
    )
    assert page.locator("[data-testid=stException]").count() == 0


def test_the_rollouts_page_draws_the_mapped_run(page: Page, app: Server) -> None:
    page.goto(f"{app.url}/rollouts?runs=night")
    expect(page.get_by_text("40 steps").first).to_be_visible(timeout=PATIENCE_MS)
    page.wait_for_selector(".js-plotly-plot .main-svg")
    drawn = page.evaluate("[...document.querySelectorAll('.js-plotly-plot')].map(p => (p.data || []).length)")
    assert drawn
    assert all(drawn)


def test_the_next_table_with_these_columns_is_offered_the_mapping(
    page: Page, app: Server, tmp_path: Path
) -> None:
    page.goto(f"{app.url}/telemetry")
    drop(page, tmp_path / "morning.csv", odd(0.4))
    page.get_by_role("button", name=re.compile(r"^Use the mapping of \d+ \w{3}")).click()
    expect(page.get_by_text("40 records = 40 stored + 0 set aside + 0 ignored")).to_be_visible(
        timeout=PATIENCE_MS
    )
    page.goto(f"{app.url}/rollouts?runs=morning")
    expect(page.get_by_text("40 steps").first).to_be_visible(timeout=PATIENCE_MS)
