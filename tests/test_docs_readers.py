"""The example of docs/readers.md: put where the page says into a copy of data/, found there, and run."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs_pages import DOCS, ROOT

READER, TEST = "data/readers/pebble_log.py", "tests/data/readers/test_pebble_log.py"
PAGE = (DOCS / "readers.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what the example needs, bytecode too, with the blocks of the page in it."""
    at = tmp_path_factory.mktemp("house")
    for room in ("data", "models"):
        shutil.copytree(ROOT / room, at / room)
    (at / "tests" / "data" / "readers").mkdir(parents=True)
    shutil.copy(ROOT / "tests" / "data" / "verl_files.py", at / "tests" / "data")
    (reader, key_rows, test) = (text for _, text in BLOCKS)
    (at / READER).write_text(reader, encoding="utf-8")
    (at / TEST).write_text(test, encoding="utf-8")
    with (at / "data" / "schema" / "keymap.csv").open("a", encoding="utf-8") as keymap:
        keymap.write(key_rows)
    return at


def run(house: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *words], cwd=house, capture_output=True, text=True, timeout=120, check=False
    )


def test_the_page_holds_a_reader_key_rows_and_a_test():
    assert [kind for kind, _ in BLOCKS] == ["python", "csv", "python"]
    assert f"`{READER}`" in PAGE and f"`{TEST}`" in PAGE
    assert len(BLOCKS[0][1].splitlines()) <= 65
    assert max(len(line) for _, text in BLOCKS for line in text.splitlines()) <= 110


def test_the_example_is_found_by_the_registry_its_test_passes_and_can_fail(house: Path):
    broken = house / "tests" / "data" / "readers" / "test_broken.py"
    broken.write_text(BLOCKS[2][1].replace("== 25.0", "== 24.0"), encoding="utf-8")
    done = run(house, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:xdist", "-rA", "tests/data/readers")
    said = done.stdout + done.stderr
    assert done.returncode == 1 and "1 failed, 3 passed" in said, said
    assert re.findall(r"^PASSED \S*/(\w+\.py)::", said, re.M).count("test_pebble_log.py") == 2, said
    assert re.findall(r"^FAILED \S*/(\w+\.py)::", said, re.M) == ["test_broken.py"], said


def test_the_helpers_that_the_page_names_exist():
    named = re.findall(r"`((?:data|tests)/[\w/.]+\.(?:py|csv))`", PAGE)
    assert named
    for name in named:
        assert name in (READER, TEST) or (ROOT / name).is_file(), name
