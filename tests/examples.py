"""How many examples Hypothesis tries: few in `make test`, many in `make test-full`."""

import os

PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "ci")
MANY = 10


def some(few: int) -> int:
    """`few` examples of a test that is dear; MANY times as many under the profile `full`."""
    return few * MANY if PROFILE == "full" else few
