"""docs/formats.md and its table: each readable format once, and none that is refused."""

from pathlib import Path

import pytest

from data.arrival.unpack import limits
from data.errors import UnreadableFileError
from data.readers import REGISTRY, choose
from data.readers.base import Choices
from data.readers.templates import TemplateReader
from tests.data.verl_files import spooled
from tests.docs_pages import COLUMNS, FOREIGN_CSV, FORMATS_CSV, GROUPS, foreign, format_tables, formats
from tests.docs_pages import DOCS as PAGES

REFUSED = {
    "gcp_billing_export": "cost,usage.amount,cost_type\n1,2,regular\n",
    "nvidia_smi_screen": "Mon Jan  5 10:00:00 2026\n+---+\n| NVIDIA-SMI 550.54   Driver Version: 550.54 |\n",
    "sacct_table": "JobID        JobName    State \n------------ ---------- ---------- \n12   a   RUNNING\n",
}


def test_every_readable_format_has_one_row_and_no_other_has_one() -> None:
    assert sorted(row["format"] for row in formats()) == sorted(reader.format for reader in REGISTRY)


def test_no_format_is_both_read_and_refused() -> None:
    assert {row["format"] for row in formats()} & {row["format"] for row in foreign()} == set()


@pytest.mark.parametrize("row", formats(), ids=lambda row: row["format"])
def test_each_row_says_how_what_and_what_not(row: dict[str, str]) -> None:
    assert tuple(row) == COLUMNS
    assert all(text and text == text.strip() and "\n" not in text for text in row.values())
    assert row["group"] in GROUPS


def test_own_templates_are_the_templates() -> None:
    own = {row["format"] for row in formats() if row["group"] == "Own templates"}
    assert own == {reader.format for reader in REGISTRY if isinstance(reader, TemplateReader)}


@pytest.mark.parametrize("path", [FORMATS_CSV, FOREIGN_CSV], ids=lambda path: path.name)
def test_the_tables_are_well_formed(path: Path) -> None:
    for row in formats() if path == FORMATS_CSV else foreign():
        assert None not in row, "a cell with a comma needs quotes"
        assert None not in row.values(), "a row is too short"


def test_a_refused_format_says_what_to_do_instead() -> None:
    assert [row["format"] for row in foreign() if not (row["remedy"] or row["template"])] == []
    page = format_tables().partition("## Recognised and refused")[2]
    assert all(f"`{row['format']}`" in page for row in foreign())


@pytest.mark.parametrize("name", REFUSED)
def test_the_refusal_names_the_format_and_its_remedy(name: str, tmp_path: Path) -> None:
    with pytest.raises(UnreadableFileError) as caught:
        choose(spooled(REFUSED[name], tmp_path, "upload.txt"), Choices())
    assert name in caught.value.what
    assert caught.value.remedy == next(row["remedy"] for row in foreign() if row["format"] == name)


def test_the_caps_of_archives_are_those_of_the_code() -> None:
    caps, text = limits(), (PAGES / "files.md").read_text(encoding="utf-8")
    assert f"| unpacked | {caps.unpacked_bytes / 1e9:.3g} GB (`IPD_MAX_UNPACKED_MB`) |" in text
    assert f"from {caps.ratio_from_bytes >> 20} MiB on | {caps.ratio} |" in text
    assert f"| members | {caps.members:,} |" in text
    assert f"| characters of a name | {caps.name_characters} |" in text
