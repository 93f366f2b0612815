"""From a run and two files of results by task to a forest plot with a verdict, and a link to it."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.app_server import here_json
from tests.browser.server import Server
from tests.browser.steps import LOAD_MS, TRY_MS, click, no_failure, settled, until
from tests.samples import verl_log

pytestmark = pytest.mark.browser
RUN = "judged"


def results_by_task(place: Path, step: int, solved: int) -> Path:
    """Sixty tasks, the first `solved` of them right."""
    rows = [f"q{n},{int(n < solved)},own-tasks,ckpts/{RUN}/global_step_{step}" for n in range(60)]
    place.write_text("\n".join(["task_id,passed,benchmark,model", *rows]) + "\n")
    return place


def test_two_files_and_a_run_give_a_verdict_and_a_link(
    browser: Browser, server: Server, tmp_path: Path
) -> None:
    log = tmp_path / "train.log"
    log.write_text(verl_log(1, 50, run=RUN))
    here_json("import", log, "--platform", "h100-sxm", "--gpus", 8, home=server.home)
    files = [
        results_by_task(tmp_path / f"{name}.csv", s, n) for name, s, n in (("old", 0, 20), ("new", 50, 45))
    ]

    page = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
    page.set_default_timeout(LOAD_MS)
    page.goto(f"{server.url}/telemetry")
    settled(page)
    page.locator("input[type=file]").first.set_input_files([str(file) for file in files])
    expect(page.get_by_text("60 records = 60 stored + 0 set aside + 0 ignored")).to_have_count(2)

    page.goto(f"{server.url}/intelligence?runs={RUN}")
    main = page.get_by_test_id("stMain")
    # 25 of 60 tasks are won, none is lost: 41.7 points, and an interval far from 0
    expect(main.get_by_text(re.compile(r"gained 41\.7")).first).to_be_visible()
    expect(main.get_by_text("1 better").first).to_be_visible()
    page.locator(".js-plotly-plot .main-svg").first.wait_for()
    settled(page)
    no_failure(page)
    dialog = page.get_by_role("dialog")
    click(page.get_by_role("button", name="Share"), dialog)
    create = dialog.get_by_role("button", name="Create link")
    click(dialog.get_by_text("Make a link all the same"), create)
    code = dialog.locator("code", has_text="/r/")
    click(create, code)

    stranger = browser.new_context().new_page()
    answer = stranger.goto(code.inner_text().strip())
    assert answer is not None
    assert answer.status == 200
    stranger.locator(".plot .main-svg").first.wait_for(timeout=LOAD_MS)
    told = stranger.inner_text("body")
    assert "gained 41.7" in told
    assert "Gain per dollar (M1)" in told
    stranger.context.close()
    page.context.close()


def type_number(page: Page, label: str, value: str, shown: Locator) -> None:
    """Type a number and leave the field, until its consequence shows."""
    box = page.get_by_role("spinbutton", name=label, exact=True)

    def typed() -> None:
        box.fill(value, timeout=TRY_MS)
        box.press("Enter", timeout=TRY_MS)

    until(typed, shown, name=f"{label} {value}")


@pytest.mark.full
def test_the_next_point_and_serving_answer_what_is_typed_and_survive_a_reload(
    browser: Browser, server: Server
) -> None:
    page = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
    page.set_default_timeout(LOAD_MS)
    page.goto(f"{server.url}/intelligence?example=true&lc_run=h100-sync")
    main = page.get_by_test_id("stMain")
    expect(main.get_by_text(re.compile(r"h100-sync on MATH-500: the next point costs \$"))).to_be_visible()
    settled(page)
    type_number(page, "A point is worth (USD)", "100", main.get_by_text(re.compile(r"At \$100 a point: ")))
    page.locator(".js-plotly-plot .gtitle", has_text="Marginal cost of a point").wait_for()

    serve = page.get_by_role("button", name="Build and serve").or_(
        page.get_by_role("radio", name="Build and serve")
    )
    click(serve, page.get_by_role("spinbutton", name="USD an attempt, before", exact=True))
    settled(page)
    before = main.get_by_text(re.compile(r"A solved task of MATH-500 costs \$[12]\.\d+ before"))
    type_number(page, "USD an attempt, before", "1.2", before)
    type_number(
        page,
        "USD an attempt, after",
        "1.2",
        main.get_by_text(re.compile("pays back after .* solved tasks")).first,
    )
    page.locator(".js-plotly-plot .gtitle", has_text="Dollars per solved task").wait_for()
    no_failure(page)
    page.reload()
    expect(main.get_by_text(re.compile("pays back after .* solved tasks")).first).to_be_visible()
    expect(page.get_by_role("spinbutton", name="USD an attempt, after", exact=True)).to_have_value("1.20")
    page.context.close()
