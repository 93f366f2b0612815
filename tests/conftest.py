"""What tests of several rooms share."""

from pathlib import Path

import pytest

from data.examples.generate import load_example
from data.store import get_store


@pytest.fixture(scope="session")
def example_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A closed home that holds the bundled example; copy it, do not use it."""
    place = tmp_path_factory.mktemp("example") / "home"
    opened = get_store(place)
    load_example(opened)
    opened.close()
    return place
