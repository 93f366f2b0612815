"""Homes for tests of the store, and a small reader in place of the real ones where a test asks for it."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import data.readers
from data.store import Store
from tests.data.fakes import choose_fake


@pytest.fixture(scope="session")
def empty_home(tmp_path_factory):
    """A closed home without a file, made once: a copy opens in half the time that a new one takes."""
    return made_home(tmp_path_factory.mktemp("empty") / "home", lambda store: None)


@pytest.fixture
def store(tmp_path, empty_home):
    yield from copied(empty_home, tmp_path / "home")


def made_home(place: Path, fill: Callable[[Store], object]) -> Path:
    """A closed home at `place` that `fill` was given, for tests that each work on a copy."""
    store = Store.open(place)
    fill(store)
    store.close()
    return place


def copied(home: Path, place: Path):
    """An open copy of a closed home, closed after the test."""
    shutil.copytree(home, place)
    store = Store.open(place)
    yield store
    store.close()


@pytest.fixture
def fake_readers(monkeypatch):
    monkeypatch.setattr(data.readers, "choose", choose_fake, raising=False)
