"""Take a picture of every page, light and dark, wide and narrow: `python -m tests.browser.shots [FOLDER]`."""

import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from tests.browser import chromium
from tests.browser.server import serve

PAGES = (
    "",
    "telemetry",
    "rollouts",
    "utilisation",
    "intelligence",
    "money",
    "generations",
    "capacity",
    "tenure",
    "forecast",
    "notebook",
    "links",
    "hardware",
    "prices",
)
SIZES = {"wide": (1280, 900), "narrow": (390, 844)}
SETTLE_MS = 1_500


def settle(page: Page) -> None:
    """Wait until Streamlit has finished running and the charts have drawn."""
    page.wait_for_selector("[data-testid=stAppViewContainer]")
    page.wait_for_function(
        "() => !document.querySelector('[data-testid=stStatusWidget]')"
        " && !document.querySelector('[data-testid=stSkeleton]')"
    )
    page.wait_for_timeout(SETTLE_MS)


def full_height(page: Page) -> int:
    """Height in pixels that shows the whole page without scrolling."""
    height = page.evaluate(
        "() => { const m = document.querySelector('[data-testid=stMain]'); return m ? m.scrollHeight : 0 }"
    )
    return min(max(int(height), 800), 12_000)


def grow(page: Page, width: int) -> None:
    """Make the window as high as the page; charts that come late make it higher still."""
    for _ in range(3):
        height = full_height(page)
        page.set_viewport_size({"width": width, "height": height})
        settle(page)
        if full_height(page) <= height:
            return


def take(url: str, folder: Path) -> list[Path]:
    """Photograph all pages of a running app into `folder`; returns the files."""
    folder.mkdir(parents=True, exist_ok=True)
    path = chromium.find()
    if path is None:
        raise SystemExit(chromium.MESSAGE)
    taken = []
    with sync_playwright() as tool:
        browser = tool.chromium.launch(executable_path=path, args=chromium.ARGS)
        for scheme in ("light", "dark"):
            for size, (width, height) in SIZES.items():
                context = browser.new_context(
                    viewport={"width": width, "height": height}, color_scheme=scheme
                )
                page = context.new_page()
                for name in PAGES:
                    page.set_viewport_size({"width": width, "height": height})
                    page.goto(f"{url}/{name}")
                    settle(page)
                    grow(page, width)
                    target = folder / f"{name or 'overview'}-{scheme}-{size}.png"
                    page.screenshot(path=target)
                    taken.append(target)
                context.close()
        browser.close()
    return taken


def main(arguments: list[str]) -> None:
    folder = Path(arguments[0]) if arguments else Path(__file__).with_name("shots")
    with tempfile.TemporaryDirectory() as place, serve(Path(place) / "home") as server:
        for path in take(server.url, folder):
            print(path)


if __name__ == "__main__":
    main(sys.argv[1:])
