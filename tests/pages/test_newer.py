"""A frozen report beside today, and two reports beside each other, as pages show them."""

import io
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

import analysis
from data.ingest import ingest_file
from data.money.price_entry import override_price
from data.readers.base import Choices
from data.store import get_store
from reports.freeze import freeze, save

H100 = "h100-sxm-reserved-3y-neocloud-2026-07"
STEPS = b"run,attempt,step,step_s\nmath,1,1,90\nmath,1,2,90\n"


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    """A home with a run, a report of it, a new price and a report at that price."""
    store = get_store(tmp_path / "home")
    ingest_file(store, io.BytesIO(STEPS), "math.csv", Choices(gpus=8, platform="h100-sxm"))
    for _ in range(2):
        with store.view() as view:
            save(
                freeze([analysis.run("ledger", view, {})], "Spend", draw=lambda _: []),
                store.home,
                lambda _: "",
            )
        override_price(store, H100, value=9.0, as_of=date(2026, 1, 1), source="contract", note="signed")
    yield store.home
    store.close()


def page(home: str) -> None:
    from pathlib import Path

    from data.store import get_store
    from pages.parts.newer_banner import newer_banner
    from pages.parts.report_diff import report_diff
    from reports.freeze import folder, read_report

    store = get_store(Path(home))
    every = sorted((read_report(p) for p in folder(store.home).glob("*.json")), key=lambda r: r.created_at)
    newer_banner(store, every[0], "old")
    report_diff(store, [(r.title, r.hash) for r in reversed(every)], "all")


def test_the_banner_and_the_difference_tell_then_now_and_change(home: Path) -> None:
    app = AppTest.from_function(page, args=(str(home),), default_timeout=60).run()
    assert any("Newer data exists." in m.value for m in app.markdown) and not app.dataframe
    app.button(key="newer_ask_old").click().run()
    row = app.dataframe[0].value.set_index("What").loc["Spend"]
    assert (row["Then"], row["Now"], row["Change"]) == ("$0.800", "$3.60", "+$2.80")
    app.button(key="diff_ask_all").click().run()
    numbers = next(d.value for d in app.dataframe if "Change" in d.value.columns)
    assert numbers.set_index("What").loc["Spend", "Now"] == "$3.60"
    assert not app.exception
