"""Kept query answers: the same as reading, never of another version, never changed by a reader."""

from pathlib import Path

import pandas as pd
import pytest

from data import memo as module
from data.memo import Memo
from data.store import get_store


def frame(*values: float) -> pd.DataFrame:
    return pd.DataFrame({"v": list(values)})


def refuse() -> pd.DataFrame:
    raise AssertionError("read again")


def test_the_same_query_of_one_version_is_read_once() -> None:
    memo = Memo()
    first = memo.ask("1", "select v", {"runs": ["a"]}, lambda: frame(1.0))
    assert memo.ask("1", "select v", {"runs": ["a"]}, refuse).equals(first)
    assert memo.ask("1", "select v", {"runs": ["b"]}, lambda: frame(2.0))["v"].tolist() == [2.0]
    assert memo.ask("2", "select v", {"runs": ["a"]}, lambda: frame(3.0))["v"].tolist() == [3.0]


def test_no_reader_changes_what_the_next_one_gets() -> None:
    memo = Memo()
    for read in (lambda: frame(1.0), refuse):
        got = memo.ask("1", "select v", (), read)
        got.loc[0, "v"] = 9.0
    assert memo.ask("1", "select v", (), refuse)["v"].tolist() == [1.0]
    memo.ask("1", "rows", (), lambda: [(1,)]).append((2,))
    assert memo.ask("1", "rows", (), lambda: [(0,)]) == [(1,)]


def test_the_longest_unused_go_and_large_ones_are_never_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    one = int(frame(1.0).memory_usage(deep=True).sum())
    monkeypatch.setattr(module, "MOST_BYTES", 2 * one)
    monkeypatch.setattr(module, "LARGEST_BYTES", one)
    memo = Memo()
    for name in ("a", "b"):
        memo.ask("1", name, (), lambda: frame(1.0))
    memo.ask("1", "a", (), refuse)
    memo.ask("1", "c", (), lambda: frame(1.0))
    memo.ask("1", "a", (), refuse)
    with pytest.raises(AssertionError, match="read again"):
        memo.ask("1", "b", (), refuse)
    memo.ask("1", "large", (), lambda: frame(1.0, 2.0))
    with pytest.raises(AssertionError, match="read again"):
        memo.ask("1", "large", (), refuse)


def test_a_view_after_a_write_sees_the_write(tmp_path: Path) -> None:
    store = get_store(tmp_path)
    ask = "select count(*) as n from campaigns"
    with store.view() as before:
        assert before.frame(ask)["n"].tolist() == [0]
        with store.transaction() as cursor:
            cursor.execute("INSERT INTO campaigns (campaign) VALUES ('a')")
        assert before.frame(ask)["n"].tolist() == [0] and before.rows(ask) == [(0,)]
        with store.view() as after:
            assert after.frame(ask)["n"].tolist() == [1] and after.rows(ask) == [(1,)]
        assert before.frame(ask)["n"].tolist() == [0]
    store.close()
