"""The first `make` says what it is doing while nothing else is seen."""

import os
import shutil
import subprocess
from pathlib import Path

from tests.app_server import ROOT

FROM_MAKE = ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")
"""Under `make test` these would have the inner make tell which folder it enters."""
FAKE = """#!/bin/sh
case "$*" in
  *"-m venv"*) mkdir -p .venv/bin && cp "$0" .venv/bin/python ;;
  *"-m pip"*) echo "PIP $*" ;;
esac
"""
"""A Python that makes itself an environment and prints how pip was called."""


def test_the_first_start_says_what_it_installs_and_lets_pip_speak(tmp_path: Path) -> None:
    shutil.copy(ROOT / "Makefile", tmp_path)
    for name in ("requirements.txt", "tests/requirements.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    python = tmp_path / "python"
    python.write_text(FAKE, encoding="utf-8")
    python.chmod(0o755)
    make = ["make", f"PYTHON={python}", ".venv/.ready-test"]
    outside = {name: value for name, value in os.environ.items() if name not in FROM_MAKE}
    made = subprocess.run(make, cwd=tmp_path, capture_output=True, text=True, check=True, env=outside)
    lines = made.stdout.splitlines()
    said, pip, more, tests = lines
    assert "installing requirements.txt" in said and "minute" in said
    assert pip.startswith("PIP -m pip install") and pip.endswith("-r requirements.txt")
    assert "tests/requirements.txt" in more and tests.endswith("-r tests/requirements.txt")
    assert not {"-q", "--quiet"} & {*pip.split(), *tests.split()}
