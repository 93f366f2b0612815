"""Live links: computed when opened, in the app or through it; refused in words, never replaced."""

import json
from datetime import UTC, datetime

import pytest

from data.errors import UserError
from reports import live_links
from reports.freeze import FrozenReport, freeze
from reports.home import NoServerError
from reports.links import LinkBook
from reports.live_links import Computed, LiveError, answer_server, asked_of_app
from reports.redact import Redaction
from reports.sharing import Terms, live_link
from tests.reports.samples import draw, sample_report, sample_result

NOW = datetime(2026, 11, 30, 12, 3, tzinfo=UTC)


class View:
    data_version = "v1"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None


class Home:
    """A store as far as live links look at it."""

    def __init__(self, home):
        self.home, self.workspace, self.pinned, self.decisions = home, self, View(), 0

    def view(self):
        return self.pinned

    def last_decision_id(self):
        return self.decisions


@pytest.fixture
def asked(monkeypatch):
    """The questions that reach the analysis; it answers with the sample, or as `fails` says."""
    seen = []

    def run(question, view, params):
        seen.append((question, params))
        if params.get("fails"):
            raise UserError("There is no run 'secret-run'", "runs", "Choose one that is there.")
        return sample_result()

    monkeypatch.setattr("analysis.run", run)
    monkeypatch.setattr(live_links, "freeze", lambda *a, **k: freeze(*a, **{**k, "draw": draw}))
    return seen


def made(home, params=None, redaction=None):
    recipe = live_links.recipe_of(
        {"questions": [{"question": "ledger", "params": params or {}}]}, redaction or Redaction()
    )
    return LinkBook(home).create("", "Weekly", kind="live", recipe=recipe).link


def test_a_burst_is_computed_once_and_again_when_time_or_data_has_gone_on(tmp_path, asked):
    store, clock = Home(tmp_path), [0.0]
    computed = Computed(lambda: store, lambda: clock[0])
    link = made(tmp_path, {"runs": ["a"]})
    first = computed(link)
    assert computed(link) is first
    assert asked == [("ledger", {"runs": ["a"]})]
    store.decisions = 1
    computed(link)
    store.pinned.data_version = "v2"
    computed(link)
    clock[0] += live_links.FRESH_S
    computed(link)
    assert len(asked) == 4


def test_it_says_when_it_was_computed_from_which_data_and_that_it_is_not_frozen(tmp_path, asked):
    report = live_links.compute(Home(tmp_path), "t", made(tmp_path).recipe, now=NOW)
    assert (
        live_links.sentence(report) == "Computed 2026-11-30 12:03 UTC from data up to 2026-11-29; not frozen."
    )


def test_what_can_no_longer_be_asked_is_refused_and_the_earlier_answer_is_not_given(tmp_path, asked):
    computed = Computed(lambda: Home(tmp_path))
    with pytest.raises(LiveError, match="no run 'secret-run'"):
        computed(made(tmp_path, {"fails": True}))
    with pytest.raises(LiveError) as caught:
        computed(made(tmp_path, {"fails": True}, Redaction(runs=True)))
    assert "secret-run" not in caught.value.what


def test_hidden_dollars_are_hidden_in_what_is_computed(tmp_path, asked):
    report = Computed(lambda: Home(tmp_path))(made(tmp_path, redaction=Redaction(dollars=True)))
    assert "41234" not in report.to_json()
    assert "$41" not in report.to_json()


def test_a_live_link_is_computed_once_before_it_is_given(tmp_path, asked):
    store = Home(tmp_path)
    question = {"questions": [{"question": "ledger", "params": {}}]}
    new = live_link(store, "Weekly", question, Redaction(), Terms(label="mine"))
    assert (new.link.kind, new.link.label, new.link.report_hash) == ("live", "mine", "")
    assert new.link.card["value"] == ""
    question["questions"][0]["params"] = {"fails": True}
    with pytest.raises(UserError, match="no run"):
        live_link(store, "Weekly", question, Redaction(), Terms())
    assert len(LinkBook(tmp_path).all()) == 1


def test_the_server_of_links_gets_the_report_from_the_app(tmp_path, monkeypatch):
    link = made(tmp_path)

    def server(home, command, arguments, job):
        assert (home, command) == (tmp_path, live_links.COMMAND)
        answer = answer_server(lambda one: sample_report() if one.id == link.id else None, home, arguments)
        return json.loads(json.dumps({"answer": answer}))

    monkeypatch.setattr(live_links, "ask_server", server)
    report = asked_of_app(tmp_path)(link)
    assert report == FrozenReport(sample_report().hash, report.created_at, report.payload)
    assert report.payload == sample_report().payload


def test_without_the_app_the_server_of_links_says_so(tmp_path, monkeypatch):
    def nobody(*_):
        raise NoServerError

    monkeypatch.setattr(live_links, "ask_server", nobody)
    with pytest.raises(LiveError, match="not running"):
        asked_of_app(tmp_path)(made(tmp_path))
    monkeypatch.setattr(live_links, "ask_server", lambda *_: {"error": {"what": "No such run", "where": "x"}})
    with pytest.raises(LiveError, match="No such run"):
        asked_of_app(tmp_path)(made(tmp_path))
