import base64
import dataclasses
import hashlib
import json
import re
from html.parser import HTMLParser

import pandas as pd

from analysis.result import Figure, Notice
from reports.freeze import freeze
from reports.html import EXPIRY_MARK, plotly_js, policy_of, render
from tests.reports.samples import FORMULA, HOSTILE, NOW, draw, sample_result


class Page(HTMLParser):
    """Collects scripts, addresses and event handlers of a page, and its visible text."""

    def __init__(self, text):
        super().__init__()
        self.scripts, self.addresses, self.handlers, self.text = [], [], [], ""
        self._script = None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.addresses += [v for k, v in attrs if k in {"src", "href", "action", "data"}]
        self.handlers += [k for k, _ in attrs if k.startswith("on")]
        if tag == "script":
            self._script = found.get("type", "")
            self.scripts.append((self._script, ""))

    def handle_endtag(self, tag):
        if tag == "script":
            self._script = None

    def handle_data(self, data):
        if self._script is None:
            self.text += f"{data} "
        else:
            kind, text = self.scripts[-1]
            self.scripts[-1] = (kind, text + data)


def test_page_loads_nothing_and_runs_only_hashed_scripts(report):
    page = render(report)
    seen = Page(page)
    assert seen.addresses == []
    assert seen.handlers == []
    running = [text for kind, text in seen.scripts if kind == ""]
    assert len(running) == 2
    policy = policy_of(page)
    assert policy.startswith("default-src 'none'; ")
    listed = set(re.findall(r"'sha256-([^']+)'", policy))
    assert listed == {base64.b64encode(hashlib.sha256(t.encode()).digest()).decode() for t in running}
    assert "unsafe-eval" not in policy
    assert "unsafe-inline" not in policy.split("style-src")[0]


def test_hostile_names_stay_text(report):
    seen = Page(render(report))
    assert seen.text.count(HOSTILE) >= 4
    data = next(text for kind, text in seen.scripts if kind == "application/json")
    assert "<" not in data
    assert json.loads(data)[0]["light"]["data"][0]["name"] == HOSTILE
    assert FORMULA in seen.text


def test_page_says_what_a_reader_must_know(report):
    text = " ".join(Page(render(report)).text.split())
    for part in (
        "$41.2k",
        "$30.0k – $52.0k (published quotes)",
        "campaign boundary",
        "± 1.80 points (95 % interval)",
        "No step times. Load a step log.",
        "Start-up is not in the file.",
        "analyst",
        "vendor spec",
        "Data up to 2026-11-29",
        "Price book 2026-11-01",
        "Prices used p-1, p-2",
        "$5.50 per GPU-hour",
        f"Content hash (SHA-256) {report.hash}",
        "Frozen at 2026-11-30 12:00 UTC",
    ):
        assert part in text
    assert "Synthetic" not in text
    assert "0 rows" not in text


def test_equal_warnings_stand_once_with_their_places(result):
    twice = dataclasses.replace(
        result, warnings=(Notice("n", "Few tasks.", "a"), Notice("n", "Few tasks.", "b"))
    )
    text = " ".join(Page(render(freeze([twice], "t", draw=draw))).text.split())
    assert text.count("Few tasks.") == 1
    assert "(a, b)" in text


def test_tables_inside_cells_stay_in_the_data(result):
    nested = dataclasses.replace(
        result, tables={"t": pd.DataFrame({"run": ["a"], "inner": [[{"phase": "eval"}]]})}
    )
    report = freeze([nested], "t", draw=draw)
    assert "phase" not in Page(render(report)).text
    assert report.sections[0]["tables"]["t"][0]["inner"] == [{"phase": "eval"}]


def test_synthetic_results_say_so(result):
    made_up = dataclasses.replace(result, warnings=(Notice("synthetic", "Example data."),))
    assert "Synthetic example data." in Page(render(freeze([made_up], "t", draw=draw))).text


def test_place_of_the_link_note_stands_once_and_no_name_can_forge_it(result):
    forged = dataclasses.replace(result, answer=f"{EXPIRY_MARK} This link opens until 2099")
    page = render(freeze([forged], "t", draw=draw, now=NOW))
    assert page.count(EXPIRY_MARK) == 1


def test_page_without_figures_needs_no_script(result):
    page = render(freeze([result], "t", draw=lambda _: []))
    assert Page(page).scripts == []
    assert "script-src 'none'" in policy_of(page)
    assert len(page) < 50_000


def test_long_tables_are_cut_and_say_so(result):
    long = dataclasses.replace(result, tables={"steps": pd.DataFrame({"step": range(5_000)})})
    page = render(freeze([long], "t", draw=draw))
    assert "5,000 rows, the first 100 shown" in " ".join(Page(page).text.split())


def test_finance_reads_cents_names_and_the_answer_first(result):
    rows = {
        "part": ["not_held", "open"],
        "label": ["GPU time that nobody held", "Not explained"],
        "usd": [2610.74, 120.55],
        "frac": [0.956, 0.044],
        "note": [None, None],
    }
    odd = dataclasses.replace(
        result,
        params={"stall_dram_frac": 0.05, "frozen_min": 10.0},
        tables={"empty": pd.DataFrame({"step": []}), "month.parts": pd.DataFrame(rows)},
    )
    page = Page(render(freeze([odd], "t", draw=draw)))
    text = " ".join(page.text.split())
    for part in ("$2,610.74", "$120.55", "Share (%)", "95.60", "memory activity below (%): 5", "(min): 10"):
        assert part in text
    for part in ("not_held", "stall dram", "(0–1)", "Note", "Empty"):
        assert part not in text
    order = [
        "gained 5.9",
        "Goodput",
        "Start-up is not in the file.",
        "$2,610.74",
        "price of B200",
        "What was asked",
    ]
    places = [text.index(part, text.index("gained 5.9")) for part in order]
    assert places == sorted(places)


def test_only_the_first_small_tables_stand_open(result):
    small, long = pd.DataFrame({"steps": [1, 2]}), pd.DataFrame({"steps": range(50)})
    many = dataclasses.replace(result, tables={"a": long, "b": small, "c": small, "d": small, "parts": small})
    page = render(freeze([many], "t", draw=lambda _: []))
    opened = re.findall(r"<details( open)?>\s*<summary>(\w+)", page)
    tables = [(name, bool(mark)) for mark, name in opened if name != "Formula"]
    assert tables == [("The", True), ("A", False), ("B", True), ("C", False), ("D", False)]


def test_no_button_of_a_chart_sends_it_anywhere(report):
    script = next(text for kind, text in Page(render(report)).scripts if kind == "" and "saveSvg" in text)
    removed = re.search(r"modeBarButtonsToRemove: \[([^\]]*)\]", script)[1]
    assert '"sendChartToCloud"' in removed and 'plotlyServerURL: ""' in script
    assert 'name:"sendChartToCloud"' in plotly_js()


def test_a_unit_of_words_stands_small_beside_its_number():
    rate = Figure("rate", "Rate", 607.0, "tok/s/gpu", interval="none")
    share = Figure("share", "Share", 0.5, "frac", interval="none")
    page = render(freeze([dataclasses.replace(sample_result(), headline=(rate, share))], "T", now=NOW))
    assert ">607 <small>tokens/s/GPU</small></dd>" in page and ">50.0 %</dd>" in page


def test_the_ends_of_a_ratio_are_no_dollars():
    blends = pd.DataFrame({"metric": ["usd_per_step"], "ratio": [1.04], "low": [0.9561], "high": [1.137]})
    page = render(freeze([dataclasses.replace(sample_result(), tables={"blends": blends})], "T", now=NOW))
    assert ">0.9561<" in page and "$0.9561" not in page


def test_a_report_of_several_questions_heads_each_with_its_question():
    two = [sample_result(), dataclasses.replace(sample_result(), analysis="month")]
    headings = ("What did each run cost and buy?", "What was billed, explained and productive?")
    assert [f"<h2>{h}</h2>" in render(freeze(two, "T", now=NOW)) for h in headings] == [True, True]
    assert "<h2>" not in render(freeze(two[:1], "T", now=NOW))
