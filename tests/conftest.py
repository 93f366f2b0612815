"""What tests of several rooms share."""

from pathlib import Path

import pytest
from hypothesis import settings

from data.examples.generate import load_example
from data.store import get_store
from tests.examples import PROFILE

settings.register_profile("ci", max_examples=25, deadline=None)
settings.register_profile("full", max_examples=250, deadline=None)
settings.load_profile(PROFILE)


@pytest.fixture(scope="session")
def example_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A closed home that holds the bundled example; copy it, do not use it."""
    place = tmp_path_factory.mktemp("example") / "home"
    opened = get_store(place)
    load_example(opened)
    opened.close()
    return place
