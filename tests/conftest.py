"""What tests of several rooms share."""

import fcntl
import os
import shutil
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
    """A closed home that holds the bundled example, loaded once for all workers; copy it, do not use it."""
    own = tmp_path_factory.getbasetemp()
    shared = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own
    place = shared / "example-home"
    with (shared / "example-home.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not place.exists():
            loading = shared / "example-home.loading"
            shutil.rmtree(loading, ignore_errors=True)
            opened = get_store(loading)
            load_example(opened)
            opened.close()
            loading.rename(place)
    return place
