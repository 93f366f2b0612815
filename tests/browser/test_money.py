"""A finance partner in a real browser: load a month, read it to the cent, share it without dollars."""

import re

import pytest
from playwright.sync_api import expect

from tests import money_month as month
from tests.browser.steps import LOAD_MS, TRY_MS, choose, click, settled, until

pytestmark = pytest.mark.browser
CHARTS = ("explained", "waterfall", "ladder", "weeks", "lost")


CHARGES = month.TRUTH["total"] - month.CREDIT
BORNE = month.ALLOCATED_GPU_H * month.RATE + month.SANDBOX
EXPLAINED = f"{100 * BORNE / CHARGES:.1f}"
"""Percent of the charges: a credit lowers the invoice and is no charge."""


def usd(amount) -> str:
    return f"${amount:,.2f}"


@pytest.fixture(scope="module")
def page(browser, server, tmp_path_factory):
    files = month.write(tmp_path_factory.mktemp("month"))
    page = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
    page.goto(f"{server.url}/telemetry")
    page.locator("input[type=file]").first.wait_for(state="attached", timeout=LOAD_MS)
    page.locator("input[type=file]").first.set_input_files([str(path) for path in files.values()])
    receipts = page.get_by_text(re.compile(r"[\d,]+ records = [\d,]+ stored"))
    expect(receipts).to_have_count(len(files), timeout=2 * LOAD_MS)
    settled(page)
    page.goto(f"{server.url}/money?mo_month=2026-03")
    page.get_by_text("billed after").first.wait_for(timeout=LOAD_MS)
    settled(page)
    return page


def test_the_answer_is_the_invoice_to_the_cent(page):
    answer = page.get_by_text(re.compile(r"^March 2026: \$")).first.inner_text().replace("\u00a0", " ")
    truth = month.TRUTH
    assert f"{usd(truth['total'])} billed after {usd(-month.CREDIT)} of credits. Of {usd(CHARGES)}" in answer
    assert f"{usd(BORNE)} ({EXPLAINED} %) is explained" in answer
    assert f"{usd(month.STORAGE + month.TAX)} (11.7 %) is not explained, in 2 lines" in answer


def texts(page, key):
    """Words that stand in a drawn chart."""
    chart = page.locator(f".st-key-money-{key} .js-plotly-plot")
    chart.locator(".main-svg").first.wait_for(timeout=LOAD_MS)
    return " ".join(chart.locator("text").all_text_contents())


def test_ladder_and_waterfall_show_the_same_cents(page):
    truth = month.TRUTH
    ladder, fall = texts(page, "ladder"), texts(page, "waterfall")
    for amount in (truth["gpu"], truth["gpu"] - truth["not_allocated"], truth["working"]):
        assert usd(amount) in ladder
    for amount in (truth["total"], truth["not_allocated"], truth["idle"], truth["stalled"], truth["unknown"]):
        assert usd(amount) in fall
    assert usd(truth["working"] - truth["failed"]) in fall


def test_the_buttons_of_a_chart_lie_below_it_and_can_be_clicked(page):
    chart = page.locator(".st-key-money-waterfall .js-plotly-plot")
    camera = page.locator(".st-key-money-waterfall .modebar-btn").first
    chart.hover(position={"x": 60, "y": 140})
    assert camera.bounding_box()["y"] >= chart.bounding_box()["y"] + chart.bounding_box()["height"]
    with page.expect_download(timeout=LOAD_MS) as waiting:
        camera.click(timeout=LOAD_MS)
    assert waiting.value.suggested_filename == "money-waterfall.png"


def test_every_chart_is_drawn_and_nothing_failed(page):
    for key in CHARTS:
        assert texts(page, key), key
    assert page.locator("[data-testid=stException]").count() == 0


def bar(page, key, place):
    """A drawn bar, counted from the top."""
    return page.locator(f".st-key-money-{key} .points .point path").nth(place)


def hit(mark, shown):
    """Click a bar until what it opens shows; a second click on a bar would take the first one back."""
    until(lambda: mark.click(force=True, timeout=TRY_MS), shown)


def test_a_bar_opens_the_runs_behind_it(page):
    stalled, working = month.TRUTH["stalled"], month.TRUTH["working"]
    hit(bar(page, "waterfall", 4), page.get_by_text(f"Stalled: {usd(stalled)}, who is behind it"))
    settled(page)
    assert "mo_bar=Stalled" in page.url
    hit(bar(page, "ladder", 3), page.get_by_text(f"Effective: {usd(working)}, who is behind it"))
    settled(page)
    assert "mo_bar=Effective" in page.url


@pytest.mark.full
def test_a_bar_of_the_bill_opens_its_lines_and_so_does_its_address(page, browser):
    held = (month.GPU_H["math-v3"] + month.GPU_H["swe-agent"]) * month.RATE
    words = f"By machine: {usd(held)} in 26 lines"
    hit(bar(page, "explained", 1), page.get_by_text(words))
    settled(page)
    assert "mo_lines=By+machine" in page.url and "mo_month=2026-03" in page.url
    other = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
    other.goto(page.url)
    other.get_by_text(words).wait_for(timeout=LOAD_MS)
    other.get_by_text(f"Effective: {usd(month.TRUTH['working'])}, who is behind it").wait_for(timeout=LOAD_MS)
    settled(other)
    assert other.url == page.url
    other.context.close()


def test_a_card_opens_what_makes_it_up(page):
    click(
        page.get_by_role("button", name="Lines not explained"),
        page.get_by_text("Not explained: $1,334.57 in 2 lines"),
    )
    click(page.get_by_role("button", name="Runs behind it"), page.get_by_text("Productive: $3,351.00, who"))
    settled(page)
    assert "mo_lines=Not+explained" in page.url and "mo_bar=Productive" in page.url


@pytest.mark.full
def test_lines_that_nothing_explains_stand_apart_from_idle_ones(page):
    choose(page, "Lines of the bill", "Held by nobody")
    page.get_by_text("Held by nobody: $5,880.00").wait_for(timeout=LOAD_MS)
    click(page.get_by_role("radio", name="Energy"), page.get_by_text("Energy by run", exact=True))
    assert texts(page, "energy")


def test_a_reader_without_dollars_sees_none(page, browser):
    dialog = page.get_by_role("dialog")
    click(page.get_by_role("button", name="Share").first, dialog.get_by_text("a link opens for nobody else"))
    dialog.get_by_text("Dollars and rates").click()
    settled(page)
    create = dialog.get_by_role("button", name="Create link")
    click(dialog.get_by_text("Make a link all the same"), create)
    code = dialog.locator("code", has_text="/r/")
    click(create, code)
    stranger = browser.new_context().new_page()
    assert stranger.goto(code.inner_text().strip()).status == 200
    stranger.get_by_role("heading", level=1).wait_for(timeout=LOAD_MS)
    source = stranger.content()
    hidden = [month.TRUTH[part] for part in ("total", "gpu", "not_allocated", "idle", "working", "failed")]
    for amount in (*hidden, month.STORAGE, month.SANDBOX):
        for form in (f"{amount:,.2f}", f"{amount:.2f}"):
            assert not re.search(rf"(?<![\d.,]){re.escape(form)}(?!\d)", source), form
    assert EXPLAINED in source
    stranger.context.close()
