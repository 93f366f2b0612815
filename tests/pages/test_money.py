"""Money: the answer to the cent, sections, what opens what, sharing rules, and states without a bill."""

import io
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from analysis import run
from analysis.result import Result
from charts.reconciliation import bar_name, bars_of
from data.ingest import ingest_file
from data.money.rules import sharing_rules
from data.readers.base import Choices
from data.store import Store, get_store
from pages.parts import choose, money_behind, money_bill, money_campaigns, money_lines, money_open
from tests import money_month

App = Callable[..., AppTest]
DOCS = Path(__file__).resolve().parents[2] / "docs" / "money.md"


@pytest.fixture(scope="module")
def month_home(closed_month: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A home with the made-up month, which no test changes."""
    place = tmp_path_factory.mktemp("money") / "home"
    shutil.copytree(closed_month, place)
    yield place
    get_store(place).close()


def opened(app: App, **query: str) -> AppTest:
    return app("money.py", **query)


def warned(at: AppTest) -> str:
    return " ".join(w.value for w in at.warning)


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
    assert "Not explained: $1,334.57 in 2 lines" in words(at)
    at.selectbox(key="mo_lines").set_value("idle").run()
    assert "Held by nobody: $5,880.00 in 38 lines" in words(at)
    assert at.query_params["mo_lines"] == "Held by nobody"
    at.segmented_control(key="mo_show").set_value("Waste").run()
    assert not at.exception and "Stalls" in words(at)
    assert "mo_lines" not in at.query_params and "no control" not in warned(at)
    text = DOCS.read_text(encoding="utf-8")
    for figure in ("$10,940.67", "$1,334.57", "$5,880.00", "36.9 %"):
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
    assert groups["matched"] == bill.figure("bill_matched").value and groups["credits"] == -500.0


def answers(home: Path) -> tuple[Result, Result]:
    with get_store(home).view() as view:
        return run("reconciliation", view, {"period": "2026-03"}), run("waste", view, {"period": "2026-03"})


def test_the_lines_of_every_bar_add_up_to_it(month_home: Path) -> None:
    bill, _ = answers(month_home)
    bars = list(bars_of(bill.tables["by_how"]).itertuples())
    assert len(bars) == 9
    for bar in bars:
        pick = next(key for key, name in money_open.LINES.items() if name == bar_name(bar))
        frame, amount = money_lines.lines_of(bill, pick)
        assert (round(frame[amount].sum(), 2), len(frame)) == (bar.usd, bar.lines), pick
    for pick, usd in (("explained", 4_226.10), ("other", 1_244.67), ("credits", -500.0), ("all", 10_940.67)):
        frame, amount = money_lines.lines_of(bill, pick)
        assert round(frame[amount].sum(), 2) == usd


def test_runs_and_lines_behind_every_rung_and_bar(month_home: Path) -> None:
    bill, waste = answers(month_home)
    rungs = waste.tables["ladder"].set_index("rung")["usd"]
    falls = waste.tables["waterfall"].set_index("bar")["usd"]
    for figure in money_behind.FIGURES:
        rows = money_behind.behind(waste, figure)
        assert rows["usd"].sum() == pytest.approx((rungs if figure in rungs else falls)[figure], abs=1e-9)
    swe = (money_month.GPU_H["swe-agent"] - 24 - money_month.GPU_H["unknown"]) * money_month.RATE
    math = (money_month.GPU_H["math-v3"] - money_month.GPU_H["stalled"]) * money_month.RATE
    found = money_behind.behind(waste, "effective").set_index("who")["usd"].to_dict()
    assert found == {"swe-agent": float(swe), "math-v3": float(math)}
    bought = {"swe-agent": 2160.0, "math-v3": 1512.0, "job 104": 144.0, "": 5880.0}
    for who, usd in bought.items():
        assert money_behind.lines_of(bill, "paid", who)["usd"].sum() == usd
    assert money_behind.lines_of(bill, "unknown", "").empty


def test_jobs_and_nobody_are_named_where_a_run_is_missing(month_home: Path) -> None:
    bill, _ = answers(month_home)
    assert list(money_lines.named(bill, "by_run").tables["by_run"]["who"]) == [
        "swe-agent", "math-v3", "job 104", "nobody",
    ]  # fmt: skip


def test_a_click_opens_what_is_behind_and_the_address_says_so(
    app: App, home: Path, month_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cards are clicked; bars call the same functions with the place of the bar."""
    monkeypatch.setenv("IPD_HOME", str(month_home))
    at = opened(app, mo_month="2026-03")
    at.button(key="open_month_productive").click().run()
    assert not at.exception and "Productive: $3,351.00, who is behind it" in words(at)
    at.button(key="open_bill_explained").click().run()
    assert "Explained: $4,226.10 in" in words(at)
    assert at.query_params["mo_show"] == "Invoice" and at.query_params["mo_lines"] == "Explained"
    shared = opened(app, mo_month="2026-03", mo_show="Invoice", mo_lines="By machine", mo_bar="Effective")
    assert "By machine: $3,672.00 in 26 lines" in words(shared)
    assert "Effective: $3,423.00, who is behind it" in words(shared)


def test_bars_open_their_own_runs_or_lines(month_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bill, waste = answers(month_home)
    session: dict[str, str] = {"mo_month": "2026-03"}
    address: dict[str, str] = {}
    for part in (money_open, choose):
        monkeypatch.setattr(part.st, "session_state", session)
        monkeypatch.setattr(part.st, "query_params", address)
    bars = list(waste.tables["waterfall"]["bar"])
    money_behind.open_bar(waste, bill, {"y": bars.index("stalled")})
    assert session["mo_bar"] == "stalled"
    money_behind.open_rung(waste, {"y": 3})
    assert session["mo_bar"] == "effective"
    money_behind.open_bar(waste, bill, {"y": bars.index("other")})
    assert session["mo_show"] == "Invoice" and address["mo_lines"] == "Other charges and credits"
    money_bill._open_group(bill, {"y": 1})
    assert address == {"mo_lines": "By machine", "mo_month": "2026-03"}


def test_the_two_idle_totals_are_said_to_be_the_same(
    app: App, home: Path, month_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IPD_HOME", str(month_home))
    assert "are the same $5,880.00" in words(opened(app, mo_month="2026-03"))


@pytest.mark.full
def test_two_idle_totals_that_differ_are_led_over_to_the_cent(
    app: App, home: Path, store: Store, tmp_path: Path
) -> None:
    """A tag gives the last reservation-free day of node-b, $144.00 that nobody held, to swe-agent."""
    files = money_month.write(tmp_path)
    text = files["bill-2026-03.csv"].read_text(encoding="utf-8")
    row = next(
        line for line in text.splitlines() if "2026-03-28T00:00:00Z,2026-03-29" in line and "node-b" in line
    )
    tagged = row.removesuffix(",") + ',"{""run"": ""swe-agent""}"'
    files["bill-2026-03.csv"].write_text(text.replace(row, tagged), encoding="utf-8")
    for name, path in files.items():
        ingest_file(store, path, name, Choices(timezone="UTC") if name == "jobs.txt" else Choices())
    said = words(opened(app, mo_month="2026-03"))
    assert (
        "$5,736.00 paid and idle, borne by nobody ($768.00 unused commitments, $4,968.00 GPU time) + $144.00 "
        "held by nobody, though a tag or a booking gives "
        "it to swe-agent = $5,880.00 not allocated, whoever bears it."
    ) in said


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
    assert not at.exception and "No line in US dollars" in words(at)


def test_an_empty_home_offers_the_example(app: App) -> None:
    at = opened(app)
    assert not at.exception
    assert any("example" in b.label.lower() for b in at.button)
    assert not re.search(r"\$\d", words(at))


def test_the_switch_of_the_sidebar_is_the_one_control_of_the_example(app: App, loaded: Store) -> None:
    """The example's invoice is offered where its runs are shown, and nowhere else."""
    steps = "run,attempt,step,step_s,tok_prompt,tok_gen\nmine,1,1,95,10000,75000\n"
    ingest_file(loaded, io.BytesIO(steps.encode()), "steps.csv")
    at = opened(app)
    assert not at.exception and at.selectbox(key="mo_month").options == ["All months"]
    at = opened(app, example="true")
    assert not at.exception and len(at.selectbox(key="mo_month").options) > 1
    assert {one.label for one in at.toggle} == {"show"} and not [
        b for b in at.button_group if b.label == "Example"
    ]


def test_the_amounts_of_runs_stand_on_one_line() -> None:
    """504 and 720 GPU-hours at $3.00 and at $2.00, and $410.10 of sandboxes."""
    names = ("run", *money_campaigns.AMOUNTS_USD)
    rows = [(names[0], 1512.0, 1008.0, 1008.0, 1008.0), ("b", 2160.0, 1440.0, 1440.0, 1850.1)]
    said = money_campaigns.amounts_words([dict(zip(names, row, strict=True)) for row in rows])
    assert said.startswith(
        "2 runs together: GPUs billed in this period $3,672.00 · GPUs at list rent $2,448.00 · with "
        "sandboxes and tokens (campaign boundary) $2,448.00 · with costs and evaluations booked to runs "
        "(full boundary) $2,858.10."
    )
    assert said.endswith(
        "what is booked to a campaign, and to no run of it, to the campaign's full boundary."
    )
    unbilled = dict(zip(names, ("a", None, 1.0, 1.0, 1.0), strict=True))
    assert money_campaigns.amounts_words([unbilled]).startswith("a: GPUs at list rent $1.00 ·")
