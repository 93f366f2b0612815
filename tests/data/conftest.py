"""Homes for tests of the store, and a small reader in place of the real ones where a test asks for it."""

import pytest

import data.readers
from data.store import Store
from tests.data.fakes import choose_fake


@pytest.fixture
def store(tmp_path):
    store = Store.open(tmp_path / "home")
    yield store
    store.close()


@pytest.fixture
def fake_readers(monkeypatch):
    monkeypatch.setattr(data.readers, "choose", choose_fake, raising=False)
