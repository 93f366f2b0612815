"""Find a Chromium for the browser tests or install one: the system's, Debian's package, Playwright's own."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
ARGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
MESSAGE = (
    "No Chromium was found and none could be installed, so the browser tests cannot run. "
    "Install one (Debian: apt-get install chromium) or set CHROMIUM=/path/to/chromium."
)


def find() -> str | None:
    """Return the path of a Chromium: $CHROMIUM, one on PATH, or the one Playwright downloaded."""
    named = os.environ.get("CHROMIUM")
    if named:
        return named if Path(named).exists() else None
    for name in NAMES:
        path = shutil.which(name)
        if path:
            return path
    return _playwrights_own()


def _playwrights_own() -> str | None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as tool:
        path = tool.chromium.executable_path
    return path if path and Path(path).exists() else None


def _run(command: list[str]) -> bool:
    print("+", " ".join(command), flush=True)
    return subprocess.run(command, check=False, stdout=subprocess.DEVNULL).returncode == 0


def install() -> str | None:
    """Install Debian's package when allowed to, else Playwright's own; return the path or None."""
    if os.name == "posix" and os.geteuid() == 0 and shutil.which("apt-get"):
        os.environ.setdefault("DEBIAN_FRONTEND", "noninteractive")
        _run(["apt-get", "update", "-q"])
        if _run(["apt-get", "install", "-qy", "--no-install-recommends", "chromium"]) and find():
            return find()
    if _run([sys.executable, "-m", "playwright", "install", "chromium"]):
        return find()
    return None


def main(arguments: list[str]) -> int:
    path = find() or (install() if "--install" in arguments else None)
    print(f"browser tests use {path}" if path else MESSAGE, flush=True)
    return 1 if path is None and os.environ.get("CI") else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
