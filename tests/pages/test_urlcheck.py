"""A value from the address is kept when it exists, and named when it does not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pages.parts.urlcheck import check_many, check_one, quote

NAMES = st.lists(st.text(min_size=1, max_size=12), max_size=8)


@given(asked=NAMES, known=NAMES)
def test_only_known_values_are_kept_and_every_other_is_announced(asked: list[str], known: list[str]) -> None:
    kept, notice = check_many("runs", asked, known, "run")
    assert kept == [a for a in dict.fromkeys(asked) if a in known]
    lost = {a for a in asked if a not in known}
    assert (notice is not None) == bool(lost)
    if notice and len(lost) <= 5 and all(a.isprintable() for a in lost):
        assert all(f"'{a}'" in notice.text for a in lost)


@given(asked=NAMES, known=NAMES)
def test_a_single_choice_is_always_one_that_exists(asked: list[str], known: list[str]) -> None:
    value, notice = check_one("price", asked, [*known, "default"], "default", "price", "is unknown")
    assert value in [*known, "default"]
    if asked and value != asked[-1]:
        assert notice is not None


def test_the_sentence_names_the_value_and_what_is_shown() -> None:
    _, none_left = check_many("runs", ["x"], ["a"], "run")
    assert none_left is not None
    assert none_left.text == (
        "The address asks for run 'x', which this home does not hold; showing all runs instead."
    )
    _, some_left = check_many("runs", ["x", "a", "y"], ["a"], "run")
    assert some_left is not None
    assert some_left.text == (
        "The address asks for runs 'x' and 'y', which this home does not hold; showing 'a' only."
    )


def test_a_price_given_twice_is_announced() -> None:
    value, notice = check_one("price", ["a", "b"], ["a", "b"], "a", "price", "is unknown")
    assert value == "b"
    assert notice is not None
    assert "2 times" in notice.text


@pytest.mark.parametrize("value", ["a" * 500, "\x00\x07bell", "‮reversed"])
def test_a_hostile_name_is_cut_and_made_visible(value: str) -> None:
    shown = quote([value])
    assert len(shown) <= 90
    assert shown.isprintable()


def test_many_names_are_counted() -> None:
    assert quote(list("abcdefgh")) == "'a', 'b', 'c', 'd', 'e' and 3 more"
