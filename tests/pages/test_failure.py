"""A page that breaks shows an id that the log has too, and no words of the error."""

import re

import pytest
from streamlit.testing.v1 import AppTest


def broken() -> None:
    from pages.parts import failure

    assert failure.show(ValueError("select secret from table"))


def test_the_message_and_the_log_share_an_id(caplog: pytest.LogCaptureFixture) -> None:
    at = AppTest.from_function(broken).run()
    assert not at.exception
    text = at.error[0].value
    mark = re.search(r"`([0-9a-f]{8})`", text)
    assert mark and mark.group(1) in caplog.text
    assert "secret" not in text and "secret" in caplog.text
