"""In Chromium: an odd table is dropped, mapped without dropping it again, and the next one is offered it."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.app_server import here_json
from tests.browser.server import Server
from tests.browser.steps import LOAD_MS, choose, click, no_failure

pytestmark = pytest.mark.browser
MAPPING = {
    "columns": {
        "row": "steps.step",
        "dur ms": "steps.step_s|unit=ms",
        "gen ms": "step_phases.rollout|unit=ms",
        "R": "steps.reward_mean",
    },
}


def odd(first_reward: float, counter: str = "it") -> str:
    """A training log of somebody's own: milliseconds, a running total, percent, dates with the day first."""
    rows = [
        f"{i};{41_000 + 150 * i};{30_000 + 90 * i};{76_800 * i};{first_reward + i / 200:.3f};{20 + i % 7};"
        f"03.02.2026 10:{i:02d}:00"
        for i in range(1, 41)
    ]
    return "\n".join([f"{counter};dur ms;gen ms;toks so far;R;trunc;when", *rows]) + "\n"


@pytest.fixture(scope="module")
def page(browser: Browser, server: Server) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1280, "height": 1000})
    page = context.new_page()
    page.set_default_timeout(LOAD_MS)
    yield page
    context.close()


@pytest.fixture(scope="module")
def mapped(server: Server, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A run from a table that was mapped before."""
    place = tmp_path_factory.mktemp("mapped")
    (place / "evening.csv").write_text(odd(0.3, "row"))
    (place / "mapping.json").write_text(json.dumps(MAPPING))
    table, mapping = place / "evening.csv", place / "mapping.json"
    here_json("import", table, "--map", mapping, "--run", "evening", home=server.home)
    return "evening"


def drop(page: Page, server: Server, path: Path, text: str) -> None:
    path.write_text(text)
    page.goto(f"{server.url}/telemetry")
    page.locator("input[type=file]").first.set_input_files(str(path))


def test_an_odd_table_is_mapped_and_read_without_dropping_it_again(
    page: Page, server: Server, tmp_path: Path
) -> None:
    drop(page, server, tmp_path / "night.csv", odd(0.2))
    doubt = page.get_by_text("100 % of the values are above 1: percent?").first
    opening = page.get_by_role("button", name="Map its columns")
    opening.click()
    doubt.wait_for()
    choose(page, "Unit of trunc", "%")
    expect(page.get_by_text("percent?")).to_have_count(0, timeout=LOAD_MS)
    choose(page, "Unit of when", "day/month/year")
    expect(page.get_by_text("40 of the first 40 rows")).to_be_visible()
    name = page.get_by_label("Run", exact=True).last
    name.fill("night")
    name.press("Enter")
    click(
        page.get_by_role("button", name="Read it with this mapping"),
        page.get_by_text("40 records = 40 stored + 0 set aside + 0 ignored"),
    )
    no_failure(page)


@pytest.mark.full
def test_the_rollouts_page_draws_the_mapped_run(page: Page, server: Server, mapped: str) -> None:
    page.goto(f"{server.url}/rollouts?runs={mapped}")
    expect(page.get_by_text("40 steps").first).to_be_visible()
    page.wait_for_selector(".js-plotly-plot .main-svg")
    drawn = page.evaluate("[...document.querySelectorAll('.js-plotly-plot')].map(p => (p.data || []).length)")
    assert drawn
    assert all(drawn)


@pytest.mark.full
def test_the_next_table_with_these_columns_is_offered_the_mapping(
    page: Page, server: Server, mapped: str, tmp_path: Path
) -> None:
    drop(page, server, tmp_path / "morning.csv", odd(0.4, "row"))
    click(
        page.get_by_role("button", name=re.compile(r"^Use the mapping of \d+ \w{3}")),
        page.get_by_text("40 records = 40 stored + 0 set aside + 0 ignored"),
    )
    page.goto(f"{server.url}/rollouts?runs=morning")
    expect(page.get_by_text("40 steps").first).to_be_visible()
