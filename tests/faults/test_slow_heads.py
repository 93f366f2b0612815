"""Long runs of one sign, as broken programs and full disks leave them: judged as fast as any file."""

import time
from pathlib import Path

import pytest

from data.arrival.spool import spool_bytes
from data.readers import sniff_all
from tests.examples import in_turn

SIGNS = (" ", "\n", " \n", '"', "{", "[", "[ ", "(", "| ", "1,", "7", "\x1b[", 'a="', "{'", "1:1", " - ")
LIMIT_S = 10.0
"""CPU seconds of all readers together on a slow machine; quadratic ones take minutes."""


@pytest.mark.parametrize("sign", in_turn(SIGNS, of=4), ids=repr)
def test_a_run_of_one_sign_is_judged_fast(sign: str, tmp_path: Path) -> None:
    run = sign * (70_000 // len(sign.encode()))
    source = spool_bytes(f"GPU 0 {run}\nx\n".encode(), "a.txt", tmp_path)
    before = time.process_time()
    sniff_all(source)
    assert time.process_time() - before < LIMIT_S
