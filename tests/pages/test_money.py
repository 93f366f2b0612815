"""Money: the answer to the cent, sections, what opens what, sharing rules, and states without a bill."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from analysis import run
from data.ingest import ingest_file
from data.money.rules import sharing_rules
from data.readers.base import Choices
from data.store import Store, get_store
from pages.parts import money_bill
from tests import money_month

App = Callable[..., AppTest]
DOCS = Path(__file__).resolve().parents[2] / "docs" / "money.md"


@pytest.fixture(scope="module")
def month_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A home with the made-up month, which no test changes."""
    place = tmp_path_factory.mktemp("money") / "home"
    store = get_store(place)
    for name, path in money_month.write(tmp_path_factory.mktemp("files")).items():
        ingest_file(store, path, name, Choices(timezone="UTC") if name == "jobs.txt" else Choices())
    yield place
    store.close()


def opened(app: App, **query: str) -> AppTest:
    return app(**query).switch_page("money.py").run()


def words(at: AppTest) -> str:
    return " ".join(m.value.replace("\\", "") for m in [*at.markdown, *at.caption])


def test_the_month_opens_from_answer_to_lines(
    app: App, home: Path, month_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IPD_HOME", str(month_home))
    at = opened(app, mo_month="2026-03")
    assert not at.exception
    assert "March 2026: $10,940.67 billed" in words(at)
    assert "Runs and attempts behind it" in words(at)
    at.segmented_control(key="mo_show").set_value("Invoice").run()
    assert not at.exception
    assert "Not explained: $834.57 in 3 lines" in words(at)
    at.segmented_control(key="mo_lines").set_value("idle").run()
    assert "Paid and idle: $5,880.00 in 38 lines" in words(at)
    at.segmented_control(key="mo_show").set_value("Waste").run()
    assert not at.exception and "Stalls" in words(at)
    text = DOCS.read_text(encoding="utf-8")
    for figure in ("$10,940.67", "$834.57", "$5,880.00", "83.2 %"):
        assert figure in text
        assert figure in words(at).replace("\u00a0", " ") or figure == "$5,880.00"


def test_tables_that_open_a_figure_add_up_to_it(month_home: Path) -> None:
    with get_store(month_home).view() as view:
        bill = run("reconciliation", view, {"period": "2026-03"})
        spent = run("campaigns", view, {"period": "2026-03"})
    assert bill.tables["open"]["unmatched_usd"].sum().round(2) == bill.figure("bill_open").value
    lines = bill.tables["lines"].set_index("line")["effective_usd"]
    bearers = bill.tables["bearers"].groupby("line")["usd"].sum().round(2)
    assert (bearers == lines.reindex(bearers.index)).all() and bearers.sum().round(2) == lines.sum().round(2)
    behind = spent.tables["behind"].groupby(["campaign", "week"])["usd"].sum().round(2)
    weeks = spent.tables["weeks"].groupby(["campaign", "week"])["usd"].sum().round(2)
    assert behind.to_dict() == weeks.to_dict()
    groups = bill.tables["by_how"].groupby("group")["usd"].sum().round(2)
    assert groups["open"] == bill.figure("bill_open").value
    assert groups["matched"] == bill.figure("bill_matched").value


def test_a_click_on_a_bar_opens_it(month_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with get_store(month_home).view() as view:
        waste = run("waste", view, {"period": "2026-03"})
        bill = run("reconciliation", view, {"period": "2026-03"})
    session: dict[str, str] = {}
    monkeypatch.setattr(money_bill.st, "session_state", session)
    bars = list(waste.tables["waterfall"]["bar"])
    money_bill._open_bar(waste, {"y": bars.index("stalled")})
    assert session == {"mo_bar": "stalled"}
    money_bill._open_group(bill, {"y": 0})
    assert session["mo_show"] == "Invoice" and session["mo_lines"] == "matched"


def test_a_rule_is_declared_and_taken_back(app: App, loaded: Store) -> None:
    at = opened(app, mo_show="Shared costs")
    assert not at.exception and any("No rule is declared" in i.value for i in at.info)
    at.button(key="rule_declare").click().run()
    assert any("no name" in e.value for e in at.error)
    at.text_input(key="rule_name").set_value("disks")
    at.selectbox(key="rule_field").set_value("kind").run()
    at.selectbox(key="rule_value_kind").set_value("storage")
    at.multiselect(key="rule_targets").set_value(["math-example"]).run()
    at.button(key="rule_declare").click().run()
    assert not at.exception
    with loaded.view() as view:
        assert [(r.name, dict(r.subject)) for r in sharing_rules(view)] == [("disks", {"kind": "storage"})]
    assert "What they moved in this period" in words(at)
    at.button(key="rule_undo").click().run()
    with loaded.view() as view:
        assert not sharing_rules(view)


def test_a_month_without_a_bill_works_and_offers_the_upload(app: App, store: Store, tmp_path: Path) -> None:
    files = money_month.write(tmp_path)
    for name in ("runs.csv", "steps.csv"):
        ingest_file(store, files[name], name, Choices())
    at = opened(app)
    assert not at.exception
    assert "No bill in this period" in words(at)
    assert "no invoice of GPUs is loaded" in words(at)
    at.segmented_control(key="mo_show").set_value("Invoice").run()
    assert not at.exception and "no line" in words(at)


def test_an_empty_home_offers_the_example(app: App) -> None:
    at = opened(app)
    assert not at.exception
    assert any("example" in b.label.lower() for b in at.button)
    assert not re.search(r"\$\d", words(at))
