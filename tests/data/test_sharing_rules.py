"""Rules about shared costs: versions stay, a rule can be taken back, and what cannot hold is refused."""

from datetime import date
from decimal import Decimal

import pytest

from data.errors import UserError
from data.money.rules import (
    checked_rule,
    declare_rule,
    live_rules,
    retire_rule,
    rule_versions,
    sharing_rules,
)
from data.store import Store


@pytest.fixture
def store(tmp_path):
    opened = Store.open(tmp_path / "home")
    yield opened
    opened.close()


def test_a_rule_is_kept_in_versions_and_seen_by_the_next_view(store):
    declare_rule(store, "teacher", {"run": "teacher-1"}, "equal", ["math", "code"], who="finance")
    with store.view() as view:
        before = view.money_version
        assert [r.targets for r in sharing_rules(view)] == [("math", "code")]
    shares = {"math": "0.6", "code": "0.3"}
    declare_rule(store, "teacher", {"run": "teacher-1"}, "fixed", shares, end=date(2026, 4, 1))
    with store.view() as view:
        (rule,) = sharing_rules(view)
        assert view.money_version > before
        assert rule.version == 2 and rule.fixed == {"math": Decimal("0.6"), "code": Decimal("0.3")}
        assert rule.counts_on(date(2026, 3, 31)) and not rule.counts_on(date(2026, 4, 1))
        assert not rule.counts_on(None)
        assert len(rule_versions(view.money)) == 2


def test_a_rule_taken_back_moves_nothing_and_stays_visible(store):
    declare_rule(store, "teacher", {"run": "t"}, "equal", ["math"])
    retire_rule(store, "teacher")
    with store.view() as view:
        assert sharing_rules(view) == []
        assert [v.retired for v in rule_versions(view.money)] == [False, True]
    with pytest.raises(UserError, match="no rule"):
        retire_rule(store, "teacher")
    declare_rule(store, "teacher", {"run": "t"}, "equal", ["code"])
    with store.view() as view:
        assert [r.targets for r in live_rules(rule_versions(view.money))] == [("code",)]


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"name": " "}, "name"),
        ({"subject": {}}, "subject"),
        ({"subject": {"colour": "red"}}, "subject"),
        ({"method": "by feel"}, "method"),
        ({"targets": []}, "targets"),
        ({"targets": ["a", "a"]}, "targets"),
        ({"subject": {"campaign": "a"}}, "targets"),
        ({"method": "fixed"}, "targets"),
        ({"method": "fixed", "targets": {"a": "0.7", "b": "0.4"}}, "targets"),
        ({"method": "fixed", "targets": {"a": "much"}}, "targets"),
        ({"start": date(2026, 3, 2), "end": date(2026, 3, 2)}, "end"),
    ],
)
def test_what_cannot_hold_is_refused_with_its_place(change, where):
    good = {"name": "n", "subject": {"run": "r"}, "method": "equal", "targets": ["a", "b"]}
    with pytest.raises(UserError) as error:
        checked_rule(**{**good, **change})
    assert error.value.where == where
