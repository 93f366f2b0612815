"""Notebooks: nothing that was saved is ever lost, and two windows never overwrite each other."""

import json
import sqlite3
from datetime import datetime, timedelta

import pytest

from data.errors import UserError
from data.notebooks import Conflict, Notebooks
from data.workspace import Workspace


def doc(title="A", cells=()):
    return json.dumps({"schema_version": 1, "title": title, "cells": list(cells)})


@pytest.fixture
def books(tmp_path):
    return Notebooks(Workspace(tmp_path / "workspace.sqlite"))


def titles(found):
    return [one.title for one in found]


def test_the_second_save_of_one_version_is_refused_and_carries_the_newer(books):
    made = books.create(doc())
    first = books.save(made.id, doc(cells=[1]), "A", made.version)
    with pytest.raises(Conflict, match="as version 2") as refused:
        books.save(made.id, doc(cells=[2]), "A", made.version)
    newer = refused.value.newer
    assert newer == first and json.loads(newer.document)["cells"] == [1]
    kept = books.create(doc("Mine", cells=[2]))
    assert titles(books.all()) == ["Mine", "A"]
    again = books.save(made.id, doc(cells=[2]), "A", newer.version)
    assert again.version == 3 and json.loads(books.get(kept.id).document)["cells"] == [2]


def test_a_save_without_a_change_makes_no_version_and_hides_no_conflict(books):
    made = books.create(doc())
    assert books.save(made.id, doc(), " A ", 1) == made
    books.save(made.id, doc(cells=[1]), "A", 1)
    with pytest.raises(Conflict):
        books.save(made.id, doc(), "A", 1)


def test_each_change_is_a_version_that_can_be_had_again(books):
    at = [datetime(2026, 1, day) for day in range(1, 7)]
    made = books.create(doc(), at=at[0])
    books.save(made.id, doc(cells=[1]), "A", 1, at=at[1])
    books.rename(made.id, "B  b", at=at[2])
    books.delete(made.id, at=at[3])
    assert books.all() == [] and titles(books.all(deleted=True)) == ["B b"]
    back = books.restore(made.id, at=at[4])
    assert (back.version, back.changed, back.created, back.deleted) == (5, at[4], at[0], False)
    assert json.loads(back.document) == {"schema_version": 1, "title": "B b", "cells": [1]}
    assert [(e.version, e.change, e.title, e.changed) for e in books.history(made.id)] == [
        (1, "saved", "A", at[0]),
        (2, "saved", "A", at[1]),
        (3, "renamed", "B b", at[2]),
        (4, "deleted", "B b", at[3]),
        (5, "restored", "B b", at[4]),
    ]
    first = books.restore_version(made.id, 1, at=at[5])
    assert (first.version, first.title, json.loads(first.document)["cells"]) == (6, "A", [])
    assert books.version(made.id, 2).document == doc(cells=[1]).replace(", ", ",").replace(": ", ":")


def test_a_window_on_a_deleted_notebook_is_told_so(books):
    made = books.create(doc())
    gone = books.delete(made.id)
    with pytest.raises(Conflict, match="deleted 'A'") as refused:
        books.save(made.id, doc(cells=[1]), "A", 1)
    assert refused.value.newer == gone and gone.deleted
    for change in (lambda: books.delete(made.id), lambda: books.rename(made.id, "C")):
        with pytest.raises(UserError, match="Bring it back first"):
            change()


def test_the_list_is_by_last_change_and_a_copy_has_a_title_of_its_own(books):
    a, b = books.create(doc("A")), books.create(doc("B" * 120))
    books.save(a.id, doc(cells=[1]), "A", 1)
    assert titles(books.all()) == ["A", "B" * 120]
    assert [books.copy(a.id).title, books.copy(a.id).title] == ["A (copy)", "A (copy 2)"]
    long = books.copy(b.id)
    assert long.title == "B" * 113 + " (copy)" and json.loads(long.document)["title"] == long.title
    assert long.version == 1 and len(books.history(b.id)) == 1


@pytest.mark.parametrize(
    ("document", "words"),
    [
        (doc(" "), "needs a title"),
        (doc("x" * 121), "121 letters"),
        ("[]", "no JSON object"),
        ("{", "no notebook"),
        (doc(cells=["x" * 4_000_000]), "Split it"),
    ],
)
def test_what_is_no_notebook_is_refused_and_not_kept(books, document, words):
    with pytest.raises(UserError, match=words):
        books.create(document)
    assert books.all() == []


def test_unknown_numbers_are_refused_in_words(books):
    for asked in (books.get, books.history, books.copy, books.delete, books.restore):
        with pytest.raises(UserError, match="no notebook 7"):
            asked(7)
    made = books.create(doc())
    with pytest.raises(UserError, match="no version 9"):
        books.restore_version(made.id, 9)


def test_autosaved_versions_grow_thin_with_age_and_nothing_done_on_purpose_is_lost(books, tmp_path):
    """Saved each 10 minutes from day 1, 00:00 to day 3, 12:00: all of the last hour stay, then one an hour
    for a day, then one a day.
    """
    start, step = datetime(2026, 1, 1), timedelta(minutes=10)
    number = books.create(doc(), at=start).id
    ends = datetime(2026, 1, 3, 12)
    last = (ends - start) // step
    titles = ["B" if n >= 20 else "A" for n in range(last)]  # named anew on day 1 at 03:20
    rows = [
        (number, n + 1, (start + n * step).isoformat(), "saved", title, doc(title, cells=[n]))
        for n, title in enumerate(titles)
    ]
    with sqlite3.connect(tmp_path / "workspace.sqlite") as con:
        told = "notebook, version, at, change, title, document"
        con.executemany(f"INSERT INTO notebook_history ({told}) VALUES (?, ?, ?, ?, ?, ?)", rows[1:])
    books.save(number, doc("B", cells=[last]), "B", last, at=ends)
    first, second, third = (datetime(2026, 1, day) for day in (1, 2, 3))
    hours = [second.replace(hour=h, minute=50) for h in range(11, 24)]  # of the day before noon its last
    hours += [third.replace(hour=h, minute=50) for h in range(11)]
    wanted = [start, first.replace(hour=3, minute=20), first.replace(hour=23, minute=50), *hours]
    wanted += [ends - n * step for n in range(6, -1, -1)]
    assert [entry.changed for entry in books.history(number)] == wanted
    found = books.get(number)
    assert (found.created, found.changed, found.version) == (start, ends, last + 1)
    with pytest.raises(UserError, match="no version 3"):
        books.version(number, 3)
    assert json.loads(books.restore_version(number, 1).document)["cells"] == []


def test_other_notebooks_and_other_changes_stay(books):
    old, day = datetime(2026, 1, 1), timedelta(days=1)
    other = books.create(doc("Other"), at=old)
    books.save(other.id, doc("Other", cells=[1]), "Other", 1, at=old)
    made = books.create(doc(), at=old)
    books.delete(made.id, at=old)
    books.restore(made.id, at=old)
    books.rename(made.id, "C", at=old)
    books.save(made.id, doc("C", cells=[1]), "C", 4, at=old)
    books.save(made.id, doc("C", cells=[2]), "C", 5, at=old + day)
    books.save(made.id, doc("C", cells=[3]), "C", 6, at=old + 3 * day)
    changes = [entry.change for entry in books.history(made.id)]
    assert changes == ["saved", "deleted", "restored", "renamed", "saved", "saved", "saved"]
    assert len(books.history(other.id)) == 2


def test_history_is_append_only_but_for_what_was_saved_between(books, tmp_path):
    made = books.create(doc())
    for n in (1, 2):
        books.save(made.id, doc(cells=[n]), "A", n)
    books.rename(made.id, "B")
    books.save(made.id, doc("B", cells=[3]), "B", 4)
    with sqlite3.connect(tmp_path / "workspace.sqlite") as con:
        for version in (1, 4, 5):
            with pytest.raises(sqlite3.IntegrityError, match="append-only"):
                con.execute("DELETE FROM notebook_history WHERE version = ?", (version,))
        with pytest.raises(sqlite3.IntegrityError, match="append-only"):
            con.execute("UPDATE notebook_history SET title = 'x'")
