"""`cli.py join`: by upload id or file name, with an attempt, and back again."""

import json
from pathlib import Path

import pytest

import cli
from data.store import get_store
from tests.samples import verl_log


@pytest.fixture
def home(tmp_path: Path):
    yield str(tmp_path / "home")
    get_store(tmp_path / "home").close()


def asked(capsys, *arguments: str) -> tuple[int, dict]:
    code = cli.main([*arguments, "--json"])
    return code, json.loads(capsys.readouterr().out)


def test_join_and_undo(home: str, tmp_path: Path, capsys) -> None:
    for name, first in (("one", 1), ("two", 30)):
        (tmp_path / f"{name}.log").write_text(verl_log(first, first + 4, run=name))
    code, loaded = asked(
        capsys, "import", str(tmp_path / "one.log"), str(tmp_path / "two.log"), "--home", home
    )
    assert code == 0
    upload = loaded["receipts"][1]["upload_id"]
    code, moved = asked(capsys, "join", upload, "--run", "one", "--attempt", "new", "--home", home)
    assert code == 0
    assert [(j["run"], j["attempt"], j["by"]) for j in moved["joins"]] == [("one", 2, "person")]
    code, back = asked(capsys, "join", "two.log", "--undo", "--home", home)
    assert (code, back["runs"]) == (0, ["two"])
    code, refused = asked(capsys, "join", "two.log", "--no-run", "--home", home)
    assert code == 1 and "need a run" in refused["error"]["what"]
    with pytest.raises(SystemExit):
        cli.main(["join", "two.log", "--run", "one", "--attempt", "0", "--home", home])
