"""The share bar and the page of links, without a browser."""

import base64
import json
import re
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import numpy as np
import pytest
from streamlit.proto.TextInput_pb2 import TextInput
from streamlit.testing.v1 import AppTest

import analysis
from analysis.result import Result
from charts.figures import FIGURES
from pages.parts import share
from reports.export import make
from reports.figures import freeze_figure
from reports.freeze import FreezeOptions, freeze
from reports.links import LinkBook
from reports.redact import Redaction
from tests.examples import in_turn
from tests.pages.conftest import ROUTER

PAST = datetime.now(UTC) - timedelta(days=30)


def texts(at) -> str:
    return "\n".join(e.value for kind in ("markdown", "caption", "title") for e in at.get(kind))


def links(app):
    at = app("links.py")
    assert not at.exception
    return at


def test_nothing_shared_says_how_to_share(app):
    assert "Nothing is shared yet." in texts(links(app))


def test_each_link_says_its_state_and_offers_what_still_makes_sense(app, store):
    book = LinkBook(store.home)
    book.create("h", "Weekly **bold** $x$", expires_in=None, hidden="dollar amounts")
    book.create("h", "Old", now=PAST)
    book.revoke(str(book.create("h", "Wrong").link.id))
    book.pause(str(book.create("h", "Halted", label="for the board", exportable=True).link.id))
    at = links(app)
    shown = texts(at)
    assert "1 link opens now; 1 paused, 1 expired, 1 revoked." in shown
    assert "Weekly \\*\\*bold\\*\\* \\$x\\$" in shown
    assert "opens until it is revoked" in shown
    assert "listens on your machine only" in shown
    assert "dollar amounts" in shown
    assert "for the board" in shown
    offered = {
        name: {b.key.split("_")[0] for b in at.button if b.key.endswith(f"_{name}")} for name in "1234"
    }
    assert offered == {
        "1": {"report", "pause", "change", "rotate", "revoke"},
        "2": {"report", "change", "rotate", "revoke"},
        "3": {"report"},
        "4": {"report", "resume", "change", "rotate", "revoke"},
    }
    at.text_input(key="links_search").set_value("board")
    at.run()
    assert {b.key.split("_")[1] for b in at.button if b.key.startswith("report_")} == {"4"}


def test_a_link_is_paused_changed_and_given_a_new_address(app, store):
    book = LinkBook(store.home)
    new = book.create("h", "Weekly")
    at = links(app)
    at.button(key="pause_1").click().run()
    assert book.open(new.token, count=False) is None
    at.button(key="resume_1").click().run()
    assert book.open(new.token, count=False) is not None
    at.button(key="change_1").click().run()
    at.text_input(key="embed_1").set_value("not a site")
    at.button(key="save_1").click().run()
    assert "is not an origin" in "\n".join(e.value for e in at.error)
    at.text_input(key="embed_1").set_value("https://wiki.example.org")
    at.text_input(key="label_1").set_value("for finance")
    at.selectbox(key="expiry_1").set_value("No expiry")
    at.button(key="save_1").click().run()
    assert not at.exception
    link = book.get("1")
    assert (link.label, link.expires_at, link.embed_origins) == (
        "for finance",
        None,
        ("https://wiki.example.org",),
    )
    at.button(key="rotate_1").click().run()
    assert book.open(new.token, count=False) is not None
    at.button(key="rotate_yes_1").click().run()
    assert book.open(new.token, count=False) is None
    (shown,) = [code.value for code in at.code if "/r/" in code.value]
    assert book.open(shown.rsplit("/", 1)[1], count=False).id == 1


def test_revoking_asks_first_and_is_then_immediate(app, store):
    book = LinkBook(store.home)
    new = book.create("h", "Weekly")
    at = links(app)
    at.button(key=f"revoke_{new.link.id}").click().run()
    assert book.open(new.token, count=False) is not None
    at.button(key="revoke_yes").click().run()
    assert not at.exception
    assert book.open(new.token, count=False) is None


def test_keeping_a_link_keeps_it(app, store):
    book = LinkBook(store.home)
    new = book.create("h", "Weekly")
    at = links(app)
    at.button(key=f"revoke_{new.link.id}").click().run()
    at.button(key="revoke_no").click().run()
    assert book.open(new.token, count=False) is not None


def test_many_links_come_in_pages(app, store):
    book = LinkBook(store.home)
    for number in range(23):
        book.create("h", f"Report {number}")
    at = links(app)
    assert len([b for b in at.button if b.key.startswith("revoke_")]) == 12


def test_the_dialog_offers_the_file_first(app, example):
    at = app()
    at.button(key="share_ledger").click().run()
    assert not at.exception
    assert "a link opens for nobody else" in "\n".join(e.value for e in at.info)
    assert at.selectbox(key="share_expiry").value == "7 days"
    # Tab leads from a password field to its eye, and what was typed does not arrive: a link without a phrase
    assert at.text_input(key="share_passphrase").proto.type == TextInput.DEFAULT


def test_the_dialog_and_its_click_outlive_a_page_that_draws_itself_again(app, loaded):
    at = app()
    at.button(key="share_ledger").click().run()
    at.run()
    at.button(key="share_create").click().run()
    assert not at.exception
    assert any("/r/" in code.value for code in at.code)
    assert [link.state() for link in LinkBook(loaded.home).all()] == ["open"]
    at.run()
    assert len(LinkBook(loaded.home).all()) == 1


def numbers(value):
    if isinstance(value, dict) and set(value) >= {"bdata", "dtype"}:
        yield from np.frombuffer(base64.b64decode(value["bdata"]), value["dtype"]).astype(float).tolist()
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from numbers(item)
    elif isinstance(value, float):
        yield value


MONEY_COLUMN = re.compile(r"(^|_)(usd|per_10k)(?!.*_frac$)")
"""Amounts and rates by the dollar. A share of dollars is no amount: at one price it is the share of time."""


def money(raw):
    """Amounts with digits enough (five, not whole) that they cannot stand in a report by chance."""
    found = [f[k] for f in raw["headline"] if "usd" in f["unit"].lower() for k in ("value", "low", "high")]
    for rows in raw["tables"].values():
        found += [v for row in rows for k, v in row.items() if MONEY_COLUMN.search(k)]
    return {
        v
        for v in found
        if isinstance(v, float) and v % 1 and len(repr(v).strip("-0.").replace(".", "").split("e")[0]) > 4
    }


ASKED = {
    "own_cost": {"wacc_frac": 0.1},
    "tenure": {"wacc_frac": 0.1},
    "projection": {"targets": ["b300-hgx"], "draws": 100},
    "learning_platforms": {"targets": ["b300-hgx"]},
}
"""What a question cannot do without; one target and few draws where a question would take long."""
ASKED_TOGETHER = [sorted(analysis.QUESTIONS)[place::3] for place in range(3)]
IN_PRICES_ONLY = {"backtest", "forecast_score", "platforms", "rollouts", "scenarios", "utilisation"}
"""Questions whose tables hold no amount with so many digits: rents of a list, counts, or nothing unless
scenarios are given.
"""


def in_light(result):
    """The figures of a report, drawn once: the dark ones hold the same numbers."""
    drawn = [(name, title, draw(result, "light")) for name, title, draw in FIGURES.get(result.analysis, [])]
    return [freeze_figure(name, title, fig, fig) for name, title, fig in drawn if fig.data]


@pytest.mark.parametrize("questions", in_turn(ASKED_TOGETHER), ids=["a third", "another", "the rest"])
def test_hidden_dollars_leak_from_no_question(example, questions):
    with example.view() as view:
        results = [analysis.run(question, view, ASKED.get(question)) for question in questions]
    raw = [json.loads(result.to_json()) for result in results]
    amounts = {told["analysis"]: money(told) for told in raw}
    assert {question for question, found in amounts.items() if not found} == IN_PRICES_ONLY & set(questions)
    everything = set().union(*amounts.values())
    assert everything <= set(numbers(raw))
    hidden = freeze(results, "t", FreezeOptions(Redaction(dollars=True)), draw=in_light)
    sections = hidden.payload["sections"]
    assert len(sections) == len(results)
    assert sum(len(s["figures"]) for s in sections) > 10 / len(ASKED_TOGETHER)
    assert everything & set(numbers(hidden.payload)) == set()
    said = hidden.to_json()
    assert not re.search(r"(?<!oints per )\$\s?\d", said)
    assert not re.search(r"\d points per \$", said)
    assert not {repr(v) for v in everything} & set(re.findall(r'"(-?[\d.][-+.\de]*)"', said))


def test_where_links_reach_people_the_dialog_does_not_warn(app, example, monkeypatch):
    monkeypatch.setenv("IPD_BASE_URL", "https://ipd.example.org")
    at = app()
    at.button(key="share_ledger").click().run()
    assert not at.exception
    assert not [e for e in at.info if "nobody else" in e.value]


def test_with_sign_in_configured_nothing_is_drawn_for_a_stranger(home):
    at = AppTest.from_file(str(ROUTER), default_timeout=60)
    at.secrets["auth"] = {"redirect_uri": "http://localhost/oauth2callback", "cookie_secret": "x"}
    at.run()
    assert not at.exception
    assert [b.label for b in at.button] == ["Sign in"]
    assert len(at.selectbox) == 0
    assert not (home / "telemetry.duckdb").exists()


def test_a_file_is_written_in_a_thread_that_has_no_session(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    held: list[share.Shared] = []
    monkeypatch.setattr(share, "_bar", lambda shared, results: held.append(shared))
    monkeypatch.setattr(share, "current", lambda: SimpleNamespace(store=None))
    result = Result("ledger", {}, "No run is loaded.")
    share.share_bar([result], "Money")
    monkeypatch.undo()
    with ThreadPoolExecutor(1) as threads:
        report = threads.submit(held[0].freeze, Redaction(), "March").result()
    assert make("html", report).data.startswith(b"<!") and report.title == "March"
