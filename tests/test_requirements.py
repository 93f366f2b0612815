"""What is pinned is used, what is imported is pinned, and the two upload caps say the same."""

import ast
import re
import sys
import tomllib
from functools import cache

import pytest

from reports.receive import DEFAULT_LIMIT_MB
from tests.app_server import ROOT

ROOMS = ("analysis", "charts", "data", "models", "pages", "reports")
PLUGINS = {
    "pytest-timeout",
    "pandas-stubs",
    "import-linter",
    "ruff",
    "mypy",
    "ipykernel",
}
"""Used without an import of our own: plugins, and tools that are started by name."""
NAMED_OTHERWISE = {
    "xdist": "pytest-xdist",
    "markdown_it": "markdown-it-py",
    "PIL": "pillow",
    "annotated_types": "annotated-types",
}
"""Modules whose package has another name."""


def pinned(path):
    lines = (ROOT / path).read_text(encoding="utf-8").splitlines()
    return {re.split(r"[=\[]", line)[0].strip().lower() for line in lines if line.strip()}


def statements(tree):
    """Every statement of a module: imports stand nowhere else, and expressions are nine nodes in ten."""
    open_ = [tree]
    while open_:
        node = open_.pop()
        yield node
        for name in ("body", "orelse", "finalbody", "handlers", "cases"):
            inner = getattr(node, name, ())
            open_ += inner if type(inner) is list else ()


@cache
def imported(*places):
    found = set()
    for place in places:
        for path in [place] if place.is_file() else place.rglob("*.py"):
            for node in statements(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Import):
                    found |= {alias.name.split(".")[0] for alias in node.names}
                elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                    found.add(node.module.split(".")[0])
    return {name for name in found if name not in sys.stdlib_module_names}


def code():
    return imported(*(ROOT / room for room in ROOMS), ROOT / "app.py", ROOT / "cli.py")


def own():
    return {p.stem if p.is_file() else p.name for p in ROOT.iterdir()}


@pytest.mark.parametrize("name", sorted(pinned("requirements.txt")))
def test_every_pinned_package_is_used(name):
    used = {NAMED_OTHERWISE.get(module, module).replace("-", "_") for module in code()}
    assert name in PLUGINS or name.replace("-", "_") in used


@pytest.mark.parametrize("name", sorted(pinned("tests/requirements.txt")))
def test_every_pinned_test_package_is_used(name):
    used = {NAMED_OTHERWISE.get(module, module).replace("-", "_") for module in imported(ROOT / "tests")}
    assert name in PLUGINS or name.replace("-", "_") in used


def test_every_imported_package_is_pinned():
    assert {NAMED_OTHERWISE.get(name, name) for name in code() - own()} <= pinned("requirements.txt")
    tests = {NAMED_OTHERWISE.get(name, name) for name in imported(ROOT / "tests") - own()}
    assert tests <= pinned("requirements.txt") | pinned("tests/requirements.txt")


def test_every_pin_is_exact():
    for path in ("requirements.txt", "tests/requirements.txt"):
        for line in (ROOT / path).read_text(encoding="utf-8").splitlines():
            assert re.fullmatch(r"[A-Za-z0-9_.\[\]-]+==[0-9][A-Za-z0-9.]*", line), line


def test_streamlit_and_the_upload_route_tell_the_same_cap():
    config = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))
    assert config["server"]["maxUploadSize"] == DEFAULT_LIMIT_MB
