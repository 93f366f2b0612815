"""docs/prices.md says what the price book does: its traps, its columns and its worked example."""

import re
from datetime import date
from pathlib import Path

import pytest

from data.money.currency import set_rate
from data.money.import_checks import TRAPS
from data.money.import_plan import FAR
from data.money.import_rows import COLUMNS
from data.money.price_entry import add_price, override_price
from data.store import Store

PAGE = (Path(__file__).resolve().parents[1] / "docs" / "prices.md").read_text(encoding="utf-8")
H100 = "h100-sxm-reserved-3y-neocloud-2026-07"
PICK = ("h100-sxm", "reserved_3y", "neocloud")


def test_every_trap_stands_in_the_page_with_its_sentence() -> None:
    listed = dict(re.findall(r"^\| `(\w+)` \| (.+?) \|$", PAGE, re.MULTILINE))
    assert listed == TRAPS
    assert f"more than {FAR:g}\ntimes off" in PAGE


@pytest.mark.parametrize("kind", COLUMNS)
def test_the_columns_that_tell_a_file_are_listed(kind: str) -> None:
    section = PAGE[PAGE.index("| file |") : PAGE.index("On the page, or")]
    rows = [set(re.findall(r"`(\w+)`", line.rpartition(" | ")[2])) for line in section.splitlines()]
    assert COLUMNS[kind] in rows


def test_the_worked_examples_are_what_the_book_answers(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "home")
    try:
        for value, day in ((1.9, date(2026, 5, 1)), (1.7, date(2026, 8, 1))):
            override_price(store, H100, value=value, as_of=day, source="contract", note="signed")
        add_price(
            store,
            platform_id="h100-sxm",
            kind="spot",
            tier="hyperscaler",
            value=1.5,
            currency="EUR",
            as_of=date(2026, 5, 1),
            source="offer",
        )
        set_rate(store, "EUR", "1.20", date(2026, 5, 1), "central bank")
        with store.view() as view:
            book = view.catalogue
    finally:
        store.close()
    found = [book.price_on(*PICK, date(2026, month, day)) for month, day in ((7, 31), (8, 1))]
    assert f"| price | {' | '.join(f'{c.usd_per_gpu_h:.2f}' for c in found if c)} |" in PAGE
    shipped = book.versions_of(H100)[0]
    assert f"the shipped row says {shipped.value:.2f}" in PAGE
    euro = book.price("h100-sxm", "spot", "hyperscaler")
    assert euro is not None
    assert f"A price of 1.50 EUR at 1.20 USD per EUR is {euro.usd_per_gpu_h:.2f} USD" in PAGE
