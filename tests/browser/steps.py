"""What a person does on a page, repeated until its consequence shows: a page may draw itself again meanwhile.

Actions are tried for `TRY_MS` each and at most `LONGEST_S` in all; a consequence that never comes fails the
test with what was awaited.
"""

import re
import time
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Error, Locator, Page, expect

TRY_MS = 6_000
LONGEST_S = 150.0
LOAD_MS = 150_000
"""How long a page or a chart may take to come up on a busy machine."""


def until(act: Callable[[], object], shown: Locator, *, hidden: bool = False, name: str = "") -> None:
    """Repeat `act` until `shown` is visible (`hidden`: is gone); it is not repeated once that holds."""
    ends = time.monotonic() + LONGEST_S
    said: Exception | None = None
    while time.monotonic() < ends:
        if _holds(shown, hidden, 0):
            return
        try:
            act()
        except (Error, AssertionError) as error:
            said = error
        if _holds(shown, hidden, TRY_MS):
            return
    raise AssertionError(f"{name or shown} did not {'go' if hidden else 'come'} in {LONGEST_S} s: {said}")


def _holds(shown: Locator, hidden: bool, wait_ms: int) -> bool:
    try:
        shown.first.wait_for(state="hidden" if hidden else "visible", timeout=wait_ms or 1)
    except Error:
        return False
    return True


def click(button: Locator, shown: Locator, *, hidden: bool = False) -> None:
    """Click until the consequence shows."""
    until(lambda: button.first.click(timeout=TRY_MS), shown, hidden=hidden)


def download(page: Page, button: Locator, place: Path) -> Path:
    """Click until the file comes, for a click may fall into a redraw; saves it at `place`."""
    ends = time.monotonic() + LOAD_MS / 1000
    while True:
        try:
            with page.expect_download(timeout=2 * TRY_MS) as waiting:
                button.first.click(timeout=TRY_MS)
        except Error:
            if time.monotonic() > ends:
                raise
        else:
            waiting.value.save_as(place)
            return place


def choose(page: Page, label: str, option: str) -> None:
    """Pick an option of a select box by typing it; ends when the box shows the option.

    A list that is open while the script still draws may close again, so the script is awaited first.
    """
    box = page.get_by_role("combobox", name=label, exact=True).last

    def pick() -> None:
        settled(page)
        box.click(timeout=TRY_MS)
        box.fill("", timeout=TRY_MS)
        box.press_sequentially(option, timeout=TRY_MS)
        page.get_by_role("option", name=option).first.click(timeout=TRY_MS)
        expect(box).to_have_value(re.compile(re.escape(option)), timeout=TRY_MS)

    ends = time.monotonic() + LONGEST_S
    while True:
        try:
            pick()
        except (Error, AssertionError):
            if time.monotonic() > ends:
                raise
            page.keyboard.press("Escape")
        else:
            return


def settled(page: Page) -> None:
    """Wait until the script has run to its end and nothing on the page is of an earlier run."""
    page.wait_for_selector("[data-testid=stAppViewContainer]", timeout=LOAD_MS)
    page.wait_for_function(
        "!document.querySelector('[data-test-script-state=running], [data-stale=true]')", timeout=LOAD_MS
    )


def no_failure(page: Page) -> None:
    """No exception is on the page."""
    assert page.locator("[data-testid=stException]").count() == 0
    assert page.get_by_text("encountered an error").count() == 0
