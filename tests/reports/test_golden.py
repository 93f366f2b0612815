"""Reports keep: those of schema 1 have their page, and nothing that changes later changes a link's bytes."""

import io
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

import analysis
from analysis.common import versions
from data.catalogue import Catalogue, load_catalogue
from data.ingest import ingest_file, undo_upload
from data.money.price_entry import override_price
from data.readers.base import Choices
from data.store import Store
from reports.freeze import freeze, options, read_report, save
from reports.freeze import load as load_report
from reports.html import plotly_js, render
from reports.links import LinkBook
from reports.newer import compare_with_today, quick
from reports.notebook.document import AnalysisCell, ChartCell, Document, MetricCell, SqlCell
from reports.notebook.frozen import run_and_freeze
from reports.redact import Redaction
from reports.serve import links_only_app
from tests.reports.live import ask, served

H100 = "h100-sxm-reserved-3y-neocloud-2026-07"
RUNS = "select run from runs"
STEPS = "run,attempt,step,step_s\n{0},1,1,90\n{0},1,2,90\n"
OLD = Path(__file__).parent / "schema_1"


@pytest.mark.parametrize("name", ["open", "hidden"])
def test_a_report_of_schema_1_opens_and_has_the_page_of_its_time(name: str) -> None:
    report = read_report(OLD / f"{name}.json")
    page = render(report).replace(plotly_js(), "PLOTLY")
    page = re.sub(r'(content=")[^"]+(">\n<meta name="viewport)', r"\1POLICY\2", page)
    assert page == (OLD / f"{name}.html").read_text(encoding="utf-8")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    found = Store.open(tmp_path / "home")
    yield found
    found.close()


def load(store: Store, run: str) -> str:
    choices = Choices(gpus=8, platform="h100-sxm")
    return ingest_file(store, io.BytesIO(STEPS.format(run).encode()), f"{run}.csv", choices).upload_id


def shared(store: Store) -> list[tuple[str, str, bytes]]:
    """A frozen answer and a frozen notebook, each with a link: (hash, path, bytes as first served)."""
    with store.view() as view:
        answer = analysis.run("ledger", view, {})
    cells = (
        AnalysisCell(name="spend", question="ledger"),
        SqlCell(name="slow", sql="select run, max(step_s) as longest_s from steps group by run"),
        ChartCell(name="bars", source="slow", chart="bar", x="run", y=("longest_s",), unit="s"),
        MetricCell(name="paid", source="spend", figure="spend"),
    )
    notebook = run_and_freeze(store, Document(title="Weekly", cells=cells))
    assert [s["state"] for s in notebook.sections] == ["done"] * 4
    found = []
    for report in (freeze([answer], "Spend"), notebook):
        save(report, store.home, render)
        path = LinkBook(store.home).create(report.hash, report.title, expires_in=None).path
        found.append((report.hash, path, get(store, path)))
    return found


def get(store: Store, path: str) -> bytes:
    with served(links_only_app(store.home)) as site:
        reply = ask("GET", site + path)
    assert reply.status_code == 200
    return reply.content


def test_a_links_bytes_outlive_data_prices_catalogue_formulas_and_templates(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = load(store, "math-v3")
    kept = shared(store)
    numbers = [load_report(store.home, h).sections[0]["headline"][0]["value"] for h, _, _ in kept]
    assert numbers == [pytest.approx(0.8)] * 2  # 2 steps of 90 s on 8 GPUs at 2 USD per GPU-hour

    load(store, "math-v4")
    undo_upload(store, first)
    override_price(store, H100, value=9.0, as_of=date(2026, 1, 1), source="contract", note="signed")
    monkeypatch.setattr("analysis.common.FORMULAS_VERSION", "99")
    monkeypatch.setattr("data.version.APP_VERSION", "99")
    monkeypatch.setattr("data.catalogue.load_catalogue", other_catalogue)
    for name in ("reports.html.render", "reports.html._section", "reports.html._environment"):
        monkeypatch.setattr(name, never)

    for report_hash, path, page in kept:
        assert get(store, path) == page
        assert load_report(store.home, report_hash).hash == report_hash
    with store.view() as view:
        today = versions(view)
    assert today["catalogue"].startswith("another") and today["formulas"] == "99"
    kept_again = [load_report(store.home, h).sections[0]["headline"][0]["value"] for h, _, _ in kept]
    assert kept_again == numbers


def never(*_: object, **__: object) -> None:
    raise AssertionError("a frozen page is not rendered again")


def other_catalogue() -> Catalogue:
    return replace(load_catalogue(), version="another")


def test_newer_says_what_changed_and_by_how_much(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    load(store, "math-v3")
    with store.view() as view:
        answer = analysis.run("ledger", view, {})
    cells = (AnalysisCell(name="spend", question="ledger", figures=()), SqlCell(name="all_runs", sql=RUNS))
    notebook = run_and_freeze(store, Document(title="Weekly", cells=cells))
    reports = [freeze([answer], "Spend", draw=lambda _: []), notebook]
    assert [quick(store, r) for r in reports] == [(), ()]
    same = compare_with_today(store, reports[0]).diff
    assert same is not None and same.same
    override_price(store, H100, value=9.0, as_of=date(2026, 1, 1), source="contract", note="signed")
    load(store, "math-v4")
    for report in reports:
        found = compare_with_today(store, report)
        assert "Prices that it used have newer versions." in found.why and len(found.why) == 2
        assert not found.refused
        spend = next(n for n in found.differences if n.label == "Spend")
        assert (spend.then, spend.now) == (pytest.approx(0.8), pytest.approx(7.2))
        assert spend.change == pytest.approx(6.4)
    assert [(n.then, n.now, n.change) for n in found.differences if n.label == "Rows"] == [(1, 2, 1)]
    monkeypatch.setattr("analysis.ledger.LedgerParams.version", 2)
    told = compare_with_today(store, reports[0])
    assert "another meaning then (version 1, today 2)" in told.refused[0]
    assert told.differences == ()


def test_newer_counts_new_rows_and_hidden_reports_are_asked_as_their_author_had_them(store: Store) -> None:
    load(store, "math-v3")
    with store.view() as view:
        answer = analysis.run("ledger", view, {"runs": ["math-v3"]})
    redaction = Redaction(dollars=True, names=True, runs=True)
    hidden = freeze([answer], "Spend of math-v3", options(store, redaction))
    save(hidden, store.home, render)
    assert "math-v3" not in hidden.to_json()
    assert (
        "math-v3" not in (store.home / "reports" / f"{hidden.hash}.html").read_text().partition("<script>")[0]
    )
    override_price(store, H100, value=9.0, as_of=date(2026, 1, 1), source="contract", note="signed")
    found = compare_with_today(store, load_report(store.home, hidden.hash))
    assert [(n.then, n.now) for n in found.differences if n.label == "Spend"] == [
        (pytest.approx(0.8), pytest.approx(3.6))
    ]
    (store.home / "reports" / f"{hidden.hash}.asked.json").unlink()
    bare = compare_with_today(store, load_report(store.home, hidden.hash))
    assert bare.diff is None and "cannot be asked again" in bare.refused[0]
