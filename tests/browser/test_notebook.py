"""A notebook in a real browser: six cells by clicks, what re-runs, freeze and share, and two tabs."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.server import Server
from tests.browser.steps import LOAD_MS, TRY_MS, choose, click, no_failure, settled, until

pytestmark = pytest.mark.browser
SELECT = "select count(*) as late_steps from steps where step >= $parameter"
WORDS = "# A plan\n\nHow many steps come **late**? <img src=x onerror=window.__pwn=1>"
KINDS = ("Text", "Parameter", "SQL", "Metric", "Chart", "Analysis")


@pytest.fixture(scope="module")
def late(server: Server, tmp_path_factory: pytest.TempPathFactory) -> dict[int, int]:
    """Steps of the home from the 50th and from the 51st on, counted without the app, in a copy."""
    copy = tmp_path_factory.mktemp("count") / "telemetry.duckdb"
    for end in ("", ".wal"):
        if Path(f"{server.home / 'telemetry.duckdb'}{end}").exists():
            shutil.copy(f"{server.home / 'telemetry.duckdb'}{end}", f"{copy}{end}")
    with duckdb.connect(str(copy), read_only=True) as con:
        return {
            n: con.execute("select count(*) from steps where step >= ?", [n]).fetchone()[0] for n in (50, 51)
        }


@pytest.fixture(scope="module")
def page(browser: Browser, server: Server) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1280, "height": 1000})
    page = context.new_page()
    page.set_default_timeout(LOAD_MS)
    page.goto(f"{server.url}/notebook")
    settled(page)
    yield page
    context.close()


def button(page: Page, name: str, **more: bool):
    return page.get_by_role("button", name=name, **more)


def cell(page: Page, kind: str):
    return page.locator(f"[class*='st-key-nb_cell_{kind}_']")


def add(page: Page, kind: str) -> None:
    added = cell(page, kind.lower())
    click(page.locator(".st-key-nb_add_row").get_by_role("button", name=kind, exact=True), added)
    settled(page)


def write(page: Page, field, text: str, shown) -> None:
    def act() -> None:
        settled(page)
        field.fill(text, timeout=TRY_MS)
        field.press("Control+Enter", timeout=TRY_MS)

    until(act, shown)


def nudge(page: Page, shown) -> None:
    """One step up on the slider, until its consequence shows."""
    handle = page.get_by_role("slider")
    before = handle.input_value()

    def act() -> None:
        settled(page)
        handle.focus(timeout=TRY_MS)
        if handle.input_value() == before:
            handle.press("ArrowRight", timeout=TRY_MS)

    until(act, shown)


def test_six_cells_by_clicks_re_run_where_the_parameter_is_used_and_are_shared(
    page: Page, server: Server, late: dict[int, int]
) -> None:
    new = page.locator(".st-key-nb_new, .st-key-nb_empty").get_by_role("button")
    click(new, page.locator(".st-key-nb_add_row"))
    expect(page).to_have_url(re.compile(r"[?&]nb=\d+"))
    settled(page)
    add(page, "Text")
    words = cell(page, "text").locator(".ipd-text strong")
    write(page, cell(page, "text").get_by_role("textbox"), WORDS, words)
    add(page, "Parameter")
    add(page, "SQL")
    told = cell(page, "sql").get_by_text("1 returned")
    write(page, cell(page, "sql").get_by_role("textbox", name="SQL: one SELECT"), SELECT, told)
    for kind in ("Metric", "Chart", "Analysis"):
        add(page, kind)
    number = cell(page, "metric").locator(".ipd-figures .value")
    expect(number).to_have_text(f"{late[50]:,}")
    expect(cell(page, "analysis").locator(".main-svg").first).to_be_visible()
    choose(page, "x", "late_steps")
    expect(cell(page, "chart").get_by_text("for y")).to_be_visible()
    expect(page.get_by_text("stale", exact=False)).to_have_count(0)
    assert page.evaluate("window.__pwn") is None

    click(
        page.get_by_text("Run by hand", exact=True),
        page.get_by_role("switch", name="Run by hand", checked=True),
    )
    settled(page)
    run = button(page, "Run 3 stale cells")
    nudge(page, run)
    for kind in KINDS:
        words = cell(page, kind.lower()).get_by_text("stale", exact=False)
        if kind in ("SQL", "Metric", "Chart"):
            expect(words.first).to_be_visible()
        else:
            expect(words).to_have_count(0)
    expect(number).to_have_text(f"{late[50]:,}")
    until(lambda: run.click(timeout=TRY_MS), run, hidden=True)
    expect(number).to_have_text(f"{late[51]:,}")
    settled(page)
    expect(page.get_by_text("stale", exact=False)).to_have_count(0)
    no_failure(page)

    dialog = page.get_by_role("dialog")
    click(button(page, "Share"), dialog.get_by_text("a link opens for nobody else"))
    create = dialog.get_by_role("button", name="Create link")
    click(dialog.get_by_text("Make a link all the same"), create)
    code = dialog.locator("code", has_text="/r/")
    click(create, code)
    stranger = page.context.browser.new_context(
        java_script_enabled=False, viewport={"width": 390, "height": 844}
    )
    seen = stranger.new_page()
    assert seen.goto(code.first.inner_text().strip()).status == 200
    read = " ".join(seen.locator("body").inner_text().split())
    assert "How many steps come late?" in read and f"{late[51]:,}" in read
    assert seen.locator("img[src=x]").count() == 0
    stranger.close()
    page.keyboard.press("Escape")


@pytest.mark.full
def test_two_tabs_lose_nothing(page: Page, server: Server) -> None:
    settled(page)
    other = page.context.new_page()
    other.set_default_timeout(LOAD_MS)
    other.goto(page.url)
    settled(other)
    expect(other.get_by_role("slider")).to_have_value("51")
    nudge(other, other.get_by_text(re.compile(r"^saved \d\d:\d\d:\d\d UTC$")))
    expect(other.get_by_role("slider")).to_have_value("52")
    settled(other)
    banner = page.locator(".st-key-nb_clash")

    def back() -> None:
        handle = page.get_by_role("slider")
        handle.focus(timeout=TRY_MS)
        handle.press("ArrowLeft", timeout=TRY_MS)

    until(back, banner)
    expect(banner).to_contain_text("yours: value = 50.0")
    expect(banner).to_contain_text("theirs: value = 52.0")
    click(button(page, "Keep mine as a copy"), page.get_by_role("heading", name=re.compile(r"\(mine\)$")))
    expect(page.get_by_role("slider")).to_have_value("50")
    other.reload()
    settled(other)
    expect(other.get_by_role("slider")).to_have_value("52")
    other.close()


@pytest.mark.full
def test_typed_words_survive_a_reload_without_leaving_their_field(page: Page) -> None:
    settled(page)
    words = cell(page, "text")
    field = words.get_by_role("textbox")
    until(lambda: button(page, "Edit").first.click(timeout=TRY_MS) if not field.count() else None, field)
    saved = page.get_by_text(re.compile(r"^saved "))
    before = saved.inner_text()
    field.press("End")
    field.press_sequentially(" And why.")
    expect(saved).not_to_have_text(before)
    page.reload()
    expect(cell(page, "text").get_by_text("And why.").first).to_be_visible()
