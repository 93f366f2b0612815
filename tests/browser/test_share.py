"""Share in a real browser: the dialog, the link in a clean context, what runs in it, and revoking."""

import re

import pytest

from reports.links import LinkBook
from tests.app_server import here_json
from tests.browser.steps import LOAD_MS, click, download, settled
from tests.samples import verl_log

pytestmark = pytest.mark.browser
HOSTILE = "<img src=x onerror=window.__pwn=1>"


def watched(context):
    """A page that notes what it asks for and complains about."""
    page = context.new_page()
    page.asked, page.complaints = [], []
    page.on("request", lambda r: page.asked.append(r.url))
    page.on("console", lambda m: page.complaints.append(m.text) if m.type == "error" else None)
    page.on("pageerror", lambda e: page.complaints.append(str(e)))
    return page


def assert_clean_report(page, width):
    page.wait_for_selector(".plot .main-svg")
    assert page.complaints == []
    assert page.evaluate("window.__pwn") is None
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    drawn = page.evaluate(
        "[...document.querySelectorAll('.plot')].map(p => !!p.querySelector('.main-svg path'))"
    )
    assert drawn
    assert all(drawn)


def test_share_open_in_a_clean_browser_and_revoke(browser, server, tmp_path):
    owner = browser.new_context(viewport={"width": 1280, "height": 900})
    page = owner.new_page()
    page.goto(server.url + "/?runs=h100-sync")
    dialog = page.get_by_role("dialog")
    share = page.get_by_role("button", name="Share")
    share.first.wait_for(timeout=LOAD_MS)
    click(share, dialog.get_by_text("a link opens for nobody else"))
    dialog.get_by_label("Title").fill("Shared <b>week</b>")
    dialog.get_by_label("Title").press("Enter")
    settled(page)
    saved = download(page, dialog.get_by_role("button", name="HTML report"), tmp_path / "report.html")
    create = dialog.get_by_role("button", name="Create link")
    click(dialog.get_by_text("Make a link all the same"), create)
    create.click(timeout=LOAD_MS)
    code = dialog.locator("code", has_text="/r/")
    code.wait_for(timeout=LOAD_MS)
    address = code.inner_text().strip()
    assert re.fullmatch(re.escape(server.url) + r"/r/[\w-]{43}", address)

    for width, scheme in ((1280, "light"), (390, "dark")):
        stranger = browser.new_context(viewport={"width": width, "height": 844}, color_scheme=scheme)
        seen = watched(stranger)
        assert seen.goto(address).status == 200
        assert seen.get_by_role("heading", level=1).inner_text() == "Shared <b>week</b>"
        assert_clean_report(seen, width)
        assert seen.get_by_text("Synthetic example data.").first.is_visible()
        assert seen.asked == [address]
        stranger.close()

    offline = browser.new_context(offline=True)
    seen = watched(offline)
    seen.goto(saved.as_uri())
    assert_clean_report(seen, 1280)
    offline.close()

    page.goto(server.url + "/links")
    mine = page.locator("[class*=st-key-link_]", has_text="Shared <b>week</b>")
    mine.first.wait_for(timeout=LOAD_MS)
    sure = page.get_by_role("button", name="Revoke for good")
    click(mine.get_by_role("button", name="Revoke", exact=True), sure)
    click(sure, mine.get_by_text(re.compile(r"· revoked \d")))
    stranger = browser.new_context()
    seen = stranger.new_page()
    assert seen.goto(address).status == 404
    assert seen.get_by_role("heading", level=1).inner_text() == "No report here"
    stranger.close()
    owner.close()
    made = [link for link in LinkBook(server.home).all() if link.title == "Shared <b>week</b>"]
    assert [link.state() for link in made] == ["revoked"]


def test_a_passphrase_a_pause_and_a_new_address_without_javascript(browser, server):
    asked = ("link", "create", "--title", "Behind a phrase", "--hide-dollars")
    made = here_json(*asked, home=server.home)
    LinkBook(server.home).set_passphrase(made["path"], "correct horse")
    address = server.url + made["path"]
    stranger = browser.new_context(java_script_enabled=False, viewport={"width": 390, "height": 844})
    seen = stranger.new_page()
    seen.goto(address)
    assert "Behind" not in seen.content()
    for phrase, told in (
        ("wrong guess", "This is not the passphrase."),
        ("correct horse", "Behind a phrase"),
    ):
        seen.get_by_label("Passphrase").fill(phrase)
        seen.get_by_role("button", name="Open the report").click()
        seen.get_by_text(told).first.wait_for()
    assert not re.search(r"\$\s?\d", seen.locator("main").inner_text())
    assert "dollar amounts" in seen.locator("footer").inner_text()
    assert seen.goto(address).status == 200
    assert seen.get_by_role("heading", level=1).inner_text() == "Behind a phrase"

    owner = browser.new_context(viewport={"width": 1280, "height": 900})
    page = owner.new_page()
    page.goto(server.url + "/links")
    mine = page.locator("[class*=st-key-link_]", has_text="Behind a phrase")
    pause, resume = (mine.get_by_role("button", name=name) for name in ("Pause", "Resume"))
    pause.wait_for(timeout=LOAD_MS)
    click(pause, resume)
    assert seen.goto(address).status == 404
    click(resume, pause)
    assert seen.goto(address).status == 200
    dialog = page.get_by_role("dialog")
    replace = dialog.get_by_role("button", name="Replace the address")
    code = dialog.locator("code", has_text="/r/")
    click(mine.get_by_role("button", name="New address"), replace)
    click(replace, code)
    assert seen.goto(address).status == 404
    seen.goto(code.inner_text().strip())
    assert seen.get_by_role("heading", level=1).inner_text() == "This report asks for a passphrase"
    click(dialog.get_by_role("button", name="Done"), dialog, hidden=True)
    stranger.close()
    owner.close()


def test_hostile_names_do_not_run_in_a_shared_report(browser, server, tmp_path):
    path = tmp_path / "evil.log"
    path.write_text(verl_log(1, 6))
    here_json("import", path, "--run", HOSTILE, "--platform", "h100-sxm", "--gpus", 8, home=server.home)
    made = here_json("link", "create", "--title", HOSTILE, home=server.home)
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    seen = watched(context)
    seen.goto(server.url + made["path"])
    assert_clean_report(seen, 1280)
    assert HOSTILE in seen.inner_text("body")
    assert seen.locator("img[src=x]").count() == 0
    context.close()
